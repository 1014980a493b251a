//! Counts per bin.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, FixedSizeListArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::error::Result;
use reticent::mechanism::range::BINS as MAGNITUDES;
use reticent::statistic::Grid;

use super::super::feature::MISSING;
use super::super::items::Items;
use super::{Accumulator, Measured};

pub struct Bins {
    bins: usize,
    /// Whose range is divided; without one, features are bins already.
    grid: Option<Grid>,
    groups: usize,
    /// Those of one group after those of another.
    counts: Vec<i64>,
}

impl Bins {
    pub fn of_grid(grid: &Grid, bins: u32) -> Self {
        Self { bins: bins as usize, grid: Some(grid.clone()), groups: 0, counts: Vec::new() }
    }

    pub fn of_magnitudes() -> Self {
        Self { bins: MAGNITUDES, grid: None, groups: 0, counts: Vec::new() }
    }

    /// The bin of so many steps: the range is divided evenly, and the upper end belongs to the last bin.
    fn bin(&self, feature: i32) -> usize {
        match &self.grid {
            None => feature as usize,
            Some(grid) => {
                // Below 2^29 · 2^32.
                let bin = (i64::from(feature) - grid.lower()) * self.bins as i64 / (grid.upper() - grid.lower());
                (bin as usize).min(self.bins - 1)
            }
        }
    }
}

fn field() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Int64, false))
}

pub fn state_type(bins: usize) -> DataType {
    DataType::FixedSizeList(field(), bins as i32)
}

impl Accumulator for Bins {
    fn resize(&mut self, groups: usize) {
        self.groups = groups;
        self.counts.resize(groups * self.bins, 0);
    }

    fn add(&mut self, groups: &[u32], feature: &[i32]) {
        for (&group, &value) in groups.iter().zip(feature) {
            if value != MISSING {
                let bin = self.bin(value);
                self.counts[group as usize * self.bins + bin] += 1;
            }
        }
    }

    fn state(&mut self, _: Option<&Items>) -> Result<ArrayRef> {
        let counts = Int64Array::from(std::mem::take(&mut self.counts));
        Ok(Arc::new(FixedSizeListArray::try_new(field(), self.bins as i32, Arc::new(counts), None)?))
    }

    fn merge(&mut self, groups: &[u32], state: &ArrayRef, _: Option<&mut Items>) -> Result<()> {
        let counts = state.as_fixed_size_list().values().as_primitive::<Int64Type>().values();
        for (&group, counts) in groups.iter().zip(counts.chunks_exact(self.bins)) {
            let from = group as usize * self.bins;
            self.counts[from..from + self.bins].iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(())
    }

    fn finish(&mut self, _: Option<&Items>) -> Result<Vec<Measured>> {
        let counts = std::mem::take(&mut self.counts);
        Ok(counts.chunks_exact(self.bins).map(|counts| Measured::Bins(counts.to_vec())).collect())
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}
