//! How a table is divided into parts.
//!
//! The files of a table are laid end to end and divided into parts of equal size. Text is cut at the next end of a row,
//! unless it is compressed, in an
//! encoding that was chosen, or a JSON array; typed files consist of chunks, and a chunk belongs to the part that contains its midpoint. So every row is in
//! exactly one part, as long as the files do not change. The number of parts depends only on the sizes of the files.

use std::fmt::{self, Debug, Formatter};
use std::io::{self, Read, Take};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use serde::{Deserialize, Serialize};

use crate::Broken;
use crate::encoding::{Coding, Encoding};
use crate::packing::{Input, Packing};

/// No part is smaller, unless the table is.
const SMALLEST_PART: u64 = 4 << 20;
/// No table is divided into more parts.
pub const MOST_PARTS: usize = 1 << 16;

/// Parts of equal size.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    bytes: u64,
    parts: usize,
}

impl Shares {
    /// Divides this many bytes into at most `most` parts, at least one.
    pub fn new(bytes: u64, most: usize) -> Self {
        let most = most.clamp(1, MOST_PARTS);
        let parts = usize::try_from(bytes.div_ceil(SMALLEST_PART)).unwrap_or(most).clamp(1, most);
        Self { bytes, parts }
    }

    /// Exactly this many parts, however small: tests have small files.
    #[cfg(test)]
    pub fn exactly(bytes: u64, parts: usize) -> Self {
        Self { bytes, parts }
    }

    /// Returns the number of parts.
    pub fn parts(self) -> usize {
        self.parts
    }

    /// Where a part starts.
    fn start(self, part: usize) -> u64 {
        (u128::from(self.bytes) * part as u128 / self.parts as u128) as u64
    }

    /// The part that contains a position.
    fn part_at(self, position: u64) -> usize {
        // Of the ascending starts, the last one not beyond the position.
        let (mut low, mut high) = (0, self.parts);
        while low + 1 < high {
            let middle = low.midpoint(high);
            if self.start(middle) <= position { low = middle } else { high = middle }
        }
        low
    }

    /// Assigns chunks to parts, for a file that starts at `position` and has chunks of these sizes.
    pub fn chunks(self, path: &Path, mut position: u64, sizes: &[u64]) -> Chunks {
        let first = self.part_at(position);
        let mut bounds = vec![0];
        for (chunk, size) in sizes.iter().enumerate() {
            let part = self.part_at(position.saturating_add(size / 2));
            bounds.resize((part - first).max(bounds.len() - 1) + 1, chunk);
            position = position.saturating_add(*size);
        }
        bounds.push(sizes.len());
        Chunks { path: path.to_owned(), first, bounds, footer: Once::default() }
    }

    /// Determines where a plain text file is cut. It starts at `position`, its rows start at `start` in it, and it has
    /// `size` bytes.
    pub fn text(self, path: &Path, position: u64, start: u64, size: u64) -> Text {
        let end = position.saturating_add(size);
        let first = self.part_at(position);
        let inside = (first + 1..self.parts).map(|part| self.start(part)).take_while(|cut| *cut < end);
        let targets = inside.map(|cut| (cut - position).max(start)).collect();
        let (path, packing) = (path.to_owned(), Packing::Plain);
        Text { path, packing, encoding: None, start, first, targets, cuts: Once::default() }
    }

    /// A text file that cannot be cut belongs to the part that contains its midpoint. Its rows start at `start`, counted
    /// in decoded bytes.
    pub fn whole(self, path: &Path, coding: Coding, position: u64, start: u64, size: u64) -> Text {
        let first = self.part_at(position.saturating_add(size / 2));
        let (path, Coding { packing, encoding }) = (path.to_owned(), coding);
        Text { path, packing, encoding, start, first, targets: Vec::new(), cuts: Once::default() }
    }
}

/// A file of chunks, and which of them each part reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chunks {
    /// The path of the file.
    pub path: PathBuf,
    /// The first part that reads it.
    first: usize,
    /// For each part that reads it, its first chunk; then the number of chunks.
    bounds: Vec<usize>,
    /// The footer of a Parquet file, read when the first part is.
    #[serde(skip)]
    pub footer: Once<ArrowReaderMetadata>,
}

impl Chunks {
    /// The chunks that a part reads.
    pub fn share(&self, part: usize) -> Range<usize> {
        let bounds = part.checked_sub(self.first).and_then(|index| self.bounds.get(index..=index + 1));
        bounds.map_or(0..0, |bounds| bounds[0]..bounds[1])
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.bounds.last().copied().unwrap_or(0)
    }

    /// Whether every chunk belongs to exactly one part.
    pub fn is_sound(&self, parts: usize) -> bool {
        let all_read = self.first.saturating_add(self.bounds.len()) <= parts + 1;
        all_read && self.bounds.first() == Some(&0) && self.bounds.is_sorted()
    }
}

/// A text file, and where it is cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Text {
    /// The path of the file.
    pub path: PathBuf,
    /// How it is compressed.
    packing: Packing,
    /// The encoding that was chosen for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
    /// Where its rows start.
    start: u64,
    /// The first part that reads it.
    first: usize,
    /// Where the parts after the first would start if they could be cut anywhere.
    targets: Vec<u64>,
    /// Where they do start, determined when the first of them is read.
    #[serde(skip)]
    cuts: Once<Vec<u64>>,
}

