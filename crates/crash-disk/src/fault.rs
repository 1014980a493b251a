//! Which calls fail, and how.

use rusqlite::ffi;
use std::os::raw::c_int;

/// Something a program asks of a disk that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Opening or making a file.
    Open,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Cutting a file off.
    Truncate,
    /// Making a file durable.
    Sync,
    /// Deleting a name.
    Delete,
    /// Asking whether a file is there.
    Access,
    /// Asking for a file's size.
    Size,
    /// Asking for shared memory.
    Share,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The device gives an error.
    Device,
    /// The disk is full.
    Full,
    /// The file cannot be written to.
    ReadOnly,
}

/// What fails.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The number of the first call that fails, counted from 0 since the disk was made or loaded.
    pub from: usize,
    /// This one alone, or all after it, too?
    pub lasting: bool,
    /// Which calls fail; others succeed.
    pub calls: Vec<Call>,
    /// How.
    pub failure: Failure,
}

impl Fault {
    pub(crate) fn hits(&self, number: usize, call: Call) -> bool {
        self.calls.contains(&call) && if self.lasting { number >= self.from } else { number == self.from }
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
