//! Coins with an exactly known bias.

use std::fmt;

use dashu_int::UBig;
use rand_core::CryptoRng;

use super::bits::{BitSource, always};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::exact::exp_fraction::ExpFraction;
use crate::privacy::Epsilon;

/// A coin tossed repeatedly with one exactly known probability: rational, e^−γ, or 1/(1+e^ε).
///
/// # Accuracy
/// Exact. A toss compares a uniform real number U, of which 64 bits are drawn, with the probability p, of which 64 bits
/// are stored. If these do not decide (one toss in about 2^63), more bits of both are computed.
///
/// # Algorithm
/// U = Σ u_i·2^−i and "U < p" has probability p for every real p. Each toss takes one 64-bit word and two comparisons,
/// whatever the outcome.
///
/// # Example
/// ```
/// use reticent::noise::{Coin, Entropy};
///
/// let coin = Coin::exp_neg(&"0.5".parse()?)?; // heads with probability e^−½ ≈ 0.607
/// let mut entropy = Entropy::from_os()?;
/// let mut rng = entropy.draw()?;
/// let heads = (0..10_000).filter(|_| coin.toss(&mut rng)).count();
/// assert!((5_700..6_450).contains(&heads));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Coin {
    bias: Bias,
    /// 64 bits of the probability: certainly heads below `lo`, certainly tails from `hi` on.
    lo: u64,
    hi: u64,
}

/// The probability of heads, as a formula that can be evaluated to any precision.
#[derive(Debug, Clone)]
enum Bias {
    Ratio(Rational),
    ExpNeg(Rational),
    /// 1/(1 + e^ε).
    Logistic(Rational),
    /// (a + b·e^−ε)/(c + d·e^−ε).
    ExpFraction(ExpFraction),
}

impl Bias {
    fn enclosure(&self, bits: usize) -> Enclosure {
        match self {
            Self::Ratio(p) => Enclosure::rational(p, bits),
            Self::ExpNeg(gamma) => exp_neg(gamma, bits),
            Self::ExpFraction(fraction) => fraction.enclosure(bits),
            Self::Logistic(epsilon) => {
                let guard = bits + 8;
                let small = exp_neg(epsilon, guard);
                let whole = small.add(&Enclosure::one(guard));
                small.over(&whole, guard).coarsen(guard, bits)
            }
        }
    }
}

impl Coin {
    /// Heads with probability p.
    ///
    /// # Errors
    /// If p lies outside 0 ≤ p ≤ 1.
    pub fn ratio(p: &Rational) -> Result<Self> {
        if *p < Rational::ZERO || *p > Rational::ONE {
            return Err(Error::parameter("probability", p, "from 0 to 1"));
        }
        Ok(Self::from_bias(Bias::Ratio(p.clone())))
    }

    /// Heads with probability e^−γ.
    ///
    /// # Errors
    /// If γ is negative.
    pub fn exp_neg(gamma: &Rational) -> Result<Self> {
        if *gamma < Rational::ZERO {
            return Err(Error::parameter("gamma", gamma, "at least 0"));
        }
        Ok(Self::from_bias(Bias::ExpNeg(gamma.clone())))
    }

    /// Heads with probability 1/(1+e^ε): the lie of ε-private randomised response.
    pub fn lie(epsilon: &Epsilon) -> Self {
        Self::from_bias(Bias::Logistic(epsilon.value().clone()))
    }

    /// Heads with a probability that is a fraction in e^−ε.
    pub(crate) fn exp_fraction(fraction: ExpFraction) -> Self {
        Self::from_bias(Bias::ExpFraction(fraction))
    }

    /// The probability of heads.
    #[cfg(test)]
    pub(crate) fn enclosure(&self, bits: usize) -> Enclosure {
        self.bias.enclosure(bits)
    }

    fn from_bias(bias: Bias) -> Self {
        let word = bias.enclosure(64);
        let clamp = |bound: UBig| u64::try_from(&bound).unwrap_or(u64::MAX);
        // If p is 1, `hi` would be 2^64; u64::MAX leaves the very last word to the exact comparison.
        Self { lo: clamp(word.lo), hi: clamp(word.hi), bias }
    }

    /// Tosses once: true is heads.
    #[inline]
    pub fn toss<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> bool {
        always(self.toss_from(rng))
    }

