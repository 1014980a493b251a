//! A limit that is set after charges were made without one.

use std::ops::ControlFlow;

use reticent::error::Explained;
use reticent::ledger::{Charge, ChargeOutcome, Keeper, OnInterruption};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::storage::{Sqlite, Storage};
use reticent_ledger::{
    Budget, Dataset, DurableLedger, Error, Event, Location, Record, Registration, Row, Spend, Terms, Verdict,
};
use tempfile::TempDir;

fn new() -> (TempDir, Location, DurableLedger) {
    let folder = tempfile::tempdir().unwrap();
    let place = Location::File(folder.path().join("ledger.sqlite"));
    let ledger = DurableLedger::create(&place).unwrap();
    (folder, place, ledger)
}

fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

fn zcdp(rho: &str) -> Guarantee {
    Guarantee::Zcdp(rho.parse().unwrap())
}

fn terms(unit: &str) -> Terms {
    Terms { unit: unit.into(), adjacency: Adjacency::AddRemove }
}

fn unlimited() -> Dataset {
    Dataset { name: "visits".into(), budget: Budget::Unlimited, terms: None }
}

fn limited(limit: Guarantee, unit: &str) -> Dataset {
    Dataset { name: "visits".into(), budget: Budget::Limit(limit), terms: Some(terms(unit)) }
}

fn charge(ledger: &DurableLedger, request: &str, unit: &str, guarantee: Guarantee) -> Result<u64, Error> {
    let charge = Charge::new("visits", request, guarantee)
        .caller("ada")
        .description("visits a day")
        .unit(unit, Adjacency::AddRemove);
    ledger.charge(&charge, OnInterruption::Recompute).map(|charged| match charged {
        ChargeOutcome::New(permit) => match permit.accounting() {
            reticent::ledger::Accounting::Charged(receipt) => receipt.entry,
            reticent::ledger::Accounting::Unaccounted => panic!("it was charged"),
        },
        ChargeOutcome::Unfinished(_) | ChargeOutcome::AlreadyAnswered(_) => panic!("it was charged once"),
    })
}

fn verify(place: &Location) -> Verdict {
    DurableLedger::open(place).unwrap().verify().unwrap()
}

#[test]
fn a_limit_counts_what_was_charged_before_it() {
    let (_folder, place, ledger) = new();
    assert_eq!(ledger.register(&unlimited()).unwrap(), Registration::New);
    charge(&ledger, "r1", "event", pure("0.5")).unwrap();
    charge(&ledger, "r2", "step", pure("7")).unwrap();
    charge(&ledger, "r3", "event", pure("0.25")).unwrap();

    let limit = limited(pure("1"), "event");
    let spent = Spend::of(&pure("0.75"));
    assert_eq!(ledger.register(&limit).unwrap(), Registration::Limited { spent: spent.clone() });
    assert_eq!(ledger.register(&limit).unwrap(), Registration::Unchanged);
    let account = ledger.account("visits").unwrap().unwrap();
    assert_eq!(account.dataset, limit);
    assert_eq!(account.charges, 3);
    // The limit's own terms first, what was charged under others after it.
    assert_eq!(account.spent, [(terms("event"), spent), (terms("step"), Spend::of(&pure("7")))]);

    assert!(charge(&ledger, "r4", "event", pure("0.26")).unwrap_err().is_overdrawn());
    assert!(matches!(charge(&ledger, "r4", "step", pure("0.1")), Err(Error::OtherUnit { .. })));
    charge(&ledger, "r4", "event", pure("0.25")).unwrap();
    assert!(charge(&ledger, "r5", "event", pure("1e-9")).unwrap_err().is_overdrawn());
    assert!(verify(&place).is_sound(), "{:?}", verify(&place));
}

#[test]
fn a_limit_is_fixed() {
    let (_folder, place, ledger) = new();
    ledger.register(&unlimited()).unwrap();
    ledger.register(&limited(pure("1"), "event")).unwrap();
    for other in [limited(pure("2"), "event"), limited(pure("1"), "row"), limited(zcdp("1"), "event"), unlimited()] {
        assert!(matches!(ledger.register(&other), Err(Error::DatasetExists(_))), "{other:?}");
    }
    assert_eq!(verify(&place).entries, 3);
}

#[test]
fn a_limit_that_comes_too_late_changes_nothing() {
    let (_folder, place, ledger) = new();
    ledger.register(&unlimited()).unwrap();
    charge(&ledger, "r1", "event", pure("0.5")).unwrap();
    assert!(matches!(ledger.register(&limited(pure("0.4"), "event")), Err(Error::AlreadySpent { .. })));
    charge(&ledger, "r2", "event", zcdp("0.5")).unwrap();
    assert!(matches!(ledger.register(&limited(pure("9"), "event")), Err(Error::Uncountable { .. })));
    assert_eq!(ledger.account("visits").unwrap().unwrap().dataset, unlimited());
    // ε²/2 of the pure one.
    let spent = Spend::of(&zcdp("0.625"));
    assert_eq!(ledger.register(&limited(zcdp("1"), "event")).unwrap(), Registration::Limited { spent });
    assert!(verify(&place).is_sound(), "{:?}", verify(&place));
}

