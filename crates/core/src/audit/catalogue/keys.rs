//! Keys known only from the data, and quantiles.

use std::collections::BTreeMap;

use super::noise::mass;
use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::audit::exact::{BITS, Output, Pair};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::mechanism::quantile::{law, targets};
use crate::mechanism::range::end::EndChoice;
use crate::mechanism::{ApproxBounds, Estimate, Moves, PerGroup, Quantile, Selection, Threshold, Top};
use crate::noise::Law;
use crate::privacy::Adjacency;
use crate::statistic::{Contribution, Rows};

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "threshold",
        summary: "a key of unknown name with its count, if that is large; one unit added, at any count up to 40",
        is_exact: true,
        audit: threshold,
    },
    Subject {
        name: "threshold-gaussian",
        summary: "the same with Gaussian noise",
        is_exact: true,
        audit: |audit| {
            let mechanism = gaussian_threshold(audit)?;
            audit.exactly(audit.approx(), &threshold_pairs(mechanism.noise(), mechanism.threshold())?)
        },
    },
    Subject {
        name: "selection",
        summary: "a key of unknown name, kept as often as possible; one unit added, at any count up to 40",
        is_exact: true,
        audit: selection,
    },
    Subject {
        name: "top",
        summary: "the largest of three counts; one unit added to or removed from any of them",
        is_exact: true,
        audit: |audit| audit.exactly(audit.pure(), &top_pairs(audit, Moves::OneWay, Moves::OneWay)?),
    },
    Subject {
        name: "top-replace",
        summary: "the largest of three counts; one unit moved from some of them to others",
        is_exact: true,
        audit: |audit| audit.exactly(audit.pure(), &top_pairs(audit, Moves::AnyWay, Moves::AnyWay)?),
    },
    Subject {
        name: "quantile",
        summary: "the median of a few values within 0..15, and its interval; one value added at the top",
        is_exact: false,
        audit: |audit| quantile(audit, Adjacency::AddRemove),
    },
    Subject {
        name: "quantile-replace",
        summary: "the median of a few values within 0..15, and its interval; one value moved from the bottom to the top",
        is_exact: false,
        audit: |audit| quantile(audit, Adjacency::Replace),
    },
    Subject {
        name: "quantiles",
        summary: "three quantiles of up to three values within 0..7, drawn one between the others; one value added",
        is_exact: true,
        audit: |audit| quantiles(audit, Adjacency::AddRemove, Adjacency::AddRemove, &Rational::ONE),
    },
    Subject {
        name: "quantiles-replace",
        summary: "three quantiles of up to three values within 0..7, drawn one between the others; one value changed",
        is_exact: true,
        audit: |audit| quantiles(audit, Adjacency::Replace, Adjacency::Replace, &Rational::ONE),
    },
    Subject {
        name: "per-group-quantile",
        summary: "the medians of two groups at once; one unit added, with a value at the top of each",
        is_exact: false,
        audit: per_group_quantile,
    },
    Subject {
        name: "range",
        summary: "bounds found from the data; one row added where it is undecided whether they are found",
        is_exact: false,
        audit: range,
    },
    Subject {
        name: "range-ends",
        summary: "the places where bounds end, of four; one row added to any of them",
        is_exact: true,
        audit: |audit| audit.exactly(audit.pure(), &range_pairs(audit, Adjacency::AddRemove, Adjacency::AddRemove)?),
    },
    Subject {
        name: "range-ends-replace",
        summary: "the places where bounds end, of four; one row moved from any of them to another",
        is_exact: true,
        audit: |audit| audit.exactly(audit.pure(), &range_pairs(audit, Adjacency::Replace, Adjacency::Replace)?),
    },
];

/// Counts of a key's units that are tried, each against the next.
const MOST_UNITS: u64 = 40;

fn threshold(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = Threshold::laplace(1, Adjacency::AddRemove, &audit.request.epsilon, &audit.request.delta)?;
    audit.exactly(audit.approx(), &threshold_pairs(mechanism.noise(), mechanism.threshold())?)
}

