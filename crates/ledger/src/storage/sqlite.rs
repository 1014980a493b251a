//! One SQLite file, for several threads and processes of one machine.
//!
//! Write-ahead logging with `synchronous=FULL`: a commit returns when its frames are on the disk, one `fdatasync` each.
//!
//! # When the disk fails
//! After a failed `fsync` Linux keeps the pages readable but no longer writes them: a later `fsync` succeeds and says nothing
//! about them. The log may then end with a commit that reads as whole, was reported as failed, and is not on the disk.
//! While a connection is open, its shared memory says where the log ends, and the next commit overwrites such frames. But
//! whoever opens the log after the last connection ended (by force, or because it could not clean up) takes them for
//! committed. To append to them would lose the new commit with the next power cut; to copy them into the database would
//! mix them, after a power cut, with the older pages that are left in the log. So whoever opens a ledger first writes the whole
//! log anew, where it is, with an `fsync` of its own, while nobody else writes, and copies nothing before.
//!
//! # When the disk is read-only
//! Nothing can be charged. A ledger can be read if there is no log beside it, or if SQLite can read the log; a ledger whose log
//! cannot be read would show too little as spent, and is refused.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, OptionalExtension, Params, TransactionBehavior};

use super::files::{Files, SystemFiles};
use super::{Pages, Storage};
use crate::entry::{Keys, Row};
use crate::error::{Error, Result};

/// "RtLg": tells a ledger from any other SQLite file.
const APPLICATION: i64 = 0x5274_4c67;
const VERSION: i64 = 1;
/// How long a writer waits for the others.
const PATIENCE: Duration = Duration::from_secs(60);
/// Writers take turns of a fraction of a millisecond; sleeping longer would leave the disk idle.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(2);

const READ_ONLY: &str = "it is read-only";

const SCHEMA: &str = "
    CREATE TABLE entry (
        number INTEGER PRIMARY KEY,
        body TEXT NOT NULL,
        hash TEXT NOT NULL,
        registered TEXT,
        dataset TEXT,
        request TEXT,
        terms TEXT,
        charge INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX entry_registered ON entry (registered) WHERE registered IS NOT NULL;
    CREATE UNIQUE INDEX entry_request ON entry (dataset, request) WHERE dataset IS NOT NULL;
    CREATE INDEX entry_terms ON entry (dataset, terms, number) WHERE dataset IS NOT NULL;
    CREATE UNIQUE INDEX entry_charge ON entry (charge) WHERE charge IS NOT NULL;
    CREATE TABLE release (
        number INTEGER PRIMARY KEY REFERENCES entry (number),
        text TEXT NOT NULL
    ) STRICT;
";

/// What a row is read from.
const COLUMNS: &str = "number, body, hash, registered, dataset, request, terms, charge";

/// A ledger in a file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    files: Box<dyn Files>,
    access: Access,
    /// Closed after a failure.
    connection: Option<Connection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Write,
    ReadOnly,
    /// Read-only, and nobody else is looked for: neither a log nor other processes.
    Immutable,
}

