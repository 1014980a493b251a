//! Cells as columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Builder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::RecordBatch;

/// Rows in a batch.
const BATCH: usize = 8192;

/// Numbers where they are used as such, text elsewhere.
pub fn schema(header: &[String], numbers: &BTreeSet<String>) -> Schema {
    let field = |name: &String| {
        let kind = if numbers.contains(name) { DataType::Float64 } else { DataType::Utf8 };
        Field::new(name, kind, true)
    };
    Schema::new(header.iter().map(field).collect::<Vec<_>>())
}

/// All rows; a missing or empty cell is NULL, and so is a cell of numbers that says none.
///
/// # Errors
/// None in practice: every row has a cell in every column.
pub fn batches<'cell>(
    schema: &Arc<Schema>,
    rows: impl IntoIterator<Item = Vec<&'cell [u8]>>,
) -> Result<Vec<RecordBatch>, ArrowError> {
    let mut rows = rows.into_iter().peekable();
    let mut batches = Vec::new();
    while rows.peek().is_some() {
        let mut columns: Vec<Column> = schema.fields().iter().map(|field| Column::new(field.data_type())).collect();
        for row in rows.by_ref().take(BATCH) {
            for (place, column) in columns.iter_mut().enumerate() {
                column.push(row.get(place).copied().unwrap_or_default());
            }
        }
        let arrays = columns.into_iter().map(Column::finish).collect();
        batches.push(RecordBatch::try_new(schema.clone(), arrays)?);
    }
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema.clone()));
    }
    Ok(batches)
}

enum Column {
    Numbers(Float64Builder),
    Texts(StringBuilder),
}

impl Column {
    fn new(kind: &DataType) -> Self {
        match kind {
            DataType::Float64 => Self::Numbers(Float64Builder::new()),
            _ => Self::Texts(StringBuilder::new()),
        }
    }

    fn push(&mut self, cell: &[u8]) {
        match self {
            Self::Numbers(numbers) => numbers.append_option(number(cell)),
            Self::Texts(texts) if cell.is_empty() => texts.append_null(),
            Self::Texts(texts) => texts.append_value(String::from_utf8_lossy(cell)),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Numbers(mut numbers) => Arc::new(numbers.finish()),
            Self::Texts(mut texts) => Arc::new(texts.finish()),
        }
    }
}

/// A finite number: one `inf` would make every mean infinite.
fn number(cell: &[u8]) -> Option<f64> {
    let number = std::str::from_utf8(cell).ok()?.trim().parse::<f64>().ok()?;
    number.is_finite().then_some(number)
}
