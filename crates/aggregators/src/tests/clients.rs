//! Invalid reports: dropped by all aggregators, and nothing else changes.

use super::*;
use crate::{Received, Report, Task};

/// Where the parts of a share begin.
const NONCE: usize = 1 + 1 + 32;
const PARTS: usize = NONCE + 16;

/// Changes one share of an honest report; sends it with all its other shares.
fn send_changed(simulated: &mut Simulated, answer: Answer, place: usize, change: impl FnOnce(&mut Vec<u8>)) {
    let report = Report::new(simulated.task(), answer).unwrap();
    let mut change = Some(change);
    for (aggregator, share) in report.shares().iter().enumerate() {
        let mut share = share.to_vec();
        if aggregator == place {
            change.take().unwrap()(&mut share);
        }
        simulated.store(aggregator).receive([share.as_slice()]).unwrap();
    }
}

/// Adds to the first residue of a first aggregator's share: a client that claims more than it may.
fn add(share: &mut [u8], from: usize, more: u64) {
    const PRIME: u128 = (1 << 64) - (1 << 32) + 1;
    let bytes = &mut share[from..from + 8];
    let sum = (u128::from(u64::from_le_bytes((&*bytes).try_into().unwrap())) + u128::from(more)) % PRIME;
    bytes.copy_from_slice(&(sum as u64).to_le_bytes());
}

/// A client cannot count twice, a million times, or less than nothing.
#[test]
fn an_answer_outside_the_range_counts_as_nothing() {
    for statistic in [Statistic::Count, sum()] {
        for more in [1, 1_000_000, (u64::MAX - (1 << 32)) - 5] {
            let mut simulated = simulated(&statistic, 2);
            simulated.answer(answers(&statistic, &[1; 5])).unwrap();
            send_changed(&mut simulated, statistic.number(1), 0, |share| add(share, PARTS, more));
            let (sums, record) = released(simulated.collect_silently().unwrap());
            assert_eq!((sums, record.reports(), record.dropped()), (vec![5], 5, 1), "{statistic:?} {more}");
        }
    }
}

/// Whatever is changed in any share.
#[test]
fn a_share_that_was_changed_proves_nothing() {
    for statistic in [Statistic::Count, sum(), histogram()] {
        for place in 0..3 {
            let mut simulated = simulated(&statistic, 3);
            simulated.answer(answers(&statistic, &[0; 5])).unwrap();
            let length = crate::report::share_length(simulated.task(), place);
            // An aggregator ignores what the public part says about its own share: it computes that itself.
            let own = PARTS + 32 * place..PARTS + 32 * (place + 1);
            let unasked = |byte: &usize| simulated.task().scheme().lengths().public > 0 && own.contains(byte);
            let some = (PARTS..length).step_by(1 + (length - PARTS) / 6).chain([length - 1]);
            let places: Vec<usize> = some.filter(|byte| !unasked(byte)).collect();
            for &byte in &places {
                send_changed(&mut simulated, statistic.number(0), place, |share| share[byte] ^= 1);
            }
            let (_, record) = released(simulated.collect_silently().unwrap());
            assert_eq!((record.reports(), record.dropped()), (5, places.len() as u64), "{statistic:?} {place}");
        }
    }
}

/// Shares are bound to the task by Prio3's context, not only by the header.
#[test]
fn a_report_of_another_task_counts_as_nothing() {
    for statistic in [Statistic::Count, histogram()] {
        let mut simulated = simulated(&statistic, 2);
        simulated.answer(answers(&statistic, &[1; 5])).unwrap();
        let other = Task::new(Draft { title: "Another".into(), ..draft(&statistic, 2) }).unwrap();
        let report = Report::new(&other, statistic.number(1)).unwrap();
        let hash = simulated.task().hash();
        for (place, share) in report.shares().iter().enumerate() {
            let mut share = share.to_vec();
            let refused = simulated.store(place).receive([share.as_slice()]).unwrap();
            assert_eq!(refused, Received { kept: 0, refused: 1 });
            share[2..NONCE].copy_from_slice(&hash.0);
            let kept = simulated.store(place).receive([share.as_slice()]).unwrap();
            assert_eq!(kept, Received { kept: 1, refused: 0 });
        }
        let (_, record) = released(simulated.collect_silently().unwrap());
        assert_eq!((record.reports(), record.dropped()), (5, 1), "{statistic:?}");
    }
}

