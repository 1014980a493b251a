//! Timeouts.

use std::time::Duration;

use crate::error::{Error, Result};

/// A day, the longest timeout allowed.
const LONGEST_SECONDS: u64 = 86_400;
/// How long a party with nothing left to send stays reachable.
const LINGER: Duration = Duration::from_secs(3);

/// How long a party waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// For all parties to join.
    pub join: Duration,
    /// For each later round.
    pub round: Duration,
    /// For others to receive the last message.
    pub linger: Duration,
}

impl Times {
    /// From a configuration file's seconds.
    pub fn of_seconds(join: u64, round: u64) -> Self {
        Self { join: Duration::from_secs(join), round: Duration::from_secs(round), linger: LINGER }
    }

    /// Checks a configuration file's seconds.
    ///
    /// # Errors
    /// If one of them is not from 1 to 86400.
    pub fn check(join_seconds: u64, round_seconds: u64) -> Result<()> {
        for (field, seconds) in [("join_seconds", join_seconds), ("round_seconds", round_seconds)] {
            if !(1..=LONGEST_SECONDS).contains(&seconds) {
                return Err(Error::parameter(field, seconds, "from 1 to 86400"));
            }
        }
        Ok(())
    }
}

/// The default time to wait for all parties to join.
pub fn join_seconds() -> u64 {
    600
}

/// The default time for each later round.
pub fn round_seconds() -> u64 {
    120
}
