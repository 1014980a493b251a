//! Estimates from all reports.

use reticent::local::{Answers, Memoisation, Randomiser, Shuffled, Task, TimePrecision};
use reticent::privacy::{Delta, Guarantee};
use serde::Serialize;

use crate::error::{Error, Result};

/// The estimates from all reports of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimated {
    /// The number of reports.
    pub reports: u64,
    /// The number of different hours, days or weeks they name; 0 if the task's `time-precision` is `none`.
    #[serde(skip)]
    pub periods: u64,
    /// The estimated answers, with error bars where these can be stated.
    #[serde(flatten)]
    pub answers: Answers,
    /// Why the answers have no standard errors and intervals, if they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_interval: Option<String>,
}

/// Why reports of a task are not people, and what to do about it; `None` if [each device reports
/// once](Task::one_report_each).
pub fn not_people(task: &Task) -> Option<String> {
    if task.one_report_each() {
        return None;
    }
    let memoisation = task.memoisation();
    let lifetime = match memoisation {
        Memoisation::Never => format!(", lifetime-epsilon = {}", task.lifetime_epsilon()),
        _ => String::new(),
    };
    Some(format!(
        "devices may report more than once (memoisation = {}{lifetime}), so the number of reports is not the number of people; for one report \
         each, leave memoisation and lifetime-epsilon out of the task",
        memoisation.name()
    ))
}

impl Estimated {
    /// The (ε, δ) guarantee of the central model against an observer who sees the reports only after shuffling, if
    /// `honest` of them are from devices that neither collude nor lie (all if `None`), and that number. One-bit mechanisms
    /// have a stronger bound.
    ///
    /// # Errors
    /// [`Error::NoShuffling`] if the task lets a device report more than once, since copies of a report hide no one, or
    /// if the reports show that they are from several periods, since each hides only among those of its own period;
    /// [`Error::Honest`] if there is no honest report, or there are fewer reports; if the task's ε is outside 1e-6 to 20.
    pub fn shuffled(&self, task: &Task, honest: Option<u64>, delta: &Delta) -> Result<(Guarantee, u64)> {
        let honest = honest.unwrap_or(self.reports);
        if !(1..=self.reports).contains(&honest) {
            return Err(Error::Honest { honest, reports: self.reports });
        }
        if let Some(reason) = not_people(task) {
            return Err(Error::NoShuffling(reason));
        }
        let unit = match task.time_precision() {
            TimePrecision::None => None,
            precision => Some(precision.name()),
        };
        if let Some(unit) = unit.filter(|_| self.periods != 1) {
            return Err(Error::NoShuffling(format!(
                "the reports are from {} {unit}s, and each hides only among those of its own {unit}; use a task whose \
                 time-precision is none, or collect the reports of one {unit}",
                self.periods
            )));
        }
        let shuffled = match task.randomiser() {
            Randomiser::Coins(_) | Randomiser::Mean(_) => Shuffled::of_bits(honest, task.epsilon())?,
            // Two choices by k-ary response are randomised response.
            Randomiser::Choices(oracle) if oracle.values() == 2 && task.mechanism() == "k-ary" => {
                Shuffled::of_bits(honest, task.epsilon())?
            }
            Randomiser::Choices(_) | Randomiser::Texts(_) => Shuffled::new(honest, task.epsilon())?,
        };
        Ok((shuffled.guarantee(delta), honest))
    }
}