    #[inline]
    pub(crate) fn toss_from<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<bool, B::Error> {
        let word = source.bits(64)?;
        match self.decide(word) {
            Some(heads) => Ok(heads),
            None => self.look_further(word, source),
        }
    }

    /// The outcome decided by the first 64 bits of the uniform number, unless they leave it open.
    #[inline]
    pub(crate) fn decide(&self, word: u64) -> Option<bool> {
        if word < self.lo {
            Some(true)
        } else if word > self.hi {
            Some(false)
        } else {
            None
        }
    }

    /// A toss that its first 64 bits left open.
    #[cold]
    pub(crate) fn decide_further<R: CryptoRng + ?Sized>(&self, word: u64, rng: &mut R) -> bool {
        always(self.look_further(word, rng))
    }

    #[cold]
    fn look_further<B: BitSource + ?Sized>(&self, word: u64, source: &mut B) -> Result<bool, B::Error> {
        is_below(Prefix { bits: 64, value: word.into() }, source, |bits| self.bias.enclosure(bits))
    }
}

impl fmt::Display for Coin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bias {
            Bias::Ratio(p) => write!(formatter, "heads with probability {p}"),
            Bias::ExpNeg(gamma) => write!(formatter, "heads with probability exp(-{gamma})"),
            Bias::Logistic(epsilon) => write!(formatter, "heads with probability 1/(1+exp({epsilon}))"),
            Bias::ExpFraction(fraction) => {
                write!(formatter, "heads with probability {}", fraction.range().end().to_f64())
            }
        }
    }
}

/// The first bits of a uniform real number.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    pub bits: usize,
    pub value: UBig,
}

impl Prefix {
    /// No bits drawn yet.
    pub fn empty() -> Self {
        Self { bits: 0, value: UBig::ZERO }
    }
}

/// Is the uniform real number that begins with `prefix` below x? True with probability exactly x over the whole draw.
///
/// `enclosure(b)` encloses x at precision b. With U in [v, v+1)/2^b: v+1 ≤ lo proves U < x, v ≥ hi proves U ≥ x;
/// otherwise both get more bits. The loop ends with probability 1, as the enclosures shrink onto x.
pub(crate) fn is_below<B: BitSource + ?Sized>(
    mut prefix: Prefix,
    source: &mut B,
    enclosure: impl Fn(usize) -> Enclosure,
) -> Result<bool, B::Error> {
    loop {
        let Enclosure { lo, hi } = enclosure(prefix.bits);
        if prefix.value < lo {
            return Ok(true);
        }
        if prefix.value >= hi {
            return Ok(false);
        }
        // One bit halves the open interval: two more on average.
        prefix.value = (prefix.value << 1) + source.bits(1)?;
        prefix.bits += 1;
    }
}

/// True with probability numerator/denominator ≤ 1, bit by bit: two bits on average. Denominators below 2^127.
pub(crate) fn ratio<B: BitSource + ?Sized>(
    numerator: u128,
    denominator: u128,
    source: &mut B,
) -> Result<bool, B::Error> {
    debug_assert!(numerator <= denominator && denominator < 1 << 127);
    // Long division yields the bits of the ratio; the first that differs from a random bit decides.
    let mut rest = numerator;
    if rest == denominator {
        return Ok(true);
    }
    while rest != 0 {
        rest <<= 1;
        let bit = rest >= denominator;
        if bit {
            rest -= denominator;
        }
        if (source.bits(1)? == 1) != bit {
            return Ok(bit);
        }
    }
    Ok(false)
}

/// True with probability e^−(numerator/denominator), by the alternating series of \[CKS20\]; for exponents
/// that change with every toss, where preparing a [`Coin`] does not pay off.
///
/// For γ ≤ 1: toss coins of probability γ/1, γ/2, γ/3, … until one fails, at the K-th; P(K odd) = e^−γ. A larger γ takes
/// ⌊γ⌋ tosses of e^−1 first and stops at the first failure. Denominators below 2^120.
pub(crate) fn exp_neg_once<B: BitSource + ?Sized>(
    numerator: u128,
    denominator: u128,
    source: &mut B,
) -> Result<bool, B::Error> {
    debug_assert!(denominator < 1 << 120);
    for _ in 0..numerator / denominator {
        if !exp_neg_small(1, 1, source)? {
            return Ok(false);
        }
    }
    exp_neg_small(numerator % denominator, denominator, source)
}

