//! The rows of a part of a scan.

use std::fmt::{self, Debug, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::Broken;
use crate::scan::Inner;

/// Rows of one file.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Broken>> + Send>;

/// The rows of one part of a [`Scan`](crate::Scan), in batches of at most 8192 rows. After an error it is exhausted.
///
/// A decoder may panic on a broken file. The panic is caught and becomes [`Broken`]; its message goes to the program's
/// panic hook.
pub struct Reader {
    scan: Arc<Inner>,
    part: usize,
    /// The next file to open.
    file: usize,
    batches: Option<Batches>,
    broken: bool,
}

impl Reader {
    pub(crate) fn new(scan: Arc<Inner>, part: usize) -> Self {
        Self { scan, part, file: 0, batches: None, broken: false }
    }

    /// Returns the next batch, from the current file or a later one.
    fn advance(&mut self) -> Option<Result<RecordBatch, Broken>> {
        loop {
            if let Some(batch) = self.batches.as_mut().and_then(Iterator::next) {
                return Some(batch);
            }
            self.batches = None;
            if self.file == self.scan.files() {
                return None;
            }
            let opened = self.scan.read(self.part, self.file);
            self.file += 1;
            match opened {
                Ok(batches) => self.batches = batches,
                Err(broken) => return Some(Err(broken)),
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        let batch = catch_unwind(AssertUnwindSafe(|| self.advance())).unwrap_or(Some(Err(Broken)));
        if matches!(batch, Some(Err(_))) {
            // After a panic the state is undefined, so it is not used again.
            (self.broken, self.batches) = (true, None);
        }
        batch
    }
}

impl std::iter::FusedIterator for Reader {}

impl Debug for Reader {
    /// Omits what was read.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "part {} of {:?}", self.part, self.scan)
    }
}
