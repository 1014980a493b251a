//! A running sum for each key, released at every step.

use std::borrow::Borrow;
use std::hash::Hash;

use super::crowd::Era;
use super::plan::KeyedPlan;
use super::table::KeyTable;
use crate::continual::counter::{check_horizon, saturated};
use crate::continual::error_bar;
use crate::continual::strategy::Strategy;
use crate::continual::stream::Stream;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::{Permit, StreamPermit};
use crate::privacy::Guarantee;
use crate::release::{ErrorBar, LEVEL, Release};

/// A running sum for each key, all released after every step.
///
/// # Privacy
/// One charge covers all keys and all steps: see [`each_key`](super::each_key). Every known key is released at every
/// step, even without events: silence must not show. An event with an unknown key is ignored or, if the plan
/// [admits](super::Admission) keys, counted until the key may be shown. Known keys come first, sorted, then admitted
/// ones by the step of their admission, sorted within a step: the order depends on events only through releases.
///
/// The memory holds the exact sums: this is the curator's counter.
///
/// # Accuracy
/// That of a counter without keys: each key has its own noise, and the error bar holds for each key separately.
///
/// # Algorithm
/// Events are added to their key's pending sum in a hash table whose seed is drawn anew for every counter; closing a
/// step adds the next noise of each key's own strategy state. A key admitted late gets the noise of all earlier steps
/// at once ([`Strategy::skip`]). A key takes twice its own size, about 150 bytes for sums, value and table, and the
/// strategy's state.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{KeyedPlan, CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let stream = Stream::bits().until(1000)?;
/// let plan = KeyedPlan::known(CounterKind::Binary, stream, Guarantee::Pure("1".parse()?))?;
/// let mut visits = plan.start(["home", "help", "about"].map(String::from), Permit::unaccounted()?)?;
/// for page in ["home", "help", "home", "no such page"] {
///     visits.add(page, 1);
/// }
/// visits.close_step()?;
/// let half_width = visits.error_bar().expect("a step was closed").half_width();
/// for (page, total) in visits.values() {
///     println!("{page}: {total} ± {half_width}");
/// }
/// assert_eq!(visits.values().map(|(page, _)| page.as_str()).collect::<Vec<_>>(), ["about", "help", "home"]);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct KeyedCounter<K, S: Strategy> {
    pub(super) plan: KeyedPlan<S>,
    pub(super) permit: StreamPermit,
    pub(super) epoch: u64,
    pub(super) steps: u64,
    pub(super) keys: KeyTable<K>,
    /// As long as the table, except for keys that came since the last step was closed.
    pub(super) counters: Vec<Running<S::State>>,
    /// The released keys, in the order of their release.
    pub(super) shown: Vec<u32>,
    /// If keys are admitted: the current era.
    pub(super) era: Option<Era>,
}

/// One key's counter.
#[derive(Debug)]
pub(super) struct Running<T> {
    pub sum: i128,
    pub state: T,
    pub value: i64,
    pub shown: bool,
}

impl<S: Strategy> KeyedPlan<S> {
    /// Charges the whole stream to the permit and starts counting; `keys` are those known in advance.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee, or there is no key and none can be admitted.
    pub fn start<K: Hash + Ord + Clone>(
        self,
        keys: impl IntoIterator<Item = K>,
        permit: Permit,
    ) -> Result<KeyedCounter<K, S>> {
        let guarantee = self.guarantee.clone();
        self.begin_with(keys, || permit.into_stream(&guarantee))
    }

    /// Starts on a charge made earlier: see [`StreamCounter::begin`](crate::continual::StreamCounter::begin).
    ///
    /// # Errors
    /// If there is no key and none can be admitted.
    pub fn begin<K: Hash + Ord + Clone>(
        self,
        keys: impl IntoIterator<Item = K>,
        permit: StreamPermit,
    ) -> Result<KeyedCounter<K, S>> {
        self.begin_with(keys, || Ok(permit))
    }

