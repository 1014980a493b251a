//! ε as a quotient of two small whole numbers, and coins of e^−ε.

use super::super::task::rules::{LONGEST_LIFETIME, MOST_ANSWERS};
use crate::error::{Error, Result};
use crate::noise::bits::BitSource;
use crate::noise::uniform::below_wide;

/// A non-negative number with at most fifteen digits, exactly: both parts are below 2^53, so that their quotient as
/// floats is rounded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amount {
    pub top: u64,
    /// The two parts have no common divisor: smaller numbers take fewer random bits.
    pub bottom: u64,
}

const MOST_DIGITS: usize = 15;

impl Amount {
    /// Reads a decimal only in the form in which the library writes it: another text of the same number would be
    /// another task.
    pub fn read(name: &'static str, text: &str) -> Result<Self> {
        let refused =
            || Error::parameter(name, text, "a decimal of at most 15 digits without needless zeros, such as 0.5");
        let (top, decimals) = decimal(text).filter(|_| text.len() <= MOST_DIGITS + 1).ok_or_else(refused)?;
        let top = u64::try_from(top).ok().filter(|top| *top < 10u64.pow(MOST_DIGITS as u32)).ok_or_else(refused)?;
        let (mut top, mut bottom) = (top, 10u64.pow(decimals));
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

    /// The number of answers at `other` that this pays for.
    pub fn over(&self, other: &Self) -> Result<u64> {
        answers(self.top as u128 * other.bottom as u128, self.bottom as u128 * other.top as u128)
    }

    pub fn to_f64(&self) -> f64 {
        self.top as f64 / self.bottom as f64
    }

    /// True with probability e^−self, exactly.
    ///
    /// # Algorithm
    /// \[CKS20\]: e^−γ = e^−1·…·e^−1·e^−(rest); and for γ ≤ 1, of coins with γ/1, γ/2, γ/3, … the first that fails
    /// is one of odd number with probability 1 − γ + γ²/2 − … = e^−γ.
    pub fn exp_neg<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<bool, B::Error> {
        for _ in 0..self.top / self.bottom {
            if !exp_neg_below_one(1, 1, source)? {
                return Ok(false);
            }
        }
        exp_neg_below_one(self.top % self.bottom, self.bottom, source)
    }

    /// True with probability 1/(1+e^self), exactly: a fair coin says no, or e^−self says yes, or it starts over.
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

/// ln 3 rounded up, as two fair coins are charged, in units of 10^−19.
const LN_3: u128 = 10_986_122_886_681_096_914;

/// The number of answers by two fair coins, whose ε has more digits than an [`Amount`], that this lifetime ε pays for.
pub(super) fn answers_of_coins(lifetime: &str) -> Result<u64> {
    const DECIMALS: u32 = 19;
    let refused = || Error::parameter("lifetime-epsilon", lifetime, "a decimal of at most 19 places after the point");
    let (top, decimals) = decimal(lifetime).filter(|(_, decimals)| *decimals <= DECIMALS).ok_or_else(refused)?;
    answers(top.checked_mul(10u128.pow(DECIMALS - decimals)).ok_or_else(refused)?, LN_3)
}

/// ⌊lifetime / each⌋, within the limit for tasks.
fn answers(lifetime: u128, each: u128) -> Result<u64> {
    let below = || Error::parameter("lifetime-epsilon", "less than epsilon", "at least epsilon");
    let answers = lifetime.checked_div(each).filter(|answers| *answers > 0).ok_or_else(below)?;
    // The quotient may be slightly more than a million.
    let most = u128::from(MOST_ANSWERS);
    if answers > most || answers == most && !lifetime.is_multiple_of(each) {
        return Err(Error::parameter("lifetime-epsilon", "larger", LONGEST_LIFETIME));
    }
    Ok(answers as u64)
}

/// Is it more than this whole number? `false` for text that is not a decimal.
pub(super) fn is_above(text: &str, whole: u64) -> bool {
    decimal(text).is_some_and(|(digits, decimals)| {
        // A power that is too large for 128 bits exceeds all digits that fit in them.
        10u128.checked_pow(decimals).and_then(|one| one.checked_mul(whole.into())).is_some_and(|limit| digits > limit)
    })
}

/// The digits of a decimal as one number, and how many of them are after the point; `None` unless it is in the form in
/// which the library writes it.
fn decimal(text: &str) -> Option<(u128, u32)> {
    /// With this many digits, 128 bits are enough for any sum.
    const MOST: usize = 38;
    let (whole, part) = match text.split_once('.') {
        Some((whole, part)) if !part.is_empty() && !part.ends_with('0') => (whole, part),
        Some(_) => return None,
        None => (text, ""),
    };
    let is_plain = !whole.is_empty() && (whole == "0" || !whole.starts_with('0'));
    let digits = || whole.bytes().chain(part.bytes());
    if !is_plain || whole.len() + part.len() > MOST || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some((digits().fold(0, |number, digit| 10 * number + u128::from(digit - b'0')), part.len() as u32))
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
    }

    #[test]
    fn what_is_above_ten_is_so_in_any_number_of_digits() {
        for above in ["10.1", "11", "10.0000000000000000001", "1000"] {
            assert!(is_above(above, 10), "{above}");
        }
        for below in ["10", "9.9999999999999999999", "0", "0.00000000000000000000000000000000000011"] {
            assert!(!is_above(below, 10), "{below}");
        }
    }

    #[test]
    fn a_lifetime_pays_for_whole_answers() {
        let read = |text: &str| Amount::read("epsilon", text).unwrap();
        let over = |lifetime: &str, epsilon: &str| read(lifetime).over(&read(epsilon)).ok();
        assert_eq!(
            (over("2", "0.5"), over("0.5", "2"), over("2", "0.3"), over("1", "0")),
            (Some(4), None, Some(6), None)
        );
        assert_eq!((over("1000000", "1"), over("1000000.1", "1"), over("1000001", "1")), (Some(1_000_000), None, None));
        for (lifetime, answers) in [
            ("1.0986122886681096914", Some(1)),
            ("1.0986122886681096913", None),
            ("3.2958368660043290741", Some(2)),
            ("3.2958368660043290742", Some(3)),
            ("1098612.2886681096914", Some(1_000_000)),
            ("1098612.2886681096915", None),
            ("0", None),
            ("3.29583686600432907420", None),
            ("99999999999999999999999999999999999999", None),
        ] {
            assert_eq!(answers_of_coins(lifetime).ok(), answers, "{lifetime}");
        }
    }

    /// The outcome of each branch of the coin, against e^−ε and 1/(1+e^ε) from the library's own arithmetic.
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
