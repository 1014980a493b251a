//! One SQLite file, for several threads and processes of one machine.
//!
//! Write-ahead logging with `synchronous=FULL`: a commit returns when its frames are on the disk, one `fdatasync` each.
//!
//! # When the disk fails
//! After a failed `fsync` Linux keeps the pages readable but no longer writes them: a later `fsync` succeeds and says nothing
//! about them. Such frames must never be taken for durable. So after any failure the connection is closed; whoever opens
//! the file next copies all that the log holds into the database itself, in fresh writes with an `fsync` of their own, before
//! anything else.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, OptionalExtension, Params, TransactionBehavior};

use super::{Pages, Storage};
use crate::entry::{Keys, Row};
use crate::error::{Error, Result};
use crate::hash::Hash;

/// "RtLg": tells a ledger from any other SQLite file.
const APPLICATION: i64 = 0x5274_4c67;
const VERSION: i64 = 1;
/// How long a writer waits for the others.
const PATIENCE: Duration = Duration::from_secs(60);
/// Writers take turns of a fraction of a millisecond; sleeping longer would leave the disk idle.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(2);

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
    /// The virtual file system to open it with, if not the operating system's: for tests that crash or fill a disk.
    system: Option<String>,
    access: Access,
    /// Closed after a failure.
    connection: Option<Connection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Write,
    ReadOnly,
}

impl Sqlite {
    /// Makes a ledger, or opens the one that is there.
    ///
    /// # Errors
    /// If the place cannot be written to or holds something else.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_in(path, None)
    }

    /// [`Sqlite::create`] in a virtual file system that was registered with SQLite under this name.
    ///
    /// # Errors
    /// As [`Sqlite::create`].
    pub fn create_in(path: &Path, system: Option<&str>) -> Result<Self> {
        let path = path.to_owned();
        if system.is_none() {
            make_private(&path)?;
        }
        let mut storage = Self { path, system: system.map(str::to_owned), access: Access::Write, connection: None };
        storage.connect(true)?;
        Ok(storage)
    }

    /// Opens a ledger.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is none; [`Error::NotALedger`] if something else is there.
    pub fn open(path: &Path) -> Result<Self> {
        Self::present(path)?;
        let mut storage = Self { path: path.into(), system: None, access: Access::Write, connection: None };
        storage.connect(false)?;
        Ok(storage)
    }

    /// Opens a ledger to look at it: also one that cannot be written to.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn open_to_read(path: &Path) -> Result<Self> {
        match Self::open(path) {
            Err(Error::Storage { .. }) => {}
            other => return other,
        }
        let mut storage = Self { path: path.into(), system: None, access: Access::ReadOnly, connection: None };
        storage.connect(false)?;
        Ok(storage)
    }

    fn present(path: &Path) -> Result<()> {
        let missing = || Err(Error::Missing(path.display().to_string()));
        match fs::metadata(path) {
            // Whoever was interrupted while making a ledger has made none.
            Ok(metadata) if metadata.is_file() && metadata.len() == 0 => missing(),
            Ok(metadata) if metadata.is_file() => Ok(()),
            Ok(_) => Err(Error::NotALedger(path.display().to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing(),
            Err(error) => Err(Error::Storage { doing: "opened", reason: error.to_string() }),
        }
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
            (Access::ReadOnly, _) if self.has_log() => OpenFlags::SQLITE_OPEN_READ_ONLY,
            (Access::ReadOnly, _) => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            (Access::Write, true) => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            (Access::Write, false) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let mut connection = match (&self.system, self.access) {
            (Some(system), _) => Connection::open_with_flags_and_vfs(&self.path, flags, system.as_str()),
            (None, Access::Write) => Connection::open_with_flags(&self.path, flags),
            // What was written last may be in the log alone.
            (None, Access::ReadOnly) if self.has_log() => Connection::open_with_flags(&self.path, flags),
            (None, Access::ReadOnly) => Connection::open_with_flags(self.immutable(), flags),
        }
        .map_err(failed)?;
        wait_for_others(&mut connection).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(32);
        // Before anything is written: the next line would turn anyone's database into one with a write-ahead log.
        match tables(&connection).map_err(failed)? {
            0 if create => {}
            // Somebody else is making it just now, or was interrupted.
            0 => return Err(Error::Missing(self.path.display().to_string())),
            _ => self.identify(&connection)?,
        }
        if self.access == Access::Write {
            let mode = switch_to_log(&connection).map_err(failed)?;
            if mode != "wal" {
                let reason = format!("its file system allows journal mode {mode} only, and wal is needed");
                return Err(Error::Storage { doing: "opened", reason });
            }
            // FULL: a commit is on the disk when it returns.
            connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
        }
        if create {
            self.make_schema(&mut connection)?;
        }
        self.identify(&connection)?;
        if self.access == Access::Write {
            // What a failed fsync may have left in the log is written anew; see above.
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(failed)?;
        }
        Ok(connection)
    }

    /// Is it a ledger?
    fn identify(&self, connection: &Connection) -> Result<()> {
        let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let is = |pragma, expected| number(pragma).map(|found| found == expected);
        let known = is("application_id", APPLICATION).and_then(|known| Ok(known && is("user_version", VERSION)?));
        match known {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::NotALedger(self.path.display().to_string())),
            Err(error) => Err(self.failure("opened", &error)),
        }
    }

    fn has_log(&self) -> bool {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
    }

    /// A file without a log, in a folder where none can be made.
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
        if tables(&transaction).map_err(failed)? > 0 {
            return Ok(());
        }
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        if self.system.is_none() {
            sync_directory(&self.path)?;
        }
        Ok(())
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
            let mut faults: Vec<String> = connection
                .prepare("PRAGMA integrity_check(100)")?
                .query_map([], |row| row.get(0))?
                .filter(|line| line.as_ref().is_err() || line.as_ref().is_ok_and(|line: &String| line != "ok"))
                .collect::<rusqlite::Result<_>>()?;
            let numbers = |sql: &str| -> rusqlite::Result<Vec<i64>> {
                connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
            };
            let early = numbers("SELECT number FROM entry WHERE number < 1 LIMIT 100")?;
            faults.extend(early.into_iter().map(super::numbered_before_the_first));
            let strays = "SELECT number FROM release AS r WHERE NOT EXISTS (
                SELECT 1 FROM entry AS e WHERE e.number = r.number AND e.charge IS NOT NULL) LIMIT 100";
            faults.extend(numbers(strays)?.into_iter().map(super::release_without_entry));
            Ok(faults)
        };
        match check() {
            Ok(faults) => Ok(faults),
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
    let charge = row.get::<_, Option<i64>>(7).ok().flatten().map(i64::cast_unsigned);
    let keys = Keys { registered: text(3), dataset: text(4), request: text(5), terms: text(6), charge };
    let hash = text(2).and_then(|hash| hash.parse().ok()).unwrap_or(Hash::NONE);
    Ok(Row { number, body: text(1).unwrap_or_default(), hash, keys })
}

