//! One counter, or one for each key.

use anyhow::Result;
use reticent::continual::{AnyCounter, AnyKeyedCounter, AnyKeyedSaved, AnySaved, Counter, Kind, Stream};
use reticent::ledger::Accounting;
use reticent::privacy::Guarantee;
use reticent::{Error, Permit};
use serde::{Deserialize, Serialize};

/// What is released for one step, and one key if there are keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// Counted from 1.
    pub step: u64,
    /// Whose, if there are keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Box<str>>,
    /// With noise.
    pub value: i64,
}

/// What happened: a key and what it counts.
pub type Event = (Box<str>, i64);

/// One counter, or one for each key.
#[derive(Debug)]
pub enum Tally {
    /// One counter.
    One(AnyCounter),
    /// One for each key.
    Keyed(AnyKeyedCounter<String>),
}

/// A [`Tally`], written down.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SavedTally {
    /// One counter.
    One(AnySaved),
    /// One for each key.
    Keyed(AnyKeyedSaved<String>),
}

impl SavedTally {
    /// Larger than those of all earlier savings.
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

    /// Goes on.
    pub fn restore(self, newest_epoch: u64, permit: Permit) -> Result<Tally> {
        Ok(match self {
            Self::One(saved) => Tally::One(AnyCounter::restore(saved, newest_epoch, permit)?),
            Self::Keyed(saved) => Tally::Keyed(AnyKeyedCounter::restore(saved, newest_epoch, permit)?),
        })
    }
}

impl Tally {
    /// Closes one step for each value.
    pub fn close(&mut self, values: &[i64], released: &mut Vec<Released>) -> Result<()> {
        let mut step = self.steps();
        match self {
            Self::One(counter) => counter.advance_all(values, |value| {
                step += 1;
                released.push(Released { step, key: None, value });
            })?,
            Self::Keyed(_) => unreachable!("with keys there are events"),
        }
        Ok(())
    }

    /// Closes one step for each list of events.
    pub fn close_keyed(&mut self, steps: &[Vec<Event>], released: &mut Vec<Released>) -> Result<()> {
        let Self::Keyed(counter) = self else { unreachable!("without keys there are values") };
        for events in steps {
            events.iter().for_each(|(key, value)| counter.add(&**key, *value));
            counter.close_step()?;
            let step = counter.steps();
            released.extend(counter.values().map(|(key, value)| Released {
                step,
                key: Some(key.as_str().into()),
                value,
            }));
        }
        Ok(())
    }

    /// How many releases a step has at present.
    pub fn releases_a_step(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Keyed(counter) => counter.values().len().max(1),
        }
    }

    /// Writes it down, in a new epoch.
    pub fn save(&mut self) -> Result<SavedTally, Error> {
        match self {
            Self::One(counter) => counter.save().map(SavedTally::One),
            Self::Keyed(counter) => Ok(SavedTally::Keyed(counter.save())),
        }
    }

    /// The counter's name.
    pub fn kind(&self) -> Kind {
        match self {
            Self::One(counter) => counter.kind(),
            Self::Keyed(counter) => counter.kind(),
        }
    }

    /// What is counted.
    pub fn stream(&self) -> &Stream {
        match self {
            Self::One(counter) => counter.stream(),
            Self::Keyed(counter) => counter.stream(),
        }
    }

    /// What all releases together promise.
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

    /// How many steps have been released.
    pub fn steps(&self) -> u64 {
        match self {
            Self::One(counter) => counter.steps(),
            Self::Keyed(counter) => counter.steps(),
        }
    }

    /// |noise| at a step stays within this with probability at least `level`.
    pub fn half_width(&self, step: u64, level: f64) -> Result<f64, Error> {
        match self {
            Self::One(counter) => counter.half_width(step, level),
            Self::Keyed(counter) => counter.half_width(step, level),
        }
    }
}
