//! Saved states of keyed counters.

use std::hash::Hash;

use serde::{Deserialize, Serialize, Serializer};

use super::admission::Admission;
use super::counter::{KeyedCounter, Running};
use super::crowd::Era;
use super::plan::{KeyedPlan, each_key};
use super::table::KeyTable;
use crate::continual::counter::reachable;
use crate::continual::strategy::Strategy;
use crate::continual::stream::Stream;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::Permit;
use crate::privacy::Guarantee;

/// A keyed counter's saved state: everything but the generator, which starts anew, and the seed of the table.
///
/// # Privacy
/// It contains the exact sums, the noise, the events of the open step and all keys, admitted or not: as secret as the
/// data. As with [`Saved`](crate::continual::Saved), every saved state has a larger *epoch* than the one before, shared
/// by all keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(bound = "K: Deserialize<'de>")]
pub struct KeyedSaved<K, S: Strategy> {
    epoch: u64,
    stream: Stream,
    guarantee: Guarantee,
    admits: bool,
    accounting: Accounting,
    parameters: S::Parameters,
    steps: u64,
    keys: Vec<SavedKey<K, S::State>>,
    shown: Vec<u32>,
    era: Option<Era>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedKey<K, T> {
    key: K,
    pending: i128,
    /// `None` if the key came since the last step was closed: its noise is yet to be drawn.
    counter: Option<SavedCounter<T>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedCounter<T> {
    sum: i128,
    value: i64,
    state: T,
}

/// A keyed counter ready to be saved; it is read back as a [`KeyedSaved`]. It is borrowed, since counters of ten
/// thousand keys take megabytes, and are saved at the end of every step.
///
/// # Privacy
/// As [`KeyedSaved`].
#[derive(Debug, Serialize)]
#[serde(bound = "K: Serialize")]
pub struct KeyedSaving<'a, K, S: Strategy> {
    epoch: u64,
    stream: &'a Stream,
    guarantee: &'a Guarantee,
    admits: bool,
    accounting: &'a Accounting,
    parameters: S::Parameters,
    steps: u64,
    keys: Keys<'a, K, S::State>,
    shown: &'a [u32],
    era: Option<Era>,
}

#[derive(Debug)]
struct Keys<'a, K, T> {
    keys: &'a [K],
    pending: Vec<i128>,
    counters: &'a [Running<T>],
}

impl<K: Serialize, T: Serialize> Serialize for Keys<'_, K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.keys.iter().zip(&self.pending).enumerate().map(|(place, (key, &pending))| {
            let counter = self.counters.get(place);
            let counter =
                counter.map(|Running { sum, state, value, .. }| SavedCounter { sum: *sum, value: *value, state });
            SavedKey { key, pending, counter }
        }))
    }
}

impl<K, S: Strategy> KeyedSaving<'_, K, S> {
    /// Larger than in all earlier saved states of the same counter.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl<K, S: Strategy> KeyedSaved<K, S> {
    /// Larger than in all earlier saved states of the same counter.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Where the counter was charged.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}

impl<K: Hash + Ord + Clone, S: Strategy> KeyedCounter<K, S> {
    /// Saves the counter, in a new epoch, with the events of the open step.
    pub fn save(&mut self) -> KeyedSaving<'_, K, S> {
        self.epoch += 1;
        KeyedSaving {
            epoch: self.epoch,
            stream: &self.plan.stream,
            guarantee: &self.plan.guarantee,
            admits: self.plan.admission.is_some(),
            accounting: self.permit.accounting(),
            parameters: self.plan.strategy.parameters(),
            steps: self.steps,
            keys: Keys { keys: self.keys.keys(), pending: self.keys.pending(), counters: &self.counters },
            shown: &self.shown,
            era: self.era,
        }
    }

    /// Resumes from a saved state. The permit must be for the same charge; nothing is deducted from it.
    ///
    /// # Errors
    /// [`Error::StaleState`] if the state is older than `newest_epoch`, the largest that the caller knows of (0 if
    /// none); [`Error::DamagedState`] if it cannot be the state of such a counter; [`Error::OtherCharge`] if the permit
    /// is for another charge.
    pub fn restore(saved: KeyedSaved<K, S>, newest_epoch: u64, permit: Permit) -> Result<Self> {
        let KeyedSaved { epoch, stream, guarantee, admits, accounting, parameters, steps, keys, shown, era } = saved;
        if epoch < newest_epoch {
            return Err(Error::StaleState { found: epoch, newest: newest_epoch });
        }
        let (admission, for_one_key) = if admits {
            let (admission, pure) = Admission::new(&stream, &guarantee)?;
            (Some(admission), pure)
        } else {
            (None, guarantee.clone())
        };
        let strategy = S::new(each_key(&stream)?, for_one_key, parameters)?;
        let plan = KeyedPlan { stream, guarantee, admission, strategy };
        let counted = keys.iter().filter_map(|key| key.counter.as_ref()).map(|counter| counter.sum);
        let sums = keys.iter().map(|key| key.pending).chain(counted);
        if !reachable(&plan.stream, steps, sums) {
            return Err(Error::DamagedState);
        }
        let mut table = KeyTable::with_capacity(keys.len());
        let mut counters = Vec::with_capacity(keys.len());
        for (place, SavedKey { key, pending, counter }) in keys.into_iter().enumerate() {
            match counter {
                // New keys come last, and only where they can be admitted.
                Some(SavedCounter { sum, value, state })
                    if counters.len() == place && plan.strategy.fits(&state, steps) =>
                {
                    counters.push(Running { sum, state, value, shown: false });
                }
                None if admits => (),
                _ => return Err(Error::DamagedState),
            }
            if !table.insert(key, pending) {
                return Err(Error::DamagedState);
            }
        }
        for &place in &shown {
            match counters.get_mut(place as usize) {
                Some(counter) if !counter.shown => counter.shown = true,
                _ => return Err(Error::DamagedState),
            }
        }
        // Keys that existed when the era began are shown, and never forgotten.
        let known = era.map_or(counters.len(), |era| era.known as usize);
        if era.is_some() != admits || counters.get(..known).is_none_or(|known| known.iter().any(|key| !key.shown)) {
            return Err(Error::DamagedState);
        }
        let permit = permit.resume_stream(&accounting)?;
        Ok(Self { plan, permit, epoch, steps, keys: table, counters, shown, era })
    }
}
