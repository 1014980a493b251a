//! One SQLite file, shared by several threads and processes on one machine.
//!
//! Write-ahead logging with `synchronous=FULL`: a commit returns when its frames are on the disk, one `fdatasync` each.
//! [`Opening`] says how the log of a process that was killed is made safe.
//!
//! # Removed or replaced files
//! While a ledger is open, its path can come to refer to another file. Before every commit, and before anything that
//! was read is used, the file and its log must still be those that were opened, under one name; otherwise nothing is
//! charged or answered until they are restored or the process ends. Nor are pages cached between transactions: if an
//! older copy is written over the file, the next transaction reads it, and notices that entries this process has seen
//! are gone (`witness`).
//!
//! # Processes that compute
//! A process that computes a charge holds a lock on an empty file beside the ledger, `-run-` and 16 digits. It has the
//! ledger's permissions. It is made before the first such charge, outlives no process, and is removed when the ledger is
//! closed, or by the first who finds it without a lock. A missing file is one that nobody holds.
//!
//! # Read-only disks
//! Nothing can be charged. A ledger can be read if there is no log beside it, or if SQLite can read the log; a ledger
//! whose log cannot be read would understate what was spent, and is refused.

mod objects;
mod opened;
mod pages;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reticent_durable::opening::READ_ONLY;
use reticent_durable::{Failure, Files, Form, Held, Journal, Opening, SystemFiles, beside};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use self::opened::Opened;
use self::pages::{SCHEMA, Transaction, failure};
use super::{Pages, Storage};
use crate::error::{Error, Result};

/// "RtLg": SQLite's application id, which marks the file as a ledger.
const FORM: Form = Form { application: 0x5274_4c67, version: 4, schema: SCHEMA, journal: Journal::Log };
/// The versions before interrupted runs were counted (3), and before charges said by which process they are computed (2).
/// They have the same tables.
const OLDER: [i64; 2] = [2, 3];
/// How long a writer waits for its turn.
const PATIENCE: Duration = Duration::from_secs(60);

/// A ledger in a file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    files: Box<dyn Files>,
    access: Access,
    /// Closed after a failure.
    connection: Option<Connection>,
    /// The files that this connection, or the previous one, opened.
    opened: Option<Opened>,
    /// The lock of this process while it computes.
    held: Option<Held>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Write,
    ReadOnly,
    /// Read-only, without checking for a log or other processes.
    Immutable,
}

