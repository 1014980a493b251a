//! Half-widths for the noise of one step.

#[cfg(test)]
mod tests;

use super::shape::Shape;
use crate::error::{Error, Result};
use crate::numeric::laplace_sum::{self, LaplaceSum};
use crate::numeric::{LEAST, cache, discrete_gaussian, weighted};
use crate::release::{ErrorBar, LEVEL};

/// |noise| stays within this with probability at least `level`: a whole number, because the noise is one.
///
/// # Accuracy
/// The proofs, and how tight they are:
///
/// | noise | proof | wider than necessary |
/// |---|---|---|
/// | sum of m equal discrete Laplace draws | exact law, or dominated by the continuous one ([`laplace_sum`]) | m ≤ 256: by nothing (scale > 20: by at most 1); beyond by at most 0.5 % and 1 |
/// | weighted sum of such draws | scale mixture, majorised ([`weighted`]) | with 8 terms or more of scale b by about 2 % + 25 %/b |
/// | Gaussian | with whole weights or on a fine lattice; else checked by convolution ([`discrete_gaussian`]) | by at most 1 |
///
/// Floats are rounded to nearest; one part in 10⁶ of the probability covers this.
///
/// # Errors
/// If the level lies outside 0 < level < 1.
#[inline]
pub(super) fn half_width(shape: Shape<'_>, level: f64) -> Result<f64> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
    }
    Ok(reach(shape, 1.0 - level))
}

/// The error bar of a release, from its half-width at [`LEVEL`].
pub(super) fn of_release(half_width: Result<f64>) -> ErrorBar {
    let bar = half_width.and_then(|half_width| ErrorBar::new(half_width, LEVEL));
    bar.expect("there was a step, and the level lies between 0 and 1")
}

/// A whole number that |noise| exceeds with probability at most `outside`, 0 < outside < 1.
#[inline]
pub(super) fn reach(shape: Shape<'_>, outside: f64) -> f64 {
    let outside = outside.max(LEAST);
    match shape {
        Shape::Sum { law, terms } => {
            // The exact law is computed once for each of a few numbers of terms.
            let terms = laplace_sum::at_least(terms);
            let scale = law.approximate_scale();
            cache::get((scale.to_bits(), terms, outside.to_bits()), || LaplaceSum::new(scale, terms).reach(outside))
        }
        Shape::Weighted { variance, largest, narrowest } => weighted::reach(variance, largest, narrowest, outside),
        Shape::Gaussian { variance } => discrete_gaussian::reach(variance, outside),
    }
}
