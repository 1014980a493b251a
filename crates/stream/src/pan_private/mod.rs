//! Streams whose memory and disk may be seized.
//!
//! The disk contains only the definition and the published releases: no sum, no id, no position in a source. Memory
//! contains only noisy sums. Each step is closed in the same way: **draw** (the counter makes the value; used noise is
//! erased at once), **fsync** (the record is durable), **show**, **erase** (what is left of the step's own variables).
//! A complete record found after a crash counts as published. After a restart a fresh tree counts the remaining steps,
//! on top of the last record: see `tree`.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | a running stream |
//! | `tree` | its counters since the process started, and why one charge covers all of them |
//! | `record` | the on-disk form of a published release |
//! | `log` | the file |
//! | `simulation` | processes that end at any point, for tests (feature `test-util`) |

mod log;
mod record;
#[cfg(feature = "test-util")]
pub mod simulation;
#[cfg(test)]
mod tests;
mod tree;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reticent::Permit;
use reticent::ledger::Accounting;
use zeroize::Zeroize;

use self::log::{Log, LogFile, Point, Shelf};
use self::record::Record;
use self::tree::Tree;
use crate::board::Board;
use crate::definition::{Definition, Step};
use crate::error::{Error, Result};
use crate::event::Events;
use crate::release::StepRelease;
use crate::timeline::Timeline;

/// The folder of the files.
pub(crate) const FOLDER: &str = "pan-private";

/// How many missed steps are closed at a time: other streams get their turn in between.
const MISSED_AT_A_TIME: u64 = 64;

/// A running pan-private stream.
pub(crate) struct PanPrivateStream {
    definition: Arc<Definition>,
    timeline: Option<Timeline>,
    board: Arc<Board>,
    shelf: Shelf,
    restarts: u64,
    state: Mutex<State>,
}

struct State {
    /// `None` when all steps are released.
    tree: Option<Tree>,
    log: Box<dyn Log>,
    /// The number of published steps.
    steps: u64,
    /// The number of events in the open step, which is public in this mode.
    open_events: u64,
    /// A release that was drawn but could not be published yet: it is not drawn again.
    unpublished: Option<Record>,
    stopped: bool,
}

impl PanPrivateStream {
    /// Continues from what is on the disk. From now on, and before the first event arrives, freed memory is
    /// overwritten, if the program has installed the allocator for it.
    pub fn open(
        directory: &Path,
        definition: Arc<Definition>,
        created: i64,
        accounting: &Accounting,
        permit: Permit,
        board: Arc<Board>,
    ) -> Result<Self> {
        reticent_erase::begin();
        let (log, shelf, last) = LogFile::open(&directory.join(FOLDER), &definition)?;
        let permit = permit.resume_stream(accounting)?;
        let steps = last.as_ref().map_or(0, |record| record.step);
        let ended = definition.horizon().is_none_or(|horizon| steps >= horizon);
        let tree = if ended { None } else { Some(Tree::new(&definition, last.as_ref(), permit)?) };
        Self::on(Box::new(log), shelf, last, tree, definition, created, board)
    }