pub(super) fn gaussian_threshold(audit: &Audit<'_>) -> Result<Threshold> {
    Threshold::gaussian(1, Adjacency::AddRemove, &audit.request.epsilon, &audit.request.delta)
}

/// What is released for one key, for each count and the next: nothing, or a number from the threshold on.
///
/// # Errors
/// If the threshold is so large that computing its law takes too long.
pub(super) fn threshold_pairs(noise: &Law, threshold: u64) -> Result<Vec<Pair>> {
    if threshold > 10_000 {
        let problem = format!(
            "epsilon is too small for an exact audit: the threshold would be {threshold}, and at most 10000 is possible"
        );
        return Err(Error::invalid("epsilon", problem));
    }
    let first = threshold as i64;
    // 30 scales beyond what is tried: the omitted part is less likely than e^−30.
    let beyond = (30.0 * noise.scale()).min(2000.0) as i64;
    let last = first.max(MOST_UNITS as i64) + beyond;
    let masses: Vec<Enclosure> = (0..=last + 1).map(|k| mass(noise, k)).collect();
    let law = |count: u64| -> Vec<Enclosure> {
        let shown = (first..=last).map(|value| match count {
            // A key without units cannot be released.
            0 => Enclosure { lo: 0u8.into(), hi: 0u8.into() },
            _ => masses[value.abs_diff(count as i64) as usize].clone(),
        });
        let shown: Vec<Enclosure> = shown.collect();
        let sum = shown.iter().fold(Enclosure { lo: 0u8.into(), hi: 0u8.into() }, |sum, mass| sum.add(mass));
        let nothing = Enclosure::one(BITS).minus(&sum);
        // Anything beyond the window counts as nothing shown: merging outputs only makes the two laws more alike.
        [vec![nothing], shown].concat()
    };
    let laws: Vec<Vec<Enclosure>> = (0..=MOST_UNITS).map(law).collect();
    let pair = |count: usize| {
        let label = |place: usize| match place {
            0 => "nothing".into(),
            place => format!("the count {}", first + place as i64 - 1),
        };
        let outputs = laws[count].iter().zip(&laws[count + 1]).enumerate();
        Pair {
            inputs: format!("{count} and {} units", count + 1),
            outputs: outputs
                .map(|(place, (first, second))| Output {
                    label: label(place),
                    first: first.clone(),
                    second: second.clone(),
                })
                .collect(),
        }
    };
    Ok((0..MOST_UNITS as usize).map(pair).collect())
}

fn selection(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = Selection::new(1, Adjacency::AddRemove, &audit.request.epsilon, &audit.request.delta)?;
    let kept: Vec<Enclosure> = (0..=MOST_UNITS).map(|units| mechanism.keep(units, BITS)).collect();
    let pairs: Vec<Pair> = (0..MOST_UNITS as usize)
        .map(|units| {
            let output = |label: &str, law: &dyn Fn(&Enclosure) -> Enclosure| Output {
                label: label.into(),
                first: law(&kept[units]),
                second: law(&kept[units + 1]),
            };
            Pair {
                inputs: format!("{units} and {} units", units + 1),
                outputs: vec![
                    output("the key", &Enclosure::clone),
                    output("nothing", &|kept| Enclosure::one(BITS).minus(kept)),
                ],
            }
        })
        .collect();
    audit.exactly(audit.approx(), &pairs)
}

