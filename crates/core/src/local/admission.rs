//! Which reports count.

use std::fmt;

use serde::Serialize;

use super::report::{Payload, Report};
use super::task::{Randomiser, Task, TaskId};
use super::{FrequencyOracle, ValueSet};
use crate::error::Result;

/// Says of each report whether it can belong to a task, whatever keeps the reports.
///
/// # Privacy
/// A report was randomised on the device: what is said of it here may be seen by anybody.
#[derive(Debug, Clone)]
pub struct Admission {
    task: Task,
    /// The task's, which takes a hash to work out.
    id: TaskId,
    randomiser: Randomiser,
}

/// Why a report does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rejection {
    /// It was made for another task, or for another version of this one.
    OtherTask,
    /// A report of this id is there already.
    Duplicate,
    /// The task has expired.
    Expired,
    /// Its time is missing, not asked for, or in the future.
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
    ///
    /// # Errors
    /// Never: the task was checked when it was made.
    pub fn new(task: Task) -> Result<Self> {
        Ok(Self { id: task.id(), randomiser: task.randomiser()?, task })
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The task's hash.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// The task's mechanism.
    pub fn randomiser(&self) -> &Randomiser {
        &self.randomiser
    }

    /// Can a report that came in `now` seconds after the beginning of 1970 count? Whether it is there already is for whoever keeps
    /// the reports to say.
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
        // A clock that is a little fast may be one period ahead.
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

/// Can the mechanism have made it?
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
