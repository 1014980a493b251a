//! Room for the bodies of requests in memory: altogether, and of each who sends. It is taken as they come, so that nobody has more
//! of it than they have sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Result};

/// It is given in units of so many bytes.
const UNIT: usize = 1 << 10;
/// How long a request waits for it.
const PATIENCE: Duration = Duration::from_secs(1);
/// Beyond so many senders those who have none are forgotten.
const MOST_SENDERS: usize = 10_000;

/// So much for all, and so much of it for one sender.
#[derive(Debug)]
pub struct Rooms {
    all: Arc<Semaphore>,
    each: usize,
    of_sender: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Room for one body, until it is dropped.
#[derive(Debug)]
pub struct Room {
    /// The sender's own, and everybody's: whoever waits for the first keeps nobody else waiting.
    from: [Arc<Semaphore>; 2],
    taken: [OwnedSemaphorePermit; 2],
}

impl Rooms {
    /// So many bytes for all, and so many of them for one sender.
    pub fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all / UNIT)), each: each / UNIT, of_sender: Mutex::default() }
    }

    /// Room for a body of this sender, of which nothing has come yet.
    pub fn of(&self, sender: String) -> Room {
        let mut of_sender = self.of_sender.lock().unwrap_or_else(PoisonError::into_inner);
        if of_sender.len() >= MOST_SENDERS {
            of_sender.retain(|_, own| own.strong_count() > 0);
        }
        let known = of_sender.get(&sender).and_then(Weak::upgrade);
        let own = known.unwrap_or_else(|| {
            let own = Arc::new(Semaphore::new(self.each));
            of_sender.insert(sender, Arc::downgrade(&own));
            own
        });
        let from = [own, Arc::clone(&self.all)];
        let taken = from.each_ref().map(|from| Arc::clone(from).try_acquire_many_owned(0).expect("it is never closed"));
        Room { from, taken }
    }
}

impl Room {
    /// Room for so many bytes in all.
    ///
    /// # Errors
    /// If there is none for a second.
    pub async fn grow(&mut self, bytes: usize) -> Result<()> {
        let growing = async {
            for (from, taken) in self.from.iter().zip(&mut self.taken) {
                let missing = bytes.div_ceil(UNIT).saturating_sub(taken.num_permits());
                let missing = u32::try_from(missing).unwrap_or(u32::MAX);
                taken.merge(Arc::clone(from).acquire_many_owned(missing).await.expect("it is never closed"));
            }
        };
        let grown = tokio::time::timeout(PATIENCE, growing).await;
        grown.map_err(|_| Error::Busy("there is no room for the body of this request at present"))
    }

    /// Gives back all but room for so many bytes.
    pub fn shrink(&mut self, bytes: usize) {
        for taken in &mut self.taken {
            let spare = taken.num_permits().saturating_sub(bytes.div_ceil(UNIT));
            drop(taken.split(spare));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_sender_leaves_room_to_others_and_all_of_it_comes_back() {
        let rooms = Rooms::new(8 * UNIT, 4 * UNIT);
        let room = async |sender: &str, bytes| {
            let mut room = rooms.of(sender.to_owned());
            room.grow(bytes).await.map(|()| room)
        };
        let mut ada = room("ada", 3 * UNIT).await.unwrap();
        assert!(room("ada", UNIT + 1).await.is_err() && ada.grow(4 * UNIT + 1).await.is_err());
        let alan = room("alan", 4 * UNIT).await.unwrap();
        let grace = room("grace", UNIT).await.unwrap();
        assert!(room("joan", 1).await.is_err(), "all is taken");
        ada.shrink(UNIT);
        assert!(room("ada", 2 * UNIT).await.is_ok());
        drop((ada, alan, grace));
        assert_eq!((rooms.all.available_permits(), room("ada", 4 * UNIT).await.is_ok()), (8, true));
    }
}
