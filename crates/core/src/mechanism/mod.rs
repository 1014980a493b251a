//! How a statistic is released once.
//!
//! | module | holds |
//! |---|---|
//! | [`laplace`] | [`Laplace`]: whole numbers with discrete Laplace noise, for pure ε |
//! | [`threshold`] | [`Threshold`]: keys from the data with their counts, those above a threshold |

#[cfg(test)]
pub(crate) mod divergence;
pub mod laplace;
pub mod threshold;

pub use laplace::Laplace;
pub use threshold::Threshold;
