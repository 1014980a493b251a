//! What does not work at present.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// The streams of a data directory that cannot be opened. Nothing in it depends on events.
#[derive(Debug, Default)]
pub(crate) struct Health {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    unopened: BTreeMap<String, Error>,
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
