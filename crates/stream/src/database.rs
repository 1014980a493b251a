//! The SQLite file of a data directory.
//!
//! Write-ahead logging with `synchronous=FULL`: a commit returns when it is on the disk. As the ledger does
//! (`reticent_ledger::storage::sqlite` says why), whoever opens the file first writes the log anew, where it is: after a
//! failed sync it may read as whole and not be on the disk.

use std::path::{Path, PathBuf};

use reticent_ledger::storage::files::Files;
use reticent_ledger::storage::replace::beside;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{Error, Result};

/// "RtSt": tells it from any other SQLite file.
const APPLICATION: i64 = 0x5274_5374;
const VERSION: i64 = 1;
/// Statements that are kept prepared.
const STATEMENTS: usize = 64;

const SCHEMA: &str = "
CREATE TABLE stream (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL, caller TEXT NOT NULL,
    request TEXT NOT NULL, ledger_head INTEGER NOT NULL, entry INTEGER, created INTEGER, id_key BLOB NOT NULL) STRICT;
CREATE TABLE checkpoint (stream INTEGER PRIMARY KEY, state BLOB NOT NULL) STRICT;
CREATE TABLE journal (number INTEGER PRIMARY KEY, stream INTEGER NOT NULL, sums BLOB NOT NULL) STRICT;
CREATE INDEX journal_of ON journal (stream);
CREATE TABLE seen (number INTEGER PRIMARY KEY, stream INTEGER NOT NULL, step INTEGER NOT NULL, ids BLOB NOT NULL) STRICT;
CREATE INDEX seen_in ON seen (stream, step);
CREATE TABLE source (
    stream INTEGER NOT NULL, name TEXT NOT NULL, position BLOB NOT NULL, PRIMARY KEY (stream, name)) STRICT, WITHOUT ROWID;
CREATE TABLE shown_key (
    stream INTEGER NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (stream, place)) STRICT, WITHOUT ROWID;
CREATE TABLE release (
    stream INTEGER NOT NULL, step INTEGER NOT NULL, closed INTEGER NOT NULL, half_width REAL NOT NULL,
    variance REAL NOT NULL, numbers BLOB NOT NULL, PRIMARY KEY (stream, step)) STRICT;
";

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
}

/// A connection that is opened anew after a failure.
pub(crate) struct Database {
    path: PathBuf,
    files: Box<dyn Files>,
    access: Access,
    connection: Option<Connection>,
}

impl Database {
    pub fn open(path: &Path, files: Box<dyn Files>, access: Access) -> Result<Self> {
        let mut database = Self { path: path.into(), files, access, connection: None };
        database.connect()?;
        Ok(database)
    }

    /// Does the work in one transaction, durable when it returns.
    pub fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.transact(TransactionBehavior::Immediate, "written", work)
    }

    pub fn read<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.transact(TransactionBehavior::Deferred, "read", work)
    }

    fn transact<T>(
        &mut self,
        behavior: TransactionBehavior,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let outcome = (|| {
            let connection = self.connect()?;
            let transaction =
                connection.transaction_with_behavior(behavior).map_err(|error| Error::storage(doing, error))?;
            let value = work(&transaction)?;
            transaction.commit().map_err(|error| Error::storage(doing, error))?;
            Ok(value)
        })();
        if matches!(outcome, Err(Error::Storage { .. } | Error::Damaged(_))) {
            self.connection = None;
        }
        outcome
    }

    fn connect(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            self.connection = Some(self.open_connection()?);
        }
        Ok(self.connection.as_mut().expect("just opened"))
    }

    fn open_connection(&self) -> Result<Connection> {
        let failed = |error: rusqlite::Error| self.failure(&error);
        self.files.make_private(&self.path).map_err(|error| Error::storage("opened", error))?;
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
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)).map_err(failed)?;
        if mode != "wal" {
            let reason = format!("its file system allows journal mode {mode} only, and wal is needed");
            return Err(Error::storage("opened", reason));
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

    fn secure_log(&self, connection: &mut Connection) -> Result<()> {
        let log = beside(&self.path, "-wal");
        let io = |error: std::io::Error| Error::storage("opened", format!("{}: {error}", log.display()));
        if self.files.length(&log).map_err(io)?.unwrap_or(0) == 0 {
            return Ok(());
        }
        let failed = |error: rusqlite::Error| self.failure(&error);
        let alone = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        self.files.rewrite(&log).and_then(|()| self.files.sync_directory(&log)).map_err(io)?;
        alone.rollback().map_err(failed)
    }

    fn make_schema(&self, connection: &mut Connection) -> Result<()> {
        let failed = |error: rusqlite::Error| self.failure(&error);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.files.sync_directory(&self.path).map_err(|error| Error::storage("opened", error))
    }

    fn identify(&self, connection: &Connection) -> Result<()> {
        let is = |pragma: &str, expected| {
            connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map(|found| found == expected)
        };
        match is("application_id", APPLICATION).and_then(|known| Ok(known && is("user_version", VERSION)?)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damaged()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    fn failure(&self, error: &rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => self.damaged(),
            _ => Error::storage("opened", error),
        }
    }

    fn damaged(&self) -> Error {
        Error::Damaged(self.path.display().to_string())
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// A failed statement.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    Error::storage("written", error)
}
