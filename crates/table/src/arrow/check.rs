//! Whether a file is safe to read.
//!
//! Arrow's reader allocates as much memory as a file claims to need. A broken file may claim terabytes, and running out
//! of memory ends the process, which no caller can catch. So every length is checked first: none exceeds the file, and
//! no buffer grows too much when decompressed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use arrow_ipc::{Block, RecordBatch, root_as_message};
use arrow_schema::ArrowError;

use super::{MESSAGE_MARK, broken};

/// No buffer is longer than this when decompressed.
const LONGEST_BUFFER: u64 = 1 << 32;
/// Nor does it grow by more than this factor; Zstandard stays below it.
const MOST_GROWTH: u64 = 1 << 16;

/// Checks that a block of a file with a footer is no longer than the file.
pub fn check_block(block: &Block, size: u64) -> Result<(), ArrowError> {
    let lengths = [block.offset(), block.metaDataLength().into(), block.bodyLength()];
    let lengths = lengths.map(|length| u64::try_from(length).unwrap_or(u64::MAX));
    if lengths.into_iter().fold(0, u64::saturating_add) > size { Err(broken()) } else { Ok(()) }
}

/// Checks the buffers of blocks that passed [`check_block`].
pub fn check_blocks(file: &mut File, blocks: &[Block]) -> Result<(), ArrowError> {
    for block in blocks {
        file.seek(SeekFrom::Start(block.offset() as u64))?;
        let mut message = vec![0; block.metaDataLength() as usize];
        file.read_exact(&mut message)?;
        // In a file, too, a message starts with its length.
        let message = message.strip_prefix(&MESSAGE_MARK).unwrap_or(&message);
        let body = block.offset() + i64::from(block.metaDataLength());
        check_message(message.get(4..).ok_or_else(broken)?, file, body as u64)?;
    }
    Ok(file.rewind()?)
}

/// Checks the messages of a stream, and rewinds the file.
pub fn check_stream(file: &mut File) -> Result<(), ArrowError> {
    let size = file.metadata()?.len();
    let mut bodies = file.try_clone()?;
    let mut position = 0;
    loop {
        file.seek(SeekFrom::Start(position))?;
        let mut reader = BufReader::new(&mut *file);
        let mut length = [0; 4];
        let at_end = reader.fill_buf()?.is_empty();
        if !at_end {
            reader.read_exact(&mut length)?;
            position += 4;
        }
        if length == MESSAGE_MARK {
            reader.read_exact(&mut length)?;
            position += 4;
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
        position += length;
        let body = root_as_message(&message).map_err(|_| broken())?.bodyLength();
        let body = u64::try_from(body).ok().filter(|body| *body <= size).ok_or_else(broken)?;
        check_message(&message, &mut bodies, position)?;
        position += body;
    }
    Ok(file.rewind()?)
}

/// Checks the buffers of a message whose body starts at this position of the file.
fn check_message(message: &[u8], file: &mut File, body: u64) -> Result<(), ArrowError> {
    let message = root_as_message(message).map_err(|_| broken())?;
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let batches = message.header_as_record_batch().into_iter().chain(dictionary);
    batches.filter(|batch| batch.compression().is_some()).try_for_each(|batch| check_buffers(&batch, file, body))
}

/// A compressed buffer starts with its length, or with −1 if it is not compressed.
fn check_buffers(batch: &RecordBatch<'_>, file: &mut File, body: u64) -> Result<(), ArrowError> {
    for buffer in batch.buffers().into_iter().flatten() {
        let offset = u64::try_from(buffer.offset()).map_err(|_| broken())?;
        let length = u64::try_from(buffer.length()).map_err(|_| broken())?;
        if length == 0 {
            continue;
        }
        let mut claimed = [0; 8];
        file.seek(SeekFrom::Start(body.saturating_add(offset)))?;
        file.read_exact(&mut claimed)?;
        let longest = LONGEST_BUFFER.min(length.saturating_mul(MOST_GROWTH));
        if u64::try_from(i64::from_le_bytes(claimed)).is_ok_and(|claimed| claimed > longest) {
            return Err(broken());
        }
    }
    Ok(())
}
