//! Mechanisms that may refuse: exactly, over all small tables; subsampling by its outputs.

use std::collections::BTreeMap;

use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::audit::exact::{BITS, Output, Pair};
use crate::error::Result;
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::mechanism::stable::{Proposal, StableMedian, StableMode, StableRelease};
use crate::mechanism::subsample::{Blocks, ResampledMode, SubsampleMean, SubsampleMode, Unit};
use crate::privacy::Adjacency;
use crate::release::Outcome;

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
        summary: "the most frequent answer of 64 blocks or a refusal; one row of a close vote added",
        is_exact: false,
        audit: subsample,
    },
    Subject {
        name: "subsample-mean",
        summary: "the mean answer of 16 blocks or more, clamped to 0..10; one row added that tips a block from 0 to 10",
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
    let blocks = Blocks::new(64, Unit::Row)?;
    let mechanism = SubsampleMode::new(blocks, Adjacency::AddRemove, &audit.request.epsilon, &audit.request.delta)?;
    // About 40 blocks say 1, the others nothing; one more row changes one of them.
    let rows = [1u8; 64];
    audit.empirically(audit.approx(), |input, permit| {
        let extra = (input == Input::Second).then_some(1u8);
        let outcome =
            mechanism.release(rows.iter().copied().chain(extra), |block| u8::from(!block.is_empty()), permit)?;
        Ok(shown(outcome))
    })
}

/// An answer, or −1 for a refusal.
fn shown(outcome: Outcome<u8>) -> i64 {
    match outcome {
        Outcome::Released(release) => i64::from(release.into_value()),
        Outcome::Refused(_) => -1,
    }
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
        // One row gives its block an answer; as many others as are tolerated have none, where the refusal shows most.
        let given = (input == Input::Second).then(|| round.block(None));
        let silent = mechanism.tolerated().unwrap_or_default() as usize;
        let answer = |block: usize| if given == Some(block) { Some(10) } else { (block >= silent).then_some(0) };
        let outcome = round.decide((0..blocks).map(answer))?;
        // The sum over the blocks is a number of half steps.
        Ok(outcome.released().map_or(i64::MIN, |release| (2.0 * blocks as f64 * release.into_value()).round() as i64))
    })
}

fn resampled(audit: &Audit<'_>) -> Result<Report> {
    const ROWS: usize = 2000;
    let mechanism = ResampledMode::new(ROWS as u64, 800, 1, &audit.request.epsilon, &audit.request.delta)?;
    // A vote of 60 to 40: near the threshold, where one row shows most.
    let first: Vec<u8> = (0..ROWS).map(|row| u8::from(row % 5 < 3)).collect();
    let mut second = first.clone();
    second[0] = 0;
    audit.empirically(audit.approx(), |input, permit| {
        let rows = if input == Input::First { &first } else { &second };
        Ok(shown(mechanism.release(rows, |sample| sample[0], permit)?))
    })
}