impl Sqlite {
    /// Makes a ledger, or opens the one that is there.
    ///
    /// # Errors
    /// If the place cannot be written to or holds something else.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_in(path, Box::new(SystemFiles))
    }

    /// [`Sqlite::create`] among other files than the operating system's.
    ///
    /// # Errors
    /// As [`Sqlite::create`].
    pub fn create_in(path: &Path, files: Box<dyn Files>) -> Result<Self> {
        let failed = |error| Error::Storage { doing: "created", reason: format!("{}: {error}", path.display()) };
        files.make_private(path).map_err(failed)?;
        Self::connected(path, files, Access::Write, true)
    }

    /// Opens a ledger.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is none; [`Error::NotALedger`] if something else is there.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::NotALedger(path.display().to_string()));
        }
        Self::open_in(path, Box::new(SystemFiles))
    }

    /// [`Sqlite::open`] among other files than the operating system's.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn open_in(path: &Path, files: Box<dyn Files>) -> Result<Self> {
        match files.length(path).map_err(|error| unreadable(&error))? {
            // Whoever was interrupted while making a ledger has made none.
            None | Some(0) => Err(Error::Missing(path.display().to_string())),
            Some(_) => Self::connected(path, files, Access::Write, false),
        }
    }

    /// Opens a ledger to look at it: also one that cannot be written to.
    ///
    /// # Errors
    /// As [`Sqlite::open`]; [`Error::Storage`] if it cannot be written to and has a log beside it that cannot be read, without
    /// which it would show too little.
    pub fn open_to_read(path: &Path) -> Result<Self> {
        match Self::open(path) {
            Err(Error::Storage { .. }) => {}
            other => return other,
        }
        match Self::connected(path, Box::new(SystemFiles), Access::ReadOnly, false) {
            Err(Error::Storage { .. }) => {}
            other => return other,
        }
        let log = beside(path, "-wal");
        if SystemFiles.length(&log).map_err(|error| unreadable(&error))?.unwrap_or(0) > 0 {
            let reason = format!(
                "a part of it is in {}, which cannot be read on a read-only disk; copy both to another place",
                log.display()
            );
            return Err(Error::Storage { doing: "read", reason });
        }
        Self::connected(path, Box::new(SystemFiles), Access::Immutable, false)
    }

    fn connected(path: &Path, files: Box<dyn Files>, access: Access, create: bool) -> Result<Self> {
        let mut storage = Self { path: path.into(), files, access, connection: None };
        storage.connect(create)?;
        Ok(storage)
    }

    /// The open connection; a new one after a failure.
    fn connect(&mut self, create: bool) -> Result<&mut Connection> {
        if self.connection.is_none() {
            self.connection = Some(self.open_connection(create)?);
        }
        Ok(self.connection.as_mut().expect("just opened"))
    }

    fn open_connection(&self, create: bool) -> Result<Connection> {
        let failed = |error: rusqlite::Error| self.failure("opened", &error);
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= match (self.access, create) {
            (Access::ReadOnly, _) => OpenFlags::SQLITE_OPEN_READ_ONLY,
            (Access::Immutable, _) => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            (Access::Write, true) => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            (Access::Write, false) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let path = if self.access == Access::Immutable { self.immutable() } else { self.path.clone() };
        let mut connection = match self.files.system() {
            Some(system) => Connection::open_with_flags_and_vfs(path, flags, system),
            None => Connection::open_with_flags(path, flags),
        }
        .map_err(failed)?;
        wait_for_others(&mut connection).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(32);
        if self.access == Access::Write {
            self.prepare_to_write(&mut connection)?;
        }
        if create {
            self.make_schema(&mut connection)?;
        }
        let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let (application, version) =
            (number("application_id").map_err(failed)?, number("user_version").map_err(failed)?);
        if application != APPLICATION || version != VERSION {
            let count = "SELECT count(*) FROM sqlite_schema";
            let tables: i64 = connection.query_row(count, [], |row| row.get(0)).map_err(failed)?;
            let path = self.path.display().to_string();
            // Whoever was interrupted while making a ledger has made none.
            let unfinished = tables == 0 && application == 0 && version == 0;
            return Err(if unfinished { Error::Missing(path) } else { Error::NotALedger(path) });
        }
        Ok(connection)
    }

    fn prepare_to_write(&self, connection: &mut Connection) -> Result<()> {
        let failed = |error: rusqlite::Error| self.failure("opened", &error);
        if connection.is_readonly("main").map_err(failed)? {
            return Err(Error::Storage { doing: "opened", reason: READ_ONLY.into() });
        }
        let copy_on_close = |connection: &Connection, copy: bool| {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !copy).map(drop).map_err(failed)
        };
        copy_on_close(connection, false)?;
        let mode = self.switch_to_log(connection).map_err(failed)?;
        if mode != "wal" {
            let reason = format!("its file system allows journal mode {mode} only, and wal is needed");
            return Err(Error::Storage { doing: "opened", reason });
        }
        // FULL: a commit is on the disk when it returns.
        connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
        self.secure_log(connection)?;
        copy_on_close(connection, true)
    }

    /// The journal mode after the switch. The switch is committed only when its statement has ended, after its only row: who
    /// reads this row alone does not hear of a failure.
    fn switch_to_log(&self, connection: &Connection) -> rusqlite::Result<String> {
        let mut switch = connection.prepare("PRAGMA journal_mode = wal")?;
        let modes: Vec<String> = switch.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(modes.concat())
    }

    /// Makes durable what can be read from the log; see above.
    fn secure_log(&self, connection: &mut Connection) -> Result<()> {
        let failed = |error: rusqlite::Error| self.failure("opened", &error);
        let log = beside(&self.path, "-wal");
        if self.files.length(&log).map_err(|error| unreadable(&error))?.unwrap_or(0) == 0 {
            return Ok(());
        }
        let alone = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        self.files.rewrite(&log).and_then(|()| self.files.sync_directory(&log)).map_err(|error| {
            let reason = format!("{}: {error}", log.display());
            Error::Storage { doing: "opened", reason }
        })?;
        alone.rollback().map_err(failed)
    }

    /// A file nobody can write to, without a log beside it.
    fn immutable(&self) -> PathBuf {
        let mut uri = String::from("file:");
        for byte in self.path.as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => uri.push(char::from(*byte)),
                other => uri += &format!("%{other:02X}"),
            }
        }
        (uri + "?immutable=1").into()
    }

    fn make_schema(&self, connection: &mut Connection) -> Result<()> {
        let failed = |error: rusqlite::Error| self.failure("created", &error);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
        if tables > 0 {
            return Ok(());
        }
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.files
            .sync_directory(&self.path)
            .map_err(|error| Error::Storage { doing: "created", reason: error.to_string() })
    }

    fn failure(&self, doing: &'static str, error: &rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Error::NotALedger(self.path.display().to_string()),
            Some(ErrorCode::DatabaseCorrupt) => Error::Damaged(format!("{} is not a sound file", self.path.display())),
            _ => failure(doing, error),
        }
    }

    fn transact(
        &mut self,
        behavior: TransactionBehavior,
        work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>,
    ) -> Result<()> {
        let doing = if matches!(behavior, TransactionBehavior::Immediate) { "written" } else { "read" };
        let outcome = (|| {
            let connection = self.connect(false)?;
            let transaction = connection.transaction_with_behavior(behavior).map_err(|error| failure(doing, &error))?;
            work(&mut Transaction(&transaction))?;
            transaction.commit().map_err(|error| failure(doing, &error))
        })();
        if matches!(outcome, Err(Error::Storage { .. } | Error::Damaged(_))) {
            self.connection = None;
        }
        outcome
    }
}