#[test]
fn a_limit_that_could_not_be_read_back_is_refused() {
    let (_folder, place, ledger) = new();
    let long = pure(&format!("1/{}", "3".repeat(2500)));
    let refused = |dataset: &Dataset| {
        let error = ledger.register(dataset).unwrap_err();
        assert!(matches!(error, Error::Unusable { what: "a number of the guarantee", .. }), "{error}");
    };
    refused(&limited(long.clone(), "event"));
    ledger.register(&unlimited()).unwrap();
    refused(&limited(long, "event"));
    assert_eq!(verify(&place).entries, 2);
}

/// An attacker with the file and this code adds an entry with a correct hash.
fn forge(place: &Location, event: Event) {
    let Location::File(path) = place else { panic!("a file") };
    let mut storage = Sqlite::open(path).unwrap();
    storage
        .write(&mut |pages| {
            let last = pages.last()?;
            pages.append(&Row::after(last.as_ref(), event.clone()), None)
        })
        .unwrap();
}

#[test]
fn verification_finds_a_limit_that_forgets_the_past() {
    let forged = |limit: Dataset, spent: &Guarantee| {
        let (_folder, place, ledger) = new();
        ledger.register(&unlimited()).unwrap();
        charge(&ledger, "r1", "event", pure("0.5")).unwrap();
        drop(ledger);
        forge(
            &place,
            Event::Limited { dataset: Box::new(limit), spent: Spend::of(spent), charges: 1, runs: Vec::new() },
        );
        verify(&place).findings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(forged(limited(pure("1"), "event"), &pure("0.5")).is_empty());
    assert_eq!(forged(limited(pure("1"), "event"), &pure("0.4")), ["entry 4 does not count what was spent before"]);
    assert_eq!(
        forged(limited(pure("0.4"), "event"), &pure("0.1")),
        ["entry 4 sets a limit that visits had already exceeded"]
    );
    assert_eq!(forged(unlimited(), &pure("0.5")).len(), 1);
    let other = Dataset { name: "clicks".into(), ..limited(pure("1"), "event") };
    assert_eq!(forged(other, &pure("0.5")), ["entry 4 limits clicks, which was not registered before"]);
}

#[test]
fn verification_finds_a_limit_that_was_raised() {
    let (_folder, place, ledger) = new();
    ledger.register(&limited(pure("1"), "event")).unwrap();
    charge(&ledger, "r1", "event", pure("1")).unwrap();
    drop(ledger);
    let spent = Spend::of(&pure("1"));
    forge(
        &place,
        Event::Limited { dataset: Box::new(limited(pure("9"), "event")), spent, charges: 1, runs: Vec::new() },
    );
    let findings = verify(&place).findings;
    assert_eq!(findings[0].to_string(), "entry 4 limits visits, whose limit was already fixed");
    // And it cannot be spent.
    let ledger = DurableLedger::open(&place).unwrap();
    assert!(charge(&ledger, "r2", "event", pure("1")).unwrap_err().is_overdrawn());
}

#[test]
fn records_know_their_dataset_and_stop_when_told() {
    let (_folder, _place, ledger) = new();
    ledger.register(&unlimited()).unwrap();
    let entry = charge(&ledger, "r1", "event", pure("0.5")).unwrap();
    // More than are read at a time, so that the charge is far from its release.
    for number in 0..1100 {
        charge(&ledger, &format!("more-{number}"), "event", pure("0.5")).unwrap();
    }
    let receipt = reticent::ledger::Receipt { dataset: "visits".into(), request: "r1".into(), entry };
    ledger.keep(&receipt, "42").unwrap();
    let mut records: Vec<Record> = Vec::new();
    let collect = |record, records: &mut Vec<Record>| {
        records.push(record);
        ControlFlow::Continue(())
    };
    ledger.records(0, |record| collect(record, &mut records)).unwrap();
    assert_eq!(records.len(), 1104);
    assert!(records.windows(2).all(|pair| pair[1].entry.previous == pair[0].hash));
    let released = records.last().unwrap();
    assert_eq!((released.dataset.as_deref(), released.request.as_deref()), (Some("visits"), Some("r1")));
    assert_eq!(ledger.head().unwrap().hash, released.hash);

    let mut seen = 0;
    let stop = |_| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    ledger.records(1000, stop).unwrap();
    assert_eq!(seen, 3);
}
