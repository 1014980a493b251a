//! One bit for each value, each flipped independently.

use std::ops::{Range, RangeInclusive};

use dashu_int::UBig;
use rand_core::CryptoRng;

use super::{Estimator, Response, range};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::exact::exp_fraction::ExpFraction;
use crate::noise::bits::{BitSource, always};
use crate::noise::table::{self, Table};
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};

/// Optimised unary encoding (OUE): k bits, of which the true value's is a fair coin and every other is 1 with probability
/// 1/(e^ε+1).
///
/// # Privacy
/// ε-differential privacy for one person's one answer against everyone. Two answers differ in the law of two bits only, and
/// the bits are independent. With q = 1/(e^ε+1), the ratio is largest where the first answer's bit is 1 and the second's 0:
/// (½/q)·((1−q)/½) = (1−q)/q = e^ε, exactly. Time and random bits do not depend on the answer.
///
/// # Accuracy
/// p* = ½, q* = 1/(e^ε+1): n times the variance of a rare value's fraction is 4e^ε/(e^ε−1)², whatever k. A report has k bits.
///
/// # Algorithm
/// \[WBLJ17\]. The bits of other values are drawn ten at a time: a table of the 2^10 patterns gives one with a single
/// random word of 32 bits, exactly (`noise::table`): far fewer random bits than ten separate comparisons would take.
/// The true value's bit is then overwritten by a fair coin.
///
/// # Errors
/// Unless 2 ≤ k ≤ 2^20 and ε lies from 2^−50 to 1000; when responding, if the answer is not below k or the permit does not cover
/// ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::local::UnaryEncoding;
///
/// let question = UnaryEncoding::new(1000, &"1".parse()?)?;
/// let response = question.respond(42, &mut Permit::unaccounted()?)?;
/// assert_eq!(response.value().len(), 1000);
/// println!("42 is supported: {}", response.value().contains(42));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct UnaryEncoding {
    k: u32,
    epsilon: Epsilon,
    guarantee: Guarantee,
    patterns: Table<PatternLaw, WORD, CELLS>,
    estimator: Estimator,
}

/// Bits drawn with one word.
const LANES: u32 = 10;
/// Random bits of one draw.
const WORD: u32 = 32;
/// One for each pattern and one for what a word leaves open, rounded up to a power of two: 16 kB, half of a first-level
/// cache.
const CELLS: usize = 2 << LANES;
/// Largest k.
const MOST_VALUES: u64 = 1 << 20;
/// Patterns drawn between two refills of the buffer of random bytes.
const BLOCK: usize = 128;

/// A set of values among k, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSet {
    k: u32,
    words: Box<[u64]>,
}

impl ValueSet {
    /// The empty set among k values.
    pub fn empty(k: u32) -> Self {
        Self { k, words: vec![0; (k as usize).div_ceil(64)].into() }
    }

    /// The values whose bits are set, the first in the lowest bit of the first byte; `None` unless there are exactly as many bytes
    /// as k bits take and the bits beyond are 0.
    pub fn from_bytes(k: u32, bytes: &[u8]) -> Option<Self> {
        if bytes.len() != (k as usize).div_ceil(8) {
            return None;
        }
        let mut set = Self::empty(k);
        for (word, bytes) in set.words.iter_mut().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(padded);
        }
        (set.words.last().is_none_or(|last| last & !last_mask(k) == 0)).then_some(set)
    }

    /// As [`ValueSet::from_bytes`] reads it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate((self.k as usize).div_ceil(8));
        bytes
    }

    /// The number of possible values: k.
    #[allow(clippy::len_without_is_empty, reason = "k is at least 2, and it is not the number of values in the set")]
    pub fn len(&self) -> u32 {
        self.k
    }

    /// Is the value in it?
    pub fn contains(&self, value: u32) -> bool {
        value < self.k && self.words[value as usize / 64] >> (value % 64) & 1 == 1
    }

    /// 64 values per word, the first in the lowest bit.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    fn set(&mut self, value: u32, bit: bool) {
        let (word, place) = (&mut self.words[value as usize / 64], value % 64);
        *word = *word & !(1 << place) | u64::from(bit) << place;
    }
}

