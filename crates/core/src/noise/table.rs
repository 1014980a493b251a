//! Exact draws from a table: one random word, one look-up, one comparison.

use std::fmt;
use std::ops::Range;

use dashu_int::UBig;
use rand_core::Rng;

use super::bernoulli::{Prefix, is_below};
use super::bits::{BitSource, always};
use crate::exact::enclosure::Enclosure;

/// A law on whole numbers: a window of values whose probabilities are tabulated, and a tail outside it.
///
/// The tail's mass must be below 2 units of 2^−W, W being the table's word width.
pub(crate) trait Law {
    /// The tabulated values.
    fn window(&self) -> Range<i32>;

    /// For each value of the window a whole number Q with Q ≤ 2^width·P(value) < Q + 2.
    fn weights(&self, width: u32) -> Vec<u64>;

    /// P(value), enclosed at any precision.
    fn mass(&self, value: i32, bits: usize) -> Enclosure;

    /// P(outside the window), enclosed at any precision.
    fn tail(&self, bits: usize) -> Enclosure;
}

/// Draws from a [`Law`] with words of W random bits.
///
/// # Algorithm
/// With P(v) the exact probability and Q(v) ≤ 2^W·P(v) a whole number just below it,
///
/// P(v) = Q(v)/2^W + (R/2^W)·r(v)/R, where r(v) = 2^W·P(v) − Q(v) ∈ [0, 2) and R = 2^W − ΣQ = Σr (the tail included,
/// with Q = 0).
///
/// The first part has whole-number weights, so Walker's alias method \[W77, V91\] draws from it exactly: the word's
/// leading bits choose a cell, the rest is compared with the cell's threshold. With weight R (a few hundred units of
/// 2^−64) the outcome is *rare*, and then the second part is drawn by rejection: a value of the window or the tail,
/// each equally likely, accepted with probability r/2, a comparison whose bits are computed as far as needed.
///
/// Unless the outcome is rare, every draw reads the same number of bits and does the same operations, whatever the value.
#[derive(Debug, Clone)]
pub(crate) struct Table<L, const W: u32, const N: usize> {
    alias: Alias<W, N>,
    law: L,
    weights: Box<[u64]>,
}

impl<L: Law, const N: usize> Table<L, 64, N> {
    /// A draw for each element, over blocks that stay in the cache; `beyond` draws what lies in the tail.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, values: &mut [i64], beyond: impl Fn(&mut R) -> i64) {
        /// Stands for "rare" until the block is done: no value of a window is this small.
        const OPEN: i64 = i64::MIN;
        let mut bytes = [0; 8 * BLOCK];
        for block in values.chunks_mut(BLOCK) {
            let bytes = &mut bytes[..8 * block.len()];
            rng.fill_bytes(bytes);
            let mut is_open = false;
            for (value, word) in block.iter_mut().zip(words(bytes)) {
                let outcome = self.look_up(word);
                is_open |= outcome.is_none();
                *value = outcome.map_or(OPEN, i64::from);
            }
            if is_open {
                for value in block.iter_mut().filter(|value| **value == OPEN) {
                    *value = always(self.sample_rare(rng)).map_or_else(|| beyond(rng), i64::from);
                }
            }
        }
    }
}

/// Draws made between two refills of a buffer of random bytes.
pub(crate) const BLOCK: usize = 256;

/// The words of a block of random bytes.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")))
}

/// Walker's alias table over whole-number weights that sum to 2^W: every value owns exactly its weight in words, and all
/// remaining words are rare.
///
/// With N = 2^m cells a word is m bits of cell number followed by W−m bits of rest. A cell is one 64-bit number: a
/// threshold of W−m bits followed by the m-bit number of the other outcome. A rest below the threshold means the
/// outcome of the cell's own number. Eight bytes per cell keep the tables of a draw in the first-level cache.
#[derive(Clone)]
pub(crate) struct Alias<const W: u32, const N: usize> {
    cells: Box<[u64; N]>,
    first: i32,
    /// Outcomes from this number on are rare.
    values: u64,
}

/// Printing a thousand numbers would be useless.
impl<const W: u32, const N: usize> fmt::Debug for Alias<W, N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Alias({} values from {})", self.values, self.first)
    }
}

impl<const W: u32, const N: usize> Alias<W, N> {
    /// m
    const INDEX_BITS: u32 = N.ilog2();

