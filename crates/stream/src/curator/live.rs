//! A curator's stream in memory: its counter, the open step and the ids it remembers.
//!
//! Memory is changed first and then written to disk, in one transaction for everything since the last. If that fails,
//! memory is discarded and read again from the disk: releases drawn in between were never shown.

use std::sync::Arc;

use jiff::Timestamp;
use reticent::Permit;
use reticent::continual::{Counter, CounterKind, SavedTally, Tally};
use reticent::ledger::Accounting;
use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use super::sums::{JournalLine, JournalSums, Sums, known};
use super::window::Window;
use crate::archive;
use crate::board::Board;
use crate::database::failed;
use crate::definition::{Definition, Keys, Step};
use crate::error::{Error, Result};
use crate::event::Events;
use crate::plan::{self, Plan};
use crate::release::{KeyedValues, Released, StepRelease, Value};
use crate::timeline::Timeline;

/// What identifies a stream in the database.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub id: i64,
    pub definition: Arc<Definition>,
    /// In milliseconds since 1970.
    pub created: i64,
    pub accounting: Accounting,
}

/// A curator's stream.
#[derive(Debug)]
pub(crate) struct Live {
    id: i64,
    definition: Arc<Definition>,
    timeline: Option<Timeline>,
    board: Arc<Board>,
    tally: Tally,
    /// The sum of the open step, without keys. (Counters with keys keep it themselves.)
    open_sum: i128,
    /// The number of events in the open step.
    open_events: u64,
    window: Window,
    /// The released keys.
    names: Vec<Arc<str>>,
    turn: Turn,
    /// The last checkpoint's buffer: megabytes, reused to avoid an allocation at the end of every step.
    written: Vec<u8>,
}

/// What happened since the last transaction.
#[derive(Debug)]
struct Turn {
    sums: Sums,
    events: u64,
    /// Ids of steps closed since then.
    ids: Vec<(u64, Vec<u8>)>,
    released: Vec<Arc<StepRelease>>,
    /// How many of the released keys are on the disk.
    names_written: usize,
    /// The stream is new or closed a step: the whole counter must be written.
    checkpoint: bool,
}

/// What is written when a step is closed.
#[derive(Serialize, Deserialize)]
struct Checkpoint<T> {
    open_sum: i128,
    open_events: u64,
    /// A tally to be written, or one read back.
    tally: T,
}

impl Live {
    /// A stream that has counted nothing.
    pub fn begin(identity: Identity, permit: Permit, board: Arc<Board>) -> Result<Self> {
        let permit = permit.resume_stream(&identity.accounting)?;
        let tally = Plan::new(&identity.definition)?.begin(permit)?;
        let mut live = Self::new(identity, tally, board);
        live.turn.checkpoint = true;
        Ok(live)
    }

