//! Exact fractions, read from and written as decimal text.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};
use std::str::FromStr;

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::serde_as_text;

const ALLOWED: &str = "a finite number such as 1, 0.25, 1e-8 or 1/3";
/// Decimal text is read up to this many digits and this exponent: far beyond any budget, so that no line of text can
/// cause a gigabyte of digits.
const MAX_DECIMAL: usize = 400;
/// The maximum number of digits on either side of a fraction.
const MAX_FRACTION: usize = 100_000;

/// An exact fraction.
///
/// Budgets use these because binary floats cannot be added exactly: as `f64`, ten charges of 0.1 exceed 1.
///
/// # Example
/// ```
/// use reticent::exact::Rational;
///
/// let tenth: Rational = "0.1".parse()?;
/// let sum: Rational = (0..10).map(|_| tenth.clone()).sum();
/// assert_eq!(sum, Rational::from(1));
/// assert!((0..10).map(|_| 0.1).sum::<f64>() != 1.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Rational(RBig);

impl Rational {
    /// Zero.
    pub const ZERO: Self = Self(RBig::ZERO);
    /// One.
    pub const ONE: Self = Self(RBig::ONE);

    /// `numerator / denominator`.
    ///
    /// # Errors
    /// If the denominator is zero.
    pub fn new(numerator: i64, denominator: u64) -> Result<Self> {
        if denominator == 0 {
            return Err(Error::parameter("denominator", 0, "a whole number of at least 1"));
        }
        Ok(Self(RBig::from_parts(numerator.into(), denominator.into())))
    }

    pub(crate) fn from_big(numerator: UBig, denominator: UBig) -> Self {
        Self(RBig::from_parts(numerator.into(), denominator))
    }

    /// The numerator's magnitude.
    pub(crate) fn numerator(&self) -> UBig {
        let (_, magnitude) = self.0.numerator().clone().into_parts();
        magnitude
    }

    pub(crate) fn denominator(&self) -> &UBig {
        self.0.denominator()
    }

    /// The largest whole number that is not larger.
    pub(crate) fn floor(&self) -> IBig {
        self.0.floor()
    }

    /// The smallest whole number that is not smaller.
    pub(crate) fn ceil(&self) -> IBig {
        self.0.ceil()
    }

    /// Is it greater than zero?
    pub fn is_positive(&self) -> bool {
        self > &Self::ZERO
    }

