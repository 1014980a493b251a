//! Which files a connection has open.
//!
//! A file that is open can be removed, renamed or replaced. SQLite goes on with the one it has: charges would be written where
//! nobody else sees them, and be gone with the process.

use std::path::Path;

use reticent_durable::{FileId, Files, beside};

use crate::error::{Error, Result};

/// The files of a ledger as they were when it was opened.
#[derive(Debug, Clone)]
pub struct Opened {
    file: Option<FileId>,
    /// While a connection is open nobody but a vandal removes its log. A connection that only reads may have none.
    log: Option<FileId>,
}

impl Opened {
    /// What is at a path now, just after it was opened. A ledger that was opened before stays the same file.
    pub fn at(path: &Path, files: &dyn Files, before: Option<&Self>) -> Self {
        let file = before.map_or_else(|| files.identity(path), |before| before.file.clone());
        Self { file, log: files.identity(&beside(path, "-wal")) }
    }

    /// Is it still there, and is what others find there what is open here?
    ///
    /// # Errors
    /// [`Error::Replaced`] if not.
    pub fn check(&self, path: &Path, files: &dyn Files) -> Result<()> {
        let replaced = |path: &Path| Err(Error::Replaced(path.display().to_string()));
        let log = beside(path, "-wal");
        if files.identity(path) != self.file {
            return replaced(path);
        }
        if self.log.is_some() && files.identity(&log) != self.log {
            return replaced(&log);
        }
        // A second name has a log of its own.
        match files.names(path) {
            Ok(0 | 1) => Ok(()),
            _ => replaced(path),
        }
    }
}
