//! Counts per bin.

use reticent::mechanism::range::BINS as MAGNITUDES;
use reticent::statistic::Grid;

use super::{Measured, State};
use crate::cells::Cells;
use crate::error::Result;
use crate::feature::MISSING;
use crate::memory::Memory;

/// Only groups with a value have counts: a row in another group costs as much memory as its key, not as all of its
/// bins.
pub struct Bins {
    division: Division,
    bins: usize,
    /// For each group, its index among those with counts, from 1; 0 if it has none.
    places: Cells<u32>,
    /// The number of groups with counts.
    filled: u32,
    /// The counts of one group after those of another.
    counts: Cells<i64>,
}

/// How features map to bins.
enum Division {
    /// Grid steps; the grid's range is divided.
    Grid(Grid),
    /// The features are bins.
    Magnitudes,
}

impl Bins {
    pub fn of_grid(grid: &Grid, bins: u32, memory: &Memory) -> Self {
        Self::new(Division::Grid(grid.clone()), bins as usize, memory)
    }

    pub fn of_magnitudes(memory: &Memory) -> Self {
        Self::new(Division::Magnitudes, MAGNITUDES, memory)
    }

    fn new(division: Division, bins: usize, memory: &Memory) -> Self {
        Self { division, bins, places: Cells::new(memory), filled: 0, counts: Cells::new(memory) }
    }

    pub fn bins(&self) -> usize {
        self.bins
    }

    pub fn resize(&mut self, groups: usize) -> Result<()> {
        self.places.grow(groups)
    }

    /// Makes room for the counts of these groups.
    fn fill(&mut self, groups: impl Iterator<Item = u32>) -> Result<()> {
        for group in groups {
            let place = &mut self.places[group as usize];
            if *place == 0 {
                self.filled += 1;
                *place = self.filled;
            }
        }
        self.counts.grow((self.filled as usize).saturating_mul(self.bins))
    }

    pub fn prepare(&mut self, groups: &[u32], feature: &[i32]) -> Result<()> {
        let rows = groups.iter().zip(feature);
        self.fill(rows.filter(|&(_, &value)| value != MISSING).map(|(&group, _)| group))
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32], weights: impl Iterator<Item = i64>) {
        let Self { division, bins, places, counts, .. } = self;
        let first = |group: u32| (places[group as usize] as usize - 1) * *bins;
        let rows = groups.iter().zip(feature).zip(weights).filter(|&((_, &value), _)| value != MISSING);
        match division {
            Division::Magnitudes => {
                rows.for_each(|((&group, &bin), weight)| counts[first(group) + bin as usize] += weight);
            }
            Division::Grid(grid) => {
                // The range is divided evenly, and the upper end belongs to the last bin. Products are below 2^29 ·
                // 2^32.
                let bin = |steps: i32| (i64::from(steps) - grid.lower()) * *bins as i64 / (grid.upper() - grid.lower());
                for ((&group, &steps), weight) in rows {
                    counts[first(group) + (bin(steps) as usize).min(*bins - 1)] += weight;
                }
            }
        }
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
        let filled = || groups.iter().zip(other.places.iter()).filter(|&(_, &place)| place > 0);
        self.fill(filled().map(|(&group, _)| group))?;
        for (&group, &place) in filled() {
            let (from, more) = (self.range(self.places[group as usize]), self.range(place));
            self.counts[from].iter_mut().zip(&other.counts[more]).for_each(|(sum, count)| *sum += count);
        }
        Ok(())
    }

    /// Where the counts of a group are.
    fn range(&self, place: u32) -> std::ops::Range<usize> {
        let end = place as usize * self.bins;
        end - self.bins..end
    }

    pub fn finish(&self, groups: &[u32]) -> Vec<Measured> {
        let counts = |&group: &u32| match self.places[group as usize] {
            0 => vec![0; self.bins],
            place => self.counts[self.range(place)].to_vec(),
        };
        groups.iter().map(counts).map(Measured::Bins).collect()
    }

    pub fn state(&self) -> State {
        let mut groups = vec![0; self.filled as usize];
        for (group, &place) in (0..).zip(self.places.iter()).filter(|&(_, &place)| place > 0) {
            groups[place as usize - 1] = group;
        }
        State::Bins { groups, counts: self.counts.to_vec() }
    }

    pub fn restore(&mut self, groups: &[u32], counts: &[i64]) -> Result<bool> {
        if groups.iter().any(|&group| group as usize >= self.places.len())
            || groups.len().checked_mul(self.bins) != Some(counts.len())
        {
            return Ok(false);
        }
        self.fill(groups.iter().copied())?;
        // Otherwise a group occurs twice.
        Ok(self.counts.restore(counts))
    }

    /// What this many groups take if all of them have counts.
    pub fn most_bytes(&self, groups: usize) -> usize {
        groups.saturating_mul(self.bins.saturating_mul(size_of::<i64>()).saturating_add(size_of::<u32>()))
    }
}
