//! ε as a quotient of two small whole numbers, and coins of e^−ε.

use crate::error::{Error, Result};
use crate::noise::bits::BitSource;
use crate::noise::uniform::below_wide;

/// A number from 0 on with at most fifteen digits, exactly: both parts are below 2^53, so that their quotient as floats is rounded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amount {
    pub top: u64,
    /// The two have no divisor in common: smaller numbers take fewer random bits.
    pub bottom: u64,
}

const MOST_DIGITS: usize = 15;

impl Amount {
    /// Reads a decimal in the one way in which the library writes it: another text of the same number would be another task.
    pub fn read(name: &'static str, text: &str) -> Result<Self> {
        let refused =
            || Error::parameter(name, text, "a decimal of at most 15 digits without needless zeros, such as 0.5");
        let (whole, part) = match text.split_once('.') {
            Some((whole, part)) if !part.is_empty() && !part.ends_with('0') => (whole, part),
            Some(_) => return Err(refused()),
            None => (text, ""),
        };
        let is_plain = !whole.is_empty() && (whole == "0" || !whole.starts_with('0'));
        let digits = || whole.bytes().chain(part.bytes());
        if !is_plain || whole.len() + part.len() > MOST_DIGITS || !digits().all(|digit| digit.is_ascii_digit()) {
            return Err(refused());
        }
        let top = digits().fold(0, |number, digit| 10 * number + u64::from(digit - b'0'));
        let (mut top, mut bottom) = (top, 10u64.pow(part.len() as u32));
        for prime in [2, 5] {
            while top.is_multiple_of(prime) && bottom.is_multiple_of(prime) {
                (top, bottom) = (top / prime, bottom / prime);
            }
        }
        Ok(Self { top, bottom })
    }

    pub fn is_zero(&self) -> bool {
        self.top == 0
    }

    /// ⌊self / other⌋; 0 if the other is 0.
    pub fn over(&self, other: &Self) -> u64 {
        let (top, bottom) = (self.top as u128 * other.bottom as u128, self.bottom as u128 * other.top as u128);
        top.checked_div(bottom).map_or(0, |quotient| u64::try_from(quotient).unwrap_or(u64::MAX))
    }

    pub fn to_f64(&self) -> f64 {
        self.top as f64 / self.bottom as f64
    }

    /// True with probability e^−self, exactly.
    ///
    /// # Algorithm
    /// \[CKS20\], Algorithm 1: e^−γ = e^−1·…·e^−1·e^−(rest); and for γ ≤ 1, of coins with γ/1, γ/2, γ/3, … the first that fails
    /// is one of odd number with probability 1 − γ + γ²/2 − … = e^−γ.
    pub fn exp_neg<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<bool, B::Error> {
        for _ in 0..self.top / self.bottom {
            if !exp_neg_below_one(1, 1, source)? {
                return Ok(false);
            }
        }
        exp_neg_below_one(self.top % self.bottom, self.bottom, source)
    }

    /// True with probability 1/(1+e^self), exactly: a fair coin says no, or e^−self says yes, or it begins anew.
    pub fn lie<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<bool, B::Error> {
        loop {
            if source.bits(1)? == 1 {
                return Ok(false);
            }
            if self.exp_neg(source)? {
                return Ok(true);
            }
        }
    }
}

fn exp_neg_below_one<B: BitSource + ?Sized>(top: u64, bottom: u64, source: &mut B) -> Result<bool, B::Error> {
    let mut number = 1u64;
    // A quotient of 0 fails at once, for any bits.
    while top > 0 && below_wide(u128::from(bottom) * u128::from(number), source)? < u128::from(top) {
        number += 1;
    }
    Ok(number % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::exact::Rational;
    use crate::exact::enclosure::exp_neg;
    use crate::exact::exp_fraction::ExpFraction;

    #[test]
    fn decimals_are_read_in_one_way() {
        for (text, top, bottom) in [("1", 1, 1), ("0.5", 1, 2), ("12.05", 241, 20), ("0", 0, 1), ("1000", 1000, 1)] {
            assert_eq!(Amount::read("epsilon", text).unwrap(), Amount { top, bottom }, "{text}");
        }
        for wrong in ["", ".5", "1.", "1.0", "01", "+1", "-1", "1e3", "1/2", "0.1234567890123456", "1 ", "٣"] {
            assert!(Amount::read("epsilon", wrong).unwrap_err().to_string().starts_with("epsilon is "), "{wrong}");
        }
        let [half, two, third] = ["0.5", "2", "0.3"].map(|text| Amount::read("epsilon", text).unwrap());
        assert_eq!((two.over(&half), half.over(&two), two.over(&third)), (4, 0, 6));
    }

    /// What each branch of the coin ends in, against e^−ε and 1/(1+e^ε) from the library's own arithmetic.
    #[test]
    fn coins_are_exact() {
        const BITS: usize = 128;
        const DEPTH: usize = 22;
        for text in ["0", "0.5", "1", "1.5", "2", "3"] {
            let amount = Amount::read("epsilon", text).unwrap();
            let exact: Rational = text.parse().unwrap();
            let coin = enumerate(DEPTH, |tape| amount.exp_neg(tape));
            assert!(coin.admits_enclosure(&true, &exp_neg(&exact, BITS), BITS), "{text}");
            assert!(coin.unresolved().to_f64() < 0.02, "{text}: {}", coin.unresolved().to_f64());
            if exact.is_positive() {
                let lie = enumerate(DEPTH, |tape| amount.lie(tape));
                let range = ExpFraction::new(&exact, (0, 1), (1, 1)).range();
                assert!(lie.unresolved().to_f64() < 0.06, "{text}: {}", lie.unresolved().to_f64());
                assert!(lie.mass(&true) <= *range.end(), "{text}");
                assert!(*range.start() <= lie.mass(&true) + lie.unresolved().clone(), "{text}");
            }
        }
    }
}
