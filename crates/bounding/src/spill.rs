//! Records that were written to disk.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use arrow_buffer::Buffer;

use crate::error::Result;

const WORD: usize = size_of::<u32>();
/// Bytes read at a time.
const READ: usize = 1 << 16;

/// The result of one spill: the words of every bucket, one bucket after the other.
pub(crate) struct Run {
    /// Without a name: it disappears when closed.
    file: Mutex<File>,
    /// Where each bucket ends, in words.
    ends: Vec<u64>,
}

impl Run {
    /// Writes the pieces of all buckets.
    pub fn write<P: Iterator<Item = Vec<u32>>>(folder: &Path, buckets: impl Iterator<Item = P>) -> Result<Self> {
        let mut writer = BufWriter::new(tempfile::tempfile_in(folder)?);
        let mut written = 0;
        let mut ends = Vec::new();
        for bucket in buckets {
            for piece in bucket {
                written += piece.len() as u64;
                writer.write_all(Buffer::from_vec(piece).as_slice())?;
            }
            ends.push(written);
        }
        let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(Self { file: Mutex::new(file), ends })
    }

    /// Returns the number of words of a bucket.
    pub fn words(&self, bucket: usize) -> usize {
        (self.ends[bucket] - self.start(bucket)) as usize
    }

    /// Appends the words of a bucket.
    pub fn read(&self, bucket: usize, records: &mut Vec<u32>) -> Result<()> {
        let mut left = self.words(bucket) * WORD;
        if left == 0 {
            return Ok(());
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.start(bucket) * WORD as u64))?;
        let mut bytes = vec![0; READ.min(left)];
        while left > 0 {
            let part = &mut bytes[..READ.min(left)];
            file.read_exact(part)?;
            records.extend(part.as_chunks::<WORD>().0.iter().map(|&word| u32::from_ne_bytes(word)));
            left -= part.len();
        }
        Ok(())
    }

    fn start(&self, bucket: usize) -> u64 {
        if bucket == 0 { 0 } else { self.ends[bucket - 1] }
    }
}