/// Which of three counts is selected, for all small counts, where one unit moves them in this way and the mechanism
/// assumes another.
pub(super) fn top_pairs(audit: &Audit<'_>, moves: Moves, assumed: Moves) -> Result<Vec<Pair>> {
    const COUNTS: i64 = 3;
    let largest = Top::new(1, 1, assumed, &audit.request.epsilon)?;
    let tables = || (0..COUNTS.pow(3)).map(|code| [code % COUNTS, code / COUNTS % COUNTS, code / COUNTS / COUNTS]);
    let by = |first: &[i64; 3], second: &[i64; 3]| [0, 1, 2].map(|place| second[place] - first[place]);
    let is_move = |by: [i64; 3]| match moves {
        Moves::OneWay => by.iter().all(|by| (0..=1).contains(by)) || by.iter().all(|by| (-1..=0).contains(by)),
        Moves::AnyWay => by.iter().all(|by| by.abs() <= 1),
    };
    let pair = |first: [i64; 3], second: [i64; 3]| {
        let laws = largest.first_selected(&first, BITS).into_iter().zip(largest.first_selected(&second, BITS));
        let output = |(place, (first, second))| Output { label: format!("count {place}"), first, second };
        Pair { inputs: format!("{first:?} and {second:?}"), outputs: (1..).zip(laws).map(output).collect() }
    };
    let pairs = tables().flat_map(|first| tables().map(move |second| (first, second)));
    Ok(pairs.filter(|(first, second)| is_move(by(first, second))).map(|(first, second)| pair(first, second)).collect())
}

fn quantile(audit: &Audit<'_>, adjacency: Adjacency) -> Result<Report> {
    let median = Quantile::new(&Rational::new(1, 2)?, 0, 15, adjacency, &audit.request.epsilon)?;
    let (first, second) = match adjacency {
        Adjacency::AddRemove => (vec![2, 4, 9], vec![2, 4, 9, 15]),
        Adjacency::Replace => (vec![2, 4, 9], vec![15, 4, 9]),
    };
    audit.empirically(audit.pure(), |input, permit| {
        let table = if input == Input::First { &first } else { &second };
        let Estimate { value, lower, upper } = median.release(table, permit)?.into_value();
        Ok(format!("{value} ({lower}..{upper})"))
    })
}

/// All tables of up to three values within 0..7 and their neighbours, with the points drawn for one adjacency and this
/// many times the ε. (Fractions that split equal values do not depend on them, and are left out.)
pub(super) fn quantiles(
    audit: &Audit<'_>,
    adjacency: Adjacency,
    assumed: Adjacency,
    factor: &Rational,
) -> Result<Report> {
    const HIGHEST: i64 = 7;
    let ps = [(1, 5), (1, 2), (4, 5)].map(|(a, b)| Rational::new(a, b));
    let ps = ps.into_iter().collect::<Result<Vec<_>>>()?;
    let targets = targets(&ps, assumed, &(audit.request.epsilon.value() * factor));
    // Every table has the same outcomes: all points in ascending order.
    let mut known = BTreeMap::new();
    let mut law_of = |rest: &[i64], value: Option<i64>| {
        let mut table: Vec<i64> = rest.iter().copied().chain(value).collect();
        table.sort_unstable();
        let law = known.entry(table.clone()).or_insert_with(|| law(&targets, &table, HIGHEST, 0, BITS));
        (table, law.clone())
    };
    let two = (0..=HIGHEST).flat_map(|one| (one..=HIGHEST).map(move |other| vec![one, other]));
    let rests = two.chain((0..=HIGHEST).map(|one| vec![one])).chain([Vec::new()]);
    let mut pairs = Vec::new();
    for rest in rests {
        for value in 0..=HIGHEST {
            let before = match adjacency {
                Adjacency::AddRemove => vec![None],
                Adjacency::Replace => (0..value).map(Some).collect(),
            };
            for before in before {
                let ((first, law), (second, other)) = (law_of(&rest, before), law_of(&rest, Some(value)));
                let output = |((points, first), second): ((Vec<i64>, _), _)| Output {
                    label: format!("the points {points:?}"),
                    first,
                    second,
                };
                let outputs = law.into_iter().zip(other.into_values()).map(output).collect();
                pairs.push(Pair { inputs: format!("{first:?} and {second:?}"), outputs });
            }
        }
    }
    audit.exactly(audit.pure(), &pairs)
}

