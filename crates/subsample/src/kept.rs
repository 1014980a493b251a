//! The outcome of a subsample, stored in the ledger before it is shown.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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
}
