//! The ledger's entries, each containing the hash of the one before it.

use jiff::Timestamp;
use reticent::ledger::Charge;
use reticent::privacy::Adjacency;
use serde::{Deserialize, Serialize};

use crate::budget::{Budget, Spend};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::run::Run;

/// Something that happened; never undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The ledger was created. Always the first entry.
    Opened {
        /// The ledger's unique id.
        ledger: String,
    },
    /// A dataset was registered.
    Registered(Dataset),
    /// A dataset that had no limit was given one, for good.
    Limited {
        /// The dataset, with its limit and the terms that the limit protects.
        #[serde(flatten)]
        dataset: Box<Dataset>,
        /// What was charged under these terms before, in the limit's currency; it counts toward the limit.
        spent: Spend,
        /// How many charges that were.
        charges: u64,
        /// What is being computed under these terms.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        runs: Vec<Run>,
    },
    /// A dataset was charged.
    Charged {
        /// The charge.
        charge: Box<Charge>,
        /// The dataset's total under the charge's unit and adjacency, including this charge.
        spent: Spend,
        /// The number of charges in that total.
        charges: u64,
        /// What is being computed under these terms, this charge included if its process must not end before it has an
        /// outcome.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        runs: Vec<Run>,
    },
    /// Something is being computed from rows for a stream, which was charged before.
    Began {
        /// The dataset.
        dataset: String,
        /// The stream's charge.
        charge: u64,
        /// What is being computed for streams of the dataset, this included.
        runs: Vec<Run>,
    },
    /// What was begun for a stream has been computed.
    Computed {
        /// The dataset.
        dataset: String,
        /// The stream's charge.
        charge: u64,
        /// What is still being computed for streams of the dataset.
        runs: Vec<Run>,
    },
    /// A charge's release was stored.
    Released {
        /// The charge's entry.
        charge: u64,
        /// The release's hash; the release itself is stored beside the entry.
        digest: Hash,
    },
    /// A charge ended in a failure, stored in place of a release. The dataset cannot be charged until it is reopened.
    Failed {
        /// The dataset.
        dataset: String,
        /// The charge's entry.
        charge: u64,
        /// The hash of the failure's text, which is stored beside the entry.
        digest: Hash,
    },
    /// A charge ended because the user ended it, with a text stored in place of a release.
    Interrupted {
        /// The dataset.
        dataset: String,
        /// The charge's entry.
        charge: u64,
        /// The hash of the text, which is stored beside the entry.
        digest: Hash,
        /// How many runs on the dataset were interrupted, this one included.
        total: u64,
        /// How many of them since it was last suspended or reopened. Enough of them suspend it, too.
        recent: u64,
    },
    /// The data owner has investigated a failure, and the dataset can be charged again.
    Reopened {
        /// The dataset.
        dataset: String,
        /// The entry of the failure.
        failure: u64,
        /// Who reopened it.
        caller: String,
    },
}

/// A dataset and its terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    /// Its name.
    #[serde(rename = "dataset")]
    pub name: String,
    /// What it may spend.
    pub budget: Budget,
    /// The unit and adjacency that the budget protects. Without terms, spending is summed separately for each unit and
    /// adjacency charged. A limit always has terms.
    pub terms: Option<Terms>,
}

/// The privacy unit and the adjacency.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Terms {
    /// `row`, `event`, or the name of a column.
    pub unit: String,
    /// Which tables are neighbours.
    pub adjacency: Adjacency,
}

impl Terms {
    /// The terms of a charge.
    pub fn of(charge: &Charge) -> Self {
        Self { unit: charge.unit.clone(), adjacency: charge.adjacency }
    }
}

/// A complete entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Counted from 1, without gaps.
    pub number: u64,
    /// When it was written, by the writer's clock.
    pub at: String,
    /// The hash of the entry before it.
    pub previous: Hash,
    /// What happened.
    pub event: Event,
}

/// A stored entry: its text, the text's hash, and its lookup keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The entry's number.
    pub number: u64,
    /// The entry as JSON, exactly as hashed.
    pub body: String,
    /// The body's hash.
    pub hash: Hash,
    /// The entry's lookup keys.
    pub keys: Keys,
}

/// The keys by which an entry is looked up; all follow from the body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// The dataset that was registered.
    pub registered: Option<String>,
    /// The dataset that was charged.
    pub dataset: Option<String>,
    /// The request that was charged; [`Keys::LIMIT`] if a limit was set.
    pub request: Option<String>,
    /// The unit and adjacency that were charged, as one string.
    pub terms: Option<String>,
    /// The charge whose release was stored.
    pub charge: Option<u64>,
}

