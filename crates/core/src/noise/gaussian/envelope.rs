//! The proposal of rejection in blocks: whole-number weights above a Gaussian curve.

use dashu_int::UBig;

use super::powers;
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg, multiply_high};
use crate::noise::table::Alias;

/// Blocks v = 0, 1, … and their mirror images, each with a weight Q(v) ≥ κ·f(vB), f(x) = e^−ax², and a tail of weight Q_t
/// on each side; 2·ΣQ(v) + 2·Q_t ≤ 2^W.
#[derive(Debug, Clone)]
pub(super) struct Envelope<const W: u32, const N: usize> {
    /// Draws blocks: v, or !v for a mirror image.
    pub alias: Alias<W, N>,
    /// Q(v)
    pub weights: Box<[u64]>,
    /// κ·f(vB)/Q(v) in units of 2^−64, rounded down.
    pub heights: Box<[u64]>,
    /// κ
    pub kappa: u64,
    /// Q_t
    pub tail_weight: u64,
    /// Words that belong to no block.
    pub rare: u128,
}

impl<const W: u32, const N: usize> Envelope<W, N> {
    /// For the rate a and `count` blocks of width B = 2^`place_bits`.
    pub fn new(rate: &Rational, count: usize, place_bits: u32) -> Self {
        let width = Rational::from(1i64 << place_bits);
        // f(vB) with 128 fractional bits, rounded down, and their rounded-up sum with 64.
        let powers = powers::of_squares(&(rate * &width.square()), count);
        let above = |power: u128| (power >> 64) + 1;
        let sum: u128 = powers.iter().map(|&power| 2 * above(power)).sum();

        let words = UBig::ONE << W as usize;
        let most_kappa = (&words << 64) / UBig::from(sum);
        let tail_weight = tail_weight(rate, count as i64, place_bits, &most_kappa);
        let spare = UBig::from(2 * count as u64 + 2 * tail_weight);
        let kappa = u64::try_from(&(((words - spare) << 64) / UBig::from(sum))).expect("the sum is at least 2");

        let weights: Box<[u64]> =
            powers.iter().map(|&power| ((u128::from(kappa) * above(power) - 1) >> 64) as u64 + 1).collect();
        let height = |(&power, &weight): (&u128, &u64)| {
            let scaled = multiply_high(power, u128::from(kappa) << 64);
            u64::try_from(scaled / u128::from(weight)).unwrap_or(u64::MAX)
        };
        let heights = powers.iter().zip(&weights).map(height).collect();
        let both_sides: Vec<u64> = weights.iter().rev().chain(&weights).copied().collect();
        let rare = (1u128 << W) - both_sides.iter().map(|&weight| u128::from(weight)).sum::<u128>();
        let alias = Alias::new(-(count as i32), &both_sides);
        Self { alias, weights, heights, kappa, tail_weight, rare }
    }

    /// κ·x over a whole number, enclosed; `x` has the given precision.
    pub fn scaled(&self, x: &Enclosure, over: &UBig, precision: usize, bits: usize) -> Enclosure {
        let scaled = Enclosure { lo: &x.lo * self.kappa / over, hi: &x.hi * self.kappa / over + 1u8 };
        scaled.coarsen(precision, bits)
    }
}

/// Q_t ≥ κ·f(M)/(B·(1−e^−2aM)) at M = nB, for every κ up to `most_kappa`; at M = nB + 1 it is smaller.
fn tail_weight(rate: &Rational, count: i64, place_bits: u32, most_kappa: &UBig) -> u64 {
    const BITS: usize = 256;
    let start = Rational::from(count << place_bits);
    let first = exp_neg(&(rate * &start.square()), BITS);
    let ratio = exp_neg(&(rate * &(start * Rational::from(2))), BITS);
    let sum = first.over(&Enclosure::one(BITS).minus(&ratio), BITS);
    let weight: UBig = (sum.hi * most_kappa) >> (BITS + place_bits as usize);
    u64::try_from(&weight).expect("the tail is light") + 1
}
