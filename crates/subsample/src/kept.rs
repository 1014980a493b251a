//! The outcome of a subsample, stored in the ledger before it is shown.

use reticent::privacy::Guarantee;
use reticent::text::csv_field;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The number of significant digits of a half-width.
const DIGITS: i32 = 2;

/// What a subsample released, as stored in a ledger: repeating the request returns the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Kept {
    /// The outcome.
    pub outcome: Outcome,
    /// How many runs gave no answer; `None` if the statistic ran once, on the whole table, or was stored before this
    /// was released.
    pub unanswered: Option<Unanswered>,
}

/// The outcome of a subsample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The most frequent answer, or that of the whole table.
    Answer(String),
    /// The noisy mean of the answers.
    Mean {
        /// The mean.
        value: f64,
        /// The half-width of its error bar, which is about the mean of the blocks' answers.
        half_width: f64,
        /// The level of the error bar.
        level: f64,
    },
    /// Refused: the answer is not stable, or most runs gave none.
    Refused,
    /// The table does not have as many rows as was stated, so that no sample was drawn. Under replacement the number of
    /// rows is public.
    OtherRows,
    /// The table could not be read to its end. This charge has no answer and never will.
    Failed,
}

/// The noisy number of runs that gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Unanswered {
    /// The number.
    pub number: u64,
    /// The number of all runs.
    pub of: u64,
    /// The half-width of the number's error bar.
    pub half_width: f64,
    /// The level of the error bar.
    pub level: f64,
}

impl From<reticent::mechanism::subsample::Unanswered> for Unanswered {
    fn from(unanswered: reticent::mechanism::subsample::Unanswered) -> Self {
        let (number, of, error) = (unanswered.number(), unanswered.of(), unanswered.error_bar());
        Self { number, of, half_width: error.half_width(), level: error.level() }
    }
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, of, half_width, level } = self;
        write!(formatter, "{number} ± {half_width} of {of} runs gave no answer ({})", percent(*level))
    }
}

/// The text of an outcome: with the number, if there is one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Counted { outcome: Outcome, unanswered: Unanswered },
    Alone(Outcome),
}

impl From<Stored> for Kept {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Counted { outcome, unanswered } => Self { outcome, unanswered: Some(unanswered) },
            Stored::Alone(outcome) => outcome.into(),
        }
    }
}

impl From<Kept> for Stored {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept { outcome, unanswered: Some(unanswered) } => Self::Counted { outcome, unanswered },
            Kept { outcome, unanswered: None } => Self::Alone(outcome),
        }
    }
}

impl From<Outcome> for Kept {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, unanswered: None }
    }
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

    /// Whether nothing was released but the number of runs without an answer.
    pub fn is_refused(&self) -> bool {
        matches!(self.outcome, Outcome::Refused | Outcome::OtherRows | Outcome::Failed)
    }

    /// The outcome for programs.
    pub fn to_json(&self, guarantee: &Guarantee) -> Value {
        let mut object = match &self.outcome {
            Outcome::Answer(answer) => json!({"value": answer}),
            Outcome::Mean { value, half_width, level } => {
                json!({"value": value, "half_width": half_width, "level": level, "about": ABOUT})
            }
            Outcome::OtherRows => json!({"refused": true, "reason": OTHER_ROWS}),
            Outcome::Refused | Outcome::Failed => json!({"refused": true}),
        };
        if let Some(unanswered) = self.unanswered {
            object["unanswered"] = json!(unanswered);
        }
        object["guarantee"] = json!(guarantee);
        object
    }

    /// The outcome as CSV; the header depends on the question, not on the outcome.
    pub fn to_csv(&self, is_mean: bool) -> String {
        let bar = if is_mean { ",half_width,level" } else { "" };
        let line = match &self.outcome {
            Outcome::Answer(answer) => format!("false,{}", csv_field(answer)),
            Outcome::Mean { value, half_width, level } => format!("false,{value},{half_width},{level}"),
            Outcome::Refused | Outcome::OtherRows | Outcome::Failed => {
                format!("true,{}", if is_mean { ",," } else { "" })
            }
        };
        let counted = self
            .unanswered
            .map_or_else(|| ",".into(), |Unanswered { number, half_width, .. }| format!("{number},{half_width}"));
        format!("refused,value{bar},unanswered,unanswered_half_width\n{line},{counted}\n")
    }
}

/// What the error bar of a mean is about.
pub const ABOUT: &str = "mean of the blocks' answers";

/// Why no sample was drawn.
pub const OTHER_ROWS: &str = "the table does not have the stated number of rows";

/// A level for people.
pub fn percent(level: f64) -> String {
    format!("{} %", (level * 1e6).round() / 1e4)
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

    const FEW: Unanswered = Unanswered { number: 3, of: 200, half_width: 6.0, level: 0.95 };

    #[test]
    fn what_is_kept_reads_back() {
        let mean = Outcome::Mean { value: 1.0 / 3.0, half_width: 0.1, level: 0.95 };
        let answer = Outcome::Answer("say \"yes\"".into());
        for outcome in [answer, mean, Outcome::Refused, Outcome::OtherRows, Outcome::Failed] {
            for unanswered in [None, Some(FEW)] {
                let kept = Kept { outcome: outcome.clone(), unanswered };
                assert_eq!(Kept::from_text(&kept.to_text()), Ok(kept));
            }
        }
        assert_eq!(Kept::from_text("{\"releases\":[]}"), Err(Error::NotAnOutcome));
    }

    #[test]
    fn the_header_does_not_depend_on_the_outcome() {
        let mean = Outcome::Mean { value: 1.5, half_width: 0.5, level: 0.95 };
        let lines = |outcome: Outcome, unanswered, is_mean| {
            let csv = Kept { outcome, unanswered }.to_csv(is_mean);
            csv.lines().map(String::from).collect::<Vec<_>>()
        };
        let header = "refused,value,half_width,level,unanswered,unanswered_half_width";
        assert_eq!(lines(mean, Some(FEW), true), [header, "false,1.5,0.5,0.95,3,6"]);
        assert_eq!(lines(Outcome::Refused, Some(FEW), true), [header, "true,,,,3,6"]);
        let header = "refused,value,unanswered,unanswered_half_width";
        assert_eq!(lines(Outcome::Answer("x".into()), None, false), [header, "false,x,,"]);
        assert_eq!(lines(Outcome::Refused, Some(FEW), false), [header, "true,,3,6"]);
        assert_eq!(FEW.to_string(), "3 ± 6 of 200 runs gave no answer (95 %)");
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
