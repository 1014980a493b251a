//! What is released, and how a step is closed.

use std::collections::BTreeMap;

use reticent::continual::Tally;
use serde::{Deserialize, Serialize};

use super::error::Result;

/// The release of one step, and of one key if there are keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// The step, counted from 1.
    pub step: u64,
    /// The key, if there are keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Box<str>>,
    /// The noisy sum.
    pub value: i64,
}

/// The largest releases shown so far, for an audience that must not see sums fall.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Highest {
    one: Option<i64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    by_key: BTreeMap<Box<str>, i64>,
}

impl Highest {
    /// Takes a release into account; returns the largest so far, of its key if there are keys.
    pub fn raise(&mut self, release: &Released) -> i64 {
        let value = release.value;
        let highest = match &release.key {
            None => self.one.get_or_insert(value),
            Some(key) => match self.by_key.get_mut(key) {
                Some(highest) => highest,
                None => self.by_key.entry(key.clone()).or_insert(value),
            },
        };
        *highest = value.max(*highest);
        *highest
    }
}

/// An event: a key and how much it counts.
pub(crate) type Event = (Box<str>, i64);

/// Closes one step for each value.
pub(super) fn close(tally: &mut Tally, values: &[i64], released: &mut Vec<Released>) -> Result<()> {
    let mut step = tally.steps();
    let Tally::One(counter) = tally else { unreachable!("with keys there are events") };
    counter.advance_all(values, |value| {
        step += 1;
        released.push(Released { step, key: None, value });
    })?;
    Ok(())
}

/// Closes one step for each list of events.
pub(super) fn close_keyed(tally: &mut Tally, steps: &[Vec<Event>], released: &mut Vec<Released>) -> Result<()> {
    let Tally::Keyed(counter) = tally else { unreachable!("without keys there are values") };
    for events in steps {
        events.iter().for_each(|(key, value)| counter.add(&**key, *value));
        counter.close_step()?;
        let step = counter.steps();
        released.extend(counter.values().map(|(key, value)| Released { step, key: Some(key.as_str().into()), value }));
    }
    Ok(())
}

/// The current number of releases per step.
pub(super) fn releases_per_step(tally: &Tally) -> usize {
    match tally {
        Tally::One(_) => 1,
        Tally::Keyed(counter) => counter.values().len().max(1),
    }
}
