//! An aggregator's storage: its shares of reports, and which of them were ever opened.
//!
//! One SQLite file per task, durable with every transaction (`synchronous=EXTRA` on a rollback journal). Deleted
//! content is overwritten. By itself the file reveals nothing about any answer; together with the files of all other
//! aggregators it reveals everything, so shares are deleted as soon as their batch is released.

use std::path::{Path, PathBuf};

use reticent_durable::{Failure, Form, Journal, Opening, SystemFiles};
use reticent_party::hex::{Digest, Hex};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use zeroize::Zeroizing;

use crate::batch;
use crate::error::{Error, Result};
use crate::record::Record;
use crate::report;
use crate::scheme::{KEY_BYTES, Nonce};
use crate::task::Task;

/// "RtAg": distinguishes the file from other SQLite files.
const FORM: Form = Form { application: 0x5274_4167, version: 1, schema: SCHEMA, journal: Journal::Erasing };
/// How many of the largest batches may wait; reports beyond that are refused.
const WAITING_BATCHES: u64 = 4;

/// How many reports may wait at one aggregator.
pub(crate) fn most_waiting(task: &Task) -> u64 {
    WAITING_BATCHES * task.maximum_reports()
}

const SCHEMA: &str = "
CREATE TABLE fact (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE report (nonce BLOB PRIMARY KEY, share BLOB, batch BLOB) STRICT, WITHOUT ROWID;
CREATE INDEX waiting ON report (nonce) WHERE share IS NOT NULL AND batch IS NULL;
CREATE INDEX in_batch ON report (batch) WHERE batch IS NOT NULL;
";

/// What happened to received shares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Received {
    /// Kept for the next batch.
    pub kept: u64,
    /// Not kept: not for this task and aggregator, a number seen before, or no room.
    pub refused: u64,
}

/// An aggregator's file for one task.
///
/// # Privacy
/// A report's number is kept forever, so that no report is counted twice: a batch is a set of numbers, and batches are
/// disjoint. The set of reports in a batch is durable here before this aggregator opens its share of the sums; until
/// the batch is completed or [abandoned](Store::abandon), no other one begins.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    task: Task,
    place: usize,
}

impl Store {
    /// Opens the file, creating it if it is missing.
    ///
    /// # Errors
    /// If it cannot be used, or belongs to another task or aggregator.
    pub fn open(path: &Path, task: &Task, place: usize) -> Result<Self> {
        let connection = opening(path).connect_or_create().map_err(|failure| unusable(path, failure))?;
        Self::on(connection, path, task, place)
    }

