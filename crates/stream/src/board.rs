//! Publishing releases to readers.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::release::StepRelease;

/// The newest release of a stream, and those waiting for the next.
#[derive(Debug)]
pub(crate) struct Board {
    newest: Mutex<Option<Arc<StepRelease>>>,
    changed: Condvar,
    steps: watch::Sender<News>,
}

/// What waiting readers see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct News {
    /// The newest released step; 0 before the first.
    step: u64,
    /// There will be no more releases.
    over: bool,
}

impl Board {
    pub fn new() -> Self {
        let steps = watch::Sender::new(News { step: 0, over: false });
        Self { newest: Mutex::new(None), changed: Condvar::new(), steps }
    }

    /// Publishes a release, which must be durable.
    pub fn show(&self, release: Arc<StepRelease>) {
        let step = release.step;
        *self.lock() = Some(release);
        self.changed.notify_all();
        self.steps.send_modify(|news| news.step = step);
    }

    /// There will be no more releases.
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

    /// Waits until a step is released, at most for `limit`; false if it was not.
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

/// Announces every later release. A slow reader misses none: the steps between the last one seen and the newest are in
/// [`Stream::history`](crate::Stream::history).
#[derive(Debug, Clone)]
pub struct Subscription {
    receiver: watch::Receiver<News>,
    seen: u64,
}

impl Subscription {
    /// The last step announced; at first, the newest one when the subscription began.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Waits for a step later than [`Subscription::seen`] and returns the newest; `None` if there will be no more
    /// releases. Works with any async runtime.
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
