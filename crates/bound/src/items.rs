//! Values of any type, numbered.

use std::cmp::Ordering;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, Rows};
use datafusion::common::resources_err;
use datafusion::error::Result;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use super::canonical::{canonical, canonical_type};
use super::feature::MISSING;
use super::keys::in_order;

/// Numbers the values of a column in the order in which they come.
pub(super) struct Items {
    converter: RowConverter,
    /// In the order of their numbers.
    values: Rows,
    numbers: HashTable<u32>,
    state: RandomState,
}

impl Items {
    pub fn new(kind: &DataType) -> Result<Self> {
        let kind = canonical_type(kind).unwrap_or(DataType::Null);
        let converter = in_order(&[kind])?;
        let values = converter.empty_rows(0, 0);
        Ok(Self { converter, values, numbers: HashTable::new(), state: RandomState::default() })
    }

    /// The number of every row's value, into `numbers`; [`MISSING`] for NULL.
    pub fn number(&mut self, column: &ArrayRef, numbers: &mut Vec<i32>) -> Result<()> {
        let column = canonical(column)?;
        let nulls = column.logical_nulls();
        let rows = self.converter.convert_columns(std::slice::from_ref(&column))?;
        let hash = |bytes: &[u8]| self.state.hash_one(bytes);
        for (place, row) in rows.iter().enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(place)) {
                numbers.push(MISSING);
                continue;
            }
            let values = &mut self.values;
            let entry = self.numbers.entry(
                hash(row.data()),
                |&number| values.row(number as usize) == row,
                |&number| hash(values.row(number as usize).data()),
            );
            let number = *entry.or_insert_with(|| values.num_rows() as u32).get();
            if number as usize == values.num_rows() {
                values.push(row);
            }
            numbers.push(number as i32);
        }
        if self.values.num_rows() > i32::MAX as usize {
            return resources_err!("there are more items than can be numbered");
        }
        Ok(())
    }

    /// The values with these numbers.
    pub fn values(&self, numbers: impl IntoIterator<Item = u32>) -> Result<ArrayRef> {
        let rows = numbers.into_iter().map(|number| self.values.row(number as usize));
        Ok(self.converter.convert_rows(rows)?.remove(0))
    }

    /// Compares values by their numbers.
    pub fn compare(&self, one: u32, other: u32) -> Ordering {
        self.values.row(one as usize).cmp(&self.values.row(other as usize))
    }

    pub fn bytes(&self) -> usize {
        self.values.size() + self.numbers.capacity() * (size_of::<u32>() + 1)
    }
}
