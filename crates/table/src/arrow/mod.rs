//! Arrow's own files: with a footer, or as a stream.
//!
//! A record batch is read by one part; a stream cannot be divided.

mod check;

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::Broken;
use crate::cells::BATCH_ROWS;
use crate::locate::short;
use crate::request::Column;
use crate::split::Chunks;
use crate::typed::{Footer, Projection};

/// The start and end of a file with a footer.
const MAGIC: &[u8; 6] = b"ARROW1";
/// The start of a message in a stream, since 2019; its length comes next.
const MESSAGE_MARK: [u8; 4] = [0xff; 4];
/// The length of the footer and the magic number.
const END: usize = 10;

/// What is known about a file without its rows; the error names the file.
pub fn footer(path: &Path) -> Result<Footer, String> {
    let mut file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", short(path)))?;
    let has_footer = has_footer(&mut file).map_err(|error| format!("{} cannot be read: {error}", short(path)))?;
    let broken = || {
        let what = if has_footer { "its footer is missing or broken" } else { "it does not start with a schema" };
        format!("{} is not a complete Arrow file: {what}", short(path))
    };
    // A broken schema can make its decoder panic, and the decoder's message may quote a row.
    let read = catch_unwind(move || {
        if !has_footer {
            return start_of_stream(file);
        }
        let blocks = blocks(&mut file)?;
        let chunks = blocks.batches.iter().map(|block| block.bodyLength().try_into().unwrap_or(0)).collect();
        Ok((blocks.schema, chunks))
    });
    let (schema, chunks) = read.ok().and_then(Result::ok).ok_or_else(broken)?;
    Ok(Footer { schema, inexact: Vec::new(), chunks })
}

/// Whether the file has a footer; if not, it is a stream. Rewinds the file.
fn has_footer(file: &mut File) -> std::io::Result<bool> {
    let mut start = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == MAGIC)
}

/// The schema of a stream and its size. Only the first message is read.
fn start_of_stream(mut file: File) -> Result<(SchemaRef, Vec<u64>), ArrowError> {
    let size = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start)?;
    file.rewind()?;
    // Arrow's reader allocates as much memory as a message claims; for a file of another format that may be gigabytes.
    let length = start.strip_prefix(&MESSAGE_MARK).unwrap_or(&start).first_chunk();
    if length.is_none_or(|length| u64::from(u32::from_le_bytes(*length)) >= size) {
        return Err(broken());
    }
    let reader = StreamReader::try_new(BufReader::new(file), None)?;
    Ok((reader.schema(), vec![size]))
}

/// The contents of a footer.
struct Blocks {
    schema: SchemaRef,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

/// Reads the footer alone: Arrow's reader would read dictionaries, too. Rewinds the file.
fn blocks(file: &mut File) -> Result<Blocks, ArrowError> {
    let size = file.metadata()?.len();
    let mut end = [0; END];
    if size < (END + MAGIC.len()) as u64 {
        return Err(broken());
    }
    file.seek(SeekFrom::End(-(END as i64)))?;
    file.read_exact(&mut end)?;
    let length = read_footer_length(end)? as u64 + END as u64;
    if length > size {
        return Err(broken());
    }
    file.seek(SeekFrom::Start(size - length))?;
    let mut footer = vec![0; length as usize - END];
    file.read_exact(&mut footer)?;
    file.rewind()?;
    let footer = root_as_footer(&footer).map_err(|_| broken())?;
    let schema = footer.schema().filter(|schema| schema.endianness().equals_to_target_endianness());
    let dictionaries: Vec<Block> = footer.dictionaries().into_iter().flatten().copied().collect();
    let batches: Vec<Block> = footer.recordBatches().into_iter().flatten().copied().collect();
    dictionaries.iter().chain(&batches).try_for_each(|block| check::check_block(block, size))?;
    Ok(Blocks { schema: Arc::new(fb_to_schema(schema.ok_or_else(broken)?)), dictionaries, batches })
}

/// Without details: they may depend on rows, and are never shown.
fn broken() -> ArrowError {
    ArrowError::IpcError(String::new())
}

/// The rows of a part of a file, with these columns; `None` if the part reads nothing of the file.
pub fn read(file: &Chunks, part: usize, columns: &[Column], schema: SchemaRef) -> Result<Option<Batches>, Broken> {
    let share = file.share(part);
    if share.is_empty() {
        return Ok(None);
    }
    let opened = || {
        let mut input = File::open(&file.path)?;
        let project = |file: &Schema| Projection::new(file, columns, schema).map_err(|_| broken());
        let (reader, projection): (Pieces, _) = if has_footer(&mut input)? {
            let Blocks { schema, dictionaries, batches } = blocks(&mut input)?;
            if batches.len() != file.len() {
                return Err(broken());
            }
            check::check_blocks(&mut input, &dictionaries)?;
            check::check_blocks(&mut input, &batches[share.clone()])?;
            let projection = project(&schema)?;
            let mut reader = FileReader::try_new_buffered(input, Some(projection.places.clone()))?;
            reader.set_index(share.start)?;
            (Box::new(reader.take(share.len())), projection)
        } else {
            let (schema, chunks) = start_of_stream(input.try_clone()?)?;
            if chunks.len() != file.len() {
                return Err(broken());
            }
            check::check_stream(&mut input)?;
            let projection = project(&schema)?;
            (Box::new(StreamReader::try_new(BufReader::new(input), Some(projection.places.clone()))?), projection)
        };
        Ok(Batches { reader, projection, batch: None })
    };
    opened().map(Some).map_err(|_: ArrowError| Broken)
}

/// A file's own batches, which may be of any size.
type Pieces = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Batches of rows.
pub struct Batches {
    reader: Pieces,
    projection: Projection,
    /// The rest of the file's current batch.
    batch: Option<RecordBatch>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = match self.batch.take() {
                Some(batch) => batch,
                None => match self.reader.next()? {
                    Ok(batch) => batch,
                    Err(_) => return Some(Err(Broken)),
                },
            };
            let rows = batch.num_rows().min(BATCH_ROWS);
            if rows > 0 {
                let rest = batch.slice(rows, batch.num_rows() - rows);
                self.batch = (rest.num_rows() > 0).then_some(rest);
                return Some(self.projection.apply(&batch.slice(0, rows)));
            }
        }
    }
}
