//! Geometric and two-sided geometric noise, digit by digit.
//!
//! # Algorithm
//! Let G be geometric, P(G = k) = (1−p)·p^k with p = e^−1/s. Written in base 2^b, its digits are independent: p^(h·2^b + l)
//! = (p^2^b)^h · p^l, so h is geometric with scale s/2^b and l has the law ∝ p^l on 0..2^b. Two-sided noise with P(K) ∝
//! p^|K| is G with a sign: K ≥ 0 with probability 1/(1+p), and then K is G; else K = −(G+1), the bitwise complement of G.
//! The sign is independent of G.
//!
//! So the leading digit carries the sign and is tabulated until its tail is below 2^−W; the other digits have tables of at
//! most 2^10 values. A draw is one table look-up per digit: 1 up to scale 11, 2 up to 5,900, 3 up to 3 million, and 7
//! at 2^50.

use std::ops::Range;

use dashu_int::UBig;
use rand_core::Rng;

use super::bits::{BitSource, always};
use super::table::{BLOCK, Law, Table, words};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg, multiply_high};

/// Cells of a table: 8 KiB, so that the tables of a draw fit together in a first-level cache.
pub(crate) const CELLS: usize = 1 << 10;
/// Bits added to every requested precision; covers the few operations behind a mass and the smallest factor 1−p ≥
/// 2^−51.
const GUARD_BITS: usize = 128;

/// Draws G or K as above.
#[derive(Debug, Clone)]
pub(crate) struct Digits<const W: u32, const N: usize> {
    top: Table<TopDigit, W, N>,
    /// The digits below the top one, the most significant first.
    lower: Vec<(u32, Table<LowerDigit, W, N>)>,
}

impl<const W: u32, const N: usize> Digits<W, N> {
    /// For the rational scale s, one- or two-sided.
    pub fn new(scale: &Rational, sides: Sides) -> Self {
        // One cell is for "rare".
        let most = (N as u64 - 1) / sides.count();
        let rate = scale.recip().expect("a scale is positive");
        let mut shift = 0u32;
        // p^n < 2^−W once n > W·ln 2·s; ln 2 < 0.69315.
        let reach = scale * &Rational::new(69_315 * i64::from(W), 100_000).expect("the denominator is not 0");
        let window = loop {
            let window = u64::try_from(&(&reach / &power_of_two(shift)).floor()).map_or(u64::MAX, |n| n + 1);
            if window <= most {
                break window as i32;
            }
            shift += 1;
        };
        let top = Table::new(TopDigit { rate: rate.clone(), shift, window, sides });
        let mut lower = Vec::new();
        // A digit's values and "rare" must fit the cells.
        let parts = shift.div_ceil(N.ilog2() - 1);
        let mut left = shift;
        for part in 0..parts {
            let bits = left.div_ceil(parts - part);
            left -= bits;
            lower.push((bits, Table::new(LowerDigit { rate: &rate * &power_of_two(left), bits })));
        }
        Self { top, lower }
    }

    /// The number of random words that a draw takes.
    #[cfg(test)]
    fn words(&self) -> usize {
        1 + self.lower.len()
    }

    #[inline]
    pub fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        let top = match self.top.sample(source)? {
            Some(value) => i64::from(value),
            None => self.beyond(source)?,
        };
        let mut value = top;
        for (bits, table) in &self.lower {
            value = append(value, *bits, lower_digit(table.sample(source)?));
        }
        Ok(value)
    }

    /// The leading digit given that it lies outside the window: the law has no memory, so it is a fresh draw moved outwards
    /// by the window.
    #[cold]
    fn beyond<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        let mut moved = i64::from(self.top.law().window);
        loop {
            match self.top.sample(source)? {
                Some(value) if value >= 0 => return Ok(i64::from(value) + moved),
                Some(value) => return Ok(i64::from(value) - moved),
                None => moved += i64::from(self.top.law().window),
            }
        }
    }
}

impl<const N: usize> Digits<64, N> {
    /// [`Digits::sample`] for each element, digit by digit over blocks that stay in the cache.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        let mut bytes = [0; 8 * BLOCK];
        for block in values.chunks_mut(BLOCK) {
            self.top.fill(rng, block, |rng| always(self.beyond(rng)));
            for (bits, table) in &self.lower {
                let bytes = &mut bytes[..8 * block.len()];
                rng.fill_bytes(bytes);
                for (value, word) in block.iter_mut().zip(words(bytes)) {
                    let digit = match table.look_up(word) {
                        Some(digit) => digit,
                        None => lower_digit(always(table.sample_rare(rng))),
                    };
                    *value = append(*value, *bits, digit);
                }
            }
        }
    }
}

