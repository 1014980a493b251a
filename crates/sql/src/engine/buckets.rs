//! Rows partitioned by unit, in memory and on disk.

use std::hash::BuildHasher;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, SortField};
use foldhash::fast::FixedState;
use reticent_bounding::{Memory, Reservation};

use super::Stopped;
use super::chunk::Chunk;
use super::push::Sink;
use crate::algebra::Rows;
use crate::algebra::data::sound;

/// How many bytes are decoded together.
const DECODED: usize = 16 << 20;
/// Memory is reserved in steps of this many bytes.
const STEP: usize = 1 << 20;

/// The rows of a relation that one thread has seen, in buckets. A row is the bytes of its unit and its columns,
/// preceded by their length.
pub struct Buckets {
    converter: RowConverter,
    held: Vec<Vec<u8>>,
    bytes: usize,
    reserved: Reservation,
    memory: Memory,
    runs: Vec<Run>,
}

/// What was spilled to disk at one time.
struct Run {
    file: Mutex<std::fs::File>,
    /// Where each bucket ends.
    ends: Vec<u64>,
}

impl Run {
    /// Where a bucket starts.
    fn start(&self, bucket: usize) -> u64 {
        bucket.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

impl Buckets {
    /// Buckets for the rows of a relation, at least one. A bucket has all rows of its units.
    pub fn new(rows: &Arc<Rows>, buckets: usize, memory: &Memory) -> Self {
        let unit = rows.unit().map(|unit| unit.data_type());
        let kinds = unit.into_iter().chain(rows.columns().iter().map(|kind| kind.data_type()));
        let converter = sound(RowConverter::new(kinds.map(SortField::new).collect()));
        let (held, reserved) = (vec![Vec::new(); buckets], memory.reserve());
        Self { converter, held, bytes: 0, reserved, memory: memory.clone(), runs: Vec::new() }
    }

    /// Adds rows to the buckets of their units. Rows without a unit are dropped.
    pub fn scatter(&mut self, chunk: &Chunk) -> Result<(), Stopped> {
        chunk.light_pieces().try_for_each(|piece| self.scatter_piece(&piece))
    }

    fn scatter_piece(&mut self, chunk: &Chunk) -> Result<(), Stopped> {
        let unit = chunk.unit().ok_or(Stopped)?;
        let columns: Vec<ArrayRef> = std::iter::once(unit).chain(chunk.columns()).cloned().collect();
        let rows = sound(self.converter.convert_columns(&columns));
        let units = crate::algebra::groups::encoded(std::slice::from_ref(unit));
        let hash = FixedState::default();
        for row in (0..chunk.rows()).filter(|&row| unit.is_valid(row)) {
            let bucket = (hash.hash_one(units.row(row).data()) >> 32) as usize % self.held.len();
            let bytes = rows.row(row);
            let bytes = bytes.data();
            let length = u32::try_from(bytes.len()).map_err(|_| Stopped)?;
            self.held[bucket].extend_from_slice(&length.to_ne_bytes());
            self.held[bucket].extend_from_slice(bytes);
            self.bytes += bytes.len() + size_of::<u32>();
        }
        // A vector's capacity may be twice its length.
        let needed = 2 * self.bytes.next_multiple_of(STEP);
        if self.reserved.try_resize(needed).is_err() {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Stopped> {
        let folder = self.memory.folder().ok_or(Stopped)?;
        let mut file = tempfile::tempfile_in(folder).map_err(|_| Stopped)?;
        let (mut ends, mut end) = (Vec::new(), 0);
        for bucket in &mut self.held {
            file.write_all(bucket).map_err(|_| Stopped)?;
            end += bucket.len() as u64;
            ends.push(end);
            *bucket = Vec::new();
        }
        self.runs.push(Run { file: Mutex::new(file), ends });
        self.bytes = 0;
        self.reserved.try_resize(0)?;
        Ok(())
    }

    /// Whether a bucket has no rows.
    pub fn is_empty(&self, bucket: usize) -> bool {
        self.held[bucket].is_empty() && self.runs.iter().all(|run| run.start(bucket) == run.ends[bucket])
    }

    /// Passes the rows of a bucket to `act`.
    pub fn take(&self, bucket: usize, act: Sink<'_>) -> Result<(), Stopped> {
        self.decoded(&self.held[bucket], act)?;
        for run in &self.runs {
            let start = run.start(bucket);
            let length = usize::try_from(run.ends[bucket] - start).map_err(|_| Stopped)?;
            let mut reserved = self.memory.reserve();
            reserved.try_grow(length)?;
            let mut bytes = vec![0; length];
            let mut file = run.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes)).map_err(|_| Stopped)?;
            self.decoded(&bytes, act)?;
        }
        Ok(())
    }

    /// Decodes a few megabytes at a time: Arrow counts the bytes of texts decoded together in 32 bits, unchecked.
    fn decoded(&self, mut bytes: &[u8], act: Sink<'_>) -> Result<(), Stopped> {
        let parser = self.converter.parser();
        let (mut rows, mut size) = (Vec::new(), 0);
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let (row, rest) = rest.split_at(u32::from_ne_bytes(*length) as usize);
            rows.push(parser.parse(row));
            size += row.len();
            if size > DECODED {
                act(self.chunk(std::mem::take(&mut rows)))?;
                size = 0;
            }
            bytes = rest;
        }
        act(self.chunk(rows))
    }

    fn chunk(&self, rows: Vec<arrow_row::Row<'_>>) -> Chunk {
        let count = rows.len();
        let mut columns = sound(self.converter.convert_rows(rows));
        let unit = columns.remove(0);
        Chunk::new(Some(unit), columns, count)
    }
}
