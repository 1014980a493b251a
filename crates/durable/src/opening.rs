//! Opening an SQLite file so that a commit is on disk when it returns.
//!
//! # Disk failures
//! After a failed `fsync`, Linux keeps the pages readable but no longer writes them: a later `fsync` succeeds without
//! them. A write-ahead log may then end with a commit that reads as complete, was reported as failed, and is not on the
//! disk. While a connection is open, its shared memory records where the log ends, and the next commit overwrites such
//! frames. But a process that opens the log after the last connection ended (killed, or unable to clean up) takes them
//! for committed. Appending to them would lose the new commit at the next power failure; copying them into the database
//! would mix them, after a power failure, with the older pages left in the log. So opening a file for writing first
//! rewrites the whole log in place, with its own `fsync`, while other writers are excluded, and copies nothing before
//! that.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::files::Files;
use crate::replace::beside;

/// The number of prepared statements to cache.
const STATEMENTS: usize = 64;
/// How long a writer waits for other processes.
const PATIENCE: Duration = Duration::from_secs(60);
/// A transaction takes a fraction of a millisecond; sleeping longer would leave the disk idle.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(2);

/// The file format.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// SQLite's application id, which marks the file as ours.
    pub application: i64,
    /// The version of the tables.
    pub version: i64,
    /// The statements that create the tables.
    pub schema: &'static str,
    /// How commits are made durable.
    pub journal: Journal,
}

/// How commits are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log, which SQLite shortens whenever it has grown by some thousand pages.
    Log,
    /// A write-ahead log, which its one writer shortens between commits ([`Database::tidy`](crate::Database::tidy)).
    TidiedLog {
        /// The page size: a typical write should fill a few pages.
        page_bytes: u32,
        /// The size of the page cache.
        cache_kib: u16,
    },
    /// A rollback journal. Deleted content is overwritten.
    Erasing,
}

/// Why a file could not be used.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The file has another format.
    Foreign(String),
    /// The content is damaged.
    Damaged(String),
    /// The disk failed.
    Storage {
        /// The failed operation: `opened`, `created`, `written` or `read`.
        doing: &'static str,
        /// The reason, in words.
        reason: String,
    },
}

impl Failure {
    /// A failure of the disk.
    pub fn storage(doing: &'static str, reason: impl ToString) -> Self {
        Self::Storage { doing, reason: reason.to_string() }
    }
}

/// SQLite's error, in words.
pub fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "it is locked by other processes".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        Some(ErrorCode::ReadOnly) => READ_ONLY.into(),
        Some(ErrorCode::CannotOpen) => "its file, or the log beside it, cannot be opened".into(),
        Some(ErrorCode::SystemIoFailure) => format!("the disk failed ({error})"),
        _ => error.to_string(),
    }
}

/// The reason where a file cannot be written to.
pub const READ_ONLY: &str = "it is read-only";

/// A file to be opened: where it is, and what it should be.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'file> {
    /// The file.
    pub path: &'file Path,
    /// The file system.
    pub files: &'file dyn Files,
    /// Its format.
    pub form: Form,
}

