//! What error bars need to know about the noise at one step.

use super::error_bar;
use crate::error::Result;
use crate::noise::DiscreteLaplace;

/// The law of the noise at one step, as far as error bars need it.
#[derive(Debug, Clone, Copy)]
pub enum Shape<'law> {
    /// The sum of independent draws of one discrete Laplace law.
    Sum {
        /// The law of each draw.
        law: &'law DiscreteLaplace,
        /// The number of draws.
        terms: u64,
    },
    /// A weighted sum of independent discrete Laplace draws, perhaps rounded to the nearest whole number.
    ///
    /// The draws may be of several laws; no weight exceeds 1 in size.
    Weighted {
        /// An upper bound on the variance of the sum.
        variance: f64,
        /// An upper bound on the variance of the largest weighted term, w²·variance of the draw.
        largest: f64,
        /// A lower bound on the variance of a draw of the narrowest law.
        narrowest: f64,
    },
    /// A weighted sum of independent discrete Gaussian draws with σ² ≥ 2 in units of their lattice, perhaps rounded to
    /// the nearest whole number; no weight exceeds 1 in size, or the lattice is fine.
    Gaussian {
        /// The variance of the sum.
        variance: f64,
    },
}

impl Shape<'_> {
    /// |noise| stays within this with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1.
    pub fn half_width(self, level: f64) -> Result<f64> {
        error_bar::half_width(self, level)
    }
}
