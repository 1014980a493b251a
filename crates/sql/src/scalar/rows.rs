//! The rows of any table as text.

use datafusion::arrow::array::{Array, StringArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::FormatOptions;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;

use super::wait_for;
use crate::table::{Kind, Table};
use crate::{Error, Result};

/// Does something with every row of a table, in order: its cells as text, in the order of the columns. NULL is the empty
/// text; numbers and times are written as people write them.
///
/// # Errors
/// [`Error::Table`] if the table has no columns of its own; [`Error::Reading`] if it cannot be read to its end.
pub fn each_row(table: &Table, mut act: impl FnMut(&[&[u8]])) -> Result<()> {
    let names = table.columns().unwrap_or_default();
    let columns: Vec<(String, Kind)> = names.into_iter().map(|name| (name, Kind::Text)).collect();
    let provider = table.provider(&columns)?;
    let read = wait_for(async {
        let config = SessionConfig::new().with_target_partitions(1).with_collect_statistics(false);
        let context = SessionContext::new_with_config(config);
        let plan = provider.scan(&context.state(), None, &[], None).await?;
        let mut batches = execute_stream(plan, context.task_ctx())?;
        while let Some(batch) = batches.next().await {
            each_row_of(&batch?, &mut act)?;
        }
        Ok::<_, DataFusionError>(())
    });
    match read {
        Ok(Ok(())) => Ok(()),
        // Whatever it was, it may be about a row.
        _ => Err(Error::Reading),
    }
}

fn each_row_of(batch: &RecordBatch, act: &mut impl FnMut(&[&[u8]])) -> Result<(), DataFusionError> {
    // What cannot be written is NULL.
    let options = CastOptions { safe: true, format_options: FormatOptions::default() };
    let texts = batch.columns().iter().map(|column| {
        let text = cast_with_options(column, &DataType::Utf8, &options)?;
        Ok(text.as_any().downcast_ref::<StringArray>().cloned().unwrap_or_else(|| StringArray::new_null(column.len())))
    });
    let texts = texts.collect::<Result<Vec<_>, DataFusionError>>()?;
    for row in 0..batch.num_rows() {
        let cell = |column: &StringArray| if column.is_null(row) { 0..0 } else { 0..column.value(row).len() };
        let cells: Vec<&[u8]> = texts.iter().map(|column| &column.value(row).as_bytes()[cell(column)]).collect();
        act(&cells);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_order_and_null_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.tsv");
        std::fs::write(&path, "name\tage\nada\t36\n\"a\tb\"\nalan\t\"4\n1\"\t9\n").unwrap();
        let table = Table::open("data", path.to_str().unwrap()).unwrap();
        let mut rows = Vec::new();
        each_row(&table, |cells| {
            rows.push(cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect::<Vec<_>>());
        })
        .unwrap();
        assert_eq!(rows, [["ada", "36"], ["a\tb", ""], ["alan", "4\n1"]]);
    }

    #[test]
    fn formats_with_types_are_written_as_text() {
        use std::sync::Arc;

        use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array};
        use datafusion::dataframe::DataFrameWriteOptions;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.parquet");
        let columns: [(&str, ArrayRef); 3] = [
            ("name", Arc::new(StringArray::from(vec![Some("ada"), None]))),
            ("age", Arc::new(Int64Array::from(vec![Some(36), Some(-41)]))),
            ("height", Arc::new(Float64Array::from(vec![None, Some(1.75)]))),
        ];
        let frame = SessionContext::new().read_batch(RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        let options = DataFrameWriteOptions::new();
        wait_for(frame.write_parquet(path.to_str().unwrap(), options, None)).unwrap().unwrap();
        let table = Table::open("data", path.to_str().unwrap()).unwrap();
        let mut rows = Vec::new();
        each_row(&table, |cells| rows.push(cells.concat())).unwrap();
        assert_eq!(rows, [b"ada36".to_vec(), b"-411.75".to_vec()]);
    }
}
