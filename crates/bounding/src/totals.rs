//! All accumulators together.

use serde::{Deserialize, Serialize};

use crate::feature::Items;
use crate::layout::Layout;
use crate::measure::{Accumulator, Measured, State};

/// Units, rows and measures of all groups.
pub(crate) struct Totals {
    units: Vec<u64>,
    rows: Vec<u64>,
    /// Each with the feature it reads.
    measures: Vec<(usize, Accumulator)>,
    /// Every row is a unit of its own, and units are not counted.
    unit_is_row: bool,
}

/// Other numbers for groups and items.
pub(crate) struct Renumbering {
    pub groups: Vec<u32>,
    /// By feature, for those that are items.
    pub items: Vec<Option<Vec<u32>>>,
}

/// What was measured, by number of the group.
pub(crate) struct Finished {
    pub units: Vec<u64>,
    pub rows: Vec<u64>,
    /// By measure.
    pub measured: Vec<Vec<Measured>>,
}

/// Totals in the form in which they are sent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sums {
    units: Vec<u64>,
    rows: Vec<u64>,
    measures: Vec<State>,
}

impl Totals {
    /// `read` says which feature each measure reads.
    pub fn new(layout: &Layout, read: &[usize]) -> Self {
        let measures = read.iter().copied().zip(layout.measures.iter().map(Accumulator::new)).collect();
        Self { units: Vec::new(), rows: Vec::new(), measures, unit_is_row: !layout.unit }
    }

    pub fn resize(&mut self, groups: usize) {
        if groups != self.rows.len() {
            if !self.unit_is_row {
                self.units.resize(groups, 0);
            }
            self.rows.resize(groups, 0);
            self.measures.iter_mut().for_each(|(_, measure)| measure.resize(groups));
        }
    }

    /// Adds rows: the group of each, and its features.
    pub fn add(&mut self, groups: &[u32], features: &[Vec<i32>]) {
        groups.iter().for_each(|&group| self.rows[group as usize] += 1);
        self.measures.iter_mut().for_each(|(feature, measure)| measure.add(groups, &features[*feature]));
    }

    /// Adds a unit to each of these groups.
    pub fn add_units(&mut self, groups: &[u32]) {
        groups.iter().for_each(|&group| self.units[group as usize] += 1);
    }

    /// Adds the totals of another worker, whose groups and items are renumbered.
    pub fn absorb(&mut self, other: Self, numbers: &Renumbering) {
        let add = |sums: &mut [u64], more: &[u64]| {
            numbers.groups.iter().zip(more).for_each(|(&group, more)| sums[group as usize] += more);
        };
        add(&mut self.units, &other.units);
        add(&mut self.rows, &other.rows);
        for ((feature, measure), (_, other)) in self.measures.iter_mut().zip(other.measures) {
            measure.absorb(other, &numbers.groups, numbers.items[*feature].as_deref());
        }
    }

    pub fn finish(self, items: &Items) -> Finished {
        let finish = |(feature, measure): (usize, Accumulator)| measure.finish(items[feature].as_ref());
        let units = if self.unit_is_row { self.rows.clone() } else { self.units };
        Finished { units, rows: self.rows, measured: self.measures.into_iter().map(finish).collect() }
    }

    pub fn state(&self) -> Sums {
        let measures = self.measures.iter().map(|(_, measure)| measure.state()).collect();
        Sums { units: self.units.clone(), rows: self.rows.clone(), measures }
    }

    /// Replaces the totals by a state; `false` if it does not fit this many groups and these items.
    pub fn restore(&mut self, sums: Sums, groups: usize, items: &Items) -> bool {
        self.resize(groups);
        let fits = sums.rows.len() == groups && sums.units.len() == self.units.len();
        let mut fits = fits && sums.measures.len() == self.measures.len();
        for ((feature, measure), state) in self.measures.iter_mut().zip(sums.measures) {
            fits &= measure.restore(state, groups, items[*feature].as_ref().map_or(0, |items| items.len()));
        }
        (self.units, self.rows) = (sums.units, sums.rows);
        fits
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        let counts = (self.units.capacity() + self.rows.capacity()) * size_of::<u64>();
        counts + self.measures.iter().map(|(_, measure)| measure.bytes()).sum::<usize>()
    }
}

impl Renumbering {
    /// The same numbers.
    pub fn none(groups: usize, items: &Items) -> Self {
        let same = |count: usize| (0..count as u32).collect::<Vec<u32>>();
        let items = items.iter().map(|items| items.as_ref().map(|items| same(items.len()))).collect();
        Self { groups: same(groups), items }
    }
}
