//! What does not work at present.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// The streams of a data directory that cannot be opened, and its files that cannot be written. Nothing in it depends on events.
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
    /// A stream cannot be opened, and the others go on.
    pub fn cannot_open(&self, name: &str, error: &Error) {
        let unopened = Error::Unopened { name: name.to_owned(), reason: error.to_string() };
        self.lock().unopened.insert(name.to_owned(), unopened);
    }

    /// Why a stream cannot be opened; `None` if it can, or there is no such stream.
    pub fn unopened(&self, name: &str) -> Option<Error> {
        self.lock().unopened.get(name).cloned()
    }

    /// All streams that cannot be opened, by name, and why.
    pub fn all_unopened(&self) -> Vec<(String, Error)> {
        self.lock().unopened.iter().map(|(name, error)| (name.clone(), error.clone())).collect()
    }

    /// Whether a file could be written just now. Said aloud when that changes.
    pub fn written(&self, file: &str, outcome: Result<(), &Error>) {
        let mut state = self.lock();
        match outcome {
            Ok(()) => {
                if state.unwritten.remove(file).is_some() {
                    tracing::info!(file, "the data directory can be written again; steps that were missed are closed");
                }
            }
            Err(error) => {
                if state.unwritten.insert(file.to_owned(), error.clone()).is_none() {
                    tracing::error!(file, "no step can be closed: {error}; trying again");
                }
            }
        }
    }

    /// Could this file not be written when it was last tried?
    pub fn is_unwritten(&self, file: &str) -> bool {
        self.lock().unwritten.contains_key(file)
    }

    /// Why a file cannot be written; `None` if all can.
    pub fn unwritten(&self) -> Option<Error> {
        self.lock().unwritten.values().next().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
