//! Days, months and years in the proleptic Gregorian calendar, without time zones.
//!
//! A date is a number of days since 1970-01-01, a timestamp a number of microseconds since then in UTC. Years from
//! −9999 to 9999 can be read and written; arithmetic works on any number of days.

use std::ops::RangeInclusive;

use jiff::civil;
use jiff::tz::Offset;
use serde::{Deserialize, Serialize};

/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const DAY: i64 = 86_400 * SECOND;

/// Days from 0000-03-01, where the calendar's 400-year cycle begins, to 1970-01-01.
const FROM_MARCH_0: i64 = 719_468;
/// Days in 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;

/// A calendar date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// The year; 0 is 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
}

impl Civil {
    /// The date this many days after 1970-01-01.
    ///
    /// If years start in March, a leap day is the last day of its year, so the number of days before month m in 0..=11
    /// is ⌊(153·m + 2)/5⌋, and the year of day d within 400 years is ⌊(d − d/1460 + d/36524 − d/146096)/365⌋.
    pub fn of(days: i64) -> Self {
        let days = days.saturating_add(FROM_MARCH_0);
        let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let march = (5 * day + 2) / 153;
        let month = if march < 10 { march + 3 } else { march - 9 };
        Self { year: year + era * 400 + i64::from(month <= 2), month, day: day - (153 * march + 2) / 5 + 1 }
    }

    /// The first day of a month, in days since 1970-01-01. Any month number is valid; 1 is January of `year`.
    pub fn first_of(year: i64, month: i64) -> Option<i64> {
        let months = year.checked_mul(12)?.checked_add(month.checked_sub(1)?)?;
        // Years start in March, as above.
        let months = months.checked_sub(2)?;
        let (year, march) = (months.div_euclid(12), months.rem_euclid(12));
        let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
        let day = (153 * march + 2) / 5 + 365 * year + year / 4 - year / 100;
        era.checked_mul(ERA)?.checked_add(day)?.checked_sub(FROM_MARCH_0)
    }

    /// The date this many months later, on the same day of the month, or on the month's last day if it is shorter.
    pub fn plus_months(self, months: i64) -> Option<i64> {
        let month = self.month.checked_add(months)?;
        let (first, next) = (Self::first_of(self.year, month)?, Self::first_of(self.year, month.checked_add(1)?)?);
        Some(first.checked_add(self.day - 1)?.min(next - 1))
    }
}

/// A part of a date or timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Part {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    /// Starts on Monday.
    Week,
    Month,
    Quarter,
    Year,
    /// 0 is Sunday.
    DayOfWeek,
    /// 1 is Monday.
    IsoDayOfWeek,
    DayOfYear,
    /// Seconds since 1970-01-01.
    Epoch,
}

impl Part {
    /// Looks up a part by its SQL name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().trim_end_matches('s') {
            "microsecond" => Self::Microsecond,
            "millisecond" => Self::Millisecond,
            "second" => Self::Second,
            "minute" => Self::Minute,
            "hour" => Self::Hour,
            "day" => Self::Day,
            "week" => Self::Week,
            "month" => Self::Month,
            "quarter" => Self::Quarter,
            "year" => Self::Year,
            "dow" | "dayofweek" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            "doy" | "dayofyear" => Self::DayOfYear,
            "epoch" => Self::Epoch,
            _ => return None,
        })
    }

    /// The range of values, for dates within the years that can be written.
    pub fn range(self) -> RangeInclusive<i64> {
        match self {
            Self::Microsecond => 0..=59_999_999,
            Self::Millisecond => 0..=59_999,
            Self::Second | Self::Minute => 0..=59,
            Self::Hour => 0..=23,
            Self::Day => 1..=31,
            Self::Week => 1..=53,
            Self::Month => 1..=12,
            Self::Quarter => 1..=4,
            Self::Year => -9999..=9999,
            Self::DayOfWeek => 0..=6,
            Self::IsoDayOfWeek => 1..=7,
            Self::DayOfYear => 1..=366,
            Self::Epoch => -377_705_116_800..=253_402_300_799,
        }
    }

    /// Extracts this part of a timestamp.
    pub fn extract(self, micros: i64) -> i64 {
        let (days, within) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let civil = || Civil::of(days);
        // 1970-01-01 was a Thursday.
        let from_monday = (days + 3).rem_euclid(7);
        let first_of = |year: i64| Civil::first_of(year, 1).unwrap_or(days);
        match self {
            Self::Microsecond => within % (60 * SECOND),
            Self::Millisecond => within / 1000 % 60_000,
            Self::Second => within / SECOND % 60,
            Self::Minute => within / (60 * SECOND) % 60,
            Self::Hour => within / (3600 * SECOND),
            Self::Day => civil().day,
            Self::Month => civil().month,
            Self::Quarter => (civil().month + 2) / 3,
            Self::Year => civil().year,
            Self::DayOfWeek => (from_monday + 1) % 7,
            Self::IsoDayOfWeek => from_monday + 1,
            Self::DayOfYear => days - first_of(civil().year) + 1,
            Self::Epoch => micros.div_euclid(SECOND),
            // A week belongs to the year of its Thursday.
            Self::Week => {
                let thursday = days - from_monday + 3;
                (thursday - first_of(Civil::of(thursday).year)) / 7 + 1
            }
        }
    }

    /// Returns the start of the hour, day, month … that contains the timestamp; `None` for parts that are not periods.
    pub fn truncate(self, micros: i64) -> Option<i64> {
        let (days, within) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let down_to = |step: i64| micros.checked_sub(within % step);
        let day = |day: i64| day.checked_mul(DAY);
        let month = |month: i64| Civil::first_of(Civil::of(days).year, month).and_then(day);
        match self {
            Self::Microsecond => Some(micros),
            Self::Millisecond => down_to(1000),
            Self::Second => down_to(SECOND),
            Self::Minute => down_to(60 * SECOND),
            Self::Hour => down_to(3600 * SECOND),
            Self::Day => day(days),
            Self::Week => day(days - (days + 3).rem_euclid(7)),
            Self::Month => month(Civil::of(days).month),
            Self::Quarter => month((Civil::of(days).month - 1) / 3 * 3 + 1),
            Self::Year => month(1),
            Self::DayOfWeek | Self::IsoDayOfWeek | Self::DayOfYear | Self::Epoch => None,
        }
    }
}

