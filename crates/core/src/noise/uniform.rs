//! Whole numbers, each equally likely.

use rand_core::CryptoRng;

use super::bits::{BitSource, always};
use crate::error::{Error, Result};

/// A number from 0 to n−1, each with probability exactly 1/n.
///
/// # Algorithm
/// As many bits as n−1 has, redrawn while the number is not below n: at most two rounds on average. The number of
/// rounds is independent of the result.
///
/// # Errors
/// If n is 0.
///
/// # Example
/// ```
/// use reticent::noise::{Entropy, uniform_below};
///
/// let mut entropy = Entropy::from_os()?;
/// let die = 1 + uniform_below(6, &mut entropy.draw()?)?;
/// assert!((1..=6).contains(&die));
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn uniform_below<R: CryptoRng + ?Sized>(n: u64, rng: &mut R) -> Result<u64> {
    if n == 0 {
        return Err(Error::parameter("n", n, "at least 1"));
    }
    Ok(always(below(n, rng)))
}

/// [`uniform_below`] over any bits, for n ≥ 1.
pub(crate) fn below<B: BitSource + ?Sized>(n: u64, source: &mut B) -> Result<u64, B::Error> {
    let width = 64 - (n - 1).leading_zeros();
    if width == 0 {
        return Ok(0);
    }
    loop {
        let candidate = source.bits(width)?;
        if candidate < n {
            return Ok(candidate);
        }
    }
}

/// [`below`] from one word of `width` bits, for 1 ≤ n ≤ 2^width and width ≤ 64; `None` if the word must be rejected.
///
/// The word times n is a number of two such words. Each upper word is reached from ⌊2^width/n⌋ words or one more, and a
/// lower word of less than 2^width mod n occurs exactly for the extra one: those words are rejected \[L19\].
#[inline]
pub(crate) fn scaled(word: u64, width: u32, n: u64) -> Option<u64> {
    let product = u128::from(word) * u128::from(n);
    let lower = product & ((1 << width) - 1);
    // The remainder is below n, so the slow division is rarely needed.
    if lower < u128::from(n) && lower < (1u128 << width) % u128::from(n) {
        return None;
    }
    Some((product >> width) as u64)
}

/// [`below`] for numbers up to 2^128 − 1.
pub(crate) fn below_wide<B: BitSource + ?Sized>(n: u128, source: &mut B) -> Result<u128, B::Error> {
    if let Ok(small) = u64::try_from(n) {
        return below(small, source).map(u128::from);
    }
    let high_width = 64 - ((n - 1) >> 64).leading_zeros().saturating_sub(64);
    loop {
        // 2^64 itself needs no bits beyond the lower half.
        let high = if high_width == 0 { 0 } else { u128::from(source.bits(high_width)?) };
        let candidate = high << 64 | u128::from(source.bits(64)?);
        if candidate < n {
            return Ok(candidate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::exact::Rational;

    #[test]
    fn every_value_is_equally_likely() {
        for n in [1u64, 2, 3, 5, 6, 7, 8, 12] {
            let law = enumerate(24, |tape| below(n, tape));
            let share = Rational::new(1, n).unwrap();
            assert_eq!(law.outcomes().count() as u64, n);
            for value in 0..n {
                assert!(law.admits(&value, &share), "{value} of {n}: {:?}", law.mass(&value));
            }
            assert!(law.unresolved() < &Rational::new(1, 1 << 6).unwrap());
        }
    }

    #[test]
    fn scaled_words_are_shared_out_evenly() {
        const WIDTH: u32 = 8;
        for n in 1..=1u64 << WIDTH {
            let mut owned = vec![0; n as usize];
            (0..1 << WIDTH).filter_map(|word| scaled(word, WIDTH, n)).for_each(|value| owned[value as usize] += 1);
            assert!(owned.iter().all(|&words| words == (1 << WIDTH) / n), "{n}: {owned:?}");
        }
        assert_eq!(scaled(u64::MAX, 64, 1 << 63), Some((1 << 63) - 1));
    }

    #[test]
    fn zero_is_refused() {
        let mut rng = crate::noise::Entropy::seeded(1);
        assert!(uniform_below(0, &mut rng.draw().unwrap()).is_err());
        assert_eq!(uniform_below(1, &mut rng.draw().unwrap()).unwrap(), 0);
    }

    #[test]
    fn the_first_wide_number_takes_one_word() {
        let mut entropy = crate::noise::Entropy::seeded(3);
        let mut rng = entropy.draw().unwrap();
        assert!((0..100).map(|_| always(below_wide(1 << 64, &mut rng))).any(|value| value >= 1 << 63));
        assert!((0..100).all(|_| always(below_wide((1 << 64) + 1, &mut rng)) <= 1 << 64));
    }

    #[test]
    fn wide_numbers_reach_both_halves() {
        let mut entropy = crate::noise::Entropy::seeded(2);
        let mut rng = entropy.draw().unwrap();
        let n = 3u128 << 70;
        let draws: Vec<u128> = (0..4000).map(|_| always(below_wide(n, &mut rng))).collect();
        assert!(draws.iter().all(|&value| value < n));
        // A third of the draws lies in each third; 4,000 draws put the share within 5.5 standard deviations (1e-6
        // for three comparisons) of 1/3, which is 0.041.
        for third in 0..3u128 {
            let inside = draws.iter().filter(|&&value| value / (1 << 70) == third).count();
            assert!((inside as f64 / 4000.0 - 1.0 / 3.0).abs() < 0.041, "{third}: {inside}");
        }
    }
}