    fn begin_with<K: Hash + Ord + Clone>(
        self,
        keys: impl IntoIterator<Item = K>,
        permit: impl FnOnce() -> Result<StreamPermit>,
    ) -> Result<KeyedCounter<K, S>> {
        let mut known: Vec<K> = keys.into_iter().collect();
        known.sort_unstable();
        known.dedup();
        if known.is_empty() && self.admission.is_none() {
            return Err(Error::parameter("keys", "an empty list", "at least one, unless the plan admits keys"));
        }
        if u32::try_from(known.len()).is_err() {
            return Err(Error::parameter("keys", known.len(), "fewer than 2^32"));
        }
        let mut permit = permit()?;
        let era = match &self.admission {
            Some(admission) => Some(admission.crowd.era(known.len(), &mut permit.draw()?)),
            None => None,
        };
        let shown = (0..known.len() as u32).collect();
        let begin = |_| Running { sum: 0, state: self.strategy.begin(), value: 0, shown: true };
        let counters = (0..known.len()).map(begin).collect();
        let mut keys = KeyTable::with_capacity(known.len());
        for key in known {
            keys.insert(key, 0);
        }
        Ok(KeyedCounter { plan: self, permit, epoch: 0, steps: 0, keys, counters, shown, era })
    }
}

impl<K: Hash + Ord + Clone, S: Strategy> KeyedCounter<K, S> {
    /// Counts an event of the open step.
    #[inline]
    pub fn add<Q>(&mut self, key: &Q, value: i64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.add_sum(key, self.plan.stream.clamp(value).into());
    }

