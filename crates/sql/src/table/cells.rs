//! Cells of text formats, and batches of them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Builder, RecordBatch, RecordBatchOptions, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::Kind;
use crate::{Error, Result};

/// Rows in a batch.
pub const BATCH_ROWS: usize = 8192;
/// A batch ends early when its text takes this many bytes, so that long cells cannot fill the memory.
const BATCH_BYTES: usize = 8 << 20;

/// The type of text, in every format: views, as Parquet's pages can be read into them without copying.
pub const TEXT: DataType = DataType::Utf8View;

/// The number that a cell says, if it says one: decimal, perhaps with a sign, a fraction or an exponent, and white space
/// around it. What is too large is infinite; `nan` is no number, nor is one with thousands separators.
pub fn number(cell: &str) -> Option<f64> {
    cell.trim_ascii().parse().ok().filter(|number: &f64| !number.is_nan())
}

/// The schema of columns of text formats. Any cell may be NULL.
pub fn schema(columns: &[(String, Kind)]) -> SchemaRef {
    let field = |(name, kind): &(String, Kind)| Field::new(name, kind.data_type(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Rows on their way into a batch.
pub struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

enum Column {
    Text(StringViewBuilder),
    Number(Float64Builder),
}

impl Rows {
    /// No rows yet, of columns that are text or numbers.
    pub fn new(schema: SchemaRef) -> Self {
        let column = |field: &Arc<Field>| match field.data_type() {
            DataType::Float64 => Column::Number(Float64Builder::with_capacity(BATCH_ROWS)),
            _ => Column::Text(StringViewBuilder::with_capacity(BATCH_ROWS)),
        };
        let columns = schema.fields().iter().map(column).collect();
        Self { schema, columns, rows: 0, bytes: 0 }
    }

    /// The next cell of a column. What does not say what the column's kind needs is NULL.
    pub fn push(&mut self, column: usize, cell: Option<&str>) {
        match &mut self.columns[column] {
            Column::Text(text) => {
                self.bytes += cell.map_or(0, str::len);
                text.append_option(cell);
            }
            Column::Number(numbers) => numbers.append_option(cell.and_then(number)),
        }
    }

    /// The row is complete: every column got its cell.
    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Whether it is time for [`Rows::take`].
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// The rows so far, if there are any; the next batch begins.
    pub fn take(&mut self) -> Result<Option<RecordBatch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let finish = |column: &mut Column| -> ArrayRef {
            match column {
                Column::Text(text) => Arc::new(text.finish()),
                Column::Number(numbers) => Arc::new(numbers.finish()),
            }
        };
        let columns = self.columns.iter_mut().map(finish).collect();
        // A query may ask for rows without columns, to count them.
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        batch.map(Some).map_err(|_| Error::Reading)
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn long_text_ends_a_batch_early() {
        let mut rows = Rows::new(schema(&[("a".into(), Kind::Text), ("b".into(), Kind::Number)]));
        let long = "x".repeat(BATCH_BYTES / 2);
        for row in 0..2 {
            assert!(!rows.is_full(), "after {row} rows");
            rows.push(0, Some(&long));
            rows.push(1, Some(&long));
            rows.end_row();
        }
        assert!(rows.is_full());
        assert_eq!(rows.take().unwrap().unwrap().num_rows(), 2);
        assert!(!rows.is_full() && rows.take().unwrap().is_none());
    }
}
