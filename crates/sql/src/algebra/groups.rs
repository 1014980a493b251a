//! Rows brought together by equal values.

use std::hash::BuildHasher;

use arrow_array::{Array, ArrayRef, Float64Array, cast::AsArray, types::Float64Type};
use arrow_row::{RowConverter, Rows as Encoded, SortField};
use arrow_schema::DataType;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::sync::Arc;

use super::data::sound;

/// Rows grouped by the values of some columns: equal values, and NULLs, come together.
pub struct Grouping {
    /// The number of each row's group, in the order of their first rows.
    numbers: Vec<u32>,
    /// The rows, those of one group next to each other, in their order.
    members: Vec<u32>,
    /// Where each group's members end.
    ends: Vec<usize>,
}

impl Grouping {
    /// By these columns, of so many rows each. Without columns all rows are one group, also if there are none.
    pub fn of(columns: &[ArrayRef], rows: usize) -> Self {
        let mut numbers = vec![0; rows];
        let mut groups = 1;
        if !columns.is_empty() {
            let encoded = encoded(columns);
            let mut table = Table::default();
            for (row, number) in numbers.iter_mut().enumerate() {
                *number = table.number(&encoded, row);
            }
            groups = table.firsts.len();
        }
        let mut ends = vec![0; groups];
        numbers.iter().for_each(|&number| ends[number as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut members = vec![0; rows];
        for (row, &number) in numbers.iter().enumerate() {
            let place = &mut ends[number as usize];
            members[*place] = row as u32;
            *place += 1;
        }
        Self { numbers, members, ends }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of a row's group.
    pub fn number(&self, row: usize) -> u32 {
        self.numbers[row]
    }

    /// The rows of each group.
    pub fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.members[start..end])
    }

    /// The first row of each group; nothing of a group that has none.
    pub fn firsts(&self) -> arrow_array::UInt32Array {
        self.groups().map(|group| group.first().copied()).collect()
    }
}

/// Numbers rows by their bytes.
#[derive(Default)]
struct Table {
    numbers: HashTable<u32>,
    firsts: Vec<usize>,
    state: RandomState,
}

impl Table {
    fn number(&mut self, rows: &Encoded, row: usize) -> u32 {
        let (state, firsts) = (&self.state, &self.firsts);
        let hash = |row: usize| state.hash_one(rows.row(row).data());
        let same = |number: &u32| rows.row(firsts[*number as usize]) == rows.row(row);
        let entry = self.numbers.entry(hash(row), same, |number| hash(firsts[*number as usize]));
        let number = *entry.or_insert(firsts.len() as u32).get();
        if number as usize == self.firsts.len() {
            self.firsts.push(row);
        }
        number
    }
}

/// Rows as bytes: equal bytes are equal values, and their order is the order of values, NULL first.
pub fn encoded(columns: &[ArrayRef]) -> Encoded {
    let columns: Vec<ArrayRef> = columns.iter().map(canonical).collect();
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    sound(RowConverter::new(fields).and_then(|converter| converter.convert_columns(&columns)))
}

/// All NaN alike, −0 as 0.
pub fn canonical(column: &ArrayRef) -> ArrayRef {
    if column.data_type() != &DataType::Float64 {
        return column.clone();
    }
    let one_form = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
    let numbers: Float64Array = column.as_primitive::<Float64Type>().unary(one_form);
    Arc::new(numbers)
}
