//! A batch of rows with their units.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringViewArray, UInt32Array};
use arrow_select::filter::filter;
use arrow_select::take::take;

use crate::algebra::data::{concatenated, sound};
use crate::algebra::{Data, Rows};

/// The bytes that a cell counts, without its text.
const CELL: usize = 16;

/// Some rows of a relation. The unit is not one of their columns.
#[derive(Debug, Clone)]
pub struct Chunk {
    unit: Option<ArrayRef>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Chunk {
    /// A chunk of `rows` rows.
    pub fn new(unit: Option<ArrayRef>, columns: Vec<ArrayRef>, rows: usize) -> Self {
        Self { unit, columns, rows }
    }

    /// A batch of a table, whose first column is the unit if rows carry one.
    pub fn of(batch: &RecordBatch, has_unit: bool) -> Self {
        let (unit, columns) = batch.columns().split_at(usize::from(has_unit));
        Self { unit: unit.first().cloned(), columns: columns.to_vec(), rows: batch.num_rows() }
    }

    /// No rows of a relation.
    fn empty(rows: &Rows) -> Self {
        let unit = rows.unit().map(|unit| arrow_array::new_empty_array(&unit.data_type()));
        let columns = rows.columns().iter().map(|kind| arrow_array::new_empty_array(&kind.data_type())).collect();
        Self { unit, columns, rows: 0 }
    }

    /// Concatenates chunks.
    pub fn all(relation: &Rows, chunks: impl Iterator<Item = Self>) -> Self {
        let chunks: Vec<Self> = chunks.filter(|chunk| chunk.rows > 0).collect();
        let Some(first) = chunks.first() else { return Self::empty(relation) };
        if chunks.len() == 1 {
            return first.clone();
        }
        let together = |of: &dyn Fn(&Self) -> ArrayRef| {
            let parts: Vec<ArrayRef> = chunks.iter().map(of).collect();
            concatenated(&parts)
        };
        let unit = first.unit.is_some().then(|| together(&|chunk| chunk.unit.clone().expect("all of them carry one")));
        let columns = (0..first.columns.len()).map(|place| together(&|chunk| chunk.columns[place].clone())).collect();
        Self { unit, columns, rows: chunks.iter().map(|chunk| chunk.rows).sum() }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the units.
    pub fn unit(&self) -> Option<&ArrayRef> {
        self.unit.as_ref()
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// An in-memory table without the units. **Still private**: only operators that keep units apart use it.
    pub fn data(&self, relation: &Rows) -> Data {
        Data::new(relation.columns().to_vec(), self.columns.clone(), self.rows).expect("columns of its types")
    }

    /// Returns the rows for which the mask is true.
    pub fn filtered(&self, mask: &BooleanArray) -> Self {
        let rows = mask.true_count();
        if rows == self.rows {
            return self.clone();
        }
        let those = |array: &ArrayRef| sound(filter(array, mask));
        Self { unit: self.unit.as_ref().map(those), columns: self.columns.iter().map(those).collect(), rows }
    }

    /// Returns the rows at these positions, and a row of NULLs where the position is NULL.
    pub fn taken(&self, places: &UInt32Array) -> Self {
        let those = |array: &ArrayRef| sound(take(array, places, None));
        Self {
            unit: self.unit.as_ref().map(those),
            columns: self.columns.iter().map(those).collect(),
            rows: places.len(),
        }
    }

    /// The same rows with other columns.
    pub fn with_columns(self, columns: Vec<ArrayRef>) -> Self {
        Self { columns, ..self }
    }

    /// Splits into pieces of at most 16 MiB, or of one row.
    pub fn light_pieces(&self) -> impl Iterator<Item = Self> + '_ {
        const MOST: usize = 16 << 20;
        let weights = if self.weight() <= MOST { vec![0; self.rows] } else { self.weights() };
        let mut from = 0;
        std::iter::from_fn(move || {
            let mut bytes = 0;
            let fits = weights[from..].iter().take_while(|&&weight| {
                bytes += weight;
                bytes <= MOST
            });
            let rows = fits.count().max(1).min(self.rows - from);
            let piece = (rows > 0).then(|| self.slice(from, rows));
            from += rows;
            piece
        })
    }

    fn slice(&self, from: usize, rows: usize) -> Self {
        let slice = |array: &ArrayRef| -> ArrayRef { Arc::clone(array).slice(from, rows) };
        Self { unit: self.unit.as_ref().map(slice), columns: self.columns.iter().map(slice).collect(), rows }
    }

    /// The bytes that each row counts: a function of its values, not of how they are stored. A cell counts 16 bytes and
    /// the length of its text.
    pub fn weights(&self) -> Vec<usize> {
        let mut weights = vec![CELL * (1 + self.columns.len()); self.rows];
        for texts in self.texts() {
            for (row, weight) in weights.iter_mut().enumerate().filter(|(row, _)| texts.is_valid(*row)) {
                *weight += texts.views()[row] as u32 as usize;
            }
        }
        weights
    }

    /// The bytes that all rows count.
    pub fn weight(&self) -> usize {
        let bytes = |texts: &StringViewArray| match texts.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => texts.lengths().map(|length| length as usize).sum::<usize>(),
            Some(nulls) => nulls.valid_indices().map(|row| texts.views()[row] as u32 as usize).sum(),
        };
        CELL * (1 + self.columns.len()) * self.rows + self.texts().map(bytes).sum::<usize>()
    }

    fn texts(&self) -> impl Iterator<Item = &StringViewArray> {
        self.unit.iter().chain(&self.columns).filter_map(|column| column.as_string_view_opt())
    }

    /// The same rows without the memory of texts that were filtered out: a column refers to all texts of the columns it
    /// was taken from.
    pub fn compacted(self) -> Self {
        let compact = |column: ArrayRef| match column.as_string_view_opt() {
            Some(texts) => {
                let held: usize = texts.data_buffers().iter().map(|buffer| buffer.len()).sum();
                let used: usize = texts.lengths().map(|length| length as usize).sum();
                if held > 2 * used { Arc::new(texts.gc()) } else { column }
            }
            None => column,
        };
        let columns = self.columns.into_iter().map(compact).collect();
        Self { unit: self.unit.map(compact), columns, rows: self.rows }
    }

    /// Splits into pieces of at most `size` rows.
    pub fn pieces(&self, size: usize) -> impl Iterator<Item = Self> + '_ {
        (0..self.rows).step_by(size).map(move |from| self.slice(from, size.min(self.rows - from)))
    }
}