    /// An in-memory store, for simulations.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn in_memory(task: &Task, place: usize) -> Result<Self> {
        let path = Path::new("the store in memory");
        let connection = Connection::open_in_memory().map_err(|error| Error::file("opened", path, error))?;
        Self::on(connection, path, task, place)
    }

    pub(crate) fn on(mut connection: Connection, path: &Path, task: &Task, place: usize) -> Result<Self> {
        opening(path).prepare(&mut connection).map_err(|failure| unusable(path, failure))?;
        let mut store = Self { path: path.to_owned(), connection, task: task.clone(), place };
        let owner = [&task.hash().0[..], &[place as u8]].concat();
        if store.fact("owner", || Ok(owner.clone()))? != owner {
            return Err(Error::form(path, "it belongs to another task or aggregator; use another file"));
        }
        Ok(store)
    }

    /// Stores received shares. Refusals are silent: a client that sends garbage need not know which shares were
    /// refused.
    ///
    /// # Errors
    /// If the file cannot be written; then none is kept.
    pub fn receive<'share>(&mut self, shares: impl IntoIterator<Item = &'share [u8]>) -> Result<Received> {
        let mut room = most_waiting(&self.task).saturating_sub(self.waiting()?);
        let (task, place) = (self.task.clone(), self.place);
        let mut received = Received::default();
        self.write(|transaction| {
            let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO report VALUES (?1, ?2, NULL)")?;
            for share in shares {
                let kept = match report::open(&task, place, share) {
                    Some(parts) if room > 0 => insert.execute(params![parts.nonce, share])? as u64,
                    _ => 0,
                };
                room -= kept;
                received.kept += kept;
                received.refused += 1 - kept;
            }
            Ok(())
        })?;
        Ok(received)
    }

    /// How many reports are waiting for a batch.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn waiting(&self) -> Result<u64> {
        let count = "SELECT count(*) FROM report WHERE share IS NOT NULL AND batch IS NULL";
        let waiting = self.connection.query_row(count, [], |row| row.get::<_, i64>(0));
        Ok(waiting.map_err(|error| self.unreadable(&error))?.cast_unsigned())
    }

    /// This aggregator's contribution to the verification key, random and generated once.
    pub(crate) fn contribution(&mut self) -> Result<Zeroizing<[u8; KEY_BYTES]>> {
        let made = self.fact("contribution", || {
            let mut bytes = vec![0; KEY_BYTES];
            report::random(&mut bytes)?;
            Ok(bytes)
        })?;
        made.try_into().map(Zeroizing::new).map_err(|_| Error::form(&self.path, "it is damaged"))
    }

    /// Stores the verification key; `false` if a different one is stored already.
    pub(crate) fn fix_key(&mut self, key: &[u8; KEY_BYTES]) -> Result<bool> {
        Ok(self.fact("key", || Ok(key.to_vec()))? == key)
    }

    /// The batch that was begun and not completed.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn pending(&self) -> Result<Option<Digest>> {
        let query = "SELECT batch FROM report WHERE batch IS NOT NULL AND share IS NOT NULL LIMIT 1";
        let batch = self.connection.query_row(query, [], |row| row.get::<_, [u8; 32]>(0)).optional();
        Ok(batch.map_err(|error| self.unreadable(&error))?.map(Hex))
    }

    /// The numbers of the reports the next batch may contain, in order: those of the pending batch, if any, otherwise
    /// all that are waiting. If only the first ones were offered, shares sent to one aggregator alone could hide all
    /// others.
    pub(crate) fn candidates(&self) -> Result<Vec<Nonce>> {
        let query = match self.pending()? {
            Some(_) => "SELECT nonce FROM report WHERE batch IS NOT NULL AND share IS NOT NULL ORDER BY nonce LIMIT ?1",
            None => "SELECT nonce FROM report WHERE share IS NOT NULL AND batch IS NULL ORDER BY nonce LIMIT ?1",
        };
        let most = most_waiting(&self.task).cast_signed();
        let read = || {
            let mut statement = self.connection.prepare_cached(query)?;
            statement.query_map([most], |row| row.get(0))?.collect::<rusqlite::Result<Vec<Nonce>>>()
        };
        read().map_err(|error| self.unreadable(&error))
    }

    /// This aggregator's share of a report that has not been opened yet.
    pub(crate) fn share(&self, nonce: &Nonce) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let read = || {
            let mut statement = self.connection.prepare_cached("SELECT share FROM report WHERE nonce = ?1")?;
            statement.query_row([nonce], |row| row.get::<_, Option<Vec<u8>>>(0)).optional()
        };
        Ok(read().map_err(|error| self.unreadable(&error))?.flatten().map(Zeroizing::new))
    }

    /// Durably assigns these reports to this batch and no other.
    ///
    /// # Errors
    /// If one of them is in another batch, or has been opened.
    pub(crate) fn begin(&mut self, batch: Digest, reports: &[Nonce]) -> Result<()> {
        let mut taken = 0;
        let update =
            "UPDATE report SET batch = ?1 WHERE nonce = ?2 AND share IS NOT NULL AND (batch IS NULL OR batch = ?1)";
        self.write_if(|transaction| {
            let mut update = transaction.prepare_cached(update)?;
            for nonce in reports {
                taken += update.execute(params![batch.0, nonce])?;
            }
            let others = "SELECT count(*) FROM report WHERE batch IS NOT NULL AND batch <> ?1 AND share IS NOT NULL";
            let others: i64 = transaction.query_row(others, [batch.0], |row| row.get(0))?;
            Ok(taken == reports.len() && others == 0)
        })
        .and_then(|done| {
            let why = "a report would be opened in two batches";
            if done { Ok(()) } else { Err(Error::form(&self.path, why)) }
        })
    }

    /// Deletes the shares of a released batch. Their numbers are kept, and so is the record until the next one, for
    /// aggregators that stopped before they received it.
    pub(crate) fn complete(&mut self, record: &Record) -> Result<()> {
        let (batch, text) = (record.batch(), record.to_json());
        self.write(|transaction| {
            transaction.execute("INSERT OR REPLACE INTO fact VALUES ('record', ?1)", [text.into_bytes()])?;
            forget(transaction, batch)
        })
    }

    /// The record of the last released batch; `None` if no batch was released.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn record(&self) -> Result<Option<Record>> {
        let query = "SELECT value FROM fact WHERE name = 'record'";
        let kept = self.connection.query_row(query, [], |row| row.get::<_, Vec<u8>>(0)).optional();
        let kept = kept.map_err(|error| self.unreadable(&error))?;
        let read = |kept: Vec<u8>| Record::read(std::str::from_utf8(&kept).ok()?, &self.task).ok();
        kept.map(|kept| read(kept).ok_or_else(|| Error::form(&self.path, "it is damaged"))).transpose()
    }

    /// Abandons a batch that was begun and cannot be completed: its reports are lost, and may have been partly opened.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn abandon(&mut self) -> Result<Option<Digest>> {
        let pending = self.pending()?;
        if let Some(batch) = pending {
            self.write(|transaction| forget(transaction, batch))?;
        }
        Ok(pending)
    }

    /// Notes that another aggregator does not have these reports. Those already missed in the collection before are
    /// deleted, since their clients have not sent the other shares in all that time. Their numbers are kept.
    pub(crate) fn miss(&mut self, reports: &[Nonce]) -> Result<()> {
        let query = "SELECT value FROM fact WHERE name = 'missed'";
        let before = self.connection.query_row(query, [], |row| row.get::<_, Vec<u8>>(0)).optional();
        let before = before.map_err(|error| self.unreadable(&error))?.unwrap_or_default();
        let before = batch::numbers(&before).unwrap_or_default();
        let (again, first): (Vec<Nonce>, Vec<Nonce>) =
            reports.iter().partition(|nonce| before.binary_search(nonce).is_ok());
        self.drop_reports(&again)?;
        self.write(|transaction| {
            transaction.execute("INSERT OR REPLACE INTO fact VALUES ('missed', ?1)", [first.concat()]).map(drop)
        })
    }

    /// Deletes invalid reports; their numbers are kept.
    pub(crate) fn drop_reports(&mut self, reports: &[Nonce]) -> Result<()> {
        self.write(|transaction| {
            let mut update = transaction.prepare_cached("UPDATE report SET share = NULL WHERE nonce = ?1")?;
            reports.iter().try_for_each(|nonce| update.execute([nonce]).map(drop))
        })
    }

    /// A fact that is written once.
    fn fact(&mut self, name: &str, make: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        let query = "SELECT value FROM fact WHERE name = ?1";
        let known = self.connection.query_row(query, [name], |row| row.get(0)).optional();
        if let Some(known) = known.map_err(|error| self.unreadable(&error))? {
            return Ok(known);
        }
        let value = make()?;
        self.write(|transaction| {
            transaction.execute("INSERT INTO fact VALUES (?1, ?2)", params![name, value]).map(drop)
        })?;
        Ok(value)
    }

    fn write(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<()> {
        self.write_if(|transaction| work(transaction).map(|()| true)).map(drop)
    }

    /// Runs one transaction, which is rolled back if `work` returns `false`.
    fn write_if(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<bool>) -> Result<bool> {
        let write = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let keep = work(&transaction)?;
            if keep {
                transaction.commit()?
            } else {
                transaction.rollback()?
            }
            Ok(keep)
        };
        write().map_err(|error: rusqlite::Error| Error::file("written", &self.path, error))
    }

    fn unreadable(&self, error: &rusqlite::Error) -> Error {
        Error::file("read", &self.path, error)
    }
}

fn opening(path: &Path) -> Opening<'_> {
    Opening { path, files: &SystemFiles, form: FORM }
}

fn unusable(path: &Path, failure: Failure) -> Error {
    match failure {
        Failure::Foreign(_) => Error::form(path, "not an aggregator's store, or from another version"),
        Failure::Damaged(_) => Error::form(path, "it is damaged"),
        Failure::Storage { reason, .. } => Error::file("opened", path, reason),
    }
}

/// Overwrites the shares of a batch.
fn forget(transaction: &Transaction<'_>, batch: Digest) -> rusqlite::Result<()> {
    transaction.execute("UPDATE report SET share = NULL WHERE batch = ?1", [batch.0]).map(drop)
}
