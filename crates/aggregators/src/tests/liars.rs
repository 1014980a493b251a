//! Aggregators that violate the protocol: an honest one finishes, and opens nothing that it should not.

use super::*;
use crate::error::Error;
use crate::fault::{Misdeed, Round};
use crate::{Aggregator, Report, Store};
use reticent::error::Explained;

/// A lie in one kind of round.
fn in_round(round: Round, mut lie: impl FnMut(usize, &mut Vec<u8>) + Send + 'static) -> Lie {
    Box::new(move |to, mut frame| {
        if frame[KIND] == round as u8 {
            lie(to, &mut frame);
        }
        Some(frame)
    })
}

/// The honest aggregators' results of a collection with a liar.
fn outcomes(statistic: &Statistic, aggregators: usize, lie: Lie) -> Vec<Result<Collected>> {
    let mut simulated = simulated(statistic, aggregators);
    simulated.answer(answers(statistic, &[1; 5])).unwrap();
    let mut outcomes = simulated.collect_over(network(aggregators, lie), PATIENT, Aggregator::silent).unwrap();
    outcomes.pop();
    outcomes
}

fn misdeeds(outcomes: Vec<Result<Collected>>) -> Vec<(Round, Misdeed, Option<String>)> {
    let misdeed = |outcome: Result<Collected>| match outcome {
        Err(Error::Collection(fault)) => (fault.round, fault.misdeed, fault.culprit),
        other => panic!("{other:?}"),
    };
    outcomes.into_iter().map(misdeed).collect()
}

fn last(aggregators: usize) -> Option<String> {
    Some(format!("aggregator-{}", aggregators - 1))
}

/// An aggregator that falsifies a verification, or rejects what it accepts, arrives at a different batch than the
/// others.
#[test]
fn one_that_lies_about_proofs_is_found_out_before_anything_is_opened() {
    for statistic in [Statistic::Count, sum(), histogram()] {
        let spoil = in_round(Round::Verify, |_, frame| frame[MESSAGE..].iter_mut().for_each(|byte| *byte ^= 1));
        assert_eq!(misdeeds(outcomes(&statistic, 2, spoil)), [(Round::Agree, Misdeed::Disagreed, last(2))]);
        let refuse = in_round(Round::Judge, |_, frame| frame[MESSAGE] = 0b11101);
        let found = misdeeds(outcomes(&statistic, 2, refuse));
        assert_eq!(found, [(Round::Agree, Misdeed::Disagreed, last(2))]);
    }
}

/// A consistent liar is not detected: reports that it spoils are dropped, and do not count.
#[test]
fn one_that_spoils_its_shares_can_drop_reports_but_not_count_others() {
    let statistic = Statistic::Count;
    let mut simulated = simulated(&statistic, 2);
    simulated.answer(answers(&statistic, &[1; 5])).unwrap();
    let victim = Report::new(simulated.task(), statistic.number(1)).unwrap();
    simulated.store(0).receive([victim.shares()[0].as_slice()]).unwrap();
    let mut spoilt = victim.shares()[1].to_vec();
    *spoilt.last_mut().unwrap() ^= 1;
    simulated.store(1).receive([spoilt.as_slice()]).unwrap();
    let (sums, record) = released(simulated.collect_silently().unwrap());
    assert_eq!((sums, record.reports(), record.dropped()), (vec![5], 5, 1));
}

#[test]
fn one_that_signs_another_share_than_it_opened_is_found_out() {
    let outcomes = outcomes(&Statistic::Count, 2, in_round(Round::Open, |_, frame| frame[MESSAGE] ^= 1));
    assert_eq!(misdeeds(outcomes), [(Round::Sign, Misdeed::Unsigned, last(2))]);
}

