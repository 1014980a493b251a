//! One stream.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reticent::continual::CounterKind;
use reticent::secrets::burn_stack;
use rusqlite::{OptionalExtension, params};
use serde::{Serialize, Serializer};
use zeroize::Zeroize;

use crate::archive;
use crate::board::{Board, Subscription};
use crate::clock::milliseconds;
use crate::curator::queue::{Batch, Job, Queue};
use crate::database::failed;
use crate::definition::{Definition, Mode};
use crate::error::{Error, Result};
use crate::event::{EVENT_FRAMES, Events, Rules};
use crate::pan_private::PanPrivateStream;
use crate::release::StepRelease;
use crate::shared::Shared;

/// A stream: events go in, releases come out, one at the end of each step.
///
/// # Privacy
/// Only the releases depend on events: not [`Stream::status`], not the end of a step, no error. See [`Definition`] for
/// what is protected.
pub struct Stream {
    pub(crate) definition: Arc<Definition>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) board: Arc<Board>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: i64,
    pub(crate) created: i64,
    pub(crate) kind: CounterKind,
    pub(crate) engine: Engine,
}

/// What counts the events.
pub(crate) enum Engine {
    Curator(Arc<Queue>),
    PanPrivate(Arc<PanPrivateStream>),
}

/// A stream's public status: nothing in it depends on events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The stream's name.
    pub name: String,
    /// The number of released steps.
    pub steps: u64,
    /// The number of steps; `None` if there is no end.
    pub horizon: Option<u64>,
    /// Whether the last step is released.
    pub ended: bool,
    /// When the open step ends by the clock.
    #[serde(serialize_with = "rfc3339")]
    pub next_close: Option<Timestamp>,
    /// The guarantee of all releases together.
    pub guarantee: String,
    /// The kind of counter.
    pub counter: CounterKind,
    /// In pan-private mode, how often counting was restarted on top of the published releases.
    pub restarts: Option<u64>,
}

fn rfc3339<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(time),
        None => serializer.serialize_none(),
    }
}

impl Stream {
    /// Its name.
    pub fn name(&self) -> &str {
        self.definition.name()
    }

    /// Its definition.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// An empty batch of events; see [`Events::push`].
    pub fn events(&self) -> Events {
        Events::new(Arc::clone(&self.rules), 0)
    }

    /// Parses one event per line, each a JSON object `{"id": …, "key": …, "value": …}` or a bare number. No line is an
    /// error: a missing value counts as 1, anything but a whole number as 0, and an unreadable line is an event of
    /// value 0 without key and id.
    pub fn events_from_ndjson(&self, body: &[u8]) -> Events {
        Events::from_ndjson(Arc::clone(&self.rules), body)
    }

    /// Counts events, in the step that is open when they are processed. This may block; from async code, call it where
    /// blocking is allowed.
    ///
    /// In curator mode they are durable when this returns `Ok`: neither lost nor, within the window and with the same
    /// id, counted again. After an error they may or may not have been counted; with ids they can be sent again.
    ///
    /// In pan-private mode they are counted in memory, at most once, and must not be sent again: acknowledge them to
    /// their source first.
    ///
    /// # Errors
    /// [`Error::Ended`] after the last step; [`Error::Storage`] if the disk fails; [`Error::Stopped`]; a parameter
    /// error if the events belong to another stream.
    pub fn ingest(&self, events: Events) -> Result<()> {
        self.take_in(events, None)
    }

    /// Parses one event per line, and counts them. In pan-private mode the text is always overwritten with zeros.
    ///
    /// # Errors
    /// As for [`Stream::ingest`].
    pub fn ingest_ndjson(&self, body: &mut [u8]) -> Result<()> {
        let events = self.events_from_ndjson(body);
        let private = self.definition.mode() == Mode::PanPrivate;
        if private {
            body.zeroize();
        }
        let taken = self.ingest(events);
        if private {
            burn_stack::<EVENT_FRAMES>();
        }
        taken
    }

