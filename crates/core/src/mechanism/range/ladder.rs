//! Orders of magnitude: where a value lies, and where an end of a range may lie.

use crate::exact::Rational;

/// The smallest magnitude that is distinguished from 0: 2^−32.
const SMALLEST: i32 = -32;
/// Magnitudes from 1.75·2^63 on are not distinguished.
const LARGEST: i32 = 63;
/// Places from one power of two to the next: they begin at 1, 1¼, 1½ and 1¾ times the power.
pub(crate) const PER_POWER: usize = 4;
/// Places on either side of 0.
pub(crate) const PLACES: usize = (LARGEST - SMALLEST + 1) as usize * PER_POWER;

/// One bin for 0, and one for each place on either side.
pub const BINS: usize = 2 * PLACES + 1;
/// The index of the bin for 0.
const ZERO: usize = PLACES;

/// The bin of a value, counted from the most negative; `None` for NaN.
///
/// The middle bin holds what is nearer to 0 than 2^−32. Every other holds the numbers ±x with m·2^k ≤ x < (m + ¼)·2^k,
/// for one m of 1, 1¼, 1½ and 1¾, one k from −32 to 63 and one sign; anything farther out (±∞ too) is in the outermost
/// ones.
///
/// ```
/// use reticent::mechanism::range::{BINS, bin};
///
/// assert_eq!(bin(0.0), bin(1e-12));
/// assert_eq!(bin(7.0), bin(7.9));
/// assert!(bin(-1.0) < bin(0.0) && bin(0.0) < bin(1.0) && bin(1.0) < bin(1.25) && bin(1.25) < bin(2.0));
/// assert_eq!((bin(f64::NEG_INFINITY), bin(f64::INFINITY), bin(f64::NAN)), (Some(0), Some(BINS - 1), None));
/// ```
#[inline]
pub fn bin(value: f64) -> Option<usize> {
    if value.is_nan() {
        return None;
    }
    // The exponent field and the two leading bits of the fraction. The field is floor(log₂|value|) + 1023 for normal
    // numbers, 0 for 0 and subnormal numbers, 2047 for infinities.
    let leading = (value.to_bits() >> 50) & 0x1fff;
    let place = leading as i32 - (SMALLEST + 1023) * PER_POWER as i32;
    if place < 0 {
        return Some(ZERO);
    }
    let distance = (place as usize).min(PLACES - 1) + 1;
    Some(if value < 0.0 { ZERO - distance } else { ZERO + distance })
}

/// The bins of either side, negative numbers first; in each, from 0 outwards.
pub(crate) fn sides(counts: &[i64]) -> [Vec<i64>; 2] {
    let (below, above) = (&counts[..ZERO], &counts[ZERO + 1..]);
    [below.iter().rev().copied().collect(), above.to_vec()]
}

/// Where the places up to this number of them end: 0 if it is 0, and otherwise a distance from 0.
pub(crate) fn edge(places: usize) -> Rational {
    if places == 0 {
        return Rational::ZERO;
    }
    let quarters = PER_POWER + places % PER_POWER;
    let power = SMALLEST + (places / PER_POWER) as i32 - 2;
    // A number of 3 bits times a power from 2^−34 to 2^62.
    Rational::from_f64_bits(libm::ldexp(quarters as f64, power)).expect("it is finite")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_between_the_edges_of_its_bin() {
        let positive = (0..4000).map(|i| libm::ldexp(1.0 + f64::from(i % 64) / 64.0, i / 64 - 31));
        for value in positive.chain([1.0, 1.25, 4096.0, 1.5e19, f64::from_bits(1.0f64.to_bits() - 1)]) {
            let place = bin(value).unwrap() - ZERO;
            assert_eq!(bin(-value), Some(ZERO - place), "{value}");
            let exact = Rational::from_f64_bits(value).unwrap();
            assert!((edge(place - 1) <= exact || place == 1) && exact < edge(place), "{value}");
        }
        let tiny = [0.0, -0.0, f64::MIN_POSITIVE, -5e-324, libm::ldexp(1.0, -32).next_down()];
        assert!(tiny.iter().all(|&value| bin(value) == Some(ZERO)));
        assert_eq!(bin(libm::ldexp(1.0, -32)), Some(ZERO + 1));
        assert_eq!((bin(-1e300), bin(1e300), bin(f64::NAN)), (Some(0), Some(BINS - 1), None));
    }

    #[test]
    fn edges_double_every_four_places() {
        assert!((1..=PLACES).all(|places| edge(places - 1) < edge(places)));
        assert!((1..=PLACES - PER_POWER).all(|places| edge(places + PER_POWER) == edge(places) * Rational::from(2)));
        assert_eq!(edge(PLACES), "18446744073709551616".parse().unwrap());
        assert_eq!(edge(128), Rational::ONE);
    }

    #[test]
    fn sides_begin_at_zero() {
        let mut counts = vec![0; BINS];
        for value in [-3.0, 3.0, 3.1, 0.0] {
            counts[bin(value).unwrap()] += 1;
        }
        let [below, above] = sides(&counts);
        let place = bin(3.0).unwrap() - ZERO - 1;
        assert_eq!((below[place], above[place], below.len(), above.len()), (1, 2, PLACES, PLACES));
        assert_eq!(below.iter().chain(&above).sum::<i64>(), 3);
    }
}
