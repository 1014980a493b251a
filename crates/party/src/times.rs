//! How long is waited for what.

use std::time::Duration;

use crate::error::{Error, Result};

/// A day: nobody waits longer.
const LONGEST_SECONDS: u64 = 86_400;
/// How long whoever has nothing more to say stays to be heard.
const LINGER: Duration = Duration::from_secs(3);

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// For everybody to come.
    pub join: Duration,
    /// For each round after that.
    pub round: Duration,
    /// For others to have heard the last word.
    pub linger: Duration,
}

impl Times {
    /// As configuration files say it.
    pub(crate) fn of_seconds(join: u64, round: u64) -> Self {
        Self { join: Duration::from_secs(join), round: Duration::from_secs(round), linger: LINGER }
    }

    /// Are they what configuration files may say?
    pub(crate) fn check(join_seconds: u64, round_seconds: u64) -> Result<()> {
        for (field, seconds) in [("join_seconds", join_seconds), ("round_seconds", round_seconds)] {
            if !(1..=LONGEST_SECONDS).contains(&seconds) {
                return Err(Error::parameter(field, seconds, "from 1 to 86400"));
            }
        }
        Ok(())
    }
}

/// How long everybody is waited for, unless told otherwise.
pub(crate) fn join_seconds() -> u64 {
    600
}

/// How long each round may take after that, unless told otherwise.
pub(crate) fn round_seconds() -> u64 {
    120
}