fn exp_neg_small<B: BitSource + ?Sized>(numerator: u128, denominator: u128, source: &mut B) -> Result<bool, B::Error> {
    let mut k = 1u128;
    while ratio(numerator, denominator * k, source)? {
        k += 1;
    }
    Ok(k % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::noise::Entropy;

    fn rational(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn ratios_are_exact() {
        for (p, q) in [(0, 1), (1, 1), (1, 2), (1, 3), (2, 3), (5, 7), (3, 8)] {
            let law = enumerate(16, |tape| ratio(p, q, tape));
            let exact = Rational::new(p as i64, q as u64).unwrap();
            assert!(law.admits(&true, &exact), "{p}/{q}");
            assert!(law.unresolved() <= &Rational::new(1, 1 << 16).unwrap());
        }
    }

    #[test]
    fn exponentials_are_exact() {
        for (numerator, denominator) in [(0u128, 1u128), (1, 1), (1, 2), (2, 3), (5, 2)] {
            let gamma = Rational::new(numerator as i64, denominator as u64).unwrap();
            let truth = exp_neg(&gamma, 60);
            let law = enumerate(18, |tape| exp_neg_once(numerator, denominator, tape));
            assert!(law.admits_enclosure(&true, &truth, 60), "exp(-{gamma}): {:?}", law.mass(&true));
            assert!(law.unresolved() < &rational("0.02"));
            let lazily = enumerate(18, |tape| is_below(Prefix::empty(), tape, |bits| exp_neg(&gamma, bits)));
            assert!(lazily.admits_enclosure(&true, &truth, 60), "exp(-{gamma}), compared");
            assert!(lazily.unresolved() < &rational("0.02"));
        }
    }

    /// A coin decides from 64-bit words; words on either side of its thresholds show where they lie.
    #[test]
    fn coins_turn_exactly_at_their_probability() {
        struct Fixed(Vec<u64>);
        impl BitSource for Fixed {
            type Error = ();
            fn bits(&mut self, count: u32) -> Result<u64, ()> {
                self.0.pop().map(|word| word >> (64 - count)).ok_or(())
            }
        }
        let toss = |coin: &Coin, words: &[u64]| coin.toss_from(&mut Fixed(words.iter().rev().copied().collect()));
        let half = Coin::ratio(&rational("0.5")).unwrap();
        assert_eq!(toss(&half, &[(1 << 63) - 1]), Ok(true));
        assert_eq!(toss(&half, &[1 << 63]), Ok(false));
        let third = Coin::ratio(&rational("1/3")).unwrap();
        assert_eq!(toss(&third, &[u64::MAX / 3 - 1]), Ok(true));
        // The first 64 bits of 1/3 are 0101…01: equal words leave it open, the next bits decide.
        assert_eq!(toss(&third, &[u64::MAX / 3]), Err(()));
        let (zero, one) = (0, u64::MAX);
        assert_eq!(toss(&third, &[u64::MAX / 3, zero, zero]), Ok(true));
        assert_eq!(toss(&third, &[u64::MAX / 3, zero, one, zero, one]), Err(()));
        assert_eq!(toss(&third, &[u64::MAX / 3, one, zero]), Ok(false));
        let always = Coin::ratio(&Rational::ONE).unwrap();
        assert_eq!(toss(&always, &[u64::MAX]), Ok(true));
        let never = Coin::ratio(&Rational::ZERO).unwrap();
        assert_eq!(toss(&never, &[0]), Ok(false));
    }

    #[test]
    fn the_lie_of_randomised_response() {
        let coin = Coin::lie(&"1".parse().unwrap());
        let expected = 1.0 / (1.0 + 1f64.exp());
        assert!((coin.lo as f64 / 2f64.powi(64) - expected).abs() < 1e-15);
        let mut entropy = Entropy::seeded(3);
        let mut rng = entropy.draw().unwrap();
        let n = 100_000;
        let lies = (0..n).filter(|_| coin.toss(&mut rng)).count() as f64;
        // Five standard deviations: a false alarm in 1.7 million.
        assert!((lies / n as f64 - expected).abs() < 5.0 * (expected * (1.0 - expected) / n as f64).sqrt());
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        assert!(Coin::ratio(&rational("1.5")).is_err());
        assert!(Coin::ratio(&rational("-0.5")).is_err());
        assert!(Coin::exp_neg(&rational("-1")).is_err());
    }
}
