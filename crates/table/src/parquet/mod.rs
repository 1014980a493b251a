//! Parquet files.
//!
//! What a file says about its values (minima, maxima, Bloom filters, page indexes) is not used, and not even decoded: the
//! work done must not depend on it. A row group is read by one part.

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
use ::parquet::basic::{Compression, Type as PhysicalType};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetStatisticsPolicy;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};

use crate::cells::BATCH_ROWS;
use crate::locate::short;
use crate::request::Column;
use crate::split::Chunks;
use crate::typed::{Footer, Projection};
use crate::{Broken, Type};

/// The length of the footer and the magic word.
const END: u64 = 8;

/// The footer of a file; the error names the file.
pub fn footer(path: &Path) -> Result<Footer, String> {
    let file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", short(path)))?;
    // A broken footer can make its decoder panic. What the decoder says may quote a minimum or a maximum, so it is not told.
    let metadata = catch_unwind(|| metadata(&file));
    let Ok(Ok(metadata)) = metadata else {
        return Err(format!("{} is not a whole Parquet file: its footer is missing or broken", short(path)));
    };
    let groups = metadata.metadata().row_groups();
    if groups.iter().flat_map(|group| group.columns()).any(|column| column.compression() == Compression::LZO) {
        return Err(format!("{} is compressed with LZO; write it with Snappy or Zstandard", short(path)));
    }
    Ok(Footer {
        schema: metadata.schema().clone(),
        inexact: old_timestamps(&metadata).map(|field| field.name().clone()).collect(),
        chunks: groups.iter().map(|group| group.compressed_size().try_into().unwrap_or(0)).collect(),
    })
}

/// Whether the footer can be decoded without harm.
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
    let old: Vec<&str> = old_timestamps(&metadata).map(|field| field.name().as_str()).collect();
    let field = |field: &FieldRef| {
        let data_type = match Type::of(field.data_type()) {
            // In nanoseconds, as is usual, they would end in the year 2262.
            _ if old.contains(&field.name().as_str()) => DataType::Timestamp(TimeUnit::Microsecond, None),
            Some(Type::Text) => DataType::Utf8View,
            _ => return field.clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    let fields: Vec<FieldRef> = metadata.schema().fields().iter().map(field).collect();
    let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), options().with_schema(Arc::new(schema)))
}

/// The columns that hold Parquet's oldest timestamps, of 96 bits.
fn old_timestamps(metadata: &ArrowReaderMetadata) -> impl Iterator<Item = &FieldRef> {
    let leaves = metadata.parquet_schema().columns();
    let is_old = |name: &str| {
        let is_field = |path: &[String]| path.len() == 1 && path[0] == name;
        leaves.iter().any(|leaf| is_field(leaf.path().parts()) && leaf.physical_type() == PhysicalType::INT96)
    };
    metadata.schema().fields().iter().filter(move |field| is_old(field.name()))
}

/// The rows of a part of a file, these columns of each; `None` if the part reads nothing of the file.
pub fn read(file: &Chunks, part: usize, columns: &[Column], schema: SchemaRef) -> Result<Option<Batches>, Broken> {
    let groups = file.share(part);
    if groups.is_empty() {
        return Ok(None);
    }
    let input = File::open(&file.path).map_err(|_| Broken)?;
    let metadata = metadata(&input).map_err(|_| Broken)?;
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