    /// The values from `first` on with their weights, by Vose's construction; every step is exact.
    pub fn new(first: i32, weights: &[u64]) -> Self {
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let rare = (1u128 << W) - total;
        let mut left: Vec<u128> = weights.iter().map(|&weight| weight.into()).chain([rare]).collect();
        assert!(N.is_power_of_two() && left.len() <= N, "the outcomes must fit the cells");
        left.resize(N, 0);
        let capacity = 1u128 << (W - Self::INDEX_BITS);
        let cell = |threshold: u128, other: usize| (threshold as u64) << Self::INDEX_BITS | other as u64;
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..N).partition(|&index| left[index] < capacity);
        // A cell that is all its own has threshold 0 and itself as the other outcome.
        let mut cells = Box::new(std::array::from_fn(|index| cell(0, index)));
        while let (Some(&donor), Some(taker)) = (large.last(), small.pop()) {
            cells[taker] = cell(left[taker], donor);
            left[donor] -= capacity - left[taker];
            if left[donor] < capacity {
                large.pop();
                small.push(donor);
            }
        }
        debug_assert!(small.is_empty() && large.iter().all(|&index| left[index] == capacity));
        Self { cells, first, values: weights.len() as u64 }
    }

    /// The outcome of one word: a value, or `None` if it is rare.
    #[inline]
    pub fn look_up(&self, word: u64) -> Option<i32> {
        self.look_up_by(word, |rest, threshold| rest < threshold)
    }

    /// [`Alias::look_up`] with the comparison as a parameter, so that a test can show that a wrong one is detected.
    #[inline]
    fn look_up_by(&self, word: u64, is_own: impl Fn(u64, u64) -> bool) -> Option<i32> {
        let own = word >> (W - Self::INDEX_BITS) & (N as u64 - 1);
        let cell = self.cells[own as usize];
        let other_mask = N as u64 - 1;
        // Both sides as W−m bits of rest or threshold above m bits of zeros.
        let rest = word << Self::INDEX_BITS << (64 - W) >> (64 - W);
        let outcome = if is_own(rest, cell & !other_mask) { own } else { cell & other_mask };
        (outcome < self.values).then_some(self.first.wrapping_add(outcome as i32))
    }
}

impl<L: Law, const W: u32, const N: usize> Table<L, W, N> {
    pub fn new(law: L) -> Self {
        let weights = law.weights(W);
        Self { alias: Alias::new(law.window().start, &weights), law, weights: weights.into() }
    }

    /// The law that it draws from.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The outcome of one word: a value of the window, or `None` if it is rare.
    #[inline]
    pub fn look_up(&self, word: u64) -> Option<i32> {
        self.alias.look_up(word)
    }

    /// A value of the window, or `None` if it lies in the tail.
    #[inline]
    pub fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<i32>, B::Error> {
        match self.look_up(source.bits(W)?) {
            Some(value) => Ok(Some(value)),
            None => self.sample_rare(source),
        }
    }

    /// A draw given that the word said "rare".
    #[cold]
    pub fn sample_rare<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<i32>, B::Error> {
        loop {
            if let Some(outcome) = self.rare_round(source)? {
                return Ok(outcome);
            }
        }
    }

    /// One round of rejection: each value of the window, and the tail, comes out with probability r/2^(w+1), where 2^w is
    /// the number of places among which the round chooses; `None` if the round rejects.
    fn rare_round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<Option<i32>>, B::Error> {
        let index = source.bits(self.places())? as usize;
        if index > self.weights.len() {
            return Ok(None);
        }
        let (value, weight) = match self.weights.get(index) {
            Some(&weight) => (Some(self.law.window().start + index as i32), weight),
            None => (None, 0),
        };
        // r/2 = (2^W·P − Q)/2 at precision b is (2^(W+b)·P − 2^b·Q)/2.
        let half_of_rest = |bits: usize| {
            let precision = bits + W as usize;
            let mass = match value {
                Some(value) => self.law.mass(value, precision),
                None => self.law.tail(precision),
            };
            let known: UBig = UBig::from(weight) << bits;
            mass.minus(&Enclosure { lo: known.clone(), hi: known }).coarsen(1, 0)
        };
        let accepted = is_below(Prefix::empty(), source, half_of_rest)?;
        Ok(accepted.then_some(value))
    }

