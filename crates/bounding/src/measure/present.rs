//! How many rows have a value.

use super::{Measured, State};
use crate::cells::Cells;
use crate::error::Result;
use crate::feature::MISSING;
use crate::memory::Memory;

pub struct Present {
    counts: Cells<i64>,
}

impl Present {
    pub fn new(memory: &Memory) -> Self {
        Self { counts: Cells::new(memory) }
    }

    pub fn resize(&mut self, groups: usize) -> Result<()> {
        self.counts.grow(groups)
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32], weights: impl Iterator<Item = i64>) {
        for ((&group, &value), weight) in groups.iter().zip(feature).zip(weights) {
            self.counts[group as usize] += if value == MISSING { 0 } else { weight };
        }
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32]) {
        self.counts.absorb(&other.counts, groups);
    }

    pub fn finish(&self, groups: &[u32]) -> Vec<Measured> {
        groups.iter().map(|&group| Measured::Count(self.counts[group as usize])).collect()
    }

    pub fn state(&self) -> State {
        State::Present(self.counts.to_vec())
    }

    pub fn restore(&mut self, counts: &[i64]) -> bool {
        self.counts.restore(counts)
    }
}
