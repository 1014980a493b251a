//! Arbitrary incoming bytes: accepted or rejected, never a panic.

use super::*;
use crate::fault::Round;
use crate::report::{self, share_length};
use crate::{Aggregator, Report, Task, batch};

/// A small generator with a fixed seed: nothing here is secret.
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end.max(1)
    }

    /// A variant of `bytes`: truncated, extended, or with some bits flipped.
    fn mutated(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self.below(4) {
            0 => bytes.truncate(self.below(bytes.len())),
            1 => bytes.extend((0..1 + self.below(40)).map(|_| self.next() as u8)),
            2 => bytes.iter_mut().for_each(|byte| *byte = self.next() as u8),
            _ => {
                for _ in 0..1 + self.below(4) {
                    let bit = self.below(8 * bytes.len());
                    if let Some(byte) = bytes.get_mut(bit / 8) {
                        *byte ^= 1 << (bit % 8);
                    }
                }
            }
        }
        bytes
    }
}

#[test]
fn shares_of_reports() {
    let mut random = Bytes(1);
    for statistic in [Statistic::Count, sum(), histogram()] {
        let task = Task::new(draft(&statistic, 3)).unwrap();
        let report = Report::new(&task, statistic.number(1)).unwrap();
        for (place, share) in report.shares().iter().enumerate() {
            for _ in 0..200 {
                let mutated = random.mutated(share);
                for owner in 0..3 {
                    if let Some(parts) = report::open(&task, owner, &mutated) {
                        assert_eq!((mutated.len(), owner), (share_length(&task, place), place));
                        let _ = task.scheme().begin(&[0; 32], b"", owner, &parts.nonce, parts.public, parts.input);
                    }
                }
            }
        }
    }
}

#[test]
fn what_aggregators_say_about_a_report() {
    let (mut random, context, key, nonce) = (Bytes(2), b"context", [3; 32], [4; 16]);
    for statistic in [Statistic::Count, sum(), histogram()] {
        let task = Task::new(draft(&statistic, 2)).unwrap();
        let scheme = task.scheme();
        let report = scheme.shard(context, statistic.number(1), &nonce).unwrap();
        let begin = |place: usize| scheme.begin(&key, context, place, &nonce, &report.public, &report.inputs[place]);
        let said = [begin(0).unwrap().1, begin(1).unwrap().1];
        let kept = begin(0).unwrap().0;
        assert!(scheme.finish(context, 0, &kept, &[&said[0], &said[1]]).is_some());
        assert!(scheme.finish(context, 0, &kept, &[&said[0]]).is_none());
        for _ in 0..300 {
            let mutated = random.mutated(&said[1]);
            let accepted = scheme.finish(context, 0, &kept, &[&said[0], &mutated]).is_some();
            assert!(!accepted || mutated == said[1], "{statistic:?}");
            let _ = scheme.finish(context, 0, &random.mutated(&kept), &[&said[0], &said[1]]);
        }
    }
}

#[test]
fn lists_bits_and_sums() {
    let mut random = Bytes(3);
    for statistic in [Statistic::Count, histogram()] {
        let task = Task::new(draft(&statistic, 2)).unwrap();
        let nothing = task.scheme().nothing();
        for _ in 0..2000 {
            let bytes = random.mutated(&[7; 80]);
            if let Some(sums) = nothing.decode_alike(&bytes) {
                assert_eq!(*sums.encode(), bytes);
            }
            if let Some(numbers) = batch::numbers(&bytes) {
                assert_eq!(numbers.concat(), bytes);
            }
            let count = random.below(700);
            if let Some(verdicts) = batch::read_bits(&bytes, count) {
                assert_eq!(batch::bits(&verdicts), bytes);
            }
        }
    }
}

#[test]
fn records_and_tasks() {
    let mut random = Bytes(4);
    let statistic = sum();
    let mut simulated = simulated(&statistic, 2);
    simulated.answer(answers(&statistic, &[1; 5])).unwrap();
    let (_, record) = released(simulated.collect().unwrap());
    let json = record.to_json();
    for _ in 0..2000 {
        let text = String::from_utf8_lossy(&random.mutated(json.as_bytes())).into_owned();
        if let Ok(read) = Record::read(&text, simulated.task()) {
            assert_eq!(read, record);
        }
    }
    let site = |name: &str| {
        format!("[[aggregator]]\nname = \"{name}\"\nkey = \"ed25519:{}\"\naddress = \"{name}:1\"\n", "07".repeat(32))
    };
    let head = "title = \"t\"\nstatistic = \"count\"\nepsilon = 1\ncolluders = 1\nminimum_reports = 9\n";
    let text = format!("{head}{}reports = \"a:2\"\n{}reports = \"b:2\"\n", site("a"), site("b"));
    assert!(text.parse::<Task>().unwrap_err().to_string().contains("different from all others"));
    for _ in 0..500 {
        let _ = String::from_utf8_lossy(&random.mutated(text.as_bytes())).parse::<Task>();
    }
}

/// Frames of every round, mutated in every way: the honest aggregator finishes, and any result it has is signed by all.
#[test]
fn frames_of_every_round() {
    const ROUNDS: [Round; 8] = [
        Round::Commit,
        Round::Reveal,
        Round::Offer,
        Round::Verify,
        Round::Judge,
        Round::Agree,
        Round::Open,
        Round::Sign,
    ];
    let statistic = histogram();
    let mut simulated = Simulated::new(Draft { minimum_reports: 1, ..draft(&statistic, 2) }).unwrap();
    for case in 0..160 {
        for place in 0..2 {
            simulated.store(place).abandon().unwrap();
        }
        simulated.answer(answers(&statistic, &[1; 2])).unwrap();
        let (mut random, round) = (Bytes(1000 + case), ROUNDS[case as usize % ROUNDS.len()]);
        let lie: Lie = Box::new(move |_, frame| {
            let hit = frame[KIND] == round as u8;
            Some(if hit { random.mutated(&frame) } else { frame })
        });
        let mut outcomes = simulated.collect_over(network(2, lie), PATIENT, Aggregator::silent).unwrap();
        let task = simulated.task();
        if let Ok(Collected::Released { record, .. }) = outcomes.swap_remove(0) {
            assert!(Record::read(&record.to_json(), task).is_ok(), "{round}");
        }
    }
}
