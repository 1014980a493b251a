//! The catalogue of streams: their rows in the database.

use std::sync::Arc;

use reticent::ledger::{Accounting, Receipt};
use rusqlite::{Row, Transaction, params};

use crate::curator::live::Identity;
use crate::database::failed;
use crate::definition::Definition;
use crate::error::{Error, Result};

/// A stream's row. It is written before the stream is charged, so that a crash in between is noticed.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub id: i64,
    pub definition: Arc<Definition>,
    pub caller: String,
    /// The charge's request id in the ledger.
    pub request: String,
    /// The ledger's newest entry before the charge.
    pub ledger_head: u64,
    /// The charge's entry and the time of creation; `None` until the charge is known.
    pub charged: Option<(u64, i64)>,
    pub id_key: [u8; 16],
}

impl Entry {
    /// The stream's identity with its charge; `None` until the charge is known.
    pub fn identity(&self) -> Option<Identity> {
        let (entry, created) = self.charged?;
        let dataset = self.definition.dataset().to_owned();
        let accounting = Accounting::Charged(Receipt { dataset, request: self.request.clone(), entry });
        Some(Identity { id: self.id, definition: Arc::clone(&self.definition), created, accounting })
    }

    /// Inserts a stream that is not charged yet; returns its id.
    pub fn insert(&self, pages: &Transaction<'_>) -> Result<i64> {
        let definition = serde_json::to_string(&*self.definition).map_err(|error| Error::storage("written", error))?;
        let sql = "INSERT INTO stream (name, definition, caller, request, ledger_head, id_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![
            self.definition.name(),
            definition,
            self.caller,
            self.request,
            self.ledger_head as i64,
            &self.id_key[..]
        ];
        pages.execute(sql, values).map_err(failed)?;
        Ok(pages.last_insert_rowid())
    }

    /// Records its charge; from now on the stream exists.
    pub fn set_charged(&self, pages: &Transaction<'_>) -> Result<()> {
        let (entry, created) = self.charged.expect("set before");
        let sql = "UPDATE stream SET entry = ?2, created = ?3 WHERE id = ?1";
        pages.execute(sql, params![self.id, entry as i64, created]).map_err(failed).map(drop)
    }

    /// Removes it, if it was not charged.
    pub fn remove(&self, pages: &Transaction<'_>) -> Result<()> {
        pages.execute("DELETE FROM stream WHERE id = ?1 AND entry IS NULL", [self.id]).map_err(failed).map(drop)
    }

    /// All entries, oldest first; those that cannot be read are passed to `unreadable`.
    pub fn all(pages: &Transaction<'_>, unreadable: impl Fn(&str, Error)) -> Result<Vec<Self>> {
        let sql =
            "SELECT id, definition, caller, request, ledger_head, entry, created, id_key, name FROM stream ORDER BY id";
        let mut query = pages.prepare(sql).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let name: String = row.get(8).map_err(failed)?;
            match Self::read(row) {
                Ok(entry) => entries.push(entry),
                Err(error) if error.is_storage() => return Err(error),
                Err(error) => unreadable(&name, error),
            }
        }
        Ok(entries)
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        let damaged = || Error::Damaged("its definition".into());
        let definition: String = row.get(1).map_err(failed)?;
        let definition: Definition = serde_json::from_str(&definition).map_err(|_| damaged())?;
        let (entry, created): (Option<i64>, Option<i64>) = (row.get(5).map_err(failed)?, row.get(6).map_err(failed)?);
        let id_key: Vec<u8> = row.get(7).map_err(failed)?;
        Ok(Self {
            id: row.get(0).map_err(failed)?,
            definition: Arc::new(definition),
            caller: row.get(2).map_err(failed)?,
            request: row.get(3).map_err(failed)?,
            ledger_head: row.get::<_, i64>(4).map_err(failed)? as u64,
            charged: entry.map(|entry| entry as u64).zip(created),
            id_key: id_key.try_into().map_err(|_| damaged())?,
        })
    }
}
