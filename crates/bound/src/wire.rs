//! Values as bytes, for plans that run in another process.
//!
//! The first byte is the version of the format, the rest is [`postcard`]'s. Arrays and schemas are Arrow's own stream format.
//! Whatever the bytes are, reading them gives a value or an error: nothing is allocated because a length says so, and
//! a decoder's panic is an error.
//!
//! # Privacy
//! Bytes are read by whoever runs a part of a query, and written by whoever plans it; neither is hidden from the other. What
//! is checked here protects against accidents, not against a planner that asks for other plans than it should: such
//! a planner may ask for the rows themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamDecoder;
use datafusion::arrow::ipc::root_as_message;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::common::plan_err;
use datafusion::error::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::choice::ChoiceKey;
use super::exec::Job;
use super::keys::PublicKeys;
use super::layout::{Caps, Layout};

/// Grows with every change of what bytes mean, and of the rules by which rows are cut, converted, chosen and added up: one query
/// follows one set of rules.
const VERSION: u8 = 1;
/// What a message of Arrow's stream begins with; its length comes next.
const MARK: [u8; 4] = [0xff; 4];
/// An array of more values than this per byte was not written here.
const VALUES_PER_BYTE: usize = 8;

/// A value as bytes.
///
/// # Errors
/// If some part of it has no form as bytes, such as a path that is not UTF-8.
pub fn write<T: Serialize>(what: &str, value: &T) -> Result<Vec<u8>> {
    match postcard::to_extend(value, vec![VERSION]) {
        Ok(bytes) => Ok(bytes),
        Err(error) => plan_err!("{what} cannot be written: {error}"),
    }
}

/// The value that [`write()`] made these bytes of.
///
/// # Errors
/// If they are other bytes; the text says `what` could not be read.
pub fn read<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    let Some((&version, rest)) = bytes.split_first() else { return plan_err!("{what} cannot be read: no bytes") };
    if version != VERSION {
        return plan_err!("{what} is written in version {version}, not {VERSION}: run the same release everywhere");
    }
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => plan_err!("{what} cannot be read: there are {} bytes too many", rest.len()),
        Err(error) => plan_err!("{what} cannot be read: {error}"),
    }
}

/// A schema as bytes.
///
/// # Errors
/// If Arrow's format does not have one of its types.
pub fn schema_to_bytes(schema: &Schema) -> Result<Vec<u8>> {
    Ok(StreamWriter::try_new(Vec::new(), schema)?.into_inner()?)
}

/// The schema that [`schema_to_bytes`] made these bytes of.
///
/// # Errors
/// If they are other bytes.
pub fn schema_from_bytes(what: &str, bytes: &[u8]) -> Result<SchemaRef> {
    match stream(what, bytes)? {
        (Some(schema), None) => Ok(schema),
        _ => plan_err!("{what} cannot be read: there is no schema, or more than one"),
    }
}

fn arrays_to_bytes(columns: &[ArrayRef]) -> Result<Vec<u8>> {
    let field = |(place, column): (usize, &ArrayRef)| Field::new(place.to_string(), column.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()));
    let rows = columns.first().map_or(0, |column| column.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns.to_vec(), &options)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}

fn arrays_from_bytes(what: &str, bytes: &[u8]) -> Result<Vec<ArrayRef>> {
    match stream(what, bytes)? {
        (_, Some(batch)) if batch.num_rows() / VALUES_PER_BYTE <= bytes.len() => Ok(batch.columns().to_vec()),
        _ => plan_err!("{what} cannot be read: there are no arrays, or too long ones"),
    }
}

/// The schema of a stream and its only batch, if it has them.
fn stream(what: &str, bytes: &[u8]) -> Result<(Option<SchemaRef>, Option<RecordBatch>)> {
    let decode = || -> Result<_, ArrowError> {
        let mut decoder = StreamDecoder::new();
        let mut buffer = Buffer::from(bytes);
        check_lengths(&buffer)?;
        let batch = decoder.decode(&mut buffer)?;
        if batch.is_some() && decoder.decode(&mut buffer)?.is_some() {
            return Err(ArrowError::IpcError("there are more batches than one".to_owned()));
        }
        decoder.finish()?;
        Ok((decoder.schema(), batch))
    };
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) => plan_err!("{what} cannot be read: {error}"),
        Err(_) => plan_err!("{what} cannot be read: its arrays are broken"),
    }
}

/// Refuses messages after which Arrow's decoder would allocate more than there are bytes: it believes what compressed buffers
/// say of their lengths, and we write none.
fn check_lengths(stream: &Buffer) -> Result<(), ArrowError> {
    let broken = || ArrowError::IpcError("a message is broken".to_owned());
    let most = (stream.len() * VALUES_PER_BYTE) as i64;
    let mut at = 0;
    while let Some([mark, length]) = stream.get(at..at + 2 * MARK.len()).map(|head| [&head[..4], &head[4..]]) {
        let length = <[u8; 4]>::try_from(length).map(u32::from_le_bytes).map_err(|_| broken())? as usize;
        if mark != MARK {
            return Err(broken());
        }
        if length == 0 {
            return Ok(());
        }
        let from = at + 2 * MARK.len();
        // A copy is aligned, as the format's reader wants it.
        let message = stream.get(from..from + length).ok_or_else(broken)?.to_vec();
        let message = root_as_message(&message).map_err(|_| broken())?;
        let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
        if let Some(batch) = message.header_as_record_batch().or(dictionary) {
            let counts = batch.variadicBufferCounts().into_iter().flatten();
            let lengths = batch.nodes().into_iter().flatten().map(|node| node.length());
            let fits =
                [batch.length()].into_iter().chain(counts).chain(lengths).all(|length| (0..=most).contains(&length));
            if batch.compression().is_some() || !fits {
                return Err(broken());
            }
        }
        let body = usize::try_from(message.bodyLength()).map_err(|_| broken())?;
        at = (from + length).checked_add(body).filter(|&end| end <= stream.len()).ok_or_else(broken)?;
    }
    Err(broken())
}

/// What a bounding operator is told.
const OPERATOR: &str = "the bounding operator";

#[derive(Serialize, Deserialize)]
struct Told {
    layout: Layout,
    caps: Option<Caps>,
    known: Option<Vec<u8>>,
    choice: [u8; 32],
}

pub(super) fn write_job(job: &Job) -> Result<Vec<u8>> {
    let known = job.known.as_ref().map(|known| arrays_to_bytes(&known.columns)).transpose()?;
    let told = Told { layout: job.layout.clone(), caps: job.caps, known, choice: job.key.0 };
    write(OPERATOR, &told)
}

pub(super) fn read_job(bytes: &[u8]) -> Result<Job> {
    let Told { layout, caps, known, choice } = read(OPERATOR, bytes)?;
    let known = known.map(|bytes| arrays_from_bytes("the public keys", &bytes)).transpose()?;
    if known.as_ref().is_some_and(|columns| columns.len() != layout.keys) {
        return plan_err!("{OPERATOR} cannot be read: it has public keys for other columns than it has");
    }
    Ok(Job { layout, caps, known: known.map(|columns| PublicKeys { columns }), key: ChoiceKey(choice) })
}
