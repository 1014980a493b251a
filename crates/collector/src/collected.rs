//! The outcome for a batch of reports.

use std::collections::BTreeMap;

use reticent::local::Rejection;
use serde::Serialize;

/// The outcome for a batch of reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// How many were counted, durably.
    pub counted: u64,
    /// How many were rejected, by reason: `unreadable`, `other-task`, `duplicate`, `expired`, `wrong-period`,
    /// `wrong-shape`.
    pub rejected: BTreeMap<&'static str, u64>,
}

/// The reason for input that is not a report at all.
const UNREADABLE: &str = "unreadable";

impl Collected {
    /// How many were rejected in total.
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

    /// The combined outcome of two batches.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.counted += other.counted;
        for (reason, count) in other.rejected {
            *self.rejected.entry(reason).or_default() += count;
        }
        self
    }
}
