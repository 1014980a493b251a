//! The measurements before noise: for tests that compare neighbouring tables. **Not private.**

use reticent_bounding::{Groups, Measured};

use super::Design;
use super::contribution::UnitContribution;
use super::draw::numbers;
use crate::algebra::column::cell;
use crate::error::Result;

/// Everything that noise is added to or drawn from.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// The groups' keys, as text.
    pub keys: Vec<String>,
    /// The number of units in each group, from which keys are selected, and the most that one unit moves them in total.
    pub units: (Vec<u64>, u64),
    /// Numbers, by part.
    pub parts: Vec<ExactPart>,
    /// The vectors that get one draw of noise each: all numbers, how many there are in each group, and the most that one unit
    /// moves them, the largest of each group added up.
    pub boxed: (Vec<i64>, usize, u64),
    /// Values that are ranked or compared, by measure and group, and the most that one unit adds and removes.
    pub values: (Vec<Vec<Vec<String>>>, u64),
}

/// The exact numbers of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactPart {
    /// What they are.
    pub words: String,
    /// The most that one unit can move them: L1.
    pub l1: u64,
    /// The same in L2, squared.
    pub l2_squared: u128,
    /// For each group, one or several.
    pub numbers: Vec<i64>,
}

/// Collects all of it.
pub(crate) fn exact(design: &Design, touched: &UnitContribution, groups: &Groups) -> Result<Exact> {
    let key = |row: usize| {
        let columns = groups.keys.iter().map(|column| cell(column, row).to_string());
        columns.collect::<Vec<_>>().join("|")
    };
    let mut parts = Vec::new();
    for paid in &design.additive {
        let (l1, l2_squared) = (paid.sensitivity.l1()?, paid.sensitivity.l2_squared()?);
        let numbers = numbers(&paid.part, &groups.groups);
        parts.push(ExactPart { words: paid.words.clone(), l1, l2_squared, numbers });
    }
    let listed = |measured: &Measured| match measured {
        Measured::Values(values) => values.iter().map(ToString::to_string).collect(),
        Measured::Items { values, counts } => {
            let text = |row: usize| cell(values, row).to_string();
            counts.iter().enumerate().flat_map(|(row, &count)| (0..count).map(move |_| row)).map(text).collect()
        }
        _ => Vec::new(),
    };
    let measures = (0..design.measures.len())
        .map(|place| groups.groups.iter().map(|group| listed(&group.measured[place])).collect())
        .collect();
    Ok(Exact {
        keys: (0..groups.groups.len()).map(key).collect(),
        units: (groups.groups.iter().map(|group| group.units).collect(), touched.bins_of_units()?.l1()?),
        parts,
        boxed: design.noise.boxed.as_ref().map_or((Vec::new(), 0, 0), |boxed| {
            (boxed.exact(&groups.groups), boxed.coordinates(), boxed.sensitivity())
        }),
        values: (measures, touched.in_groups().changed_rows()?),
    })
}
