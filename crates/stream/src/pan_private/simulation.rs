//! Processes that end at any chosen point, on an in-memory disk, and everything an adversary may see of them.
//!
//! The stream itself counts, draws and publishes; only the file is simulated. Nothing after the chosen point is
//! executed, as when a process is killed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reticent::Permit;
use reticent::continual::pan_private::{Design, Seized};
use reticent::ledger::Accounting;

use super::PanPrivateStream;
use super::log::{Log, Point, Shelf, complete};
use super::record::Record;
use super::tree::Tree;
use crate::board::Board;
use crate::definition::Definition;
use crate::error::Result;
use crate::event::{Events, Rules};

/// Where in a step the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All events of the step are counted; nothing is drawn.
    Due,
    /// The release is drawn; none of it is written.
    Drawn,
    /// Half of the record has reached the disk.
    Torn,
    /// The record is written, but lost because it was not synced.
    Lost,
    /// The record is written, and has reached the disk although it was not synced.
    Written,
    /// The record is durable, but not shown.
    Synced,
    /// The record is shown; the rest of the step is not erased yet.
    Shown,
    /// The step is erased, and the next one is open. After the last step there is no such point.
    Opened,
}

impl End {
    /// All points, in the order of a step.
    pub const ALL: [Self; 8] =
        [Self::Due, Self::Drawn, Self::Torn, Self::Lost, Self::Written, Self::Synced, Self::Shown, Self::Opened];

    /// Whether the record is complete on the disk.
    pub fn leaves_record(self) -> bool {
        matches!(self, Self::Written | Self::Synced | Self::Shown | Self::Opened)
    }
}

/// What is on the disk: consecutive records, the last one perhaps incomplete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image(pub Vec<u8>);

impl Image {
    /// The values of all complete records.
    pub fn published(&self) -> Vec<i64> {
        self.0.chunks_exact(Record::length(1)).map_while(Record::from_bytes).map(|record| record.values[0]).collect()
    }

    /// Whether there is part of a record at the end.
    pub fn is_torn(&self) -> bool {
        !self.0.len().is_multiple_of(Record::length(1))
    }

    /// Removes the last record, as a disk does that was never synced.
    pub fn forget_last(&mut self) {
        self.0.truncate(self.0.len().saturating_sub(Record::length(1)));
    }
}

/// What was in the memory of a process at some point of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The cells of the counter.
    pub cells: Seized,
    /// The release, if it is drawn and not yet erased.
    pub drawn: Option<i64>,
}

/// What can be seen of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The releases shown, in order: step and value.
    pub shown: Vec<(u64, i64)>,
    /// The memory at every point reached. An adversary may see one of them; the last is the one at the end.
    pub memories: Vec<Memory>,
}

/// A stream with one event per step and one counter of a design.
#[derive(Debug)]
pub struct Simulation<D> {
    definition: Arc<Definition>,
    rules: Arc<Rules>,
    /// For 1, 2, 3 … steps.
    designs: Vec<D>,
}

impl<D: Design + 'static> Simulation<D> {
    /// Simulates a definition with steps of one event, without keys, whose counter is of this design.
    ///
    /// # Errors
    /// If the design does not support the definition.
    pub fn new(definition: Definition) -> Result<Self> {
        let (stream, guarantee) = (definition.stream(), definition.guarantee());
        let design = |steps| D::new(stream.clone().until(steps)?, guarantee.clone());
        let designs = (1..=definition.horizon().unwrap_or(0)).map(design).collect::<reticent::Result<_>>()?;
        let definition = Arc::new(definition);
        Ok(Self { rules: Rules::new(Arc::clone(&definition), [0; 16]), definition, designs })
    }

    /// Runs one process: it continues from what is on the disk, counts these values, one per step, and ends, perhaps in
    /// the middle of a step.
    ///
    /// # Errors
    /// As for [`Stream::ingest`](crate::Stream::ingest).
    pub fn run(&self, disk: &mut Image, permit: Permit, values: &[i64], end: Option<(u64, End)>) -> Result<Run> {
        let found = complete(&disk.0[..], 1).expect("memory can be read");
        let (steps, last) = found.expect("records of steps 1, 2, 3 …");
        disk.0.truncate(steps as usize * Record::length(1));
        let permit = permit.resume_stream(&Accounting::Unaccounted)?;
        let left = self.designs.len() - steps as usize;
        let widest = self.designs.last().map_or(0.0, |design| design.law().variance());
        let design = left.checked_sub(1).map(|place| self.designs[place].clone());
        let tree = design.map(|design| Tree::of(design, widest, last.as_ref(), permit));
        let seen = Seen { disk: std::mem::take(disk), closing: steps, end, run: Run::default() };
        let witness = Witness(Arc::new(Mutex::new(seen)));
        let (log, board) = (Box::new(witness.clone()), Arc::new(Board::new()));
        let counted = catch_unwind(AssertUnwindSafe(|| {
            let definition = Arc::clone(&self.definition);
            let stream = PanPrivateStream::on(log, Shelf::nowhere(), last, tree, definition, 0, board)?;
            for value in values {
                let mut events = Events::new(Arc::clone(&self.rules), 1);
                events.push(None, None, *value);
                stream.ingest(events, 0)?;
            }
            Ok(())
        }));
        let mut seen = witness.lock();
        *disk = std::mem::take(&mut seen.disk);
        let run = std::mem::take(&mut seen.run);
        match counted {
            Ok(counted) => counted.map(|()| run),
            Err(reason) if reason.is::<Over>() => Ok(run),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// The panic payload that ends a process.
struct Over;

struct Seen {
    disk: Image,
    /// The step that is being closed, or was closed last.
    closing: u64,
    end: Option<(u64, End)>,
    run: Run,
}

/// The disk, and the observer of the process.
#[derive(Clone)]
struct Witness(Arc<Mutex<Seen>>);

impl Witness {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// Ends the process here, if this is the chosen point.
    fn pass(&self, point: End) {
        if self.end == Some((self.closing, point)) {
            resume_unwind(Box::new(Over));
        }
    }
}

impl Log for Witness {
    fn append(&mut self, record: &[u8]) -> std::io::Result<()> {
        let mut seen = self.lock();
        seen.pass(End::Lost);
        let (half, rest) = record.split_at(record.len() / 2);
        seen.disk.0.extend(half);
        seen.pass(End::Torn);
        seen.disk.0.extend(rest);
        seen.pass(End::Written);
        seen.pass(End::Synced);
        Ok(())
    }

    fn reached(&mut self, point: Point, tree: &Tree, record: Option<&Record>) {
        let mut seen = self.lock();
        if point == Point::Due {
            seen.closing += 1;
        }
        let drawn = record.map(|record| record.values[0]);
        seen.run.memories.push(Memory { cells: tree.seized(), drawn });
        if let (Point::Shown, Some(record)) = (point, record) {
            seen.run.shown.push((record.step, record.values[0]));
        }
        seen.pass(match point {
            Point::Due => End::Due,
            Point::Drawn => End::Drawn,
            Point::Shown => End::Shown,
            Point::Opened => End::Opened,
        });
    }
}
