//! In-memory tables that are not private: public tables and released values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;

use super::column::cell;
use super::expr::{TextWork, logical_bytes};
use super::groups::canonical;
use super::{Type, Value};

/// An in-memory table. Its columns are numbered and typed, and have no names.
#[derive(Debug, Clone)]
pub struct Data {
    kinds: Vec<Type>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Data {
    /// A table of columns with `rows` values each; `None` if their types or lengths differ from those given.
    pub fn new(kinds: Vec<Type>, columns: Vec<ArrayRef>, rows: usize) -> Option<Self> {
        let fits = |(kind, column): (&Type, &ArrayRef)| column.data_type() == &kind.data_type() && column.len() == rows;
        let all = kinds.len() == columns.len() && kinds.iter().zip(&columns).all(fits);
        all.then_some(Self { kinds, columns, rows })
    }

    /// One row without columns: the input of a SELECT without FROM.
    pub fn unit_row() -> Self {
        Self { kinds: Vec::new(), columns: Vec::new(), rows: 1 }
    }

    /// Returns the column types.
    pub fn kinds(&self) -> &[Type] {
        &self.kinds
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the size of its values, in bytes: texts count wherever they occur, even if they share memory.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(logical_bytes).sum()
    }

    /// Returns one cell.
    pub fn cell(&self, row: usize, column: usize) -> Value {
        self.columns.get(column).map_or(Value::Null, |column| cell(column, row))
    }

    /// Returns the rows for which the mask is true.
    pub fn filtered(&self, mask: &BooleanArray) -> Self {
        let columns = self.columns.iter().map(|column| sound(filter(column, mask))).collect();
        Self { kinds: self.kinds.clone(), columns, rows: mask.true_count() }
    }

    /// Returns the rows at these positions, and a row of NULLs where the position is NULL.
    pub fn taken(&self, places: &UInt32Array) -> Self {
        let columns = self.columns.iter().map(|column| sound(take(column, places, None))).collect();
        Self { kinds: self.kinds.clone(), columns, rows: places.len() }
    }

    /// Splits into pieces, small ones if much text is computed for each row; always at least one piece.
    pub fn pieces(&self, work: TextWork) -> impl Iterator<Item = Self> + '_ {
        let size = work.rows_at_once(&self.columns, self.rows);
        (0..self.rows.max(1)).step_by(size).map(move |from| {
            let rows = size.min(self.rows - from);
            let columns = self.columns.iter().map(|column| column.slice(from, rows)).collect();
            Self { kinds: self.kinds.clone(), columns, rows }
        })
    }

    /// Concatenates tables of the same types; `None` if `parts` is empty.
    pub fn all(parts: &[Self]) -> Option<Self> {
        let first = parts.first()?;
        let column = |place: usize| {
            let of_all: Vec<ArrayRef> = parts.iter().map(|part| part.columns[place].clone()).collect();
            concatenated(&of_all)
        };
        let columns = (0..first.columns.len()).map(column).collect();
        Some(Self { kinds: first.kinds.clone(), columns, rows: parts.iter().map(|part| part.rows).sum() })
    }

    /// Writes equal values alike: −0 as 0, and every NaN as the same NaN.
    pub fn in_one_form(&self) -> Self {
        Self { columns: self.columns.iter().map(canonical).collect(), ..self.clone() }
    }

    /// Moves the first `width` columns to the end.
    pub fn rotated(mut self, width: usize) -> Self {
        self.kinds.rotate_left(width);
        self.columns.rotate_left(width);
        self
    }

    /// Puts the columns of two tables with equally many rows side by side.
    pub fn beside(&self, other: &Self) -> Self {
        Self {
            kinds: self.kinds.iter().chain(&other.kinds).copied().collect(),
            columns: self.columns.iter().chain(&other.columns).cloned().collect(),
            rows: self.rows,
        }
    }
}

/// Concatenates arrays of the same type. Texts from many buffers are copied into one buffer: slices of the same array
/// list its buffers over and over, and repeated concatenation would multiply them.
pub(crate) fn concatenated(arrays: &[ArrayRef]) -> ArrayRef {
    const BUFFERS: usize = 16;
    let parts: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    let all = sound(concat(&parts));
    match all.as_string_view_opt() {
        Some(texts) if texts.data_buffers().len() > BUFFERS => Arc::new(texts.gc()),
        _ => all,
    }
}

/// Unwraps the result of an Arrow kernel. The kernels used here fail only on mismatched types or lengths, never on a
/// value.
pub(crate) fn sound<T>(result: Result<T, arrow_schema::ArrowError>) -> T {
    result.expect("columns of the right types and lengths")
}
