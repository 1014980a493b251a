//! kill −9 at any moment.

use std::collections::BTreeMap;

use crate::bench::{Bench, EXACT, START, all, definition, one};
use crate::child::{EVENTS, Process};

const ROUNDS: u64 = 12;

/// The rounds differ in when the process is killed: after this many lines.
fn lines(round: u64) -> u64 {
    round * 7 % 11
}

fn killed_again_and_again(text: &str) -> (Bench, BTreeMap<i64, i64>, i64) {
    let bench = Bench::new();
    bench.open().create(definition(text), "ada").unwrap();
    let (mut released, mut acknowledged) = (BTreeMap::new(), -1);
    for round in 0..ROUNDS {
        let clock = START + 100_000 * round as i64;
        let mut process = Process::start(&bench, "count", clock, (acknowledged + 1) as u64, "");
        let mut heard = Vec::new();
        for _ in 0..lines(round) {
            heard.extend(process.hear());
        }
        heard.extend(process.kill());
        for (about, numbers) in heard {
            match about.as_str() {
                "acknowledged" => acknowledged = numbers[0],
                _ => {
                    let before = released.insert(numbers[0], numbers[1]);
                    assert!(before.is_none(), "step {} was released twice", numbers[0]);
                }
            }
        }
    }
    bench.clock.set(START + 100_000 * ROUNDS as i64);
    (bench, released, acknowledged)
}

#[test]
fn no_release_changes_and_no_acknowledged_event_is_lost_or_counted_twice() {
    let (bench, released, acknowledged) = killed_again_and_again(&format!("name='s'\nstep='1s'\ndedup=1000000{EXACT}"));
    assert!(acknowledged > 10 && released.len() > 3, "{acknowledged}, {}", released.len());
    let streams = bench.open();
    streams.close_due().unwrap();
    let stream = streams.get("s").unwrap();
    let there = all(&stream);
    for (step, value) in &released {
        assert_eq!(one(&there[*step as usize - 1]), *value);
    }
    // Of the last batch, which was not acknowledged, all events were counted or none.
    let (total, certain) = (one(&stream.now().unwrap()), (acknowledged + 1) * EVENTS as i64);
    assert!(total == certain || total == certain + EVENTS as i64, "{total}, {certain}");
}

#[test]
fn no_published_release_changes_and_nothing_is_counted_twice() {
    let text = format!("name='s'\nstep='1s'\nhorizon=100000\nmode='pan-private'{EXACT}");
    let (bench, released, acknowledged) = killed_again_and_again(&text);
    assert!(acknowledged > 10 && released.len() > 3, "{acknowledged}, {}", released.len());
    let streams = bench.open();
    let stream = streams.get("s").unwrap();
    let there = stream.history(1, usize::MAX).unwrap();
    for (step, value) in &released {
        assert_eq!(one(&there[*step as usize - 1]), *value);
    }
    let total = one(there.last().unwrap());
    // Sent were those that were acknowledged, and one batch in each round perhaps that was not.
    assert!(total <= (acknowledged + 1 + ROUNDS as i64) * EVENTS as i64);
    assert!(total >= *released.values().max().unwrap(), "what was published is built upon");
}
