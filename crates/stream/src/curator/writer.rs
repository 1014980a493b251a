//! The thread that changes curators' streams: one transaction for all waiting jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rusqlite::params;

use super::live::Live;
use super::queue::{Job, Next, Queue};
use crate::board::Board;
use crate::clock::milliseconds;
use crate::database::failed;
use crate::error::{Error, Result};
use crate::shared::Shared;
use crate::streams::FILE;

/// How much work is done at a time to close missed steps, in values released.
const MISSED_AT_A_TIME: u64 = 1 << 15;
/// The fixed cost of a step, in values.
const STEP: u64 = 16;
/// The longest time between checks of the clock, which may be moved.
const LONGEST_NAP: Duration = Duration::from_millis(200);
/// How long to wait after a disk failure.
const PAUSE: Duration = Duration::from_millis(50);

/// Changes nothing, but needs disk space.
const REWRITE: &str = "UPDATE stream SET caller = caller WHERE id = (SELECT max(id) FROM stream)";

/// Closes steps and counts events, until it is stopped.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    streams: BTreeMap<i64, Live>,
    /// Jobs that wait for a stream to catch up, and new ones.
    jobs: Vec<Job>,
    /// The last transaction failed: memory differs from the disk.
    stale: bool,
}

impl Writer {
    pub fn new(shared: Arc<Shared>, queue: Arc<Queue>, streams: Vec<Live>) -> Self {
        let streams = streams.into_iter().map(|live| (live.id(), live)).collect();
        Self { shared, queue, streams, jobs: Vec::new(), stale: false }
    }

    pub fn run(mut self) {
        loop {
            let Next { jobs, hurry, over } = self.queue.next(self.nap());
            self.jobs.extend(jobs);
            self.turn();
            self.shared.database.lock().unwrap_or_else(PoisonError::into_inner).tidy();
            if hurry {
                // Jobs that wait for a stream to catch up must be sent again.
                tell(&std::mem::take(&mut self.jobs), &Error::Stopped);
            }
            if over {
                break;
            }
        }
        self.streams.values().for_each(|live| live.board().close());
    }

    /// The time until something is due.
    fn nap(&self) -> Duration {
        if self.stale {
            return PAUSE;
        }
        let now = milliseconds(&*self.shared.clock);
        let next = self.streams.values().filter_map(Live::deadline).min();
        let left = next.map_or(u64::MAX, |next| u64::try_from(next.saturating_sub(now)).unwrap_or(0));
        LONGEST_NAP.min(Duration::from_millis(left))
    }

    /// Does the waiting jobs, and closes some of the due steps: a stream that is far behind delays only its own
    /// senders.
    fn turn(&mut self) {
        let mut jobs = std::mem::take(&mut self.jobs);
        let outcome = self.close_due().and_then(|behind| {
            let waits = |job: &mut Job| match job {
                Job::Ingest(batch) => behind.contains(&batch.stream),
                Job::CloseDue(_) => !behind.is_empty(),
                Job::Adopt(..) => false,
            };
            self.jobs = jobs.extract_if(.., waits).collect();
            self.apply(&jobs)
        });
        let mut refused = match outcome {
            Ok(refused) => refused.into_iter(),
            Err(error) => {
                self.shared.health.written(FILE, Err(&error));
                tell(&jobs, &error);
                tell(&std::mem::take(&mut self.jobs), &error);
                return;
            }
        };
        for job in jobs {
            let refusal = refused.next().flatten();
            let (answer, outcome) = (job.answer().clone(), refusal.map_or(Ok(()), Err));
            if let (Job::Adopt(live, _), Ok(())) = (job, &outcome) {
                self.streams.insert(live.id(), *live);
            }
            let _ = answer.send(outcome);
        }
    }