    /// [`Stream::ingest`], which also stores, in the same transaction, how far the source has been read: after a crash
    /// [`Stream::position`] gives exactly what was counted. In pan-private mode no position is stored.
    ///
    /// # Errors
    /// As for [`Stream::ingest`].
    pub fn ingest_from(&self, events: Events, source: &str, position: &[u8]) -> Result<()> {
        self.take_in(events, Some((source.to_owned(), position.to_owned())))
    }

    fn take_in(&self, events: Events, source: Option<(String, Vec<u8>)>) -> Result<()> {
        if !Arc::ptr_eq(&events.rules, &self.rules) {
            let other = format!("of stream {}", events.rules.definition.name());
            return Err(Error::parameter("events", other, format!("of stream {}", self.name())));
        }
        match &self.engine {
            Engine::Curator(queue) => {
                queue.ask(|answer| Job::Ingest(Batch { stream: self.id, events, source, answer }))
            }
            Engine::PanPrivate(stream) => {
                let taken = stream.ingest(events, milliseconds(&*self.shared.clock));
                burn_stack::<EVENT_FRAMES>();
                taken
            }
        }
    }

    /// How far a source was read when its last events were counted; `None` in pan-private mode.
    ///
    /// # Errors
    /// If the disk cannot be read.
    pub fn position(&self, source: &str) -> Result<Option<Vec<u8>>> {
        self.shared.read(|pages| {
            let sql = "SELECT position FROM source WHERE stream = ?1 AND name = ?2";
            let mut query = pages.prepare_cached(sql).map_err(failed)?;
            query.query_row(params![self.id, source], |row| row.get(0)).optional().map_err(failed)
        })
    }

    /// The newest release.
    pub fn now(&self) -> Option<Arc<StepRelease>> {
        self.board.newest()
    }

    /// At most `limit` releases starting at step `from` (the first is 1), oldest first.
    ///
    /// # Errors
    /// If the disk cannot be read.
    pub fn history(&self, from: u64, limit: usize) -> Result<Vec<StepRelease>> {
        self.piece(from, limit, usize::MAX)
    }

    /// [`Stream::history`] up to about `bytes` [as JSON](StepRelease::json_bytes), but at least one release if there is
    /// one. No more than that is read: ten thousand releases of as many keys are gigabytes.
    ///
    /// # Errors
    /// If the disk cannot be read.
    pub fn piece(&self, from: u64, limit: usize, bytes: usize) -> Result<Vec<StepRelease>> {
        match &self.engine {
            Engine::Curator(_) => {
                let newest = self.board.newest().map_or(0, |release| release.step);
                let releases =
                    self.shared.read(|pages| archive::history(pages, self.id, &self.definition, from, limit, bytes))?;
                // A release that is committed but not shown yet is left out.
                Ok(releases.into_iter().take_while(|release| release.step <= newest).collect())
            }
            Engine::PanPrivate(stream) => stream.history(from, limit, bytes),
        }
    }

    /// Subscribes to all later releases.
    pub fn subscribe(&self) -> Subscription {
        self.board.subscribe()
    }

    /// Waits until a step is released; false if that took too long, or there will be no more releases.
    pub fn wait_for_step(&self, step: u64, limit: Duration) -> bool {
        self.board.wait_for(step, limit)
    }

    /// Its public status.
    pub fn status(&self) -> Status {
        let steps = self.board.newest().map_or(0, |release| release.step);
        let horizon = self.definition.horizon();
        let ended = horizon.is_some_and(|horizon| steps >= horizon);
        let timeline = self.definition.step().timeline(self.created).filter(|_| !ended);
        let next_close = timeline.and_then(|timeline| Timestamp::from_millisecond(timeline.end_of(steps + 1)).ok());
        Status {
            name: self.name().to_owned(),
            steps,
            horizon,
            ended,
            next_close,
            guarantee: self.definition.guarantee().to_string(),
            counter: self.kind,
            restarts: match &self.engine {
                Engine::Curator(_) => None,
                Engine::PanPrivate(stream) => Some(stream.restarts()),
            },
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stream").field("name", &self.name()).finish_non_exhaustive()
    }
}
