//! Discrete Gaussian noise of any width, by rejection in blocks.
//!
//! # Algorithm
//! Write f(m) = e^−am², a = 1/(2σ²), and cut the whole numbers into blocks of B = 2^b: block v ≥ 0 holds vB + l, its mirror
//! image holds −(vB + l + 1), 0 ≤ l < B. All of block v and of its mirror image satisfies f ≤ f(vB).
//!
//! Choose a whole number κ and whole-number weights Q(v) ≥ κ·f(vB) with 2·ΣQ(v) + 2·Q_t ≤ 2^W. One round draws
//! - a block (or mirror image) v < n with probability Q(v)/2^W, a place l in it with probability 1/B, and accepts the number
//!   of magnitude m with probability κ·f(m)/Q(v): together κ·f(m)/(B·2^W);
//! - with probability Q_t/2^W for each sign, the tail from magnitude M = nB (or nB + 1) on: g geometric with ratio e^−2aM,
//!   accepted with probability κ·f(M)·e^−ag²/(B·Q_t·(1−e^−2aM)): together κ·f(M+g)/(B·2^W).
//!
//! Every number has the same factor κ/(B·2^W) in front of f, so what a round accepts has exactly the discrete Gaussian
//! law, whatever κ and the weights are; they only decide how often a round accepts. Rounds are independent and
//! identically distributed, so their number reveals nothing about the value.

use dashu_int::UBig;
use rand_core::Rng;

use super::powers;
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg, multiply_high};
use crate::noise::bernoulli::{Prefix, is_below};
use crate::noise::bits::{BitSource, always};
use crate::noise::digits::{Digits, Sides};
use crate::noise::table::{Alias, BLOCK, words};
use crate::noise::uniform::below_wide;

#[derive(Debug, Clone)]
pub(super) struct Blocks<const W: u32, const N: usize> {
    alias: Alias<W, N>,
    /// Q(v)
    weights: Box<[u64]>,
    /// Data for the quick toss in each block.
    slopes: Box<[Slope]>,
    /// a = 1/(2σ²)
    rate: Rational,
    /// b
    place_bits: u32,
    /// κ
    kappa: u64,
    /// Q_t
    tail_weight: u64,
    /// Words that belong to no block.
    rare: u128,
    /// 4aB² in units of 2^−64.
    curve: u64,
}

/// The acceptance at the start of a block and its slope; in units of 2^−64, rounded down.
#[derive(Debug, Clone, Copy)]
struct Slope {
    /// κ·f(vB)/Q(v)
    height: u64,
    /// 4aB²·v
    slope: u64,
}

impl<const W: u32, const N: usize> Blocks<W, N> {
    /// For σ from 52 on, where blocks are narrow.
    pub fn new(sigma_squared: &Rational) -> Self {
        let rate = (sigma_squared * &Rational::from(2)).recip().expect("σ² is positive");
        let (place_bits, count) = layout(sigma_squared.to_f64(), N, W);
        let width = Rational::from(1i64 << place_bits);
        // f(vB) with 128 fractional bits, rounded down, and their rounded-up sum with 64.
        let powers = powers::of_squares(&(&rate * &width.square()), count);
        let above = |power: u128| (power >> 64) + 1;
        let sum: u128 = powers.iter().map(|&power| 2 * above(power)).sum();

        let words = UBig::ONE << W as usize;
        let most_kappa = (&words << 64) / UBig::from(sum);
        let tail_weight = tail_weight(&rate, count as i64, place_bits, &most_kappa);
        let spare = UBig::from(2 * count as u64 + 2 * tail_weight);
        let kappa = u64::try_from(&(((words - spare) << 64) / UBig::from(sum))).expect("the sum is at least 2");

        let curve = Enclosure::rational(&(&rate * &width.square() * Rational::from(4)), 128);
        // It fits below 1 whenever B < σ/√2, as in all layouts that toss quickly.
        let curve = u128::try_from(&curve.lo).unwrap_or(u128::MAX);
        let weights: Box<[u64]> =
            powers.iter().map(|&power| ((u128::from(kappa) * above(power) - 1) >> 64) as u64 + 1).collect();
        let slope = |(v, (&power, &weight)): (usize, (&u128, &u64))| {
            let scaled = multiply_high(power, u128::from(kappa) << 64);
            let height = u64::try_from(scaled / u128::from(weight)).unwrap_or(u64::MAX);
            Slope { height, slope: (curve.saturating_mul(v as u128) >> 64) as u64 }
        };
        let slopes = powers.iter().zip(&weights).enumerate().map(slope).collect();
        let both_sides: Vec<u64> = weights.iter().rev().chain(&weights).copied().collect();
        let rare = (1u128 << W) - both_sides.iter().map(|&weight| u128::from(weight)).sum::<u128>();
        let alias = Alias::new(-(count as i32), &both_sides);
        Self { alias, weights, slopes, rate, place_bits, kappa, tail_weight, rare, curve: (curve >> 64) as u64 }
    }