fn power_of_two(exponent: u32) -> Rational {
    Rational::from_big(UBig::ONE << exponent as usize, UBig::ONE)
}

/// Appends a digit of `bits` bits to a signed number; for a negative number, the digit's complement.
#[inline]
fn append(value: i64, bits: u32, digit: i32) -> i64 {
    let sign = value >> 63;
    ((value ^ sign) << bits | i64::from(digit)) ^ sign
}

/// A lower digit has no tail.
#[inline]
fn lower_digit(outcome: Option<i32>) -> i32 {
    outcome.unwrap_or_else(|| unreachable!("a digit's law has no mass outside its window"))
}

/// Is the noise one-sided or two-sided?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sides {
    /// 0, 1, 2, …
    One,
    /// …, −1, 0, 1, …
    Two,
}

impl Sides {
    fn count(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// The leading digit: 0..window, and −window..0 for the complements.
#[derive(Debug, Clone)]
pub(crate) struct TopDigit {
    /// 1/s for the whole number.
    rate: Rational,
    /// Bits below this digit.
    shift: u32,
    window: i32,
    sides: Sides,
}

impl TopDigit {
    /// p^2^shift = e^−rate·2^shift.
    fn exponent(&self) -> Rational {
        &self.rate * &power_of_two(self.shift)
    }

    /// P(digit = 0 and not negative), or with `negative` P(digit = 0 and negative).
    fn first(&self, negative: bool, bits: usize) -> Enclosure {
        let one = Enclosure::one(bits);
        let zero_digit = one.minus(&exp_neg(&self.exponent(), bits));
        match self.sides {
            Sides::One => zero_digit,
            Sides::Two => {
                let p = exp_neg(&self.rate, bits);
                let sign = if negative { &p } else { &one };
                sign.over(&one.add(&p), bits).times(&zero_digit, bits)
            }
        }
    }
}

impl Law for TopDigit {
    fn window(&self) -> Range<i32> {
        match self.sides {
            Sides::One => 0..self.window,
            Sides::Two => -self.window..self.window,
        }
    }

    fn weights(&self, width: u32) -> Vec<u64> {
        let ratio = exp_neg(&self.exponent(), 128);
        let side = |negative| {
            let first = self.first(negative, 128 + GUARD_BITS).coarsen(128 + GUARD_BITS, 128);
            geometric_weights(&first, &ratio, self.window as usize, width)
        };
        match self.sides {
            Sides::One => side(false),
            Sides::Two => side(true).into_iter().rev().chain(side(false)).collect(),
        }
    }

    fn mass(&self, value: i32, bits: usize) -> Enclosure {
        let precision = bits + GUARD_BITS;
        let digit = if value < 0 { !value } else { value };
        let power = exp_neg(&(self.exponent() * Rational::from(digit)), precision);
        self.first(value < 0, precision).times(&power, precision).coarsen(precision, bits)
    }

    fn tail(&self, bits: usize) -> Enclosure {
        exp_neg(&(self.exponent() * Rational::from(self.window)), bits)
    }
}

/// A digit of `bits` bits with P(l) ∝ e^−rate·l.
#[derive(Debug, Clone)]
pub(crate) struct LowerDigit {
    rate: Rational,
    bits: u32,
}

impl LowerDigit {
    /// P(0) = (1−e^−rate)/(1−e^−rate·2^bits).
    fn first(&self, bits: usize) -> Enclosure {
        let one = Enclosure::one(bits);
        let step = one.minus(&exp_neg(&self.rate, bits));
        let whole = one.minus(&exp_neg(&(&self.rate * &power_of_two(self.bits)), bits));
        step.over(&whole, bits)
    }
}

impl Law for LowerDigit {
    fn window(&self) -> Range<i32> {
        0..1 << self.bits
    }

    fn weights(&self, width: u32) -> Vec<u64> {
        let first = self.first(128 + GUARD_BITS).coarsen(128 + GUARD_BITS, 128);
        geometric_weights(&first, &exp_neg(&self.rate, 128), 1 << self.bits, width)
    }

    fn mass(&self, value: i32, bits: usize) -> Enclosure {
        let precision = bits + GUARD_BITS;
        let power = exp_neg(&(&self.rate * &Rational::from(value)), precision);
        self.first(precision).times(&power, precision).coarsen(precision, bits)
    }

    fn tail(&self, _bits: usize) -> Enclosure {
        Enclosure { lo: UBig::ZERO, hi: UBig::ZERO }
    }
}

/// ⌊2^width·first·ratio^k⌋ for k < count, or one less.
///
/// With 128 fractional bits and every product rounded down, the k-th power is too small by at most 2(k+1) units of 2^−128:
/// less than 2^−width, so each weight is within 2 of the real number.
fn geometric_weights(first: &Enclosure, ratio: &Enclosure, count: usize, width: u32) -> Vec<u64> {
    let fraction = |bound: &UBig| u128::try_from(bound).unwrap_or(u128::MAX);
    let (mut power, ratio) = (fraction(&first.lo), fraction(&ratio.lo));
    let mut weights = Vec::with_capacity(count);
    for _ in 0..count {
        weights.push((power >> (128 - width)) as u64);
        power = multiply_high(power, ratio);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::noise::table::tests::assert_exact;
    use proptest::prelude::*;

    fn rational(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// P(G = k) for one-sided noise of scale s.
    fn one_sided(scale: &Rational, k: i64, bits: usize) -> Enclosure {
        let precision = bits + 64;
        let rate = scale.recip().unwrap();
        let power = exp_neg(&(&rate * &Rational::from(k)), precision);
        let first = Enclosure::one(precision).minus(&exp_neg(&rate, precision));
        first.times(&power, precision).coarsen(precision, bits)
    }

    /// P(K = k) for two-sided noise of scale s.
    fn two_sided(scale: &Rational, k: i64, bits: usize) -> Enclosure {
        crate::noise::DiscreteLaplace::new(scale).unwrap().mass(k, bits)
    }

    /// Words of 6 to 10 bits make rare outcomes common, so that enumeration covers all of the code: the alias tables,
    /// the rest, the tail, the lower digits.
    fn check<const W: u32, const N: usize>(scale: &str, sides: Sides, words: usize) {
        let scale = rational(scale);
        let digits = Digits::<W, N>::new(&scale, sides);
        assert_eq!(digits.words(), words, "scale {scale}");
        assert_exact(&digits.top, 18, 2e-3);
        for (_, table) in &digits.lower {
            assert_exact(table, 18, 2e-3);
        }
        // The whole sampler: tables, combined digits, and the tail beyond the window.
        let law = enumerate(W as usize * words + 4, |tape| digits.sample(tape));
        for k in -12..=12 {
            let exact = match sides {
                Sides::Two => two_sided(&scale, k, 60),
                Sides::One if k < 0 => Enclosure { lo: UBig::ZERO, hi: UBig::ZERO },
                Sides::One => one_sided(&scale, k, 60),
            };
            assert!(law.admits_enclosure(&k, &exact, 60), "scale {scale}, {k}: {:?}", law.mass(&k));
        }
        assert!(law.unresolved().to_f64() < 0.1, "scale {scale}: {}", law.unresolved().to_f64());
    }

    #[test]
    fn two_sided_noise_is_exact() {
        check::<10, 16>("0.25", Sides::Two, 1);
        check::<10, 16>("1/3", Sides::Two, 1);
        check::<10, 16>("1", Sides::Two, 1);
        check::<8, 16>("1.5", Sides::Two, 2);
        check::<8, 16>("3", Sides::Two, 2);
    }

    #[test]
    fn one_sided_noise_is_exact() {
        check::<10, 16>("1", Sides::One, 1);
        check::<8, 16>("3", Sides::One, 2);
    }

    /// The tables used in production, entry by entry against the formula.
    #[test]
    fn weights_are_just_below_the_probabilities() {
        for scale in ["0.001", "1", "10", "11.5"] {
            let digits = Digits::<64, CELLS>::new(&rational(scale), Sides::Two);
            assert!(digits.lower.is_empty());
            let law = digits.top.law();
            for (value, weight) in law.window().zip(law.weights(64)) {
                let exact =
                    two_sided(&rational(scale), if value < 0 { -i64::from(!value) - 1 } else { value.into() }, 64);
                let weight = UBig::from(weight);
                assert!(weight <= exact.hi && exact.lo <= &weight + 1u8, "{value} at scale {scale}");
            }
            assert!(law.tail(64).hi <= UBig::from(2u8));
        }
    }

    #[test]
    fn a_million_takes_three_words_and_the_largest_scale_seven() {
        for (scale, words) in [("10", 1), ("1000", 2), ("1000000", 3), ("1125899906842624", 7)] {
            assert_eq!(Digits::<64, CELLS>::new(&rational(scale), Sides::Two).words(), words, "{scale}");
        }
    }

    proptest! {
        #[test]
        fn digits_append_like_numbers(top in -1000i64..1000, digit in 0i32..1024) {
            let magnitude = if top < 0 { !top } else { top } * 1024 + i64::from(digit);
            prop_assert_eq!(append(top, 10, digit), if top < 0 { !magnitude } else { magnitude });
        }
    }
}
