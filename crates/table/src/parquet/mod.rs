//! Parquet files.
//!
//! A file's own statistics about its values (minima, maxima, Bloom filters, page indexes) are not used, and not even
//! decoded: the work done must not depend on them. A row group is read by one part.

mod thrift;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ::parquet::basic::{Compression, ConvertedType, Type as PhysicalType};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetStatisticsPolicy;
use ::parquet::schema::types::ColumnDescriptor;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

use crate::cells::BATCH_ROWS;
use crate::locate::short;
use crate::request::Column;
use crate::split::Chunks;
use crate::typed::{Footer, Projection};
use crate::types::plain;
use crate::{Broken, Type};

/// The length of the footer and the magic number.
const END: u64 = 8;

/// Reads the footer of a file; the error names the file.
pub fn footer(path: &Path) -> Result<Footer, String> {
    let file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", short(path)))?;
    // A broken footer can make its decoder panic. The decoder's message may quote a minimum or maximum, so it is not
    // shown.
    let metadata = catch_unwind(|| metadata(&file));
    let Ok(Ok(metadata)) = metadata else {
        return Err(format!("{} is not a complete Parquet file: its footer is missing or broken", short(path)));
    };
    let groups = metadata.metadata().row_groups();
    if groups.iter().flat_map(|group| group.columns()).any(|column| column.compression() == Compression::LZO) {
        return Err(format!("{} is compressed with LZO; write it with Snappy or Zstandard", short(path)));
    }
    let decimal = |column: &ColumnDescriptor| {
        column.physical_type() == PhysicalType::BYTE_ARRAY && column.converted_type() == ConvertedType::DECIMAL
    };
    if let Some(column) = metadata.parquet_schema().columns().iter().find(|column| decimal(column)) {
        let (file, column) = (short(path), column.name());
        return Err(format!(
            "{file} has decimals of variable length in `{column}`, which can be too long to be read; write them with a fixed length"
        ));
    }
    let fields = metadata.schema().fields().iter();
    let old = fields.filter(|field| leaf(&metadata, field).is_some_and(is_old_timestamp));
    Ok(Footer {
        schema: metadata.schema().clone(),
        inexact: old.map(|field| field.name().clone()).collect(),
        chunks: groups.iter().map(|group| group.compressed_size().try_into().unwrap_or(0)).collect(),
    })
}

/// Whether the footer is safe to decode.
fn is_safe(mut file: &File) -> std::io::Result<bool> {
    let size = file.metadata()?.len();
    if size < END {
        return Ok(false);
    }
    let mut length = [0; 4];
    file.seek(SeekFrom::Start(size - END))?;
    file.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    let Some(start) = (size - END).checked_sub(length) else { return Ok(false) };
    file.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer)?;
    Ok(thrift::is_safe(&footer))
}

/// The footer, with the types in which columns are read: text as views, so that pages need no copying.
fn metadata(file: &File) -> Result<ArrowReaderMetadata, ParquetError> {
    if !is_safe(file)? {
        return Err(ParquetError::General(String::new()));
    }
    let options = || ArrowReaderOptions::new().with_column_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let metadata = ArrowReaderMetadata::load(file, options())?;
    let field = |field: &FieldRef| {
        let column = leaf(&metadata, field);
        let data_type = match Type::of(field.data_type()) {
            // In nanoseconds, as usual, they would end in the year 2262.
            _ if column.is_some_and(is_old_timestamp) => DataType::Timestamp(TimeUnit::Microsecond, None),
            // An enumeration is text by another name.
            _ if column.is_some_and(|column| column.converted_type() == ConvertedType::ENUM) => DataType::Utf8View,
            Some(Type::Text) => DataType::Utf8View,
            // A dictionary with the writer's key type has room for a limited number of values per batch: one more, and
            // reading fails.
            _ => plain(field.data_type()).clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    let fields: Vec<FieldRef> = metadata.schema().fields().iter().map(field).collect();
    let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), options().with_schema(Arc::new(schema)))
}

/// Parquet's description of a column that is not nested.
fn leaf<'a>(metadata: &'a ArrowReaderMetadata, field: &Field) -> Option<&'a ColumnDescriptor> {
    let is_field = |path: &[String]| path.len() == 1 && path[0] == *field.name();
    metadata.parquet_schema().columns().iter().find(|leaf| is_field(leaf.path().parts())).map(Arc::as_ref)
}

/// Whether a column holds Parquet's oldest timestamps, of 96 bits.
fn is_old_timestamp(column: &ColumnDescriptor) -> bool {
    column.physical_type() == PhysicalType::INT96
}

/// The rows of a part of a file, with these columns; `None` if the part reads nothing of the file.
pub fn read(file: &Chunks, part: usize, columns: &[Column], schema: SchemaRef) -> Result<Option<Batches>, Broken> {
    let groups = file.share(part);
    if groups.is_empty() {
        return Ok(None);
    }
    let input = File::open(&file.path).map_err(|_| Broken)?;
    let metadata = file.footer.get(|| metadata(&input).ok())?.clone();
    if metadata.metadata().num_row_groups() != file.len() {
        return Err(Broken);
    }
    let projection = Projection::new(metadata.schema(), columns, schema)?;
    let mask = ProjectionMask::roots(metadata.parquet_schema(), projection.places.iter().copied());
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata)
        .with_row_groups(groups.collect())
        .with_projection(mask)
        .with_batch_size(BATCH_ROWS)
        .build();
    Ok(Some(Batches { reader: reader.map_err(|_| Broken)?, projection }))
}

/// Batches of rows.
pub struct Batches {
    reader: ParquetRecordBatchReader,
    projection: Projection,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.map_err(|_| Broken).and_then(|batch| self.projection.apply(&batch)))
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::arrow::ArrowWriter;
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn what_a_file_says_of_its_values_is_not_decoded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let file = File::open(&path).unwrap();
        let usual = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
        assert!(usual.metadata().row_group(0).column(0).statistics().is_some(), "the file says something");
        let ours = metadata(&file).unwrap();
        assert!(ours.metadata().row_group(0).column(0).statistics().is_none());
        assert!(ours.metadata().column_index().is_none() && ours.metadata().offset_index().is_none());
    }
}