fn per_group_quantile(audit: &Audit<'_>) -> Result<Report> {
    let unit = Contribution::in_groups(Adjacency::AddRemove, 2, Rows::AtMost(1))?;
    let medians = PerGroup::quantiles(&[Rational::new(1, 2)?], 0, 7, &unit, &audit.request.epsilon)?;
    let groups = |extra: Option<i64>| [[1, 2], [2, 4]].map(|group| group.into_iter().chain(extra).collect::<Vec<_>>());
    let (first, second) = (groups(None), groups(Some(7)));
    audit.empirically(audit.pure(), |input, permit| {
        let released = medians.release(if input == Input::First { &first } else { &second }, permit)?.into_value();
        let medians =
            released.iter().flatten().map(|Estimate { value, lower, upper }| format!("{value} ({lower}..{upper})"));
        Ok(medians.collect::<Vec<_>>().join(", "))
    })
}

fn range(audit: &Audit<'_>) -> Result<Report> {
    let one_row = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1))?;
    let mechanism = ApproxBounds::new(&one_row, &audit.request.epsilon)?;
    let values = |rows: u64| ApproxBounds::count((0..rows).map(|_| Some(3.0)));
    // In one place all rows support it: 11.25 of 14.25 nats with half as many as are enough.
    let undecided = mechanism.enough() * 2 / 5;
    let (first, second) = (values(undecided), values(undecided + 1));
    audit.empirically(audit.pure(), |input, permit| {
        let counts = if input == Input::First { &first } else { &second };
        let found = mechanism.release(counts, permit)?.released();
        Ok(found.map_or("refused".to_owned(), |found| found.into_value().bounds.to_string()))
    })
}

/// Where bounds end on a ladder of three places on one side of 0 and one on the other, for all small tables, where a row
/// is added or moved and the mechanism assumes another adjacency.
pub(super) fn range_pairs(audit: &Audit<'_>, adjacency: Adjacency, assumed: Adjacency) -> Result<Vec<Pair>> {
    const COUNTS: i64 = 3;
    let unit = Contribution::overall(assumed, Rows::AtMost(1))?;
    let choice = EndChoice::new(unit.of_histogram()?.l1()?, &audit.request.epsilon, 2, 30)?;
    let tables = (0..COUNTS.pow(4)).map(|code| [0, 1, 2, 3].map(|place| code / COUNTS.pow(place) % COUNTS));
    let law = |table: [i64; 4]| -> Vec<(String, Enclosure)> {
        let (above, below) = (choice.law(&table[..3], BITS), choice.law(&table[3..], BITS));
        let name = |place: usize, of: usize| if place < of { format!("place {}", place + 1) } else { "none".into() };
        let joint = |(one, mass): (usize, &Enclosure)| {
            let label = |other: usize| format!("{} above, {} below", name(one, 3), name(other, 1));
            below.iter().enumerate().map(|(other, more)| (label(other), mass.times(more, BITS))).collect::<Vec<_>>()
        };
        above.iter().enumerate().flat_map(joint).collect()
    };
    let laws: Vec<_> = tables.map(|table| (table, law(table))).collect();
    let is_neighbour = |first: &[i64; 4], second: &[i64; 4]| {
        let mut by = [0, 1, 2, 3].map(|place| second[place] - first[place]);
        by.sort_unstable();
        by == [0, 0, 0, 1] || adjacency == Adjacency::Replace && by == [-1, 0, 0, 1]
    };
    let mut pairs = Vec::new();
    for (first, one) in &laws {
        for (second, other) in laws.iter().filter(|(second, _)| is_neighbour(first, second)) {
            let output = |((label, first), (_, second)): (&(String, Enclosure), &(String, Enclosure))| Output {
                label: label.clone(),
                first: first.clone(),
                second: second.clone(),
            };
            let outputs = one.iter().zip(other).map(output).collect();
            pairs.push(Pair { inputs: format!("{first:?} and {second:?}"), outputs });
        }
    }
    Ok(pairs)
}
