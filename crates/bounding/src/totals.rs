//! All accumulators together.

use serde::{Deserialize, Serialize};

use crate::cells::Cells;
use crate::error::Result;
use crate::feature::Items;
use crate::layout::Layout;
use crate::measure::{Accumulator, Measured, State};
use crate::memory::Memory;

/// Units, rows and measures of all groups.
pub(crate) struct Totals {
    units: Cells<u64>,
    rows: Cells<u64>,
    /// Each with the feature it reads.
    measures: Vec<(usize, Accumulator)>,
    /// Whether every row is its own unit, and units are not counted.
    unit_is_row: bool,
}

/// New numbers for groups and items.
pub(crate) struct Renumbering {
    pub groups: Vec<u32>,
    /// By feature, for those that are items.
    pub items: Vec<Option<Vec<u32>>>,
}

/// The measurements of some groups.
pub(crate) struct Finished {
    pub units: Vec<u64>,
    pub rows: Vec<u64>,
    /// By measure.
    pub measured: Vec<Vec<Measured>>,
}

/// The serialised form of totals.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sums {
    units: Vec<u64>,
    rows: Vec<u64>,
    measures: Vec<State>,
}

impl Totals {
    /// `read` is the index of the feature that each measure reads.
    pub fn new(layout: &Layout, read: &[usize], memory: &Memory) -> Self {
        let measures = layout.measures.iter().map(|measure| Accumulator::new(measure, memory));
        let measures = read.iter().copied().zip(measures).collect();
        Self { units: Cells::new(memory), rows: Cells::new(memory), measures, unit_is_row: !layout.unit }
    }

    /// Makes room for this many groups.
    pub fn resize(&mut self, groups: usize) -> Result<()> {
        if !self.unit_is_row {
            self.units.grow(groups)?;
        }
        self.rows.grow(groups)?;
        self.measures.iter_mut().try_for_each(|(_, measure)| measure.resize(groups))
    }

    /// Makes room for the rows that are added next. On error no row has been added, and it can be retried.
    pub fn prepare(&mut self, groups: &[u32], features: &[Vec<i32>]) -> Result<()> {
        self.measures.iter_mut().try_for_each(|(feature, measure)| measure.prepare(groups, &features[*feature]))
    }

    /// Adds rows for which there is room: the group of each, and its features.
    pub fn add(&mut self, groups: &[u32], features: &[Vec<i32>]) {
        self.add_weighted(groups, features, std::iter::repeat(1), std::iter::repeat(1));
    }

    /// The same, with the weight of each where rows are counted, and where their values are added up.
    pub fn add_weighted<Weights: Iterator<Item = i64> + Clone>(
        &mut self,
        groups: &[u32],
        features: &[Vec<i32>],
        counted: Weights,
        added: Weights,
    ) {
        groups.iter().zip(counted.clone()).for_each(|(&group, weight)| self.rows[group as usize] += weight as u64);
        for (feature, measure) in &mut self.measures {
            let weights = if measure.adds_values() { added.clone() } else { counted.clone() };
            measure.add(groups, &features[*feature], weights);
        }
    }

    /// Adds a unit to each of these groups.
    pub fn add_units(&mut self, groups: &[u32]) {
        self.add_weighted_units(groups, std::iter::repeat(1));
    }

    /// The same, with the weight of each.
    pub fn add_weighted_units(&mut self, groups: &[u32], weights: impl Iterator<Item = u64>) {
        groups.iter().zip(weights).for_each(|(&group, weight)| self.units[group as usize] += weight);
    }

    /// Adds the totals of another worker, whose groups and items are renumbered.
    pub fn absorb(&mut self, other: Self, numbers: &Renumbering) -> Result<()> {
        self.units.absorb(&other.units, &numbers.groups);
        self.rows.absorb(&other.rows, &numbers.groups);
        for ((feature, measure), (_, other)) in self.measures.iter_mut().zip(other.measures) {
            measure.absorb(other, &numbers.groups, numbers.items[*feature].as_deref())?;
        }
        Ok(())
    }

    /// Whether each group has a unit. The rows of a unit with very many of them may weigh nothing, but its presence does
    /// not: whether its group is there must not depend on whether another unit has rows in it.
    pub fn occupied(&self) -> impl Iterator<Item = bool> {
        let units = self.units.iter().copied().chain(std::iter::repeat(0));
        self.rows.iter().zip(units).map(|(&rows, units)| rows > 0 || units > 0)
    }

    /// The measurements of these groups, in their order.
    pub fn finish(self, items: &Items, groups: &[u32]) -> Finished {
        let finish = |(feature, measure): (usize, Accumulator)| measure.finish(items[feature].as_ref(), groups);
        let of = |numbers: &[u64]| groups.iter().map(|&group| numbers[group as usize]).collect::<Vec<_>>();
        let rows = of(&self.rows);
        let units = if self.unit_is_row { rows.clone() } else { of(&self.units) };
        Finished { units, rows, measured: self.measures.into_iter().map(finish).collect() }
    }

    pub fn state(&self) -> Sums {
        let measures = self.measures.iter().map(|(_, measure)| measure.state()).collect();
        Sums { units: self.units.to_vec(), rows: self.rows.to_vec(), measures }
    }

    /// Replaces empty totals by a state; `false` if it does not match this many groups and these items.
    pub fn restore(&mut self, sums: Sums, groups: usize, items: &Items) -> Result<bool> {
        self.resize(groups)?;
        let fits = self.rows.restore(&sums.rows) && self.units.restore(&sums.units);
        let mut fits = fits && sums.measures.len() == self.measures.len();
        for ((feature, measure), state) in self.measures.iter_mut().zip(sums.measures) {
            fits &= measure.restore(state, items[*feature].as_ref().map_or(0, |items| items.len()))?;
        }
        Ok(fits)
    }

    /// What this many groups reserve, if all of them have values.
    pub fn most_bytes(&self, groups: usize) -> usize {
        let counts = groups.saturating_mul(2 * size_of::<u64>());
        self.measures.iter().fold(counts, |sum, (_, measure)| sum.saturating_add(measure.most_bytes(groups)))
    }

    /// The bytes of texts in the result.
    pub fn text_bytes(&self, items: &Items) -> usize {
        self.measures.iter().map(|(feature, measure)| measure.text_bytes(items[*feature].as_ref())).sum()
    }

    /// How many numbers the result has for each group, where the query determines it.
    pub fn width(&self) -> usize {
        self.measures.iter().map(|(_, measure)| measure.width()).sum()
    }
}

impl Renumbering {
    /// The identity: all numbers stay the same.
    pub fn none(groups: usize, items: &Items) -> Self {
        let same = |count: usize| (0..count as u32).collect::<Vec<u32>>();
        let items = items.iter().map(|items| items.as_ref().map(|items| same(items.len()))).collect();
        Self { groups: same(groups), items }
    }
}
