//! What was counted since the last transaction.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::definition::{Definition, Keys};
use crate::event::{Event, Events};

/// Sums of the open step that are not in the journal yet.
#[derive(Debug)]
pub(super) enum Sums {
    One(i128),
    /// Sums by key index, and the indices of the touched keys in order of their first event.
    Known(Vec<i128>, Vec<u32>),
    Selected(HashMap<String, i128, RandomState>),
}

/// A line of the journal: the sums of a transaction.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalLine {
    /// The number of events of the open step that they include.
    pub events: u64,
    pub sums: JournalSums,
}

/// See [`Sums`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum JournalSums {
    One(i128),
    Known(Vec<(u32, i128)>),
    Selected(Vec<(String, i128)>),
}

impl Sums {
    pub fn new(definition: &Definition) -> Self {
        match definition.keys() {
            Keys::None => Self::One(0),
            Keys::Known(keys) => Self::Known(vec![0; keys.len()], Vec::new()),
            Keys::Selected => Self::Selected(HashMap::with_hasher(RandomState::default())),
        }
    }

    /// Adds an event. In a stream with keys, an event without a key is not counted.
    pub fn add(&mut self, events: &Events, event: &Event) {
        let value = i128::from(event.value);
        match self {
            Self::One(sum) => *sum += value,
            Self::Known(sums, touched) => {
                let Some(place) = events.place(event) else { return };
                let Some(sum) = sums.get_mut(place as usize) else { return };
                // A key whose sum returned to 0 is noted again: adding 0 twice does no harm.
                if *sum == 0 {
                    touched.push(place);
                }
                *sum += value;
            }
            Self::Selected(sums) => {
                if let Some(key) = events.key_text(event) {
                    *sums.entry_ref(key).or_insert(0) += value;
                }
            }
        }
    }

    /// Takes all sums, leaving none.
    pub fn take(&mut self) -> JournalSums {
        match self {
            Self::One(sum) => JournalSums::One(std::mem::take(sum)),
            Self::Known(sums, touched) => {
                let take = |place: u32| (place, std::mem::take(&mut sums[place as usize]));
                JournalSums::Known(touched.drain(..).map(take).collect())
            }
            Self::Selected(sums) => JournalSums::Selected(sums.drain().collect()),
        }
    }
}

/// The known keys, by index; empty if there are none.
pub(super) fn known(definition: &Definition) -> &[Arc<str>] {
    match definition.keys() {
        Keys::Known(keys) => keys,
        Keys::None | Keys::Selected => &[],
    }
}
