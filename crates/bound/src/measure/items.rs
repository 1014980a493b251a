//! All values of any type, and how often each occurs.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, LargeListArray, StructArray, UInt64Array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, UInt64Type};
use datafusion::common::internal_err;
use datafusion::error::Result;
use foldhash::HashMap;

use super::super::feature::MISSING;
use super::super::items::Items;
use super::{Accumulator, Measured, offsets};

#[derive(Default)]
pub struct Frequencies {
    groups: usize,
    /// By group and number of the item.
    counts: HashMap<(u32, u32), u64>,
    numbers: Vec<i32>,
}

impl Frequencies {
    /// Items and counts by group, each group's in ascending order of items, and where each group's end.
    fn by_group(&mut self, items: &Items) -> (Vec<(u32, u64)>, Vec<i64>) {
        let mut all: Vec<((u32, u32), u64)> = std::mem::take(&mut self.counts).into_iter().collect();
        all.sort_unstable_by(|((group, item), _), ((other_group, other), _)| {
            group.cmp(other_group).then_with(|| items.compare(*item, *other))
        });
        let mut counts = vec![0; self.groups];
        all.iter().for_each(|&((group, _), _)| counts[group as usize] += 1);
        (all.into_iter().map(|((_, item), count)| (item, count)).collect(), offsets(counts))
    }
}

fn fields(kind: DataType) -> Fields {
    Fields::from(vec![Field::new("value", kind, true), Field::new("count", DataType::UInt64, false)])
}

fn field(kind: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Struct(fields(kind)), false))
}

pub fn state_type(kind: DataType) -> DataType {
    DataType::LargeList(field(kind))
}

fn table<T>(items: Option<T>) -> Result<T> {
    items.map_or_else(|| internal_err!("items have a table"), Ok)
}

impl Accumulator for Frequencies {
    fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    fn add(&mut self, groups: &[u32], feature: &[i32]) {
        for (&group, &item) in groups.iter().zip(feature) {
            if item != MISSING {
                *self.counts.entry((group, item as u32)).or_default() += 1;
            }
        }
    }

    fn state(&mut self, items: Option<&Items>) -> Result<ArrayRef> {
        let items = table(items)?;
        let (entries, offsets) = self.by_group(items);
        let values = items.values(entries.iter().map(|&(item, _)| item))?;
        let counts: ArrayRef = Arc::new(UInt64Array::from_iter_values(entries.iter().map(|&(_, count)| count)));
        let kind = values.data_type().clone();
        let entries = StructArray::try_new(fields(kind.clone()), vec![values, counts], None)?;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(LargeListArray::try_new(field(kind), offsets, Arc::new(entries), None)?))
    }

    fn merge(&mut self, groups: &[u32], state: &ArrayRef, items: Option<&mut Items>) -> Result<()> {
        let lists = state.as_list::<i64>();
        let entries = lists.values().as_struct();
        self.numbers.clear();
        table(items)?.number(entries.column(0), &mut self.numbers)?;
        let counts = entries.column(1).as_primitive::<UInt64Type>().values();
        for (&group, ends) in groups.iter().zip(lists.offsets().windows(2)) {
            for entry in ends[0] as usize..ends[1] as usize {
                *self.counts.entry((group, self.numbers[entry] as u32)).or_default() += counts[entry];
            }
        }
        Ok(())
    }

    fn finish(&mut self, items: Option<&Items>) -> Result<Vec<Measured>> {
        let items = table(items)?;
        let (entries, offsets) = self.by_group(items);
        let of_group = |ends: &[i64]| {
            let entries = &entries[ends[0] as usize..ends[1] as usize];
            let values = items.values(entries.iter().map(|&(item, _)| item))?;
            Ok(Measured::Items { values, counts: entries.iter().map(|&(_, count)| count).collect() })
        };
        offsets.windows(2).map(of_group).collect()
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * (size_of::<((u32, u32), u64)>() + 1)
    }
}
