//! How counters make their noise.

use std::sync::Arc;

use reticent::continual::{AnyStrategy, CounterKind, KeyedPlan, Stream, Tally};
use reticent::permit::StreamPermit;
use reticent::privacy::Guarantee;
use reticent::release::LEVEL;
use reticent::{Permit, Result};

use crate::definition::{Definition, Keys};

/// The maximum number of steps for the square-root counter, which remembers all steps and is written to disk after
/// each.
const LONGEST_TOEPLITZ: u64 = 4096;

/// How one counter, or one counter per key, makes its noise. Nothing is charged yet.
#[derive(Debug, Clone)]
pub enum Plan {
    /// One counter.
    One(Box<AnyStrategy>),
    /// One counter per key, with the keys if they are known beforehand.
    Keyed(Box<KeyedPlan<AnyStrategy>>, Vec<String>),
}

impl Plan {
    /// A plan for one counter.
    ///
    /// # Errors
    /// If this kind of counter does not support the stream or the guarantee.
    pub fn one(kind: CounterKind, stream: Stream, guarantee: Guarantee) -> Result<Self> {
        Ok(Self::One(Box::new(kind.plan(stream, guarantee)?)))
    }

    /// A plan for one counter per known key.
    ///
    /// # Errors
    /// As for [`Plan::one`].
    pub fn known(kind: CounterKind, stream: Stream, guarantee: Guarantee, keys: Vec<String>) -> Result<Self> {
        Ok(Self::Keyed(Box::new(KeyedPlan::known(kind, stream, guarantee)?), keys))
    }

    /// A plan for one counter per key that enough events share.
    ///
    /// # Errors
    /// As for [`Plan::one`]; also if the guarantee has no δ.
    pub fn selecting(kind: CounterKind, stream: Stream, guarantee: Guarantee) -> Result<Self> {
        Ok(Self::Keyed(Box::new(KeyedPlan::admitting(kind, stream, guarantee)?), Vec::new()))
    }

    /// The plan for a stream definition.
    pub(crate) fn new(definition: &Definition) -> Result<Self> {
        let kind = definition.counter();
        let plan = |kind: CounterKind| {
            let (stream, guarantee) = (definition.stream().clone(), definition.guarantee().clone());
            match definition.keys() {
                Keys::None => Self::one(kind, stream, guarantee),
                Keys::Known(keys) => {
                    Self::known(kind, stream, guarantee, keys.iter().map(|key| key.to_string()).collect())
                }
                Keys::Selected => Self::selecting(kind, stream, guarantee),
            }
        };
        let chosen = plan(kind)?;
        let long = definition.stream().steps().is_none_or(|steps| steps > LONGEST_TOEPLITZ);
        match kind {
            CounterKind::Auto if long && chosen.strategy().kind() == CounterKind::Toeplitz => plan(CounterKind::Blt),
            CounterKind::Toeplitz if long => {
                let allowed = "another one (blt is nearly as accurate) beyond 4096 steps: it remembers every step";
                Err(reticent::Error::Parameter { parameter: "counter", value: kind.to_string(), allowed })
            }
            _ => Ok(chosen),
        }
    }

    /// How the counter of a single key makes its noise.
    pub fn strategy(&self) -> &AnyStrategy {
        match self {
            Self::One(strategy) => strategy,
            Self::Keyed(plan, _) => plan.strategy(),
        }
    }

    /// The stream to count.
    pub fn stream(&self) -> &Stream {
        match self {
            Self::One(strategy) => strategy.stream(),
            Self::Keyed(plan, _) => plan.stream(),
        }
    }

    /// The guarantee, which is also the cost. This is pure ε if `auto` finds that it gives smaller errors than ε and δ.
    pub fn guarantee(&self) -> &Guarantee {
        match self {
            Self::One(strategy) => strategy.guarantee(),
            Self::Keyed(plan, _) => plan.guarantee(),
        }
    }

    /// Starts the counters on a new charge.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee.
    pub fn start(self, permit: Permit) -> Result<Tally> {
        Ok(match self {
            Self::One(strategy) => Tally::One(strategy.start(permit)?),
            Self::Keyed(plan, keys) => Tally::Keyed(plan.start(keys, permit)?),
        })
    }

    /// Starts the counters on an existing charge.
    pub(crate) fn begin(self, permit: StreamPermit) -> Result<Tally> {
        Ok(match self {
            Self::One(strategy) => Tally::One(strategy.begin(permit)),
            Self::Keyed(plan, keys) => Tally::Keyed(plan.begin(keys, permit)?),
        })
    }
}

/// The 95 % half-width and the variance of the last step.
pub(crate) fn error(tally: &Tally) -> Result<(f64, f64)> {
    let step = tally.steps();
    Ok((tally.half_width(step, LEVEL)?, tally.variance(step)))
}

/// The released keys after the first `known`.
pub(crate) fn keys_after(tally: &Tally, known: usize) -> Vec<Arc<str>> {
    match tally {
        Tally::One(_) => Vec::new(),
        Tally::Keyed(counter) => counter.values().skip(known).map(|(key, _)| key.as_str().into()).collect(),
    }
}
