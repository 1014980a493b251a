//! The outcome of a subsample, stored in the ledger before it is shown.

use reticent::privacy::Guarantee;
use reticent::text::csv_field;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The number of significant digits of a half-width.
const DIGITS: i32 = 2;

/// The outcome of a subsample, as stored in a ledger: repeating the request returns the same outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// The most frequent answer.
    Answer(String),
    /// The noisy mean of the answers.
    Mean {
        /// The mean.
        value: f64,
        /// The half-width of its error bar, which covers the noise and the blocks without an answer.
        half_width: f64,
        /// The level of the error bar.
        level: f64,
    },
    /// Refused: too few blocks agree, or too many have no answer.
    Refused,
    /// The table could not be read to its end. This charge has no answer and never will.
    Failed,
}

impl Kept {
    /// The text to store.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("it is plain data")
    }

    /// Parses a stored text.
    ///
    /// # Errors
    /// [`Error::NotAnOutcome`] if it is something else.
    pub fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|_| Error::NotAnOutcome)
    }

    /// The outcome for programs.
    pub fn to_json(&self, guarantee: &Guarantee) -> Value {
        match self {
            Self::Answer(answer) => json!({"value": answer, "guarantee": guarantee}),
            Self::Mean { value, half_width, level } => {
                json!({"value": value, "half_width": half_width, "level": level, "guarantee": guarantee})
            }
            Self::Refused | Self::Failed => json!({"refused": true, "guarantee": guarantee}),
        }
    }

    /// The outcome as CSV; the header depends on the question, not on the outcome.
    pub fn to_csv(&self, is_mean: bool) -> String {
        let (header, nothing) = if is_mean { ("refused,value,half_width,level", ",,") } else { ("refused,value", "") };
        let line = match self {
            Self::Answer(answer) => format!("false,{}", csv_field(answer)),
            Self::Mean { value, half_width, level } => format!("false,{value},{half_width},{level}"),
            Self::Refused | Self::Failed => format!("true,{nothing}"),
        };
        format!("{header}\n{line}\n")
    }
}

/// A number with as many digits as its half-width makes meaningful.
pub fn rounded(value: f64, half_width: f64, round: fn(f64) -> f64) -> String {
    if !(half_width.is_finite() && half_width > 0.0) {
        return value.to_string();
    }
    let decimals = DIGITS - 1 - half_width.log10().floor() as i32;
    let unit = 10f64.powi(decimals.clamp(-300, 300));
    format!("{:.*}", decimals.clamp(0, 300) as usize, round(value * unit) / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let mean = Kept::Mean { value: 1.0 / 3.0, half_width: 0.1, level: 0.95 };
        for kept in [Kept::Answer("say \"yes\"".into()), mean, Kept::Refused, Kept::Failed] {
            assert_eq!(Kept::from_text(&kept.to_text()), Ok(kept));
        }
        assert_eq!(Kept::from_text("{\"releases\":[]}"), Err(Error::NotAnOutcome));
    }

    #[test]
    fn the_header_does_not_depend_on_the_outcome() {
        let mean = Kept::Mean { value: 1.5, half_width: 0.5, level: 0.95 };
        let lines = |kept: &Kept, is_mean| kept.to_csv(is_mean).lines().map(String::from).collect::<Vec<_>>();
        assert_eq!(lines(&mean, true), ["refused,value,half_width,level", "false,1.5,0.5,0.95"]);
        assert_eq!(lines(&Kept::Refused, true), ["refused,value,half_width,level", "true,,,"]);
        assert_eq!(lines(&Kept::Answer("x".into()), false)[0], lines(&Kept::Refused, false)[0]);
    }

    #[test]
    fn digits_below_the_noise_are_not_shown() {
        for (value, half_width, expected) in [
            (45.123_456, 1.234, ("45.1", "1.3")),
            (45_123.456, 123.4, ("45120", "130")),
            (0.012_345_6, 0.000_123, ("0.01235", "0.00013")),
            (-3.0, 0.0, ("-3", "0")),
        ] {
            let shown = (rounded(value, half_width, f64::round), rounded(half_width, half_width, f64::ceil));
            assert_eq!((shown.0.as_str(), shown.1.as_str()), expected);
        }
    }
}
