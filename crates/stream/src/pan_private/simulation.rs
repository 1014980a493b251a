//! Processes that end wherever a test wants, on a disk in memory, and all that an adversary may see of them.
//!
//! What counts, draws and publishes is the stream itself; only the file is another one. The process ends as a process does:
//! nothing that comes after the point is done.

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
    /// The release is drawn; nothing of it is written.
    Drawn,
    /// Half of the record has reached the disk.
    Torn,
    /// The record is written, and lost, for it was not synced.
    Lost,
    /// The record is written, and has reached the disk though it was not synced.
    Written,
    /// The record is durable; nobody has been shown it.
    Synced,
    /// Everybody has been shown it; what is left of the step is still there.
    Shown,
    /// The step is erased, and the next one is open. After the last step there is no such point.
    Opened,
}

impl End {
    /// All of them, in the order of a step.
    pub const ALL: [Self; 8] =
        [Self::Due, Self::Drawn, Self::Torn, Self::Lost, Self::Written, Self::Synced, Self::Shown, Self::Opened];

    /// Is the record whole on the disk?
    pub fn leaves_record(self) -> bool {
        matches!(self, Self::Written | Self::Synced | Self::Shown | Self::Opened)
    }
}

/// What is on the disk: records, one after the other, the last perhaps not whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image(pub Vec<u8>);

impl Image {
    /// The values of all whole records.
    pub fn published(&self) -> Vec<i64> {
        self.0.chunks_exact(Record::length(1)).map_while(Record::from_bytes).map(|record| record.values[0]).collect()
    }

    /// Is there part of a record at the end?
    pub fn is_torn(&self) -> bool {
        !self.0.len().is_multiple_of(Record::length(1))
    }

    /// Takes the last record off, as a disk does that was never told to sync.
    pub fn forget_last(&mut self) {
        self.0.truncate(self.0.len().saturating_sub(Record::length(1)));
    }
}

/// What lay in the memory of a process at some point of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The cells of the counter.
    pub cells: Seized,
    /// The release, where it is drawn and not yet erased.
    pub drawn: Option<i64>,
}

/// What can be seen of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// Releases that were shown, in order: the step and the value.
    pub shown: Vec<(u64, i64)>,
    /// The memory at every point that was reached. An adversary may have one of them; the last is that of the end.
    pub memories: Vec<Memory>,
}

/// A stream with one event a step and one counter of a design.
#[derive(Debug)]
pub struct Simulation<D> {
    definition: Arc<Definition>,
    rules: Arc<Rules>,
    /// For 1, 2, 3 … steps.
    designs: Vec<D>,
}

impl<D: Design + 'static> Simulation<D> {
    /// Of a definition with steps of one event, without keys, whose counter is of this design.
    ///
    /// # Errors
    /// If the design cannot serve it.
    pub fn new(definition: Definition) -> Result<Self> {
        let (stream, guarantee) = (definition.stream(), definition.guarantee());
        let design = |steps| D::new(stream.clone().until(steps)?, guarantee.clone());
        let designs = (1..=definition.horizon().unwrap_or(0)).map(design).collect::<reticent::Result<_>>()?;
        let definition = Arc::new(definition);
        Ok(Self { rules: Rules::new(Arc::clone(&definition), [0; 16]), definition, designs })
    }

    /// One process: goes on from what is on the disk, counts these values, a step each, and ends, perhaps in the middle of a step.
    ///
    /// # Errors
    /// As [`Stream::ingest`](crate::Stream::ingest).
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

/// What a process that has ended throws.
struct Over;

struct Seen {
    disk: Image,
    /// The step that is being closed, or was last.
    closing: u64,
    end: Option<(u64, End)>,
    run: Run,
}

/// The disk, and who looks at the process.
#[derive(Clone)]
struct Witness(Arc<Mutex<Seen>>);

impl Witness {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// The process ends here, if it is to.
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