#[test]
fn one_that_says_different_things_is_found_out_before_anything_is_opened() {
    let two_faced = in_round(Round::Judge, |to, frame| {
        if to == 0 {
            frame[MESSAGE] ^= 1;
        }
    });
    for (round, misdeed, _) in misdeeds(outcomes(&Statistic::Count, 3, two_faced)) {
        // Either this one detects it, or it hears that another one has.
        assert_eq!(round, Round::Agree);
        assert!(matches!(misdeed, Misdeed::Disagreed | Misdeed::Vanished), "{misdeed:?}");
    }
}

#[test]
fn one_that_opens_different_shares_is_found_out_by_the_signatures() {
    let two_faced = in_round(Round::Open, |to, frame| frame[MESSAGE] ^= u8::from(to == 0));
    let found = misdeeds(outcomes(&Statistic::Count, 3, two_faced));
    assert!(found.iter().all(|(round, ..)| *round == Round::Sign), "{found:?}");
}

#[test]
fn nobody_chooses_the_verification_key() {
    let lie = in_round(Round::Reveal, |_, frame| frame[MESSAGE] ^= 1);
    let blamed = (Round::Reveal, Misdeed::OtherContribution, last(2));
    assert_eq!(misdeeds(outcomes(&Statistic::Count, 2, lie)), [blamed]);
}

/// A second key for the same reports would reveal more about them than that they are valid.
#[test]
fn the_verification_key_stays_the_same() {
    let statistic = Statistic::Count;
    let mut simulated = simulated(&statistic, 2);
    simulated.answer(answers(&statistic, &[1; 2])).unwrap();
    simulated.collect_silently().unwrap();
    let task = simulated.task().clone();
    *simulated.store(1) = Store::in_memory(&task, 1).unwrap();
    let found = misdeeds(vec![simulated.collect_silently().unwrap().swap_remove(0)]);
    assert_eq!(found, [(Round::Reveal, Misdeed::OtherContribution, None)]);
}

#[test]
fn one_that_says_too_much_or_too_little_is_named() {
    use Round::{Agree, Begun, Commit, Judge, Offer, Open, Reveal, Sign, Verify};
    for round in [Commit, Reveal, Begun, Offer, Verify, Judge, Agree, Open, Sign] {
        let more = in_round(round, |_, frame| frame.resize(frame.len() + 64_016, 0));
        let oversized = (round, Misdeed::Oversized, last(2));
        assert_eq!(misdeeds(outcomes(&sum(), 2, more)), [oversized], "{round}");
        let less = in_round(round, |_, frame| frame.truncate(frame.len() - 1));
        let found = outcomes(&sum(), 2, less).remove(0);
        match round {
            // Opened shares are first decoded when all have arrived.
            Open => assert!(found.unwrap_err().is_usage()),
            _ => assert_eq!(misdeeds(vec![found]), [(round, Misdeed::Malformed, last(2))], "{round}"),
        }
    }
}

#[test]
fn one_with_another_task_is_named() {
    let lie = in_round(Round::Commit, |_, frame| frame[0] ^= 1);
    assert_eq!(misdeeds(outcomes(&sum(), 2, lie)), [(Round::Commit, Misdeed::OtherTask, last(2))]);
}

#[test]
fn one_that_starts_again_in_the_middle_is_not_taken_for_the_same() {
    let lie = in_round(Round::Offer, |_, frame| frame[32] ^= 1);
    assert_eq!(misdeeds(outcomes(&sum(), 2, lie)), [(Round::Offer, Misdeed::Vanished, last(2))]);
}

#[test]
fn one_that_falls_silent_is_not_waited_for_without_end() {
    let statistic = sum();
    let mut simulated = simulated(&statistic, 2);
    simulated.answer(answers(&statistic, &[1; 5])).unwrap();
    let silent: Lie = Box::new(|_, frame| (frame[KIND] < Round::Verify as u8).then_some(frame));
    let mut outcomes = simulated.collect_over(network(2, silent), PATIENT, Aggregator::silent).unwrap();
    outcomes.pop();
    assert_eq!(misdeeds(outcomes), [(Round::Verify, Misdeed::Vanished, last(2))]);
}