    /// w, with 2^w places for the window and the tail.
    fn places(&self) -> u32 {
        (self.weights.len() + 1).next_power_of_two().ilog2().max(1)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::exact::Rational;

    /// Proves that a table draws from its law: each value owns exactly Q words, and the rare words are distributed in
    /// proportion to r, as far as `depth` bits resolve. The two together are P, as derived above.
    pub(crate) fn assert_exact<L: Law, const W: u32, const N: usize>(
        table: &Table<L, W, N>,
        depth: usize,
        most_unresolved: f64,
    ) {
        const PRECISION: usize = 64;
        let mut owned: std::collections::BTreeMap<Option<i32>, u64> = Default::default();
        for word in 0..1u64 << W {
            *owned.entry(table.look_up(word)).or_default() += 1;
        }
        let law = enumerate(depth, |tape| table.rare_round(tape));
        assert!(law.unresolved().to_f64() <= most_unresolved, "unresolved: {}", law.unresolved().to_f64());
        let mut total = Enclosure { lo: UBig::ZERO, hi: UBig::ZERO };
        for value in table.law.window().map(Some).chain([None]) {
            let words = value.map_or(0, |_| owned.get(&value).copied().unwrap_or(0));
            let exact = match value {
                Some(value) => table.law.mass(value, PRECISION + W as usize),
                None => table.law.tail(PRECISION + W as usize),
            };
            total = total.add(&exact);
            let known: UBig = UBig::from(words) << PRECISION;
            assert!(known <= exact.hi, "{value:?} owns more words than its probability");
            let rest = exact.minus(&Enclosure { lo: known.clone(), hi: known });
            // r/2^(w+1): the same integers at a precision that is w + 1 bits finer.
            let precision = PRECISION + table.places() as usize + 1;
            assert!(law.admits_enclosure(&Some(value), &rest, precision), "{value:?}: {:?}", law.mass(&Some(value)));
        }
        let one = UBig::ONE << (PRECISION + W as usize);
        assert!(total.lo <= one && one <= total.hi, "the masses do not add up to 1");
    }

    /// 1/3, 2/3 − 1/1000 and, in the tail, 1/1000: no probability is a multiple of 2^−10.
    #[derive(Debug, Clone)]
    struct Thirds {
        /// Added to the tail, to show that the checks detect it.
        wrong_by: Rational,
    }

    impl Law for Thirds {
        fn window(&self) -> Range<i32> {
            0..2
        }

        fn weights(&self, width: u32) -> Vec<u64> {
            (0..2).map(|value| u64::try_from(&self.mass(value, width as usize).lo).unwrap()).collect()
        }

        fn mass(&self, value: i32, bits: usize) -> Enclosure {
            let exact = if value == 0 { Rational::new(1, 3) } else { Rational::new(1997, 3000) };
            Enclosure::rational(&exact.unwrap(), bits)
        }

        fn tail(&self, bits: usize) -> Enclosure {
            Enclosure::rational(&(&Rational::new(1, 1000).unwrap() + &self.wrong_by), bits)
        }
    }

    #[test]
    fn masses_that_no_word_can_hold_are_met_exactly() {
        assert_exact(&Table::<_, 10, 4>::new(Thirds { wrong_by: Rational::ZERO }), 18, 1e-3);
    }

    #[test]
    #[should_panic(expected = "the masses do not add up to 1")]
    fn a_tail_that_does_not_add_up_is_seen() {
        assert_exact(&Table::<_, 10, 4>::new(Thirds { wrong_by: Rational::new(1, 100_000).unwrap() }), 18, 1e-3);
    }

    #[test]
    fn the_alias_table_keeps_every_unit_of_weight() {
        let weights = [5, 1, 0, 248, 0, 0];
        let alias = Alias::<8, 8>::new(0, &weights);
        let owned = |look_up: &dyn Fn(u64) -> Option<i32>| {
            let mut owned = [0; 6];
            (0..256).filter_map(look_up).for_each(|value| owned[value as usize] += 1);
            owned
        };
        assert_eq!(owned(&|word| alias.look_up(word)), weights);
        let mutant = |word| alias.look_up_by(word, |rest, threshold| rest <= threshold);
        assert_ne!(owned(&mutant), weights, "≤ for < gives some value a word too many, and that is seen");
    }
}
