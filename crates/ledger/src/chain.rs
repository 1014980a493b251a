//! The chain of entries: its first and last entry, and whether it contains the anchored one.

use crate::anchor::Head;
use crate::entry::{Event, Row};
use crate::error::{Error, Result};
use crate::storage::Pages;

/// What an anchor says about the ledger's past.
#[derive(Debug, Clone)]
pub enum Known {
    /// There is no anchor.
    Unanchored,
    /// The head in the anchor; `None` for a new anchor.
    Anchored(Option<Head>),
}

/// The last entry of a chain, with its hash checked.
pub struct End {
    row: Row,
}

impl End {
    /// Opens the newest row.
    pub fn find(pages: &mut dyn Pages) -> Result<Self> {
        let row = pages.last()?.ok_or_else(no_first_entry)?;
        row.open()?;
        Ok(Self { row })
    }

    /// The number of the next entry.
    pub fn next(&self) -> u64 {
        self.row.number + 1
    }
}

/// Appends an entry to the chain; returns its number and the head for the anchor.
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

/// The newest head, to which the anchor must now be moved; `None` without an anchor.
pub fn newest(pages: &mut dyn Pages, known: &Known) -> Result<Option<Head>> {
    let Known::Anchored(_) = known else { return Ok(None) };
    let last = pages.last()?.ok_or_else(no_first_entry)?;
    head(pages, known, &last)
}

/// Checks that the ledger contains the anchored entry.
pub fn continues(pages: &mut dyn Pages, known: &Known) -> Result<()> {
    let Known::Anchored(Some(head)) = known else { return Ok(()) };
    if ledger_id(pages)? != head.ledger {
        return Err(Error::NotAnchored("it is the anchor of another ledger".into()));
    }
    match pages.row(head.number)? {
        Some(row) if row.hash == head.hash => Ok(()),
        Some(_) => Err(Error::NotAnchored(format!("entry {} is different, so the ledger was rewritten", head.number))),
        None => Err(Error::NotAnchored(format!("entry {} is missing, so it is an older copy", head.number))),
    }
}

/// The head that the anchor stores for a row.
pub fn head(pages: &mut dyn Pages, known: &Known, row: &Row) -> Result<Option<Head>> {
    match known {
        Known::Unanchored => Ok(None),
        Known::Anchored(_) => Ok(Some(Head { ledger: ledger_id(pages)?, number: row.number, hash: row.hash })),
    }
}

/// The ledger's unique id.
pub fn ledger_id(pages: &mut dyn Pages) -> Result<String> {
    let row = pages.row(1)?.ok_or_else(no_first_entry)?;
    match row.open()?.event {
        Event::Opened { ledger } => Ok(ledger),
        _ => Err(misplaced(&row)),
    }
}

/// The error for a chain without entries: even an empty ledger has one.
pub fn no_first_entry() -> Error {
    Error::Damaged("its first entry is missing".into())
}

/// The error for a row whose content does not match the key it was found by.
pub fn misplaced(row: &Row) -> Error {
    Error::Damaged(format!("entry {} does not match its index", row.number))
}