    /// Closes due steps of each stream in turn, some at a time if many were missed; returns the streams that have more.
    fn close_due(&mut self) -> Result<BTreeSet<i64>> {
        self.read_again()?;
        let now = milliseconds(&*self.shared.clock);
        let late = self.streams.values().filter(|live| live.due(now) > 1).count().max(1) as u64;
        let mut closed = 0;
        for live in self.streams.values_mut() {
            match live.close_due(now, (MISSED_AT_A_TIME / late / (STEP + live.keys())).max(1)) {
                Ok(steps) => closed += steps,
                Err(error) => return Err(self.forget(error)),
            }
        }
        if closed > 0 {
            self.commit(&[])?;
        }
        Ok(self.streams.values().filter(|live| live.due(now) > 0).map(Live::id).collect())
    }

    /// Counts events and takes on new streams; returns for each job why it was refused, if it was.
    fn apply(&mut self, jobs: &[Job]) -> Result<Vec<Option<Error>>> {
        let now = milliseconds(&*self.shared.clock);
        let mut positions = Vec::new();
        let mut refused = Vec::with_capacity(jobs.len());
        for job in jobs {
            let Job::Ingest(batch) = job else {
                refused.push(None);
                continue;
            };
            let Some(live) = self.streams.get_mut(&batch.stream) else {
                let unopened = self.shared.health.unopened(batch.events.rules.definition.name());
                refused.push(Some(unopened.unwrap_or(Error::Stopped)));
                continue;
            };
            if live.ended() {
                refused.push(Some(Error::Ended(batch.events.rules.definition.name().to_owned())));
                continue;
            }
            if let Err(error) = live.ingest(&batch.events, now) {
                return Err(self.forget(error));
            }
            positions.extend(batch.source.as_ref().map(|(name, position)| (batch.stream, name, position)));
            refused.push(None);
        }
        // After a failure, checks whether the disk works again, since there may be no events that would show it.
        let failing = self.shared.health.is_unwritten(FILE);
        if failing || !positions.is_empty() || self.streams.values().any(Live::is_dirty) {
            self.commit(&positions)?;
        }
        Ok(refused)
    }

    fn commit(&mut self, positions: &[(i64, &String, &Vec<u8>)]) -> Result<()> {
        let written = {
            let mut database = self.shared.database.lock().unwrap_or_else(PoisonError::into_inner);
            database.write(|pages| {
                if self.shared.health.is_unwritten(FILE) {
                    pages.execute(REWRITE, []).map_err(failed)?;
                }
                for live in self.streams.values_mut().filter(|live| live.is_dirty()) {
                    live.write(pages)?;
                }
                let sql = "INSERT OR REPLACE INTO source (stream, name, position) VALUES (?1, ?2, ?3)";
                let mut statement = pages.prepare_cached(sql).map_err(failed)?;
                for (stream, name, position) in positions {
                    statement.execute(params![stream, name, position]).map_err(failed)?;
                }
                Ok(())
            })
        };
        match written {
            Ok(()) => {
                self.shared.health.written(FILE, Ok(()));
                self.streams.values_mut().for_each(Live::show);
                Ok(())
            }
            Err(error) => Err(self.forget(error)),
        }
    }

    /// Marks memory as stale, since it may be ahead of the disk.
    fn forget(&mut self, error: Error) -> Error {
        self.stale = true;
        error
    }

    /// After a failure, reads all streams from the disk again.
    fn read_again(&mut self) -> Result<()> {
        if !self.stale {
            return Ok(());
        }
        let boards: BTreeMap<i64, Arc<Board>> =
            self.streams.values().map(|live| (live.id(), Arc::clone(live.board()))).collect();
        let streams = self.shared.load_curators(|id| boards.get(&id).cloned())?;
        self.streams = streams.into_iter().map(|live| (live.id(), live)).collect();
        self.stale = false;
        Ok(())
    }
}

/// Sends the same error to all jobs.
fn tell(jobs: &[Job], error: &Error) {
    for job in jobs {
        // A caller that no longer waits does not need the answer.
        let _ = job.answer().send(Err(error.clone()));
    }
}
