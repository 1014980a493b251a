//! What is currently failing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// The streams of a data directory that cannot be opened, and the files that cannot be written. Nothing here depends on
/// events.
#[derive(Debug, Default)]
pub(crate) struct Health {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    unopened: BTreeMap<String, Error>,
    /// By file.
    unwritten: BTreeMap<String, Error>,
}

impl Health {
    /// Records that a stream cannot be opened; the others continue.
    pub fn cannot_open(&self, name: &str, error: &Error) {
        let unopened = Error::Unopened { name: name.to_owned(), reason: error.to_string() };
        self.lock().unopened.insert(name.to_owned(), unopened);
    }

    /// Why a stream cannot be opened; `None` if it can or does not exist.
    pub fn unopened(&self, name: &str) -> Option<Error> {
        self.lock().unopened.get(name).cloned()
    }

    /// All streams that cannot be opened, by name, with the reasons.
    pub fn all_unopened(&self) -> Vec<(String, Error)> {
        self.lock().unopened.iter().map(|(name, error)| (name.clone(), error.clone())).collect()
    }

    /// Records whether a file could be written just now, and logs a change.
    pub fn written(&self, file: &str, outcome: Result<(), &Error>) {
        let mut state = self.lock();
        match outcome {
            Ok(()) => {
                if state.unwritten.remove(file).is_some() {
                    tracing::info!(file, "the data directory is writable again; closing the missed steps");
                }
            }
            Err(error) => {
                if state.unwritten.insert(file.to_owned(), error.clone()).is_none() {
                    tracing::error!(file, "cannot close steps; retrying: {error}");
                }
            }
        }
    }

    /// Whether the last attempt to write this file failed.
    pub fn is_unwritten(&self, file: &str) -> bool {
        self.lock().unwritten.contains_key(file)
    }

    /// Why some file cannot be written; `None` if all can.
    pub fn unwritten(&self) -> Option<Error> {
        self.lock().unwritten.values().next().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
