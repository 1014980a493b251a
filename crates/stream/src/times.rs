//! Times and lengths of time as text.
//!
//! Times are milliseconds since 1970, lengths are milliseconds.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::integer;

/// The units of lengths, the longest first.
const UNITS: [(&str, i64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// A time in RFC 3339.
pub fn display(time: i64) -> String {
    Timestamp::from_millisecond(time).map_or_else(|_| time.to_string(), |time| time.to_string())
}

/// The time that a text states: RFC 3339, `YYYY-MM-DD HH:MM:SS` (in UTC; also a date alone), or seconds since 1970. `None`
/// if it states none.
pub fn parse(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    if let Some(seconds) = integer::parse(text) {
        return seconds.checked_mul(1000);
    }
    let text = std::str::from_utf8(text).ok()?;
    // Clocks of named time zones jump; times here are in UTC or carry their offset.
    if text.contains('[') {
        return None;
    }
    if let Some((whole, fraction)) = text.split_once('.')
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && let Some(seconds) = integer::parse(whole.as_bytes())
    {
        return seconds.checked_mul(1000)?.checked_add(thousandths(fraction.as_bytes(), whole.starts_with('-')));
    }
    let time = match text.parse::<Timestamp>() {
        Ok(time) => time,
        Err(_) => text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
    };
    Some(time.as_nanosecond().div_euclid(1_000_000) as i64)
}

/// The thousandths in the decimal digits of a fraction, rounded towards the past.
fn thousandths(digits: &[u8], negative: bool) -> i64 {
    let digit = |place: usize| digits.get(place).map_or(0, |digit| i64::from(digit - b'0'));
    let whole = digit(0) * 100 + digit(1) * 10 + digit(2);
    let more = digits.iter().skip(3).any(|digit| *digit != b'0');
    if negative { -whole - i64::from(more) } else { whole }
}

/// A positive length such as `1m` (ms, s, m, h, d); `None` if the text is no such length.
pub fn parse_length(text: &str) -> Option<i64> {
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (count, name) = text.split_at(digits);
    let (_, unit) = UNITS.into_iter().find(|(unit, _)| *unit == name)?;
    count.parse::<i64>().ok()?.checked_mul(unit).filter(|length| *length > 0)
}

/// A length as it is written: equal lengths have equal texts.
pub fn display_length(length: i64) -> String {
    let (name, unit) = UNITS.into_iter().find(|(_, unit)| length % unit == 0).unwrap_or(("ms", 1));
    format!("{}{name}", length / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_can_be_written_in_three_ways() {
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
    fn fractions_are_rounded_towards_the_past() {
        for (text, time) in [("0.5", 500), ("-0.5", -500), ("-1.0019", -1002), ("-1.0010", -1001), ("1.0019", 1001)] {
            assert_eq!(parse(text.as_bytes()), Some(time), "{text}");
        }
        assert_eq!(parse(b"1969-12-31T23:59:59.9981Z"), Some(-2));
    }

    #[test]
    fn lengths_need_a_unit() {
        assert_eq!(parse_length("90s"), Some(90_000));
        assert_eq!(parse_length("1d"), Some(86_400_000));
        for text in ["", "1", "m", "0m", "-1m", "1.5h", "1y", "99999999999999999d", "1é"] {
            assert_eq!(parse_length(text), None, "{text}");
        }
    }

    #[test]
    fn equal_lengths_have_equal_texts() {
        for (text, written) in [("24h", "1d"), ("90m", "90m"), ("60s", "1m"), ("1500ms", "1500ms"), ("7200000ms", "2h")]
        {
            assert_eq!(parse_length(text).map(display_length).as_deref(), Some(written));
        }
    }
}
