//! Memory for bodies of requests and replies: limited in total and per sender. That of requests is reserved as their bytes
//! arrive, so that no sender holds much more than it has sent.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Result};
use crate::shares::Shares;

/// Memory is reserved in units of this many bytes.
const UNIT: usize = 1 << 10;
/// How long a request waits for memory.
const PATIENCE: Duration = Duration::from_secs(1);

/// The memory for all bodies, and each sender's share.
#[derive(Debug)]
pub struct Rooms {
    shares: Shares,
    busy: &'static str,
}

/// The memory of one body, until it is dropped.
#[derive(Debug)]
pub struct Room {
    /// The sender's share, then the total.
    from: [Arc<Semaphore>; 2],
    taken: [OwnedSemaphorePermit; 2],
    busy: &'static str,
}

impl Rooms {
    /// `all` bytes in total, of which one sender can have `each`; `busy` says what it means if there is no more.
    pub fn new(all: usize, each: usize, busy: &'static str) -> Self {
        Self { shares: Shares::new(all / UNIT, each / UNIT), busy }
    }

    /// The memory for a new body of this sender, empty at first.
    pub fn of(&self, sender: &str) -> Room {
        let from = self.shares.of(sender);
        let taken = from.each_ref().map(|from| Arc::clone(from).try_acquire_many_owned(0).expect("it is never closed"));
        Room { from, taken, busy: self.busy }
    }
}

impl Room {
    /// Grows to `bytes` in total.
    ///
    /// # Errors
    /// If there is not enough memory within a second.
    pub async fn grow(&mut self, bytes: usize) -> Result<()> {
        self.grow_within(bytes, PATIENCE).await
    }

    /// Grows to `bytes` in total.
    ///
    /// # Errors
    /// If there is not enough memory within this time.
    pub async fn grow_within(&mut self, bytes: usize, patience: Duration) -> Result<()> {
        tokio::time::timeout(patience, self.wait(bytes)).await.map_err(|_| Error::Busy(self.busy))
    }

    /// Grows to `bytes` in total, if that is possible without waiting.
    pub fn grow_now(&mut self, bytes: usize) -> bool {
        for (from, taken) in self.from.iter().zip(&mut self.taken) {
            match Arc::clone(from).try_acquire_many_owned(missing(taken, bytes)) {
                Ok(more) => taken.merge(more),
                Err(_) => return false,
            }
        }
        true
    }

    async fn wait(&mut self, bytes: usize) {
        for (from, taken) in self.from.iter().zip(&mut self.taken) {
            let more = Arc::clone(from).acquire_many_owned(missing(taken, bytes)).await;
            taken.merge(more.expect("it is never closed"));
        }
    }

    /// Gives back all but `bytes`.
    pub fn shrink(&mut self, bytes: usize) {
        for taken in &mut self.taken {
            let spare = taken.num_permits().saturating_sub(bytes.div_ceil(UNIT));
            drop(taken.split(spare));
        }
    }
}

fn missing(taken: &OwnedSemaphorePermit, bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT).saturating_sub(taken.num_permits())).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_sender_leaves_room_to_others_and_all_of_it_comes_back() {
        let rooms = Rooms::new(8 * UNIT, 4 * UNIT, "no room");
        let room = async |sender: &str, bytes| {
            let mut room = rooms.of(sender);
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
        assert_eq!((rooms.of("ada").from[1].available_permits(), room("ada", 4 * UNIT).await.is_ok()), (8, true));
    }
}
