//! Ledgers whose author computed the hashes correctly, and nothing else.

use reticent::privacy::{Adjacency, Guarantee};

use super::*;
use crate::storage::{Sqlite, Storage};

const KEPT: &str = "17";

fn opened() -> Event {
    Event::Opened { ledger: "a".into() }
}

fn registered(terms: Option<Terms>) -> Event {
    let budget = Budget::Limit(Guarantee::Pure("1".parse().unwrap()));
    Event::Registered(Dataset { name: "people".into(), budget, terms })
}

fn rows() -> Terms {
    Terms { unit: "row".into(), adjacency: Adjacency::AddRemove }
}

fn charged(releases: Releases) -> Event {
    let Terms { unit, adjacency } = rows();
    let guarantee = Guarantee::Pure("0.5".parse().unwrap());
    let spent = Spend::of(&guarantee);
    let [dataset, request, caller, description] = ["people", "monday", "ada", "a count"].map(String::from);
    let charge = Charge { dataset, request, caller, description, unit, adjacency, guarantee, releases };
    Event::Charged { charge: Box::new(charge), spent, charges: 1, runs: Vec::new() }
}

/// Events, chained correctly.
fn chain(events: &[Event]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for event in events {
        rows.push(Row::after(rows.last(), event.clone()));
    }
    rows
}

/// The verdict on a ledger whose author computed the hashes correctly.
fn verdict(events: &[Event]) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = Sqlite::create(&folder.path().join("ledger.sqlite")).unwrap();
    let mut verdict = None;
    storage
        .write(&mut |pages| {
            for row in chain(events) {
                pages.append(&row, row.keys.charge.map(|_| KEPT))?;
            }
            verdict = Some(verify(pages, Vec::new(), None)?);
            Ok(())
        })
        .unwrap();
    verdict.unwrap()
}

/// The findings about rows that a storage returns in this order.
fn said_of(rows: &[Row]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut storage = Sqlite::create(&folder.path().join("ledger.sqlite")).unwrap();
    let mut walk = Walk::default();
    storage.read(&mut |pages| rows.iter().try_for_each(|row| walk.step(row, pages))).unwrap();
    told(&walk.end())
}

