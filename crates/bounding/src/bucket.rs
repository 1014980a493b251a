//! Rows partitioned by unit, in memory and on disk.

use crate::error::{Error, Result};
use crate::memory::{Memory, Reservation};
use crate::spill::Run;

/// The number of buckets that a worker's rows are partitioned into: few enough for the processor to write to all of
/// them in turn, and enough for one of them to fit in its cache when there are tens of millions of rows.
pub(crate) const BUCKETS: usize = 256;
/// Words of a bucket's first piece of memory: few, for tables of a thousand rows.
const FIRST_WORDS: usize = 256;
/// Words of every further piece.
const MORE_WORDS: usize = 4096;
const WORD: usize = size_of::<u32>();

/// Records of words, in buckets.
///
/// Memory is reserved piece by piece. When it runs out, or this worker has used its share, everything held is written
/// to a temporary file, bucket by bucket; when a bucket is taken, its pieces are read back from all files. So in the
/// end only the largest bucket must fit in memory. All rows of a unit are in one bucket.
pub(crate) struct Buckets {
    /// The piece of each bucket that is being filled.
    open: Vec<Vec<u32>>,
    full: Vec<Vec<Vec<u32>>>,
    runs: Vec<Run>,
    held: Reservation,
    memory: Memory,
}

impl Buckets {
    pub fn new(memory: &Memory) -> Self {
        Self {
            open: vec![Vec::new(); BUCKETS],
            full: vec![Vec::new(); BUCKETS],
            runs: Vec::new(),
            held: memory.reserve(),
            memory: memory.clone(),
        }
    }

    /// Returns a vector with room for this many more words of a bucket. At most `share` bytes are held in memory,
    /// unless a single piece needs more.
    #[inline]
    pub fn room(&mut self, bucket: usize, words: usize, share: usize) -> Result<&mut Vec<u32>> {
        if self.open[bucket].len() + words > self.open[bucket].capacity() {
            self.make_room(bucket, words, share)?;
        }
        Ok(&mut self.open[bucket])
    }

    #[cold]
    fn make_room(&mut self, bucket: usize, least: usize, share: usize) -> Result<()> {
        let words = if self.open[bucket].capacity() == 0 { FIRST_WORDS } else { MORE_WORDS }.max(least);
        let bytes = words * WORD;
        if self.memory.folder().is_some() && self.held.bytes().saturating_add(bytes) > share {
            self.spill()?;
        }
        if self.held.try_grow(bytes).is_err() {
            self.spill()?;
            self.held.try_grow(bytes)?;
        }
        let full = std::mem::replace(&mut self.open[bucket], Vec::with_capacity(words));
        if full.capacity() > 0 {
            self.full[bucket].push(full);
        }
        Ok(())
    }

    /// Writes everything held to disk, to free the memory for others.
    pub fn spill(&mut self) -> Result<()> {
        if self.open.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let folder = self.memory.folder().ok_or(Error::Memory)?;
        let pieces = self.full.iter_mut().zip(&mut self.open).map(|(full, open)| pieces(full, open));
        self.runs.push(Run::write(folder, pieces)?);
        self.held.shrink(usize::MAX);
        Ok(())
    }

    /// Returns the number of words of a bucket, in memory and on disk.
    pub fn words(&self, bucket: usize) -> usize {
        let in_memory: usize = self.full[bucket].iter().chain([&self.open[bucket]]).map(Vec::len).sum();
        in_memory + self.runs.iter().map(|run| run.words(bucket)).sum::<usize>()
    }

    /// Appends the records of a bucket to `records`.
    pub fn copy(&self, bucket: usize, records: &mut Vec<u32>) -> Result<()> {
        self.runs.iter().try_for_each(|run| run.read(bucket, records))?;
        self.full[bucket].iter().chain([&self.open[bucket]]).for_each(|piece| records.extend_from_slice(piece));
        Ok(())
    }

    /// Appends the records of a bucket that are on disk to `records`, and takes out the pieces in memory.
    pub fn take(&mut self, bucket: usize, records: &mut Vec<u32>) -> Result<impl Iterator<Item = Vec<u32>> + use<>> {
        for run in &self.runs {
            run.read(bucket, records)?;
        }
        let held: usize = self.full[bucket].iter().chain([&self.open[bucket]]).map(Vec::capacity).sum();
        self.held.shrink(held * WORD);
        Ok(pieces(&mut self.full[bucket], &mut self.open[bucket]))
    }
}

fn pieces(full: &mut Vec<Vec<u32>>, open: &mut Vec<u32>) -> impl Iterator<Item = Vec<u32>> + use<> {
    std::mem::take(full).into_iter().chain([std::mem::take(open)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_give_back_what_was_put_in_from_memory_and_from_disk() {
        const RECORDS: u32 = 40_000;
        let record = |number: u32| [number, number ^ 0xffff, number.wrapping_mul(77)];
        let of_bucket = |bucket: u32| (0..RECORDS).filter(move |number| number % 250 == bucket).flat_map(record);
        for (limit, share, spills) in
            [(usize::MAX, usize::MAX, false), (600_000, usize::MAX, true), (usize::MAX, 300_000, true)]
        {
            let memory = Memory::new(limit).spilling_to(std::env::temp_dir());
            let mut buckets = Buckets::new(&memory);
            for number in 0..RECORDS {
                buckets.room(number as usize % 250, 3, share).unwrap().extend(record(number));
                assert!(memory.used() <= limit && (memory.used() <= share));
            }
            assert_eq!(!buckets.runs.is_empty(), spills);
            let mut records = Vec::new();
            // Any order will do: threads take buckets as they come.
            for bucket in (0..BUCKETS).rev() {
                records.clear();
                assert_eq!(buckets.words(bucket), of_bucket(bucket as u32).count());
                let pieces = buckets.take(bucket, &mut records).unwrap();
                pieces.for_each(|piece| records.extend(piece));
                assert!(records.iter().copied().eq(of_bucket(bucket as u32)), "bucket {bucket}, limit {limit}");
            }
            assert_eq!(memory.used(), 0);
        }
        let mut nowhere = Buckets::new(&Memory::new(2000));
        nowhere.room(0, 3, usize::MAX).unwrap().push(1);
        assert!(matches!(nowhere.room(1, 3, usize::MAX), Err(Error::Memory)));
    }
}
