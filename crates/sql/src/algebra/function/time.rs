//! Date and timestamp functions.

use serde::{Deserialize, Serialize};

use crate::algebra::Type;
use crate::algebra::calendar::{DAY, Part, Span};
use crate::algebra::column::{Column, Dates, Integers, Timestamps, map, map2};

/// A date or timestamp function.
///
/// # Total
/// NULL if the result does not fit in 64 bits of microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Time {
    /// `EXTRACT(part FROM t)`
    Extract(Part),
    /// `DATE_TRUNC('part', t)`; a date for a date
    Truncate(Part),
    /// `t + INTERVAL '…'`; a date for a date, which accepts no hours or smaller units
    Add(Span),
    /// `d + n` days
    AddDays,
    /// `d - e`: the number of days between two dates
    DaysBetween,
}

impl Time {
    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(self, inputs: &[Type]) -> Option<Type> {
        match (self, inputs) {
            (Self::Extract(_), [Type::Date | Type::Timestamp]) => Some(Type::Integer),
            (Self::Truncate(part), [kind @ (Type::Date | Type::Timestamp)]) => {
                part.truncate(0)?;
                Some(*kind)
            }
            (Self::Add(span), [Type::Date]) if span.micros == 0 => Some(Type::Date),
            (Self::Add(_), [Type::Timestamp]) => Some(Type::Timestamp),
            (Self::AddDays, [Type::Date, Type::Integer]) => Some(Type::Date),
            (Self::DaysBetween, [Type::Date, Type::Date]) => Some(Type::Integer),
            _ => None,
        }
    }

    /// Computes the value for each row.
    pub fn apply(self, input: Type, columns: &[Column], rows: usize) -> Column {
        match self {
            Self::DaysBetween => {
                return map2::<Dates, Dates, Integers>(columns, rows, |a, b| Some(i64::from(a) - i64::from(b)));
            }
            Self::AddDays => {
                return map2::<Dates, Integers, Dates>(columns, rows, |a, b| {
                    i64::from(a).checked_add(b).and_then(|days| days.try_into().ok())
                });
            }
            _ => {}
        }
        let of = |micros: i64| match self {
            Self::Truncate(part) => part.truncate(micros),
            Self::Add(span) => span.after(micros),
            Self::Extract(part) => Some(part.extract(micros)),
            Self::AddDays | Self::DaysBetween => None,
        };
        let of_days = |days: i32| of(i64::from(days).checked_mul(DAY)?);
        match (self, input) {
            (Self::Extract(_), Type::Date) => map::<Dates, Integers>(columns, rows, of_days),
            (Self::Extract(_), _) => map::<Timestamps, Integers>(columns, rows, of),
            (_, Type::Date) => {
                map::<Dates, Dates>(columns, rows, |days| i32::try_from(of_days(days)?.div_euclid(DAY)).ok())
            }
            _ => map::<Timestamps, Timestamps>(columns, rows, of),
        }
    }
}
