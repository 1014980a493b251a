//! Arithmetic.

use serde::{Deserialize, Serialize};

use super::finite;
use crate::algebra::Type;
use crate::algebra::column::{Column, Integers, Numbers, map, map2};

/// An arithmetic operation.
///
/// # Total
/// NULL if an integer does not fit in 64 bits, a real number is not finite, or the divisor is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arithmetic {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`; integers are divided without remainder
    Divide,
    /// `a % b`, with the sign of `a`
    Remainder,
    /// `-a`
    Negate,
}

impl Arithmetic {
    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(self, inputs: &[Type]) -> Option<Type> {
        match (self, inputs) {
            (Self::Negate, [kind @ (Type::Integer | Type::Number)]) => Some(*kind),
            (Self::Negate, _) => None,
            (_, [Type::Integer, Type::Integer]) => Some(Type::Integer),
            (_, [Type::Number, Type::Number]) => Some(Type::Number),
            _ => None,
        }
    }

    /// Computes the value for each row.
    pub fn apply(self, output: Type, columns: &[Column], rows: usize) -> Column {
        if self == Self::Negate {
            return match output {
                Type::Integer => map::<Integers, Integers>(columns, rows, i64::checked_neg),
                _ => map::<Numbers, Numbers>(columns, rows, |a| Some(-a)),
            };
        }
        match output {
            Type::Integer => {
                let whole = match self {
                    Self::Add => i64::checked_add,
                    Self::Subtract => i64::checked_sub,
                    Self::Multiply => i64::checked_mul,
                    Self::Divide => i64::checked_div,
                    Self::Remainder | Self::Negate => i64::checked_rem,
                };
                map2::<Integers, Integers, Integers>(columns, rows, whole)
            }
            _ => {
                let real: fn(f64, f64) -> f64 = match self {
                    Self::Add => |a, b| a + b,
                    Self::Subtract => |a, b| a - b,
                    Self::Multiply => |a, b| a * b,
                    Self::Divide => |a, b| a / b,
                    Self::Remainder | Self::Negate => |a, b| a % b,
                };
                map2::<Numbers, Numbers, Numbers>(columns, rows, |a, b| finite(real(a, b)))
            }
        }
    }
}
