//! What became of some reports.

use std::collections::BTreeMap;

use reticent::local::Rejection;
use serde::Serialize;

/// What became of some reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Reports that count, durably.
    pub counted: u64,
    /// How many do not count, by the reason: `unreadable`, `other-task`, `duplicate`, `expired`, `wrong-period`, `wrong-shape`.
    pub rejected: BTreeMap<&'static str, u64>,
}

/// The reason of what is no report at all.
const UNREADABLE: &str = "unreadable";

impl Collected {
    /// How many do not count.
    pub fn all_rejected(&self) -> u64 {
        self.rejected.values().sum()
    }

    pub(crate) fn unreadable(&mut self) {
        *self.rejected.entry(UNREADABLE).or_default() += 1;
    }

    pub(crate) fn reject(&mut self, rejection: Rejection) {
        let reason = match rejection {
            Rejection::OtherTask => "other-task",
            Rejection::Duplicate => "duplicate",
            Rejection::Expired => "expired",
            Rejection::WrongPeriod => "wrong-period",
            Rejection::WrongShape => "wrong-shape",
            _ => "other",
        };
        *self.rejected.entry(reason).or_default() += 1;
    }

    /// What became of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.counted += other.counted;
        for (reason, count) in other.rejected {
            *self.rejected.entry(reason).or_default() += count;
        }
        self
    }
}
