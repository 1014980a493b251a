//! The permanent result of a charged query.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use reticent::Permit;
use reticent::ledger::RunResult;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::query::Query;

/// The result of a charged query. The ledger stores it with the request, and repeating the request returns it again.
///
/// # Privacy
/// Whether a run fails may depend on rows. If failures were not stored, a failed run could be repeated for the same
/// charge, and each attempt would reveal more; so a failure is an outcome like any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueryOutcome {
    /// Released values, or refusals.
    Answer(Box<Answer>),
    /// There is no answer, and there will be none for this charge.
    Failed,
    /// Too much was computed from the released values. This depends on them alone and reveals nothing more, so it is no
    /// failure: otherwise a query could be written that fails whatever the rows, to have a dataset suspended.
    TooLarge,
}

impl QueryOutcome {
    /// The most bytes of an answer's text: the ledger could not store a longer one.
    pub const LONGEST: usize = 1 << 27;

    /// The stored form.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("an outcome is plain data")
    }

    /// Parses the stored form; `None` if it is something else. Earlier versions stored answers without a tag.
    pub fn from_text(text: &str) -> Option<Self> {
        let old = || serde_json::from_str(text).map(|answer| Self::Answer(Box::new(answer)));
        serde_json::from_str(text).or_else(|_| old()).ok()
    }

    /// The answer in a stored outcome.
    ///
    /// # Errors
    /// [`Error::NotAnAnswer`] if the text is something else; those of [`QueryOutcome::answer`].
    pub fn stored_answer(text: &str) -> Result<Answer> {
        Self::from_text(text).ok_or(Error::NotAnAnswer)?.answer()
    }

    /// What the ledger stores of a run that ended in this outcome, and whether the user interrupted it.
    fn ended(self, interrupted: bool) -> RunResult {
        match self {
            _ if interrupted => RunResult::Interrupted(Self::Failed.to_text()),
            Self::Failed => RunResult::Failed(self.to_text()),
            Self::Answer(_) | Self::TooLarge => RunResult::Released(self.to_text()),
        }
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
    /// Answers the query for [`Ledger::release`](reticent::ledger::Ledger::release).
    ///
    /// # Privacy
    /// A failure suspends the dataset, because it may depend on the rows. There are two exceptions: the size of an answer
    /// depends on released values, and an [interrupt](crate::engine::Engine::interrupt) on the user. Once the user has
    /// interrupted a run there is no answer, even if it was computed: otherwise interrupting a run at its very end would
    /// tell a failure from an answer, and suspend nothing.
    pub fn run(&self, mut permit: Permit) -> RunResult {
        let outcome = self.outcome(&mut permit);
        outcome.ended(self.engine().interrupt.was_called())
    }

    /// Like [`Query::answer`], but failures and panics become outcomes, too.
    pub fn outcome(&self, permit: &mut Permit) -> QueryOutcome {
        // The permit is not used again, and the query is not modified.
        let answered = catch_unwind(AssertUnwindSafe(|| self.answer(permit)));
        let outcome = match answered {
            Ok(Ok(answer)) => QueryOutcome::Answer(Box::new(answer)),
            Ok(Err(Error::AnswerTooLarge)) => QueryOutcome::TooLarge,
            Ok(Err(_)) | Err(_) => QueryOutcome::Failed,
        };
        let fits = serde_json::to_writer(Room { left: QueryOutcome::LONGEST }, &outcome).is_ok();
        if fits { outcome } else { QueryOutcome::TooLarge }
    }
}

/// Takes a limited number of bytes and forgets them: the length of a text without the text, which may be six times as long
/// as what it contains.
struct Room {
    left: usize,
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Entry, FoundBounds, Summary};

    /// Whatever the rows did to a run that was interrupted, it looks the same.
    #[test]
    fn an_interrupted_run_has_no_answer_and_is_no_failure() {
        for outcome in [QueryOutcome::Failed, QueryOutcome::TooLarge] {
            assert_eq!(outcome.clone().ended(true), RunResult::Interrupted(QueryOutcome::Failed.to_text()));
            let is_failure = matches!(outcome.clone().ended(false), RunResult::Failed(_));
            assert_eq!(is_failure, outcome == QueryOutcome::Failed);
        }
    }

    #[test]
    fn what_is_kept_reads_back_also_what_was_kept_before_failures_were() {
        let summary = Summary {
            guarantee: "ε = 1".into(),
            unit: "row".into(),
            adjacency: "add-remove".into(),
            max_groups: Some(1),
            max_rows: Some(1),
            limits: Vec::new(),
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
        let (columns, bars, intervals, noise_only) = (vec!["n".into()], vec![true], vec![false], vec![false]);
        let answer = Answer { columns, bars, intervals, noise_only, rows: Vec::new(), refused: false, summary };
        let old = serde_json::to_string(&answer).unwrap();
        let kept = QueryOutcome::Answer(Box::new(answer));
        assert_eq!(QueryOutcome::from_text(&old).as_ref(), Some(&kept));
        assert_eq!(QueryOutcome::from_text(&kept.to_text()), Some(kept));
        for outcome in [QueryOutcome::Failed, QueryOutcome::TooLarge] {
            assert_eq!(QueryOutcome::from_text(&outcome.to_text()), Some(outcome));
        }
        // A quantile had a number of ranks where it has an interval now.
        let ranked: Result<Entry, _> =
            serde_json::from_str("{\"ranked\":{\"value\":41.0,\"half_width_in_ranks\":20.0}}");
        assert_eq!(ranked.unwrap().to_text(), "41 (NULL..NULL)");
        assert_eq!(QueryOutcome::from_text("{\"refused\":true}"), None);
        assert_eq!(QueryOutcome::Failed.answer(), Err(Error::Reading));
    }
}
