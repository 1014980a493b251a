//! All values on a grid.

use super::{Measured, State, offsets};
use crate::cells::Cells;
use crate::error::Result;
use crate::feature::MISSING;
use crate::memory::Memory;

pub struct Steps {
    groups: usize,
    /// Group and steps of every row, in order of arrival, and room for more.
    rows: Cells<(u32, i32)>,
    /// The number of rows.
    filled: usize,
}

impl Steps {
    pub fn new(memory: &Memory) -> Self {
        Self { groups: 0, rows: Cells::new(memory), filled: 0 }
    }

    pub fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    /// Makes room for as many rows.
    pub fn prepare(&mut self, rows: usize) -> Result<()> {
        self.rows.grow(self.filled.saturating_add(rows))
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32]) {
        let present = |&(_, steps): &(u32, i32)| steps != MISSING;
        self.fill(groups.iter().copied().zip(feature.iter().copied()).filter(present));
    }

    /// Adds rows for which there is room.
    fn fill(&mut self, rows: impl Iterator<Item = (u32, i32)>) {
        for row in rows {
            self.rows[self.filled] = row;
            self.filled += 1;
        }
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
        self.prepare(other.filled)?;
        self.fill(other.rows().iter().map(|&(group, steps)| (groups[group as usize], steps)));
        Ok(())
    }

    fn rows(&self) -> &[(u32, i32)] {
        &self.rows[..self.filled]
    }

    pub fn finish(&self, groups: &[u32]) -> Vec<Measured> {
        let mut counts = vec![0; self.groups];
        self.rows().iter().for_each(|&(group, _)| counts[group as usize] += 1);
        let offsets = offsets(&counts);
        let mut next = offsets.clone();
        let mut all = vec![0; self.filled];
        for &(group, steps) in self.rows() {
            let place = &mut next[group as usize];
            all[*place] = steps;
            *place += 1;
        }
        let sorted = |&group: &u32| {
            let steps = &mut all[offsets[group as usize]..offsets[group as usize + 1]];
            steps.sort_unstable();
            Measured::Values(steps.iter().map(|&steps| steps.into()).collect())
        };
        groups.iter().map(sorted).collect()
    }

    pub fn state(&self) -> State {
        State::Steps(self.rows().to_vec())
    }

    pub fn restore(&mut self, rows: &[(u32, i32)]) -> Result<bool> {
        self.prepare(rows.len())?;
        self.fill(rows.iter().copied());
        Ok(rows.iter().all(|&(group, _)| (group as usize) < self.groups))
    }
}
