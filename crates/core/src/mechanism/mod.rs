//! How a statistic is released once.
//!
//! | module | holds |
//! |---|---|
//! | [`laplace`] | whole numbers with discrete Laplace noise: pure ε |

pub mod laplace;
