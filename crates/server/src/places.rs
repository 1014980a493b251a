//! Limits on how many may be there at a time: in total, and per owner.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A number of places, of which each owner (an address, a token) can have some. There is no waiting: either a place is
/// free, or not.
#[derive(Debug)]
pub struct Places<K> {
    most: usize,
    each: usize,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    total: usize,
    by_owner: HashMap<K, usize>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Place<K: Debug + Clone + Eq + Hash> {
    places: Arc<Places<K>>,
    owner: K,
}

impl<K: Debug + Clone + Eq + Hash> Places<K> {
    /// `most` places, of which one owner can have `each`.
    pub fn new(most: usize, each: usize) -> Arc<Self> {
        Arc::new(Self { most, each, taken: Mutex::new(Taken { total: 0, by_owner: HashMap::new() }) })
    }

    /// A place for this owner; `None` if all are taken, or the owner has its share.
    pub fn take(self: &Arc<Self>, owner: K) -> Option<Place<K>> {
        let mut taken = self.lock();
        let own = taken.by_owner.get(&owner).copied().unwrap_or(0);
        if taken.total >= self.most || own >= self.each {
            return None;
        }
        taken.total += 1;
        taken.by_owner.insert(owner.clone(), own + 1);
        Some(Place { places: Arc::clone(self), owner })
    }

    fn lock(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Debug + Clone + Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.total -= 1;
        if let Some(own) = taken.by_owner.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                taken.by_owner.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_and_given_back() {
        let places = Places::new(3, 2);
        let mut ada: Vec<_> = (0..2).map(|_| places.take("ada").unwrap()).collect();
        assert!(places.take("ada").is_none());
        let alan = places.take("alan").unwrap();
        assert!(places.take("alan").is_none() && places.take("grace").is_none());
        ada.pop();
        let grace = places.take("grace").unwrap();
        drop((ada, alan, grace));
        assert!(places.lock().by_owner.is_empty() && places.lock().total == 0);
    }
}
