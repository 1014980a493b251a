//! What is limited in total and per sender.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Beyond this many senders, those without a share are forgotten.
const MOST_SENDERS: usize = 10_000;

/// A number of places, of which each sender can have some.
#[derive(Debug)]
pub struct Shares {
    all: Arc<Semaphore>,
    each: usize,
    of_sender: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Shares {
    /// `all` places, of which one sender can have `each`.
    pub fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, of_sender: Mutex::default() }
    }

    /// The sender's share, then the total: a sender that waits for its own share keeps no one else waiting.
    pub fn of(&self, sender: &str) -> [Arc<Semaphore>; 2] {
        let mut of_sender = self.of_sender.lock().unwrap_or_else(PoisonError::into_inner);
        if of_sender.len() >= MOST_SENDERS {
            of_sender.retain(|_, own| own.strong_count() > 0);
        }
        let known = of_sender.get(sender).and_then(Weak::upgrade);
        let own = known.unwrap_or_else(|| {
            let own = Arc::new(Semaphore::new(self.each));
            of_sender.insert(sender.to_owned(), Arc::downgrade(&own));
            own
        });
        [own, Arc::clone(&self.all)]
    }

    /// Waits for a place.
    pub async fn place(&self, sender: &str) -> [OwnedSemaphorePermit; 2] {
        let [own, all] = self.of(sender);
        let own = own.acquire_owned().await.expect("it is never closed");
        [own, all.acquire_owned().await.expect("it is never closed")]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sender_with_many_requests_leaves_a_place_to_others() {
        let shares = Shares::new(2, 1);
        let place = async |sender| tokio::time::timeout(Duration::from_secs(1), shares.place(sender)).await;
        let first = place("ada").await.unwrap();
        assert!(place("ada").await.is_err());
        let other = place("alan").await.unwrap();
        assert!(place("grace").await.is_err(), "all are taken");
        drop((first, other));
        assert!(place("ada").await.is_ok());
    }
}
