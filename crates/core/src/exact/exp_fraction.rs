//! Fractions in e^−ε: the probabilities of the local model.

use std::ops::RangeInclusive;

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::Rational;
use super::enclosure::{Enclosure, exp_neg};

/// Bits in which the bounds of [`ExpFraction::range`] agree, whatever ε is.
const RANGE_BITS: usize = 192;

/// (a + b·e^−ε)/(c + d·e^−ε) for whole numbers with a + b·e^−ε ≥ 0, c ≥ 1 and d ≥ 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExpFraction {
    epsilon: Rational,
    /// a and b.
    top: (u128, i128),
    /// c and d.
    bottom: (u128, u128),
}

impl ExpFraction {
    /// (a + b·e^−ε)/(c + d·e^−ε).
    pub fn new(epsilon: &Rational, top: (u128, i128), bottom: (u128, u128)) -> Self {
        debug_assert!(bottom.0 >= 1);
        Self { epsilon: epsilon.clone(), top, bottom }
    }

    /// Enclosed at precision `bits`.
    ///
    /// e^−ε is known to 3 units of 2^−(bits+guard). The numerator is off by |b| times that, the denominator, which is at least
    /// 1, by d times that; with as many guard bits as b and d have, and some, the quotient is off by less than a unit if it
    /// is at most 1. (Were it not, the enclosure would be wider, but not wrong.)
    pub fn enclosure(&self, bits: usize) -> Enclosure {
        let (a, b) = self.top;
        let (c, d) = self.bottom;
        let guard = 16 + b.unsigned_abs().bit_len() + d.bit_len();
        let work = bits + guard;
        let power = exp_neg(&self.epsilon, work);
        let whole = |number: u128| {
            let scaled = UBig::from(number) << work;
            Enclosure { lo: scaled.clone(), hi: scaled }
        };
        let times = |number: u128| Enclosure { lo: &power.lo * UBig::from(number), hi: &power.hi * UBig::from(number) };
        let part = times(b.unsigned_abs());
        let top = if b < 0 { whole(a).minus(&part) } else { whole(a).add(&part) };
        top.over(&whole(c).add(&times(d)), work).coarsen(work, bits)
    }

    /// Two fractions that enclose it. They agree in more than a hundred bits, however small it is.
    pub fn range(&self) -> RangeInclusive<Rational> {
        // e^−ε > 2^−1.5ε, and none of its numbers has more than 128 bits.
        let whole = usize::try_from(&self.epsilon.ceil()).unwrap_or(usize::MAX >> 8);
        let bits = RANGE_BITS + 256 + whole * 3 / 2;
        let Enclosure { lo, hi } = self.enclosure(bits);
        let real = |end: UBig| Rational::from_big(end, UBig::ONE << bits);
        real(lo)..=real(hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_enclosed_tightly() {
        for (epsilon, top, bottom) in [
            ("1", (0, 1), (1, 1)),
            ("1", (1, -1), (1, 999)),
            ("0.001", (1, -1), (1, 1 << 80)),
            ("30", (5, 1 << 90), (1 << 100, 7)),
        ] {
            let fraction = ExpFraction::new(&epsilon.parse().unwrap(), top, bottom);
            let power = (-epsilon.parse::<f64>().unwrap()).exp();
            let expected = (top.0 as f64 + top.1 as f64 * power) / (bottom.0 as f64 + bottom.1 as f64 * power);
            let range = fraction.range();
            assert!((range.start().to_f64() / expected - 1.0).abs() < 1e-12, "{fraction:?}");
            assert!(range.end() / range.start() - Rational::ONE < "1e-37".parse().unwrap(), "{fraction:?}");
            for bits in [8, 64, 300] {
                let Enclosure { lo, hi } = fraction.enclosure(bits);
                assert!(&hi - &lo <= UBig::from(2u8), "{fraction:?} at {bits}");
            }
        }
    }
}
