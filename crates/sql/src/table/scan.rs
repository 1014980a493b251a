//! Files that this crate reads itself, as a table of the query engine.
//!
//! How a table is cut into partitions depends on the sizes of its files and on the settings, not on what is in them.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as EngineResult;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};

use super::arrow::ArrowReader;
use super::csv::CsvReader;
use super::ndjson::NdjsonReader;
use super::source;
use crate::{Error, Result};

/// No part of a file is smaller, unless the file is.
const SMALLEST_PART: u64 = 4 << 20;
/// No file is cut into more parts.
const MOST_PARTS: usize = 1 << 16;

/// Takes a batch; false if nobody wants more.
pub type Emit<'a> = &'a mut dyn FnMut(RecordBatch) -> bool;

/// How files are read, where they are and what they offer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Format {
    Csv(CsvReader),
    Ndjson(NdjsonReader),
    Arrow(ArrowReader),
}

impl Format {
    /// Reads a part of a file: of the columns that the table offers, those at `columns`, which make up `schema`.
    pub fn read(&self, part: &Part, columns: &[usize], schema: &SchemaRef, emit: Emit<'_>) -> Result<()> {
        match self {
            Self::Csv(reader) => reader.read(part, columns, schema, emit),
            Self::Ndjson(reader) => reader.read(part, columns, schema, emit),
            Self::Arrow(reader) => reader.read(part, columns, schema, emit),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Csv(_) => "CSV",
            Self::Ndjson(_) => "NDJSON",
            Self::Arrow(_) => "Arrow",
        }
    }

    /// Where a file is.
    pub fn path(&self, file: usize) -> Option<&Path> {
        match self {
            Self::Csv(reader) => reader.path(file),
            Self::Ndjson(reader) => reader.path(file),
            Self::Arrow(reader) => reader.path(file),
        }
    }

    /// How many files there are, and how many columns each of them offers; nothing if they do not agree.
    pub fn files_and_columns(&self) -> Option<(usize, usize)> {
        match self {
            Self::Csv(reader) => reader.files_and_columns(),
            Self::Ndjson(reader) => Some(reader.files_and_columns()),
            Self::Arrow(reader) => reader.files_and_columns(),
        }
    }
}

/// A table of files.
#[derive(Debug)]
pub struct Files {
    format: Arc<Format>,
    schema: SchemaRef,
    sizes: Vec<u64>,
}

impl Files {
    /// A table that offers the columns of `schema`, from files of these sizes.
    pub fn new(format: Format, schema: SchemaRef, sizes: Vec<u64>) -> Self {
        Self { format: Arc::new(format), schema, sizes }
    }
}

#[async_trait]
impl TableProvider for Files {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters stay above the scan, and so does a limit.
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let schema = Arc::new(self.schema.project(&columns)?);
        let partitions = partitions(&self.sizes, state.config().target_partitions());
        Ok(source::scan(self.format.clone(), partitions, columns, schema, None))
    }
}

/// Which part of a file, of nearly equal parts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Piece {
    /// Which file, counted from 0.
    pub file: usize,
    /// The size of the file.
    pub size: u64,
    index: usize,
    /// How many parts the file has.
    pub of: usize,
}

/// Where the parts of a file after the first begin; nothing if they could not be found out.
pub type Starts = Arc<OnceLock<Option<Vec<u64>>>>;

impl Piece {
    /// Whether there is such a part if there are so many files.
    pub fn is_of(&self, files: usize) -> bool {
        self.file < files && self.index < self.of && self.of <= MOST_PARTS
    }

    /// The part, which finds out where all parts of the file begin unless another one did.
    pub fn part(self, starts: &Starts) -> Part {
        Part { piece: self, starts: starts.clone() }
    }
}

/// A part of a file.
#[derive(Clone)]
pub struct Part {
    piece: Piece,
    starts: Starts,
}

impl Debug for Part {
    /// Without the starts: they depend on the rows.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Piece { file, index, of, .. } = self.piece;
        write!(formatter, "part {index} of {of} of file {file}")
    }
}

impl Part {
    /// A part among `of` parts of a file of `size` bytes.
    fn all(file: usize, size: u64, of: usize) -> impl Iterator<Item = Self> {
        let starts = Arc::new(OnceLock::new());
        (0..of).map(move |index| Piece { file, size, index, of }.part(&starts))
    }

    /// Which file, counted from 0.
    pub fn file(&self) -> usize {
        self.piece.file
    }

    /// Which part it is.
    pub fn piece(&self) -> Piece {
        self.piece
    }