    #[inline]
    pub fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        loop {
            if let Some(value) = self.round(source)? {
                return Ok(value);
            }
        }
    }

    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        debug_assert_eq!(W, 64);
        let mut bytes = [0; 16 * BLOCK];
        let mut filled = 0;
        while filled < values.len() {
            let rounds = BLOCK.min(values.len() - filled);
            if !self.shares_a_word() {
                values[filled] = always(self.sample(rng));
                filled += 1;
                continue;
            }
            let bytes = &mut bytes[..16 * rounds];
            rng.fill_bytes(bytes);
            let (first, second) = bytes.split_at(8 * rounds);
            for (word, shared) in words(first).zip(words(second)) {
                let outcome = match self.alias.look_up(word) {
                    Some(block) => always(self.settle(block, self.split(shared), rng)),
                    None => always(self.rare_round(rng)),
                };
                if let Some(value) = outcome {
                    values[filled] = value;
                    filled += 1;
                }
            }
        }
    }

    /// One round; `None` if it rejects.
    #[inline]
    fn round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<i64>, B::Error> {
        let Some(block) = self.alias.look_up(source.bits(W)?) else {
            return self.rare_round(source);
        };
        let within = if self.shares_a_word() {
            self.split(source.bits(W)?)
        } else {
            Within { place: source.bits(self.place_bits)?, known: source.bits(W)?, known_bits: W }
        };
        self.settle(block, within, source)
    }

    /// Is a word long enough for the place and for most tosses?
    #[inline]
    fn shares_a_word(&self) -> bool {
        self.place_bits <= W * 7 / 16
    }

    /// A word's leading bits are the place; the rest begin the toss.
    #[inline]
    fn split(&self, word: u64) -> Within {
        let known_bits = W - self.place_bits;
        Within { place: word >> known_bits, known: word & ((1 << known_bits) - 1), known_bits }
    }

    /// The toss that accepts or rejects a place.
    #[inline]
    fn settle<B: BitSource + ?Sized>(
        &self,
        signed_block: i32,
        within: Within,
        source: &mut B,
    ) -> Result<Option<i64>, B::Error> {
        let sign = i64::from(signed_block >> 31);
        let v = i64::from(signed_block) ^ sign;
        // The magnitude is vB + offset.
        let offset = within.place + (sign & 1) as u64;
        let value = (v << self.place_bits | within.place as i64) ^ sign;
        let accepted = match self.quickly(&self.slopes[v as usize], offset, &within) {
            Some(accepted) => accepted,
            None => {
                let magnitude = (v << self.place_bits) + offset as i64;
                let prefix = Prefix { bits: within.known_bits as usize, value: within.known.into() };
                is_below(prefix, source, |bits| self.acceptance(magnitude, self.weights[v as usize], bits))?
            }
        };
        Ok(accepted.then_some(value))
    }

    /// The toss by 64-bit arithmetic, or `None` if it is too close to call.
    ///
    /// With A = offset/2B, x = a(offset² + 2vB·offset) = A·(4aB²v + A·4aB²), and the acceptance is height·e^−x. For x ≤ 0.36
    /// the series of e^−x up to x^5/5! is off by at most 0.36^6/6! < 2^−18. Everything else is far smaller: the products
    /// are rounded down by a unit of 2^−64 each, and the height is good to 2^−44, since a power of at least 2^−64 misses
    /// less than 2^20 units of 2^−128. The toss is left open within ±2^−17 of the threshold, once in 2^16 rounds whatever
    /// the value.
    #[inline]
    fn quickly(&self, Slope { height, slope }: &Slope, offset: u64, within: &Within) -> Option<bool> {
        /// 2^−17 in units of 2^−64.
        const DOUBT: u64 = 1 << 47;
        if W != 64 {
            return None;
        }
        let part = offset << (63 - self.place_bits);
        let x = high(part, slope + high(part, self.curve));
        let acceptance = high(*height, exp_neg_quickly(x));
        let (first, unknown_bits) = (within.known << (64 - within.known_bits), 64 - within.known_bits);
        let last = first + ((1u64 << unknown_bits) - 1);
        if last < acceptance.saturating_sub(DOUBT) {
            Some(true)
        } else if first > acceptance.saturating_add(DOUBT) {
            Some(false)
        } else {
            None
        }
    }

    /// κ·f(m)/Q(v), enclosed.
    fn acceptance(&self, magnitude: i64, weight: u64, bits: usize) -> Enclosure {
        let precision = bits + 2 * W as usize;
        let f = exp_neg(&(&self.rate * &Rational::from(magnitude).square()), precision);
        let scaled = Enclosure { lo: f.lo * self.kappa / weight, hi: f.hi * self.kappa / weight + 1u8 };
        scaled.coarsen(precision, bits)
    }

    /// A round whose word belongs to no block: the tail of either sign, or nothing.
    #[cold]
    fn rare_round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<i64>, B::Error> {
        let choice = below_wide(self.rare, source)?;
        let negative = choice >= u128::from(self.tail_weight);
        if choice >= 2 * u128::from(self.tail_weight) {
            return Ok(None);
        }
        let start = ((self.weights.len() as i64) << self.place_bits) + i64::from(negative);
        let step = &self.rate * &Rational::from(2 * start);
        let geometric = Digits::<W, N>::new(&step.recip().expect("the tail starts beyond 0"), Sides::One);
        let g = geometric.sample(source)?;
        let accepted = is_below(Prefix::empty(), source, |bits| {
            let precision = bits + 2 * W as usize;
            let exponent = &self.rate * &(Rational::from(start).square() + Rational::from(g).square());
            let above = exp_neg(&exponent, precision);
            let below = Enclosure::one(precision).minus(&exp_neg(&step, precision));
            let ratio = above.over(&below, precision);
            let places = UBig::from(self.tail_weight) << self.place_bits as usize;
            let scaled = Enclosure { lo: ratio.lo * self.kappa / &places, hi: ratio.hi * self.kappa / &places + 1u8 };
            scaled.coarsen(precision, bits)
        })?;
        let magnitude = start + g;
        Ok(accepted.then_some(if negative { -magnitude } else { magnitude }))
    }
}

