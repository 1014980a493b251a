//! Mutated messages and transcripts: every change is detected, and nothing panics.

use std::sync::Mutex;

use reticent_party::Transcript;
use reticent_party::message::Kind;
use reticent_party::transport::Memory;
use serde_json::Value;

use crate::village::{Plan, Village};
use crate::wires::{Fate, Record, Wire, has, kind};

/// The number of runs, each with one change.
const RUNS: u64 = 60;
/// The number of single bytes of a transcript that are changed.
const CHANGES: usize = 400;

/// A small pseudorandom generator with a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        // Knuth's constants (MMIX); the upper half is good enough for choices.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// One change to a frame. Earlier frames of the same party are available to be repeated.
fn change(numbers: &mut Numbers, frame: &[u8], earlier: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut changed = frame.to_vec();
    match numbers.below(6) {
        0 => changed.truncate(numbers.below(frame.len())),
        1 => changed[numbers.below(frame.len())] ^= 1 << numbers.below(8),
        2 => changed.extend((0..=numbers.below(64)).map(|_| 0)),
        3 => {
            let (start, other) = (numbers.below(frame.len()), numbers.below(256));
            changed[start..].fill(other as u8);
        }
        4 if !earlier.is_empty() => return vec![earlier[numbers.below(earlier.len())].clone(), frame[1..].to_vec()],
        _ => changed.swap(16, 17 + numbers.below(frame.len() - 17)),
    }
    if changed == frame {
        changed[0] ^= 1;
    }
    vec![changed]
}

#[test]
fn a_change_to_any_message_is_found_out() {
    let village = Village::new(Plan::default());
    for seed in 0..RUNS {
        let mut numbers = Numbers(seed);
        let (rogue, round) = (numbers.below(3), Kind::ROUNDS[numbers.below(4)]);
        let numbers = Mutex::new(numbers);
        let mut ends: Vec<_> = Memory::network(3).into_iter().map(Some).collect();
        let ends = Mutex::new(&mut ends);
        let records: Vec<Record> = (0..3).map(|_| Record::default()).collect();
        let results = village.all(|place| {
            let end = ends.lock().unwrap()[place].take().unwrap();
            let mut earlier = Vec::new();
            let wire = Wire::new(end, &records[place], |_, frame: &[u8]| {
                if place != rogue || kind(frame) != Some(round) {
                    earlier.push(frame.to_vec());
                    return Fate::Sent;
                }
                Fate::Instead(change(&mut numbers.lock().unwrap(), frame, &earlier))
            });
            village.with(place, |party| party.run_over(|| Ok(wire), &mut village.numbers(place)))
        });
        for (place, result) in results.into_iter().enumerate().filter(|(place, _)| *place != rogue) {
            let error = result.unwrap_err();
            assert!(error.abort().is_some(), "seed {seed}: {error}");
            if round < Kind::Contribution {
                assert!(!has(&records[place], Kind::Contribution), "seed {seed}");
            }
        }
    }
}

#[test]
fn a_change_to_any_part_of_a_transcript_is_found_out() {
    let village = Village::new(Plan::default());
    let outcomes = village.check(village.all(|place| village.run(place)));
    let whole = outcomes[0].transcript.to_json();
    assert!(Transcript::from_json(whole.as_bytes()).unwrap().verify(None).is_sound());
    let is_sound = |text: &[u8]| {
        Transcript::from_json(text).is_ok_and(|transcript| transcript.verify(Some(&village.task)).is_sound())
    };
    let original: Value = serde_json::from_str(&whole).unwrap();
    let mut numbers = Numbers(1);
    for _ in 0..CHANGES {
        let mut bytes = whole.clone().into_bytes();
        let place = numbers.below(bytes.len());
        bytes[place] ^= 1 << numbers.below(7);
        // White space, and other spellings of the same JSON, do not count.
        let same = serde_json::from_slice::<Value>(&bytes).is_ok_and(|value| value == original);
        assert_eq!(is_sound(&bytes), same, "byte {place}");
    }
    for length in (0..whole.trim_end().len()).step_by(97) {
        assert!(!is_sound(&whole.as_bytes()[..length]));
    }
}

/// The outcome of reading and verifying a transcript.
type Change = &'static dyn Fn(&mut Transcript);

#[test]
fn what_is_wrong_with_a_transcript_is_said() {
    let village = Village::new(Plan::default());
    let sound = village.check(village.all(|place| village.run(place))).remove(0).transcript;
    let findings = |change: Change| {
        let mut transcript = sound.clone();
        change(&mut transcript);
        transcript.verify(Some(&village.task)).findings.join("\n")
    };
    assert_eq!(findings(&|_| ()), "");
    let changes: [(&str, Change); 8] = [
        ("not the sum", &|transcript| transcript.output[0] += 1),
        ("round `contribution`: p1 did not sign", &|transcript| transcript.contribution[1].words[0] ^= 1),
        ("round `contribution`: p2 did not sign", &|transcript| transcript.hello[0].keys[1].0[0] ^= 1),
        ("round `ready`: p0 did not sign", &|transcript| transcript.ready.swap(0, 1)),
        ("in the task's order", &|transcript| drop(transcript.seal.pop())),
        ("not the largest one proposed", &|transcript| transcript.attempt += 1),
        ("the head after round `seal`", &|transcript| transcript.heads[3].0[0] ^= 1),
        ("the task's hash", &|transcript| transcript.task_hash.0[0] ^= 1),
    ];
    for (why, change) in changes {
        let findings = findings(change);
        assert!(findings.contains(why), "{why}: {findings}");
    }
    let other = Village::new(Plan::default());
    assert!(sound.verify(Some(&other.task)).findings[0].contains("is not the given one"));
}
