//! One party violates the protocol: all others abort, for the right reason, and have sent nothing too early.

use std::sync::{Arc, Mutex};

use reticent_party::message::{Content, Kind, Message, Shape};
use reticent_party::{Error, Outcome, Reason, Result, Task};

use crate::clock::Clock;
use crate::village::{Plan, Village, abort};
use crate::wires::{Fate, Overtaken, Record, Wire, has, honest, kind};

/// The index of the dishonest party; neither the first nor the last.
const ROGUE: usize = 1;

/// Runs all parties; the rogue's frames have fates. Returns the results, and what each party sent.
fn with_rogue(village: &Village, fate: impl FnMut(usize, &[u8]) -> Fate + Send) -> (Vec<Result<Outcome>>, Vec<Record>) {
    with_rogue_of(village, &village.task, fate)
}

/// The same with the rogue's own task.
fn with_rogue_of(
    village: &Village,
    task: &Task,
    fate: impl FnMut(usize, &[u8]) -> Fate + Send,
) -> (Vec<Result<Outcome>>, Vec<Record>) {
    let records: Vec<Record> = (0..village.parties()).map(|_| Record::default()).collect();
    let (fate, clock) = (Mutex::new(Some(fate)), Arc::new(Clock::new(village.parties(), &[])));
    let results = village.all(|place| {
        let record = &records[place];
        if place == ROGUE {
            // A party that meets the rogue before it has met the others cannot tell them anything.
            clock.until_all_wait_for(ROGUE);
            let fate = fate.lock().unwrap().take().unwrap();
            village.run_over(place, task, |mesh| Wire::new(clock.of(place, mesh), record, fate))
        } else {
            village.run_over(place, &village.task, |mesh| Wire::new(clock.of(place, mesh), record, honest))
        }
    });
    (results, records)
}

/// All honest parties abort and name the rogue, one of them for this reason; and if the fault came before the
/// contributions, none of them contributed.
fn all_abort(village: &Village, results: Vec<Result<Outcome>>, records: &[Record], reason: Reason, fault: Kind) {
    let mut reasons = Vec::new();
    for (place, result) in results.into_iter().enumerate() {
        // The rogue may have a result: it heard everyone.
        if place == ROGUE {
            continue;
        }
        let abort = abort(result);
        assert_eq!(abort.charged, village.charges(place) == 1, "{abort}");
        assert_eq!(abort.contributed, has(&records[place], Kind::Contribution), "{abort}");
        if fault < Kind::Contribution {
            assert!(!abort.contributed, "{abort}");
        }
        if fault == Kind::Hello {
            assert!(!has(&records[place], Kind::Seal));
        }
        assert!(has(&records[place], Kind::Abort), "it tells the others");
        // Of two parties that heard different messages neither knows which one is the rogue's doing.
        if reason != Reason::Equivocated {
            assert_eq!(abort.culprit.as_deref(), Some("p1"), "{abort}");
        }
        reasons.push(abort);
    }
    assert!(reasons.iter().any(|abort| abort.reason == reason), "{reasons:?}");
    // No party is told anything but what another one detected.
    let found: Vec<_> = reasons.iter().filter(|abort| abort.told_by.is_none()).map(|abort| abort.reason).collect();
    assert!(reasons.iter().all(|abort| found.contains(&abort.reason) || abort.told_by == Some("p1".into())));
}

/// The rogue alone is named, even by a party that it has spoken to and that misses others who are waiting for it.
#[test]
fn one_that_vanishes_in_any_round() {
    std::thread::scope(|scope| {
        for fault in Kind::ROUNDS {
            scope.spawn(move || {
                let village = Village::new(Plan { parties: 4, ..Plan::default() });
                // It may have reached the first party before it died; a party that hears that all are ready, or have
                // sealed, may go on.
                let spares_first = fault == Kind::Hello || fault == Kind::Contribution;
                let (results, records) = with_rogue(&village, |to, frame| {
                    let dies = kind(frame) == Some(fault) && !(to == 0 && spares_first);
                    if dies { Fate::Death } else { Fate::Sent }
                });
                for (place, result) in results.iter().enumerate().filter(|(place, _)| *place != ROGUE) {
                    let abort = result.as_ref().unwrap_err().abort().unwrap();
                    assert_eq!((abort.reason, abort.culprit.as_deref()), (Reason::Vanished, Some("p1")), "{place}");
                    // Those that received all hellos have charged.
                    if fault > Kind::Hello {
                        assert!(abort.charged, "{abort}");
                    }
                }
                all_abort(&village, results, &records, Reason::Vanished, fault);
            });
        }
    });
}

