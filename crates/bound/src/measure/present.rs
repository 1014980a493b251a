//! How many rows have a value.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::error::Result;

use super::super::feature::MISSING;
use super::super::items::Items;
use super::{Accumulator, Measured};

#[derive(Default)]
pub struct Present {
    counts: Vec<i64>,
}

impl Accumulator for Present {
    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn add(&mut self, groups: &[u32], feature: &[i32]) {
        for (&group, &value) in groups.iter().zip(feature) {
            self.counts[group as usize] += i64::from(value != MISSING);
        }
    }

    fn state(&mut self, _: Option<&Items>) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(std::mem::take(&mut self.counts))))
    }

    fn merge(&mut self, groups: &[u32], state: &ArrayRef, _: Option<&mut Items>) -> Result<()> {
        for (&group, &count) in groups.iter().zip(state.as_primitive::<Int64Type>().values()) {
            self.counts[group as usize] += count;
        }
        Ok(())
    }

    fn finish(&mut self, _: Option<&Items>) -> Result<Vec<Measured>> {
        Ok(std::mem::take(&mut self.counts).into_iter().map(Measured::Count).collect())
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}