    /// This part of so many things.
    pub fn share(&self, things: usize) -> Range<usize> {
        let place = |index: usize| (things as u128 * index as u128 / self.piece.of as u128) as usize;
        place(self.piece.index)..place(self.piece.index + 1)
    }

    /// The bytes of this part. `cut` finds places near the given ones where a file whose rows begin at `start` may be
    /// cut; it is called once for all parts, and gives the same for each of them. The last part goes to the end of the file, wherever that is by then.
    pub fn range(&self, start: u64, cut: impl FnOnce(&[u64]) -> std::io::Result<Vec<u64>>) -> Result<Range<u64>> {
        let Piece { size, index, of, .. } = self.piece;
        let starts = self.starts.get_or_init(|| {
            let room = u128::from(size.saturating_sub(start));
            let target = |index: usize| start + (room * index as u128 / of as u128) as u64;
            let targets: Vec<u64> = (1..of).map(target).collect();
            if targets.is_empty() { Some(targets) } else { cut(&targets).ok() }
        });
        let starts = starts.as_ref().ok_or(Error::Reading)?;
        let first = if index == 0 { start } else { starts[index - 1] };
        let end = starts.get(index).copied().unwrap_or(u64::MAX);
        Ok(first..end.max(first))
    }
}

/// The parts that each partition reads: at most `most` partitions of nearly the same size.
fn partitions(sizes: &[u64], most: usize) -> Vec<Vec<Part>> {
    let goal = (sizes.iter().sum::<u64>() / most.max(1) as u64).max(SMALLEST_PART);
    let mut partitions: Vec<(u64, Vec<Part>)> = Vec::new();
    for (file, size) in sizes.iter().enumerate() {
        let count = size.div_ceil(goal).clamp(1, most.clamp(1, MOST_PARTS) as u64);
        let weight = size / count;
        for part in Part::all(file, *size, count as usize) {
            let may_grow = partitions.len() < most;
            match partitions.iter_mut().min_by_key(|(bytes, _)| *bytes) {
                Some((bytes, parts)) if !may_grow || *bytes + weight <= goal => {
                    *bytes += weight;
                    parts.push(part);
                }
                _ => partitions.push((weight, vec![part])),
            }
        }
    }
    partitions.into_iter().map(|(_, parts)| parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(sizes: &[u64], most: usize) -> Vec<Vec<(usize, usize, usize)>> {
        let shape =
            |parts: Vec<Part>| parts.iter().map(|part| (part.piece.file, part.piece.index, part.piece.of)).collect();
        partitions(sizes, most).into_iter().map(shape).collect()
    }

    #[test]
    fn small_files_share_a_partition_and_large_ones_are_cut() {
        assert_eq!(shapes(&[10], 4), [[(0, 0, 1)]]);
        assert_eq!(shapes(&[0, 10, 20], 4), [[(0, 0, 1), (1, 0, 1), (2, 0, 1)]]);
        assert_eq!(shapes(&[SMALLEST_PART * 10], 2), [[(0, 0, 2)], [(0, 1, 2)]]);
        let two = shapes(&[SMALLEST_PART * 10, SMALLEST_PART * 10], 2);
        assert_eq!(two, [[(0, 0, 1)], [(1, 0, 1)]]);
        assert_eq!(shapes(&[SMALLEST_PART; 9], 2).len(), 2);
        assert_eq!(shapes(&[10, 10], 0), [[(0, 0, 1), (1, 0, 1)]]);
    }

    #[test]
    fn shares_cover_everything_once() {
        for of in 1..5 {
            for things in 0..10 {
                let covered: Vec<usize> = Part::all(0, 1, of).flat_map(|part| part.share(things)).collect();
                assert_eq!(covered, (0..things).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn ranges_follow_one_another_and_a_file_is_cut_once() {
        let mut cut = 0;
        let mut end = 7;
        for part in Part::all(0, 107, 4) {
            let range = part.range(7, |targets| {
                assert_eq!(targets, [32, 57, 82]);
                cut += 1;
                Ok(vec![40, 90, 90])
            });
            let range = range.unwrap();
            assert_eq!(range.start, end);
            end = range.end;
        }
        assert_eq!((cut, end), (1, u64::MAX));
    }

    #[test]
    fn a_file_that_cannot_be_cut_breaks_every_part() {
        for part in Part::all(0, 100, 3) {
            let range = part.range(0, |_| Err(std::io::ErrorKind::Other.into()));
            assert!(matches!(range, Err(Error::Reading)));
        }
    }
}
