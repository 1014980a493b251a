//! Requests in progress.
//!
//! A charged request is computed once. Repeating it while it is being computed waits for its outcome instead of failing
//! because none exists yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// By request id. Two callers that use the same id for two datasets wait for each other needlessly, which does no harm.
type Turns = HashMap<String, Arc<tokio::sync::Mutex<()>>>;

/// The requests in progress.
#[derive(Debug, Default)]
pub struct Asking(Mutex<Turns>);

impl Asking {
    /// Waits until no other request with this id is in progress.
    pub async fn turn(&self, request: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Drops those that are no longer held or waited for.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(request.to_owned()).or_default())
        };
        turn.lock_owned().await
    }
}
