//! Evidence that a mechanism keeps its promise.
//!
//! | module | holds |
//! |---|---|
//! | [`empirical`] | [`EmpiricalEpsilon`]: a lower bound on ε that the outputs themselves prove |
//! | [`goodness_of_fit`] | [`GoodnessOfFit`]: do the samples follow the law they claim? |
//! | [`interval`] | Clopper–Pearson bounds on a probability |
//! | [`special`] | the incomplete beta and gamma functions behind them |

pub mod interval;
pub mod special;
