//! Any query, run on many parts of the data; the release is what most parts agree on, or their noisy mean.
//!
//! | module | holds |
//! |---|---|
//! | [`blocks`] | [`Blocks`], [`BlockKey`]: which block a unit's rows go to, at random |
//! | [`mode`] | [`SubsampleMode`]: the answer that most disjoint blocks give, or a refusal |
//! | [`mean`] | [`SubsampleMean`]: the noisy mean of the blocks' clamped answers, or a refusal |
//! | [`round`] | [`Round`]: either of them step by step, for blocks whose queries run elsewhere |
//! | [`resample`] | [`ResampledMode`]: the answer that most samples with replacement give, or a refusal |
//! | [`unanswered`] | [`Unanswered`]: how many blocks gave no answer, released with each outcome |
//! | `vote` | the most frequent of many answers |

use std::panic::{AssertUnwindSafe, catch_unwind};

pub mod blocks;
pub mod mean;
pub mod mode;
pub mod resample;
pub mod round;
#[cfg(test)]
mod tests;
pub mod unanswered;
mod vote;

pub use blocks::{BlockKey, Blocks, Unit};
pub use mean::SubsampleMean;
pub use mode::SubsampleMode;
pub use resample::{ResampledMode, SampleRound, Samples};
pub use round::Round;
pub use unanswered::{Counted, Unanswered};

/// A query's answer on some rows; `None` if it panics.
///
/// Queries must keep no state, so a panic leaves none broken for the caller.
fn answer<T, A>(query: &impl Fn(&[T]) -> A, rows: &[T]) -> Option<A> {
    match catch_unwind(AssertUnwindSafe(|| query(rows))) {
        Ok(answer) => Some(answer),
        Err(payload) => {
            // The payload may itself panic when dropped.
            std::mem::forget(payload);
            None
        }
    }
}
