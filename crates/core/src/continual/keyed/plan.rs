//! What one event can change when there are keys.

use super::admission::Admission;
use crate::continual::any::AnyStrategy;
use crate::continual::kind::CounterKind;
use crate::continual::p_sums::PSums;
use crate::continual::strategy::Strategy;
use crate::continual::stream::{Stream, Unit};
use crate::error::{Error, Result};
use crate::privacy::{Adjacency, Guarantee};

/// The stream that one key's counter is designed for, so that the counters of all keys together satisfy the guarantee.
///
/// # Privacy
/// Write y for the p-sums of all keys' counters side by side. An event belongs to one key: added or removed, it changes
/// the p-sums of that key alone, exactly as in a counter without keys. So under [`Adjacency::AddRemove`] the stream is
/// unchanged, and all keys together cost what one costs.
///
/// Under [`Adjacency::Replace`] an event may change its key: one counter loses a value v, another gains a value v′.
/// That is one event removed and one added, each of size at most max(|low|, |high|): the stream of a unit with 2c
/// events under add/remove, where c was the number of events before. (If the key stays, the value changes by |v − v′|,
/// which is no more.) Note that high − low, the size for a stream without keys under replace, would not do: a value
/// between 10 and 15 that changes its key changes two counters by up to 15 each. The L1 bound is attained. In the L2
/// norm two different counters change by only √2·max(|low|, |high|), and by 2·max(|low|, |high|) if the range is
/// symmetric and the key stays; the larger of the two is used for every range.
///
/// A strategy may use only c and r of its stream: a unit changes R·x by at most c·r·‖R‖ (the triangle inequality over
/// its events). It must not assume that the events of one unit are in different steps: with keys they need not be.
///
/// # Errors
/// If the unit is a whole step, which could change every key at once.
pub fn each_key(stream: &Stream) -> Result<Stream> {
    let events = match stream.unit() {
        Unit::Event => 1,
        Unit::Events(count) => count,
        Unit::Step => {
            let allowed = "event or events:N when there are keys: a whole step could change every key at once";
            return Err(Error::parameter("unit", stream.unit(), allowed));
        }
    };
    if stream.adjacency() == Adjacency::AddRemove {
        return Ok(stream.clone());
    }
    let events = events.checked_mul(2).ok_or_else(|| Error::parameter("unit", stream.unit(), "of fewer events"))?;
    stream.clone().with_adjacency(Adjacency::AddRemove)?.with_unit(Unit::Events(events))
}

/// The plan of a [`KeyedCounter`](super::KeyedCounter)'s noise; nothing is charged yet.
///
/// # Example
/// ```
/// use reticent::continual::{KeyedPlan, CounterKind, Stream};
/// use reticent::privacy::{Adjacency, Guarantee};
///
/// let stream = Stream::bits().until(1000)?;
/// let guarantee = Guarantee::Pure("1".parse()?);
/// let plan = KeyedPlan::known(CounterKind::Binary, stream.clone(), guarantee.clone())?;
/// let alone = CounterKind::Binary.plan(stream.clone(), guarantee.clone())?;
/// assert_eq!(plan.strategy().variance(999), alone.variance(999)); // keys cost nothing
///
/// // An event that changes its key touches two counters: twice the noise.
/// let replaced = KeyedPlan::known(CounterKind::Binary, stream.with_adjacency(Adjacency::Replace)?, guarantee)?;
/// assert!(replaced.strategy().variance(999) > 3.9 * alone.variance(999));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyedPlan<S> {
    pub(super) stream: Stream,
    pub(super) guarantee: Guarantee,
    pub(super) admission: Option<Admission>,
    pub(super) strategy: S,
}

impl<S: Strategy> KeyedPlan<S> {
    /// For keys known in advance; `strategy` returns the strategy for one key's counter. The plan has the strategy's
    /// guarantee, which may be stronger than the one given: ε alone where ε and δ were given.
    ///
    /// # Errors
    /// As [`each_key`] and the strategy; if the strategy is for another stream, or costs more than the guarantee.
    pub fn known_with(
        stream: Stream,
        guarantee: Guarantee,
        strategy: impl FnOnce(Stream, Guarantee) -> Result<S>,
    ) -> Result<Self> {
        let one_key = each_key(&stream)?;
        let strategy = strategy(one_key.clone(), guarantee.clone())?;
        let affordable = guarantee.balance().minus(&strategy.guarantee().balance()).is_some();
        check_made_for(strategy.stream() == &one_key && affordable)?;
        let guarantee = strategy.guarantee().clone();
        Ok(Self { stream, guarantee, admission: None, strategy })
    }
}

