//! A cache of computed values.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A law and a probability.
type Key = (u64, u64, u64);

/// Keys are few and not chosen by an adversary to collide: one multiplication per word is enough.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, word: u64) {
        // The odd number nearest to 2^64 over the golden ratio.
        let mixed = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The maximum number of values kept by each thread: at most 2 MiB.
const MOST: usize = 1 << 15;

/// By key.
type Values = HashMap<Key, f64, BuildHasherDefault<Mix>>;

thread_local! {
    /// Each thread has its own, so that no release waits for another.
    static VALUES: RefCell<Values> = RefCell::default();
}

/// The value of a key, computed on first use.
#[inline]
pub fn get(key: Key, compute: impl FnOnce() -> f64) -> f64 {
    if let Some(value) = VALUES.with_borrow(|values| values.get(&key).copied()) {
        return value;
    }
    let value = compute();
    VALUES.with_borrow_mut(|values| {
        if values.len() >= MOST {
            values.clear();
        }
        values.insert(key, value);
    });
    value
}