/// The bits of the last word that represent values.
fn last_mask(k: u32) -> u64 {
    u64::MAX >> (k.wrapping_neg() % 64)
}

impl UnaryEncoding {
    /// For k values.
    ///
    /// # Errors
    /// As described for the type.
    pub fn new(k: u64, epsilon: &Epsilon) -> Result<Self> {
        if !(2..=MOST_VALUES).contains(&k) {
            let allowed = "from 2 to 1048576 for unary encoding; use projective for more";
            return Err(Error::parameter("number of values", k, allowed));
        }
        range::check(epsilon)?;
        let half = Rational::new(1, 2)?;
        Ok(Self {
            k: k as u32,
            epsilon: epsilon.clone(),
            guarantee: Guarantee::Pure(epsilon.clone()),
            patterns: Table::new(PatternLaw { epsilon: epsilon.value().clone(), lanes: LANES }),
            estimator: Estimator::new(&half, other(epsilon).range().end())?,
        })
    }

    /// The number of values.
    pub fn values(&self) -> u32 {
        self.k
    }

    /// The guarantee of a response, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The estimator of each value's fraction.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// Two fractions that enclose the probability that the bit of a value is 1, if it is the answer's own or not. The
    /// bits are independent, so these two are the whole law.
    pub fn probability(&self, is_answer: bool) -> RangeInclusive<Rational> {
        if is_answer {
            let half = Rational::from(1u64) / Rational::from(2u64);
            half.clone()..=half
        } else {
            other(&self.epsilon).range()
        }
    }

