//! The choice of which groups and rows of a unit are kept.

use std::fmt;
use std::hash::Hasher;

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use siphasher::{sip, sip128};

/// The key for choosing a unit's groups and rows.
///
/// Draw a fresh one for every release, from the generator of the release's permit. The same key makes the same choice,
/// which is why tests seed the generator. The key travels with a [`Job`](crate::Job) that runs elsewhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceKey([u8; 32]);

impl ChoiceKey {
    /// Wraps a secret that was drawn at random, as by [`Permit::secret`](reticent::Permit::secret).
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Draws a random key.
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

/// Ranks the groups of a unit, and the rows in each, in a random order that depends on the key.
///
/// # Privacy
/// Privacy does not depend on it: see the [crate documentation](crate). It makes the choice unpredictable and uniform.
/// SipHash-1-3 (AB12) is a keyed function designed for this purpose (Rust's own maps use it against attackers who
/// choose the inputs); no method is known to distinguish its output from random without the 128-bit key, and its
/// outputs are not published.
///
/// # Algorithm
/// A group's key and a unit of variable length are first shortened to 128 bits under one half of the key. The rank of
/// group g of unit u is h(u, g) under the other half, and that of the j-th of the unit's rows in g, in ascending order
/// of their features, is h(u, g, j). The smallest ranks are kept. Ties are broken by the shortened keys.
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

    /// Shortens a key or a unit to 128 bits.
    pub fn shorten(&self, bytes: &[u8]) -> u128 {
        self.shorten.hash(bytes).as_u128()
    }

    /// An unpredictable seed for hash tables.
    pub fn table_seed(&self) -> u64 {
        self.shorten(b"table") as u64
    }

    /// Ranks the groups of a unit.
    pub fn of_unit(&self, unit: u128) -> Ranks {
        Ranks(self.place).within(unit)
    }
}

/// Ranks the groups of a unit, or the rows of a group. What all of them have in common is hashed once.
#[derive(Clone, Copy)]
pub(crate) struct Ranks(sip::SipHasher13);

impl Ranks {
    /// The rank of a group among the unit's groups.
    #[inline]
    pub fn of_group(&self, group: u128) -> u64 {
        self.0.hash(&group.to_le_bytes())
    }

    /// Ranks the unit's rows in a group.
    pub fn of_rows_in(&self, group: u128) -> Self {
        self.within(group)
    }

    /// The rank of a row among the unit's rows in the group.
    #[inline]
    pub fn of_row(&self, row: u64) -> u64 {
        self.0.hash(&row.to_le_bytes())
    }

    fn within(mut self, name: u128) -> Self {
        self.0.write(&name.to_le_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_hashes_of_the_unit_the_group_and_the_row() {
        let chooser = Chooser::new(&ChoiceKey::new([7; 32]));
        let (unit, group, row) = (u128::MAX - 5, 1_u128 << 77, 3_u64);
        let bytes = [&unit.to_le_bytes()[..], &group.to_le_bytes(), &row.to_le_bytes()].concat();
        let hash = |length: usize| chooser.place.hash(&bytes[..length]);
        let ranks = chooser.of_unit(unit);
        assert_eq!((ranks.of_group(group), ranks.of_rows_in(group).of_row(row)), (hash(32), hash(40)));
    }
}