impl Text {
    /// The bytes that a part reads; `None` if it reads none. `cut` finds the ends of rows at or after the given
    /// positions of a file whose rows start at the given position. It is called once for all parts, and depends only on
    /// the bytes of the file, so another process finds the same. The last part extends to the end of the file.
    pub fn range(
        &self,
        part: usize,
        cut: impl FnOnce(u64, &[u64]) -> io::Result<Vec<u64>>,
    ) -> Result<Option<Range<u64>>, Broken> {
        let Some(index) = part.checked_sub(self.first).filter(|index| *index <= self.targets.len()) else {
            return Ok(None);
        };
        let cuts = self.cuts.get(|| match self.targets.as_slice() {
            [] => Some(Vec::new()),
            targets => cut(self.start, targets).ok().filter(|cuts| cuts.len() == targets.len()),
        })?;
        let start = if index == 0 { self.start } else { cuts[index - 1] };
        let end = cuts.get(index).copied().unwrap_or(u64::MAX);
        Ok(Some(start..end.max(start)))
    }

    /// Opens the file to read these bytes of it.
    pub fn open(&self, range: &Range<u64>) -> Result<Take<Input>, Broken> {
        let input = self.coding().open(&self.path, range.start).map_err(|_| Broken)?;
        Ok(input.take(range.end - range.start))
    }

    fn coding(&self) -> Coding {
        Coding { packing: self.packing, encoding: self.encoding }
    }

    /// Whether one part reads all of it.
    pub fn is_whole(&self) -> bool {
        self.targets.is_empty()
    }

    /// Whether every row belongs to exactly one part.
    pub fn is_sound(&self, parts: usize) -> bool {
        let all_read = self.first.saturating_add(self.targets.len()) < parts;
        let can_be_cut = self.is_whole() || self.coding().can_be_cut();
        all_read && can_be_cut && self.targets.is_sorted() && self.targets.iter().all(|target| *target >= self.start)
    }
}

/// Something about a file that is determined when it is needed first; `None` if it could not be.
#[derive(Clone)]
pub struct Once<T>(OnceLock<Option<T>>);

impl<T> Once<T> {
    /// What was determined, by this function if by none before.
    pub fn get(&self, determine: impl FnOnce() -> Option<T>) -> Result<&T, Broken> {
        self.0.get_or_init(determine).as_ref().ok_or(Broken)
    }
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Debug for Once<T> {
    /// Omits it: positions depend on the rows.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_tables_are_one_part() {
        assert_eq!(Shares::new(10, 4).parts(), 1);
        assert_eq!(Shares::new(0, 4).parts(), 1);
        assert_eq!(Shares::new(SMALLEST_PART * 10, 0).parts(), 1);
        assert_eq!(Shares::new(SMALLEST_PART * 10, 4).parts(), 4);
        assert_eq!(Shares::new(SMALLEST_PART * 2 + 1, 4).parts(), 3);
        assert_eq!(Shares::new(u64::MAX, usize::MAX).parts(), MOST_PARTS);
    }

    #[test]
    fn equal_chunks_are_shared_evenly() {
        let chunks = Shares::exactly(100, 2).chunks(Path::new(""), 0, &[10; 10]);
        assert_eq!((chunks.share(0), chunks.share(1), chunks.share(2)), (0..5, 5..10, 0..0));
        let last = Shares::exactly(100, 4).chunks(Path::new(""), 60, &[40]);
        assert_eq!([0, 1, 2, 3].map(|part| last.share(part).len()), [0, 0, 0, 1]);
    }

    #[test]
    fn a_file_that_cannot_be_cut_breaks_every_part() {
        let text = Shares::exactly(100, 3).text(Path::new(""), 0, 0, 100);
        for part in 0..3 {
            assert_eq!(text.range(part, |_, _| Err(io::ErrorKind::Other.into())), Err(Broken));
        }
    }

    #[test]
    fn a_file_is_cut_once() {
        let text = Shares::exactly(200, 8).text(Path::new(""), 100, 7, 100);
        let mut cut = 0;
        let ranges: Vec<_> = (0..8)
            .filter_map(|part| {
                let found = text.range(part, |start, targets| {
                    assert_eq!((start, targets), (7, &[25, 50, 75][..]));
                    cut += 1;
                    Ok(vec![40, 90, 90])
                });
                found.unwrap()
            })
            .collect();
        assert_eq!((ranges, cut), (vec![7..40, 40..90, 90..90, 90..u64::MAX], 1));
    }

    proptest! {
        #[test]
        fn everything_is_in_one_part(sizes in proptest::collection::vec(0_u64..50, 1..12), files in 1_usize..4, parts in 1_usize..9) {
            let sizes: Vec<Vec<u64>> = sizes.chunks(sizes.len().div_ceil(files)).map(<[u64]>::to_vec).collect();
            let shares = Shares::exactly(sizes.iter().flatten().sum(), parts);
            let mut position = 0;
            for sizes in &sizes {
                let size: u64 = sizes.iter().sum();
                let chunks = shares.chunks(Path::new(""), position, sizes);
                let read: Vec<usize> = (0..parts).flat_map(|part| chunks.share(part)).collect();
                prop_assert_eq!(read, (0..sizes.len()).collect::<Vec<_>>());
                prop_assert!(chunks.is_sound(parts) && chunks.len() == sizes.len());
                let text = shares.text(Path::new(""), position, 3.min(size), size);
                prop_assert!(text.is_sound(parts));
                let ranges = (0..parts).filter_map(|part| text.range(part, |_, targets| Ok(targets.to_vec())).unwrap());
                let mut end = 3.min(size);
                for range in ranges {
                    prop_assert_eq!(range.start, end);
                    end = range.end;
                }
                prop_assert_eq!(end, u64::MAX);
                position += size;
            }
        }
    }
}
