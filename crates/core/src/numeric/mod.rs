//! Numbers behind statements: tails, intervals, laws of sums. Floats, with their rounding errors stated; nothing is drawn by them.
//!
//! | module | holds |
//! |---|---|
//! | [`beta_gamma`] | the incomplete beta and gamma functions, and their inverses |
//! | [`interval`] | Clopper–Pearson bounds on a probability |
//! | `normal` | normal tails with their rounding errors |
//! | `laplace_sum` | the exact law of a sum of equal discrete Laplace draws |
//! | `mixture` | sums of continuous Laplace draws as scale mixtures of normals |
//! | `weighted` | weighted sums of discrete Laplace draws, of which little is known |
//! | `discrete_gaussian` | how far discrete Gaussian noise reaches |
//! | `cache` | what was computed once is not computed again |
//! | `search` | the smallest number for which a condition holds, and where a function is smallest |

pub mod beta_gamma;
pub(crate) mod cache;
pub(crate) mod discrete_gaussian;
pub mod interval;
pub(crate) mod laplace_sum;
pub(crate) mod mixture;
pub(crate) mod normal;
pub(crate) mod search;
pub(crate) mod weighted;

/// The smallest probability that error bars are computed for; asked for less, they answer for this one.
pub(crate) const LEAST: f64 = 1e-60;
