//! One counter, or one for each key.

use std::sync::Arc;

use reticent::continual::{
    AnyCounter, AnyKeyedCounter, AnyKeyedSaved, AnySaved, AnyStrategy, Counter, KeyedPlan, Kind, Stream,
};
use reticent::ledger::Accounting;
use reticent::permit::StreamPermit;
use reticent::privacy::Guarantee;
use reticent::release::LEVEL;
use reticent::{Permit, Result};
use serde::{Deserialize, Serialize};

use crate::definition::{Definition, Keys};

/// The square-root counter remembers all steps, and would be written down after each of them.
const LONGEST_TOEPLITZ: u64 = 4096;

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

/// How the counters of a definition make their noise.
pub(crate) enum Plan {
    One(Box<AnyStrategy>),
    Keyed(Box<KeyedPlan<AnyStrategy>>, Vec<String>),
}

impl Plan {
    /// Nothing is charged.
    pub fn new(definition: &Definition) -> Result<Self> {
        let kind = definition.counter();
        let (stream, guarantee) = (definition.stream(), definition.guarantee());
        let plan = |kind: Kind| match definition.keys() {
            Keys::None => Ok(Self::One(Box::new(kind.plan(stream.clone(), guarantee.clone())?))),
            Keys::Known(keys) => {
                let keys = keys.iter().map(|key| key.to_string()).collect();
                Ok(Self::Keyed(Box::new(KeyedPlan::known(kind, stream.clone(), guarantee.clone())?), keys))
            }
            Keys::Selected => {
                let plan = KeyedPlan::admitting(kind, stream.clone(), guarantee.clone())?;
                Ok(Self::Keyed(Box::new(plan), Vec::new()))
            }
        };
        let chosen = plan(kind)?;
        let long = stream.steps().is_none_or(|steps| steps > LONGEST_TOEPLITZ);
        match kind {
            Kind::Auto if long && chosen.kind() == Kind::Toeplitz => plan(Kind::Blt),
            Kind::Toeplitz if long => {
                let allowed = "another one (blt comes near it) beyond 4096 steps: it remembers every step";
                Err(reticent::Error::Parameter { parameter: "counter", value: kind.to_string(), allowed })
            }
            _ => Ok(chosen),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::One(strategy) => strategy.kind(),
            Self::Keyed(plan, _) => plan.strategy().kind(),
        }
    }

    /// On a charge that was taken before.
    pub fn begin(self, permit: StreamPermit) -> Result<Tally> {
        Ok(match self {
            Self::One(strategy) => Tally::One(strategy.begin(permit)),
            Self::Keyed(plan, keys) => Tally::Keyed(plan.begin(keys, permit)?),
        })
    }
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
    ///
    /// # Errors
    /// If the state is stale or damaged, or the permit is of another charge.
    pub fn restore(self, newest_epoch: u64, permit: Permit) -> Result<Tally> {
        Ok(match self {
            Self::One(saved) => Tally::One(AnyCounter::restore(saved, newest_epoch, permit)?),
            Self::Keyed(saved) => Tally::Keyed(AnyKeyedCounter::restore(saved, newest_epoch, permit)?),
        })
    }
}

impl Tally {
    /// Writes it down, in a new epoch.
    ///
    /// # Errors
    /// If it is a counter whose memory must not be seen twice.
    pub fn save(&mut self) -> Result<SavedTally> {
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

    /// Half-width at 95 % and variance of the last step.
    pub(crate) fn error(&self) -> Result<(f64, f64)> {
        let step = self.steps();
        Ok((self.half_width(step, LEVEL)?, self.variance(step)))
    }

    /// The released keys after the first so many.
    pub(crate) fn keys_after(&self, known: usize) -> Vec<Arc<str>> {
        match self {
            Self::One(_) => Vec::new(),
            Self::Keyed(counter) => counter.values().skip(known).map(|(key, _)| key.as_str().into()).collect(),
        }
    }
}