    /// Randomises one answer.
    ///
    /// # Errors
    /// If the answer is not below k, or the permit does not cover ε.
    pub fn respond(&self, answer: u32, permit: &mut Permit) -> Result<Response<ValueSet>> {
        if answer >= self.k {
            return Err(range::foreign_answer());
        }
        let mut draw = permit.spend(&self.guarantee)?;
        let response = self.sample(answer, &mut draw);
        Ok(Response::new(response, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// A response from any generator, for simulations and audits: nothing is charged, and the result does not say so.
    pub fn sample<R: CryptoRng + ?Sized>(&self, answer: u32, rng: &mut R) -> ValueSet {
        let mut response = ValueSet::empty(self.k);
        self.sample_into(answer, rng, &mut response);
        response
    }

    /// [`UnaryEncoding::sample`] into an existing set.
    ///
    /// # Panics
    /// If the set is over a different number of values.
    pub fn sample_into<R: CryptoRng + ?Sized>(&self, answer: u32, rng: &mut R, response: &mut ValueSet) {
        assert_eq!(response.k, self.k, "a set of the mechanism's values");
        debug_assert!(answer < self.k);
        let mut bytes = [0; 4 * BLOCK];
        let (mut left, mut word, mut filled, mut place) = (self.k.div_ceil(LANES) as usize, 0u64, 0u32, 0usize);
        while left > 0 {
            let count = left.min(BLOCK);
            left -= count;
            let bytes = &mut bytes[..4 * count];
            rng.fill_bytes(bytes);
            for random in bytes.chunks_exact(4) {
                let random = u32::from_le_bytes(random.try_into().expect("four bytes"));
                let pattern = match self.patterns.look_up(random.into()) {
                    Some(pattern) => pattern as u64,
                    None => every_pattern(always(self.patterns.sample_rare(rng))),
                };
                word |= pattern << filled;
                filled += LANES;
                if filled >= 64 {
                    response.words[place] = word;
                    place += 1;
                    filled -= 64;
                    word = pattern >> (LANES - filled);
                }
            }
        }
        // Patterns may reach beyond the last value, and even into a word that does not exist.
        if let Some(last) = response.words.get_mut(place) {
            *last = word;
        }
        if let Some(last) = response.words.last_mut() {
            *last &= last_mask(self.k);
        }
        response.set(answer, always(rng.bits(1)) == 1);
    }
}

/// q* = e^−ε/(1 + e^−ε).
fn other(epsilon: &Epsilon) -> ExpFraction {
    ExpFraction::new(epsilon.value(), (0, 1), (1, 1))
}

/// Every pattern is in the window.
fn every_pattern(outcome: Option<i32>) -> u64 {
    outcome.unwrap_or_else(|| unreachable!("the law has no mass outside its window")) as u64
}

/// `lanes` independent bits, each 1 with probability 1/(e^ε+1), as a number. A pattern with j ones has probability
/// e^−jε/(1+e^−ε)^lanes.
#[derive(Debug, Clone)]
struct PatternLaw {
    epsilon: Rational,
    lanes: u32,
}

impl PatternLaw {
    fn with_ones(&self, ones: u32, bits: usize) -> Enclosure {
        // (1+e^−ε)^lanes ≥ 1 needs no additional bits; each of fewer than 32 products adds a unit or two.
        let work = bits + 16;
        let mut whole = Enclosure::one(work);
        let base = Enclosure::one(work).add(&exp_neg(&self.epsilon, work));
        for _ in 0..self.lanes {
            whole = whole.times(&base, work);
        }
        exp_neg(&(&self.epsilon * &Rational::from(u64::from(ones))), work).over(&whole, work).coarsen(work, bits)
    }
}

impl table::Law for PatternLaw {
    fn window(&self) -> Range<i32> {
        0..1 << self.lanes
    }

    fn weights(&self, width: u32) -> Vec<u64> {
        let by_ones: Vec<u64> = (0..=self.lanes)
            .map(|ones| u64::try_from(&self.with_ones(ones, width as usize).lo).unwrap_or(u64::MAX))
            .collect();
        self.window().map(|pattern| by_ones[pattern.count_ones() as usize]).collect()
    }

    fn mass(&self, value: i32, bits: usize) -> Enclosure {
        self.with_ones(value.count_ones(), bits)
    }

    fn tail(&self, _bits: usize) -> Enclosure {
        Enclosure { lo: UBig::ZERO, hi: UBig::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::evidence::{Law, assert_tight, largest_ratio_holds};
    use crate::noise::Entropy;
    use crate::noise::table::tests::assert_exact;

    /// Words of few bits make rare outcomes common, so that enumeration covers all of the code.
    #[test]
    fn patterns_are_drawn_exactly() {
        for epsilon in ["0.1", "1", "4"] {
            let law = PatternLaw { epsilon: epsilon.parse().unwrap(), lanes: 2 };
            assert_exact(&Table::<_, 10, 8>::new(law), 18, 2e-3);
        }
        let law = PatternLaw { epsilon: Rational::ONE, lanes: 3 };
        assert_exact(&Table::<_, 12, 16>::new(law), 18, 2e-3);
    }

    /// The table used in production, entry by entry: a pattern's weight is the product of its bits' probabilities.
    #[test]
    fn weights_are_just_below_the_probabilities() {
        for epsilon in ["1e-9", "0.5", "1", "20", "1000"] {
            let epsilon: Epsilon = epsilon.parse().unwrap();
            let [one, zero] = [(0, 1), (1, 0)].map(|top| ExpFraction::new(epsilon.value(), top, (1, 1)).range());
            let law = PatternLaw { epsilon: epsilon.value().clone(), lanes: LANES };
            let unit = Rational::from_big(UBig::ONE << WORD as usize, UBig::ONE);
            let weights = table::Law::weights(&law, WORD);
            for (pattern, weight) in weights.into_iter().enumerate().step_by(37) {
                let exact = |end: fn(&RangeInclusive<Rational>) -> &Rational| {
                    let bit = |place: u32| end(if pattern >> place & 1 == 1 { &one } else { &zero }).clone();
                    (0..LANES).map(bit).fold(unit.clone(), |product, bit| &product * &bit)
                };
                assert!(Rational::from(weight) <= exact(RangeInclusive::end), "{pattern} at {epsilon}");
                assert!(exact(RangeInclusive::start) < Rational::from(weight + 2), "{pattern} at {epsilon}");
            }
        }
    }

    /// P(set | answer) for all sets of k values: the product of its bits' probabilities.
    fn law(mechanism: &UnaryEncoding, own: &RangeInclusive<Rational>) -> Law {
        let k = mechanism.k as usize;
        let other = mechanism.probability(false);
        Law::of(k, 1 << k, |answer, set| {
            let product = |end: fn(&RangeInclusive<Rational>) -> &Rational,
                           opposite: fn(&RangeInclusive<Rational>) -> &Rational| {
                (0..k).fold(Rational::ONE, |product, value| {
                    let one = if value == answer { own } else { &other };
                    let bit =
                        if set >> value & 1 == 1 { end(one).clone() } else { Rational::ONE - opposite(one).clone() };
                    &product * &bit
                })
            };
            product(RangeInclusive::start, RangeInclusive::end)..=product(RangeInclusive::end, RangeInclusive::start)
        })
    }

    #[test]
    fn the_largest_ratio_is_exactly_what_is_promised() {
        for k in [2, 3, 6] {
            for epsilon in ["0.001", "0.5", "1", "3", "100"] {
                let epsilon = epsilon.parse().unwrap();
                let mechanism = UnaryEncoding::new(k, &epsilon).unwrap();
                let law = law(&mechanism, &mechanism.probability(true));
                assert!(law.adds_up());
                assert_tight(&law, &epsilon);
            }
        }
    }

    /// The mutant: a true bit that is slightly more likely to be 1.
    #[test]
    fn a_biased_true_bit_is_seen() {
        let epsilon = "1".parse().unwrap();
        let mechanism = UnaryEncoding::new(3, &epsilon).unwrap();
        let biased: Rational = "0.5001".parse().unwrap();
        assert!(
            !largest_ratio_holds(&law(&mechanism, &(biased.clone()..=biased)), &epsilon),
            "the mutant was not caught"
        );
    }

    /// Every value's bit, wherever it falls in patterns and words, has the stated law.
    #[test]
    fn every_bit_is_set_as_often_as_it_should() {
        const N: u32 = 20_000;
        let epsilon = "1".parse().unwrap();
        for k in [2, 10, 63, 64, 65, 129, 640, 641] {
            let mechanism = UnaryEncoding::new(k, &epsilon).unwrap();
            let mut entropy = Entropy::seeded(k);
            let mut rng = entropy.draw().unwrap();
            let answer = k as u32 / 2;
            let mut counts = vec![0u32; k as usize];
            let mut response = ValueSet::empty(k as u32);
            for _ in 0..N {
                mechanism.sample_into(answer, &mut rng, &mut response);
                (0..k as u32).filter(|&value| response.contains(value)).for_each(|value| counts[value as usize] += 1);
                assert_eq!(response.words.last().unwrap() & !last_mask(k as u32), 0);
            }
            for (value, count) in counts.into_iter().enumerate() {
                let exact = mechanism.probability(value as u32 == answer).end().to_f64();
                // 6.1 standard deviations: 10^−9 for each of about 1,600 bits.
                let width = 6.1 * (exact * (1.0 - exact) * f64::from(N)).sqrt();
                assert!((f64::from(count) - exact * f64::from(N)).abs() < width, "{value} of {k}: {count}");
            }
        }
    }

    #[test]
    fn sets_are_written_and_read() {
        let mut set = ValueSet::empty(13);
        set.set(0, true);
        set.set(9, true);
        assert_eq!(set.to_bytes(), [1, 2]);
        assert_eq!(ValueSet::from_bytes(13, &[1, 2]), Some(set));
        for wrong in [&[1u8][..], &[1, 2, 3], &[0, 0x20]] {
            assert_eq!(ValueSet::from_bytes(13, wrong), None);
        }
        assert!(UnaryEncoding::new(1, &"1".parse().unwrap()).is_err());
    }
}
