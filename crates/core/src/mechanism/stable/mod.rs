//! Answers that are exact if they are stable, and refused if not.
//!
//! | module | holds |
//! |---|---|
//! | [`propose_test_release`] | [`StableRelease`]: the one test, for any answer with a distance |
//! | [`median`] | [`StableMedian`] |
//! | [`mode`] | [`StableMode`]: the most frequent value |

pub mod median;
pub mod mode;
pub mod propose_test_release;
#[cfg(test)]
mod tests;

pub use median::StableMedian;
pub use mode::StableMode;
pub use propose_test_release::{Proposal, StableRelease};
