//! The rows of an SQLite file.

use std::path::{Path, PathBuf};

use reticent_durable::opening::reason;
use reticent_durable::{Files, Held, beside};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, ErrorCode, OptionalExtension, Params};

use crate::entry::{Keys, Row};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::run::Holder;
use crate::storage::Pages;

/// The tables.
pub const SCHEMA: &str = "
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

/// The columns of a row.
const COLUMNS: &str = "number, body, hash, registered, dataset, request, terms, charge";

/// Skips from one set of terms to the next by index: a dataset has few of these, but many charges.
const LAST_CHARGES: &str = "
    WHERE number IN (
        WITH RECURSIVE charged (terms) AS (
            SELECT min(terms) FROM entry WHERE dataset = ?1
            UNION ALL SELECT (SELECT min(e.terms) FROM entry AS e WHERE e.dataset = ?1 AND e.terms > charged.terms)
                FROM charged WHERE charged.terms IS NOT NULL
        )
        SELECT (SELECT max(e.number) FROM entry AS e WHERE e.dataset = ?1 AND e.terms = charged.terms) FROM charged
    ) ORDER BY number";

/// Rows that registered datasets, by the index that contains only these. The sign keeps SQLite from scanning the whole
/// table, which is already in this order.
const REGISTRATIONS: &str = "WHERE registered IS NOT NULL ORDER BY +number";

/// The rows, within a transaction of this connection.
pub struct Transaction<'storage> {
    /// The connection.
    pub connection: &'storage Connection,
    /// The ledger's path, beside which holders have their files.
    pub path: &'storage Path,
    /// Where its files are.
    pub files: &'storage dyn Files,
    /// What this process holds.
    pub held: &'storage mut Option<Held>,
}

impl Transaction<'_> {
    fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.connection.prepare_cached(sql)
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
        self.all(REGISTRATIONS, [])
    }

    fn charge(&mut self, dataset: &str, request: &str) -> Result<Option<Row>> {
        self.one("WHERE dataset = ?1 AND request = ?2", [dataset, request])
    }

    fn last_charge(&mut self, dataset: &str, terms: &str) -> Result<Option<Row>> {
        self.one("WHERE dataset = ?1 AND terms = ?2 ORDER BY number DESC LIMIT 1", [dataset, terms])
    }

    fn last_charges(&mut self, dataset: &str) -> Result<Vec<Row>> {
        self.all(LAST_CHARGES, [dataset])
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

    fn hold(&mut self, holder: Holder) -> Result<()> {
        if self.held.is_none() {
            let path = lock_file(self.path, holder);
            let failed = |error| Error::Storage { doing: "written", reason: format!("{}: {error}", path.display()) };
            *self.held = Some(self.files.hold(&path, self.path).map_err(failed)?);
        }
        Ok(())
    }

    fn is_held(&mut self, holder: Holder) -> Result<bool> {
        let path = lock_file(self.path, holder);
        let unclear = |error| {
            let reason = format!("{} does not tell whether a run is still in progress: {error}", path.display());
            Error::Storage { doing: "read", reason }
        };
        self.files.is_held(&path).map_err(unclear)
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

/// The file that a process locks while it computes.
fn lock_file(ledger: &Path, holder: Holder) -> PathBuf {
    beside(ledger, &format!("-run-{holder}"))
}

/// SQLite's integers are signed; no ledger has 2^63 entries.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The content of a row never causes a database error: a damaged row is one that fails to open.
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

/// SQLite's error, in words.
pub fn failure(doing: &'static str, error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged("its file is corrupt".into()),
        _ => Error::Storage { doing, reason: reason(error) },
    }
}

#[cfg(test)]
mod tests {
    use reticent::ledger::{Charge, Releases};
    use reticent::privacy::{Adjacency, Guarantee};
    use reticent_durable::SystemFiles;
    use rusqlite::StatementStatus;

    use super::*;
    use crate::budget::{Budget, Spend};
    use crate::entry::{Dataset, Event};

    /// A service polls its budgets page while it also makes charges.
    #[test]
    fn what_was_spent_is_found_without_a_look_at_every_charge() {
        let steps = |charges: u64| {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(SCHEMA).unwrap();
            let (path, files, held) = (Path::new("ledger.sqlite"), &SystemFiles, &mut None);
            let mut pages = Transaction { connection: &connection, path, files, held };
            let mut last = None;
            for number in 1..=charges {
                let [dataset, caller, description] = ["people", "ada", "a count"].map(String::from);
                let (request, unit) = (number.to_string(), ["row", "user"][number as usize % 2].into());
                let (adjacency, releases) = (Adjacency::AddRemove, Releases::Once);
                let guarantee = Guarantee::Pure("1".parse().unwrap());
                let charge =
                    Box::new(Charge { dataset, request, caller, description, unit, adjacency, guarantee, releases });
                let row = Row::after(
                    last.as_ref(),
                    Event::Charged { charge, spent: Spend::NOTHING, charges: number, runs: Vec::new() },
                );
                pages.append(&row, None).unwrap();
                last = Some(row);
            }
            let budget = Budget::Unlimited;
            let dataset = Dataset { name: "people".into(), budget, terms: None };
            pages.append(&Row::after(last.as_ref(), Event::Registered(dataset)), None).unwrap();
            let newest: Vec<u64> = pages.last_charges("people").unwrap().iter().map(|row| row.number).collect();
            assert_eq!(newest, [charges - 1, charges]);
            assert_eq!(pages.last_charges("animals").unwrap(), []);
            let mut statement = pages.prepare(&format!("SELECT number FROM entry {LAST_CHARGES}")).unwrap();
            let found: Vec<i64> =
                statement.query_map(["people"], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
            assert_eq!(found.len(), 2);
            let mut all = pages.prepare(&format!("SELECT number FROM entry {REGISTRATIONS}")).unwrap();
            let registered: Vec<i64> =
                all.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
            assert_eq!(registered.len(), 1);
            (statement.get_status(StatementStatus::VmStep), all.get_status(StatementStatus::VmStep))
        };
        assert_eq!(steps(10), steps(2_000));
    }
}
