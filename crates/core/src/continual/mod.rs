//! Statistics released repeatedly: counters over streams.
//!
//! A [`Counter`] takes one number per step and releases the sum so far, each time with noise, under one guarantee for
//! all releases together. The difficulty is the noise: fresh noise on every release would have to be T times as large,
//! and noise on every input would pile up. Between these extremes lie the [strategies](Strategy): noise on sums of
//! several steps, recombined for every answer.
//!
//! | module | holds |
//! |---|---|
//! | [`stream`] | [`Stream`]: range, [`Unit`], [`Horizon`]; how far one unit can move a step |
//! | [`counter`] | [`Counter`], and [`StreamCounter`]: the exact sum plus a strategy's noise; saving and restoring |
//! | [`strategy`] | [`Strategy`]: how noise is produced; what must be proved for each |
//! | [`schedule`] | [`Schedule`]: which p-sums are kept |
//! | [`p_sums`] | `output-noise`, `input-noise`, `two-level`, `binary`: any schedule as a counter |
//! | [`honaker`] | `honaker`: dyadic blocks, each improved by those inside it |
//! | [`k_ary`] | `k-ary`: few blocks, some of them subtracted |
//! | [`mod@bridged`] | `bridged`: a tree in which every level corrects those below it; with or without a horizon |
//! | [`hybrid`] | `hybrid`: doubling blocks, for streams without end |
//! | [`toeplitz`] | `toeplitz`: Gaussian noise by the square root of the prefix sums |
//! | [`blt`] | `blt`: Gaussian noise that a few decaying buffers cancel |
//! | [`pan_private`] | `pan-private`, `pan-private-surviving`: counters whose memory may be seized |
//! | [`kind`] | [`CounterKind`]: the counters by name, and `auto` |
//! | [`any`] | [`AnyCounter`]: a counter whose kind is known only when the program runs |
//! | [`keyed`] | [`KeyedCounter`]: one counter for each key; keys known beforehand, or admitted by a threshold |
//! | [`tally`] | [`Tally`]: one counter, or one for each key |
//! | [`window`] | [`SlidingWindow`]: the sum of the last w steps |
//! | [`decayed`] | [`DecayedCounter`]: older steps count less |
//! | [`post_processing`] | [`PostProcessed`]: releases that are never negative, or never fall |
//! | [`law`] | [`Law`]: the noise on one p-sum |
//! | [`shape`] | [`Shape`]: what error bars need to know of a step's noise |
//! | [`throughout`] | [`Throughout`]: half-widths that hold for all steps so far at once |
//! | [`tails`] | how unlikely large noise is |
//! | [`usefulness`] | (λ, δ)-usefulness, and the largest error of all steps together |
//! | [`prediction`] | [`compare`]: the predicted accuracy of every counter, side by side |
//! | [`bounds`] | lower bounds on the error of any counter |

pub mod any;
pub mod blt;
pub mod bounds;
pub mod bridged;
pub mod counter;
pub mod decayed;
mod error_bar;
pub mod honaker;
pub mod hybrid;
pub mod k_ary;
pub mod keyed;
pub mod kind;
pub mod law;
pub mod p_sums;
mod packed;
pub mod pan_private;
pub mod post_processing;
#[cfg(feature = "os-entropy")]
pub mod prediction;
pub mod schedule;
pub mod shape;
pub mod strategy;
pub mod stream;
pub mod tails;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod throughout;
pub mod toeplitz;
pub mod usefulness;
pub mod window;

pub use any::{AnyCounter, AnyKeyedCounter, AnyKeyedSaved, AnyKeyedSaving, AnySaved, AnyStrategy};
pub use blt::Blt;
pub use bridged::Bridged;
pub use counter::{Counter, Saved, StreamCounter};
pub use decayed::{Decay, DecayedCounter, SavedDecayed};
pub use honaker::Honaker;
pub use hybrid::Hybrid;
pub use k_ary::KAry;
pub use keyed::{KeyedCounter, KeyedPlan, KeyedSaved, KeyedSaving};
pub use kind::CounterKind;
pub use law::Law;
pub use p_sums::PSums;
pub use pan_private::{PanPrivate, PanPrivateSurviving, SeizableCounter, SeizableKeyedCounter};
pub use post_processing::{PostProcessed, Rule};
#[cfg(feature = "os-entropy")]
pub use prediction::{Comparison, LowerBound, Prediction, compare};
pub use schedule::Schedule;
pub use shape::Shape;
pub use strategy::Strategy;
pub use stream::{Horizon, Stream, Unit};
pub use tally::{SavedTally, Tally, TallySaving};
pub use throughout::Throughout;
pub use toeplitz::Toeplitz;
pub use usefulness::{MaxError, max_error};
pub use window::{SavedWindow, SlidingWindow};
