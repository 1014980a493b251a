//! The permanent result of a charged query.

use std::panic::{AssertUnwindSafe, catch_unwind};

use reticent::Permit;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::query::Query;

/// A longer answer is too large: the ledger could not store it.
const LONGEST: usize = 1 << 27;

/// The result of a charged query. The ledger stores it with the request, and repeating the request returns it again.
///
/// # Privacy
/// Whether a run fails may depend on rows. If failures were not stored, a failed run could be repeated for the same
/// charge, and each attempt would reveal more; so a failure is an outcome like any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Released values, or refusals.
    Answer(Box<Answer>),
    /// There is no answer, and there will be none for this charge.
    Failed,
    /// Too much was computed from the released values. This depends on them alone and reveals nothing more, so it is no
    /// failure: otherwise a query could be written that fails whatever the rows, to have a dataset suspended.
    TooLarge,
}

impl Outcome {
    /// The stored form.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("an outcome is plain data")
    }

    /// Parses the stored form; `None` if it is something else. Earlier versions stored answers without a tag.
    pub fn from_text(text: &str) -> Option<Self> {
        let old = || serde_json::from_str(text).map(|answer| Self::Answer(Box::new(answer)));
        serde_json::from_str(text).or_else(|_| old()).ok()
    }

    /// Returns the answer.
    ///
    /// # Errors
    /// [`Error::Reading`] if the query failed; [`Error::AnswerTooLarge`].
    pub fn answer(self) -> Result<Answer> {
        match self {
            Self::Answer(answer) => Ok(*answer),
            Self::Failed => Err(Error::Reading),
            Self::TooLarge => Err(Error::AnswerTooLarge),
        }
    }
}

impl Query {
    /// Like [`Query::answer`], but failures and panics become outcomes, too.
    pub fn outcome(&self, permit: &mut Permit) -> Outcome {
        // The permit is not used again, and the query is not modified.
        let answered = catch_unwind(AssertUnwindSafe(|| self.answer(permit)));
        let outcome = match answered {
            Ok(Ok(answer)) => Outcome::Answer(Box::new(answer)),
            Ok(Err(Error::AnswerTooLarge)) => Outcome::TooLarge,
            Ok(Err(_)) | Err(_) => Outcome::Failed,
        };
        if outcome.to_text().len() > LONGEST { Outcome::TooLarge } else { outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{FoundBounds, Summary};

    #[test]
    fn what_is_kept_reads_back_also_what_was_kept_before_failures_were() {
        let summary = Summary {
            guarantee: "ε = 1".into(),
            unit: "row".into(),
            adjacency: "add-remove".into(),
            max_groups: 1,
            max_rows: 1,
            split: Vec::new(),
            bounds: vec![FoundBounds {
                column: "age".into(),
                bounds: None,
                most_below: None,
                most_above: None,
                enough: Some(40),
            }],
            half_widths: String::new(),
        };
        let (columns, bars, noise_only) = (vec!["n".into()], vec![true], vec![false]);
        let answer = Answer { columns, bars, noise_only, rows: Vec::new(), refused: false, summary };
        let old = serde_json::to_string(&answer).unwrap();
        let kept = Outcome::Answer(Box::new(answer));
        assert_eq!(Outcome::from_text(&old).as_ref(), Some(&kept));
        assert_eq!(Outcome::from_text(&kept.to_text()), Some(kept));
        for outcome in [Outcome::Failed, Outcome::TooLarge] {
            assert_eq!(Outcome::from_text(&outcome.to_text()), Some(outcome));
        }
        assert_eq!(Outcome::from_text("{\"refused\":true}"), None);
        assert_eq!(Outcome::Failed.answer(), Err(Error::Reading));
    }
}
