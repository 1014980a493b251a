//! Answers that are released exactly if they are stable, and refused if not.
//!
//! | module | holds |
//! |---|---|
//! | [`propose_test_release`] | [`StableRelease`]: the one test, for any answer with a distance |
//! | [`median`] | [`StableMedian`] |
//! | [`mode`] | [`StableMode`]: the most frequent value |
//! | `selection` | the value of a rank, and how often it occurs, in one pass |

pub mod median;
pub mod mode;
pub mod propose_test_release;
mod selection;
#[cfg(test)]
mod tests;

pub use median::StableMedian;
pub use mode::StableMode;
pub use propose_test_release::{Proposal, StableRelease};
