//! What is released, and how a step is closed.

use anyhow::Result;
use reticent::continual::Tally;
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

/// Closes one step for each value.
pub fn close(tally: &mut Tally, values: &[i64], released: &mut Vec<Released>) -> Result<()> {
    let mut step = tally.steps();
    let Tally::One(counter) = tally else { unreachable!("with keys there are events") };
    counter.advance_all(values, |value| {
        step += 1;
        released.push(Released { step, key: None, value });
    })?;
    Ok(())
}

/// Closes one step for each list of events.
pub fn close_keyed(tally: &mut Tally, steps: &[Vec<Event>], released: &mut Vec<Released>) -> Result<()> {
    let Tally::Keyed(counter) = tally else { unreachable!("without keys there are values") };
    for events in steps {
        events.iter().for_each(|(key, value)| counter.add(&**key, *value));
        counter.close_step()?;
        let step = counter.steps();
        released.extend(counter.values().map(|(key, value)| Released { step, key: Some(key.as_str().into()), value }));
    }
    Ok(())
}

/// How many releases a step has at present.
pub fn releases_a_step(tally: &Tally) -> usize {
    match tally {
        Tally::One(_) => 1,
        Tally::Keyed(counter) => counter.values().len().max(1),
    }
}
