//! Arrow's own files: with a footer, or as a stream.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::convert::fb_to_schema;
use datafusion::arrow::ipc::reader::{FileReader, StreamReader, read_footer_length};
use datafusion::arrow::ipc::{root_as_footer, root_as_message};
use serde::{Deserialize, Serialize};

use super::cells::BATCH_ROWS;
use super::locate::short;
use super::scan::{Emit, Part};
use super::typed::Columns;
use crate::{Error, Result};

/// What a file with a footer begins and ends with.
const MAGIC: &[u8; 6] = b"ARROW1";
/// What a message of a stream begins with since 2019; its length comes next.
const MESSAGE_MARK: [u8; 4] = [0xff; 4];
/// The length of the footer and the magic word.
const END: usize = 10;

/// The schema of a file; the error names the file.
pub fn schema(path: &Path) -> Result<SchemaRef, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{} is not a whole Arrow file: {error}", short(path));
    let mut file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", short(path)))?;
    if has_footer(&mut file).map_err(|error| unreadable(&error))? {
        footer_schema(&mut file).map_err(|error| unreadable(&error))
    } else if !starts_stream(&mut file).map_err(|error| unreadable(&error))? {
        Err(unreadable(&"it begins with no schema"))
    } else {
        // Reads no more than the first message.
        let reader = StreamReader::try_new(BufReader::new(file), None).map_err(|error| unreadable(&error))?;
        Ok(reader.schema())
    }
}

/// Whether the file has a footer; if not, it is a stream. The file is at its start again.
fn has_footer(file: &mut File) -> std::io::Result<bool> {
    let mut start = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == MAGIC)
}

/// Whether a file can begin with a message: it begins with the message's length, and Arrow's reader takes as much memory,
/// which for a file of another format may be gigabytes. The file is at its start again.
fn starts_stream(file: &mut File) -> std::io::Result<bool> {
    let size = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start)?;
    file.rewind()?;
    let length = start.strip_prefix(&MESSAGE_MARK).unwrap_or(&start).first_chunk();
    Ok(length.is_some_and(|length| u64::from(u32::from_le_bytes(*length)) < size))
}

/// Checks that the messages of a stream are no longer than the file, for the same reason. The file is at its start again.
fn check_messages(file: &mut File) -> Result<(), ArrowError> {
    let broken = || ArrowError::IpcError("a message is too long".to_owned());
    let size = file.metadata()?.len();
    let mut reader = BufReader::new(file);
    loop {
        let mut length = [0; 4];
        let at_end = reader.fill_buf()?.is_empty();
        if !at_end {
            reader.read_exact(&mut length)?;
        }
        if length == MESSAGE_MARK {
            reader.read_exact(&mut length)?;
        }
        let length = u64::from(u32::from_le_bytes(length));
        if length == 0 {
            break;
        }
        if length > size {
            return Err(broken());
        }
        let mut message = vec![0; length as usize];
        reader.read_exact(&mut message)?;
        let body = root_as_message(&message).map_err(|_| broken())?.bodyLength();
        if u64::try_from(body).ok().is_none_or(|body| body > size) {
            return Err(broken());
        }
        reader.seek_relative(body)?;
    }
    Ok(reader.rewind()?)
}

