//! Jobs for the writer.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::live::Live;
use crate::error::{Error, Result};
use crate::event::Events;

/// About how many events one transaction holds, so that a due step does not wait long.
const LARGEST_TURN: usize = 1 << 15;

/// A job for the writer.
pub(crate) enum Job {
    /// Counts events.
    Ingest(Batch),
    /// Takes on a new stream.
    Adopt(Box<Live>, Answer),
    /// Closes the steps that are due now.
    CloseDue(Answer),
}

/// Events of one stream.
pub(crate) struct Batch {
    pub stream: i64,
    pub events: Events,
    /// Their source, and how far it has been read with them.
    pub source: Option<(String, Vec<u8>)>,
    pub answer: Answer,
}

/// The channel for the outcome, sent when it is durable.
pub(crate) type Answer = SyncSender<Result<()>>;

/// Waiting jobs.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    hurry: bool,
    stopped: bool,
}

/// The next jobs.
pub(crate) struct Next {
    pub jobs: Vec<Job>,
    /// Jobs shall no longer wait for a stream to catch up.
    pub hurry: bool,
    /// No more jobs will come.
    pub over: bool,
}

impl Queue {
    /// Enqueues a job and waits until it is done.
    pub fn ask(&self, job: impl FnOnce(Answer) -> Job) -> Result<()> {
        let (answer, outcome): (_, Receiver<Result<()>>) = sync_channel(1);
        let mut state = self.lock();
        if state.stopped {
            return Err(Error::Stopped);
        }
        state.jobs.push_back(job(answer));
        drop(state);
        self.changed.notify_one();
        outcome.recv().unwrap_or(Err(Error::Stopped))
    }

    /// From now on jobs no longer wait for a stream to catch up.
    pub fn hurry(&self) {
        self.lock().hurry = true;
        self.changed.notify_all();
    }

    /// Accepts no more jobs.
    pub fn stop(&self) {
        let mut state = self.lock();
        (state.hurry, state.stopped) = (true, true);
        drop(state);
        self.changed.notify_all();
    }

    /// The next jobs, as soon as there are any; none after `limit`.
    pub fn next(&self, limit: Duration) -> Next {
        let mut state = self.lock();
        if state.jobs.is_empty() && !state.stopped {
            state = self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0;
        }
        let (mut jobs, mut events) = (Vec::new(), 0);
        while events < LARGEST_TURN
            && let Some(job) = state.jobs.pop_front()
        {
            events += if let Job::Ingest(batch) = &job { batch.events.len() } else { 0 };
            jobs.push(job);
        }
        Next { jobs, hurry: state.hurry, over: state.stopped && state.jobs.is_empty() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    pub fn answer(&self) -> &Answer {
        match self {
            Self::Ingest(batch) => &batch.answer,
            Self::Adopt(_, answer) | Self::CloseDue(answer) => answer,
        }
    }
}
