//! What everything in a data directory has in common.

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

/// The database, the ledger and the clock.
pub(crate) struct Shared {
    pub directory: PathBuf,
    pub ledger: Arc<DurableLedger>,
    pub clock: Arc<dyn Clock>,
    /// For whoever writes.
    pub database: Mutex<Database>,
    /// For whoever reads: does not wait for writers.
    pub reader: Mutex<Database>,
}

impl Shared {
    pub fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner).write(work)
    }

    pub fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).read(work)
    }

    /// Leave to go on with a stream that was charged.
    pub fn permit(&self, accounting: &Accounting) -> Result<Permit> {
        match accounting {
            Accounting::Charged(receipt) => Ok(self.ledger.resume(receipt)?),
            Accounting::Unaccounted => Ok(Permit::unaccounted()?),
        }
    }

    /// All curators' streams as they are on the disk, of those that `board` has a board for.
    pub fn load_curators(&self, board: impl Fn(i64) -> Option<Arc<Board>>) -> Result<Vec<Live>> {
        self.write(|pages| {
            let mut streams = Vec::new();
            for entry in Entry::all(pages)? {
                let (Some(identity), Some(board)) = (entry.identity(), board(entry.id)) else { continue };
                if entry.definition.mode() == Mode::Curator {
                    let permit = self.permit(&identity.accounting)?;
                    streams.push(Live::load(identity, permit, board, pages)?);
                }
            }
            Ok(streams)
        })
    }
}
