//! Shared by the tests of crashes and failures: a ledger on an in-memory disk, and requests to it.
//!
//! | module | holds |
//! |---|---|
//! | [`workload`] | requests, and their expected outcomes |
//! | [`promise`] | what was acknowledged, and whether it was kept |
//! | [`sums`] | what the entries of a ledger add up to, computed apart from the ledger |
#![allow(dead_code, reason = "no test uses all of it")]

pub mod promise;
pub mod sums;
pub mod workload;

use std::io;
use std::path::Path;

use crash_disk::Disk;
use reticent_durable::FileId;
use reticent_durable::{Files, Held};
use reticent_ledger::storage::Sqlite;
use reticent_ledger::{DurableLedger, Entry, Result};

/// The ledger's file.
pub const LEDGER: &str = "ledger.sqlite";
/// SQLite's log beside it.
pub const LOG: &str = "ledger.sqlite-wal";

/// The files on a disk in memory.
#[derive(Debug, Clone, Copy)]
pub struct DiskFiles {
    pub disk: Disk,
    /// A broken mutant does not write the log anew when it opens a ledger.
    pub rewrites: bool,
}

impl Files for DiskFiles {
    fn system(&self) -> Option<&str> {
        Some(self.disk.system())
    }

    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        Ok(self.disk.length(name(path)).map(|length| length as u64))
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        self.disk.create(name(path))
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        self.disk.sync_names()
    }

    /// Nobody else is at this disk.
    fn identity(&self, _: &Path) -> Option<FileId> {
        None
    }

    fn names(&self, _: &Path) -> io::Result<u64> {
        Ok(1)
    }

    /// One process: nobody to wait for.
    fn turn(&self, _: &Path, _: std::time::Duration) -> Option<std::fs::File> {
        None
    }

    fn hold(&self, _: &Path, _: &Path) -> io::Result<Held> {
        Ok(Held::default())
    }

    /// The process that wrote to this disk has ended.
    fn is_held(&self, _: &Path) -> io::Result<bool> {
        Ok(false)
    }

    fn rewrite(&self, path: &Path) -> io::Result<()> {
        if self.rewrites { self.disk.rewrite(name(path)) } else { Ok(()) }
    }
}

fn name(path: &Path) -> &str {
    path.to_str().expect("a plain name")
}

/// Makes a ledger on a disk, or opens the one that is there.
pub fn create(disk: Disk) -> Result<DurableLedger> {
    create_in(DiskFiles { disk, rewrites: true })
}

pub fn create_in(files: DiskFiles) -> Result<DurableLedger> {
    let ledger = DurableLedger::on(Box::new(Sqlite::create_in(LEDGER.as_ref(), Box::new(files))?));
    ledger.begin()?;
    Ok(ledger)
}

/// Opens the ledger on a disk.
pub fn open(disk: Disk) -> Result<DurableLedger> {
    let files = DiskFiles { disk, rewrites: true };
    Ok(DurableLedger::on(Box::new(Sqlite::open_in(LEDGER.as_ref(), Box::new(files))?)))
}

/// All entries.
pub fn entries(ledger: &DurableLedger) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    ledger.history(|entry| entries.push(entry.clone()))?;
    Ok(entries)
}