/// Some may have received the last message and others not; but all who have a result have the same one.
#[test]
fn one_that_seals_for_one_party_only_and_vanishes() {
    let village = Village::new(Plan { parties: 4, ..Plan::default() });
    let (results, _) = with_rogue(&village, |to, frame| match kind(frame) {
        Some(Kind::Seal) if to != 0 => Fate::Instead(vec![]),
        Some(Kind::Done) => Fate::Death,
        _ => Fate::Sent,
    });
    assert!(results[0].is_ok());
    for place in [2, 3] {
        assert_eq!(results[place].as_ref().unwrap_err().abort().unwrap().reason, Reason::Vanished);
        assert_eq!(village.charges(place), 1);
    }
}

#[test]
fn one_that_has_another_task() {
    let village = Village::new(Plan { parties: 4, ..Plan::default() });
    let mut draft = reticent_party::Draft::from(village.task.clone());
    draft.epsilon = reticent_party::task::Number::Text("0.9".into());
    let other = reticent_party::Task::new(draft).unwrap();
    let (results, records) = with_rogue_of(&village, &other, honest);
    for result in &results {
        let abort = result.as_ref().unwrap_err().abort().unwrap();
        assert_eq!(abort.reason, Reason::OtherTask);
        assert!(!abort.charged && !abort.contributed);
    }
    all_abort(&village, results, &records, Reason::OtherTask, Kind::Hello);
}

#[test]
fn one_that_replays_what_it_said_in_an_earlier_attempt() {
    for fault in [Kind::Ready, Kind::Contribution, Kind::Seal] {
        let village = Village::new(Plan::default());
        let (results, records) = with_rogue(&village, honest);
        village.check(results);
        let old =
            records[ROGUE].lock().unwrap().iter().find(|(_, frame)| kind(frame) == Some(fault)).unwrap().1.clone();
        let (results, _) = with_rogue(&village, |_, frame| {
            if kind(frame) == Some(fault) { Fate::Instead(vec![old.clone()]) } else { Fate::Sent }
        });
        for (place, result) in results.into_iter().enumerate().filter(|(place, _)| *place != ROGUE) {
            let abort = abort(result);
            assert_eq!(abort.reason, Reason::Replayed, "{abort}");
            // A party that hears of it early has not charged for this attempt yet.
            assert!(abort.charged || fault == Kind::Ready, "{abort}");
            assert_eq!(village.charges(place), 1 + u64::from(abort.charged), "{abort}");
        }
    }
}

#[test]
fn one_that_repeats_what_another_said() {
    let village = Village::new(Plan::default());
    let (results, records) = with_rogue(&village, honest);
    village.check(results);
    let foreign =
        records[0].lock().unwrap().iter().find(|(_, frame)| kind(frame) == Some(Kind::Hello)).unwrap().1.clone();
    let village_again = &village;
    let (results, _) = with_rogue(village_again, move |_, frame| {
        if kind(frame) == Some(Kind::Hello) { Fate::Instead(vec![foreign.clone()]) } else { Fate::Sent }
    });
    for (_, result) in results.into_iter().enumerate().filter(|(place, _)| *place != ROGUE) {
        assert_eq!(abort(result).reason, Reason::Malformed);
    }
}

/// What happens to a frame.
type Change = fn(&[u8]) -> Vec<u8>;

#[test]
fn one_that_says_what_is_no_message() {
    for fault in Kind::ROUNDS {
        let changes: [Change; 4] = [
            |frame| frame[..frame.len() - 1].to_vec(),
            |frame| [frame, &[0]].concat(),
            |_| b"hello?".to_vec(),
            |frame| {
                let mut changed = frame.to_vec();
                changed[20] ^= 1;
                changed
            },
        ];
        for change in changes {
            let village = Village::new(Plan::default());
            let (results, records) = with_rogue(&village, |_, frame| {
                if kind(frame) == Some(fault) { Fate::Instead(vec![change(frame)]) } else { Fate::Sent }
            });
            all_abort(&village, results, &records, Reason::Malformed, fault);
        }
    }
}

