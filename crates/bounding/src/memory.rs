//! How much memory the work may use, and where rows are spilled.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// A memory limit, shared by all clones, and a directory for temporary files.
///
/// Rows waiting for the rest of their unit's rows are spilled to disk when memory runs out. The following must stay in
/// memory:
/// - every group: its key and its statistics, once per worker (in `finish`, once per thread); the bins of groups that
///   have kept rows; and the numbers of the result again, at 64 bytes each;
/// - every distinct value of a column that is measured by [`Measure::Items`](crate::Measure::Items), and every row kept
///   for [`Measure::Values`](crate::Measure::Values);
/// - the rows of the largest of 256 buckets, about six times over. All rows of a unit are in one bucket, so a unit with
///   half of the rows needs a bucket with half of the rows.
///
/// Tables of keys and items double when they are full. Room for that is reserved before rows are added that could fill
/// them.
///
/// If all this exceeds the limit, the work fails with [`Error::Memory`]. The limit covers everything that grows with the
/// number of rows, groups and items, but not the batches themselves and small buffers. Several jobs may share one
/// limit: each spills its own rows, but none can make another one spill.
///
/// # Privacy
/// Temporary files contain rows. They have no name from the start and disappear when the process ends,
/// however it ends, but their contents reach the disk: use a directory that is as well protected as the data.
///
/// # Example
/// ```
/// use reticent_bounding::Memory;
///
/// let memory = Memory::new(2 << 30).spilling_to(std::env::temp_dir());
/// assert_eq!(memory.used(), 0);
/// ```
#[derive(Debug, Clone)]
pub struct Memory {
    limit: usize,
    used: Arc<AtomicUsize>,
    folder: Option<PathBuf>,
}

impl Memory {
    /// At most `limit` bytes, and no spilling.
    pub fn new(limit: usize) -> Self {
        Self { limit, used: Arc::default(), folder: None }
    }

    /// No limit.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// The same memory, with a directory for rows that do not fit.
    pub fn spilling_to(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The directory for rows that do not fit.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// An empty reservation.
    pub fn reserve(&self) -> Reservation {
        Reservation { memory: self.clone(), bytes: 0 }
    }
}

/// A part of the memory, released when dropped.
#[derive(Debug)]
pub struct Reservation {
    memory: Memory,
    bytes: usize,
}

impl Reservation {
    /// Returns the number of bytes reserved.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves `bytes` more, or fails without reserving any.
    pub fn try_grow(&mut self, bytes: usize) -> Result<()> {
        let limit = self.memory.limit;
        let grow = |used: usize| used.checked_add(bytes).filter(|&used| used <= limit);
        self.memory.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow).map_err(|_| Error::Memory)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Releases `bytes`, at most what is reserved.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.memory.used.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
    }

    /// Grows or shrinks to `bytes`.
    pub fn try_resize(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            self.try_grow(bytes - self.bytes)
        } else {
            self.shrink(self.bytes - bytes);
            Ok(())
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_counts_until_it_is_given_back() {
        let memory = Memory::new(100);
        let (mut one, mut other) = (memory.reserve(), memory.clone().reserve());
        one.try_grow(60).unwrap();
        assert!(matches!(other.try_grow(41), Err(Error::Memory)));
        assert!(matches!(other.try_grow(usize::MAX), Err(Error::Memory)));
        other.try_grow(40).unwrap();
        assert_eq!(memory.used(), 100);
        one.try_resize(10).unwrap();
        other.try_resize(90).unwrap();
        drop(one);
        assert_eq!(memory.used(), 90);
        other.shrink(1000);
        assert_eq!((memory.used(), other.bytes()), (0, 0));
    }
}
