//! Clamping bounds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::text::serde_as_text;

const ALLOWED: &str = "two numbers with the smaller first; write for example 0..120";

/// A public range lower..upper, both ends included.
///
/// Choose bounds without looking at the data: they decide how much noise a sum needs, and values outside are moved to
/// the nearer end.
///
/// # Example
/// ```
/// use reticent::statistic::Bounds;
///
/// let age: Bounds = "0..120".parse()?;
/// assert_eq!(age.to_string(), "0..120");
/// assert!("120..0".parse::<Bounds>().is_err());
/// assert!("0..0".parse::<Bounds>().is_err());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Bounds {
    lower: Rational,
    upper: Rational,
}

impl Bounds {
    /// From `lower` to `upper`.
    ///
    /// # Errors
    /// If they are equal or the wrong way round, or larger than 10^140 or closer together than 10^−140: their squares
    /// must be representable as floats.
    pub fn new(lower: Rational, upper: Rational) -> Result<Self> {
        let text = || format!("{lower}..{upper}");
        if lower >= upper {
            return Err(Error::parameter("bounds", text(), ALLOWED));
        }
        let most: Rational = "1e140".parse()?;
        let least: Rational = "1e-140".parse()?;
        let magnitude = |end: &Rational| if *end < Rational::ZERO { &Rational::ZERO - end } else { end.clone() };
        if magnitude(&lower) > most || magnitude(&upper) > most || &upper - &lower < least {
            return Err(Error::parameter("bounds", text(), "within ±1e140 and at least 1e-140 apart"));
        }
        Ok(Self { lower, upper })
    }

    /// The smaller end.
    pub fn lower(&self) -> &Rational {
        &self.lower
    }

    /// The larger end.
    pub fn upper(&self) -> &Rational {
        &self.upper
    }
}

impl FromStr for Bounds {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::parameter("bounds", text, ALLOWED);
        let (lower, upper) = text.split_once("..").ok_or_else(wrong)?;
        let number = |part: &str| part.trim().parse::<Rational>().map_err(|_| wrong());
        Self::new(number(lower)?, number(upper)?)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", self.lower, self.upper)
    }
}

serde_as_text!(Bounds);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_range_is_refused_by_name() {
        for text in ["", "5", "1..", "..1", "a..b", "2..1", "1..1", "NaN..1", "0..inf", "0..1e141", "0..1e-141"] {
            let error = text.parse::<Bounds>().unwrap_err();
            assert!(error.to_string().starts_with("bounds is "), "{error}");
        }
        for text in ["-1.5..2", "1/3..0.5", "-1e140..1e140"] {
            assert!(text.parse::<Bounds>().is_ok(), "{text}");
        }
    }

    #[test]
    fn json_reads_back() {
        let bounds: Bounds = "-0.5..7".parse().unwrap();
        let json = serde_json::to_string(&bounds).unwrap();
        assert_eq!(json, "\"-0.5..7\"");
        assert_eq!(serde_json::from_str::<Bounds>(&json).unwrap(), bounds);
        assert!(serde_json::from_str::<Bounds>("\"7..0\"").is_err());
    }
}
