//! What all streams of a data directory share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use reticent::Permit;
use reticent::ledger::{Accounting, Ledger};
use reticent_ledger::DurableLedger;
use rusqlite::Transaction;

use crate::board::Board;
use crate::catalogue::Entry;
use crate::clock::Clock;
use crate::curator::live::Live;
use crate::database::Database;
use crate::definition::Mode;
use crate::error::Result;
use crate::health::Health;

/// The database, the ledger and the clock.
pub(crate) struct Shared {
    pub directory: PathBuf,
    pub ledger: Arc<DurableLedger>,
    pub clock: Arc<dyn Clock>,
    pub health: Health,
    /// For writing.
    pub database: Mutex<Database>,
    /// For reading, without waiting for writers.
    pub reader: Mutex<Database>,
}

impl Shared {
    pub fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner).write(work)
    }

    pub fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).read(work)
    }

    /// The permit to continue a stream that was charged.
    pub fn permit(&self, accounting: &Accounting) -> Result<Permit> {
        match accounting {
            Accounting::Charged(receipt) => Ok(self.ledger.resume(receipt)?),
            Accounting::Unaccounted => Ok(Permit::unaccounted()?),
        }
    }

    /// All streams on the disk, except those whose definitions cannot be read, which are recorded in `health`.
    pub fn entries(&self, pages: &Transaction<'_>) -> Result<Vec<Entry>> {
        Entry::all(pages, |name, error| self.health.cannot_open(name, &error))
    }

    /// Loads all curators' streams from the disk for which `board` returns a board, except those that cannot be opened,
    /// which are recorded in `health`.
    pub fn load_curators(&self, board: impl Fn(i64) -> Option<Arc<Board>>) -> Result<Vec<Live>> {
        self.write(|pages| {
            let mut streams = Vec::new();
            for entry in self.entries(pages)? {
                let (Some(identity), Some(board)) = (entry.identity(), board(entry.id)) else { continue };
                if entry.definition.mode() != Mode::Curator {
                    continue;
                }
                let permit = self.permit(&identity.accounting);
                match permit.and_then(|permit| Live::load(identity, permit, Arc::clone(&board), pages)) {
                    Ok(live) => streams.push(live),
                    // The disk failed, perhaps for all of them.
                    Err(error) if error.is_storage() => return Err(error),
                    Err(error) => {
                        self.health.cannot_open(entry.definition.name(), &error);
                        board.close();
                    }
                }
            }
            Ok(streams)
        })
    }
}
