//! Evidence that a mechanism satisfies its guarantee.
//!
//! | module | holds |
//! |---|---|
//! | [`catalogue`] | every mechanism that can be audited, by name |
//! | [`empirical`] | [`EmpiricalEpsilon`]: a lower bound on ε that the outputs themselves prove |
//! | `exact` | tests of a claim against laws that can be computed in full |
//! | [`goodness_of_fit`] | [`GoodnessOfFit`]: do the samples follow the claimed law? |
//! | `enumerate` | the exact law of a sampler, by enumerating every branch (in this crate's own tests) |

pub mod catalogue;
pub mod empirical;
#[cfg(test)]
pub(crate) mod enumerate;
mod exact;
pub mod goodness_of_fit;
#[cfg(test)]
mod simulation;

pub use empirical::{EmpiricalEpsilon, Verdict};
pub use goodness_of_fit::{ExpectedLaw, FALSE_ALARM, GoodnessOfFit, chi_squared_quantile};
