//! Where a key's events of the open step are added up.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The keys in the order in which they came, each with the sum of its events in the open step, found by hash.
///
/// The table itself holds only places of four bytes; a key lies beside its sum, so that an event touches two lines of
/// memory.
#[derive(Debug)]
pub(super) struct KeyTable<K> {
    hasher: RandomState,
    places: HashTable<u32>,
    slots: Vec<Slot<K>>,
}

/// A key and what came for it since the last step was closed.
#[derive(Debug)]
pub(super) struct Slot<K> {
    pub key: K,
    /// Up to 2^64 values of 64 bits: it cannot overflow.
    pub pending: i128,
}

impl<K: Hash + Eq> KeyTable<K> {
    pub fn with_capacity(keys: usize) -> Self {
        let hasher = RandomState::default();
        Self { hasher, places: HashTable::with_capacity(keys), slots: Vec::with_capacity(keys) }
    }

    pub fn slots(&self) -> &[Slot<K>] {
        &self.slots
    }

    pub fn slots_mut(&mut self) -> &mut [Slot<K>] {
        &mut self.slots
    }

    /// Where a key is.
    #[inline]
    pub fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        let same = |&place: &u32| self.slots[place as usize].key.borrow() == key;
        self.places.find(self.hasher.hash_one(key), same).map(|&place| place as usize)
    }

    /// Puts a key at the end; false if it is there already.
    pub fn insert(&mut self, key: K, pending: i128) -> bool {
        if self.find(&key).is_some() {
            return false;
        }
        let place = u32::try_from(self.slots.len()).expect("the counters of 2^32 keys do not fit in any memory");
        let hash = self.hasher.hash_one(&key);
        self.slots.push(Slot { key, pending });
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.places.insert_unique(hash, place, |&place| hasher.hash_one(&slots[place as usize].key));
        true
    }
}
