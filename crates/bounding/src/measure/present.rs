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

    pub fn add(&mut self, groups: &[u32], feature: &[i32]) {
        let rows = groups.iter().zip(feature);
        rows.for_each(|(&group, &value)| self.counts[group as usize] += i64::from(value != MISSING));
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32]) {
        self.counts.absorb(&other.counts, groups);
    }

    pub fn finish(&self) -> Vec<Measured> {
        self.counts.iter().copied().map(Measured::Count).collect()
    }

    pub fn state(&self) -> State {
        State::Present(self.counts.to_vec())
    }

    pub fn restore(&mut self, counts: &[i64]) -> bool {
        self.counts.restore(counts)
    }
}
