//! The files a connection has open.
//!
//! An open file can be removed, renamed or replaced. SQLite would continue with the old one: charges would be invisible
//! to others, and lost when the process ends.

use std::path::Path;

use reticent_durable::{FileId, Files, beside};

use crate::error::{Error, Result};

/// The identity of a ledger's files when it was opened.
#[derive(Debug, Clone)]
pub struct Opened {
    file: Option<FileId>,
    /// While a connection is open, only tampering removes its log. A read-only connection may have none.
    log: Option<FileId>,
}

impl Opened {
    /// The files now at `path`, just after opening it. When a ledger is reopened, its file must still be the one of
    /// `before`.
    pub fn at(path: &Path, files: &dyn Files, before: Option<&Self>) -> Self {
        let file = before.map_or_else(|| files.identity(path), |before| before.file.clone());
        Self { file, log: files.identity(&beside(path, "-wal")) }
    }

    /// Checks that the files at `path` are still the open ones.
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
        // A second hard link would have a log of its own.
        match files.names(path) {
            Ok(0 | 1) => Ok(()),
            _ => replaced(path),
        }
    }
}
