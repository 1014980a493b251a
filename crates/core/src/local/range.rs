//! The range of ε for the mechanisms of the local model.

use dashu_int::UBig;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::privacy::Epsilon;

/// ε from 2^−50 to 1000, as for Laplace noise of sensitivity 1.
const SMALLEST_BITS: usize = 50;
pub(super) const LARGEST: u64 = 1000;

/// Is ε in the range?
pub(super) fn contains(epsilon: &Epsilon) -> bool {
    let least = Rational::from_big(UBig::ONE, UBig::ONE << SMALLEST_BITS);
    *epsilon.value() >= least && *epsilon.value() <= Rational::from(LARGEST)
}

/// An error that names ε, unless it is in the range.
pub(super) fn check(epsilon: &Epsilon) -> Result<()> {
    if contains(epsilon) { Ok(()) } else { Err(Error::parameter("epsilon", epsilon, "from 2^-50 to 1000")) }
}

/// The answer is not in the mechanism's domain. The message does not contain the answer: it is personal data.
pub(super) fn foreign_answer() -> Error {
    Error::parameter("answer", "outside the domain", "one of the domain's values, counted from 0")
}
