//! Steps of time.

use anyhow::Result;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use reticent_stream::integer;
use serde::{Deserialize, Serialize};

use crate::exit::usage;

/// Equal steps of time, one after the other; all times in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// When the first step begins.
    pub from: i64,
    /// How long a step lasts.
    pub step: i64,
}

impl Timeline {
    /// The step, counted from 1, in which a time lies; nothing before the first.
    pub fn step_of(&self, time: i64) -> Option<u64> {
        let since = i128::from(time) - i128::from(self.from);
        (since >= 0).then(|| u64::try_from(since / i128::from(self.step)).unwrap_or(u64::MAX).saturating_add(1))
    }

    /// When a step ends and the next begins.
    pub fn end_of(&self, step: u64) -> i64 {
        let end = i128::from(self.from) + i128::from(step) * i128::from(self.step);
        end.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The number of steps up to a time; an error if it is not a whole number of them.
    pub fn steps_until(&self, to: i64) -> Result<u64> {
        let length = i128::from(to) - i128::from(self.from);
        if length <= 0 {
            return Err(usage("--to must be later than --from"));
        }
        if length % i128::from(self.step) != 0 {
            return Err(usage("from --from to --to there must be a whole number of steps (--step)"));
        }
        Ok((length / i128::from(self.step)) as u64)
    }
}

/// Now.
pub fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A time as it is printed.
pub fn display(time: i64) -> String {
    Timestamp::from_millisecond(time).map_or_else(|_| time.to_string(), |time| time.to_string())
}

/// The time that a text says: RFC 3339, `YYYY-MM-DD HH:MM:SS` (in UTC; also a date alone), or seconds since 1970.
pub fn parse(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    if let Some(seconds) = integer::parse(text) {
        return seconds.checked_mul(1000);
    }
    let text = std::str::from_utf8(text).ok()?;
    // A named zone has clocks that jump; times here are UTC or carry their offset.
    if text.contains('[') {
        return None;
    }
    if let Some((whole, fraction)) = text.split_once('.')
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && let Some(seconds) = integer::parse(whole.as_bytes())
    {
        // Rounded down: towards the past, also before 1970.
        let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
        let thousandths: i64 = fraction.parse().ok()?;
        let thousandths = if whole.starts_with('-') { -thousandths } else { thousandths };
        return seconds.checked_mul(1000)?.checked_add(thousandths);
    }
    let time = match text.parse::<Timestamp>() {
        Ok(time) => time,
        Err(_) => text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
    };
    Some(time.as_nanosecond().div_euclid(1_000_000) as i64)
}

/// The time that an argument says, or an error that names the argument.
pub fn parse_argument(name: &str, text: &str) -> Result<i64> {
    if text == "now" {
        return Ok(now());
    }
    parse(text.as_bytes()).ok_or_else(|| {
        usage(format!(
            "{name} is {text}, but it must be a time; write for example 2026-01-31T08:00:00Z, \"2026-01-31 08:00:00\" \
             (UTC), 1769846400 (seconds since 1970) or now"
        ))
    })
}

/// A length of time such as `1m`, in milliseconds.
pub fn parse_length(text: &str) -> Result<i64> {
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let unit = match &text[digits..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => 0,
    };
    let length =
        text[..digits].parse::<i64>().ok().and_then(|count| count.checked_mul(unit)).filter(|&length| length > 0);
    length.ok_or_else(|| {
        usage(format!("--step is {text}, but it must be a length of time; write for example 1m (ms, s, m, h, d)"))
    })
}

/// A length of time as it is written: the same for equal lengths.
pub fn display_length(length: i64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let fitting = units.into_iter().find(|(_, unit)| length % unit == 0);
    fitting.map_or_else(|| format!("{length}ms"), |(name, unit)| format!("{}{name}", length / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_ways_to_write_a_time() {
        let noon = Some(1_769_860_800_000);
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T13:00:00+01:00",
            "2026-01-31 12:00:00",
            " 2026-01-31T12:00:00 ",
            "1769860800",
            "1769860800.0",
        ] {
            assert_eq!(parse(text.as_bytes()), noon, "{text}");
        }
        assert_eq!(parse(b"2026-01-31T12:00:00.0019Z"), Some(1_769_860_800_001));
        assert_eq!(parse(b"1769860800.0019"), Some(1_769_860_800_001));
        assert_eq!(parse(b"2026-01-31"), Some(1_769_817_600_000));
        for text in ["", "noon", "12:00", "2026-13-01 00:00:00", "1.", ".5", "1.x", "99999999999999999999", "\u{ff}"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_step_begins_where_the_one_before_ends() {
        let minutes = Timeline { from: -60_000, step: 60_000 };
        assert_eq!(minutes.step_of(-60_001), None);
        assert_eq!([-60_000, -1, 0, 59_999, 60_000].map(|time| minutes.step_of(time)), [1, 1, 2, 2, 3].map(Some));
        assert_eq!((minutes.end_of(1), minutes.end_of(2)), (0, 60_000));
        assert_eq!(minutes.steps_until(60_000).unwrap(), 2);
        assert!(minutes.steps_until(60_001).is_err() && minutes.steps_until(-60_000).is_err());
        let widest = Timeline { from: i64::MIN, step: 1 };
        assert_eq!((widest.step_of(i64::MAX), widest.end_of(u64::MAX)), (Some(u64::MAX), i64::MAX));
    }

    #[test]
    fn lengths_need_a_unit() {
        assert_eq!(parse_length("90s").unwrap(), 90_000);
        assert_eq!(parse_length("1d").unwrap(), 86_400_000);
        for text in ["", "1", "m", "0m", "-1m", "1.5h", "1y", "99999999999999999d", "1é"] {
            assert!(parse_length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_length_is_written_in_one_way() {
        for (text, written) in [("24h", "1d"), ("90m", "90m"), ("60s", "1m"), ("1500ms", "1500ms"), ("7200000ms", "2h")]
        {
            assert_eq!(display_length(parse_length(text).unwrap()), written);
        }
    }
}
