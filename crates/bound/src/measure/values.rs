//! All values on a grid.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int32Array, LargeListArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int32Type};
use datafusion::error::Result;

use super::super::feature::MISSING;
use super::super::items::Items;
use super::{Accumulator, Measured, offsets};

#[derive(Default)]
pub struct Values {
    groups: usize,
    /// Group and steps of every row, as they came.
    rows: Vec<(u32, i32)>,
}

impl Values {
    /// The steps of one group after those of another, and where each group's end.
    fn by_group(&mut self) -> (Vec<i32>, Vec<i64>) {
        let rows = std::mem::take(&mut self.rows);
        let mut counts = vec![0; self.groups];
        rows.iter().for_each(|&(group, _)| counts[group as usize] += 1);
        let offsets = offsets(counts);
        let mut next = offsets.clone();
        let mut steps = vec![0; rows.len()];
        for (group, value) in rows {
            let place = &mut next[group as usize];
            steps[*place as usize] = value;
            *place += 1;
        }
        (steps, offsets)
    }
}

fn field() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Int32, false))
}

pub fn state_type() -> DataType {
    DataType::LargeList(field())
}

impl Accumulator for Values {
    fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    fn add(&mut self, groups: &[u32], feature: &[i32]) {
        let present = |&(_, steps): &(u32, i32)| steps != MISSING;
        self.rows.extend(groups.iter().copied().zip(feature.iter().copied()).filter(present));
    }

    fn state(&mut self, _: Option<&Items>) -> Result<ArrayRef> {
        let (steps, offsets) = self.by_group();
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(LargeListArray::try_new(field(), offsets, Arc::new(Int32Array::from(steps)), None)?))
    }

    fn merge(&mut self, groups: &[u32], state: &ArrayRef, _: Option<&mut Items>) -> Result<()> {
        let lists = state.as_list::<i64>();
        let steps = lists.values().as_primitive::<Int32Type>().values();
        for (&group, ends) in groups.iter().zip(lists.offsets().windows(2)) {
            self.rows.extend(steps[ends[0] as usize..ends[1] as usize].iter().map(|&steps| (group, steps)));
        }
        Ok(())
    }

    fn finish(&mut self, _: Option<&Items>) -> Result<Vec<Measured>> {
        let (mut steps, offsets) = self.by_group();
        let sorted = |ends: &[i64]| {
            let steps = &mut steps[ends[0] as usize..ends[1] as usize];
            steps.sort_unstable();
            Measured::Values(steps.iter().map(|&steps| steps.into()).collect())
        };
        Ok(offsets.windows(2).map(sorted).collect())
    }

    fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<(u32, i32)>()
    }
}
