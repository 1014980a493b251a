//! Mechanisms that may refuse: exactly, over all small tables; subsampling by its outputs.

use std::collections::BTreeMap;

use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::audit::exact::{BITS, Output, Pair};
use crate::error::Result;
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::mechanism::stable::{Proposal, StableMedian, StableMode, StableRelease};
use crate::mechanism::subsample::{Blocks, Counted, ResampledMode, Samples, SubsampleMean, SubsampleMode, Unit};
use crate::privacy::Adjacency;

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "stable-median",
        summary: "the exact median or a refusal; all tables of up to 5 rows of 3 values, one row added",
        is_exact: true,
        audit: |audit| median(audit, Adjacency::AddRemove),
    },
    Subject {
        name: "stable-median-replace",
        summary: "the exact median or a refusal; all tables of up to 5 rows of 3 values, one row replaced",
        is_exact: true,
        audit: |audit| median(audit, Adjacency::Replace),
    },
    Subject {
        name: "stable-mode",
        summary: "the most frequent value or a refusal; all tables of up to 5 rows of 3 values, one row added",
        is_exact: true,
        audit: |audit| mode(audit, Adjacency::AddRemove),
    },
    Subject {
        name: "stable-mode-replace",
        summary: "the most frequent value or a refusal; all tables of up to 5 rows of 3 values, one row replaced",
        is_exact: true,
        audit: |audit| mode(audit, Adjacency::Replace),
    },
    Subject {
        name: "subsample",
        summary: "the most frequent answer of 64 blocks or a refusal, and how many have none; one row added that gives a block one",
        is_exact: false,
        audit: subsample,
    },
    Subject {
        name: "subsample-mean",
        summary: "the mean answer of 16 blocks or more, clamped to 0..10, and how many have none; one row added that gives a block one",
        is_exact: false,
        audit: subsample_mean,
    },
    Subject {
        name: "resampled",
        summary: "the most frequent answer of 800 samples of one row of 2000, or a refusal; one row replaced",
        is_exact: false,
        audit: resampled,
    },
];

fn median(audit: &Audit<'_>, adjacency: Adjacency) -> Result<Report> {
    let mechanism = StableMedian::new(adjacency, &audit.request.epsilon, &audit.request.delta)?;
    let law = refusing_law(mechanism.test());
    audit.exactly(audit.approx(), &small_tables(adjacency, |table| law(&mechanism.propose(table))))
}

fn mode(audit: &Audit<'_>, adjacency: Adjacency) -> Result<Report> {
    let mechanism = StableMode::new(adjacency, &audit.request.epsilon, &audit.request.delta)?;
    let law = refusing_law(mechanism.test());
    audit.exactly(audit.approx(), &small_tables(adjacency, |table| law(&mechanism.propose(table.iter().copied()))))
}

/// The probability of each answer, and of a refusal (`None`).
pub(super) type Law = BTreeMap<Option<u8>, Enclosure>;

/// What a test does with a proposal.
fn refusing_law(test: &StableRelease) -> impl Fn(&Proposal<u8>) -> Law {
    |proposal| law_of(proposal.answer, test.refusal_bounds(proposal.distance))
}

/// An answer that is refused with a probability between two fractions.
pub(super) fn law_of(answer: Option<u8>, refused: (Rational, Rational)) -> Law {
    let whole = Enclosure::one(BITS);
    let refused =
        Enclosure { lo: Enclosure::rational(&refused.0, BITS).lo, hi: Enclosure::rational(&refused.1, BITS).hi };
    match answer {
        Some(answer) => Law::from([(Some(answer), whole.minus(&refused)), (None, refused)]),
        None => Law::from([(None, whole)]),
    }
}