impl Storage for Sqlite {
    fn write(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.transact(TransactionBehavior::Immediate, work)
    }

    fn read(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.transact(TransactionBehavior::Deferred, work)
    }

    fn faults(&mut self) -> Result<Vec<String>> {
        let connection = self.connect(false)?;
        let check = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        match check() {
            Ok(lines) => Ok(lines.into_iter().filter(|line| line != "ok").collect()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => Ok(vec![error.to_string()]),
            Err(error) => Err(failure("read", &error)),
        }
    }
}

struct Transaction<'connection>(&'connection Connection);

impl Transaction<'_> {
    fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.0.prepare_cached(sql)
    }

    fn all(&self, condition: &str, parameters: impl Params) -> Result<Vec<Row>> {
        let read = || -> rusqlite::Result<Vec<Result<Row>>> {
            let mut statement = self.prepare(&format!("SELECT {COLUMNS} FROM entry {condition}"))?;
            statement.query_map(parameters, |row| Ok(read_row(row)))?.collect()
        };
        read().map_err(|error| failure("read", &error))?.into_iter().collect()
    }

    fn one(&self, condition: &str, parameters: impl Params) -> Result<Option<Row>> {
        Ok(self.all(condition, parameters)?.pop())
    }
}

impl Pages for Transaction<'_> {
    fn last(&mut self) -> Result<Option<Row>> {
        self.one("ORDER BY number DESC LIMIT 1", [])
    }

    fn row(&mut self, number: u64) -> Result<Option<Row>> {
        self.one("WHERE number = ?1", [signed(number)])
    }

    fn rows(&mut self, after: u64, most: u32) -> Result<Vec<Row>> {
        self.all("WHERE number > ?1 ORDER BY number LIMIT ?2", [signed(after), i64::from(most)])
    }

    fn registration(&mut self, dataset: &str) -> Result<Option<Row>> {
        self.one("WHERE registered = ?1", [dataset])
    }

    fn registrations(&mut self) -> Result<Vec<Row>> {
        self.all("WHERE registered IS NOT NULL ORDER BY number", [])
    }

    fn charge(&mut self, dataset: &str, request: &str) -> Result<Option<Row>> {
        self.one("WHERE dataset = ?1 AND request = ?2", [dataset, request])
    }

    fn last_charge(&mut self, dataset: &str, terms: &str) -> Result<Option<Row>> {
        self.one("WHERE dataset = ?1 AND terms = ?2 ORDER BY number DESC LIMIT 1", [dataset, terms])
    }

    fn last_charges(&mut self, dataset: &str) -> Result<Vec<Row>> {
        let newest =
            "WHERE number IN (SELECT max(number) FROM entry WHERE dataset = ?1 GROUP BY terms) ORDER BY number";
        self.all(newest, [dataset])
    }

    fn charges(&mut self, dataset: &str) -> Result<u64> {
        let count = || -> rusqlite::Result<i64> {
            self.prepare("SELECT count(*) FROM entry WHERE dataset = ?1")?.query_row([dataset], |row| row.get(0))
        };
        count().map(i64::cast_unsigned).map_err(|error| failure("read", &error))
    }

    fn release(&mut self, charge: u64) -> Result<Option<(Row, String)>> {
        let Some(row) = self.one("WHERE charge = ?1", [signed(charge)])? else { return Ok(None) };
        let read = || -> rusqlite::Result<Option<String>> {
            self.prepare("SELECT text FROM release WHERE number = ?1")?
                .query_row([signed(row.number)], |row| row.get(0))
                .optional()
        };
        let text = read().map_err(|error| failure("read", &error))?;
        let text = text.ok_or_else(|| Error::Damaged(format!("the release of entry {} is missing", row.number)))?;
        Ok(Some((row, text)))
    }

    fn append(&mut self, row: &Row, release: Option<&str>) -> Result<()> {
        let Row { number, body, hash, keys } = row;
        let write = || -> rusqlite::Result<()> {
            let insert = format!("INSERT INTO entry ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
            let Keys { registered, dataset, request, terms, charge } = keys;
            let (number, charge) = (signed(*number), charge.map(signed));
            self.prepare(&insert)?.execute((
                number,
                body,
                hash.to_string(),
                registered,
                dataset,
                request,
                terms,
                charge,
            ))?;
            if let Some(text) = release {
                self.prepare("INSERT INTO release (number, text) VALUES (?1, ?2)")?.execute((number, text))?;
            }
            Ok(())
        };
        write().map_err(|error| failure("written", &error))
    }
}

