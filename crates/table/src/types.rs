//! The types that a query sees.

use std::fmt::{self, Display, Formatter};

use arrow_schema::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

/// The type of a column in a query. There are no others.
///
/// | type | in a batch | in a file |
/// |---|---|---|
/// | `Boolean` | `Boolean` | booleans |
/// | `Integer` | `Int64` | integers of any width; NULL above 2⁶³ − 1 |
/// | `Number` | `Float64` | floats of any width, and decimals: the nearest float |
/// | `Text` | `Utf8View` | text of any encoding; NULL if longer than [`MOST_TEXT`](crate::MOST_TEXT) |
/// | `Date` | `Date32` | dates; NULL if out of range |
/// | `Timestamp` | `Timestamp(µs)` | timestamps of any unit, without a zone or in UTC; NULL if out of range |
///
/// A dictionary has the type of its values. Binary, times of day, durations and nested types have no type here, and
/// neither have timestamps in other zones: their hours and days would be those of UTC, not those of the people who
/// wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// True or false.
    Boolean,
    /// A 64-bit integer.
    Integer,
    /// A 64-bit floating-point number.
    Number,
    /// Text in UTF-8.
    Text,
    /// A day.
    Date,
    /// An instant, to the microsecond.
    Timestamp,
}

impl Type {
    /// Returns the type of the column in a batch.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Number => DataType::Float64,
            Self::Text => DataType::Utf8View,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    /// Returns the type under which a query sees a file's type; `None` if it cannot use it.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        match plain(data_type) {
            Boolean => Some(Self::Boolean),
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Some(Self::Integer),
            Float16 | Float32 | Float64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => {
                Some(Self::Number)
            }
            Utf8 | LargeUtf8 | Utf8View => Some(Self::Text),
            Date32 | Date64 => Some(Self::Date),
            Timestamp(_, zone) if zone.as_ref().is_none_or(|zone| is_utc(zone)) => Some(Self::Timestamp),
            _ => None,
        }
    }
}

impl Display for Type {
    /// In words, as in "the column is text, not a number".
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Boolean => "true or false",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Text => "text",
            Self::Date => "a date",
            Self::Timestamp => "a timestamp",
        })
    }
}

/// Whether a time zone is always UTC.
fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Etc/UTC" | "Zulu" | "Z" | "GMT" | "+00:00" | "-00:00" | "+0000" | "+00")
}

/// A file's type in words, for error messages.
pub fn described(data_type: &DataType) -> String {
    match plain(data_type) {
        DataType::Timestamp(_, Some(zone)) => {
            format!("a timestamp in the time zone {zone} (convert it to UTC, or to local time without a zone)")
        }
        other => other.to_string(),
    }
}

/// The type of a dictionary's values; any other type unchanged.
pub fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_in_a_batch_is_itself_in_a_file() {
        for one in [Type::Boolean, Type::Integer, Type::Number, Type::Text, Type::Date, Type::Timestamp] {
            assert_eq!(Type::of(&one.data_type()), Some(one));
            let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(one.data_type()));
            assert_eq!(Type::of(&dictionary), Some(one));
            let twice = DataType::Dictionary(Box::new(DataType::Int8), Box::new(dictionary));
            assert_eq!(Type::of(&twice), None, "a dictionary in a dictionary is allowed, and useless");
        }
    }

    #[test]
    fn what_is_no_value_of_a_query() {
        let list = DataType::new_list(DataType::Int8, true);
        let zoned = |zone: &str| DataType::Timestamp(TimeUnit::Second, Some(zone.into()));
        assert_eq!(Type::of(&zoned("UTC")), Some(Type::Timestamp));
        let berlin = zoned("Europe/Berlin");
        assert!(described(&berlin).contains("time zone Europe/Berlin"));
        let bytes = [DataType::Binary, DataType::FixedSizeBinary(16)];
        for none in bytes.into_iter().chain([DataType::Time32(TimeUnit::Second), list, berlin, zoned("+01:00")]) {
            assert_eq!(Type::of(&none), None, "{none}");
        }
    }
}