/// All tables of up to five rows of three values, with every neighbour of theirs.
pub(super) fn small_tables(adjacency: Adjacency, law: impl Fn(&[u8]) -> Law) -> Vec<Pair> {
    const VALUES: u8 = 3;
    const MOST_ROWS: usize = 5;
    // Sorted tables suffice: the mechanisms ignore the order.
    let mut tables: Vec<Vec<u8>> = vec![vec![]];
    let mut last = tables.clone();
    for _ in 0..MOST_ROWS {
        let longer = |table: &Vec<u8>| {
            let from = table.last().copied().unwrap_or(0);
            (from..VALUES).map(|value| [table.as_slice(), &[value]].concat()).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        tables.extend(last.iter().cloned());
    }
    let laws: BTreeMap<&[u8], Law> = tables.iter().map(|table| (table.as_slice(), law(table))).collect();
    let mut pairs = Vec::new();
    for table in &tables {
        let mut neighbours: Vec<Vec<u8>> = Vec::new();
        match adjacency {
            Adjacency::AddRemove => neighbours.extend((0..VALUES).map(|value| [table.as_slice(), &[value]].concat())),
            Adjacency::Replace => {
                for row in 0..table.len() {
                    for value in table[row] + 1..VALUES {
                        let mut other = table.clone();
                        other[row] = value;
                        neighbours.push(other);
                    }
                }
            }
        }
        for mut neighbour in neighbours {
            neighbour.sort_unstable();
            if let Some(second) = laws.get(neighbour.as_slice()) {
                pairs.push(pair(format!("{table:?} and {neighbour:?}"), &laws[table.as_slice()], second));
            }
        }
    }
    pairs
}

fn pair(inputs: String, first: &Law, second: &Law) -> Pair {
    let zero = Enclosure { lo: 0u8.into(), hi: 0u8.into() };
    let answers: std::collections::BTreeSet<&Option<u8>> = first.keys().chain(second.keys()).collect();
    let outputs = answers.into_iter().map(|answer| Output {
        label: answer.map_or("a refusal".into(), |answer| format!("the answer {answer}")),
        first: first.get(answer).unwrap_or(&zero).clone(),
        second: second.get(answer).unwrap_or(&zero).clone(),
    });
    Pair { inputs, outputs: outputs.collect() }
}

fn subsample(audit: &Audit<'_>) -> Result<Report> {
    const BLOCKS: usize = 64;
    let blocks = Blocks::new(BLOCKS as u64, Unit::Row)?;
    let mechanism = SubsampleMode::new(blocks, Adjacency::AddRemove, &audit.request.epsilon, &audit.request.delta)?;
    // Two blocks have no answer, and the lead is near the threshold, where one row shows most.
    let others = (BLOCKS - 2).saturating_sub(mechanism.test().threshold() as usize) / 2;
    audit.empirically(audit.approx(), |input, permit| {
        let mut round = mechanism.begin(permit)?;
        let given = (input == Input::Second).then(|| round.block(None));
        let answer = |block: usize| match block {
            0 => given.map(|_| 1),
            1 => None,
            other => Some(u8::from(other >= 2 + others)),
        };
        Ok(shown(round.decide((0..BLOCKS).map(answer))?, 1))
    })
}

/// An answer, or −1 for a refusal; and whether more than `most` blocks are counted without one.
fn shown(counted: Counted<u8>, most: u64) -> i64 {
    let more = i64::from(counted.unanswered().number() > most);
    10 * counted.released().map_or(-1, |release| i64::from(release.into_value())) + more
}

fn subsample_mean(audit: &Audit<'_>) -> Result<Report> {
    let over = |blocks: u64| {
        SubsampleMean::new(Blocks::new(blocks, Unit::Row)?, 0..=10, Adjacency::AddRemove, &audit.request.epsilon)
    };
    // The smaller ε, the more blocks it takes to tell those without an answer from noise.
    let mechanism =
        [16, 64, 256, 1024].into_iter().find_map(|blocks| over(blocks).ok()).map_or_else(|| over(4096), Ok)?;
    let blocks = mechanism.blocks().number() as usize;
    audit.empirically(audit.pure(), |input, permit| {
        let mut round = mechanism.begin(permit)?;
        // One row gives the first block an answer; the others balance, so that no mean is cut off at a bound.
        let given = (input == Input::Second).then(|| round.block(None));
        let answer = |block: usize| {
            let balanced = if block.is_multiple_of(2) { 10 } else { 0 };
            if block == 0 { given.map(|_| 10) } else { Some(if block + 1 == blocks { 5 } else { balanced }) }
        };
        let counted = round.decide((0..blocks).map(answer))?;
        let silent = counted.unanswered().number();
        // The noisy sum, in half steps away from the middle: 0 or 10 without noise.
        let sum = |mean: f64| 2.0 * (blocks as f64 - silent as f64) * (mean - 5.0);
        let sum = counted.released().map(|release| sum(release.into_value()).round());
        // The loss is largest where both are beyond their exact values, and the same wherever that is so.
        let side = sum.map_or(9, |sum| if sum <= 0.0 { 0 } else { 1 + i64::from(sum >= 10.0) });
        Ok(10 * side + i64::from(silent > 0))
    })
}

fn resampled(audit: &Audit<'_>) -> Result<Report> {
    const ROWS: usize = 1000;
    let samples = Samples::new(ROWS as u64, 400, 1)?;
    let mechanism = ResampledMode::new(samples, &audit.request.epsilon, &audit.request.delta)?;
    // A vote of 70 to 30: near the threshold, where one row shows most.
    let first: Vec<u8> = (0..ROWS).map(|row| u8::from(row % 10 < 7)).collect();
    let mut second = first.clone();
    second[0] = 0;
    audit.empirically(audit.approx(), |input, permit| {
        let rows = if input == Input::First { &first } else { &second };
        Ok(shown(mechanism.release(rows, |sample| sample[0], permit)?, 0))
    })
}
