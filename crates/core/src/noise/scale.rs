//! Limits on the width of noise.

use dashu_int::UBig;

use crate::error::{Error, Result};
use crate::exact::Rational;

const ALLOWED: &str = "from 0.001 to 2^50 (1125899906842624); rescale the statistic if it must be wider";

/// Checks the scale of a noise law: from 10^−3 to 2^50.
///
/// Below, the noise is zero except for one draw in e^1000; above, a draw could leave the range of an `i64`.
pub(crate) fn checked(parameter: &'static str, scale: &Rational) -> Result<Rational> {
    let least = Rational::new(1, 1000)?;
    let most = Rational::from_big(UBig::ONE << 50, UBig::ONE);
    if *scale < least || *scale > most {
        return Err(Error::parameter(parameter, scale, ALLOWED));
    }
    Ok(scale.clone())
}

/// Checks the square of a scale.
pub(crate) fn checked_square(parameter: &'static str, square: &Rational) -> Result<Rational> {
    let (least, most) = (Rational::new(1, 1_000_000)?, Rational::from(1i64 << 50).square());
    if *square < least || *square > most {
        return Err(Error::parameter(parameter, square, "from 0.000001 to 2^100"));
    }
    Ok(square.clone())
}