#[test]
fn one_that_speaks_out_of_turn() {
    let village = Village::new(Plan::default());
    let (task, key) = (village.task.hash(), &village.keys[ROGUE]);
    let early = |frame: &[u8]| {
        let shape = Shape { parties: village.parties(), cells: village.task.cells().len() };
        let (hello, _) = Message::open(frame, &key.public(), ROGUE as u16, task, shape).unwrap();
        Message { content: Content::Contribution { words: vec![0; shape.cells] }, ..hello }.sign(key)
    };
    let (results, records) = with_rogue(&village, |_, frame| {
        if kind(frame) == Some(Kind::Hello) { Fate::Instead(vec![frame.to_vec(), early(frame)]) } else { Fate::Sent }
    });
    all_abort(&village, results, &records, Reason::Malformed, Kind::Hello);
}

#[test]
fn one_that_sends_more_than_any_message_takes() {
    for fault in Kind::ROUNDS {
        let village = Village::new(Plan::default());
        let (results, records) = with_rogue(&village, |_, frame| {
            if kind(frame) == Some(fault) { Fate::Instead(vec![vec![1; 1 << 20]]) } else { Fate::Sent }
        });
        all_abort(&village, results, &records, Reason::Oversized, fault);
    }
}

/// It signs both versions; no party by itself finds anything wrong with what it receives.
#[test]
fn one_that_says_different_things_to_different_parties() {
    for fault in [Kind::Hello, Kind::Contribution] {
        let village = Village::new(Plan { parties: 4, ..Plan::default() });
        let (task, key) = (village.task.hash(), &village.keys[ROGUE]);
        let shape = Shape { parties: village.parties(), cells: village.task.cells().len() };
        let (results, records) = with_rogue(&village, |to, frame| {
            if kind(frame) != Some(fault) || to != 0 {
                return Fate::Sent;
            }
            let (mut message, _) = Message::open(frame, &key.public(), ROGUE as u16, task, shape).unwrap();
            match &mut message.content {
                // A key that only the third party will need: the first has no other way to notice.
                Content::Hello { keys } => keys[2].0[0] ^= 1,
                Content::Contribution { words } => words[0] ^= 1,
                _ => unreachable!("one of the two"),
            }
            Fate::Instead(vec![message.sign(key)])
        });
        all_abort(&village, results, &records, Reason::Equivocated, fault);
    }
}

#[test]
fn one_that_says_two_things_to_one_party() {
    let village = Village::new(Plan::default());
    let (task, key) = (village.task.hash(), &village.keys[ROGUE]);
    let shape = Shape { parties: village.parties(), cells: village.task.cells().len() };
    let (results, records) = with_rogue(&village, |_, frame| {
        if kind(frame) != Some(Kind::Contribution) {
            return Fate::Sent;
        }
        let (mut message, _) = Message::open(frame, &key.public(), ROGUE as u16, task, shape).unwrap();
        message.content = Content::Contribution { words: vec![7; shape.cells] };
        Fate::Instead(vec![message.sign(key), frame.to_vec()])
    });
    all_abort(&village, results, &records, Reason::Equivocated, Kind::Contribution);
}

/// The others hear it from the party that it happened to, and say so; even if one that passes it on is faster.
#[test]
fn a_statistic_that_cannot_be_computed_ends_it_for_all() {
    struct Broken;
    impl reticent_party::Statistic for Broken {
        fn check(&self, _: &Task) -> Result<()> {
            Ok(())
        }

        fn exact(&mut self, _: &reticent_party::Task, _: [u8; 32]) -> Result<Vec<i64>, String> {
            Err("the table could not be read".into())
        }
    }
    let village = Village::new(Plan::default());
    let results = village.all(|place| match place {
        0 => village.run_over(place, &village.task, |mesh| Overtaken::new(mesh, ROGUE)),
        ROGUE => village.with(place, |party| party.run(village.listener(place), &mut Broken)),
        _ => village.run(place),
    });
    for (place, result) in results.into_iter().enumerate() {
        assert_eq!(village.charges(place), 1);
        match (place == ROGUE, result) {
            (true, Err(Error::Statistic(text))) => assert_eq!(text, "the table could not be read"),
            (false, result) => {
                let abort = abort(result);
                let named = (abort.culprit.as_deref(), abort.told_by.as_deref());
                assert_eq!((abort.reason, named), (Reason::Withdrew, (Some("p1"), Some("p1"))), "{abort}");
            }
            (true, other) => panic!("{other:?}"),
        }
    }
}