impl Row {
    /// The row that comes after `previous`.
    pub fn after(previous: Option<&Self>, event: Event) -> Self {
        let number = previous.map_or(1, |row| row.number + 1);
        let at = format!("{:.3}", Timestamp::now());
        let keys = Keys::of(&event);
        let entry = Entry { number, at, previous: previous.map_or(Hash::NONE, |row| row.hash), event };
        let body = serde_json::to_string(&entry).expect("an entry is plain data");
        let hash = Hash::of(&body);
        Self { number, body, hash, keys }
    }

    /// Checks the row and returns its entry.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the row was changed.
    pub fn open(&self) -> Result<Entry> {
        let changed = || Error::Damaged(format!("entry {} was changed", self.number));
        if Hash::of(&self.body) != self.hash {
            return Err(changed());
        }
        let entry: Entry = serde_json::from_str(&self.body).map_err(|_| changed())?;
        if entry.number != self.number || Keys::of(&entry.event) != self.keys {
            return Err(changed());
        }
        Ok(entry)
    }
}

impl Keys {
    /// The request id of a limit, which no charge can have; a dataset has at most one. So a limit is also the newest
    /// "charge" of its terms until there is another, and its sum is found like any other.
    pub const LIMIT: &str = "";
    /// The terms of a dataset's failures and reopenings, which no charge can have. The newest of them decides whether
    /// the dataset is suspended.
    pub const SUSPENSION: &str = "\u{1}";
    /// The terms of what is computed for a dataset's streams, which no charge can have.
    pub const COMPUTING: &str = "\u{2}";
    /// The terms of a dataset's interrupted runs, which no charge can have. The newest of them holds their number.
    pub const INTERRUPTION: &str = "\u{3}";

    fn of(event: &Event) -> Self {
        match event {
            Event::Opened { .. } => Self::default(),
            Event::Registered(dataset) => Self { registered: Some(dataset.name.clone()), ..Self::default() },
            Event::Limited { dataset, .. } => Self {
                dataset: Some(dataset.name.clone()),
                request: Some(Self::LIMIT.to_owned()),
                terms: dataset.terms.as_ref().map(Self::terms),
                ..Self::default()
            },
            Event::Charged { charge, .. } => Self {
                dataset: Some(charge.dataset.clone()),
                request: Some(charge.request.clone()),
                terms: Some(Self::terms(&Terms::of(charge))),
                ..Self::default()
            },
            Event::Released { charge, .. } => Self { charge: Some(*charge), ..Self::default() },
            Event::Failed { dataset, charge, .. } => {
                let request = format!("{}failed {charge}", Self::SUSPENSION);
                Self { charge: Some(*charge), ..Self::noted(dataset, Self::SUSPENSION, request) }
            }
            Event::Interrupted { dataset, charge, .. } => {
                let request = format!("{}interrupted {charge}", Self::INTERRUPTION);
                Self { charge: Some(*charge), ..Self::noted(dataset, Self::INTERRUPTION, request) }
            }
            Event::Reopened { dataset, failure, .. } => {
                Self::noted(dataset, Self::SUSPENSION, format!("{}reopened {failure}", Self::SUSPENSION))
            }
            Event::Began { dataset, charge, .. } => Self::noted(dataset, Self::COMPUTING, Self::began(*charge)),
            Event::Computed { dataset, charge, .. } => Self::noted(dataset, Self::COMPUTING, Self::computed(*charge)),
        }
    }

    /// Requests are unique within a dataset, and those of charges contain no control characters.
    fn noted(dataset: &str, terms: &str, request: String) -> Self {
        let (dataset, terms) = (Some(dataset.to_owned()), Some(terms.to_owned()));
        Self { dataset, request: Some(request), terms, ..Self::default() }
    }

    /// The request id of what was begun for a stream's charge.
    pub fn began(charge: u64) -> String {
        format!("{}began {charge}", Self::COMPUTING)
    }

    /// The request id of what was computed for a stream's charge.
    pub fn computed(charge: u64) -> String {
        format!("{}computed {charge}", Self::COMPUTING)
    }

    /// The lookup key of `terms`.
    pub fn terms(terms: &Terms) -> String {
        format!("{} {}", terms.adjacency, terms.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_was_changed_does_not_open() {
        let event = Event::Opened { ledger: "a".into() };
        let row = Row::after(None, event.clone());
        let entry = row.open().unwrap();
        assert_eq!((entry.number, entry.previous, entry.event), (1, Hash::NONE, event));
        let next = Row::after(Some(&row), Event::Released { charge: 1, digest: Hash::NONE });
        assert_eq!((next.number, next.open().unwrap().previous), (2, row.hash));
        let mutants = [
            Row { body: row.body.replace('a', "b"), ..row.clone() },
            Row { number: 2, ..row.clone() },
            Row { keys: Keys { charge: Some(1), ..Keys::default() }, ..row.clone() },
            Row { hash: Hash::NONE, ..row.clone() },
            Row { keys: Keys::default(), ..next },
        ];
        for mutant in mutants {
            assert!(matches!(mutant.open(), Err(Error::Damaged(_))), "{mutant:?}");
        }
    }
}
