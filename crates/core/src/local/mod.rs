//! What a device says.
//!
//! In the local model nobody is trusted with raw answers: each person's own device randomises the answer before it leaves.
//! One report says almost nothing; many together say how common an answer is, with an error that grows as √n where a trusted
//! curator's stays constant.
//!
//! | module | holds |
//! |---|---|
//! | [`randomised_response`] | [`RandomisedResponse`]: one yes/no answer |
//! | [`estimator`] | [`Estimator`]: from the reports to the fraction, for every oracle with a pair (p*, q*) |
//! | [`report`] | [`Report`]: what one device sends |

pub mod estimator;
pub mod randomised_response;
pub mod report;

pub use estimator::{Estimate, Estimator};
pub use randomised_response::RandomisedResponse;
pub use report::Report;
