//! An SQLite file that is durable when it says so, for whatever is kept beside a ledger.
//!
//! Write-ahead logging with `synchronous=FULL`: a commit returns when it is on the disk. The first to open the file writes the log
//! anew in place: after a failed sync the log may read as whole and yet not be on the disk.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::files::Files;
use crate::replace::beside;

/// Statements that are kept prepared.
const STATEMENTS: usize = 64;
/// A longer log is copied into the database when nobody waits.
const LONG_LOG: u64 = 4 << 20;

/// What a file holds.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Tells it from any other SQLite file.
    pub application: i64,
    /// Of the tables.
    pub version: i64,
    /// Of a page: what is written at once should fill a few.
    pub page_bytes: u32,
    /// So much of the file is kept in memory.
    pub cache_kib: u16,
    /// The statements that make the tables.
    pub schema: &'static str,
}

/// Why a file could not be used.
#[derive(Debug, Clone)]
pub enum Failure {
    /// What is in it is not what was written there.
    Damaged(String),
    /// The disk failed.
    Storage {
        /// What was being done: `opened`, `written` or `read`.
        doing: &'static str,
        /// What the system said.
        reason: String,
    },
}

impl Failure {
    /// The disk failed.
    pub fn storage(doing: &'static str, reason: impl ToString) -> Self {
        Self::Storage { doing, reason: reason.to_string() }
    }
}

/// An error that the work in a transaction may end with.
pub trait FromFailure: From<Failure> {
    /// Is it the file that failed? Then it is opened anew before it is used again.
    fn is_failure(&self) -> bool;
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Making the tables, and writing.
    Write,
    /// Reading what somebody else writes.
    Read,
}

/// A connection that is opened anew after a failure.
#[derive(Debug)]
pub struct Database {
    form: Form,
    path: PathBuf,
    files: Box<dyn Files>,
    access: Access,
    connection: Option<Connection>,
}

impl Database {
    /// Opens a file, and makes it and its tables if they are not there and it is for writing.
    ///
    /// # Errors
    /// If it cannot be opened, or holds something else.
    pub fn open(path: &Path, files: Box<dyn Files>, access: Access, form: Form) -> Result<Self, Failure> {
        let mut database = Self { form, path: path.into(), files, access, connection: None };
        database.connect()?;
        Ok(database)
    }

    /// Does the work in one transaction, durable when it returns.
    ///
    /// # Errors
    /// Those of the work, after which nothing is written, and those of the file.
    pub fn write<T, E: FromFailure>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E> {
        self.transact(TransactionBehavior::Immediate, "written", work)
    }

    /// Does the work on what was durable at one moment.
    ///
    /// # Errors
    /// Those of the work, and those of the file.
    pub fn read<T, E: FromFailure>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E> {
        self.transact(TransactionBehavior::Deferred, "read", work)
    }

    /// Copies the log into the database if it has become long. Not a part of any commit: whoever waits for one need not wait for
    /// this, too. Whoever writes must call it now and then: nothing else shortens the log.
    pub fn tidy(&mut self) {
        let long = self.files.length(&self.log()).is_ok_and(|length| length.unwrap_or(0) > LONG_LOG);
        if let (true, Some(connection)) = (long, &self.connection) {
            // If it fails, all is in the log still, and the next attempt writes everything once more.
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
        // Whoever only reads never copies the log into the database, and nobody does before the log is secured.
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
            let reason = format!("its file system allows journal mode {mode} only, and wal is needed");
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
        // Somebody else may have been first.
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