impl Sqlite {
    /// Creates a ledger, or opens an existing one.
    ///
    /// # Errors
    /// If the path cannot be written to or holds something else.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_in(path, Box::new(SystemFiles))
    }

    /// [`Sqlite::create`] on other files than the operating system's.
    ///
    /// # Errors
    /// As for [`Sqlite::create`].
    pub fn create_in(path: &Path, files: Box<dyn Files>) -> Result<Self> {
        let failed = |error| Error::Storage { doing: "created", reason: format!("{}: {error}", path.display()) };
        files.make_private(path).map_err(failed)?;
        Self::connected(path, files, Access::Write, true)
    }

    /// Opens a ledger.
    ///
    /// # Errors
    /// [`Error::Missing`] if the file does not exist; [`Error::NotALedger`] if it is something else.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::NotALedger(path.display().to_string()));
        }
        Self::open_in(path, Box::new(SystemFiles))
    }

    /// [`Sqlite::open`] on other files than the operating system's.
    ///
    /// # Errors
    /// As for [`Sqlite::open`].
    pub fn open_in(path: &Path, files: Box<dyn Files>) -> Result<Self> {
        match files.length(path).map_err(|error| unreadable(&error))? {
            // An empty file is left by an interrupted creation.
            None | Some(0) => Err(Error::Missing(path.display().to_string())),
            Some(_) => Self::connected(path, files, Access::Write, false),
        }
    }

    /// Opens a ledger for reading; it need not be writable.
    ///
    /// # Errors
    /// As for [`Sqlite::open`]; [`Error::Storage`] if it is not writable and has a log that cannot be read, without
    /// which it would understate what was spent.
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
                "part of it is in {}, which cannot be read on a read-only disk; copy both to a writable one",
                log.display()
            );
            return Err(Error::Storage { doing: "read", reason });
        }
        Self::connected(path, Box::new(SystemFiles), Access::Immutable, false)
    }

    fn connected(path: &Path, files: Box<dyn Files>, access: Access, create: bool) -> Result<Self> {
        // SQLite keeps its log beside the file itself, not beside a link to it.
        let own = if files.system().is_none() { path.canonicalize().ok() } else { None };
        let path = own.unwrap_or_else(|| path.into());
        let mut storage = Self { path, files, access, connection: None, opened: None, held: None };
        storage.connect(create)?;
        Ok(storage)
    }

    /// The open connection; a new one after a failure.
    fn connect(&mut self, create: bool) -> Result<&mut Connection> {
        if self.connection.is_none() {
            self.connection = Some(self.open_connection(create)?);
            self.opened = Some(Opened::at(&self.path, &*self.files, self.opened.as_ref()));
        }
        Ok(self.connection.as_mut().expect("just opened"))
    }

    fn open_connection(&self, create: bool) -> Result<Connection> {
        let opening = Opening { path: &self.path, files: &*self.files, form: FORM };
        let failed = |error: rusqlite::Error| Error::from(opening.failure("opened", &error));
        let names = self.files.names(&self.path).map_err(|error| unreadable(&error))?;
        if names > 1 {
            let path = self.path.display();
            let reason =
                format!("{path} has {names} names (hard links), each with a log of its own; remove all but one");
            return Err(Error::Storage { doing: "opened", reason });
        }
        let flags = match (self.access, create) {
            (Access::ReadOnly, _) => OpenFlags::SQLITE_OPEN_READ_ONLY,
            (Access::Immutable, _) => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            (Access::Write, true) => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            (Access::Write, false) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let name = if self.access == Access::Immutable { self.immutable() } else { self.path.clone() };
        let mut connection = opening.connect(&name, flags)?;
        // Otherwise statements on partial indexes are replanned whenever a parameter changes.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
        if self.access == Access::Write && connection.is_readonly("main").map_err(failed)? {
            return Err(Error::Storage { doing: "opened", reason: READ_ONLY.into() });
        }
        // Another process is creating it right now, or was interrupted.
        if !create && opening.is_empty(&connection)? {
            return Err(Error::Missing(self.path.display().to_string()));
        }
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        let is_older = OLDER.contains(&version);
        let older = Opening { form: Form { version, ..FORM }, ..opening };
        match self.access {
            Access::Write if is_older => {
                // Another process may be doing the same.
                older.prepare(&mut connection).or_else(|_| opening.prepare(&mut connection))?;
                // From now on earlier versions of this program leave it alone.
                connection.pragma_update(None, "user_version", FORM.version).map_err(failed)?;
            }
            Access::Write => opening.prepare(&mut connection)?,
            Access::ReadOnly | Access::Immutable if is_older => older.identify(&connection)?,
            Access::ReadOnly | Access::Immutable => opening.identify(&connection)?,
        }
        Ok(connection)
    }

    /// The URI of a file without a log that no one can write to.
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

    fn transact(
        &mut self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<()>,
    ) -> Result<()> {
        let writes = matches!(behavior, TransactionBehavior::Immediate);
        let doing = if writes { "written" } else { "read" };
        let outcome = (|| {
            let _turn = if writes { self.files.turn(&beside(&self.path, "-turn"), PATIENCE) } else { None };
            self.connect(false)?;
            let Self { path, files, connection: Some(connection), opened: Some(opened), held, .. } = &mut *self else {
                unreachable!("it was just opened")
            };
            // Read from the file each time: cached pages would hide that the file was overwritten.
            connection.execute_batch("PRAGMA shrink_memory").map_err(|error| failure(doing, &error))?;
            let transaction = connection.transaction_with_behavior(behavior).map_err(|error| failure(doing, &error))?;
            if writes {
                objects::refuse_triggers(&transaction)?;
            }
            work(&mut Transaction { connection: &transaction, path, files: &**files, held })?;
            opened.check(path, &**files)?;
            transaction.commit().map_err(|error| failure(doing, &error))
        })();
        // If the files were replaced, the connection stays open: a new one would open the replacement.
        if matches!(outcome, Err(Error::Storage { .. } | Error::Damaged(_))) {
            self.connection = None;
        }
        outcome
    }
}

impl Storage for Sqlite {
    fn write(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.transact(TransactionBehavior::Immediate, |pages| work(pages))
    }

