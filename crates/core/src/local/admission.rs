//! Which reports count.

use std::fmt;

use serde::Serialize;

use super::report::{Payload, Report};
use super::task::{Randomiser, Task, TaskId};
use super::{FrequencyOracle, ValueSet};

/// Decides whether a report belongs to a task, however reports are stored.
///
/// # Privacy
/// Reports were randomised on the device: the decisions made here may be public.
#[derive(Debug, Clone)]
pub struct Admission {
    task: Task,
    /// The task's id, which takes a hash to compute.
    id: TaskId,
    randomiser: Randomiser,
}

/// Why a report does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rejection {
    /// The report was made for another task, or for another version of this one.
    OtherTask,
    /// A report with this id has already been counted.
    Duplicate,
    /// The task has expired.
    Expired,
    /// Its time is missing, was not asked for, or lies in the future.
    WrongPeriod,
    /// The task's mechanism cannot have made this response.
    WrongShape,
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OtherTask => "the report is of another task",
            Self::Duplicate => "the report is there already",
            Self::Expired => "the task has expired",
            Self::WrongPeriod => "the report's time is not as the task asks",
            Self::WrongShape => "the report's response is not one of the task's mechanism",
        })
    }
}

impl std::error::Error for Rejection {}

impl Admission {
    /// For the reports of a task.
    pub fn new(task: Task) -> Self {
        Self { id: task.id(), randomiser: task.randomiser(), task }
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The task's id, a hash.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// The task's mechanism.
    pub fn randomiser(&self) -> &Randomiser {
        &self.randomiser
    }

    /// May a report that arrived `now` seconds after the beginning of 1970 count? Checking for duplicates is up to the
    /// store of reports.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check(&self, report: &Report, now: u64) -> Result<(), Rejection> {
        if report.task != self.id {
            return Err(Rejection::OtherTask);
        }
        if self.task.has_expired(now) {
            return Err(Rejection::Expired);
        }
        let current = self.task.time_precision().period(now);
        // A clock that is slightly fast may be one period ahead.
        let is_timely = match (report.period, current) {
            (None, None) => true,
            (Some(period), Some(current)) => period <= current + 1,
            _ => false,
        };
        if !is_timely {
            return Err(Rejection::WrongPeriod);
        }
        if can_be(&self.randomiser, &report.response) { Ok(()) } else { Err(Rejection::WrongShape) }
    }
}

/// Can the mechanism have produced it?
fn can_be(randomiser: &Randomiser, response: &Payload) -> bool {
    match (randomiser, response) {
        (Randomiser::Coins(_), Payload::Value(value)) => *value < 2,
        (Randomiser::Choices(FrequencyOracle::Kary(oracle)), Payload::Value(value)) => *value < oracle.values().into(),
        (Randomiser::Choices(FrequencyOracle::Projective(oracle)), Payload::Value(value)) => *value < oracle.points(),
        (Randomiser::Choices(FrequencyOracle::Unary(oracle)), Payload::Set(bytes)) => {
            ValueSet::from_bytes(oracle.values(), bytes).is_some()
        }
        (Randomiser::Mean(_), Payload::Bit(_)) => true,
        (Randomiser::Texts(texts), Payload::Prefix(report)) => texts.can_be(report),
        _ => false,
    }
}
