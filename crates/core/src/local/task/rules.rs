//! Checks shared by every reader of tasks, the library's and the browser's.

use crate::error::{Error, Result};
use crate::secrets::holds_a_key;

const LONGEST_QUESTION: usize = 10_000;
/// The maximum number of choices in one list.
const MOST_CHOICES: usize = 10_000_000;
/// The maximum number of answers that a lifetime ε may pay for.
pub(in crate::local) const MOST_ANSWERS: u64 = 1_000_000;
pub(in crate::local) const LONGEST_LIFETIME: &str = "at most a million times epsilon";
pub(in crate::local) const LIFETIME_OF_FIRST: &str =
    "epsilon itself, or left out, when the first response is repeated forever";

/// The checks common to both readers.
pub(in crate::local) fn check(question: &str, choices: Option<&[String]>, minimum_batch: u64) -> Result<()> {
    // A task is shown to everyone who is asked.
    for (parameter, texts) in [("question", &[question.to_owned()][..]), ("choices", choices.unwrap_or_default())] {
        if texts.iter().any(|text| holds_a_key(text)) {
            let problem = "the task contains a private key or a token, but anyone may read it; leave the secret out";
            return Err(Error::invalid(parameter, problem));
        }
    }
    if question.trim().is_empty() || question.len() > LONGEST_QUESTION {
        let length = format!("{} bytes long", question.len());
        return Err(Error::parameter("question", length, "a text of 1 to 10000 bytes"));
    }
    if let Some(choices) = choices {
        if !(2..=MOST_CHOICES).contains(&choices.len()) {
            return Err(Error::parameter("choices", choices.len(), "2 to 10000000 texts"));
        }
        let mut sorted: Vec<&String> = choices.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::parameter("choices", format!("{} twice", pair[0]), "different from each other"));
        }
    }
    if minimum_batch == 0 {
        return Err(Error::parameter("minimum-batch", 0, "at least 1; a few hundred make a useful estimate"));
    }
    Ok(())
}
