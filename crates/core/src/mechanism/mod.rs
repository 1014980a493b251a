//! How a statistic is released once.
//!
//! | module | holds |
//! |---|---|
//! | [`laplace`] | [`Laplace`]: whole numbers with discrete Laplace noise, for pure ε |
//! | [`stable`] | medians, modes and any answer with a distance: exact if stable, refused if not |
//! | [`subsample`] | any query, asked of many parts of the data |

pub mod laplace;
pub mod stable;
pub mod subsample;

pub use laplace::Laplace;
