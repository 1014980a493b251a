//! Many values of a Gaussian curve at once.

use crate::exact::Rational;
use crate::exact::enclosure::{exp_neg, multiply_high};

/// e^−cv² for v < count ≤ 2^10 with 128 fractional bits, rounded down: the first as 1 − 2^−128, then e^−c(v+1)² =
/// e^−cv²·q_v with q_v = e^−c(2v+1) and q_(v+1) = q_v·e^−2c.
///
/// Every product loses at most 2 units and its factors' errors do not grow, so q_v is too small by at most 2v + 1 units and
/// the v-th power by at most [`most_missing`].
pub(super) fn of_squares(c: &Rational, count: usize) -> Vec<u128> {
    let fraction = |x: &Rational| u128::try_from(&exp_neg(x, 128).lo).unwrap_or(u128::MAX);
    let (mut quotient, step) = (fraction(c), fraction(&(c * &Rational::from(2))));
    let mut power = u128::MAX;
    let mut powers = Vec::with_capacity(count);
    for _ in 0..count {
        powers.push(power);
        power = multiply_high(power, quotient);
        quotient = multiply_high(quotient, step);
    }
    powers
}

/// Units of 2^−128 by which [`of_squares`] may be too small at v: 1 + Σ_{u<v}(2·(2u+1) + 4) ≤ 2v² + 6v + 1, the enclosures
/// of the first quotient and of the step (3 units each) included.
pub(super) fn most_missing(v: u128) -> u128 {
    2 * v * v + 6 * v + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_int::UBig;

    #[test]
    fn powers_are_below_the_curve_by_no_more_than_stated() {
        for c in ["1e-6", "0.0005", "0.02", "1/3", "5"] {
            let c: Rational = c.parse().unwrap();
            for (v, power) in (0..).zip(of_squares(&c, 600)) {
                let exact = exp_neg(&(&c * &Rational::from(v as u64).square()), 128);
                assert!(UBig::from(power) <= exact.hi, "{c} {v}");
                assert!(exact.lo <= UBig::from(power) + UBig::from(most_missing(v)), "{c} {v}");
            }
        }
    }
}
