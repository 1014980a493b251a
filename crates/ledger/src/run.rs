//! Which charges are being computed, and by which processes.
//!
//! Whether a process survives a computation can depend on rows: the system kills it when memory runs out, or it aborts.
//! ε does not cover that bit, so it must not be had for each charge. A charge therefore says, in the chain, by which
//! [holder] it is computed: a process that holds a lock which the operating system or the server releases when the
//! process is gone. A charge without an outcome whose holder is gone has failed.
//!
//! To find such charges without reading the whole ledger, each charge also repeats, from the newest one before it under
//! the same terms, the [runs](Run) of all holders that were still there.
//!
//! [holder]: Holder

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::chain::misplaced;
use crate::entry::{Event, Keys, Row};
use crate::error::{Error, Result};
use crate::storage::Pages;

/// How many rows are read at a time.
const PIECE: u32 = 256;

/// A process that holds a lock while it computes; an id that is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Holder(u64);

impl Holder {
    /// Another one.
    fn fresh() -> Result<Self> {
        let mut id = [0; 8];
        getrandom::fill(&mut id).map_err(|error| reticent::Error::Entropy(error.to_string()))?;
        Ok(Self(u64::from_le_bytes(id)))
    }

    /// The id as a signed number.
    pub fn number(self) -> i64 {
        self.0.cast_signed()
    }
}

/// 16 hexadecimal digits.
impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl From<Holder> for String {
    fn from(holder: Holder) -> Self {
        holder.to_string()
    }
}

impl TryFrom<String> for Holder {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let holder = u64::from_str_radix(&text, 16).map(Self).ok();
        holder.filter(|holder| holder.to_string() == text).ok_or("not a holder's id")
    }
}

/// Charges of one dataset under the same terms that one holder computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Who computes them.
    pub holder: Holder,
    /// No earlier one was without an outcome when the last one began.
    pub first: u64,
    /// The last one that the holder began.
    pub last: u64,
}

/// What this process computes.
#[derive(Debug)]
pub struct Computing {
    /// This process.
    pub holder: Holder,
    /// The charges that have no outcome yet, by the entry that began them.
    begun: Mutex<BTreeMap<u64, u64>>,
}

impl Computing {
    /// Nothing yet.
    pub fn new() -> Result<Self> {
        Ok(Self { holder: Holder::fresh()?, begun: Mutex::default() })
    }

    /// Begins to compute a charge with the next entry. Returns the runs of that entry: the others', and its own.
    pub fn begin(&self, pages: &mut dyn Pages, mut runs: Vec<Run>, entry: u64, charge: u64) -> Result<Vec<Run>> {
        pages.hold(self.holder)?;
        let mut begun = self.begun();
        begun.insert(entry, charge);
        let first = begun.first_key_value().map_or(entry, |(first, _)| *first);
        runs.retain(|run| run.holder != self.holder);
        runs.push(Run { holder: self.holder, first, last: entry });
        Ok(runs)
    }

    /// The charge has an outcome.
    pub fn end(&self, charge: u64) {
        self.begun().retain(|_, begun| *begun != charge);
    }

    /// All entries that began what has no outcome yet.
    pub fn entries(&self) -> Vec<u64> {
        self.begun().keys().copied().collect()
    }

    fn begun(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The runs on a dataset, according to its newest charges.
#[derive(Debug, Default)]
pub struct Runs {
    /// Those of holders that are still there, by the key of their terms.
    held: Vec<(String, Run)>,
    /// The charges without an outcome whose holder is gone.
    pub lost: BTreeSet<u64>,
}

impl Runs {
    /// Looks at the newest row under each of a dataset's terms. The `own` holder is there.
    pub fn find(pages: &mut dyn Pages, newest: &[Row], own: Option<Holder>) -> Result<Self> {
        let mut runs = Self::default();
        for row in newest {
            let Some(key) = &row.keys.terms else { return Err(misplaced(row)) };
            for run in row.open()?.event.runs() {
                if own == Some(run.holder) || pages.is_held(run.holder)? {
                    runs.held.push((key.clone(), *run));
                } else {
                    runs.lost.extend(unfinished(pages, row, run)?);
                }
            }
        }
        Ok(runs)
    }

    /// What the next entry under these terms repeats.
    pub fn under(&self, key: &str) -> Vec<Run> {
        self.held.iter().filter(|(under, _)| under == key).map(|(_, run)| *run).collect()
    }
}

/// The charges of a run that have no outcome.
fn unfinished(pages: &mut dyn Pages, newest: &Row, run: &Run) -> Result<Vec<u64>> {
    let (mut charges, mut after) = (Vec::new(), run.first.saturating_sub(1));
    while after < run.last {
        let rows = pages.rows(after, PIECE)?;
        after = rows.last().ok_or_else(|| Error::Damaged(format!("entry {} is missing", run.last)))?.number;
        let same = |row: &&Row| (&row.keys.dataset, &row.keys.terms) == (&newest.keys.dataset, &newest.keys.terms);
        for row in rows.iter().filter(same).filter(|row| row.number <= run.last) {
            let event = row.open()?.event;
            let began = event.runs().iter().any(|own| own.holder == run.holder && own.last == row.number);
            let Some((dataset, charge)) = event.begins(row.number).filter(|_| began) else { continue };
            if pages.release(charge)?.is_none() && pages.charge(dataset, &Keys::computed(charge))?.is_none() {
                charges.push(charge);
            }
        }
    }
    Ok(charges)
}

impl Event {
    /// The runs on the dataset under the entry's terms, when it was written.
    pub fn runs(&self) -> &[Run] {
        match self {
            Self::Limited { runs, .. } | Self::Charged { runs, .. } => runs,
            Self::Began { runs, .. } | Self::Computed { runs, .. } => runs,
            _ => &[],
        }
    }

    /// The dataset and the charge that an entry with this number begins to compute, if one of its runs is its own.
    pub fn begins(&self, number: u64) -> Option<(&str, u64)> {
        match self {
            Self::Charged { charge, .. } => Some((&charge.dataset, number)),
            Self::Began { dataset, charge, .. } => Some((dataset, *charge)),
            _ => None,
        }
    }
}