/// SQLite's whole numbers have a sign; no ledger has 2^63 entries.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Whatever a row holds, it never becomes an error of the database: a damaged row is a row that does not open.
fn read_row(row: &rusqlite::Row<'_>) -> Result<Row> {
    let text = |column: usize| match row.get::<_, Value>(column) {
        Ok(Value::Text(text)) => Some(text),
        _ => None,
    };
    let number = row.get::<_, i64>(0).map_err(|error| failure("read", &error))?.cast_unsigned();
    let changed = || Error::Damaged(format!("entry {number} was changed"));
    let charge = row.get::<_, Option<i64>>(7).map_err(|_| changed())?.map(i64::cast_unsigned);
    let keys = Keys { registered: text(3), dataset: text(4), request: text(5), terms: text(6), charge };
    let hash = text(2).and_then(|hash| hash.parse().ok()).ok_or_else(changed)?;
    Ok(Row { number, body: text(1).ok_or_else(changed)?, hash, keys })
}

fn failure(doing: &'static str, error: &rusqlite::Error) -> Error {
    let reason = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => return Error::Damaged("its file is not sound".into()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "other processes keep it locked".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        Some(ErrorCode::ReadOnly) => READ_ONLY.into(),
        Some(ErrorCode::CannotOpen) => "its file, or the log beside it, cannot be opened".into(),
        Some(ErrorCode::SystemIoFailure) => format!("the disk failed ({error})"),
        _ => error.to_string(),
    };
    Error::Storage { doing, reason }
}

/// Sleeps a little longer each time, and gives up at last.
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

/// The path of a file that SQLite keeps beside its own.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn unreadable(error: &io::Error) -> Error {
    Error::Storage { doing: "opened", reason: error.to_string() }
}
