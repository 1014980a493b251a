//! One counter, or one for each key.

use serde::{Deserialize, Serialize};

use super::{AnyCounter, AnyKeyedCounter, AnyKeyedSaved, AnyKeyedSaving, AnySaved, Counter, CounterKind, Stream};
use crate::Result;
use crate::ledger::Accounting;
use crate::permit::Permit;
use crate::privacy::Guarantee;

/// One counter, or one for each key, if this is known only when the program runs.
#[derive(Debug)]
pub enum Tally {
    /// One counter.
    One(AnyCounter),
    /// One for each key.
    Keyed(AnyKeyedCounter<String>),
}

/// A [`Tally`], ready for saving; when read back it is a [`SavedTally`].
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TallySaving<'a> {
    /// One counter.
    One(Box<AnySaved>),
    /// One for each key.
    Keyed(AnyKeyedSaving<'a, String>),
}

impl TallySaving<'_> {
    /// Larger than those of all earlier saved states.
    pub fn epoch(&self) -> u64 {
        match self {
            Self::One(saved) => saved.epoch(),
            Self::Keyed(saving) => saving.epoch(),
        }
    }
}

/// A saved [`Tally`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SavedTally {
    /// One counter.
    One(AnySaved),
    /// One for each key.
    Keyed(AnyKeyedSaved<String>),
}

impl SavedTally {
    /// Larger than those of all earlier saved states.
    pub fn epoch(&self) -> u64 {
        match self {
            Self::One(saved) => saved.epoch(),
            Self::Keyed(saved) => saved.epoch(),
        }
    }

    /// Where it was charged.
    pub fn accounting(&self) -> &Accounting {
        match self {
            Self::One(saved) => saved.accounting(),
            Self::Keyed(saved) => saved.accounting(),
        }
    }

    /// Continues from the saved state.
    ///
    /// # Errors
    /// If the state is stale or damaged, or the permit belongs to another charge.
    pub fn restore(self, newest_epoch: u64, permit: Permit) -> Result<Tally> {
        Ok(match self {
            Self::One(saved) => Tally::One(AnyCounter::restore(saved, newest_epoch, permit)?),
            Self::Keyed(saved) => Tally::Keyed(AnyKeyedCounter::restore(saved, newest_epoch, permit)?),
        })
    }
}

impl Tally {
    /// Saves it, in a new epoch.
    ///
    /// # Errors
    /// If the counter's memory must not be seen twice.
    pub fn save(&mut self) -> Result<TallySaving<'_>> {
        match self {
            Self::One(counter) => counter.save().map(|saved| TallySaving::One(Box::new(saved))),
            Self::Keyed(counter) => Ok(TallySaving::Keyed(counter.save())),
        }
    }

    /// The counter's name.
    pub fn kind(&self) -> CounterKind {
        match self {
            Self::One(counter) => counter.kind(),
            Self::Keyed(counter) => counter.kind(),
        }
    }

    /// The stream that is counted.
    pub fn stream(&self) -> &Stream {
        match self {
            Self::One(counter) => counter.stream(),
            Self::Keyed(counter) => counter.stream(),
        }
    }

    /// The guarantee of all releases together.
    pub fn guarantee(&self) -> &Guarantee {
        match self {
            Self::One(counter) => counter.guarantee(),
            Self::Keyed(counter) => counter.guarantee(),
        }
    }

    /// Where it was charged.
    pub fn accounting(&self) -> &Accounting {
        match self {
            Self::One(counter) => counter.accounting(),
            Self::Keyed(counter) => counter.accounting(),
        }
    }

    /// The number of steps released so far.
    pub fn steps(&self) -> u64 {
        match self {
            Self::One(counter) => counter.steps(),
            Self::Keyed(counter) => counter.steps(),
        }
    }

    /// |noise| at a step stays within this with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or the step is 0.
    pub fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        match self {
            Self::One(counter) => counter.half_width(step, level),
            Self::Keyed(counter) => counter.half_width(step, level),
        }
    }

    /// The variance of the noise at a step.
    pub fn variance(&self, step: u64) -> f64 {
        match self {
            Self::One(counter) => counter.variance(step),
            Self::Keyed(counter) => counter.variance(step),
        }
    }
}