    /// Is it zero?
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// The nearest `f64`, for printing and for estimates that are verified afterwards.
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64().value()
    }

    /// The smallest `f64` that is not below it.
    ///
    /// ```
    /// # use reticent::exact::Rational;
    /// let third = Rational::new(1, 3)?;
    /// assert!(Rational::try_from(third.to_f64_up())? >= third);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn to_f64_up(&self) -> f64 {
        let near = self.to_f64();
        match Self::from_f64_bits(near) {
            Some(exact) if exact < *self => near.next_up(),
            None => near.max(f64::MIN),
            _ => near,
        }
    }

    /// The largest `f64` that is not above it.
    pub fn to_f64_down(&self) -> f64 {
        let near = self.to_f64();
        match Self::from_f64_bits(near) {
            Some(exact) if exact > *self => near.next_down(),
            None => near.min(f64::MAX),
            _ => near,
        }
    }

    /// The exact binary value of a float (`None` for NaN and infinities): 0.1 gives 3602879701896397/2^55.
    ///
    /// To read what a person wrote, use [`FromStr`] or `TryFrom<f64>`.
    pub fn from_f64_bits(value: f64) -> Option<Self> {
        RBig::try_from(value).ok().map(Self)
    }

    /// The fraction's square.
    pub fn square(&self) -> Self {
        self * self
    }

    /// `1 / self`.
    ///
    /// # Errors
    /// If it is zero.
    pub fn recip(&self) -> Result<Self> {
        if self.is_zero() {
            return Err(Error::parameter("divisor", 0, "a number other than 0"));
        }
        Ok(Self(RBig::ONE / &self.0))
    }

    /// The smallest number with `digits` significant decimal digits that is not below it; itself if it has no more.
    ///
    /// ```
    /// # use reticent::exact::Rational;
    /// assert_eq!(Rational::new(1, 3)?.round_up(4).to_string(), "0.3334");
    /// assert_eq!(Rational::new(1, 4)?.round_up(4).to_string(), "0.25");
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn round_up(&self, digits: u32) -> Self {
        self.round(digits, Self::ceil)
    }

    /// The largest number with `digits` significant decimal digits that is not above it; itself if it has no more.
    ///
    /// ```
    /// # use reticent::exact::Rational;
    /// assert_eq!(Rational::new(2, 3)?.round_down(4).to_string(), "0.6666");
    /// assert_eq!(Rational::new(1, 4)?.round_down(4).to_string(), "0.25");
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn round_down(&self, digits: u32) -> Self {
        self.round(digits, Self::floor)
    }

    fn round(&self, digits: u32, to_whole: impl Fn(&Self) -> IBig) -> Self {
        if !self.is_positive() {
            return self.clone();
        }
        let ten = Self::from(10);
        let power = |exponent: i64| {
            let magnitude = Self(RBig::from(UBig::from(10u8).pow(exponent.unsigned_abs() as usize)));
            if exponent < 0 { Self(RBig::ONE / magnitude.0) } else { magnitude }
        };
        let integer_digits = |value: &UBig| value.to_string().len() as i64;
        let mut exponent = integer_digits(&self.numerator()) - integer_digits(self.denominator());
        while power(exponent) > *self {
            exponent -= 1;
        }
        while &power(exponent) * &ten <= *self {
            exponent += 1;
        }
        let step = power(exponent - i64::from(digits) + 1);
        Self(RBig::from(to_whole(&(self / &step)))) * step
    }

    /// Decimal text with at most `MAX_DIGITS` significant digits, if the expansion is finite and short enough.
    fn finite_decimal(&self) -> Option<String> {
        const MAX_DIGITS: usize = 60;
        let (two, five) = (UBig::from(2u8), UBig::from(5u8));
        let mut rest = self.denominator().clone();
        let (mut twos, mut fives) = (0usize, 0usize);
        while (&rest % &two).is_zero() {
            rest /= &two;
            twos += 1;
        }
        while (&rest % &five).is_zero() {
            rest /= &five;
            fives += 1;
        }
        let places = twos.max(fives);
        if !rest.is_one() || places > MAX_DECIMAL {
            return None;
        }
        let digits = (self.numerator() * UBig::from(10u8).pow(places) / self.denominator()).to_string();
        if digits.len() > MAX_DIGITS {
            return None;
        }
        let sign = if self < &Self::ZERO { "-" } else { "" };
        if places == 0 {
            return Some(format!("{sign}{digits}"));
        }
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, part) = padded.split_at(padded.len() - places);
        let leading_zeros = part.len() - part.trim_start_matches('0').len();
        if whole == "0" && leading_zeros >= 4 {
            let significant = &part[leading_zeros..];
            let (first, more) = significant.split_at(1);
            let point = if more.is_empty() { "" } else { "." };
            return Some(format!("{sign}{first}{point}{more}e-{}", leading_zeros + 1));
        }
        Some(format!("{sign}{whole}.{part}"))
    }

    /// One side of a fraction: a decimal, or a whole number as long as sums of many fractions may grow.
    fn parse_part(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole && digits.len() <= MAX_FRACTION {
            return text.parse::<IBig>().ok().map(|whole| Self(RBig::from(whole)));
        }
        Self::parse_decimal(text)
    }

    fn parse_decimal(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{part}");
        let well_formed = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !well_formed || digits.len() > MAX_DECIMAL || exponent.unsigned_abs() > MAX_DECIMAL as u64 {
            return None;
        }
        let numerator = digits.parse::<IBig>().ok()?;
        let numerator = if negative { -numerator } else { numerator };
        let shift = exponent - part.len() as i64;
        let power = UBig::from(10u8).pow(shift.unsigned_abs() as usize);
        Some(Self(if shift >= 0 {
            RBig::from(numerator * IBig::from(power))
        } else {
            RBig::from_parts(numerator, power)
        }))
    }
}

impl FromStr for Rational {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let trimmed = text.trim();
        let parsed = match trimmed.split_once('/') {
            Some((numerator, denominator)) => {
                match (Self::parse_part(numerator.trim()), Self::parse_part(denominator.trim())) {
                    (Some(numerator), Some(denominator)) if !denominator.is_zero() => Some(&numerator / &denominator),
                    _ => None,
                }
            }
            None => Self::parse_decimal(trimmed),
        };
        parsed.ok_or_else(|| Error::parameter("number", format!("{text:?}"), ALLOWED))
    }
}

