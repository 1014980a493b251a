//! Which groups and rows of a unit count.

use std::fmt;

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use siphasher::{sip, sip128};

/// The key under which a unit's groups and rows are chosen.
///
/// Draw a fresh one for every release, from the generator of the release's permit. The same key makes the same choice, which
/// is why tests seed the generator. The key travels with a [`Job`](crate::Job) that runs elsewhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceKey([u8; 32]);

impl ChoiceKey {
    /// A secret that was drawn at random, as [`Permit::secret`](reticent::Permit::secret) does.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// A random key.
    pub fn draw<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }
}

impl fmt::Debug for ChoiceKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ChoiceKey(…)")
    }
}

/// Gives every group of a unit, and every row in it, a place in a random order that depends on the key alone.
///
/// # Privacy
/// Privacy does not rest on it: see the [crate's page](crate). It makes the choice unpredictable and uniform.
/// SipHash-1-3 (AB12) is a keyed function made for this purpose (Rust's own maps use it against attackers who choose what is
/// hashed); no way is known to tell its output from random without the 128-bit key, and its outputs are not published.
///
/// # Algorithm
/// A group's key and a unit of variable length are first shortened to 128 bits under one half of the key. The place of group g
/// of unit u is h(u, g) under the other half, and that of the j-th of the unit's rows in g, in ascending order of what is
/// kept of them, is h(u, g, j). The smallest places count. Ties are broken by the shortened keys.
#[derive(Clone)]
pub(crate) struct Chooser {
    shorten: sip128::SipHasher13,
    place: sip::SipHasher13,
}

impl Chooser {
    pub fn new(key: &ChoiceKey) -> Self {
        let half = |from: usize| <[u8; 16]>::try_from(&key.0[from..from + 16]).expect("half of the key");
        Self { shorten: sip128::SipHasher13::new_with_key(&half(0)), place: sip::SipHasher13::new_with_key(&half(16)) }
    }

    /// 128 bits for a key or a unit.
    pub fn shorten(&self, bytes: &[u8]) -> u128 {
        self.shorten.hash(bytes).as_u128()
    }

    /// An unpredictable seed for hash tables.
    pub fn table_seed(&self) -> u64 {
        self.shorten(b"table") as u64
    }

    /// The place of a group among the unit's groups.
    #[inline]
    pub fn place_of_group(&self, unit: u128, group: u128) -> u64 {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&unit.to_le_bytes());
        bytes[16..].copy_from_slice(&group.to_le_bytes());
        self.place.hash(&bytes)
    }

    /// The place of a row among the unit's rows in the group.
    #[inline]
    pub fn place_of_row(&self, unit: u128, group: u128, row: u64) -> u64 {
        let mut bytes = [0; 40];
        bytes[..16].copy_from_slice(&unit.to_le_bytes());
        bytes[16..32].copy_from_slice(&group.to_le_bytes());
        bytes[32..].copy_from_slice(&row.to_le_bytes());
        self.place.hash(&bytes)
    }
}