/// A place within a block and the first bits of the toss that follows.
struct Within {
    place: u64,
    known: u64,
    known_bits: u32,
}

/// b and n for a σ: the narrowest blocks of which 2n fit the table, with n·B large enough that f(nB) ≈ 2^−W. (A float
/// will do: the law is exact for any choice.)
fn layout(sigma_squared: f64, cells: usize, width: u32) -> (u32, usize) {
    let reach = (2.0 * f64::from(width) * std::f64::consts::LN_2 * sigma_squared).sqrt();
    let most = cells / 2 - 1;
    (1..)
        .map(|place_bits| (place_bits, (reach / (1u64 << place_bits) as f64).ceil() as usize))
        .find(|&(_, count)| count <= most)
        .map(|(place_bits, count)| (place_bits, count.max(1)))
        .expect("σ is at most 2^50")
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

/// ⌊a·b/2^64⌋
#[inline]
fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// e^−x for x ≤ 0.36 in units of 2^−64: 1 − x(1 − x(1/2! − x(1/3! − x(1/4! − x/5!)))).
#[inline]
fn exp_neg_quickly(x: u64) -> u64 {
    /// 1/k! for k from 5 down to 2, rounded down.
    const INVERSE_FACTORIALS: [u64; 4] = {
        let mut inverses = [0; 4];
        let mut factorial = 1u128;
        let mut k = 2;
        while k <= 5 {
            factorial *= k;
            inverses[5 - k as usize] = ((1u128 << 64) / factorial) as u64;
            k += 1;
        }
        inverses
    };
    let [fifth, fourth, third, second] = INVERSE_FACTORIALS;
    let inner = second - high(x, third - high(x, fourth - high(x, fifth)));
    // x − x²·inner is at least 0; 1 − 0 is not representable, so the result is at most 1 − 2^−64.
    u64::MAX - (x - high(x, high(x, inner)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::noise::Entropy;
    use crate::noise::digits::CELLS;

    fn rational(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// One round yields k with probability κ·f(k)/(B·2^W), in the blocks, their mirror images and both tails. Short words
    /// bring the tail within reach.
    #[test]
    fn a_round_is_exact() {
        const W: u32 = 7;
        for sigma_squared in ["4", "2.5", "9"] {
            let blocks = Blocks::<W, 8>::new(&rational(sigma_squared));
            let law = enumerate(22, |tape| blocks.round(tape));
            let open = law.unresolved().to_f64();
            assert!(open < 0.01, "unresolved at σ² = {sigma_squared}: {open}");
            let reach = (blocks.weights.len() << blocks.place_bits) as i64 + 4;
            for k in -reach..=reach {
                let precision = 80;
                let f = exp_neg(&(&blocks.rate * &Rational::from(k).square()), precision);
                let kappa = UBig::from(blocks.kappa);
                let exact = Enclosure { lo: f.lo * &kappa, hi: f.hi * &kappa };
                let finer = precision + (blocks.place_bits + W) as usize;
                assert!(
                    law.admits_enclosure(&Some(k), &exact, finer),
                    "σ² = {sigma_squared}, {k}: {:?}",
                    law.mass(&Some(k))
                );
            }
        }
    }

    /// The quick comparison must agree with the exact one wherever it decides, in particular next to the threshold.
    #[test]
    fn the_quick_toss_agrees_with_the_exact_one() {
        let mut entropy = Entropy::seeded(5);
        let mut rng = entropy.draw().unwrap();
        for sigma_squared in ["3600", "1000000", "12345678901/7", "1e12", "1e17", "1e30"] {
            let blocks = Blocks::<64, CELLS>::new(&rational(sigma_squared));
            let mut undecided = 0;
            const TRIES: usize = 400;
            for _ in 0..TRIES {
                let v = rng.next_u64() as usize % blocks.weights.len();
                let negative = rng.next_u64() & 1;
                let place = rng.next_u64() >> (64 - blocks.place_bits);
                let offset = place + negative;
                let magnitude = ((v as i64) << blocks.place_bits) + offset as i64;
                let exact = blocks.acceptance(magnitude, blocks.weights[v], 64);
                let threshold = u64::try_from(&exact.lo).unwrap_or(u64::MAX);
                if threshold > u64::MAX - (1 << 50) {
                    continue; // next to certain acceptance there is no far side to try
                }
                // Two far tosses, and two just outside the doubt.
                for known in [
                    rng.next_u64(),
                    threshold / 2,
                    threshold.saturating_sub(1 << 48),
                    threshold.saturating_add(1 << 48),
                ] {
                    let within = Within { place, known, known_bits: 64 };
                    match blocks.quickly(&blocks.slopes[v], offset, &within) {
                        Some(accepted) => {
                            assert_eq!(accepted, UBig::from(known) < exact.lo, "σ² = {sigma_squared}, block {v}")
                        }
                        None => undecided += 1,
                    }
                }
            }
            assert!(undecided <= TRIES / 50, "{undecided} of {TRIES} undecided at σ² = {sigma_squared}");
        }
    }

    #[test]
    fn the_short_series_keeps_its_bound() {
        for step in 0..=1000u64 {
            let x = (0.36 * 2f64.powi(64) / 1000.0) as u64 * step;
            let exact = exp_neg(&Rational::from_big(x.into(), UBig::ONE << 64), 64);
            let error =
                UBig::from(exp_neg_quickly(x)).max(exact.lo.clone()) - UBig::from(exp_neg_quickly(x)).min(exact.lo);
            assert!(error < UBig::from(1u64 << 46), "{step}");
        }
    }

    #[test]
    fn blocks_are_narrow_and_rounds_mostly_accepted() {
        for sigma in [55.0f64, 100.0, 1e3, 1e6, 1e15] {
            let (place_bits, count) = layout(sigma * sigma, CELLS, 64);
            let width = (1u64 << place_bits) as f64;
            assert!(width <= sigma / 27.0 && count <= 511, "{sigma}: {width} × {count}");
            let blocks = Blocks::<64, CELLS>::new(&Rational::try_from(sigma * sigma).unwrap());
            // κ/(B·2^W)·Σf, with Σf = σ√2π.
            let accepted = blocks.kappa as f64 / width / 2f64.powi(64) * sigma * (2.0 * std::f64::consts::PI).sqrt();
            assert!((0.97..1.0).contains(&accepted), "{sigma}: {accepted}");
        }
    }
}
