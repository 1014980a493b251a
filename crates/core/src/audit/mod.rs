//! Evidence that a mechanism keeps its promise.
//!
//! | module | holds |
//! |---|---|
//! | [`catalogue`] | every mechanism that can be audited, by name |
//! | [`empirical`] | [`EmpiricalEpsilon`]: a lower bound on ε that the outputs themselves prove |
//! | `exact` | what laws that can be written down in full say about a claim |
//! | [`goodness_of_fit`] | [`GoodnessOfFit`]: do the samples follow the law they claim? |
//! | `enumerate` | the exact law of a sampler, by walking every branch (in this crate's own tests) |

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
