//! Every rule of a ledger, on SQLite.

mod suite;

use std::fs;
use std::path::PathBuf;

use reticent::error::Explained;
use reticent::ledger::{Keeper, OnInterruption};
use reticent_ledger::storage::Sqlite;
use reticent_ledger::{DurableLedger, Error, Location};
use rusqlite::Connection;
use suite::kills::Blow;
use suite::{Place, ask, create, limited, open, pure, receipt};
use tempfile::TempDir;

struct File {
    folder: TempDir,
}

impl File {
    fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.sqlite")
    }
}

impl Place for File {
    fn location(&self) -> Location {
        Location::File(self.path())
    }

    fn vandalise(&self, sql: &str) {
        let connection = Connection::open(self.path()).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        // What a vandal does need not survive a crash.
        connection.pragma_update(None, "synchronous", "off").unwrap();
        connection.execute("ATTACH ?1 AS saved", [self.folder.path().join("saved.sqlite").to_str().unwrap()]).unwrap();
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {sql}; COMMIT;")).unwrap();
    }

    fn copy(&self) -> Box<dyn Place> {
        let folder = tempfile::tempdir().unwrap();
        let copy = File { folder };
        let connection = Connection::open(self.path()).unwrap();
        connection.execute("VACUUM INTO ?1", [copy.path().to_str().unwrap()]).unwrap();
        Box::new(copy)
    }
}

fn fresh() -> Box<dyn Place> {
    Box::new(File { folder: tempfile::tempdir().unwrap() })
}

suite::every_rule!(cfg(all()), fresh);

/// What the children of these tests run.
#[test]
fn worker() {
    suite::worker();
}

#[test]
fn of_100_000_charges_by_64_threads_of_2_processes_exactly_1_000_are_granted() {
    suite::crowd::exactly_what_fits_is_granted(&*fresh(), 100_000);
}

#[test]
fn without_the_lock_too_much_is_granted() {
    let place = File { folder: tempfile::tempdir().unwrap() };
    let path = place.path();
    suite::crowd::without_the_lock_too_much_is_granted(&place, || Box::new(Sqlite::open(&path).unwrap()));
}

/// 1,000 kills: 680 of single clients, and five times all 64.
#[test]
fn a_thousand_kills_lose_nothing_and_charge_nothing_twice() {
    const CLIENTS: usize = 64;
    let mut blows = vec![Blow::One; 680];
    for place in [100, 250, 400, 550, 684] {
        blows.insert(place, Blow::All);
    }
    let kills: usize = blows.iter().map(|blow| if *blow == Blow::All { CLIENTS } else { 1 }).sum();
    assert_eq!(kills, 1000);
    suite::kills::survive(&*fresh(), CLIENTS, &blows, || unreachable!("there is no server"));
}

#[test]
fn what_is_no_ledger_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let text = file("text", b"Dear diary, today I counted people all day long.\n".repeat(100).as_slice());
    let other = folder.path().join("other.sqlite");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE diary (day TEXT)").unwrap();
    for path in [text, other] {
        let before = fs::read(&path).unwrap();
        for opened in [DurableLedger::open, DurableLedger::create, DurableLedger::open_to_read] {
            let error = opened(&Location::File(path.clone())).unwrap_err();
            assert!(matches!(error, Error::NotALedger(_)), "{}: {error}", path.display());
        }
        assert_eq!(fs::read(&path).unwrap().len(), before.len());
    }
}

/// A backup that is copied over the file of an open ledger: the same file, an older whole chain, and all of its budget.
#[test]
fn an_older_copy_written_over_an_open_ledger_gives_nothing_back() {
    let place = File { folder: tempfile::tempdir().unwrap() };
    drop(create(&place));
    let ledger = open(&place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    // The last process to close a ledger, or a vandal, copies its log into the file.
    let file = || {
        Connection::open(place.path()).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        fs::read(place.path()).unwrap()
    };
    let backup = file();
    receipt(&ledger, &ask("people", "a", pure("1")));
    let whole = file();
    fs::write(place.path(), backup).unwrap();
    let older = Error::Older(3);
    assert_eq!(ledger.charge(&ask("people", "b", pure("1")), OnInterruption::Recompute).unwrap_err(), older);
    assert_eq!(ledger.account("people").unwrap_err(), older);
    assert_eq!(ledger.head().unwrap_err(), older);
    fs::write(place.path(), whole).unwrap();
    assert!(ledger.charge(&ask("people", "b", pure("1")), OnInterruption::Recompute).unwrap_err().is_overdrawn());
    assert!(ledger.verify().unwrap().is_sound());
}
