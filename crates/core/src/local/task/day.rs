//! Days, as people write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::serde_as_text;

/// Seconds of a day.
pub(super) const SECONDS: u64 = 86_400;
const ALLOWED: &str = "a day from 1970-01-01 to 9999-12-31, written like 2030-01-31";

/// A day of the Gregorian calendar, in UTC.
///
/// ```
/// use reticent::local::Day;
///
/// let day: Day = "2000-03-01".parse()?;
/// assert_eq!(day.begins(), 951_868_800);
/// assert_eq!(day.to_string(), "2000-03-01");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Day {
    year: u16,
    month: u8,
    day: u8,
}

impl Day {
    /// Its first second, counted from the beginning of 1970.
    pub fn begins(&self) -> u64 {
        let years: u64 = (1970..self.year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
        let months: u64 = (1..self.month).map(|month| u64::from(days_of(self.year, month))).sum();
        (years + months + u64::from(self.day) - 1) * SECONDS
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u16, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

impl FromStr for Day {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::parameter("day", text, ALLOWED);
        let parts: Vec<&str> = text.split('-').collect();
        let is_digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        let [year, month, day] = parts[..] else { return Err(wrong()) };
        if ![year, month, day].iter().all(is_digits) || [year.len(), month.len(), day.len()] != [4, 2, 2] {
            return Err(wrong());
        }
        let year: u16 = year.parse().map_err(|_| wrong())?;
        let month: u8 = month.parse().map_err(|_| wrong())?;
        let day: u8 = day.parse().map_err(|_| wrong())?;
        if year < 1970 || !(1..=12).contains(&month) || day == 0 || day > days_of(year, month) {
            return Err(wrong());
        }
        Ok(Self { year, month, day })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

serde_as_text!(Day);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_when_they_should() {
        // Known values of the Unix clock.
        for (day, second) in [
            ("1970-01-01", 0),
            ("1972-03-01", 68_256_000),
            ("2001-09-09", 999_993_600),
            ("2024-02-29", 1_709_164_800),
            ("2038-01-19", 2_147_472_000),
        ] {
            let day: Day = day.parse().unwrap();
            assert_eq!(day.begins(), second, "{day}");
        }
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for wrong in
            ["", "2030-1-1", "2030-02-29", "2030-13-01", "2030-00-10", "2030-01-00", "1969-12-31", "+999-01-01"]
        {
            assert!(wrong.parse::<Day>().unwrap_err().to_string().starts_with("day is "), "{wrong}");
        }
    }
}
