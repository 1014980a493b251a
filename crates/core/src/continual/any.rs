//! A counter whose kind is known only when the program runs.

use serde::{Deserialize, Serialize};

use super::bridged::Bridged;
use super::counter::{Counter, Saved, StreamCounter};
use super::honaker::Honaker;
use super::hybrid::Hybrid;
use super::k_ary::KAry;
use super::kind::Kind;
use super::p_sums::PSums;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::Result;
use crate::permit::{Accounting, Permit};
use crate::privacy::Guarantee;

/// One enum over all strategies, with what every one of them can do; a new strategy is one more line where this is used.
macro_rules! strategies {
    ($($variant:ident),+ $(,)?) => {
        /// Any strategy.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum AnyStrategy {
            $(#[allow(missing_docs, reason = "named as its type")] $variant($variant),)+
        }

        /// Any counter.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyCounter {
            $(#[allow(missing_docs, reason = "named as its type")] $variant(Box<StreamCounter<$variant>>),)+
        }

        /// Any counter, written down.
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

        impl AnyStrategy {
            /// Charges the whole stream to the permit and starts counting.
            ///
            /// # Errors
            /// If the permit does not cover the guarantee.
            pub fn start(self, permit: Permit) -> Result<AnyCounter> {
                Ok(match self { $(Self::$variant(strategy) => AnyCounter::$variant(Box::new(StreamCounter::start(strategy, permit)?)),)+ })
            }

            /// See [`Strategy::kind`].
            pub fn kind(&self) -> Kind {
                match self { $(Self::$variant(strategy) => strategy.kind(),)+ }
            }

            /// See [`Strategy::stream`].
            pub fn stream(&self) -> &Stream {
                match self { $(Self::$variant(strategy) => strategy.stream(),)+ }
            }

            /// See [`Strategy::guarantee`].
            pub fn guarantee(&self) -> &Guarantee {
                match self { $(Self::$variant(strategy) => strategy.guarantee(),)+ }
            }

            /// See [`Strategy::variance`].
            pub fn variance(&self, step: u64) -> f64 {
                match self { $(Self::$variant(strategy) => strategy.variance(step),)+ }
            }

            /// See [`Strategy::average_variance`].
            pub fn average_variance(&self, steps: u64) -> f64 {
                match self { $(Self::$variant(strategy) => strategy.average_variance(steps),)+ }
            }

            /// See [`Strategy::worst_variance`].
            pub fn worst_variance(&self, steps: u64) -> f64 {
                match self { $(Self::$variant(strategy) => strategy.worst_variance(steps),)+ }
            }

            /// See [`Strategy::shape`].
            pub fn shape(&self, step: u64) -> Shape<'_> {
                match self { $(Self::$variant(strategy) => strategy.shape(step),)+ }
            }

            /// See [`Strategy::state_bytes`].
            pub fn state_bytes(&self) -> usize {
                match self { $(Self::$variant(strategy) => strategy.state_bytes(),)+ }
            }
        }

        impl AnyCounter {
            /// See [`StreamCounter::advance_all`].
            ///
            /// # Errors
            /// As [`Counter::advance`]; if the horizon does not reach for all of them, none is taken.
            pub fn advance_all(&mut self, values: &[i64], released: impl FnMut(i64)) -> Result<()> {
                match self { $(Self::$variant(counter) => counter.advance_all(values, released),)+ }
            }

            /// Writes the counter down, in a new epoch.
            pub fn save(&mut self) -> AnySaved {
                match self { $(Self::$variant(counter) => AnySaved::$variant(counter.save()),)+ }
            }

            /// See [`StreamCounter::restore`].
            ///
            /// # Errors
            /// If the state is stale or damaged, or the permit is of another charge.
            pub fn restore(saved: AnySaved, newest_epoch: u64, permit: Permit) -> Result<Self> {
                Ok(match saved {
                    $(AnySaved::$variant(saved) => Self::$variant(Box::new(StreamCounter::restore(saved, newest_epoch, permit)?)),)+
                })
            }
        }

        impl AnySaved {
            /// Larger than those of all earlier savings of the same counter.
            pub fn epoch(&self) -> u64 {
                match self { $(Self::$variant(saved) => saved.epoch(),)+ }
            }
        }

        impl Counter for AnyCounter {
            fn kind(&self) -> Kind {
                match self { $(Self::$variant(counter) => counter.kind(),)+ }
            }

            fn stream(&self) -> &Stream {
                match self { $(Self::$variant(counter) => counter.stream(),)+ }
            }

            fn guarantee(&self) -> &Guarantee {
                match self { $(Self::$variant(counter) => counter.guarantee(),)+ }
            }

            fn accounting(&self) -> &Accounting {
                match self { $(Self::$variant(counter) => counter.accounting(),)+ }
            }

            fn steps(&self) -> u64 {
                match self { $(Self::$variant(counter) => counter.steps(),)+ }
            }

            fn advance(&mut self, value: i64) -> Result<i64> {
                match self { $(Self::$variant(counter) => counter.advance(value),)+ }
            }

            fn value(&self) -> Option<i64> {
                match self { $(Self::$variant(counter) => counter.value(),)+ }
            }

            fn variance(&self, step: u64) -> f64 {
                match self { $(Self::$variant(counter) => counter.variance(step),)+ }
            }

            fn half_width(&self, step: u64, level: f64) -> Result<f64> {
                match self { $(Self::$variant(counter) => counter.half_width(step, level),)+ }
            }
        }
    };
}

strategies!(PSums, Honaker, KAry, Bridged, Hybrid);
