//! Which calls fail, and how.

use rusqlite::ffi;
use std::os::raw::c_int;

/// A disk operation that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Opening or creating a file.
    Open,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Truncating a file.
    Truncate,
    /// Making a file durable.
    Sync,
    /// Deleting a name.
    Delete,
    /// Checking whether a file exists.
    Access,
    /// Getting a file's size.
    Size,
    /// Getting shared memory.
    Share,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// A device error.
    Device,
    /// The disk is full.
    Full,
    /// The file is read-only.
    ReadOnly,
}

/// Which calls fail, and how.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The number of the first call that fails, counted from 0 since the disk was created or loaded.
    pub from: usize,
    /// How many consecutive calls fail; [`Fault::LASTING`] for all.
    pub times: usize,
    /// The kinds of calls that fail; others succeed.
    pub calls: Vec<Call>,
    /// How they fail.
    pub failure: Failure,
}

impl Fault {
    /// Permanently.
    pub const LASTING: usize = usize::MAX;

    /// Whether this call fails. Counts it if it does.
    pub(crate) fn hits(&mut self, number: usize, call: Call) -> bool {
        let hit = number >= self.from && self.times > 0 && self.calls.contains(&call);
        if hit && self.times != Self::LASTING {
            self.times -= 1;
        }
        hit
    }
}

/// SQLite's code for a failure.
pub fn code(call: Call, failure: Failure) -> c_int {
    match (call, failure) {
        (Call::Open, _) => ffi::SQLITE_CANTOPEN,
        (Call::Write | Call::Truncate, Failure::Full) => ffi::SQLITE_FULL,
        (Call::Write | Call::Truncate | Call::Delete, Failure::ReadOnly) => ffi::SQLITE_READONLY,
        (Call::Read, _) => ffi::SQLITE_IOERR_READ,
        (Call::Write, Failure::Device) => ffi::SQLITE_IOERR_WRITE,
        (Call::Truncate, Failure::Device) => ffi::SQLITE_IOERR_TRUNCATE,
        (Call::Sync, _) => ffi::SQLITE_IOERR_FSYNC,
        (Call::Delete, _) => ffi::SQLITE_IOERR_DELETE,
        (Call::Access, _) => ffi::SQLITE_IOERR_ACCESS,
        (Call::Size, _) => ffi::SQLITE_IOERR_FSTAT,
        (Call::Share, _) => ffi::SQLITE_IOERR_SHMMAP,
    }
}
