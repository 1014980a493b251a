//! What is released: kept by the ledger before it is printed, and printed as it was kept.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use reticent::privacy::Guarantee;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::plan::{Mechanism, Plan};
use crate::exit;
use crate::output::{self, Format, csv_line, number_table};

/// Digits of a half-width that say something.
const DIGITS: i32 = 2;

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// What most blocks say.
    Answer(String),
    /// The mean of what the blocks say, with noise.
    Mean {
        /// The mean.
        value: f64,
        /// How far the noise, and blocks without an answer, may have carried it.
        half_width: f64,
        /// The probability that they did not carry it further.
        level: f64,
    },
    /// Too few blocks agree.
    Refused,
    /// The table could not be read to its end; there is no answer, and there will be none for this charge.
    Failed,
}

impl Kept {
    /// As it is kept.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("it is plain data")
    }

    /// As it was kept.
    ///
    /// # Errors
    /// If the ledger holds something else under this request.
    pub fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|_| anyhow!("what the ledger keeps for this request is not a subsample"))
    }

    /// Prints it and says how to end.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn show(&self, format: Format, plan: &Plan) -> Result<ExitCode> {
        if *self == Self::Failed {
            return Err(anyhow!("{}", reticent_sql::Error::Reading));
        }
        output::print(&match format {
            Format::Table => self.for_people(),
            Format::Json => format!("{}\n", self.json(plan.guarantee())),
            Format::Csv => self.csv(matches!(plan.mechanism(), Mechanism::Mean { .. })),
        })?;
        Ok(if *self == Self::Refused { ExitCode::from(exit::REFUSED) } else { ExitCode::SUCCESS })
    }

    fn json(&self, guarantee: &Guarantee) -> serde_json::Value {
        match self {
            Self::Answer(answer) => json!({"value": answer, "guarantee": guarantee}),
            Self::Mean { value, half_width, level } => {
                json!({"value": value, "half_width": half_width, "level": level, "guarantee": guarantee})
            }
            Self::Refused | Self::Failed => json!({"refused": true, "guarantee": guarantee}),
        }
    }

    /// The header says what was asked, not what came of it.
    fn csv(&self, is_mean: bool) -> String {
        let (header, nothing) = if is_mean { ("refused,value,half_width,level", ",,") } else { ("refused,value", "") };
        let line = match self {
            Self::Answer(answer) => format!("false,{}", csv_line(std::slice::from_ref(answer))),
            Self::Mean { value, half_width, level } => format!("false,{value},{half_width},{level}"),
            Self::Refused | Self::Failed => format!("true,{nothing}"),
        };
        format!("{header}\n{line}\n")
    }

    fn for_people(&self) -> String {
        match self {
            Self::Answer(answer) => format!("{answer}\n"),
            Self::Mean { value, half_width, level } => {
                let header = ["value".into(), format!("± ({} %)", (level * 1e6).round() / 1e4)];
                let row = vec![rounded(*value, *half_width, f64::round), rounded(*half_width, *half_width, f64::ceil)];
                format!("{}\n", number_table(&header.each_ref().map(String::as_str), [row]))
            }
            Self::Refused | Self::Failed => "refused\n".into(),
        }
    }
}

/// A number with as many digits as its half-width gives a meaning to.
fn rounded(value: f64, half_width: f64, round: fn(f64) -> f64) -> String {
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
            assert_eq!(Kept::from_text(&kept.to_text()).unwrap(), kept);
        }
        assert!(Kept::from_text("{\"releases\":[]}").is_err());
    }

    #[test]
    fn a_header_does_not_depend_on_what_came_of_it() {
        let mean = Kept::Mean { value: 1.5, half_width: 0.5, level: 0.95 };
        let lines = |kept: &Kept, is_mean| kept.csv(is_mean).lines().map(String::from).collect::<Vec<_>>();
        assert_eq!(lines(&mean, true), ["refused,value,half_width,level", "false,1.5,0.5,0.95"]);
        assert_eq!(lines(&Kept::Refused, true), ["refused,value,half_width,level", "true,,,"]);
        assert_eq!(lines(&Kept::Answer("x".into()), false)[0], lines(&Kept::Refused, false)[0]);
    }

    #[test]
    fn digits_that_the_noise_drowns_are_not_shown() {
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
