//! One commit for all who wait.
//!
//! A commit costs one sync of the disk, however much it holds. While one thread waits for the disk, others queue up; the
//! next to get the storage writes for all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::storage::{Pages, Storage};

/// As many as are written in one transaction.
const LARGEST_GROUP: usize = 1024;

/// What one caller wants done in a transaction. It may be done more than once, if a transaction fails: it must depend on
/// nothing but the pages. If it gives an error, it must not have appended anything.
type Work<T> = dyn Fn(&mut dyn Pages) -> Result<T> + Send + Sync;

struct Job<T> {
    work: Box<Work<T>>,
    outcome: Mutex<Option<Result<T>>>,
}

/// A storage that threads share.
pub struct Group<T> {
    waiting: Mutex<Vec<Arc<Job<T>>>>,
    storage: Mutex<Box<dyn Storage>>,
}

impl<T: Send> Group<T> {
    /// Around a storage.
    pub fn new(storage: Box<dyn Storage>) -> Self {
        Self { waiting: Mutex::default(), storage: Mutex::new(storage) }
    }

    /// Does the work and returns when it is durable.
    ///
    /// # Errors
    /// Those of the work; [`Error::Storage`] if the disk or the server fails.
    pub fn write(&self, work: impl Fn(&mut dyn Pages) -> Result<T> + Send + Sync + 'static) -> Result<T> {
        let job = Arc::new(Job { work: Box::new(work), outcome: Mutex::new(None) });
        lock(&self.waiting).push(Arc::clone(&job));
        let mut storage = lock(&self.storage);
        // Whoever had the storage before may have done it already.
        while lock(&job.outcome).is_none() {
            let mut waiting = lock(&self.waiting);
            let most = waiting.len().min(LARGEST_GROUP);
            let group: Vec<_> = waiting.drain(..most).collect();
            drop(waiting);
            commit(storage.as_mut(), &group);
        }
        let outcome = lock(&job.outcome).take();
        outcome.expect("the loop ends when there is one")
    }

    /// The storage, when nobody writes.
    pub fn storage(&self) -> MutexGuard<'_, Box<dyn Storage>> {
        lock(&self.storage)
    }
}

/// Does all jobs in one transaction. One that is refused leaves the others as they are; if the storage fails, all fail.
fn commit<T>(storage: &mut dyn Storage, group: &[Arc<Job<T>>]) {
    let mut outcomes: Vec<Result<T>> = Vec::new();
    let committed = storage.write(&mut |pages| {
        outcomes.clear();
        for job in group {
            match (job.work)(pages) {
                Err(error @ (Error::Storage { .. } | Error::Damaged(_))) => return Err(error),
                outcome => outcomes.push(outcome),
            }
        }
        Ok(())
    });
    let outcomes = match committed {
        Ok(()) => outcomes,
        Err(error) => group.iter().map(|_| Err(error.clone())).collect(),
    };
    for (job, outcome) in group.iter().zip(outcomes) {
        *lock(&job.outcome) = Some(outcome);
    }
}

/// A thread that panicked has not left anything half done: transactions are whole or not at all.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