    /// Continues from the last record, with the tree that counts the remaining steps.
    fn on(
        log: Box<dyn Log>,
        shelf: Shelf,
        last: Option<Record>,
        mut tree: Option<Tree>,
        definition: Arc<Definition>,
        created: i64,
        board: Arc<Board>,
    ) -> Result<Self> {
        let timeline = definition.step().timeline(created);
        let steps = last.as_ref().map_or(0, |record| record.step);
        if let Some(tree) = &mut tree {
            tree.open()?;
        }
        let restarts = match (&tree, &last) {
            (Some(tree), _) => tree.restarts(),
            (None, last) => last.as_ref().map_or(0, |record| record.restarts),
        };
        if let Some(last) = last {
            board.show(Arc::new(last.release(&definition)));
        }
        let state = Mutex::new(State { tree, log, steps, open_events: 0, unpublished: None, stopped: false });
        Ok(Self { definition, timeline, board, shelf, restarts, state })
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// How often counting was restarted on top of the published releases.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Counts events, once, and erases them. They are not made durable.
    pub fn ingest(&self, mut events: Events, now: i64) -> Result<()> {
        let mut state = loop {
            let mut state = self.lock();
            if state.stopped {
                return Err(Error::Stopped);
            }
            // If a due step cannot be published, events are still counted, in the step that is open.
            if !self.close_due_in(&mut state, now).unwrap_or(false) {
                break state;
            }
        };
        if state.tree.is_none() {
            return Err(Error::Ended(self.definition.name().to_owned()));
        }
        let keyed = *self.definition.keys() != crate::definition::Keys::None;
        for index in 0..events.events.len() {
            let lane = if keyed { events.place(&events.events[index]) } else { Some(0) };
            let Some(tree) = &mut state.tree else { break };
            if let Some(lane) = lane {
                tree.add(lane as usize, &mut events.events[index].value)?;
            }
            state.open_events += 1;
            if let Step::Events(count) = self.definition.step() {
                // If it cannot be published now, a later event retries.
                while state.open_events >= count && self.close(&mut state, now).is_ok() {}
            }
        }
        Ok(())
    }

    /// When the open step ends by the clock.
    pub fn deadline(&self) -> Option<i64> {
        let state = self.lock();
        state.tree.as_ref().and(self.timeline).map(|timeline| timeline.end_of(state.steps + 1))
    }

    /// Closes due steps, only some if there are many; true if there are more.
    pub fn close_due(&self, now: i64) -> Result<bool> {
        self.close_due_in(&mut self.lock(), now)
    }

    fn close_due_in(&self, state: &mut State, now: i64) -> Result<bool> {
        let Some(timeline) = self.timeline else { return Ok(false) };
        let due = |state: &State| state.tree.is_some() && state.steps < timeline.ended(now);
        for _ in 0..MISSED_AT_A_TIME {
            if !due(&*state) {
                return Ok(false);
            }
            self.close(state, timeline.end_of(state.steps + 1))?;
        }
        Ok(due(&*state))
    }

    /// Draw, fsync, show, erase.
    fn close(&self, state: &mut State, closed: i64) -> Result<()> {
        let Some(tree) = &mut state.tree else { return Ok(()) };
        let record = match state.unpublished.take() {
            Some(record) => record,
            None => {
                state.log.reached(Point::Due, tree, None);
                let record = tree.close(state.steps + 1, closed)?;
                state.open_events = 0;
                record
            }
        };
        state.log.reached(Point::Drawn, tree, Some(&record));
        let mut bytes = record.to_bytes();
        let written = state.log.append(&bytes);
        bytes.zeroize();
        if let Err(error) = written {
            state.unpublished = Some(record);
            return Err(Error::storage("written", error));
        }
        self.board.show(Arc::new(record.release(&self.definition)));
        state.log.reached(Point::Shown, tree, Some(&record));
        state.steps = record.step;
        if self.definition.horizon().is_some_and(|horizon| state.steps >= horizon) {
            state.tree = None;
        } else {
            tree.open()?;
            state.log.reached(Point::Opened, tree, None);
        }
        Ok(())
    }

    /// At most `limit` releases starting at step `from`, oldest first, of `bytes` together, but at least one.
    pub fn history(&self, from: u64, limit: usize, bytes: usize) -> Result<Vec<StepRelease>> {
        let Some(newest) = self.board.newest() else { return Ok(Vec::new()) };
        // All have the same keys.
        let limit = limit.min((bytes / newest.json_bytes()).max(1));
        let newest = newest.step;
        let oldest = self.definition.history().map_or(0, |kept| newest.saturating_sub(kept)) + 1;
        let from = from.max(oldest);
        let to = newest.min(from.saturating_add(limit as u64).saturating_sub(1));
        if to < from {
            return Ok(Vec::new());
        }
        Ok(self.shelf.read(from, to)?.iter().map(|record| record.release(&self.definition)).collect())
    }

    /// Stops counting, and erases what is in memory.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.tree = None;
        state.unpublished = None;
        self.board.close();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
