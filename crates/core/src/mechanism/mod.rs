//! How a statistic is released once.
//!
//! | module | holds |
//! |---|---|
//! | [`laplace`] | [`Laplace`]: whole numbers with discrete Laplace noise, for pure ε |
//! | [`quantile`] | [`Quantile`], [`Quantiles`]: values of a given rank, for pure ε |
//! | [`selection`] | [`Selection`]: keys from the data, as many as privacy allows, without counts |
//! | [`threshold`] | [`Threshold`]: keys from the data with their counts, those above a threshold |

#[cfg(test)]
pub(crate) mod divergence;
pub mod laplace;
pub mod quantile;
pub mod selection;
pub mod threshold;

pub use laplace::Laplace;
pub use quantile::{Quantile, Quantiles, Ranked};
pub use selection::Selection;
pub use threshold::Threshold;
