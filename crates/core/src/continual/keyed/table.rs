//! Where events of the open step are added up by key.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The keys in order of arrival, each with the sum of its events in the open step, found by hash.
///
/// A key's sum is stored next to a copy of the key in the table itself: with a million keys an event costs one cache
/// miss, not three.
#[derive(Debug)]
pub(super) struct KeyTable<K> {
    hasher: RandomState,
    entries: HashTable<Entry<K>>,
    keys: Vec<K>,
}

/// A key, its number, and its pending sum since the last step was closed.
#[derive(Debug)]
pub(super) struct Entry<K> {
    /// Up to 2^64 values of 64 bits: it cannot overflow.
    pending: i128,
    key: K,
    place: u32,
    /// Part of the hash: distinguishes most other keys without a look at them, which for text are stored elsewhere.
    tag: u32,
}

/// Events that are looked up together, so that they wait for memory at the same time.
const BATCH: usize = 32;

/// The bits of the hash that the table itself uses least.
fn tag(hash: u64) -> u32 {
    (hash >> 25) as u32
}

impl<K: Hash + Eq + Clone> KeyTable<K> {
    pub fn with_capacity(keys: usize) -> Self {
        let hasher = RandomState::default();
        Self { hasher, entries: HashTable::with_capacity(keys), keys: Vec::with_capacity(keys) }
    }

    /// All keys, by index.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// A key's index.
    pub fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let entry = self.entries.find(hash, |entry| entry.tag == tag(hash) && entry.key.borrow() == key)?;
        Some(entry.place as usize)
    }

    /// Adds to a key's sum; `false` if the key is not in the table.
    #[inline]
    pub fn add<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, value: i128) -> bool
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let entry = self.entries.find_mut(hash, |entry| entry.tag == tag(hash) && entry.key.borrow() == key);
        entry.map(|entry| entry.pending += value).is_some()
    }

    /// [`KeyTable::add`] for many; keys not in the table are passed to `missing`, which may insert them.
    pub fn add_all<Q: Hash + Eq + ?Sized>(
        &mut self,
        events: &[(&Q, i64)],
        value: impl Fn(i64) -> i128,
        mut missing: impl FnMut(&mut Self, &Q, i128),
    ) where
        K: Borrow<Q>,
    {
        for batch in events.chunks(BATCH) {
            let mut buckets = [usize::MAX; BATCH];
            for (bucket, (key, _)) in buckets.iter_mut().zip(batch) {
                let hash = self.hasher.hash_one(*key);
                *bucket = self.entries.find_bucket_index(hash, |entry| entry.tag == tag(hash)).unwrap_or(usize::MAX);
            }
            for (&bucket, &(key, given)) in buckets.iter().zip(batch) {
                // A bucket is only a guess: the tag may belong to another key, or the table may have grown since.
                let value = value(given);
                if let Some(entry) = self.entries.get_bucket_mut(bucket)
                    && entry.key.borrow() == key
                {
                    entry.pending += value;
                } else if !self.add(key, value) {
                    missing(self, key, value);
                }
            }
        }
    }

    /// Appends a key; `false` if it is already there.
    pub fn insert(&mut self, key: K, pending: i128) -> bool {
        let hash = self.hasher.hash_one(&key);
        if self.entries.find(hash, |entry| entry.key == key).is_some() {
            return false;
        }
        let place = u32::try_from(self.keys.len()).expect("the counters of 2^32 keys do not fit in any memory");
        self.keys.push(key.clone());
        let hasher = &self.hasher;
        self.entries
            .insert_unique(hash, Entry { pending, key, place, tag: tag(hash) }, |entry| hasher.hash_one(&entry.key));
        true
    }

    /// Takes every key's sum and leaves 0.
    pub fn take_pending(&mut self, mut taken: impl FnMut(usize, i128)) {
        for entry in self.entries.iter_mut() {
            taken(entry.place as usize, std::mem::take(&mut entry.pending));
        }
    }

    /// The sums by index.
    pub fn pending(&self) -> Vec<i128> {
        let mut pending = vec![0; self.keys.len()];
        for entry in &self.entries {
            pending[entry.place as usize] = entry.pending;
        }
        pending
    }
}
