//! All values on a grid.

use super::{Measured, State, offsets};
use crate::feature::MISSING;

#[derive(Default)]
pub struct Steps {
    groups: usize,
    /// Group and steps of every row, in order of arrival.
    rows: Vec<(u32, i32)>,
}

impl Steps {
    pub fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32]) {
        let present = |&(_, steps): &(u32, i32)| steps != MISSING;
        self.rows.extend(groups.iter().copied().zip(feature.iter().copied()).filter(present));
    }

    pub fn absorb(&mut self, other: Self, groups: &[u32]) {
        self.rows.extend(other.rows.into_iter().map(|(group, steps)| (groups[group as usize], steps)));
    }

    pub fn finish(self) -> Vec<Measured> {
        let mut counts = vec![0; self.groups];
        self.rows.iter().for_each(|&(group, _)| counts[group as usize] += 1);
        let offsets = offsets(&counts);
        let mut next = offsets.clone();
        let mut all = vec![0; self.rows.len()];
        for (group, steps) in self.rows {
            let place = &mut next[group as usize];
            all[*place] = steps;
            *place += 1;
        }
        let sorted = |ends: &[usize]| {
            let steps = &mut all[ends[0]..ends[1]];
            steps.sort_unstable();
            Measured::Values(steps.iter().map(|&steps| steps.into()).collect())
        };
        offsets.windows(2).map(sorted).collect()
    }

    pub fn state(&self) -> State {
        State::Steps(self.rows.clone())
    }

    pub fn restore(&mut self, rows: Vec<(u32, i32)>) -> bool {
        let fits = rows.iter().all(|&(group, _)| (group as usize) < self.groups);
        self.rows = rows;
        fits
    }

    pub fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<(u32, i32)>()
    }
}
