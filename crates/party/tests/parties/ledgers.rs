//! Charges come first, and attempts are never used twice.

use std::fs;
use std::sync::{Arc, Mutex};

use reticent::error::Explained;
use reticent::ledger::{Charge, Keeper, OnInterruption, Releases};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_party::message::Kind;
use reticent_party::{Error, Reason, Result, State, Statistic, Task};

use crate::clock::Clock;
use crate::village::{Numbers, Plan, Village, abort, epsilon};
use crate::wires::{Fate, Record, Wire, has, kind};

/// Charges all of a party's remaining budget to something else.
fn spend(village: &Village, place: usize) {
    let charge = Charge {
        dataset: "visits".into(),
        request: "something else".into(),
        caller: "somebody else".into(),
        description: "something else".into(),
        unit: "row".into(),
        adjacency: Adjacency::AddRemove,
        guarantee: Guarantee::Pure("1".parse().unwrap()),
        releases: Releases::Once,
    };
    village.ledgers[place].charge(&charge, OnInterruption::Recompute).unwrap();
}

#[test]
fn a_party_without_budget_does_not_even_come() {
    let village = Village::new(Plan { budget: epsilon("1"), ..Plan::default() });
    spend(&village, 1);
    let clock = Arc::new(Clock::new(village.parties(), &[1]));
    let results = village.all(|place| village.run_over(place, &village.task, |mesh| clock.of(place, mesh)));
    for (place, result) in results.into_iter().enumerate() {
        if place == 1 {
            assert!(result.unwrap_err().is_overdrawn());
            assert!(State::open(&village.state_directory(place)).unwrap().next(village.task.hash()).unwrap() == 1);
        } else {
            let abort = abort(result);
            assert_eq!((abort.reason, abort.culprit.as_deref()), (Reason::Vanished, Some("p1")));
            assert!(!abort.charged && village.charges(place) == 0);
        }
    }
}

/// The budget runs out between the check and the charge: all stop before anyone has contributed.
#[test]
fn a_charge_that_is_refused_ends_it_for_all_before_anything_is_sent() {
    let village = Village::new(Plan { parties: 4, budget: epsilon("1"), ..Plan::default() });
    let records: Vec<Record> = (0..village.parties()).map(|_| Record::default()).collect();
    let results = village.all(|place| {
        village.run_over(place, &village.task, |mesh| {
            Wire::new(mesh, &records[place], |to, frame: &[u8]| {
                if place == 1 && to == 0 && kind(frame) == Some(Kind::Hello) {
                    spend(&village, place);
                }
                Fate::Sent
            })
        })
    });
    for (place, result) in results.into_iter().enumerate() {
        assert!(!has(&records[place], Kind::Contribution));
        if place == 1 {
            assert!(result.unwrap_err().is_overdrawn());
        } else {
            let abort = abort(result);
            assert_eq!((abort.reason, abort.culprit.as_deref()), (Reason::Withdrew, Some("p1")), "{abort}");
            assert!(!abort.contributed);
            assert_eq!(abort.charged, village.charges(place) == 1, "{abort}");
        }
    }
}

/// Rows are read once this party's charge is durable, and all have said that theirs is, too.
#[test]
fn the_statistic_is_asked_for_when_everybody_has_charged() {
    struct Witness<'village>(&'village Village, usize, &'village Mutex<Vec<u64>>);
    impl Statistic for Witness<'_> {
        fn check(&self, _: &Task) -> Result<()> {
            Ok(())
        }

        fn exact(&mut self, _: &Task, _: [u8; 32]) -> Result<Vec<i64>, String> {
            let village = self.0;
            let charges = (0..village.parties()).map(|place| village.charges(place));
            self.2.lock().unwrap().extend(charges);
            let Numbers(numbers) = village.numbers(self.1);
            Ok(numbers)
        }
    }
    let village = Village::new(Plan::default());
    let seen = Mutex::new(Vec::new());
    let results = village.all(|place| {
        let mut witness = Witness(&village, place, &seen);
        village.with(place, |party| party.run(village.listener(place), &mut witness))
    });
    village.check(results);
    assert_eq!(seen.into_inner().unwrap(), vec![1; 9]);
}

#[test]
fn every_attempt_is_charged_until_nothing_is_left() {
    let village = Village::new(Plan { budget: epsilon("2"), ..Plan::default() });
    let vanish = |village: &Village| {
        let clock = Arc::new(Clock::new(village.parties(), &[]));
        let results = village.all(|place| {
            village.run_over(place, &village.task, |mesh| {
                let record = Record::default();
                Wire::new(clock.of(place, mesh), &record, |_, frame: &[u8]| {
                    let dies = place == 1 && kind(frame) == Some(Kind::Contribution);
                    if dies { Fate::Death } else { Fate::Sent }
                })
            })
        });
        results.into_iter().map(Result::unwrap_err).collect::<Vec<_>>()
    };
    for attempt in 1..=2 {
        assert!(vanish(&village).iter().all(|error| error.abort().is_some_and(|abort| abort.charged)));
        for place in 0..village.parties() {
            assert_eq!(village.spent(place).to_string(), format!("ε = {attempt}"));
        }
    }
    assert!(village.all(|place| village.run(place)).into_iter().all(|result| result.unwrap_err().is_overdrawn()));
}

/// If the state directory is lost, the ledger still knows.
#[test]
fn an_attempt_that_was_charged_is_not_drawn_again_even_if_the_state_is_lost() {
    let village = Village::new(Plan::default());
    village.check(village.all(|place| village.run(place)));
    for place in 0..village.parties() {
        fs::remove_dir_all(village.state_directory(place)).unwrap();
    }
    let results = village.all(|place| village.run(place));
    for (place, result) in results.into_iter().enumerate() {
        match result.unwrap_err() {
            Error::AttemptCharged { attempt, .. } => assert_eq!(attempt, 1),
            Error::Aborted(abort) => assert_eq!(abort.reason, Reason::Withdrew),
            other => panic!("{other}"),
        }
        assert_eq!(village.charges(place), 1);
    }
    let outcomes = village.check(village.all(|place| village.run(place)));
    assert_eq!(outcomes[0].transcript.attempt, 2);
}

/// Attempts that parties used without each other are not repeated.
#[test]
fn the_largest_proposal_is_taken() {
    let village = Village::new(Plan::default());
    let hash = village.task.hash();
    State::open(&village.state_directory(1)).unwrap().mark_used(hash, 6).unwrap();
    let outcomes = village.check(village.all(|place| village.run(place)));
    assert_eq!(outcomes[0].transcript.attempt, 7);
    for place in 0..village.parties() {
        assert_eq!(State::open(&village.state_directory(place)).unwrap().next(hash).unwrap(), 8);
    }
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_used() {
    let village = Village::new(Plan::default());
    let next = |place: usize| State::open(&village.state_directory(place)).unwrap().next(village.task.hash()).unwrap();
    let taken = village.folder.path().join("taken.json");
    fs::write(&taken, "").unwrap();
    for (field, why) in [
        ("place", "the private key is that of"),
        ("dataset", "no dataset visists"),
        ("transcript", "never overwritten"),
    ] {
        let error = village.with(0, |party| {
            let mut party = party.clone();
            match field {
                "place" => party.place = 1,
                "dataset" => party.dataset = "visists",
                _ => party.transcript = Some(taken.clone()),
            }
            party.check().unwrap_err()
        });
        assert!(error.is_usage() && error.to_string().contains(why), "{error}");
    }
    assert_eq!((next(0), village.charges(0)), (1, 0));
}
