//! The counters of a definition.

use std::sync::Arc;

use reticent::Result;
use reticent::continual::{AnyStrategy, KeyedPlan, Kind, Tally};
use reticent::permit::StreamPermit;
use reticent::privacy::Guarantee;
use reticent::release::LEVEL;

use crate::definition::{Definition, Keys};

/// The most steps for the square-root counter, which remembers all steps, and is written to disk after each of them.
const LONGEST_TOEPLITZ: u64 = 4096;

/// The mechanism of a definition's counters.
pub(crate) enum Plan {
    One(Box<AnyStrategy>),
    Keyed(Box<KeyedPlan<AnyStrategy>>, Vec<String>),
}

impl Plan {
    /// Plans the counters; charges nothing.
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
                let allowed = "another one (blt is nearly as accurate) beyond 4096 steps: it remembers every step";
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

    /// Its guarantee, and cost: pure ε if `auto` finds that better than ε and δ.
    pub fn guarantee(&self) -> &Guarantee {
        match self {
            Self::One(strategy) => strategy.guarantee(),
            Self::Keyed(plan, _) => plan.guarantee(),
        }
    }

    /// Starts counting, for a charge made before.
    pub fn begin(self, permit: StreamPermit) -> Result<Tally> {
        Ok(match self {
            Self::One(strategy) => Tally::One(strategy.begin(permit)),
            Self::Keyed(plan, keys) => Tally::Keyed(plan.begin(keys, permit)?),
        })
    }
}

/// Half-width at 95 % and variance of the last step.
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
