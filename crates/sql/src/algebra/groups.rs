//! Grouping of rows by equal values.

use std::hash::BuildHasher;

use arrow_array::{Array, ArrayRef, Float64Array, cast::AsArray, types::Float64Type};
use arrow_row::{RowConverter, Rows as Encoded, SortField};
use arrow_schema::DataType;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::sync::Arc;

use super::data::sound;

/// Rows grouped by the values of some columns. NULLs form one group.
pub struct Grouping {
    /// The group number of each row; groups are numbered by their first row.
    numbers: Vec<u32>,
    /// The rows by group, in their original order within each.
    members: Vec<u32>,
    /// Where each group's members end.
    ends: Vec<usize>,
}

impl Grouping {
    /// Groups `rows` rows by these columns. Without columns there is exactly one group, even if there are no rows.
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

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the group number of a row.
    pub fn number(&self, row: usize) -> u32 {
        self.numbers[row]
    }

    /// Returns the rows of each group.
    pub fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.members[start..end])
    }

    /// Returns the rows of at most `most` groups at a time, group by group.
    pub fn spans(&self, most: usize) -> impl Iterator<Item = &[u32]> {
        let ends = self.ends.chunks(most).filter_map(|ends| ends.last().copied());
        ends.scan(0, |start, end| Some(&self.members[std::mem::replace(start, end)..end]))
    }

    /// Returns the first row of each group; NULL for an empty group.
    pub fn firsts(&self) -> arrow_array::UInt32Array {
        self.groups().map(|group| group.first().copied()).collect()
    }
}

/// Numbers distinct rows by their bytes.
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

/// Encodes rows as bytes: equal bytes mean equal values, and byte order is value order, NULL first.
pub fn encoded(columns: &[ArrayRef]) -> Encoded {
    let columns: Vec<ArrayRef> = columns.iter().map(canonical).collect();
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    sound(RowConverter::new(fields).and_then(|converter| converter.convert_columns(&columns)))
}

/// Makes every NaN the same and writes −0 as 0.
pub fn canonical(column: &ArrayRef) -> ArrayRef {
    if column.data_type() != &DataType::Float64 {
        return column.clone();
    }
    let one_form = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
    let numbers: Float64Array = column.as_primitive::<Float64Type>().unary(one_form);
    Arc::new(numbers)
}
