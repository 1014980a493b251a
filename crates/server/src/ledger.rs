//! The service's ledger: opened where it was before, and never silently recreated.
//!
//! A new ledger would reset all budgets. So the data directory remembers the ledger's newest entry, recorded when the
//! service starts, periodically while it runs, and when it stops. While the service runs, every entry it has seen must
//! remain. An older copy of the ledger, or one whose log was removed, is noticed unless all it lacks was charged just
//! before a crash. An anchor, which every charge moves before it is granted, has no such gap, and can be out of reach
//! of those who can write to the data directory.

use std::path::Path;
use std::time::Duration;

use reticent_ledger::{Anchor, DurableLedger, Error as LedgerError, Location};

use crate::config::Config;
use crate::error::{Error, Result};

/// The ledger's file, within the data directory.
const FILE: &str = "ledger.sqlite";
/// The ledger's newest entry, as remembered by the data directory.
const MEMORY: &str = "ledger.head";
/// How often it is recorded, if something was charged.
pub const PAUSE: Duration = Duration::from_secs(1);

/// Opens the ledger of a data directory, with the anchor from the configuration; creates it if there never was one.
///
/// # Errors
/// If the earlier ledger is missing, or replaced by another one or an older copy; if a required anchor is missing, or
/// is ahead of the ledger.
pub fn open(config: &Config, directory: &Path) -> Result<DurableLedger> {
    let place = match &config.ledger {
        Some(place) => config.place_of_ledger(place)?,
        None => Location::File(directory.join(FILE)),
    };
    let memory = memory(directory);
    let anchor = config.anchor.as_ref().map(|path| Anchor::new(config.path(&path.to_string_lossy())));
    let is_anchored = anchor.as_ref().map_or(Ok(None), Anchor::read)?.is_some();
    let lost = |error| match error {
        LedgerError::Missing(_) | LedgerError::NotAnchored(_) => {
            let memory = directory.join(MEMORY);
            let message = format!(
                "{place} is not the ledger that was charged before: {error}. Restore the right one; only to reset all budgets, remove {} \
                 and the anchor, if there is one",
                memory.display()
            );
            Error::field("ledger", message)
        }
        error => error.into(),
    };
    let was_there = is_anchored || memory.read()?.is_some();
    let ledger = if was_there { DurableLedger::open(&place) } else { DurableLedger::create(&place) }.map_err(lost)?;
    ledger.advance(&memory).map_err(lost)?;
    // From now on no charge can be removed from it unnoticed.
    ledger.accounts()?;
    let Some(anchor) = anchor else { return Ok(ledger) };
    // An empty ledger has nothing to lose.
    if !is_anchored && ledger.head()?.number > 1 {
        let message = format!(
            "there is no anchor; if the ledger is the right one, create it with `reticent ledger verify --ledger {place} --anchor FILE`"
        );
        return Err(Error::field("anchor", message));
    }
    ledger.advance(&anchor).map_err(lost)?;
    Ok(ledger.anchored(anchor))
}

/// Remembers the ledger's newest entry, including charges by other processes. Retries a ledger that could not be
/// written.
///
/// # Errors
/// If something cannot be written, or the ledger lacks an earlier entry.
pub fn remember(ledger: &DurableLedger, directory: &Path) -> Result<()> {
    if ledger.failing().is_some() {
        ledger.try_again();
    }
    let memory = memory(directory);
    if memory.read()? != Some(ledger.head()?) {
        ledger.accounts()?;
        ledger.advance(&memory)?;
    }
    ledger.failing().map_or(Ok(()), |error| Err(error.into()))
}

fn memory(directory: &Path) -> Anchor {
    Anchor::new(directory.join(MEMORY))
}