/// The footer alone: Arrow's reader would read dictionaries, too.
fn footer_schema(file: &mut File) -> Result<SchemaRef, ArrowError> {
    let broken = |what: &str| ArrowError::IpcError(what.to_owned());
    let size = file.metadata()?.len();
    let mut end = [0; END];
    if size < (END + MAGIC.len()) as u64 {
        return Err(broken("its footer is missing"));
    }
    file.seek(SeekFrom::End(-(END as i64)))?;
    file.read_exact(&mut end)?;
    let length = read_footer_length(end)? as u64 + END as u64;
    if length > size {
        return Err(broken("its footer is too long"));
    }
    file.seek(SeekFrom::Start(size - length))?;
    let mut footer = vec![0; length as usize - END];
    file.read_exact(&mut footer)?;
    let footer = root_as_footer(&footer).map_err(|_| broken("its footer is broken"))?;
    let blocks = footer.recordBatches().into_iter().chain(footer.dictionaries()).flatten();
    for block in blocks {
        let lengths = [block.offset(), block.metaDataLength().into(), block.bodyLength()];
        let lengths = lengths.map(|length| u64::try_from(length).unwrap_or(u64::MAX));
        // Arrow's reader takes as much memory as the footer says.
        if lengths.into_iter().fold(0, u64::saturating_add) > size {
            return Err(broken("its footer is broken"));
        }
    }
    let schema = footer.schema().filter(|schema| schema.endianness().equals_to_target_endianness());
    Ok(Arc::new(fb_to_schema(schema.ok_or_else(|| broken("its footer has no schema for this machine"))?)))
}

/// Reads some columns of the files.
#[derive(Debug, Serialize, Deserialize)]
pub struct ArrowReader {
    files: Vec<PathBuf>,
    /// Of each file, where the columns are that a query sees.
    places: Vec<Vec<usize>>,
}

impl ArrowReader {
    /// For files with these schemas.
    pub fn new(files: Vec<PathBuf>, columns: &Columns, schemas: &[SchemaRef]) -> Result<Self, ArrowError> {
        let places = schemas
            .iter()
            .enumerate()
            .map(|(file, schema)| columns.in_file(file).iter().map(|field| schema.index_of(field.name())).collect());
        Ok(Self { places: places.collect::<Result<_, _>>()?, files })
    }

    /// How many files there are, and how many columns each of them offers; nothing if they do not agree.
    pub fn files_and_columns(&self) -> Option<(usize, usize)> {
        let columns = self.places.first().map_or(0, Vec::len);
        let agree = self.places.iter().all(|places| places.len() == columns) && self.places.len() == self.files.len();
        agree.then_some((self.files.len(), columns))
    }

    /// Where a file is.
    pub fn path(&self, file: usize) -> Option<&Path> {
        self.files.get(file).map(PathBuf::as_path)
    }

    /// Reads a part of a file: of the columns that it offers, those at `columns`, which make up `schema`.
    pub fn read(&self, part: &Part, columns: &[usize], schema: &SchemaRef, emit: Emit<'_>) -> Result<()> {
        let places = columns.iter().map(|column| self.places[part.file()][*column]).collect();
        read(&self.files[part.file()], part, places, schema, emit).map_err(|_| Error::Reading)
    }
}

fn read(
    path: &Path,
    part: &Part,
    places: Vec<usize>,
    schema: &SchemaRef,
    emit: Emit<'_>,
) -> std::result::Result<(), ArrowError> {
    let mut file = File::open(path)?;
    if has_footer(&mut file)? {
        let mut reader = FileReader::try_new_buffered(file, Some(places))?;
        let share = part.share(reader.num_batches());
        if share.is_empty() {
            return Ok(());
        }
        reader.set_index(share.start)?;
        forward(reader.take(share.len()), schema, emit)
    } else if part.share(1).is_empty() {
        // A stream is read by one part alone.
        Ok(())
    } else {
        check_messages(&mut file)?;
        forward(StreamReader::try_new(BufReader::new(file), Some(places))?, schema, emit)
    }
}

/// Converts batches and passes them on in pieces of the usual size.
fn forward(
    batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
    schema: &SchemaRef,
    emit: Emit<'_>,
) -> std::result::Result<(), ArrowError> {
    for batch in batches {
        let batch = convert(&batch?, schema)?;
        for start in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            if !emit(batch.slice(start, BATCH_ROWS.min(batch.num_rows() - start))) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The batch in the types that a query sees. What does not fit is NULL.
fn convert(batch: &RecordBatch, schema: &SchemaRef) -> std::result::Result<RecordBatch, ArrowError> {
    let safe = CastOptions { safe: true, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        let same = column.data_type() == field.data_type();
        if same { Ok(column.clone()) } else { cast_with_options(column, field.data_type(), &safe) }
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}
