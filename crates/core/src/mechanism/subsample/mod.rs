//! Any query, asked of many parts of the data; what most parts agree on is released.
//!
//! | module | holds |
//! |---|---|
//! | [`blocks`] | [`Blocks`], [`BlockKey`]: which block a unit's rows go to, by lot |
//! | [`mode`] | [`SubsampleMode`]: the answer that most disjoint blocks give, or a refusal |
//! | [`mean`] | [`SubsampleMean`]: the mean of the blocks' clamped answers, with noise, or a refusal |
//! | [`round`] | [`Round`]: either of them step by step, for blocks that are asked elsewhere |
//! | [`resample`] | [`ResampledMode`]: the answer that most samples with repetition give, or a refusal |

use std::panic::{AssertUnwindSafe, catch_unwind};

pub mod blocks;
pub mod mean;
pub mod mode;
pub mod resample;
pub mod round;
#[cfg(test)]
mod tests;

pub use blocks::{BlockKey, Blocks, Unit};
pub use mean::SubsampleMean;
pub use mode::SubsampleMode;
pub use resample::ResampledMode;
pub use round::Round;

/// What a query says of some rows; `None` if it panics.
///
/// That the caller sees no broken state afterwards is part of what is asked of a query: it keeps none.
fn answer<T, A>(query: &impl Fn(&[T]) -> A, rows: &[T]) -> Option<A> {
    match catch_unwind(AssertUnwindSafe(|| query(rows))) {
        Ok(answer) => Some(answer),
        Err(payload) => {
            // Whatever was thrown may itself panic when it is dropped.
            std::mem::forget(payload);
            None
        }
    }
}
