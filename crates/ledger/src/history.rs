//! The ledger's history, entry by entry.

use crate::entry::{Entry, Event, Row};
use crate::error::Result;
use crate::hash::Hash;
use crate::storage::Pages;

/// The most entries in memory at a time.
const PIECE: u32 = 1024;

/// An entry, with its hash and the dataset and request it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The entry.
    pub entry: Entry,
    /// Its hash, which the next entry contains.
    pub hash: Hash,
    /// The dataset that was registered, limited, charged or reopened, or whose release was stored.
    pub dataset: Option<String>,
    /// The request that was charged, or whose release was stored.
    pub request: Option<String>,
}

/// The next entries after number `after`; empty at the end.
pub(crate) fn piece(pages: &mut dyn Pages, after: u64) -> Result<Vec<Record>> {
    let rows = pages.rows(after, PIECE)?;
    rows.iter().map(|row| record(pages, &rows, row)).collect()
}

fn record(pages: &mut dyn Pages, piece: &[Row], row: &Row) -> Result<Record> {
    let entry = row.open()?;
    let (dataset, request) = match &entry.event {
        Event::Opened { .. } => (None, None),
        Event::Registered(dataset) => (Some(dataset.name.clone()), None),
        Event::Limited { dataset, .. } => (Some(dataset.name.clone()), None),
        Event::Charged { charge, .. } => (Some(charge.dataset.clone()), Some(charge.request.clone())),
        Event::Reopened { dataset, .. } => (Some(dataset.clone()), None),
        Event::Released { charge, .. } | Event::Failed { charge, .. } => {
            // Usually just before.
            let near = piece.binary_search_by_key(charge, |row| row.number).ok().map(|place| piece[place].clone());
            let charged = match near {
                Some(row) => Some(row),
                None => pages.row(*charge)?,
            };
            match charged.map(|row| row.open()).transpose()?.map(|entry| entry.event) {
                Some(Event::Charged { charge, .. }) => (Some(charge.dataset), Some(charge.request)),
                _ => (None, None),
            }
        }
    };
    Ok(Record { entry, hash: row.hash, dataset, request })
}
