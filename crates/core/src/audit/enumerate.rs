//! The exact law of a sampler, by enumerating every branch.

use std::collections::BTreeMap;

use dashu_int::UBig;

use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::noise::bits::BitSource;

/// The bits ran out before the sampler finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfBits;

/// A finite tape of bits that a sampler reads from the left.
#[derive(Debug)]
pub(crate) struct Tape<'bits> {
    bits: &'bits [bool],
    read: usize,
    /// How many bits the sampler requested beyond the end.
    missing: usize,
}

impl BitSource for Tape<'_> {
    type Error = OutOfBits;

    fn bits(&mut self, count: u32) -> Result<u64, OutOfBits> {
        let end = self.read + count as usize;
        if end > self.bits.len() {
            self.missing = end - self.bits.len();
            return Err(OutOfBits);
        }
        let word = self.bits[self.read..end].iter().fold(0, |word, &bit| word << 1 | u64::from(bit));
        self.read = end;
        Ok(word)
    }
}

/// The proved behaviour of a sampler: each outcome's mass from the branches that end, and the mass of those that do not
/// end within the tape.
#[derive(Debug)]
pub(crate) struct Law<T> {
    masses: BTreeMap<T, Rational>,
    unresolved: Rational,
}

impl<T: Ord> Law<T> {
    pub fn outcomes(&self) -> impl Iterator<Item = &T> {
        self.masses.keys()
    }

    pub fn mass(&self, outcome: &T) -> Rational {
        self.masses.get(outcome).cloned().unwrap_or(Rational::ZERO)
    }

    pub fn unresolved(&self) -> &Rational {
        &self.unresolved
    }

    /// enumerated ≤ exact ≤ enumerated + unresolved
    pub fn admits(&self, outcome: &T, exact: &Rational) -> bool {
        let mass = self.mass(outcome);
        mass <= *exact && *exact <= mass + self.unresolved.clone()
    }

    /// [`Law::admits`] for a real number known by its enclosure.
    pub fn admits_enclosure(&self, outcome: &T, exact: &Enclosure, bits: usize) -> bool {
        let real = |bound: &UBig| Rational::from_big(bound.clone(), UBig::ONE << bits);
        let mass = self.mass(outcome);
        mass <= real(&exact.hi) && real(&exact.lo) <= mass + self.unresolved.clone()
    }
}

/// Runs the sampler on every tape of up to `depth` bits. A branch that asks for n bits beyond its tape is split into 2^n
/// branches; one that would need more than `depth` bits is counted as unresolved.
pub(crate) fn enumerate<T: Ord>(depth: usize, sampler: impl Fn(&mut Tape<'_>) -> Result<T, OutOfBits>) -> Law<T> {
    let mut counts: BTreeMap<T, UBig> = BTreeMap::new();
    let mut unresolved = UBig::ZERO;
    let mut open: Vec<Vec<bool>> = vec![Vec::new()];
    while let Some(bits) = open.pop() {
        let mut tape = Tape { bits: &bits, read: 0, missing: 0 };
        // In units of 2^−depth.
        let weight = UBig::ONE << (depth - bits.len());
        match sampler(&mut tape) {
            Ok(outcome) => {
                assert_eq!(tape.read, bits.len(), "a sampler must not depend on anything but its bits");
                *counts.entry(outcome).or_insert(UBig::ZERO) += weight;
            }
            Err(OutOfBits) => {
                let missing = tape.missing;
                if bits.len() + missing > depth {
                    unresolved += weight;
                    continue;
                }
                for word in 0..1u64 << missing {
                    let more = (0..missing).rev().map(|place| word >> place & 1 == 1);
                    open.push(bits.iter().copied().chain(more).collect());
                }
            }
        }
    }
    let real = |count: UBig| Rational::from_big(count, UBig::ONE << depth);
    Law {
        masses: counts.into_iter().map(|(outcome, count)| (outcome, real(count))).collect(),
        unresolved: real(unresolved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_fair_coins() {
        let law = enumerate(4, |tape| Ok(tape.bits(1)? + tape.bits(1)?));
        assert_eq!(law.mass(&1), "0.5".parse().unwrap());
        assert!(law.unresolved().is_zero());
    }

    #[test]
    fn a_wrong_sampler_is_seen() {
        // Counts heads before the first tail, but the first toss is read twice.
        let law = enumerate(12, |tape| {
            let first = tape.bits(1)?;
            let mut heads = first + first;
            while tape.bits(1)? == 1 {
                heads += 1;
            }
            Ok(heads)
        });
        assert!(!law.admits(&1, &"0.25".parse().unwrap()));
    }
}
