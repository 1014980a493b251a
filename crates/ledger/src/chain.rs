//! The chain of entries: where it begins and ends, and whether it continues what an anchor knows.

use crate::anchor::Head;
use crate::entry::{Event, Keys, Row};
use crate::error::{Error, Result};
use crate::storage::Pages;

/// What is known elsewhere of the ledger's past.
#[derive(Debug, Clone)]
pub enum Known {
    /// Nobody asked for an anchor.
    Unanchored,
    /// What the anchor holds, which is nothing at first.
    Anchored(Option<Head>),
}

/// The end of a chain, which is as it was written.
pub struct End {
    row: Row,
    event: Event,
}

impl End {
    /// Opens the newest row.
    pub fn find(pages: &mut dyn Pages) -> Result<Self> {
        let row = pages.last()?.ok_or_else(no_first_entry)?;
        let event = row.open()?.event;
        Ok(Self { row, event })
    }

    /// What happened last, if it was a charge to this dataset under such terms.
    pub fn charge(&self, dataset: &str, terms: &str) -> Option<&Event> {
        let Keys { dataset: charged, terms: under, .. } = &self.row.keys;
        (charged.as_deref() == Some(dataset) && under.as_deref() == Some(terms)).then_some(&self.event)
    }
}

/// Adds an entry at the end of a chain: its number, and the head for the anchor.
pub fn append(
    pages: &mut dyn Pages,
    known: &Known,
    end: &End,
    event: Event,
    release: Option<&str>,
) -> Result<(u64, Option<Head>)> {
    let row = Row::after(Some(&end.row), event);
    pages.append(&row, release)?;
    Ok((row.number, head(pages, known, &row)?))
}

/// The head that the anchor must know now, if there is an anchor: that of the newest entry.
pub fn newest(pages: &mut dyn Pages, known: &Known) -> Result<Option<Head>> {
    let Known::Anchored(_) = known else { return Ok(None) };
    let last = pages.last()?.ok_or_else(no_first_entry)?;
    head(pages, known, &last)
}

/// Does the ledger hold what the anchor knows?
pub fn continues(pages: &mut dyn Pages, known: &Known) -> Result<()> {
    let Known::Anchored(Some(head)) = known else { return Ok(()) };
    if ledger_id(pages)? != head.ledger {
        return Err(Error::NotAnchored("it is the anchor of another ledger".into()));
    }
    match pages.row(head.number)? {
        Some(row) if row.hash == head.hash => Ok(()),
        Some(_) => Err(Error::NotAnchored(format!("entry {} is another one, so it was rewritten", head.number))),
        None => Err(Error::NotAnchored(format!("entry {} is missing, so it is an older copy", head.number))),
    }
}

/// What the anchor must know of a row.
pub fn head(pages: &mut dyn Pages, known: &Known, row: &Row) -> Result<Option<Head>> {
    match known {
        Known::Unanchored => Ok(None),
        Known::Anchored(_) => Ok(Some(Head { ledger: ledger_id(pages)?, number: row.number, hash: row.hash })),
    }
}

/// What tells the ledger from all others.
pub fn ledger_id(pages: &mut dyn Pages) -> Result<String> {
    let row = pages.row(1)?.ok_or_else(no_first_entry)?;
    match row.open()?.event {
        Event::Opened { ledger } => Ok(ledger),
        _ => Err(misplaced(&row)),
    }
}

/// Even an empty ledger has one entry.
pub fn no_first_entry() -> Error {
    Error::Damaged("its first entry is missing".into())
}

/// A row that is not what the storage found it as.
pub fn misplaced(row: &Row) -> Error {
    Error::Damaged(format!("entry {} is not what it is looked up as", row.number))
}
