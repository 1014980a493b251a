//! The chain of entries: where it begins and ends, and whether it continues what an anchor knows.

use crate::anchor::Head;
use crate::entry::{Event, Row};
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

/// Adds an entry at the end of a chain whose end is as it was written: its number, and the head for the anchor.
pub fn append(
    pages: &mut dyn Pages,
    known: &Known,
    event: Event,
    release: Option<&str>,
) -> Result<(u64, Option<Head>)> {
    let last = pages.last()?.ok_or_else(no_first_entry)?;
    last.open()?;
    let row = Row::after(Some(&last), event);
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
