//! Everyone follows the protocol.

use std::sync::{Condvar, Mutex};

use reticent::error::Explained;
use reticent::ledger::Accounting;
use reticent_party::{Error, simulate};

use crate::village::{Plan, Village};

#[test]
fn three_and_five_parties_come_to_the_same_result() {
    for (parties, protocol) in [
        (3, "protocol = \"masked\"\ncolluders = 1"),
        (5, "protocol = \"masked\"\ncolluders = 0"),
        (3, "protocol = \"broadcast\""),
        (1, "protocol = \"broadcast\""),
    ] {
        let village = Village::new(Plan { parties, protocol, ..Plan::default() });
        let outcomes = village.check(village.all(|place| village.run(place)));
        for (place, outcome) in outcomes.iter().enumerate() {
            assert_eq!(village.charges(place), 1);
            let Accounting::Charged(receipt) = outcome.release.accounting() else { panic!("it was charged") };
            assert_eq!(receipt.request, format!("party/{}/1/p{place}", village.task.hash()));
        }
    }
}

#[test]
fn twenty_parties_with_a_hundred_cells() {
    let plan = Plan { parties: 20, protocol: "protocol = \"masked\"\ncolluders = 5", cells: 100, ..Plan::default() };
    let village = Village::new(plan);
    village.check(village.all(|place| village.run(place)));
}

/// Each starts when the previous one, in this order, is waiting for others.
#[test]
fn parties_start_in_any_order() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let village = Village::new(Plan { parties: 4, ..Plan::default() });
        let (turn, next) = (Mutex::new(0), Condvar::new());
        let outcomes = village.all(|place| {
            let mine = order.iter().position(|&one| one == place).unwrap();
            let mut turns = turn.lock().unwrap();
            while *turns < mine {
                turns = next.wait(turns).unwrap();
            }
            drop(turns);
            let record = crate::wires::Record::default();
            village.run_over(place, &village.task, |mesh| {
                crate::wires::Wire::new(mesh, &record, |_, _: &[u8]| {
                    // It has sent something, so it is there.
                    let mut turns = turn.lock().unwrap();
                    *turns = (*turns).max(mine + 1);
                    next.notify_all();
                    crate::wires::Fate::Sent
                })
            })
        });
        village.check(outcomes);
    }
}

#[test]
fn the_masked_words_of_one_party_say_nothing_and_those_of_broadcast_are_near_its_numbers() {
    for (protocol, is_masked) in [("protocol = \"masked\"\ncolluders = 1", true), ("protocol = \"broadcast\"", false)] {
        let village = Village::new(Plan { protocol, cells: 50, ..Plan::default() });
        let outcomes = village.check(village.all(|place| village.run(place)));
        for (place, said) in outcomes[0].transcript.contribution.iter().enumerate() {
            let numbers = village.numbers(place).0;
            let near = |(word, number): (&u64, &i64)| word.cast_signed().abs_diff(*number) < 1000;
            let near = said.words.iter().zip(&numbers).filter(|&pair| near(pair)).count();
            // A uniform word is this close with probability 2^-53.
            assert_eq!(near, if is_masked { 0 } else { numbers.len() });
        }
    }
}

#[test]
fn another_attempt_has_other_masks_and_is_charged_again() {
    let village = Village::new(Plan::default());
    let first = village.check(village.all(|place| village.run(place)));
    let second = village.check(village.all(|place| village.run(place)));
    assert_eq!((first[0].transcript.attempt, second[0].transcript.attempt), (1, 2));
    for place in 0..village.parties() {
        assert_eq!(village.charges(place), 2);
        let words = |outcome: &reticent_party::Outcome| outcome.transcript.contribution[place].words.clone();
        let (before, after) = (words(&first[0]), words(&second[0]));
        // Under the same masks the two would differ only by noise.
        assert!(before.iter().zip(&after).all(|(one, other)| one.abs_diff(*other) > 1000));
    }
}

#[test]
fn a_simulation_goes_through_the_same_rounds() {
    let village = Village::new(Plan { parties: 5, ..Plan::default() });
    let numbers = |count: usize| (0..count).map(|place| village.numbers(place)).collect();
    let simulated = simulate(&village.task, numbers(5)).unwrap();
    let verdict = simulated.transcript.verify(None);
    assert!(verdict.is_sound(), "{:?}", verdict.findings);
    assert!(!simulated.transcript.verify(Some(&village.task)).is_sound(), "its keys are others");
    assert_eq!(*simulated.release.accounting(), Accounting::Unaccounted);
    assert!(simulated.release.value().iter().zip(village.sums()).all(|(value, sum)| (value - sum).abs() < 1000));
    assert!(simulate(&village.task, numbers(4)).unwrap_err().is_usage());
    let mut wrong: Vec<_> = numbers(5);
    wrong[3].0.pop();
    // The error returned is the party's own, not the others' aborts.
    assert!(matches!(simulate(&village.task, wrong), Err(Error::Core(_))));
}
