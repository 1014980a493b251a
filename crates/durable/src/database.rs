//! A durable SQLite file.
//!
//! Uses write-ahead logging with `synchronous=FULL`: a commit returns once it is on disk. Opening the file first
//! rewrites the log in place, because after a failed sync the log may read as complete without being on disk.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::files::Files;
use crate::replace::beside;

/// The number of prepared statements to cache.
const STATEMENTS: usize = 64;
/// A log longer than this is checkpointed outside of commits.
const LONG_LOG: u64 = 4 << 20;

/// The file format.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// SQLite's application id, which marks the file as ours.
    pub application: i64,
    /// The version of the tables.
    pub version: i64,
    /// The page size: a typical write should fill a few pages.
    pub page_bytes: u32,
    /// The size of the page cache.
    pub cache_kib: u16,
    /// The statements that create the tables.
    pub schema: &'static str,
}

/// Why a file could not be used.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The content is damaged, or has another format.
    Damaged(String),
    /// The disk failed.
    Storage {
        /// The failed operation: `opened`, `written` or `read`.
        doing: &'static str,
        /// The system's error message.
        reason: String,
    },
}

impl Failure {
    /// A failure of the disk.
    pub fn storage(doing: &'static str, reason: impl ToString) -> Self {
        Self::Storage { doing, reason: reason.to_string() }
    }
}

/// An error returned by the work in a transaction.
pub trait FromFailure: From<Failure> {
    /// Whether the file itself failed; it is then reopened before its next use.
    fn is_failure(&self) -> bool;
}

/// Implements [`FromFailure`] for an error type with the variants `Damaged(String)` and `Storage { doing, reason }`.
#[macro_export]
macro_rules! from_failure {
    ($error:ty) => {
        impl From<$crate::Failure> for $error {
            fn from(failure: $crate::Failure) -> Self {
                match failure {
                    $crate::Failure::Damaged(what) => Self::Damaged(what),
                    $crate::Failure::Storage { doing, reason } => Self::Storage { doing, reason },
                }
            }
        }

        impl $crate::FromFailure for $error {
            fn is_failure(&self) -> bool {
                matches!(self, Self::Storage { .. } | Self::Damaged(_))
            }
        }
    };
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Creating the tables, and writing.
    Write,
    /// Reading what another process writes.
    Read,
}

/// A connection that is reopened after a failure.
#[derive(Debug)]
pub struct Database {
    form: Form,
    path: PathBuf,
    files: Box<dyn Files>,
    access: Access,
    connection: Option<Connection>,
}

impl Database {
    /// Opens a file. For writing, creates it and its tables if they are missing.
    ///
    /// # Errors
    /// If it cannot be opened or holds something else.
    pub fn open(path: &Path, files: Box<dyn Files>, access: Access, form: Form) -> Result<Self, Failure> {
        let mut database = Self { form, path: path.into(), files, access, connection: None };
        database.connect()?;
        Ok(database)
    }

    /// Runs `work` in one transaction, which is durable when this returns.
    ///
    /// # Errors
    /// Those of `work`, in which case nothing is written, and those of the file.
    pub fn write<T, E: FromFailure>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E> {
        self.transact(TransactionBehavior::Immediate, "written", work)
    }

    /// Runs `work` on a consistent snapshot of the durable state.
    ///
    /// # Errors
    /// Those of `work`, and those of the file.
    pub fn read<T, E: FromFailure>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E> {
        self.transact(TransactionBehavior::Deferred, "read", work)
    }

