//! The tables and indexes of an SQLite file, and foreign objects in it.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::pages::{SCHEMA, failure};
use crate::error::{Error, Result};

/// Everything in the file other than the ledger's own tables and indexes, and any of these that are missing or were
/// changed: a trigger or a view could change what is written or read.
pub fn foreign(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let own = Connection::open_in_memory()?;
    own.execute_batch(SCHEMA)?;
    let (own, mut found) = (objects(&own)?, objects(connection)?);
    let mut faults = Vec::new();
    for (name, definition) in own {
        match found.remove(&name) {
            Some(made) if made == definition => {}
            Some(_) => faults.push(format!("the {} {:?} was changed", name.0, name.1)),
            None => faults.push(format!("the {} {:?} is missing", name.0, name.1)),
        }
    }
    // Names are escaped for printing, since anyone may have chosen them.
    faults.extend(found.into_keys().map(|(kind, name)| format!("the {kind} {name:?} does not belong to the ledger")));
    Ok(faults)
}

/// Called before anything is written, since a trigger could undo it.
///
/// # Errors
/// [`Error::Damaged`] if there is a trigger or a view.
pub fn refuse_triggers(connection: &Connection) -> Result<()> {
    let count = || -> rusqlite::Result<i64> {
        let triggers = "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')";
        connection.prepare_cached(triggers)?.query_row([], |row| row.get(0))
    };
    match count().map_err(|error| failure("read", &error))? {
        0 => Ok(()),
        _ => Err(Error::Damaged("triggers or views were added to it".into())),
    }
}

/// The objects in a database: kind, name and definition.
fn objects(connection: &Connection) -> rusqlite::Result<BTreeMap<(String, String), Option<String>>> {
    connection
        .prepare("SELECT type, name, sql FROM sqlite_schema")?
        .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Sqlite;
    use crate::storage::Storage;

    #[test]
    fn nothing_is_written_where_a_trigger_could_undo_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let mut storage = Sqlite::create(&path).unwrap();
        storage.write(&mut |_| Ok(())).unwrap();
        let forget = "CREATE TRIGGER forget AFTER INSERT ON entry BEGIN DELETE FROM entry; END";
        Connection::open(&path).unwrap().execute_batch(forget).unwrap();
        let refused = storage.write(&mut |_| panic!("it is written"));
        assert!(matches!(refused, Err(Error::Damaged(_))), "{refused:?}");
    }

    #[test]
    fn whatever_does_not_belong_to_a_ledger_is_a_fault() {
        let faults_after = |sql: &str| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("ledger.sqlite");
            drop(Sqlite::create(&path).unwrap());
            Connection::open(&path).unwrap().execute_batch(sql).unwrap();
            Sqlite::open(&path).unwrap().faults().unwrap()
        };
        assert_eq!(faults_after(""), [""; 0]);
        let put_there = [
            (
                "CREATE TRIGGER forget AFTER INSERT ON entry BEGIN DELETE FROM release; END",
                "the trigger \"forget\" does not belong to the ledger",
            ),
            (
                "CREATE VIEW newest AS SELECT max(number) FROM entry",
                "the view \"newest\" does not belong to the ledger",
            ),
            ("CREATE TABLE diary (day TEXT)", "the table \"diary\" does not belong to the ledger"),
            ("CREATE INDEX by_body ON entry (body)", "the index \"by_body\" does not belong to the ledger"),
            ("DROP INDEX entry_request", "the index \"entry_request\" is missing"),
            (
                "DROP INDEX entry_request; CREATE INDEX entry_request ON entry (dataset, request)",
                "the index \"entry_request\" was changed",
            ),
        ];
        for (sql, fault) in put_there {
            assert_eq!(faults_after(sql), [fault], "{sql}");
        }
    }
}