fn check_made_for(fits: bool) -> Result<()> {
    let problem = "the strategy does not match the plan's stream and guarantee";
    if fits { Ok(()) } else { Err(Error::invalid("strategy", problem)) }
}

impl<S> KeyedPlan<S> {
    /// The stream, as its user sees it.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The guarantee of all releases of all keys together.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The strategy of one key's noise, for the stream [`each_key`] returns.
    pub fn strategy(&self) -> &S {
        &self.strategy
    }

    /// How unknown keys are admitted; `None` if only known keys are counted.
    pub fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    /// The same plan with the strategy in another type.
    pub(in crate::continual) fn map<U>(self, strategy: impl FnOnce(S) -> U) -> KeyedPlan<U> {
        let Self { stream, guarantee, admission, strategy: old } = self;
        KeyedPlan { stream, guarantee, admission, strategy: strategy(old) }
    }

    /// The same plan without its strategy, and the strategy.
    pub(in crate::continual) fn split(self) -> (KeyedPlan<()>, S) {
        let Self { stream, guarantee, admission, strategy } = self;
        (KeyedPlan { stream, guarantee, admission, strategy: () }, strategy)
    }
}

impl KeyedPlan<PSums> {
    /// For unknown keys, too: see [`Admission`].
    ///
    /// # Errors
    /// If the guarantee is not given as ε and δ, δ is below 10^−300, or as [`KeyedPlan::known_with`].
    pub fn admitting_with(
        stream: Stream,
        guarantee: Guarantee,
        strategy: impl FnOnce(Stream, Guarantee) -> Result<PSums>,
    ) -> Result<Self> {
        let (admission, pure) = Admission::new(&stream, &guarantee)?;
        let one_key = each_key(&stream)?;
        let strategy = strategy(one_key.clone(), pure.clone())?;
        check_made_for(strategy.stream() == &one_key && strategy.guarantee() == &pure)?;
        Ok(Self { stream, guarantee, admission: Some(admission), strategy })
    }
}

impl KeyedPlan<AnyStrategy> {
    /// For keys known in advance. If `auto` finds that ε alone is better than ε and δ, the plan's guarantee and cost
    /// are ε alone.
    ///
    /// # Errors
    /// If the unit is a whole step, or the counter does not support the stream and the guarantee.
    pub fn known(kind: CounterKind, stream: Stream, guarantee: Guarantee) -> Result<Self> {
        let strategy = kind.plan(each_key(&stream)?, guarantee)?;
        let guarantee = strategy.guarantee().clone();
        Ok(Self { stream, guarantee, admission: None, strategy })
    }

    /// For unknown keys, too: see [`Admission`].
    ///
    /// # Errors
    /// If the counter is not one of [`Admission::KINDS`] (or `auto`, the best of them), the guarantee is not given as ε
    /// and δ, the unit is a whole step, or the counter does not support the stream and the guarantee.
    pub fn admitting(kind: CounterKind, stream: Stream, guarantee: Guarantee) -> Result<Self> {
        let kinds = Admission::KINDS.iter().copied();
        let plan = |kind: CounterKind| {
            let named = |stream: Stream, pure: Guarantee| {
                let parameters = PSums::named(kind, &stream)?;
                PSums::new(stream, pure, parameters)
            };
            KeyedPlan::admitting_with(stream.clone(), guarantee.clone(), named)
        };
        let chosen = if kind == CounterKind::Auto {
            let steps = stream.steps().unwrap_or(1 << 20);
            let error = |plan: &KeyedPlan<PSums>| plan.strategy.average_variance(steps);
            let best = kinds.filter_map(|kind| plan(kind).ok()).min_by(|a, b| error(a).total_cmp(&error(b)));
            // None supports it: input-noise, which supports all streams, says why.
            best.map_or_else(|| plan(CounterKind::InputNoise), Ok)?
        } else if Admission::KINDS.contains(&kind) {
            plan(kind)?
        } else {
            let allowed = "auto, input-noise, two-level, binary or output-noise when keys are not known in advance";
            return Err(Error::parameter("counter", kind, allowed));
        };
        Ok(chosen.map(AnyStrategy::from))
    }
}
