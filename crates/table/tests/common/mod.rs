//! Files of every format, and the rows read from them.

// Every test file uses part of it.
#![allow(dead_code)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use reticent_table::{Broken, Error, Request, Result, Scan, Table, Type, UnitColumn, UnitType};

/// The extensions of typed files; the last one is for Arrow streams.
pub const TYPED: [&str; 3] = ["parquet", "arrow", "ipc"];

pub fn open(path: &Path) -> Result<Table> {
    Table::open("t", path.to_str().expect("a path in UTF-8"))
}

/// Columns of these names and types, without a unit.
pub fn columns(columns: &[(&str, Type)]) -> Request {
    Request { unit: None, columns: columns.iter().map(|(name, wanted)| ((*name).to_owned(), *wanted)).collect() }
}

/// The unit alone.
pub fn unit(name: &str, form: UnitType) -> Request {
    Request { unit: Some(UnitColumn { name: name.to_owned(), form }), columns: Vec::new() }
}

/// These columns in their own types.
pub fn natural(table: &Table, names: &[&str]) -> Request {
    let types = names.iter().map(|name| table.column_type(name).expect("a column that a query can use"));
    columns(&names.iter().copied().zip(types).collect::<Vec<_>>())
}

pub fn read(scan: &Scan) -> Result<Vec<RecordBatch>, Broken> {
    (0..scan.parts()).flat_map(|part| scan.read(part)).collect()
}

/// The rows, with cells separated by `|`. NULL is empty; dates and timestamps are their numbers.
pub fn rows(table: &Table, request: &Request) -> Vec<String> {
    let scan = table.scan(request, 2).expect("a scan");
    cells(&read(&scan).expect("rows"))
}

pub fn cells(batches: &[RecordBatch]) -> Vec<String> {
    let row =
        |batch: &RecordBatch, row| batch.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join("|");
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |number| row(batch, number))).collect()
}

fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Utf8View => column.as_string_view().value(row).to_owned(),
        DataType::Date32 => column.as_primitive::<Date32Type>().value(row).to_string(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            column.as_primitive::<TimestampMicrosecondType>().value(row).to_string()
        }
        other => panic!("{other} is not a type that a query sees"),
    }
}

pub fn reason<T: std::fmt::Debug>(result: Result<T>) -> String {
    let Err(Error::Table { reason, .. }) = result else { panic!("no error of the table: {result:?}") };
    reason
}

pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

pub fn people() -> RecordBatch {
    let ids: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("b, c"), None, Some("é")]));
    let ages: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-3.0), Some(f64::INFINITY)]));
    batch(vec![("age", ages), ("id", ids)])
}

/// A file in the format of its extension (`.feather` is compressed), with this many rows per row group or record batch.
pub fn write(path: &Path, batch: &RecordBatch, rows: usize) {
    let file = File::create(path).expect("a file");
    let pieces = (0..batch.num_rows()).step_by(rows.max(1));
    let pieces = pieces.map(|start| batch.slice(start, rows.max(1).min(batch.num_rows() - start)));
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => {
            // No compression, so that a test can find and break a page.
            let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED);
            let properties = properties.set_max_row_group_row_count(Some(rows.max(1))).build();
            let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
            writer.write(batch).expect("written");
            writer.close().expect("closed");
        }
        Some(ending @ ("arrow" | "feather")) => {
            let codec = (ending == "feather").then_some(CompressionType::LZ4_FRAME);
            let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
            let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
            pieces.for_each(|piece| writer.write(&piece).unwrap());
            writer.finish().unwrap();
        }
        _ => {
            let mut writer = StreamWriter::try_new(file, &batch.schema()).unwrap();
            pieces.for_each(|piece| writer.write(&piece).unwrap());
            writer.finish().unwrap();
        }
    }
}

/// Rewrites a file, for tests that do so thousands of times: some file systems sync a file that is truncated first.
pub fn replace(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).expect("an old file");
    std::fs::write(path, bytes).expect("written");
}
