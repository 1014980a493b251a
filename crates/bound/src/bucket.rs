//! Rows scattered by unit, in memory and on disk.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use datafusion::arrow::buffer::Buffer;
use datafusion::common::{DataFusionError, resources_err};
use datafusion::error::Result;
use datafusion::execution::SpillFile;
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::DiskManager;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};

/// Into so many buckets the rows of a partition are scattered: few enough for the processor to write to all of them in
/// turn, enough for one of them to fit its cache when there are tens of millions of rows.
pub(super) const BUCKETS: usize = 256;
/// Words of a bucket's first piece of memory: little, for tables of a thousand rows.
const FIRST_WORDS: usize = 256;
/// Words of every further piece.
const MORE_WORDS: usize = 4096;
/// What it takes to process a word of a bucket: a copy of it, and the places and order of its rows.
const WORKING_BYTES: usize = 16;
const WORD: usize = size_of::<u32>();

/// Records of words, in buckets.
///
/// Memory is asked of the pool. When it gives no more, what is held goes to a temporary file, bucket after bucket, and when
/// a bucket is taken, its pieces are read back from all files. So the memory needed is that of the largest bucket; one unit
/// is always in one bucket.
pub(super) struct Buckets {
    /// The piece of each bucket that is being filled.
    open: Vec<Vec<u32>>,
    full: Vec<Vec<Vec<u32>>>,
    runs: Vec<Run>,
    held: MemoryReservation,
    working: MemoryReservation,
    disk: Arc<DiskManager>,
}

/// What was written at one time.
struct Run {
    /// Words of each bucket.
    words: Vec<usize>,
    /// Read from front to back, as buckets are taken in order.
    reader: BufReader<File>,
    /// Removes the file when dropped.
    _file: Arc<dyn SpillFile>,
}

impl Buckets {
    pub fn new(partition: usize, context: &TaskContext) -> Self {
        let name = |what: &str| format!("BoundExec[{partition}] {what}");
        let spilling = MemoryConsumer::new(name("rows")).with_can_spill(true);
        Self {
            open: vec![Vec::new(); BUCKETS],
            full: vec![Vec::new(); BUCKETS],
            runs: Vec::new(),
            held: spilling.register(context.memory_pool()),
            working: MemoryConsumer::new(name("bucket")).register(context.memory_pool()),
            disk: context.runtime_env().disk_manager.clone(),
        }
    }

    /// Adds a record to a bucket.
    #[inline]
    pub fn push(&mut self, bucket: usize, record: &[u32]) -> Result<()> {
        if self.open[bucket].len() + record.len() > self.open[bucket].capacity() {
            self.make_room(bucket, record.len())?;
        }
        self.open[bucket].extend_from_slice(record);
        Ok(())
    }

    #[cold]
    fn make_room(&mut self, bucket: usize, least: usize) -> Result<()> {
        let words = if self.open[bucket].capacity() == 0 { FIRST_WORDS } else { MORE_WORDS }.max(least);
        if self.held.try_grow(words * WORD).is_err() {
            self.spill()?;
            self.held.try_grow(words * WORD)?;
        }
        let full = std::mem::replace(&mut self.open[bucket], Vec::with_capacity(words));
        if full.capacity() > 0 {
            self.full[bucket].push(full);
        }
        Ok(())
    }

    /// Gives up memory for somebody else, or for the next rows: everything held goes to disk.
    pub fn spill(&mut self) -> Result<()> {
        if self.open.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let file = self.disk.create_tmp_file("rows by unit")?;
        let mut writer = BufWriter::new(file.open_writer()?);
        let mut words = vec![0; BUCKETS];
        for (bucket, written) in words.iter_mut().enumerate() {
            for piece in self.pieces(bucket) {
                *written += piece.len();
                writer.write_all(Buffer::from_vec(piece).as_slice())?;
            }
        }
        writer.into_inner().map_err(|error| DataFusionError::IoError(error.into_error()))?.finish()?;
        let Some(path) = file.path() else {
            return resources_err!("rows were written to a place from which they cannot be read");
        };
        let reader = BufReader::new(File::open(path)?);
        self.runs.push(Run { words, reader, _file: file });
        self.held.free();
        Ok(())
    }

    fn pieces(&mut self, bucket: usize) -> impl Iterator<Item = Vec<u32>> + use<> {
        let full = std::mem::take(&mut self.full[bucket]);
        full.into_iter().chain([std::mem::take(&mut self.open[bucket])])
    }

    /// Moves all records of a bucket into `records`. Buckets are taken once each, in order.
    pub fn take(&mut self, bucket: usize, records: &mut Vec<u32>) -> Result<()> {
        records.clear();
        self.working.free();
        let in_memory: usize = self.full[bucket].iter().chain([&self.open[bucket]]).map(Vec::len).sum();
        let words = in_memory + self.runs.iter().map(|run| run.words[bucket]).sum::<usize>();
        if words == 0 {
            return Ok(());
        }
        if self.working.try_grow(words * WORKING_BYTES).is_err() {
            self.spill()?;
            self.working.try_grow(words * WORKING_BYTES)?;
        }
        records.reserve(words);
        for run in &mut self.runs {
            let mut bytes = vec![0; run.words[bucket] * WORD];
            run.reader.read_exact(&mut bytes)?;
            records.extend(bytes.chunks_exact(WORD).map(|word| u32::from_ne_bytes(word.try_into().expect("a word"))));
        }
        for piece in self.pieces(bucket) {
            records.extend_from_slice(&piece);
            self.held.shrink(piece.capacity() * WORD);
        }
        Ok(())
    }

    /// Was anything written to disk?
    #[cfg(test)]
    pub fn has_spilled(&self) -> bool {
        !self.runs.is_empty()
    }
}
