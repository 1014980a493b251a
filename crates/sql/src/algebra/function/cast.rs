//! Casts between types.

use reticent_table::number;

use super::finite;
use crate::algebra::Type;
use crate::algebra::calendar::{self, DAY};
use crate::algebra::column::{Booleans, Column, Dates, Integers, Native, Numbers, Texts, Timestamps, map};

/// Whether values of one type can be cast to another.
pub fn can_cast(from: Type, to: Type) -> bool {
    use Type::{Boolean, Date, Integer, Number, Text, Timestamp};
    from == to
        || matches!(
            (from, to),
            (Boolean | Integer | Number | Date | Timestamp, Text)
                | (Text, _)
                | (Boolean | Number, Integer)
                | (Integer, Number | Boolean)
                | (Date, Timestamp)
                | (Timestamp, Date)
        )
}

/// Casts the values of a column to another type.
///
/// # Total
/// What cannot be cast is NULL: a text that does not denote a value of the type, a number that does not fit.
///
/// Numbers become integers by truncation. True is 1. Dates and timestamps are read and written as ISO 8601, timestamps
/// in UTC; the date of a timestamp is its day in UTC.
pub fn cast(from: Type, to: Type, columns: &[Column], rows: usize) -> Column {
    use Type::{Boolean, Date, Integer, Number, Text, Timestamp};
    match (from, to) {
        (Text, Integer) => map::<Texts, Integers>(columns, rows, |text| text.trim().parse().ok()),
        (Text, Number) => map::<Texts, Numbers>(columns, rows, |text| number(text).filter(|number| number.is_finite())),
        (Text, Boolean) => map::<Texts, Booleans>(columns, rows, |text| truth(text.trim())),
        (Text, Date) => map::<Texts, Dates>(columns, rows, |text| calendar::parse_date(text.trim())),
        (Text, Timestamp) => map::<Texts, Timestamps>(columns, rows, |text| calendar::parse_timestamp(text.trim())),
        (Integer, Number) => map::<Integers, Numbers>(columns, rows, |x| Some(x as f64)),
        (Integer, Boolean) => map::<Integers, Booleans>(columns, rows, |x| Some(x != 0)),
        (Boolean, Integer) => map::<Booleans, Integers>(columns, rows, |x| Some(x.into())),
        (Number, Integer) => map::<Numbers, Integers>(columns, rows, whole),
        (Date, Timestamp) => map::<Dates, Timestamps>(columns, rows, |days| i64::from(days).checked_mul(DAY)),
        (Timestamp, Date) => {
            map::<Timestamps, Dates>(columns, rows, |micros| i32::try_from(micros.div_euclid(DAY)).ok())
        }
        (Boolean, Text) => written::<Booleans>(columns, rows, |x| Some(x.to_string())),
        (Integer, Text) => written::<Integers>(columns, rows, |x| Some(x.to_string())),
        (Number, Text) => written::<Numbers>(columns, rows, |x| finite(x).map(|x| x.to_string())),
        (Date, Text) => written::<Dates>(columns, rows, calendar::write_date),
        (Timestamp, Text) => written::<Timestamps>(columns, rows, calendar::write_timestamp),
        // Already of that type.
        _ => columns.first().cloned().unwrap_or(Column::Constant(crate::algebra::Value::Null)),
    }
}

fn written<T: Native>(columns: &[Column], rows: usize, text: impl Fn(T::Item<'_>) -> Option<String>) -> Column {
    map::<T, Texts>(columns, rows, text)
}

/// The integer part, if it fits in 64 bits.
fn whole(x: f64) -> Option<i64> {
    let whole = x.trunc();
    // −2^63 is a float, but 2^63 − 1 is not: the next float above it is 2^63, which does not fit.
    ((i64::MIN as f64)..-(i64::MIN as f64)).contains(&whole).then_some(whole as i64)
}

fn truth(text: &str) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match () {
        () if is(["true", "t", "yes", "1"]) => Some(true),
        () if is(["false", "f", "no", "0"]) => Some(false),
        () => None,
    }
}
