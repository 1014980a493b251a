//! Counts per bin.

use reticent::mechanism::range::BINS as MAGNITUDES;
use reticent::statistic::Grid;

use super::{Measured, State};
use crate::feature::MISSING;

pub struct Bins {
    division: Division,
    bins: usize,
    /// Those of one group after those of another.
    counts: Vec<i64>,
}

/// What features say of bins.
enum Division {
    /// A feature that is there is in the only bin.
    Present,
    /// Steps of a grid, whose range is divided.
    Grid(Grid),
    /// They are bins.
    Magnitudes,
}

impl Bins {
    pub fn of_present() -> Self {
        Self::new(Division::Present, 1)
    }

    pub fn of_grid(grid: &Grid, bins: u32) -> Self {
        Self::new(Division::Grid(grid.clone()), bins as usize)
    }

    pub fn of_magnitudes() -> Self {
        Self::new(Division::Magnitudes, MAGNITUDES)
    }

    fn new(division: Division, bins: usize) -> Self {
        Self { division, bins, counts: Vec::new() }
    }

    pub fn resize(&mut self, groups: usize) {
        self.counts.resize(groups * self.bins, 0);
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32]) {
        let rows = groups.iter().zip(feature);
        match &self.division {
            Division::Present => {
                rows.for_each(|(&group, &value)| self.counts[group as usize] += i64::from(value != MISSING));
            }
            Division::Magnitudes => {
                for (&group, &bin) in rows.filter(|&(_, &value)| value != MISSING) {
                    self.counts[group as usize * self.bins + bin as usize] += 1;
                }
            }
            Division::Grid(grid) => {
                // The range is divided evenly, and the upper end belongs to the last bin. Products are below 2^29 · 2^32.
                let bin =
                    |steps: i32| (i64::from(steps) - grid.lower()) * self.bins as i64 / (grid.upper() - grid.lower());
                for (&group, &steps) in rows.filter(|&(_, &value)| value != MISSING) {
                    self.counts[group as usize * self.bins + (bin(steps) as usize).min(self.bins - 1)] += 1;
                }
            }
        }
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32]) {
        for (&group, counts) in groups.iter().zip(other.counts.chunks_exact(self.bins)) {
            let from = group as usize * self.bins;
            self.counts[from..from + self.bins].iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    pub fn finish(self) -> Vec<Measured> {
        match self.division {
            Division::Present => self.counts.into_iter().map(Measured::Count).collect(),
            _ => self.counts.chunks_exact(self.bins).map(|counts| Measured::Bins(counts.to_vec())).collect(),
        }
    }

    pub fn state(&self) -> State {
        State::Bins(self.counts.clone())
    }

    pub fn restore(&mut self, counts: Vec<i64>) -> bool {
        let fits = counts.len() == self.counts.len();
        self.counts = counts;
        fits
    }

    pub fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}
