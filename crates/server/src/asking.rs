//! The requests that are being answered.
//!
//! A request that was charged is computed once. Whoever asks the same again while it is computed waits for what comes of it, rather than
//! be told that there is no outcome yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// A request: its id, and whose. Two callers may use the same id for two datasets, and wait for each other in vain: no harm is done.
type Turns = HashMap<String, Arc<tokio::sync::Mutex<()>>>;

/// The requests that are being answered.
#[derive(Debug, Default)]
pub struct Asking(Mutex<Turns>);

impl Asking {
    /// Waits until nobody else asks the request of this id.
    pub async fn turn(&self, request: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody holds or waits for any more.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(request.to_owned()).or_default())
        };
        turn.lock_owned().await
    }
}
