//! Cells of text formats, and batches of them.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringViewBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, SchemaRef};

use crate::Broken;
use crate::text::is_too_long;

/// Rows in a batch.
pub const BATCH_ROWS: usize = 8192;
/// A batch ends early when its text takes this many bytes, so that long cells cannot fill the memory.
pub const BATCH_BYTES: usize = 8 << 20;

/// Parses a cell as a number: decimal, optionally with a sign, a fraction or an exponent, and surrounding whitespace.
/// Numbers that are too large are infinite; `nan` is not a number, and neither is `1,000`.
pub fn number(cell: &str) -> Option<f64> {
    cell.trim_ascii().parse().ok().filter(|number: &f64| !number.is_nan())
}

/// A batch under construction.
pub struct Rows {
    schema: SchemaRef,
    columns: Vec<Cells>,
    rows: usize,
    bytes: usize,
}

enum Cells {
    Text(StringViewBuilder),
    Number(Float64Builder),
}

impl Rows {
    /// No rows yet, of columns that are text or numbers.
    pub fn new(schema: SchemaRef) -> Self {
        let column = |field: &Arc<Field>| match field.data_type() {
            DataType::Float64 => Cells::Number(Float64Builder::with_capacity(BATCH_ROWS)),
            _ => Cells::Text(StringViewBuilder::with_capacity(BATCH_ROWS)),
        };
        let columns = schema.fields().iter().map(column).collect();
        Self { schema, columns, rows: 0, bytes: 0 }
    }

    /// Appends a cell to a column. A cell that does not fit the column's type is NULL.
    pub fn push(&mut self, column: usize, cell: Option<&str>) {
        let cell = cell.filter(|cell| !is_too_long(cell.len()));
        match &mut self.columns[column] {
            Cells::Text(text) => {
                self.bytes += cell.map_or(0, str::len);
                text.append_option(cell);
            }
            Cells::Number(numbers) => numbers.append_option(cell.and_then(number)),
        }
    }

    /// Completes the row: every column has its cell.
    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Whether it is time for [`Rows::take`].
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// Returns the rows so far, if any, and starts the next batch.
    pub fn take(&mut self) -> Option<Result<RecordBatch, Broken>> {
        if self.rows == 0 {
            return None;
        }
        let finish = |column: &mut Cells| -> ArrayRef {
            match column {
                Cells::Text(text) => Arc::new(text.finish()),
                Cells::Number(numbers) => Arc::new(numbers.finish()),
            }
        };
        let columns = self.columns.iter_mut().map(finish).collect();
        // A scan without columns counts rows.
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        Some(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(|_| Broken))
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Schema;

    use super::*;

    #[test]
    fn numbers_are_decimal() {
        assert_eq!(number(" +3\t"), Some(3.0));
        assert_eq!(number("-1.5e2"), Some(-150.0));
        assert_eq!(number("-9223372036854775808"), Some(i64::MIN as f64));
        assert_eq!(number("1e999"), Some(f64::INFINITY));
        assert_eq!(number("-Infinity"), Some(f64::NEG_INFINITY));
        for none in ["", " ", "NaN", "-nan", "1,000", "1_000", "0x10", "12 apples", "1e", "--1", "\0", "٣"] {
            assert_eq!(number(none), None, "{none:?}");
        }
    }

    fn rows() -> Rows {
        let fields = [DataType::Utf8View, DataType::Float64].map(|data_type| Field::new("", data_type, true));
        Rows::new(Arc::new(Schema::new(fields.to_vec())))
    }

    #[test]
    fn much_text_ends_a_batch_early() {
        let mut rows = rows();
        let long = "x".repeat(crate::MOST_TEXT);
        for row in 0..BATCH_BYTES / long.len() {
            assert!(!rows.is_full(), "after {row} rows");
            rows.push(0, Some(&long));
            rows.push(1, Some(&long));
            rows.end_row();
        }
        assert!(rows.is_full());
        assert_eq!(rows.take().unwrap().unwrap().num_rows(), BATCH_BYTES / long.len());
        assert!(!rows.is_full() && rows.take().is_none());
    }

    #[test]
    fn a_cell_that_is_too_long_is_null() {
        let mut rows = rows();
        let digits = "1".repeat(crate::MOST_TEXT + 1);
        for cell in [&digits[1..], &digits] {
            rows.push(0, Some(cell));
            rows.push(1, Some(cell));
            rows.end_row();
        }
        let batch = rows.take().unwrap().unwrap();
        assert!(batch.columns().iter().all(|column| column.is_valid(0) && column.is_null(1)));
    }
}