    /// Loads a stream from the disk.
    pub fn load(identity: Identity, permit: Permit, board: Arc<Board>, pages: &Transaction<'_>) -> Result<Self> {
        let damaged = Error::Damaged(format!("the state of stream {}", identity.definition.name()));
        let state: Option<Vec<u8>> = pages
            .prepare_cached("SELECT state FROM checkpoint WHERE stream = ?1")
            .and_then(|mut query| query.query_row([identity.id], |row| row.get(0)).optional())
            .map_err(failed)?;
        let Some(state) = state else { return Self::begin(identity, permit, board) };
        let checkpoint: Checkpoint<SavedTally> = postcard::from_bytes(&state).map_err(|_| damaged.clone())?;
        let epoch = checkpoint.tally.epoch();
        let tally = checkpoint.tally.restore(epoch, permit)?;
        let id = identity.id;
        let mut live = Self::new(identity, tally, board);
        (live.open_sum, live.open_events) = (checkpoint.open_sum, checkpoint.open_events);
        let rows = |sql: &str| -> Result<Vec<(i64, Vec<u8>)>> {
            let mut query = pages.prepare_cached(sql).map_err(failed)?;
            let rows = query.query_map([id], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
            rows.collect::<rusqlite::Result<_>>().map_err(failed)
        };
        for (_, line) in rows("SELECT number, sums FROM journal WHERE stream = ?1 ORDER BY number")? {
            let line: JournalLine = postcard::from_bytes(&line).map_err(|_| damaged.clone())?;
            live.open_events += line.events;
            live.count(&line.sums);
        }
        for (step, ids) in rows("SELECT step, ids FROM seen WHERE stream = ?1 ORDER BY step, number")? {
            let ids = ids.as_chunks().0.iter().map(|id| u128::from_le_bytes(*id));
            live.window.restore(step as u64, ids);
        }
        live.names = plan::keys_after(&live.tally, 0);
        live.turn.names_written = live.names.len();
        let shown = live.board.newest().map_or(0, |release| release.step);
        if let Some(newest) = archive::newest(pages, id, &live.definition)?.filter(|newest| newest.step > shown) {
            // Committed but not shown: the process ended in between, or the disk reported a failure.
            live.board.show(Arc::new(newest));
        }
        Ok(live)
    }

    fn new(identity: Identity, tally: Tally, board: Arc<Board>) -> Self {
        let Identity { id, definition, created, .. } = identity;
        let turn = Turn {
            sums: Sums::new(&definition),
            events: 0,
            ids: Vec::new(),
            released: Vec::new(),
            names_written: 0,
            checkpoint: false,
        };
        let (window, timeline) = (Window::new(definition.dedup()), definition.step().timeline(created));
        let (open_sum, open_events, names) = (0, 0, Vec::new());
        let written = Vec::new();
        Self { id, definition, timeline, board, tally, open_sum, open_events, window, names, turn, written }
    }

    pub fn id(&self) -> i64 {
        self.id
    }

    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Its kind of counter.
    pub fn kind(&self) -> CounterKind {
        self.tally.kind()
    }

    /// Whether the horizon is reached.
    pub fn ended(&self) -> bool {
        self.definition.horizon().is_some_and(|horizon| self.tally.steps() >= horizon)
    }

    /// When the open step ends by the clock.
    pub fn deadline(&self) -> Option<i64> {
        let timeline = self.timeline.filter(|_| !self.ended())?;
        Some(timeline.end_of(self.tally.steps() + 1))
    }

    /// The number of steps that have ended but are not closed.
    pub fn due(&self, now: i64) -> u64 {
        let ended = self.timeline.map_or(0, |timeline| timeline.ended(now));
        let ended = self.definition.horizon().map_or(ended, |horizon| ended.min(horizon));
        ended.saturating_sub(self.tally.steps())
    }

    /// The number of keys in a release.
    pub fn keys(&self) -> u64 {
        known(&self.definition).len().max(self.names.len()) as u64
    }

    /// Closes at most `most` due steps; returns how many were closed.
    pub fn close_due(&mut self, now: i64, most: u64) -> Result<u64> {
        let Some(timeline) = self.timeline else { return Ok(0) };
        let steps = self.due(now).min(most);
        for _ in 0..steps {
            self.close(timeline.end_of(self.tally.steps() + 1))?;
        }
        Ok(steps)
    }

    /// Counts events, each id once. Events after the last step are not counted.
    pub fn ingest(&mut self, events: &Events, now: i64) -> Result<()> {
        for event in &events.events {
            if self.ended() {
                break;
            }
            let open = self.tally.steps() + 1;
            if event.id != 0 && !self.window.insert(open, event.id) {
                continue;
            }
            self.turn.sums.add(events, event);
            self.turn.events += 1;
            if let Step::Events(count) = self.definition.step()
                && self.open_events + self.turn.events >= count
            {
                self.close(now)?;
            }
        }
        Ok(())
    }

    /// Adds sums to the counter.
    fn count(&mut self, sums: &JournalSums) {
        match (sums, &mut self.tally) {
            (JournalSums::One(sum), _) => self.open_sum += sum,
            (JournalSums::Known(sums), Tally::Keyed(counter)) => {
                let keys = known(&self.definition);
                for (place, sum) in sums {
                    if let Some(key) = keys.get(*place as usize) {
                        counter.add_sum(&**key, *sum);
                    }
                }
            }
            (JournalSums::Selected(sums), Tally::Keyed(counter)) => {
                sums.iter().for_each(|(key, sum)| counter.add_sum(key.as_str(), *sum));
            }
            (_, Tally::One(_)) => {}
        }
    }

    fn close(&mut self, time: i64) -> Result<()> {
        let sums = self.turn.sums.take();
        self.count(&sums);
        let step = self.tally.steps() + 1;
        let ids: Vec<u8> = self.window.unwritten(step).iter().flat_map(|id| id.to_le_bytes()).collect();
        match &mut self.tally {
            Tally::One(counter) => {
                // Clamped to 64 bits, which moves no two sums further apart.
                let sum = self.open_sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                counter.advance(sum)?;
            }
            Tally::Keyed(counter) => counter.close_step()?,
        }
        let (half_width, variance) = plan::error(&self.tally)?;
        let released = match &self.tally {
            Tally::One(counter) => Released::One(Value { value: counter.value().unwrap_or(0), half_width, variance }),
            Tally::Keyed(counter) => {
                let more = plan::keys_after(&self.tally, self.names.len());
                self.names.extend(more);
                let values = self.names.iter().cloned().zip(counter.values().map(|(_, value)| value)).collect();
                Released::Keyed(KeyedValues { values, half_width, variance })
            }
        };
        let closed = Timestamp::from_millisecond(time).unwrap_or(Timestamp::MAX);
        self.turn.released.push(Arc::new(StepRelease { step, closed, released }));
        if !ids.is_empty() {
            self.turn.ids.push((step, ids));
        }
        (self.open_sum, self.open_events, self.turn.events) = (0, 0, 0);
        self.window.forget(step + 1);
        self.turn.checkpoint = true;
        Ok(())
    }

    /// Whether there is anything to write.
    pub fn is_dirty(&self) -> bool {
        self.turn.checkpoint || self.turn.events > 0
    }

    /// Writes what happened since the last transaction.
    pub fn write(&mut self, pages: &Transaction<'_>) -> Result<()> {
        let open = self.tally.steps() + 1;
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            pages.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(failed)
        };
        let fresh: Vec<u8> = self.window.unwritten(open).iter().flat_map(|id| id.to_le_bytes()).collect();
        let ids = self.turn.ids.drain(..).chain((!fresh.is_empty()).then_some((open, fresh)));
        let kept_after = self.window.forgotten(open).unwrap_or(0);
        for (step, ids) in ids.filter(|(step, _)| *step > kept_after) {
            run("INSERT INTO seen (stream, step, ids) VALUES (?1, ?2, ?3)", params![self.id, step as i64, ids])?;
        }
        let (mut sums, events) = (self.turn.sums.take(), std::mem::take(&mut self.turn.events));
        // Keys that no longer count in this step need not be written. (The line in which they ceased to count is
        // written in full: read back, it must have the same effect.)
        if let (JournalSums::Selected(sums), Tally::Keyed(counter)) = (&mut sums, &self.tally)
            && counter.is_crowded()
        {
            sums.retain(|(key, _)| counter.counts(key.as_str()));
        }
        self.count(&sums);
        self.open_events += events;
        if !std::mem::take(&mut self.turn.checkpoint) {
            if events > 0 {
                let line = encoded(&JournalLine { events, sums })?;
                run("INSERT INTO journal (stream, sums) VALUES (?1, ?2)", params![self.id, line])?;
            }
            return Ok(());
        }
        // Known keys are in the definition.
        let selected = *self.definition.keys() == Keys::Selected;
        for (place, key) in self.names.iter().enumerate().skip(self.turn.names_written).filter(|_| selected) {
            let sql = "INSERT INTO shown_key (stream, place, key) VALUES (?1, ?2, ?3)";
            run(sql, params![self.id, place as i64, &**key])?;
        }
        self.turn.names_written = self.names.len();
        for release in &self.turn.released {
            let (numbers, half_width, variance) = match &release.released {
                Released::One(value) => (encoded(&[value.value][..])?, value.half_width, value.variance),
                Released::Keyed(keyed) => {
                    let numbers: Vec<i64> = keyed.values.iter().map(|(_, value)| *value).collect();
                    (encoded(&numbers[..])?, keyed.half_width, keyed.variance)
                }
            };
            let closed = release.closed.as_millisecond();
            run(
                "INSERT INTO release (stream, step, closed, half_width, variance, numbers) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![self.id, release.step as i64, closed, half_width, variance, numbers],
            )?;
        }
        let (open_sum, open_events) = (self.open_sum, self.open_events);
        let checkpoint = Checkpoint { open_sum, open_events, tally: self.tally.save()? };
        let mut room = std::mem::take(&mut self.written);
        room.clear();
        self.written = postcard::to_extend(&checkpoint, room).map_err(|error| Error::storage("written", error))?;
        run("INSERT OR REPLACE INTO checkpoint (stream, state) VALUES (?1, ?2)", params![self.id, self.written])?;
        run("DELETE FROM journal WHERE stream = ?1", params![self.id])?;
        run("DELETE FROM seen WHERE stream = ?1 AND step <= ?2", params![self.id, kept_after as i64])?;
        if let Some(oldest) = self.definition.history().and_then(|kept| self.tally.steps().checked_sub(kept)) {
            run("DELETE FROM release WHERE stream = ?1 AND step <= ?2", params![self.id, oldest as i64])?;
        }
        Ok(())
    }

    /// Shows the releases, which are now on the disk.
    pub fn show(&mut self) {
        self.turn.released.drain(..).for_each(|release| self.board.show(release));
    }
}

fn encoded<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(|error| Error::storage("written", error))
}
