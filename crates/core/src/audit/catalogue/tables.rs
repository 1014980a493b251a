//! Histograms, sums, means and variances of small tables.

use super::noise::mass;
use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::audit::exact::{BITS, Output, Pair};
use crate::error::Result;
use crate::mechanism::{Batch, BoundedMean, BoundedVariance, Laplace, Part};
use crate::noise::{DiscreteLaplace, Law};
use crate::privacy::Adjacency;
use crate::statistic::{Bounds, Contribution, Grid, Rows};

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "histogram",
        summary: "counts of two known keys; one row added to the first",
        is_exact: true,
        audit: |audit| histogram(audit, Adjacency::AddRemove),
    },
    Subject {
        name: "histogram-replace",
        summary: "counts of two known keys; one row moved from the first to the second",
        is_exact: true,
        audit: |audit| histogram(audit, Adjacency::Replace),
    },
    Subject {
        name: "batch",
        summary: "count and sum of two groups at once; one unit added, with a row in each",
        is_exact: true,
        audit: batch,
    },
    Subject {
        name: "sum",
        summary: "the sum of a column within -2..3; one row of 3 added",
        is_exact: false,
        audit: sum,
    },
    Subject {
        name: "mean",
        summary: "count, sum and mean of a column within 0..10; one row replaced, 0 by 10",
        is_exact: false,
        audit: mean,
    },
    Subject {
        name: "variance",
        summary: "mean and variance of a column within 0..10; one row of 10 added",
        is_exact: false,
        audit: variance,
    },
];

fn histogram(audit: &Audit<'_>, adjacency: Adjacency) -> Result<Report> {
    let contribution = Contribution::in_groups(adjacency, 1, Rows::AtMost(1))?;
    let mechanism = Laplace::new(contribution.of_count()?.l1()?, &audit.request.epsilon)?;
    let second = match adjacency {
        Adjacency::AddRemove => [3, 2],
        Adjacency::Replace => [1, 3],
    };
    audit.exactly(audit.pure(), &[histogram_pair(mechanism.noise(), [2, 2], second)])
}

/// Outputs around two histograms of two cells.
pub(super) fn histogram_pair(noise: &DiscreteLaplace, first: [i64; 2], second: [i64; 2]) -> Pair {
    const REACH: i64 = 12;
    let outputs = (-REACH..=REACH).flat_map(|a| (-REACH..=REACH).map(move |b| [a, b]));
    let masses: Vec<_> = (0..=2 * REACH).map(|k| noise.mass(k, BITS)).collect();
    let mass = |cells: [i64; 2], output: [i64; 2]| {
        let one = |place: usize| &masses[(output[place] - cells[place]).unsigned_abs() as usize];
        one(0).times(one(1), BITS)
    };
    let outputs = outputs.map(|output| Output {
        label: format!("output = {output:?}"),
        first: mass(first, output),
        second: mass(second, output),
    });
    Pair { inputs: format!("{first:?} and {second:?}"), outputs: outputs.collect() }
}

/// One row of 0 or 1 in each of two groups.
fn batch(audit: &Audit<'_>) -> Result<Report> {
    let unit = Contribution::in_groups(Adjacency::AddRemove, 2, Rows::AtMost(1))?;
    let part = |sensitivity| Part { sensitivity, weight: 1 };
    let batch = Batch::new(&[part(unit.of_count()?), part(unit.of_values(0, 1)?)], &audit.pure())?;
    audit.exactly(audit.pure(), &[batch_pair(&[batch.noise(0), batch.noise(1)])])
}

/// Outputs around two empty groups and two with a row of 1: counts with the first noise, sums with the second.
pub(super) fn batch_pair(noises: &[&Law; 2]) -> Pair {
    // Beyond these the ratio of the two laws no longer changes.
    const SHOWN: [i64; 4] = [-1, 0, 1, 2];
    let masses: Vec<Vec<_>> = noises.map(|noise| (0..=2).map(|k| mass(noise, k)).collect()).into();
    let law = |added: i64, output: &[i64]| {
        let one = |place: usize| &masses[place / 2][(output[place] - added).unsigned_abs() as usize];
        one(0).times(one(1), BITS).times(&one(2).times(one(3), BITS), BITS)
    };
    let outputs = (0..SHOWN.len().pow(4)).map(|code| {
        let output: Vec<i64> = (0..4).map(|place| SHOWN[code / SHOWN.len().pow(place) % SHOWN.len()]).collect();
        let label = format!("counts {:?}, sums {:?}", &output[..2], &output[2..]);
        Output { label, first: law(0, &output), second: law(1, &output) }
    });
    Pair { inputs: "empty groups and one row in each".into(), outputs: outputs.collect() }
}

fn overall(adjacency: Adjacency) -> Result<Contribution> {
    Contribution::overall(adjacency, Rows::AtMost(1))
}

fn sum(audit: &Audit<'_>) -> Result<Report> {
    let grid = Grid::new(&"-2..3".parse::<Bounds>()?);
    let mechanism = Laplace::new(overall(Adjacency::AddRemove)?.of_sum(&grid)?.l1()?, &audit.request.epsilon)?;
    let column = [Some(-2.0), None, Some(1.5), Some(f64::NAN)];
    let (first, second) = (grid.sum(column), grid.sum(column.into_iter().chain([Some(3.0)])));
    audit.empirically(audit.pure(), |input, permit| {
        Ok(mechanism.release(if input == Input::First { first } else { second }, permit)?.into_value())
    })
}

fn mean(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = BoundedMean::new(&"0..10".parse()?, &overall(Adjacency::Replace)?, &audit.request.epsilon)?;
    audit.empirically(audit.pure(), |input, permit| {
        let moved = if input == Input::First { 0.0 } else { 10.0 };
        let released = mechanism.release([Some(5.0), Some(moved)], permit)?.into_value();
        // The sum reveals most about the replaced row; thousandths keep the number of different outputs small.
        Ok((1000.0 * released.sum) as i64)
    })
}

fn variance(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = BoundedVariance::new(&"0..10".parse()?, &overall(Adjacency::AddRemove)?, &audit.request.epsilon)?;
    audit.empirically(audit.pure(), |input, permit| {
        let extra = (input == Input::Second).then_some(Some(10.0));
        let released = mechanism.release([Some(5.0), Some(4.0)].into_iter().chain(extra), permit)?.into_value();
        // Count, mean and variance as one number, coarsely: an adversary would look at them together.
        let class = |value: f64, width: f64| (value / width) as i64;
        Ok(released.count * 1000 + class(released.mean, 2.0) * 100 + class(released.variance, 5.0))
    })
}
