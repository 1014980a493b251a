//! The length of a step.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::timeline::Timeline;
use crate::times;

/// The shortest and the longest step by the clock, in milliseconds.
const SHORTEST: i64 = 1_000;
const LONGEST: i64 = 86_400_000;
/// The most events in a step.
const MOST_EVENTS: u64 = 1 << 40;

/// The length of a step, written as `30s`, `event` or `100 events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Milliseconds, from one second to one day. Steps end at multiples of it since 1970 (in UTC: full minutes,
    /// midnights).
    Clock(i64),
    /// A number of events, whose arrival times are then public.
    Events(u64),
}

impl Step {
    /// The steps of a stream that was created at this time: the first may be shorter than the others. `None` for steps of events.
    pub(crate) fn timeline(self, created: i64) -> Option<Timeline> {
        match self {
            Self::Clock(length) => Timeline::aligned(created, length),
            Self::Events(_) => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(length) => formatter.write_str(&times::display_length(*length)),
            Self::Events(1) => formatter.write_str("event"),
            Self::Events(count) => write!(formatter, "{count} events"),
        }
    }
}

impl FromStr for Step {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let allowed = "a length of time from 1s to 1d (such as 1s, 5m or 1h), event, or N events";
            Error::parameter("step", text, allowed)
        };
        if text == "event" {
            return Ok(Self::Events(1));
        }
        if let Some(count) = text.strip_suffix(" events") {
            let count = count.parse().ok().filter(|count| (1..=MOST_EVENTS).contains(count));
            return count.map(Self::Events).ok_or_else(wrong);
        }
        let length = times::parse_length(text).filter(|length| (SHORTEST..=LONGEST).contains(length));
        length.map(Self::Clock).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_in_one_way() {
        for (text, step, written) in [
            ("1s", Step::Clock(1000), "1s"),
            ("60s", Step::Clock(60_000), "1m"),
            ("1500ms", Step::Clock(1500), "1500ms"),
            ("24h", Step::Clock(86_400_000), "1d"),
            ("event", Step::Events(1), "event"),
            ("1 events", Step::Events(1), "event"),
            ("100 events", Step::Events(100), "100 events"),
        ] {
            assert_eq!(text.parse::<Step>().unwrap(), step);
            assert_eq!(step.to_string(), written);
        }
        for text in
            ["", "1", "s", "999ms", "25h", "2d", "0 events", "events", "-1s", "1.5s", "99999999999999999999s", "1é"]
        {
            assert!(text.parse::<Step>().is_err(), "{text}");
        }
    }
}
