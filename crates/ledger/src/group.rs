//! Group commit: one commit for all waiting threads.
//!
//! A commit costs one disk sync, however much it contains. One thread, the leader, writes at a time, for itself and for
//! all that queued up while the previous leader waited for the disk; the others sleep until their work is done, and the
//! first one that came too late leads next.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::storage::{Pages, Storage};

/// The most jobs written in one transaction.
const LARGEST_GROUP: usize = 1024;

/// One caller's work within a transaction. If it returns an error, it must not have appended anything.
type Work<T> = dyn Fn(&mut dyn Pages) -> Result<T> + Send + Sync;

/// The work one caller waits for.
struct Job<T> {
    work: Box<Work<T>>,
    state: Mutex<State<T>>,
    changed: Condvar,
}

enum State<T> {
    Waiting,
    /// It is this caller's turn to write.
    Leads,
    Done(Result<T>),
}

#[derive(Default)]
struct Queue<T> {
    waiting: Vec<Arc<Job<T>>>,
    /// A thread is writing, or has been chosen to write.
    led: bool,
}

/// A storage shared by threads.
pub struct Group<T> {
    queue: Mutex<Queue<T>>,
    storage: Mutex<Box<dyn Storage>>,
}

impl<T: Send> Group<T> {
    /// Wraps a storage.
    pub fn new(storage: Box<dyn Storage>) -> Self {
        let queue = Queue { waiting: Vec::new(), led: false };
        Self { queue: Mutex::new(queue), storage: Mutex::new(storage) }
    }

    /// Does the work and returns when it is durable.
    ///
    /// # Errors
    /// Those of the work; [`Error::Storage`] if the disk or the server fails.
    pub fn write(&self, work: impl Fn(&mut dyn Pages) -> Result<T> + Send + Sync + 'static) -> Result<T> {
        let job = Arc::new(Job { work: Box::new(work), state: Mutex::new(State::Waiting), changed: Condvar::new() });
        let mut queue = lock(&self.queue);
        queue.waiting.push(Arc::clone(&job));
        let leads = !mem::replace(&mut queue.led, true);
        drop(queue);
        if !leads && let Some(outcome) = job.wait() {
            return outcome;
        }
        self.lead();
        // The leader is the first in the queue, so its own job was in the group.
        job.wait().expect("the leader's own work is done")
    }

    /// The storage, locked: no other thread is writing.
    pub fn storage(&self) -> MutexGuard<'_, Box<dyn Storage>> {
        lock(&self.storage)
    }

    /// Writes for all waiting threads, then makes the first that came later the next leader.
    fn lead(&self) {
        let mut storage = lock(&self.storage);
        let group: Vec<_> = {
            let mut queue = lock(&self.queue);
            let most = queue.waiting.len().min(LARGEST_GROUP);
            queue.waiting.drain(..most).collect()
        };
        let turn = Turn { queue: &self.queue, group };
        commit(storage.as_mut(), &turn.group);
    }
}

impl<T> Job<T> {
    /// The outcome; `None` if it is this caller's turn to write.
    fn wait(&self) -> Option<Result<T>> {
        let mut state = lock(&self.state);
        loop {
            match mem::replace(&mut *state, State::Waiting) {
                State::Waiting => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                State::Leads => return None,
                State::Done(outcome) => return Some(outcome),
            }
        }
    }

    fn set(&self, new: State<T>) {
        *lock(&self.state) = new;
        self.changed.notify_one();
    }
}

/// A leader's turn. Even if it ends in a panic, no thread is left waiting.
struct Turn<'group, T> {
    queue: &'group Mutex<Queue<T>>,
    group: Vec<Arc<Job<T>>>,
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let reason = "the writing thread panicked".to_owned();
            let failed = || State::Done(Err(Error::Storage { doing: "written", reason: reason.clone() }));
            self.group.iter().for_each(|job| job.set(failed()));
        }
        let mut queue = lock(self.queue);
        match queue.waiting.first() {
            Some(next) => next.set(State::Leads),
            None => queue.led = false,
        }
    }
}

/// Does all jobs in one transaction. A refused job does not affect the others; if the storage fails, all fail.
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
    group.iter().zip(outcomes).for_each(|(job, outcome)| job.set(State::Done(outcome)));
}

/// Ignores poisoning: transactions are atomic, so a thread that panicked left nothing half done.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;
    use crate::storage::Sqlite;

    const THREADS: u64 = 16;
    const EACH: u64 = 200;

    fn group<T: Send>(folder: &tempfile::TempDir) -> Group<T> {
        Group::new(Box::new(Sqlite::create(&folder.path().join("ledger.sqlite")).expect("a new file")))
    }

    #[test]
    fn everyone_gets_an_answer_of_their_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = group::<u64>(&folder);
        thread::scope(|scope| {
            for first in (0..THREADS).map(|thread| thread * EACH) {
                let group = &group;
                scope.spawn(move || {
                    for number in first..first + EACH {
                        let expected =
                            move || if number % 2 == 1 { Err(Error::Missing(number.to_string())) } else { Ok(number) };
                        assert_eq!(group.write(move |_| expected()), expected());
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = group::<()>(&folder);
        let done = AtomicU64::new(0);
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (group, done) = (&group, &done);
                scope.spawn(move || {
                    for _ in 0..EACH {
                        let panics = move |_: &mut dyn Pages| if number == 0 { panic!("as asked") } else { Ok(()) };
                        // The leader at that moment panics, too.
                        let write = || group.write(panics);
                        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(write));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), THREADS * EACH);
        assert_eq!(group.write(|_| Ok(())), Ok(()));
    }
}
