//! Where releases are shown.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::release::StepRelease;

/// The newest release of a stream, and everyone who waits for the next.
#[derive(Debug)]
pub(crate) struct Board {
    newest: Mutex<Option<Arc<StepRelease>>>,
    changed: Condvar,
    steps: watch::Sender<News>,
}

/// What is told to those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct News {
    /// The newest step that is released; 0 if none is.
    step: u64,
    /// Nothing more will come.
    over: bool,
}

impl Board {
    pub fn new() -> Self {
        let steps = watch::Sender::new(News { step: 0, over: false });
        Self { newest: Mutex::new(None), changed: Condvar::new(), steps }
    }

    /// To be called when the release is durable.
    pub fn show(&self, release: Arc<StepRelease>) {
        let step = release.step;
        *self.lock() = Some(release);
        self.changed.notify_all();
        self.steps.send_modify(|news| news.step = step);
    }

    /// Nothing more will be shown.
    pub fn close(&self) {
        let guard = self.lock();
        self.steps.send_modify(|news| news.over = true);
        self.changed.notify_all();
        drop(guard);
    }

    pub fn newest(&self) -> Option<Arc<StepRelease>> {
        self.lock().clone()
    }

    pub fn subscribe(&self) -> Subscription {
        let mut receiver = self.steps.subscribe();
        let seen = receiver.borrow_and_update().step;
        Subscription { receiver, seen }
    }

    /// Waits until a step is released, for so long at the most.
    pub fn wait_for(&self, step: u64, limit: Duration) -> bool {
        let since = Instant::now();
        let mut newest = self.lock();
        loop {
            if newest.as_ref().is_some_and(|release| release.step >= step) {
                return true;
            }
            let left = limit.saturating_sub(since.elapsed());
            if left.is_zero() || self.steps.borrow().over {
                return false;
            }
            newest = self.changed.wait_timeout(newest, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<StepRelease>>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells of every later release. Whoever is slow misses none: what lies between the last step that was told and the newest
/// is in [`Stream::history`](crate::Stream::history).
#[derive(Debug, Clone)]
pub struct Subscription {
    receiver: watch::Receiver<News>,
    seen: u64,
}

impl Subscription {
    /// The last step that this subscription told of; of those before it began, the newest.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The newest step, as soon as there is one later than [`Subscription::seen`]; `None` if nothing more will come. Needs
    /// no runtime of a certain kind.
    pub async fn changed(&mut self) -> Option<u64> {
        loop {
            let news = *self.receiver.borrow_and_update();
            if news.step > self.seen {
                self.seen = news.step;
                return Some(news.step);
            }
            if news.over || self.receiver.changed().await.is_err() {
                return None;
            }
        }
    }
}
