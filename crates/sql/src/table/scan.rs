//! Files that this crate reads itself, as a table of the query engine.
//!
//! Each partition reads in a thread of its own that may block, so that reading and computing overlap. How a table is cut
//! into partitions depends on the sizes of its files and on the settings, not on what is in them.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as EngineResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use crate::{Error, Result};

/// No part of a file is smaller, unless the file is.
const SMALLEST_PART: u64 = 4 << 20;
/// Batches that wait for whoever computes with them.
const BATCHES_AHEAD: usize = 2;

/// Takes a batch; false if nobody wants more.
pub type Emit<'a> = &'a mut dyn FnMut(RecordBatch) -> bool;

/// How files of a format are read.
pub trait Format: Debug + Send + Sync + 'static {
    /// Reads a part of a file: of the columns that the table offers, those at `columns`, which make up `schema`.
    fn read(&self, part: &Part, columns: &[usize], schema: &SchemaRef, emit: Emit<'_>) -> Result<()>;
}

/// A table of files.
#[derive(Debug)]
pub struct Files {
    format: Arc<dyn Format>,
    schema: SchemaRef,
    sizes: Vec<u64>,
}

impl Files {
    /// A table that offers the columns of `schema`, from files of these sizes.
    pub fn new(format: impl Format, schema: SchemaRef, sizes: Vec<u64>) -> Self {
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
        let partition = |parts: Vec<Part>| -> Arc<dyn PartitionStream> {
            let (format, columns, schema) = (self.format.clone(), columns.clone(), schema.clone());
            Arc::new(Partition(Arc::new(Work { format, parts, columns, schema })))
        };
        let partitions = partitions(&self.sizes, state.config().target_partitions());
        let partitions = partitions.into_iter().map(partition).collect();
        Ok(Arc::new(StreamingTableExec::try_new(schema.clone(), partitions, None, [], false, None)?))
    }
}

/// A part of a file, of nearly equal parts.
#[derive(Clone)]
pub struct Part {
    file: usize,
    size: u64,
    index: usize,
    of: usize,
    /// Where the parts of the file after the first begin; nothing if they could not be found out.
    starts: Arc<OnceLock<Option<Vec<u64>>>>,
}

impl Debug for Part {
    /// Without the starts: they depend on the rows.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "part {} of {} of file {}", self.index, self.of, self.file)
    }
}

impl Part {
    /// A part among `of` parts of a file of `size` bytes.
    fn all(file: usize, size: u64, of: usize) -> impl Iterator<Item = Self> {
        let starts = Arc::new(OnceLock::new());
        (0..of).map(move |index| Self { file, size, index, of, starts: starts.clone() })
    }

    /// Which file, counted from 0.
    pub fn file(&self) -> usize {
        self.file
    }

    /// This part of so many things.
    pub fn share(&self, things: usize) -> Range<usize> {
        let place = |index: usize| (things as u128 * index as u128 / self.of as u128) as usize;
        place(self.index)..place(self.index + 1)
    }

    /// The bytes of this part. `cut` finds places near the given ones where a file whose rows begin at `start` may be
    /// cut; it is called once for all parts. The last part goes to the end of the file, wherever that is by then.
    pub fn range(&self, start: u64, cut: impl FnOnce(&[u64]) -> std::io::Result<Vec<u64>>) -> Result<Range<u64>> {
        let starts = self.starts.get_or_init(|| {
            let room = u128::from(self.size.saturating_sub(start));
            let target = |index: usize| start + (room * index as u128 / self.of as u128) as u64;
            let targets: Vec<u64> = (1..self.of).map(target).collect();
            if targets.is_empty() { Some(targets) } else { cut(&targets).ok() }
        });
        let starts = starts.as_ref().ok_or(Error::Reading)?;
        let first = if self.index == 0 { start } else { starts[self.index - 1] };
        let end = starts.get(self.index).copied().unwrap_or(u64::MAX);
        Ok(first..end.max(first))
    }
}

/// The parts that each partition reads: at most `most` partitions of nearly the same size.
fn partitions(sizes: &[u64], most: usize) -> Vec<Vec<Part>> {
    let goal = (sizes.iter().sum::<u64>() / most.max(1) as u64).max(SMALLEST_PART);
    let mut partitions: Vec<(u64, Vec<Part>)> = Vec::new();
    for (file, size) in sizes.iter().enumerate() {
        let count = size.div_ceil(goal).clamp(1, most.max(1) as u64);
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

struct Work {
    format: Arc<dyn Format>,
    parts: Vec<Part>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Work {
    /// Reads all parts.
    fn run(&self, emit: Emit<'_>) -> Result<()> {
        let mut wanted = true;
        for part in &self.parts {
            self.format.read(part, &self.columns, &self.schema, &mut |batch| {
                wanted = emit(batch);
                wanted
            })?;
            if !wanted {
                break;
            }
        }
        Ok(())
    }
}

struct Partition(Arc<Work>);

impl Debug for Partition {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(&self.0.parts).finish()
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStream::builder(self.0.schema.clone(), BATCHES_AHEAD);
        let (work, sender) = (self.0.clone(), stream.tx());
        stream.spawn_blocking(move || {
            let mut emit = |batch| sender.blocking_send(Ok(batch)).is_ok();
            // A broken Arrow file can make its decoder panic.
            let result = catch_unwind(AssertUnwindSafe(|| work.run(&mut emit)));
            Ok(result.unwrap_or(Err(Error::Reading))?)
        });
        stream.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(sizes: &[u64], most: usize) -> Vec<Vec<(usize, usize, usize)>> {
        let shape = |parts: Vec<Part>| parts.iter().map(|part| (part.file, part.index, part.of)).collect();
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
