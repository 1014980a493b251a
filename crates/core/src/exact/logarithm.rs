//! Logarithms of fractions, enclosed at any precision.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::Rational;
use super::enclosure::Enclosure;

/// −ln x for rational 0 < x ≤ 1, enclosed at precision `bits` with hi − lo ≤ 3.
///
/// # Algorithm
/// x = m·2^−k with ½ < m ≤ 1, so that −ln x = 2·artanh z + k·2·artanh ⅓ with z = (1−m)/(1+m) < ⅓ (and ln 2 =
/// 2·artanh ⅓). Every operation rounds its lower end down and its upper end up; the guard bits only keep the ends
/// together: the series has fewer terms than a third of the w bits it is computed with, each wider by at most 4 units
/// in the last place, which k + 1 series increase to less than 4·w·(k+1).
pub(crate) fn neg_ln(x: &Rational, bits: usize) -> Enclosure {
    debug_assert!(x.is_positive() && *x <= Rational::ONE);
    let scaled = |k: usize| x * &Rational::from_big(UBig::ONE << k, UBig::ONE);
    // Numbers of equal length have a ratio between ½ and 2.
    let mut k = x.denominator().bit_len() - x.numerator().bit_len();
    let mut m = scaled(k);
    if m > Rational::ONE {
        k -= 1;
        m = scaled(k);
    }
    let guard = 16 + bits.bit_len() + k.bit_len();
    let work = bits + guard;
    let z = (&Rational::ONE - &m) / (&Rational::ONE + &m);
    let half_ln_2 = artanh(&Rational::from_big(UBig::ONE, UBig::from(3u8)), work);
    let half = artanh(&z, work);
    let twice = |end: &UBig, of_2: &UBig| (end + of_2 * UBig::from(k)) << 1;
    Enclosure { lo: twice(&half.lo, &half_ln_2.lo), hi: twice(&half.hi, &half_ln_2.hi) }.coarsen(work, bits)
}

/// artanh z = z + z³/3 + z⁵/5 + … for 0 ≤ z ≤ ⅓.
///
/// The sum is cut where the lower end of the power is 0; what remains is below z^j·(1 + 1/9 + 1/81 + …) < 2·z^j.
fn artanh(z: &Rational, bits: usize) -> Enclosure {
    let z = Enclosure::rational(z, bits);
    let square = z.times(&z, bits);
    let mut sum = Enclosure { lo: UBig::ZERO, hi: UBig::ZERO };
    let mut power = z;
    let mut index = 1u64;
    while !power.lo.is_zero() {
        let term = Enclosure { lo: &power.lo / index, hi: (&power.hi + (index - 1)) / index };
        sum = sum.add(&term);
        power = power.times(&square, bits);
        index += 2;
    }
    sum.hi += power.hi << 1;
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::enclosure::exp_neg;

    /// The exponential, computed by another series, inverts it.
    #[test]
    fn the_exponential_undoes_it() {
        let tiny = Rational::from_big(UBig::ONE, UBig::ONE << 1500);
        for x in ["1", "1/3", "0.5", "0.25", "3/4", "0.999999999999", "1e-30", "2/7", "511/512", "513/1024"] {
            let x: Rational = x.parse().unwrap();
            undoes(&x);
        }
        undoes(&tiny);
    }

    fn undoes(x: &Rational) {
        for bits in [16, 64, 65, 200, 2000] {
            let Enclosure { lo, hi } = neg_ln(x, bits);
            assert!(lo <= hi && &hi - &lo <= UBig::from(3u8), "{x} at {bits}");
            let real = |end: UBig| Rational::from_big(end, UBig::ONE << bits);
            let fine = 3000;
            let value = |end: UBig| Rational::from_big(end, UBig::ONE << fine);
            // e^−lo ≥ x ≥ e^−hi.
            assert!(value(exp_neg(&real(lo), fine).hi) >= *x, "{x} at {bits}");
            assert!(value(exp_neg(&real(hi), fine).lo) <= *x, "{x} at {bits}");
        }
    }

    #[test]
    fn known_digits() {
        let ln_3 = neg_ln(&"1/3".parse().unwrap(), 120);
        let digits: Rational = "1.0986122886681096913952452369225257046474905578".parse().unwrap();
        let scaled = digits * Rational::from_big(UBig::ONE << 120, UBig::ONE);
        let lo = Rational::from_big(ln_3.lo, UBig::ONE);
        assert!(lo <= scaled && scaled <= Rational::from_big(ln_3.hi, UBig::ONE));
    }
}