    /// Copies a long log into the database. This is not part of any commit, so no commit waits for it. Writers must
    /// call it from time to time: nothing else shortens the log.
    pub fn tidy(&mut self) {
        let long = self.files.length(&self.log()).is_ok_and(|length| length.unwrap_or(0) > LONG_LOG);
        if let (true, Some(connection)) = (long, &self.connection) {
            // If it fails, everything is still in the log, and the next attempt copies it all again.
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    fn log(&self) -> PathBuf {
        beside(&self.path, "-wal")
    }

    fn transact<T, E: FromFailure>(
        &mut self,
        behavior: TransactionBehavior,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let outcome: Result<T, E> = (|| {
            let connection = self.connect()?;
            let transaction =
                connection.transaction_with_behavior(behavior).map_err(|error| Failure::storage(doing, error))?;
            let value = work(&transaction)?;
            transaction.commit().map_err(|error| Failure::storage(doing, error))?;
            Ok(value)
        })();
        if outcome.as_ref().is_err_and(FromFailure::is_failure) {
            self.connection = None;
        }
        outcome
    }

    fn connect(&mut self) -> Result<&mut Connection, Failure> {
        if self.connection.is_none() {
            self.connection = Some(self.open_connection()?);
        }
        Ok(self.connection.as_mut().expect("just opened"))
    }

    fn open_connection(&self) -> Result<Connection, Failure> {
        let failed = |error: rusqlite::Error| self.failure(&error);
        self.files.make_private(&self.path).map_err(|error| Failure::storage("opened", error))?;
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = match self.files.system() {
            Some(system) => Connection::open_with_flags_and_vfs(&self.path, flags, system),
            None => Connection::open_with_flags(&self.path, flags),
        }
        .map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // A reader never checkpoints the log, and a writer only once the log is secured.
        let keep_log = |connection: &Connection, keep| {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(drop)
        };
        keep_log(&connection, true).map_err(failed)?;
        let empty = tables(&connection).map_err(failed)? == 0;
        if !empty {
            self.identify(&connection)?;
        }
        if self.access == Access::Read {
            return Ok(connection);
        }
        if empty {
            connection.pragma_update(None, "page_size", self.form.page_bytes).map_err(failed)?;
        }
        connection.pragma_update(None, "cache_size", -i32::from(self.form.cache_kib)).map_err(failed)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(failed)?;
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)).map_err(failed)?;
        if mode != "wal" {
            let reason = format!("its file system supports only journal mode {mode}, but wal is required");
            return Err(Failure::storage("opened", reason));
        }
        for (pragma, value) in [("synchronous", "full"), ("fullfsync", "1"), ("checkpoint_fullfsync", "1")] {
            connection.pragma_update(None, pragma, value).map_err(failed)?;
        }
        self.secure_log(&mut connection)?;
        keep_log(&connection, false).map_err(failed)?;
        if empty {
            self.make_schema(&mut connection)?;
        }
        self.identify(&connection)?;
        Ok(connection)
    }

    fn secure_log(&self, connection: &mut Connection) -> Result<(), Failure> {
        let log = self.log();
        let io = |error: std::io::Error| Failure::storage("opened", format!("{}: {error}", log.display()));
        if self.files.length(&log).map_err(io)?.unwrap_or(0) == 0 {
            return Ok(());
        }
        let failed = |error: rusqlite::Error| self.failure(&error);
        let alone = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        self.files.rewrite(&log).and_then(|()| self.files.sync_directory(&log)).map_err(io)?;
        alone.rollback().map_err(failed)
    }

    fn make_schema(&self, connection: &mut Connection) -> Result<(), Failure> {
        let failed = |error: rusqlite::Error| self.failure(&error);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have been faster.
        if tables(&transaction).map_err(failed)? > 0 {
            return Ok(());
        }
        transaction.execute_batch(self.form.schema).map_err(failed)?;
        transaction.pragma_update(None, "application_id", self.form.application).map_err(failed)?;
        transaction.pragma_update(None, "user_version", self.form.version).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.files.sync_directory(&self.path).map_err(|error| Failure::storage("opened", error))
    }

    fn identify(&self, connection: &Connection) -> Result<(), Failure> {
        let is = |pragma: &str, expected| {
            connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map(|found| found == expected)
        };
        match is("application_id", self.form.application)
            .and_then(|known| Ok(known && is("user_version", self.form.version)?))
        {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damaged()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    fn failure(&self, error: &rusqlite::Error) -> Failure {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => self.damaged(),
            _ => Failure::storage("opened", error),
        }
    }

    fn damaged(&self) -> Failure {
        Failure::Damaged(self.path.display().to_string())
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}
