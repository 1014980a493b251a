//! How a statistic is released once.
//!
//! | module | holds |
//! |---|---|
//! | [`laplace`] | [`Laplace`]: whole numbers with discrete Laplace noise, for pure ε |

pub mod laplace;

pub use laplace::Laplace;
