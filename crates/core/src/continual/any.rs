//! A counter whose kind is known only when the program runs.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::blt::Blt;
use super::bridged::Bridged;
use super::counter::{Counter, Saved, StreamCounter};
use super::honaker::Honaker;
use super::hybrid::Hybrid;
use super::k_ary::KAry;
use super::kind::CounterKind;
use super::p_sums::PSums;
use super::pan_private::{Design, PanPrivate, PanPrivateSurviving, SeizableCounter};
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use super::toeplitz::Toeplitz;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::{Permit, StreamPermit};
use crate::privacy::Guarantee;

impl AnyCounter {
    /// Charges the whole stream to the permit and starts the counter with the least average error that the stream and
    /// the guarantee allow. To choose one by name, see [`CounterKind`].
    ///
    /// # Errors
    /// If no counter supports the stream and the guarantee, or the permit does not cover it.
    pub fn start(stream: Stream, guarantee: Guarantee, permit: Permit) -> Result<Self> {
        CounterKind::Auto.start(stream, guarantee, permit)
    }
}

/// One enum over all strategies, with the operations they share; to add a strategy, add one line where this macro is
/// used. After the semicolon: designs, which see the data, hold no exact sum, and cannot be saved.
macro_rules! strategies {
    ($($variant:ident),+ $(,)?; $($design:ident),+ $(,)?) => {
        /// Any strategy.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum AnyStrategy {
            $(#[allow(missing_docs, reason = "named as its type")] $variant($variant),)+
            $(#[allow(missing_docs, reason = "named as its type")] $design($design),)+
        }

        /// Any counter.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyCounter {
            $(#[allow(missing_docs, reason = "named as its type")] $variant(Box<StreamCounter<$variant>>),)+
            $(#[allow(missing_docs, reason = "named as its type")] $design(Box<SeizableCounter<$design>>),)+
        }

        /// Any counter, saved.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum AnySaved {
            $(#[allow(missing_docs, reason = "named as its type")] $variant(Saved<$variant>),)+
        }

        $(impl From<$variant> for AnyStrategy {
            fn from(strategy: $variant) -> Self {
                Self::$variant(strategy)
            }
        })+

        $(impl From<$design> for AnyStrategy {
            fn from(design: $design) -> Self {
                Self::$design(design)
            }
        })+

        impl AnyStrategy {
            /// Charges the whole stream to the permit and starts counting.
            ///
            /// # Errors
            /// If the permit does not cover the guarantee.
            pub fn start(self, permit: Permit) -> Result<AnyCounter> {
                Ok(match self {
                    $(Self::$variant(strategy) => AnyCounter::$variant(Box::new(StreamCounter::start(strategy, permit)?)),)+
                    $(Self::$design(design) => AnyCounter::$design(Box::new(SeizableCounter::start(design, permit)?)),)+
                })
            }

            /// Starts on a charge that was made before: see [`StreamCounter::begin`].
            pub fn begin(self, permit: StreamPermit) -> AnyCounter {
                match self {
                    $(Self::$variant(strategy) => AnyCounter::$variant(Box::new(StreamCounter::begin(strategy, permit))),)+
                    $(Self::$design(design) => AnyCounter::$design(Box::new(SeizableCounter::begin(design, permit))),)+
                }
            }

            /// See [`Strategy::kind`].
            pub fn kind(&self) -> CounterKind {
                match self { $(Self::$variant(strategy) => strategy.kind(),)+ $(Self::$design(strategy) => strategy.kind(),)+ }
            }

            /// See [`Strategy::stream`].
            pub fn stream(&self) -> &Stream {
                match self { $(Self::$variant(strategy) => strategy.stream(),)+ $(Self::$design(strategy) => strategy.stream(),)+ }
            }

            /// See [`Strategy::guarantee`].
            pub fn guarantee(&self) -> &Guarantee {
                match self { $(Self::$variant(strategy) => strategy.guarantee(),)+ $(Self::$design(strategy) => strategy.guarantee(),)+ }
            }

            /// See [`Strategy::variance`].
            pub fn variance(&self, step: u64) -> f64 {
                match self { $(Self::$variant(strategy) => strategy.variance(step),)+ $(Self::$design(strategy) => strategy.variance(step),)+ }
            }

            /// See [`Strategy::average_variance`].
            pub fn average_variance(&self, steps: u64) -> f64 {
                match self { $(Self::$variant(strategy) => strategy.average_variance(steps),)+ $(Self::$design(strategy) => strategy.average_variance(steps),)+ }
            }

            /// See [`Strategy::worst_variance`].
            pub fn worst_variance(&self, steps: u64) -> f64 {
                match self { $(Self::$variant(strategy) => strategy.worst_variance(steps),)+ $(Self::$design(strategy) => strategy.worst_variance(steps),)+ }
            }

            /// See [`Strategy::shape`].
            pub fn shape(&self, step: u64) -> Shape<'_> {
                match self { $(Self::$variant(strategy) => strategy.shape(step),)+ $(Self::$design(strategy) => strategy.shape(step),)+ }
            }

            /// The largest |noise| of the first steps in one run without data, for simulations.
            pub(super) fn largest_noise<R: CryptoRng + ?Sized>(&self, steps: u64, rng: &mut R) -> u128 {
                match self {
                    $(Self::$variant(strategy) => {
                        let mut state = strategy.begin();
                        (1..=steps).map(|step| strategy.next(&mut state, step, rng).unsigned_abs()).max().unwrap_or(0)
                    })+
                    $(Self::$design(design) => {
                        let mut cells = vec![0; design.cells()];
                        let mut noise = |step| design.take(&mut cells, step, &0, |_| design.law().sample(rng));
                        (1..=steps).map(|step| noise(step).unsigned_abs()).max().unwrap_or(0)
                    })+
                }
            }

            /// See [`Strategy::state_bytes`].
            pub fn state_bytes(&self) -> usize {
                match self { $(Self::$variant(strategy) => strategy.state_bytes(),)+ $(Self::$design(strategy) => strategy.state_bytes(),)+ }
            }
        }

        impl AnyCounter {
            /// See [`StreamCounter::advance_all`].
            ///
            /// # Errors
            /// As [`Counter::advance`]; if the horizon leaves too few steps for all of them, none is taken.
            pub fn advance_all(&mut self, values: &[i64], released: impl FnMut(i64)) -> Result<()> {
                match self { $(Self::$variant(counter) => counter.advance_all(values, released),)+ $(Self::$design(counter) => counter.advance_all(values, released),)+ }
            }

            /// See [`StreamCounter::restart`].
            pub(crate) fn restart(&mut self) {
                match self { $(Self::$variant(counter) => counter.restart(),)+ $(Self::$design(counter) => counter.restart(),)+ }
            }

            /// Saves the counter, in a new epoch.
            ///
            /// # Errors
            /// [`Error::CannotBeSaved`] if its memory must not be seen twice: see [`pan_private`](super::pan_private).
            pub fn save(&mut self) -> Result<AnySaved> {
                match self {
                    $(Self::$variant(counter) => Ok(AnySaved::$variant(counter.save())),)+
                    $(Self::$design(counter) => Err(Error::CannotBeSaved { counter: counter.kind().name() }),)+
                }
            }

            /// See [`StreamCounter::restore`].
            ///
            /// # Errors
            /// If the state is stale or damaged, or the permit belongs to another charge.
            pub fn restore(saved: AnySaved, newest_epoch: u64, permit: Permit) -> Result<Self> {
                Ok(match saved {
                    $(AnySaved::$variant(saved) => Self::$variant(Box::new(StreamCounter::restore(saved, newest_epoch, permit)?)),)+
                })
            }
        }

        impl AnySaved {
            /// Larger than those of all earlier saved states of the same counter.
            pub fn epoch(&self) -> u64 {
                match self { $(Self::$variant(saved) => saved.epoch(),)+ }
            }

            /// Where the counter was charged.
            pub fn accounting(&self) -> &Accounting {
                match self { $(Self::$variant(saved) => saved.accounting(),)+ }
            }
        }

        impl Counter for AnyCounter {
            fn kind(&self) -> CounterKind {
                match self { $(Self::$variant(counter) => counter.kind(),)+ $(Self::$design(counter) => counter.kind(),)+ }
            }

            fn stream(&self) -> &Stream {
                match self { $(Self::$variant(counter) => counter.stream(),)+ $(Self::$design(counter) => counter.stream(),)+ }
            }

            fn guarantee(&self) -> &Guarantee {
                match self { $(Self::$variant(counter) => counter.guarantee(),)+ $(Self::$design(counter) => counter.guarantee(),)+ }
            }

            fn accounting(&self) -> &Accounting {
                match self { $(Self::$variant(counter) => counter.accounting(),)+ $(Self::$design(counter) => counter.accounting(),)+ }
            }

            fn steps(&self) -> u64 {
                match self { $(Self::$variant(counter) => counter.steps(),)+ $(Self::$design(counter) => counter.steps(),)+ }
            }

            fn advance(&mut self, value: i64) -> Result<i64> {
                match self { $(Self::$variant(counter) => counter.advance(value),)+ $(Self::$design(counter) => counter.advance(value),)+ }
            }

            fn advance_erasing(&mut self, value: &mut i64) -> Result<i64> {
                match self { $(Self::$variant(counter) => counter.advance_erasing(value),)+ $(Self::$design(counter) => counter.advance_erasing(value),)+ }
            }

            fn value(&self) -> Option<i64> {
                match self { $(Self::$variant(counter) => counter.value(),)+ $(Self::$design(counter) => counter.value(),)+ }
            }

            fn variance(&self, step: u64) -> f64 {
                match self { $(Self::$variant(counter) => counter.variance(step),)+ $(Self::$design(counter) => counter.variance(step),)+ }
            }

            fn half_width(&self, step: u64, level: f64) -> Result<f64> {
                match self { $(Self::$variant(counter) => counter.half_width(step, level),)+ $(Self::$design(counter) => counter.half_width(step, level),)+ }
            }
        }

        super::keyed::any::keyed_counters!($($variant),+);
    };
}

strategies!(PSums, Honaker, KAry, Bridged, Hybrid, Toeplitz, Blt; PanPrivate, PanPrivateSurviving);