fn failure(doing: &'static str, error: &rusqlite::Error) -> Error {
    let reason = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => return Error::Damaged("its file is not sound".into()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "other processes keep it locked".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        Some(ErrorCode::ReadOnly) => "it is read-only".into(),
        Some(ErrorCode::CannotOpen) => "its file, or the log beside it, cannot be opened".into(),
        Some(ErrorCode::SystemIoFailure) => format!("the disk failed ({error})"),
        _ => error.to_string(),
    };
    Error::Storage { doing, reason }
}

/// Two that switch a new file at once hold what the other needs, and SQLite gives up at once rather than ask the handler above.
fn switch_to_log(connection: &Connection) -> rusqlite::Result<String> {
    let since = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && since.elapsed() < PATIENCE => {
                thread::sleep(LONGEST_SLEEP);
            }
            outcome => return outcome,
        }
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
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

/// An empty file that only its owner can read: what is asked about a dataset can itself be secret.
fn make_private(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::Storage { doing: "created", reason: format!("{}: {error}", path.display()) }),
    }
}

/// A new name is durable only when its directory is.
fn sync_directory(path: &Path) -> Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Directories cannot be opened everywhere.
        Err(error) if !cfg!(windows) => Err(Error::Storage { doing: "created", reason: error.to_string() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.sqlite");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE person (name TEXT)").unwrap();
        drop(other);
        let before = fs::read(&path).unwrap();
        for opened in [Sqlite::open(&path), Sqlite::create(&path), Sqlite::open_to_read(&path)] {
            assert!(matches!(opened, Err(Error::NotALedger(_))), "{opened:?}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_ledger_that_somebody_is_still_making_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let other = Connection::open(&path).unwrap();
        other.pragma_update(None, "journal_mode", "wal").unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 0);
        assert!(matches!(Sqlite::open(&path), Err(Error::Missing(_))));
        assert!(Sqlite::create(&path).is_ok() && Sqlite::open(&path).is_ok());
    }
}