fn told(verdict: &Verdict) -> Vec<String> {
    verdict.findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_ledger_that_does_not_begin_with_its_opening_is_not_sound() {
    assert!(verdict(&[opened(), registered(Some(rows()))]).is_sound());
    let never_opened = verdict(&[registered(Some(rows()))]);
    assert_eq!(told(&never_opened), ["entry 1 does not open the ledger, as the first entry does"]);
    let opened_late = verdict(&[registered(Some(rows())), opened()]);
    assert_eq!((opened_late.head, opened_late.findings.len()), (None, 2));
    assert!(!Verdict { entries: 1, head: None, findings: Vec::new() }.is_sound());
}

#[test]
fn whatever_is_not_in_its_place_is_found() {
    const UNFIT: &str = "does not follow the one before it: something was changed, removed or reordered";
    let events = [opened(), registered(Some(rows())), charged(Releases::Once)];
    let chain = chain(&events);
    let said = |order: &[usize]| said_of(&order.iter().map(|&place| chain[place].clone()).collect::<Vec<_>>());
    assert_eq!(said(&[0, 1, 2]), [""; 0]);
    // A gap is told once.
    assert_eq!(said(&[0, 2])[0], "entry 2 is missing");
    assert!(!said(&[0, 2]).iter().any(|text| text.contains(UNFIT)));
    let twice = said(&[0, 0, 1, 2]);
    assert!(twice.contains(&"entry 1 occurs more than once".into()), "{twice:?}");
    assert!(twice.contains(&format!("entry 1 {UNFIT}")), "{twice:?}");
    let back = said(&[0, 1, 2, 1]);
    assert!(back.contains(&"entry 2 comes after entry 3".into()), "{back:?}");
    assert!(back.contains(&format!("entry 2 {UNFIT}")), "{back:?}");
}

#[test]
fn a_suspension_that_was_got_round_is_found() {
    let digest = Hash::of(KEPT);
    let failed = Event::Failed { dataset: "people".into(), charge: 3, digest };
    let reopened = |failure| Event::Reopened { dataset: "people".into(), failure, caller: "ada".into() };
    let start = [opened(), registered(Some(rows())), charged(Releases::Once)];
    let said = |more: &[Event]| told(&verdict(&[&start[..], more].concat()));
    assert_eq!(said(&[failed.clone(), reopened(4)]), [""; 0]);
    assert_eq!(said(&[reopened(3)]), ["entry 4 reopens people, which was not suspended by entry 3"]);
    let mut next = charged(Releases::Once);
    if let Event::Charged { charge, spent, charges, .. } = &mut next {
        charge.request = "tuesday".into();
        *spent = spent.plus(&Spend::of(&charge.guarantee));
        *charges = 2;
    }
    assert_eq!(said(&[failed, next]), ["entry 5 charges people, which is suspended"]);
    let foreign = Event::Failed { dataset: "others".into(), charge: 3, digest };
    assert_eq!(said(&[foreign]), ["entry 4 suspends others for entry 3, which charged another dataset"]);
}

/// Leaving a run out of the next charge would avoid the suspension.
#[test]
fn a_run_that_is_forgotten_is_found() {
    let run = |last| {
        serde_json::from_value::<Run>(serde_json::json!({"holder": "00000000000000ab", "first": 3, "last": last}))
    };
    let began = |request: &str, number: u64, runs: Vec<Run>| {
        let Event::Charged { mut charge, spent, .. } = charged(Releases::Once) else { unreachable!() };
        charge.request = request.into();
        let spent = (1..number).fold(spent.clone(), |sum, _| sum.plus(&spent));
        Event::Charged { charge, spent, charges: number, runs }
    };
    let start = [opened(), registered(Some(rows())), began("monday", 1, vec![run(3).unwrap()])];
    let said = |more: &[Event]| told(&verdict(&[&start[..], more].concat()));
    let kept = |charge| Event::Released { charge, digest: Hash::of(KEPT) };
    assert_eq!(said(&[began("tuesday", 2, vec![run(3).unwrap()])]), [""; 0]);
    assert_eq!(said(&[began("tuesday", 2, vec![run(4).unwrap()]), kept(3)]), [""; 0]);
    assert_eq!(said(&[kept(3), began("tuesday", 2, Vec::new())]), [""; 0]);
    let forgotten = "entry 4 forgets that what entry 3 began has no outcome";
    assert_eq!(said(&[began("tuesday", 2, Vec::new())]), [forgotten]);
    let no_stream = Event::Began { dataset: "people".into(), charge: 3, runs: Vec::new() };
    assert_eq!(said(&[no_stream]), ["entry 4 computes something for entry 3, which charged no stream of it"]);
}

/// Each would let an analyst interrupt more runs before the dataset is suspended.
#[test]
fn interrupted_runs_that_are_miscounted_are_found() {
    let digest = Hash::of(KEPT);
    let interrupted = |charge, total, recent| {
        let dataset = "people".into();
        Event::Interrupted { dataset, charge, digest, total, recent }
    };
    let again = |number: u64| {
        let Event::Charged { mut charge, spent, .. } = charged(Releases::Once) else { unreachable!() };
        charge.request = number.to_string();
        let spent = (1..number).fold(spent.clone(), |sum, _| sum.plus(&spent));
        Event::Charged { charge, spent, charges: number, runs: Vec::new() }
    };
    let start = [opened(), registered(Some(rows())), again(1), again(2)];
    let said = |more: &[Event]| told(&verdict(&[&start[..], more].concat()));
    assert_eq!(said(&[interrupted(3, 1, 1), interrupted(4, 2, 2)]), [""; 0]);
    for wrong in [(1, 2), (2, 1), (1, 1), (3, 2)] {
        let miscounted = said(&[interrupted(3, 1, 1), interrupted(4, wrong.0, wrong.1)]);
        assert_eq!(miscounted, ["entry 6 miscounts the interrupted runs of people"]);
    }
    let failed = Event::Failed { dataset: "people".into(), charge: 4, digest };
    assert_eq!(said(&[interrupted(3, 1, 1), failed]), [""; 0]);
    let foreign = Event::Interrupted { dataset: "others".into(), charge: 3, digest, total: 1, recent: 1 };
    assert_eq!(said(&[foreign]), ["entry 5 counts entry 3 for others, but it charged another dataset"]);
}

#[test]
fn a_limit_without_terms_is_found() {
    let verdict = verdict(&[opened(), registered(None)]);
    assert_eq!(told(&verdict), ["entry 2 limits people without a unit and an adjacency"]);
}

#[test]
fn a_charge_that_is_counted_wrongly_is_found() {
    let counted = |charges| {
        let Event::Charged { charge, spent, .. } = charged(Releases::Once) else { unreachable!() };
        told(&verdict(&[
            opened(),
            registered(Some(rows())),
            Event::Charged { charge, spent, charges, runs: Vec::new() },
        ]))
    };
    assert_eq!(counted(1), [""; 0]);
    for wrong in [0, 2, u64::MAX] {
        assert_eq!(counted(wrong), ["entry 3 miscounts the charges of people"]);
    }
}

#[test]
fn a_release_that_was_kept_for_a_stream_is_found() {
    let kept = Event::Released { charge: 3, digest: Hash::of(KEPT) };
    let with = |releases| told(&verdict(&[opened(), registered(Some(rows())), charged(releases), kept.clone()]));
    assert_eq!(with(Releases::Once), [""; 0]);
    assert_eq!(with(Releases::Stream), ["entry 4 keeps a release for entry 3, which charged a stream"]);
}
