//! What is known of the noise at one step: enough to say how far it reaches.

use crate::noise::DiscreteLaplace;

/// The law of the noise at one step, as far as error bars need it.
#[derive(Debug, Clone, Copy)]
pub enum Shape<'law> {
    /// The sum of so many independent draws of one discrete Laplace law.
    Sum {
        /// Of each.
        law: &'law DiscreteLaplace,
        /// How many.
        terms: u64,
    },
    /// A weighted sum of independent discrete Laplace draws, perhaps rounded.
    Weighted {
        /// Of the sum.
        variance: f64,
        /// Of the largest weighted term: w²·variance of the draw.
        largest: f64,
    },
    /// A weighted sum of independent discrete Gaussian draws, perhaps rounded.
    Gaussian {
        /// Of the sum.
        variance: f64,
    },
}
