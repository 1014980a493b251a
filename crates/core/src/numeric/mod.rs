//! Tails, intervals and laws of sums, in floats with their rounding errors stated; nothing is drawn with them.
//!
//! | module | holds |
//! |---|---|
//! | [`beta_gamma`] | the incomplete beta and gamma functions, and their inverses |
//! | [`interval`] | Clopper–Pearson bounds on a probability |
//! | `normal` | normal tails with their rounding errors |
//! | `laplace_sum` | the exact law of a sum of equal discrete Laplace draws |
//! | `mixture` | sums of continuous Laplace draws as scale mixtures of normals |
//! | `weighted` | weighted sums of discrete Laplace draws, of which little is known |
//! | `discrete_gaussian` | half-widths for discrete Gaussian noise |
//! | `cache` | a cache of computed values |
//! | `search` | the smallest number for which a condition holds, and the minimum of a function |

pub mod beta_gamma;
pub(crate) mod cache;
pub(crate) mod discrete_gaussian;
pub mod interval;
pub(crate) mod laplace_sum;
pub(crate) mod mixture;
pub(crate) mod normal;
pub(crate) mod search;
pub(crate) mod weighted;

/// The smallest probability for which error bars are computed; smaller ones are replaced by it.
pub(crate) const LEAST: f64 = 1e-60;