/// A constant interval: months, days and microseconds are added in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Months, including years.
    pub months: i64,
    /// Days, including weeks.
    pub days: i64,
    /// Hours and smaller units, in microseconds.
    pub micros: i64,
}

impl Span {
    /// Adds the interval to a timestamp; `None` on overflow.
    pub fn after(self, micros: i64) -> Option<i64> {
        let (days, within) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let days = if self.months == 0 { days } else { Civil::of(days).plus_months(self.months)? };
        days.checked_add(self.days)?.checked_mul(DAY)?.checked_add(within)?.checked_add(self.micros)
    }

    /// The negative interval.
    pub fn negated(self) -> Option<Self> {
        let Self { months, days, micros } = self;
        Some(Self { months: months.checked_neg()?, days: days.checked_neg()?, micros: micros.checked_neg()? })
    }
}

fn days_of(date: civil::Date) -> i64 {
    let first = Civil::first_of(date.year().into(), date.month().into());
    first.map_or(0, |first| first + i64::from(date.day()) - 1)
}

/// Parses a date such as `2026-03-02`.
pub fn parse_date(text: &str) -> Option<i32> {
    i32::try_from(days_of(text.parse().ok()?)).ok()
}

/// Parses a timestamp such as `2026-03-02 10:30:00`: also with `T`, fractional seconds or a UTC offset, or the date
/// alone.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_microsecond());
    }
    let local = text.parse::<civil::DateTime>().ok()?;
    Some(Offset::UTC.to_timestamp(local).ok()?.as_microsecond())
}

/// Formats as `2026-03-02`; `None` outside the years −9999 to 9999.
pub fn write_date(days: i32) -> Option<String> {
    let Civil { year, month, day } = Civil::of(days.into());
    let date = civil::Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    Some(date.to_string())
}

/// Formats as `2026-03-02T10:30:00`; `None` outside the years −9999 to 9999.
pub fn write_timestamp(micros: i64) -> Option<String> {
    let instant = jiff::Timestamp::from_microsecond(micros).ok()?;
    Some(Offset::UTC.to_datetime(instant).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with another implementation, on every day that it supports.
    #[test]
    fn days_are_those_of_the_calendar() {
        let mut date = civil::date(-9999, 1, 1);
        let mut days = days_of(date);
        loop {
            let civil = Civil::of(days);
            assert_eq!(
                (civil.year, civil.month, civil.day),
                (date.year().into(), date.month().into(), date.day().into())
            );
            let micros = days * DAY + 12_345;
            assert_eq!(Part::DayOfYear.extract(micros), i64::from(date.day_of_year()));
            assert_eq!(Part::IsoDayOfWeek.extract(micros), i64::from(date.weekday().to_monday_one_offset()));
            assert_eq!(Part::Week.extract(micros), i64::from(date.iso_week_date().week()));
            let Ok(next) = date.tomorrow() else { break };
            (date, days) = (next, days + 1);
        }
        assert_eq!(Civil::of(0), Civil { year: 1970, month: 1, day: 1 });
    }

    #[test]
    fn months_end_where_they_end() {
        let plus = |text: &str, months: i64| {
            let days = i64::from(parse_date(text).unwrap());
            write_date(Civil::of(days).plus_months(months).unwrap() as i32).unwrap()
        };
        assert_eq!(plus("2024-01-31", 1), "2024-02-29");
        assert_eq!(plus("2023-01-31", 1), "2023-02-28");
        assert_eq!(plus("2024-03-31", -13), "2023-02-28");
        assert_eq!(plus("2024-12-15", 1), "2025-01-15");
    }

    #[test]
    fn timestamps_are_read_and_written() {
        let micros = parse_timestamp("2026-03-02T10:30:00.000001").unwrap();
        assert_eq!(parse_timestamp("2026-03-02 11:30:00.000001+01:00"), Some(micros));
        assert_eq!(write_timestamp(micros).unwrap(), "2026-03-02T10:30:00.000001");
        assert_eq!(parse_timestamp("2026-03-02"), Some(i64::from(parse_date("2026-03-02").unwrap()) * DAY));
        assert_eq!(write_date(i32::MAX), None);
        assert_eq!(parse_date("2026-02-30"), None);
        let at = |part: Part| write_timestamp(part.truncate(micros).unwrap()).unwrap();
        assert_eq!(at(Part::Hour), "2026-03-02T10:00:00");
        assert_eq!(at(Part::Week), "2026-03-02T00:00:00");
        assert_eq!(at(Part::Quarter), "2026-01-01T00:00:00");
    }

    #[test]
    fn nothing_is_out_of_range() {
        for micros in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            for part in [Part::Week, Part::Year, Part::Month, Part::Day, Part::Hour, Part::Quarter, Part::Epoch] {
                let _ = (part.extract(micros), part.truncate(micros));
            }
            for months in [i64::MIN, -1, 1, i64::MAX] {
                let _ = Span { months, days: months, micros: months }.after(micros);
            }
        }
    }
}
