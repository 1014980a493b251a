//! How far the noise of one step reaches.

use super::shape::Shape;
use crate::error::{Error, Result};

/// |noise| stays within this with probability at least `level`.
///
/// # Errors
/// If the level lies outside 0 < level < 1.
pub(super) fn half_width(shape: Shape<'_>, level: f64) -> Result<f64> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
    }
    let variance = match shape {
        Shape::Sum { law, terms } => law.variance() * terms as f64,
        Shape::Weighted { variance, .. } | Shape::Gaussian { variance } => variance,
    };
    // Chebyshev.
    Ok(libm::sqrt(variance / (1.0 - level)))
}