/// Finite expansions are written as decimals (`0.1`, `1e-8`), others as fractions (`1/3`); reading the text back
/// gives the same number.
impl fmt::Display for Rational {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.finite_decimal() {
            Some(text) => formatter.write_str(&text),
            None => write!(formatter, "{}/{}", self.0.numerator(), self.0.denominator()),
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

serde_as_text!(Rational);

/// Reads the shortest decimal that denotes the float, which is what a person wrote: `0.1` becomes 1/10.
impl TryFrom<f64> for Rational {
    type Error = Error;

    fn try_from(value: f64) -> Result<Self> {
        if !value.is_finite() {
            return Err(Error::parameter("number", value, ALLOWED));
        }
        format!("{value:e}").parse()
    }
}

impl From<u64> for Rational {
    fn from(value: u64) -> Self {
        Self(RBig::from(value))
    }
}

impl From<i64> for Rational {
    fn from(value: i64) -> Self {
        Self(RBig::from(value))
    }
}

impl From<i32> for Rational {
    fn from(value: i32) -> Self {
        Self(RBig::from(value))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl $trait<&Rational> for &Rational {
            type Output = Rational;

            fn $method(self, other: &Rational) -> Rational {
                Rational((&self.0).$method(&other.0))
            }
        }

        impl $trait for Rational {
            type Output = Rational;

            fn $method(self, other: Rational) -> Rational {
                Rational(self.0.$method(other.0))
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl Sum for Rational {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, |total, term| total + term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rational(text: &str) -> Rational {
        text.parse().expect(text)
    }

    #[test]
    fn decimal_text_is_exact() {
        assert_eq!(rational("0.1"), Rational::new(1, 10).unwrap());
        assert_eq!(rational("1e-8"), Rational::new(1, 100_000_000).unwrap());
        assert_eq!(rational("2.5E2"), Rational::from(250));
        assert_eq!(rational("1/3") * Rational::from(3), Rational::ONE);
        assert_eq!(rational("0.5/0.25"), Rational::from(2));
        assert_eq!(Rational::try_from(0.1).unwrap(), rational("0.1"));
    }

    #[test]
    fn nonsense_is_refused_and_named() {
        for text in ["", "x", "1/0", "--1", "1e", "NaN", "inf", "1e999", "0x10", "1 2", ".", "1_000"] {
            let error = text.parse::<Rational>().unwrap_err();
            assert!(error.is_parameter(), "{text}");
            assert!(error.to_string().contains(text), "{error}");
        }
        assert!("9".repeat(MAX_DECIMAL + 1).parse::<Rational>().is_err());
        assert!(Rational::try_from(f64::NAN).is_err());
        assert!(Rational::try_from(f64::INFINITY).is_err());
    }

    #[test]
    fn text_is_the_shortest_exact_form() {
        for text in ["0", "1", "-1.5", "0.125", "1e-8", "1.25e-6", "0.001", "1/3", "-22/7", "1000000"] {
            assert_eq!(rational(text).to_string(), text);
        }
    }

    #[test]
    fn sums_of_many_fractions_and_extreme_numbers_read_back() {
        let harmonic: Rational = (1..=1500).map(|n| Rational::new(1, n).unwrap()).sum();
        for value in [harmonic, rational("1e400"), rational("0.1e-400"), rational("1e-400/3"), rational("-1e399/7")] {
            assert_eq!(rational(&value.to_string()), value);
        }
    }

    #[test]
    fn json_goes_through_the_constructor() {
        assert_eq!(serde_json::to_string(&rational("0.10")).unwrap(), "\"0.1\"");
        assert!(serde_json::from_str::<Rational>("\"1/0\"").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(numerator in any::<i64>(), denominator in 1u64..) {
            let value = Rational::new(numerator, denominator).unwrap();
            prop_assert_eq!(rational(&value.to_string()), value);
        }

        #[test]
        fn floats_enclose(numerator in any::<i64>(), denominator in 1u64..) {
            let value = Rational::new(numerator, denominator).unwrap();
            let (down, up) = (value.to_f64_down(), value.to_f64_up());
            prop_assert!(Rational::from_f64_bits(down).unwrap() <= value);
            prop_assert!(Rational::from_f64_bits(up).unwrap() >= value);
            prop_assert!(up <= down.next_up());
        }
    }
}