    /// Adds the sum of events of one key that were clamped one by one ([`Stream::clamp`]) and added up elsewhere.
    #[inline]
    pub fn add_sum<Q>(&mut self, key: &Q, sum: i128)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if self.keys.add(key, sum) {
            return;
        }
        match self.era {
            Some(era) if !era.ends(self.keys.keys().len() + 1) => _ = self.keys.insert(key.to_owned(), sum),
            Some(_) => self.crowd_out(),
            None => {}
        }
    }

    /// Counts many events of the open step: the fastest way, especially for text keys.
    pub fn add_all<Q>(&mut self, events: &[(&Q, i64)])
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let (stream, era) = (&self.plan.stream, self.era);
        let clamped = |value| i128::from(stream.clamp(value));
        let mut too_many = false;
        self.keys.add_all(events, clamped, |keys, key, value| match &era {
            Some(era) if !too_many && !era.ends(keys.keys().len() + 1) => _ = keys.insert(key.to_owned(), value),
            Some(_) => too_many = true,
            None => {}
        });
        if too_many {
            self.crowd_out();
        }
    }

    /// Whether too many keys came in the open step: keys not admitted were forgotten, and no new key counts until it
    /// closes.
    pub fn is_crowded(&self) -> bool {
        self.era.is_some_and(|era| era.over)
    }

    /// Whether there is a sum for this key.
    pub fn counts<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.keys.find(key).is_some()
    }

    fn crowd_out(&mut self) {
        let Some(era) = self.era.as_mut().filter(|era| !era.over) else { return };
        era.over = true;
        forget(&mut self.keys, &mut self.counters, &mut self.shown);
    }

    /// Closes the step and computes the values to release.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] at the horizon; [`Error::Entropy`] if fresh entropy is due and not available. The step
    /// is not taken then.
    pub fn close_step(&mut self) -> Result<()> {
        check_horizon(&self.plan.stream, self.steps, 1)?;
        // Whether too many keys came is decided first: if so, none is admitted.
        if self.era.is_some_and(|era| era.ends(self.keys.keys().len())) {
            self.crowd_out();
        }
        let strategy = &self.plan.strategy;
        let step = self.steps + 1;
        let threshold = match &self.plan.admission {
            Some(admission) if self.shown.len() < self.keys.keys().len() => {
                admission.threshold(step, strategy.shape(step))?
            }
            _ => i128::MAX,
        };
        let mut draw = self.permit.draw()?;
        for _ in self.counters.len()..self.keys.keys().len() {
            let mut state = strategy.begin();
            strategy.skip(&mut state, self.steps, &mut draw);
            self.counters.push(Running { sum: 0, state, value: 0, shown: false });
        }
        let counters = &mut self.counters;
        self.keys.take_pending(|place, pending| counters[place].sum += pending);
        let before = self.shown.len();
        for (place, counter) in self.counters.iter_mut().enumerate() {
            let noisy = counter.sum + strategy.next(&mut counter.state, step, &mut draw);
            // Saturation is post-processing: it depends on the noisy sum alone.
            counter.value = saturated(noisy);
            if !counter.shown && noisy >= threshold {
                counter.shown = true;
                self.shown.push(place as u32);
            }
        }
        let keys = self.keys.keys();
        // By key: the order in which keys came is as secret as the keys were.
        self.shown[before..].sort_unstable_by(|&a, &b| keys[a as usize].cmp(&keys[b as usize]));
        if let (Some(admission), Some(era)) = (&self.plan.admission, self.era) {
            let crowd = &admission.crowd;
            self.era = Some(match era.over {
                true => crowd.era(self.shown.len(), &mut draw),
                false => crowd.next_step(era, &mut draw),
            });
        }
        self.steps = step;
        Ok(())
    }

    /// The latest values of all released keys, without new noise; empty before the first step.
    pub fn values(&self) -> impl ExactSizeIterator<Item = (&K, i64)> {
        let shown = if self.steps == 0 { &[] } else { self.shown.as_slice() };
        shown.iter().map(|&place| (&self.keys.keys()[place as usize], self.counters[place as usize].value))
    }

    /// The latest value of a key; `None` before the first step, or if the key is not released.
    pub fn value<Q>(&self, key: &Q) -> Option<i64>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let counter = self.counters.get(self.keys.find(key)?)?;
        (self.steps > 0 && counter.shown).then_some(counter.value)
    }

    /// The latest release of a key; `None` before the first step, or if the key is not released.
    pub fn release<Q>(&self, key: &Q) -> Option<Release<i64>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Some(Release::new(self.value(key)?, self.error_bar()?, self.plan.guarantee.clone(), self.accounting().clone()))
    }

    /// The error bar of the latest values, the same for every key, and valid for each separately; `None` before the
    /// first step.
    pub fn error_bar(&self) -> Option<ErrorBar> {
        (self.steps > 0).then(|| error_bar::of_release(self.half_width(self.steps, LEVEL)))
    }

    /// The exact variance of the noise of one key at any step, past or future.
    pub fn variance(&self, step: u64) -> f64 {
        self.plan.strategy.variance(step)
    }

    /// |noise| of one key at a step stays within this with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or the step is 0.
    pub fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if step == 0 {
            return Err(Error::parameter("step", step, "at least 1"));
        }
        error_bar::half_width(self.plan.strategy.shape(step), level)
    }

    /// The threshold that admits a key at a step; `None` if only known keys are counted.
    pub fn threshold(&self, step: u64) -> Option<i128> {
        self.plan.admission.as_ref()?.threshold(step, self.plan.strategy.shape(step)).ok()
    }

    /// The plan of its noise.
    pub fn plan(&self) -> &KeyedPlan<S> {
        &self.plan
    }

    /// The stream, as its user sees it.
    pub fn stream(&self) -> &Stream {
        &self.plan.stream
    }

    /// The guarantee of all releases of all keys together.
    pub fn guarantee(&self) -> &Guarantee {
        &self.plan.guarantee
    }

    /// Where the stream was charged.
    pub fn accounting(&self) -> &Accounting {
        self.permit.accounting()
    }

    /// The number of steps released so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// Keeps the keys that are shown, with their pending sums, and nothing of the others.
fn forget<K: Hash + Ord + Clone, T>(keys: &mut KeyTable<K>, counters: &mut Vec<Running<T>>, shown: &mut [u32]) {
    // Keys that came since the last step was closed have no counter, and are not shown.
    keys.take_pending(|place, pending| {
        if let Some(counter) = counters.get_mut(place) {
            counter.sum += pending;
        }
    });
    let mut kept = KeyTable::with_capacity(shown.len());
    let mut all: Vec<Option<Running<T>>> = std::mem::take(counters).into_iter().map(Some).collect();
    for place in shown.iter_mut() {
        kept.insert(keys.keys()[*place as usize].clone(), 0);
        counters.extend(all[*place as usize].take());
        *place = counters.len() as u32 - 1;
    }
    *keys = kept;
}
