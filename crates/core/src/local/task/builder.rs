//! Building tasks in code.

use super::{Day, Domain, Memoisation, Task, TimePrecision, Written};
use crate::error::Result;
use crate::privacy::Epsilon;

/// Builds a task; see [`Task::builder`].
#[derive(Debug, Clone)]
#[must_use = "nothing is checked before `build`"]
pub struct TaskBuilder(Written);

impl Task {
    /// A task with this question: each randomised answer costs `epsilon`, and collection stops at the start of the day
    /// `expires`. Unless set otherwise, the best mechanism is chosen, a device answers once, reports carry no time, and
    /// an estimate needs 100 reports.
    pub fn builder(question: impl Into<String>, domain: Domain, epsilon: Epsilon, expires: Day) -> TaskBuilder {
        TaskBuilder(Written {
            question: question.into(),
            mechanism: super::auto(),
            epsilon,
            memoisation: Memoisation::default(),
            lifetime_epsilon: None,
            allow_large_epsilon: false,
            minimum_batch: 100,
            time_precision: TimePrecision::default(),
            expires,
            domain,
        })
    }
}

impl TaskBuilder {
    /// The mechanism's name, or `auto`.
    pub fn mechanism(mut self, name: impl Into<String>) -> Self {
        self.0.mechanism = name.into();
        self
    }

    /// What a device does when asked again.
    pub fn memoisation(mut self, memoisation: Memoisation) -> Self {
        self.0.memoisation = memoisation;
        self
    }

    /// The total ε of everything that a device ever sends for this task.
    pub fn lifetime_epsilon(mut self, epsilon: Epsilon) -> Self {
        self.0.lifetime_epsilon = Some(epsilon);
        self
    }

    /// Confirms a lifetime ε above 10, which protects next to nothing.
    pub fn allow_large_epsilon(mut self) -> Self {
        self.0.allow_large_epsilon = true;
        self
    }

    /// The minimum number of reports for an estimate.
    pub fn minimum_batch(mut self, reports: u64) -> Self {
        self.0.minimum_batch = reports;
        self
    }

    /// The precision of the time in reports.
    pub fn time_precision(mut self, precision: TimePrecision) -> Self {
        self.0.time_precision = precision;
        self
    }

    /// Builds the task, with the same checks as for a task read from a file.
    ///
    /// # Errors
    /// If a part is out of range, or the mechanism does not fit the domain.
    pub fn build(self) -> Result<Task> {
        self.0.try_into()
    }
}
