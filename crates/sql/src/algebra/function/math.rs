//! Mathematical functions.

use serde::{Deserialize, Serialize};

use super::finite;
use crate::algebra::Type;
use crate::algebra::column::{Column, Integers, Numbers, map, map2};

/// A mathematical function.
///
/// # Total
/// NULL where the function is undefined (the root of −1, the logarithm of 0) or its value is not finite.
///
/// # Deterministic
/// Computed by `libm`, whose results are the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Math {
    /// `ABS(x)`
    Abs,
    /// `SIGN(x)`: −1, 0 or 1
    Sign,
    /// `CEIL(x)`
    Ceil,
    /// `FLOOR(x)`
    Floor,
    /// `ROUND(x, digits)`, halves away from zero; the digits may be negative
    Round(i8),
    /// `TRUNC(x, digits)`, towards zero
    Truncate(i8),
    /// `SQRT(x)`
    Sqrt,
    /// `CBRT(x)`
    Cbrt,
    /// `EXP(x)`
    Exp,
    /// `LN(x)`
    Ln,
    /// `LOG2(x)`
    Log2,
    /// `LOG10(x)`
    Log10,
    /// `LOG(base, x)`
    Log,
    /// `POWER(x, y)`
    Power,
    /// `SIN(x)`
    Sin,
    /// `COS(x)`
    Cos,
    /// `TAN(x)`
    Tan,
    /// `ASIN(x)`
    Asin,
    /// `ACOS(x)`
    Acos,
    /// `ATAN(x)`
    Atan,
    /// `ATAN2(y, x)`
    Atan2,
    /// `RADIANS(x)`
    Radians,
    /// `DEGREES(x)`
    Degrees,
}

/// The most digits to round to, on either side of the point: a real number has no more.
pub const MOST_DIGITS: i8 = 17;

impl Math {
    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(self, inputs: &[Type]) -> Option<Type> {
        match (self, inputs) {
            // Integers stay integers.
            (Self::Abs | Self::Sign, [Type::Integer]) => Some(Type::Integer),
            (Self::Ceil | Self::Floor, [Type::Integer]) => Some(Type::Integer),
            (Self::Round(0) | Self::Truncate(0), [Type::Integer]) => Some(Type::Integer),
            (Self::Log | Self::Power | Self::Atan2, [Type::Number, Type::Number]) => Some(Type::Number),
            (Self::Log | Self::Power | Self::Atan2, _) => None,
            (_, [Type::Number]) => Some(Type::Number),
            _ => None,
        }
    }

    /// Computes the value for each row.
    pub fn apply(self, output: Type, columns: &[Column], rows: usize) -> Column {
        if output == Type::Integer {
            return map::<Integers, Integers>(columns, rows, |x| match self {
                Self::Abs => x.checked_abs(),
                Self::Sign => Some(x.signum()),
                _ => Some(x),
            });
        }
        let two: Option<fn(f64, f64) -> f64> = match self {
            Self::Log => Some(|base, x| libm::log(x) / libm::log(base)),
            Self::Power => Some(libm::pow),
            Self::Atan2 => Some(libm::atan2),
            _ => None,
        };
        match two {
            Some(function) => map2::<Numbers, Numbers, Numbers>(columns, rows, |a, b| finite(function(a, b))),
            None => map::<Numbers, Numbers>(columns, rows, |x| finite(self.of(x))),
        }
    }

    /// The value of a function of one argument.
    pub(crate) fn of(self, x: f64) -> f64 {
        match self {
            Self::Abs => libm::fabs(x),
            Self::Sign => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
            Self::Ceil => libm::ceil(x),
            Self::Floor => libm::floor(x),
            Self::Round(digits) => scaled(x, digits, libm::round),
            Self::Truncate(digits) => scaled(x, digits, libm::trunc),
            Self::Sqrt => libm::sqrt(x),
            Self::Cbrt => libm::cbrt(x),
            Self::Exp => libm::exp(x),
            Self::Ln => libm::log(x),
            Self::Log2 => libm::log2(x),
            Self::Log10 => libm::log10(x),
            Self::Sin => libm::sin(x),
            Self::Cos => libm::cos(x),
            Self::Tan => libm::tan(x),
            Self::Asin => libm::asin(x),
            Self::Acos => libm::acos(x),
            Self::Atan => libm::atan(x),
            Self::Radians => x.to_radians(),
            Self::Degrees => x.to_degrees(),
            // These take two arguments.
            Self::Log | Self::Power | Self::Atan2 => f64::NAN,
        }
    }
}

/// Rounds to this many digits after the point; before it if negative.
fn scaled(x: f64, digits: i8, to_whole: fn(f64) -> f64) -> f64 {
    let power = libm::pow(10.0, f64::from(digits.unsigned_abs()));
    match digits {
        0 => to_whole(x),
        1.. => to_whole(x * power) / power,
        _ => to_whole(x / power) * power,
    }
}