impl Opening<'_> {
    /// Connects to the file under the given name. Nothing is written until [`Opening::prepare`], and no log is copied.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn connect(&self, name: &Path, flags: OpenFlags) -> Result<Connection, Failure> {
        let failed = |error: rusqlite::Error| self.failure("opened", &error);
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = match self.files.system() {
            Some(system) => Connection::open_with_flags_and_vfs(name, flags, system),
            None => Connection::open_with_flags(name, flags),
        }
        .map_err(failed)?;
        wait_for_others(&mut connection).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        copy_on_close(&connection, false).map_err(failed)?;
        Ok(connection)
    }

    /// [`Opening::connect`] for reading and writing; creates an empty file, readable only by its owner, if there is
    /// none.
    ///
    /// # Errors
    /// If the file cannot be opened or created.
    pub fn connect_or_create(&self) -> Result<Connection, Failure> {
        self.files.make_private(self.path).map_err(|error| Failure::storage("created", error))?;
        self.connect(self.path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Prepares a connection for writing, and creates the tables if there are none.
    ///
    /// # Errors
    /// If the file has another format, or the disk fails.
    pub fn prepare(&self, connection: &mut Connection) -> Result<(), Failure> {
        let failed = |error: rusqlite::Error| self.failure("opened", &error);
        let empty = self.is_empty(connection)?;
        if !empty {
            self.identify(connection)?;
        }
        let pragma = |name: &str, value: i64| connection.pragma_update(None, name, value).map_err(failed);
        if let Journal::TidiedLog { page_bytes, cache_kib } = self.form.journal {
            if empty {
                pragma("page_size", page_bytes.into())?;
            }
            pragma("cache_size", -i64::from(cache_kib))?;
            pragma("wal_autocheckpoint", 0)?;
        }
        // On macOS a plain fsync leaves data in the drive's own cache; elsewhere these two do nothing.
        pragma("fullfsync", 1)?;
        pragma("checkpoint_fullfsync", 1)?;
        match self.form.journal {
            Journal::Erasing => {
                connection.pragma_update(None, "synchronous", "extra").map_err(failed)?;
                pragma("secure_delete", 1)?;
            }
            Journal::Log | Journal::TidiedLog { .. } => {
                let mode = switch_to_log(connection).map_err(failed)?;
                if mode != "wal" {
                    let reason = format!("its file system supports only journal mode {mode}, but wal is required");
                    return Err(Failure::storage("opened", reason));
                }
                connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
                self.secure_log(connection)?;
                copy_on_close(connection, true).map_err(failed)?;
            }
        }
        if empty {
            self.make_schema(connection)?;
        }
        self.identify(connection)
    }

    /// Whether the file has no tables: it is new, or its creation was interrupted.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn is_empty(&self, connection: &Connection) -> Result<bool, Failure> {
        tables(connection).map(|tables| tables == 0).map_err(|error| self.failure("opened", &error))
    }

    /// Checks that the file has this format, in this version.
    ///
    /// # Errors
    /// If it does not, or cannot be read.
    pub fn identify(&self, connection: &Connection) -> Result<(), Failure> {
        let is = |pragma: &str, expected| {
            connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map(|found| found == expected)
        };
        match is("application_id", self.form.application)
            .and_then(|known| Ok(known && is("user_version", self.form.version)?))
        {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::Foreign(self.name())),
            Err(error) => Err(self.failure("opened", &error)),
        }
    }

    /// Marks a file with a write-ahead log and these tables, and no others, as having this format, unless it is marked.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn adopt(&self, connection: &mut Connection, names: &[&str]) -> Result<(), Failure> {
        let failed = |error: rusqlite::Error| self.failure("opened", &error);
        let marked: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
        let found = || -> rusqlite::Result<Vec<String>> {
            let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid";
            connection.prepare(tables)?.query_map([], |row| row.get(0))?.collect()
        };
        if marked != 0 || found().map_err(failed)? != names {
            return Ok(());
        }
        self.secure_log(connection)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        self.mark(&transaction).and_then(|()| transaction.commit()).map_err(failed)
    }

    /// Marks a file as having this format, in this version.
    fn mark(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.pragma_update(None, "application_id", self.form.application)?;
        connection.pragma_update(None, "user_version", self.form.version)
    }

    /// What an error of SQLite means for this file.
    pub fn failure(&self, doing: &'static str, error: &rusqlite::Error) -> Failure {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Failure::Foreign(self.name()),
            Some(ErrorCode::DatabaseCorrupt) => Failure::Damaged(self.name()),
            _ => Failure::storage(doing, reason(error)),
        }
    }

    /// The path of the write-ahead log.
    pub fn log(&self) -> PathBuf {
        beside(self.path, "-wal")
    }

    /// Makes the readable content of the log durable.
    fn secure_log(&self, connection: &mut Connection) -> Result<(), Failure> {
        let log = self.log();
        let io = |error: std::io::Error| Failure::storage("opened", format!("{}: {error}", log.display()));
        if self.files.length(&log).map_err(io)?.unwrap_or(0) == 0 {
            return Ok(());
        }
        let failed = |error: rusqlite::Error| self.failure("opened", &error);
        let alone = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        self.files.rewrite(&log).and_then(|()| self.files.sync_directory(&log)).map_err(io)?;
        alone.rollback().map_err(failed)
    }

    fn make_schema(&self, connection: &mut Connection) -> Result<(), Failure> {
        let failed = |error: rusqlite::Error| self.failure("created", &error);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have been faster.
        if tables(&transaction).map_err(failed)? > 0 {
            return Ok(());
        }
        transaction.execute_batch(self.form.schema).map_err(failed)?;
        self.mark(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.files.sync_directory(self.path).map_err(|error| Failure::storage("created", error))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Whether the log is copied into the database when the connection is closed: not before it is secured.
fn copy_on_close(connection: &Connection, copy: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !copy).map(drop)
}

/// Switches to write-ahead logging and returns the resulting journal mode. Two processes that switch a new file at the
/// same time deadlock, and SQLite then gives up at once without calling the busy handler below.
fn switch_to_log(connection: &Connection) -> rusqlite::Result<String> {
    let since = Instant::now();
    // The switch is committed only when its statement ends, after its only row: reading just this row would miss a
    // failure.
    let switch = || -> rusqlite::Result<Vec<String>> {
        connection.prepare("PRAGMA journal_mode = wal")?.query_map([], |row| row.get(0))?.collect()
    };
    loop {
        match switch() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && since.elapsed() < PATIENCE => {
                thread::sleep(LONGEST_SLEEP);
            }
            outcome => return Ok(outcome?.concat()),
        }
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// Sleeps a little longer each time, up to a limit, and finally gives up.
fn wait_for_others(connection: &mut Connection) -> rusqlite::Result<()> {
    let mut since = Instant::now();
    connection.busy_handler(Some(move |tries: i32| {
        if tries == 0 {
            since = Instant::now();
        }
        let sleep = SHORTEST_SLEEP * 2u32.pow(tries.clamp(0, 10).cast_unsigned());
        thread::sleep(sleep.min(LONGEST_SLEEP));
        since.elapsed() < PATIENCE
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::SystemFiles;

    fn form(journal: Journal) -> Form {
        Form { application: 7, version: 1, schema: "CREATE TABLE one (n INTEGER) STRICT;", journal }
    }

    /// A commit waits for the drive itself, whatever the journal.
    #[test]
    fn commits_are_durable() {
        let folder = tempfile::tempdir().unwrap();
        let tidied = Journal::TidiedLog { page_bytes: 4096, cache_kib: 64 };
        for (name, journal, synchronous) in
            [("log", Journal::Log, 2), ("tidied", tidied, 2), ("erasing", Journal::Erasing, 3)]
        {
            let path = folder.path().join(name);
            let opening = Opening { path: &path, files: &SystemFiles, form: form(journal) };
            let mut connection = opening.connect_or_create().unwrap();
            opening.prepare(&mut connection).unwrap();
            for (pragma, expected) in [("synchronous", synchronous), ("fullfsync", 1), ("checkpoint_fullfsync", 1)] {
                let found = connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
                assert_eq!(found, expected, "{name}: {pragma}");
            }
        }
    }

    #[test]
    fn another_format_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE person (name TEXT)").unwrap();
        let before = std::fs::read(&path).unwrap();
        for journal in [Journal::Log, Journal::Erasing] {
            let opening = Opening { path: &path, files: &SystemFiles, form: form(journal) };
            let mut connection = opening.connect_or_create().unwrap();
            assert!(matches!(opening.prepare(&mut connection), Err(Failure::Foreign(_))));
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
