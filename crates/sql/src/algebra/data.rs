//! Tables in memory that are nobody's secret: public tables, and released ones.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;

use super::column::cell;
use super::expr::at_once;
use super::groups::canonical;
use super::{Type, Value};

/// A table in memory. Its columns are numbered and typed, and have no names.
#[derive(Debug, Clone)]
pub struct Data {
    kinds: Vec<Type>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Data {
    /// Of columns with so many values each; `None` if they have other types or lengths.
    pub fn new(kinds: Vec<Type>, columns: Vec<ArrayRef>, rows: usize) -> Option<Self> {
        let fits = |(kind, column): (&Type, &ArrayRef)| column.data_type() == &kind.data_type() && column.len() == rows;
        let all = kinds.len() == columns.len() && kinds.iter().zip(&columns).all(fits);
        all.then_some(Self { kinds, columns, rows })
    }

    /// One row without columns: what a SELECT without FROM reads.
    pub fn unit_row() -> Self {
        Self { kinds: Vec::new(), columns: Vec::new(), rows: 1 }
    }

    /// The types of its columns.
    pub fn kinds(&self) -> &[Type] {
        &self.kinds
    }

    /// Its columns.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| column.get_array_memory_size()).sum()
    }

    /// One cell.
    pub fn cell(&self, row: usize, column: usize) -> Value {
        self.columns.get(column).map_or(Value::Null, |column| cell(column, row))
    }

    /// The rows for which a mask is true.
    pub fn filtered(&self, mask: &BooleanArray) -> Self {
        let columns = self.columns.iter().map(|column| sound(filter(column, mask))).collect();
        Self { kinds: self.kinds.clone(), columns, rows: mask.true_count() }
    }

    /// The rows at these places; where there is none, NULL.
    pub fn taken(&self, places: &UInt32Array) -> Self {
        let columns = self.columns.iter().map(|column| sound(take(column, places, None))).collect();
        Self { kinds: self.kinds.clone(), columns, rows: places.len() }
    }

    /// In pieces of few rows if this many long texts are made of each; always at least one.
    pub fn pieces(&self, growing: usize) -> impl Iterator<Item = Self> + '_ {
        let size = at_once(growing, self.rows);
        (0..self.rows.max(1)).step_by(size).map(move |from| {
            let rows = size.min(self.rows - from);
            let columns = self.columns.iter().map(|column| column.slice(from, rows)).collect();
            Self { kinds: self.kinds.clone(), columns, rows }
        })
    }

    /// The rows of all of them, which have the same types; `None` if there are none.
    pub fn all(parts: &[Self]) -> Option<Self> {
        let first = parts.first()?;
        let column = |place: usize| {
            let of_all: Vec<ArrayRef> = parts.iter().map(|part| part.columns[place].clone()).collect();
            concatenated(&of_all)
        };
        let columns = (0..first.columns.len()).map(column).collect();
        Some(Self { kinds: first.kinds.clone(), columns, rows: parts.iter().map(|part| part.rows).sum() })
    }

    /// With equal values written alike: −0 as 0, and all NaN as one.
    pub fn in_one_form(&self) -> Self {
        Self { columns: self.columns.iter().map(canonical).collect(), ..self.clone() }
    }

    /// The columns after the first so many, then these.
    pub fn rotated(mut self, width: usize) -> Self {
        self.kinds.rotate_left(width);
        self.columns.rotate_left(width);
        self
    }

    /// The columns of both, side by side; of as many rows.
    pub fn beside(&self, other: &Self) -> Self {
        Self {
            kinds: self.kinds.iter().chain(&other.kinds).copied().collect(),
            columns: self.columns.iter().chain(&other.columns).cloned().collect(),
            rows: self.rows,
        }
    }
}

/// The values of all arrays, which have one type. Texts that come from many buffers are copied into one: those of arrays that were cut
/// from each other are listed many times, and ever more times when that is done again and again.
pub(crate) fn concatenated(arrays: &[ArrayRef]) -> ArrayRef {
    const BUFFERS: usize = 16;
    let parts: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    let all = sound(concat(&parts));
    match all.as_string_view_opt() {
        Some(texts) if texts.data_buffers().len() > BUFFERS => Arc::new(texts.gc()),
        _ => all,
    }
}

/// What an Arrow kernel gave. Those used here fail for columns of different types or lengths, and of no value.
pub(crate) fn sound<T>(result: Result<T, arrow_schema::ArrowError>) -> T {
    result.expect("columns of the right types and lengths")
}