/// The same report again, at once or after its batch, and another one with its number.
#[test]
fn a_number_comes_once() {
    let statistic = Statistic::Count;
    let mut simulated = simulated(&statistic, 2);
    let report = Report::new(simulated.task(), statistic.number(1)).unwrap();
    let another = Report::new(simulated.task(), statistic.number(1)).unwrap();
    let with_its_number = |place: usize| {
        let mut share = another.shares()[place].to_vec();
        share[NONCE..PARTS].copy_from_slice(&report.shares()[place][NONCE..PARTS]);
        share
    };
    simulated.answer(answers(&statistic, &[1; 5])).unwrap();
    simulated.send(&report).unwrap();
    let refused = Received { kept: 0, refused: 2 };
    let again = |simulated: &mut Simulated| {
        for place in 0..2 {
            let shares = [report.shares()[place].to_vec(), with_its_number(place)];
            assert_eq!(simulated.store(place).receive(shares.iter().map(Vec::as_slice)).unwrap(), refused);
        }
    };
    again(&mut simulated);
    assert_eq!(released(simulated.collect_silently().unwrap()).0, [6]);
    again(&mut simulated);
    assert!(
        simulated
            .collect_silently()
            .unwrap()
            .iter()
            .all(|outcome| { matches!(outcome, Ok(Collected::TooFew { accepted: 0, dropped: 0 })) })
    );
}

/// A report that one aggregator lacks waits until it arrives there.
#[test]
fn a_report_that_not_all_have_waits() {
    let statistic = Statistic::Count;
    let mut simulated = simulated(&statistic, 2);
    simulated.answer(answers(&statistic, &[1; 5])).unwrap();
    let late = Report::new(simulated.task(), statistic.number(1)).unwrap();
    simulated.store(0).receive([late.shares()[0].as_slice()]).unwrap();
    assert_eq!(released(simulated.collect_silently().unwrap()).0, [5]);
    simulated.store(1).receive([late.shares()[1].as_slice()]).unwrap();
    simulated.answer(answers(&statistic, &[1; 2])).unwrap();
    assert_eq!(released(simulated.collect_silently().unwrap()).0, [3]);
}

#[test]
fn too_few_reports_are_not_opened_and_wait() {
    let statistic = Statistic::Count;
    let mut simulated = simulated(&statistic, 2);
    simulated.answer(answers(&statistic, &[1; 2])).unwrap();
    for outcome in simulated.collect_silently().unwrap() {
        assert_eq!(outcome.unwrap(), Collected::TooFew { accepted: 2, dropped: 0 });
    }
    simulated.answer(answers(&statistic, &[1; 2])).unwrap();
    assert_eq!(released(simulated.collect_silently().unwrap()).0, [4]);
}

/// Reports beyond a few batches are not kept.
#[test]
fn a_store_has_an_end() {
    let statistic = Statistic::Count;
    let mut simulated = Simulated::new(Draft { maximum_reports: 5, ..draft(&statistic, 2) }).unwrap();
    simulated.answer(answers(&statistic, &[1; 30])).unwrap();
    assert_eq!(simulated.store(0).waiting().unwrap(), 20);
    // Aggregators keep different reports of the thirty only if one has less room; they arrive in the same order.
    assert_eq!(released(simulated.collect_silently().unwrap()).0, [5]);
    assert_eq!(simulated.store(0).waiting().unwrap(), 15);
}

/// Shares that only one aggregator has hide no report that all have, and do not take up its room forever.
#[test]
fn shares_for_one_aggregator_alone_hide_nothing_and_are_given_up() {
    let statistic = Statistic::Count;
    let mut draft = draft(&statistic, 2);
    draft.maximum_reports = 5;
    let mut simulated = Simulated::new(draft).unwrap();
    let task = simulated.task().clone();
    // Room for four batches, minus one report.
    let alone: Vec<Report> = (0..15).map(|_| Report::new(&task, statistic.number(1)).unwrap()).collect();
    let kept = simulated.store(0).receive(alone.iter().map(|report| report.shares()[0].as_slice())).unwrap().kept;
    assert_eq!(kept, 15);
    simulated.answer(answers(&statistic, &[1; 5])).unwrap();
    assert_eq!(released(simulated.collect_silently().unwrap()).0, [5]);
    // A slow client has time until the next collection.
    simulated.store(1).receive([alone[0].shares()[1].as_slice()]).unwrap();
    simulated.answer(answers(&statistic, &[1; 2])).unwrap();
    assert_eq!(released(simulated.collect_silently().unwrap()).0, [3]);
    assert_eq!(simulated.store(0).waiting().unwrap(), 0);
    // Deleted reports are not accepted again.
    assert_eq!(simulated.store(0).receive([alone[1].shares()[0].as_slice()]).unwrap().kept, 0);
}
