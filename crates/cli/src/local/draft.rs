//! A task from arguments.

use anyhow::Result;
use reticent::Error;
use reticent::local::{Domain, Task};

use crate::exit::usage;

/// The fields of a task.
#[derive(Debug, clap::Args)]
pub struct Draft {
    /// The question
    #[arg(long)]
    question: String,
    /// Multiple choice: the answers, separated by commas
    #[arg(long, value_name = "A,B,…", required_unless_present_any = ["integers", "numbers", "alphabet"],
        conflicts_with_all = ["integers", "numbers", "alphabet"])]
    choices: Option<String>,
    /// Mean of integers, clamped to these bounds
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, conflicts_with_all = ["numbers", "alphabet"])]
    integers: Option<String>,
    /// Mean of numbers, clamped to these bounds
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, conflicts_with = "alphabet")]
    numbers: Option<String>,
    /// Frequent texts over this alphabet; other letters are dropped
    #[arg(long, value_name = "LETTERS", requires = "longest")]
    alphabet: Option<String>,
    /// With --alphabet: maximum length of a text; longer texts are truncated
    #[arg(long, value_name = "LETTERS")]
    longest: Option<u32>,
    /// Privacy guarantee of one randomised answer
    #[arg(long, allow_hyphen_values = true)]
    epsilon: String,
    /// How answers are randomised: auto, k-ary, unary, projective, fair-coin, one-bit or prefix [default: auto]
    #[arg(long)]
    mechanism: Option<String>,
    /// What a device does when it is asked again: never (it randomises afresh, and says nothing once --lifetime-epsilon is
    /// spent), first (it repeats its first response) or per-answer (it repeats its response to the same answer) [default: never]
    #[arg(long)]
    memoisation: Option<String>,
    /// Privacy guarantee of everything a device ever sends [default: --epsilon, so that with never it answers once]
    #[arg(long, allow_hyphen_values = true)]
    lifetime_epsilon: Option<String>,
    /// Confirm an epsilon above 10, which protects next to nothing
    #[arg(long)]
    allow_large_epsilon: bool,
    /// Minimum number of reports for an estimate
    #[arg(long, default_value_t = 100)]
    minimum_batch: u64,
    /// Precision of the time in a report: none, hour, day or week [default: none]
    #[arg(long)]
    time_precision: Option<String>,
    /// The first day on which nothing is reported or collected any more (UTC), such as 2030-01-31
    #[arg(long, value_name = "DAY")]
    expires: String,
}

impl Draft {
    /// The task, validated.
    pub fn task(&self) -> Result<Task> {
        let epsilon = self.epsilon.parse()?;
        let expires = self.expires.parse().map_err(|error: Error| error.named("expires"))?;
        let mut task =
            Task::builder(&self.question, self.domain()?, epsilon, expires).minimum_batch(self.minimum_batch);
        if let Some(mechanism) = &self.mechanism {
            task = task.mechanism(mechanism);
        }
        if let Some(memoisation) = &self.memoisation {
            task = task.memoisation(memoisation.parse()?);
        }
        if let Some(lifetime) = &self.lifetime_epsilon {
            task = task.lifetime_epsilon(lifetime.parse().map_err(|error: Error| error.named("lifetime-epsilon"))?);
        }
        if self.allow_large_epsilon {
            task = task.allow_large_epsilon();
        }
        if let Some(precision) = &self.time_precision {
            task = task.time_precision(precision.parse()?);
        }
        Ok(task.build()?)
    }

    fn domain(&self) -> Result<Domain> {
        if let Some(choices) = &self.choices {
            return Ok(Domain::choices(choices.split(',').map(str::trim)));
        }
        if let Some(integers) = &self.integers {
            let (lower, upper) =
                crate::numbers::range(integers).map_err(|error| usage(format!("--integers {integers}: {error}")))?;
            return Ok(Domain::Integers { lower, upper });
        }
        if let Some(numbers) = &self.numbers {
            return Ok(Domain::Numbers(
                numbers.parse().map_err(|error| usage(format!("--numbers {numbers}: {error}")))?,
            ));
        }
        let (alphabet, longest) = (self.alphabet.clone().unwrap_or_default(), self.longest.unwrap_or_default());
        Ok(Domain::Texts { alphabet, longest })
    }
}
