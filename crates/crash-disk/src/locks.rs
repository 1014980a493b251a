//! Who may read and write: SQLite's file locks and those of its shared memory.

use std::collections::HashMap;

/// The locks on one file.
#[derive(Debug, Default)]
pub struct FileLocks(HashMap<u64, LockLevel>);

/// A connection's lock level on a file, as in SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockLevel {
    None,
    Shared,
    Reserved,
    Pending,
    Exclusive,
}

impl FileLocks {
    /// Raises a connection's lock, if the others allow it.
    pub fn raise(&mut self, handle: u64, level: LockLevel) -> bool {
        let others = self.0.iter().filter(|(other, _)| **other != handle).map(|(_, level)| *level);
        let strongest = others.max().unwrap_or(LockLevel::None);
        let mine = self.0.get(&handle).copied().unwrap_or(LockLevel::None);
        if mine >= level {
            return true;
        }
        let allowed = match level {
            LockLevel::None => true,
            LockLevel::Shared => strongest < LockLevel::Pending,
            LockLevel::Reserved | LockLevel::Pending => strongest < LockLevel::Reserved,
            LockLevel::Exclusive => strongest == LockLevel::None,
        };
        if allowed {
            self.0.insert(handle, level);
        } else if level == LockLevel::Exclusive && strongest < LockLevel::Reserved {
            // No new readers until the current ones are gone.
            self.0.insert(handle, LockLevel::Pending);
        }
        allowed
    }

    /// Lowers a connection's lock.
    pub fn lower(&mut self, handle: u64, level: LockLevel) {
        match level {
            LockLevel::None => self.0.remove(&handle),
            level => self.0.insert(handle, level),
        };
    }

    /// Whether a connection is about to write.
    pub fn is_reserved(&self) -> bool {
        self.0.values().any(|level| *level >= LockLevel::Reserved)
    }
}

/// The locks on one file's shared memory: eight places, each shared or exclusive.
#[derive(Debug, Default)]
pub struct SharedLocks(Vec<(usize, u64, Hold)>);

/// How a place is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Shared,
    Exclusive,
}

impl SharedLocks {
    /// Acquires some places, all or none.
    pub fn take(&mut self, handle: u64, places: std::ops::Range<usize>, hold: Hold) -> bool {
        let barred = self.0.iter().any(|(place, owner, held)| {
            places.contains(place) && *owner != handle && (hold == Hold::Exclusive || *held == Hold::Exclusive)
        });
        if !barred {
            self.give_up(handle, places.clone());
            self.0.extend(places.map(|place| (place, handle, hold)));
        }
        !barred
    }

    /// Releases some places.
    pub fn give_up(&mut self, handle: u64, places: std::ops::Range<usize>) {
        self.0.retain(|(place, owner, _)| !(places.contains(place) && *owner == handle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writer_or_many_readers() {
        let mut locks = FileLocks::default();
        assert!(locks.raise(1, LockLevel::Shared) && locks.raise(2, LockLevel::Shared));
        assert!(locks.raise(1, LockLevel::Reserved) && !locks.raise(2, LockLevel::Reserved));
        assert!(!locks.raise(1, LockLevel::Exclusive) && !locks.raise(3, LockLevel::Shared), "a writer waits");
        locks.lower(2, LockLevel::None);
        assert!(locks.raise(1, LockLevel::Exclusive) && locks.is_reserved());
        locks.lower(1, LockLevel::None);
        assert!(locks.raise(3, LockLevel::Shared) && !locks.is_reserved());

        let mut places = SharedLocks::default();
        assert!(places.take(1, 3..4, Hold::Shared) && places.take(2, 3..4, Hold::Shared));
        assert!(!places.take(1, 3..5, Hold::Exclusive) && places.take(1, 0..1, Hold::Exclusive));
        assert!(!places.take(2, 0..1, Hold::Shared));
        places.give_up(2, 0..8);
        assert!(places.take(1, 3..5, Hold::Exclusive));
    }
}
