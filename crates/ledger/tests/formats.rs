//! Files in the formats of today, made by the program, must open with whatever the code becomes.
//!
//! A change of a format must raise its version and add a fixture. These stay as they are: they must still open, or be refused with a text
//! that `docs/formats.md` tells.

use std::fs;

use reticent::ledger::{ChargeOutcome, Keeper, OnInterruption};
use reticent_ledger::{Anchor, DurableLedger, Error, Event, FailureKind, Location, Suspension};
use rusqlite::Connection;
use tempfile::TempDir;

/// Dumps of ledgers that have at least one entry of each kind of their version.
const VERSION_2: &str = include_str!("fixtures/ledger-2.sql");
const VERSION_3: &str = include_str!("fixtures/ledger-3.sql");
const VERSION_4: &str = include_str!("fixtures/ledger-4.sql");

fn ledger(folder: &TempDir, dump: &str) -> (Location, Connection) {
    let path = folder.path().join("ledger.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(dump).unwrap();
    (Location::File(path), connection)
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Opened { .. } => "opened",
        Event::Registered(_) => "registered",
        Event::Limited { .. } => "limited",
        Event::Charged { .. } => "charged",
        Event::Released { .. } => "released",
        Event::Failed { .. } => "failed",
        Event::Interrupted { .. } => "interrupted",
        Event::Reopened { .. } => "reopened",
        Event::Began { .. } => "began",
        Event::Computed { .. } => "computed",
    }
}

fn kinds(ledger: &DurableLedger) -> String {
    let mut kinds = Vec::new();
    ledger.history(|entry| kinds.push(kind(&entry.event))).unwrap();
    kinds.join(" ")
}

fn spent(ledger: &DurableLedger, dataset: &str) -> String {
    ledger.account(dataset).unwrap().unwrap().spent[0].1.to_string()
}

#[test]
fn a_ledger_of_version_2_and_its_anchor_say_what_they_said() {
    let folder = tempfile::tempdir().unwrap();
    let (place, connection) = ledger(&folder, VERSION_2);
    drop(connection);
    let anchor = folder.path().join("anchor.json");
    fs::write(&anchor, include_str!("fixtures/anchor.json")).unwrap();
    let ledger = DurableLedger::open(&place).unwrap().anchored(Anchor::new(anchor));
    let Location::File(path) = &place else { unreachable!("it is a file") };
    let version = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    let version = Connection::open(path).unwrap().pragma_query_value(None, "user_version", version);
    assert_eq!(version, Ok(4), "earlier versions of the program leave it alone from now on");
    // A charge that nobody said who computes, and whose process is gone, suspends nothing.
    assert_eq!(ledger.account("/tmp/fx/visits.txt").unwrap().unwrap().suspended, None);
    let verdict = ledger.verify().unwrap();
    assert!(verdict.is_sound(), "{verdict:?}");
    let expected = "opened registered charged limited registered charged released charged failed reopened";
    assert_eq!(kinds(&ledger), expected);

    assert_eq!([spent(&ledger, "/tmp/fx/visits.txt"), spent(&ledger, "people")], ["ε = 0.25", "ε = 0.625"]);
    for (request, beginning) in [("monday", "{\"answer\":"), ("tuesday", "\"failed\"")] {
        let (charge, _) = ledger.request("people", request).unwrap().unwrap();
        let ChargeOutcome::AlreadyAnswered(text) = ledger.charge(&charge, OnInterruption::Recompute).unwrap() else {
            panic!("it was answered")
        };
        assert!(text.starts_with(beginning), "{text}");
    }
}

/// Version 3 says by which process a charge is computed, and version 4 counts interrupted runs. Friday's charge was still
/// being computed when the dumps were made.
#[test]
fn ledgers_of_versions_3_and_4_say_what_they_said() {
    let both =
        "opened registered charged limited registered charged released charged failed reopened charged failed reopened";
    let more = [
        (VERSION_3, "charged released began computed charged", 18, ["ε = 0.25", "ε = 0.625"], [0, 0]),
        (
            VERSION_4,
            "charged interrupted charged interrupted charged failed reopened began computed charged began interrupted charged",
            26,
            ["ε = 0.5", "ε = 0.875"],
            [1, 2],
        ),
    ];
    for (dump, kinds_of_version, friday, sums, interrupted) in more {
        let folder = tempfile::tempdir().unwrap();
        let (place, connection) = ledger(&folder, dump);
        drop(connection);
        let ledger = DurableLedger::open(&place).unwrap();
        let verdict = ledger.verify().unwrap();
        assert!(verdict.is_sound(), "{verdict:?}");
        assert_eq!(kinds(&ledger), format!("{both} {kinds_of_version}"));
        assert_eq!(["visits", "people"].map(|dataset| spent(&ledger, dataset)), sums);
        for (request, stored) in [
            ("monday", Some("17")),
            ("tuesday", Some("\"failed\"")),
            ("wednesday", None),
            ("thursday", None),
            ("saturday", Some("\"failed\"")),
            ("sunday", None),
        ] {
            let Some((charge, _)) = ledger.request("people", request).unwrap() else { continue };
            match (ledger.charge(&charge, OnInterruption::Abandon).unwrap(), stored) {
                (ChargeOutcome::AlreadyAnswered(text), Some(stored)) => assert_eq!(text, stored),
                (ChargeOutcome::Unfinished(_), None) => {}
                (other, _) => panic!("{request}: {other:?}"),
            }
        }
        let account = |dataset| ledger.account(dataset).unwrap().unwrap();
        assert_eq!(["visits", "people"].map(|dataset| account(dataset).interrupted), interrupted);
        assert_eq!(account("visits").suspended, None, "what was begun for its streams was computed or interrupted");
        let suspension = Suspension { entry: friday, failure: FailureKind::ProcessEnded };
        assert_eq!(account("people").suspended, Some(suspension));
        assert_eq!(ledger.reopen("people", "ada").unwrap(), Some(friday));
    }
}

#[test]
fn another_version_is_refused() {
    for version in [1, 5] {
        let folder = tempfile::tempdir().unwrap();
        let (place, connection) = ledger(&folder, VERSION_4);
        connection.pragma_update(None, "user_version", version).unwrap();
        drop(connection);
        let refused = DurableLedger::open(&place).expect_err("it is of another version");
        assert!(matches!(refused, Error::NotALedger(_)));
        assert!(refused.to_string().ends_with("is not a ledger that this version can read"), "{refused}");
    }
}
