//! How a statistic is released once.
//!
//! | module | holds |
//! |---|---|
//! | [`laplace`] | [`Laplace`]: whole numbers with discrete Laplace noise, for pure ε |
//! | [`stable`] | medians, modes and any answer with a distance: exact if stable, refused if not |

pub mod laplace;
pub mod stable;

pub use laplace::Laplace;