    fn read(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.transact(TransactionBehavior::Deferred, |pages| work(pages))
    }

    /// Sets the version again: SQLite writes its page even if nothing changes.
    fn try_writing(&mut self) -> Result<()> {
        self.transact(TransactionBehavior::Immediate, |pages| {
            let again = pages.connection.pragma_update(None, "user_version", FORM.version);
            again.map_err(|error| failure("written", &error))
        })
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
            faults.extend(objects::foreign(connection)?);
            Ok(faults)
        };
        match check() {
            Ok(faults) => Ok(faults),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => Ok(vec![error.to_string()]),
            Err(error) => Err(failure("read", &error)),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Foreign(path) => Self::NotALedger(path),
            Failure::Damaged(path) => Self::Damaged(format!("{path} is corrupt")),
            Failure::Storage { doing, reason } => Self::Storage { doing, reason },
        }
    }
}

fn unreadable(error: &io::Error) -> Error {
    Error::Storage { doing: "opened", reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
    fn a_commit_waits_for_the_drive_itself() {
        let folder = tempfile::tempdir().unwrap();
        let mut storage = Sqlite::create(&folder.path().join("ledger.sqlite")).unwrap();
        let connection = storage.connect(false).unwrap();
        for (pragma, expected) in [("synchronous", 2), ("fullfsync", 1), ("checkpoint_fullfsync", 1)] {
            let found = connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(found, expected, "{pragma}");
        }
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

    /// A file that was removed, renamed or replaced while open is not charged, and neither is its replacement.
    #[cfg(unix)]
    #[test]
    fn a_ledger_is_the_file_that_was_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (path, log, aside) = (at("ledger.sqlite"), at("ledger.sqlite-wal"), at("aside"));
        let mut storage = Sqlite::create(&path).unwrap();
        storage.write(&mut |pages| pages.append(&row(), None)).unwrap();
        fs::copy(&path, at("backup")).unwrap();
        let charged = |storage: &mut Sqlite| storage.write(&mut |_| Ok(()));
        let is_refused = |storage: &mut Sqlite| {
            let refused = |outcome: Result<()>| matches!(outcome, Err(Error::Replaced(_)));
            // Repeatedly: the ledger is not reopened.
            refused(charged(storage)) && refused(storage.read(&mut |_| Ok(()))) && refused(charged(storage))
        };
        for file in [&path, &log] {
            fs::rename(file, &aside).unwrap();
            assert!(is_refused(&mut storage), "{} is gone", file.display());
            fs::copy(at("backup"), file).unwrap();
            assert!(is_refused(&mut storage), "{} is another one", file.display());
            fs::rename(&aside, file).unwrap();
            charged(&mut storage).unwrap();
        }
        fs::hard_link(&path, &aside).unwrap();
        assert!(is_refused(&mut storage), "it has two names");
        fs::remove_file(&aside).unwrap();
        charged(&mut storage).unwrap();
        // Nor is another one opened after a failure.
        fs::rename(&path, &aside).unwrap();
        fs::rename(at("backup"), &path).unwrap();
        storage.connection = None;
        assert!(is_refused(&mut storage));
    }

    fn row() -> crate::entry::Row {
        crate::entry::Row::after(None, crate::entry::Event::Opened { ledger: "a".into() })
    }

    /// Each name would have a log of its own, and none would have all charges.
    #[cfg(unix)]
    #[test]
    fn a_ledger_has_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, second) = (folder.path().join("ledger.sqlite"), folder.path().join("second.sqlite"));
        drop(Sqlite::create(&path).unwrap());
        fs::hard_link(&path, &second).unwrap();
        for opened in [Sqlite::open(&path), Sqlite::open(&second), Sqlite::create(&second)] {
            assert!(opened.unwrap_err().to_string().contains("has 2 names"));
        }
        fs::remove_file(&second).unwrap();
        assert!(Sqlite::open(&path).is_ok());
        // A symbolic link to a ledger is the same name, and the target of a dangling one is created for its owner only.
        std::os::unix::fs::symlink(&path, &second).unwrap();
        assert!(Sqlite::open(&second).is_ok());
        let (link, target) = (folder.path().join("link.sqlite"), folder.path().join("target.sqlite"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        drop(Sqlite::create(&link).unwrap());
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
