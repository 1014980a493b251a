//! Supported column types, and values as 64-bit words.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

const SIGN: u64 = 1 << 63;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Boolean,
    Integer,
    Float,
    Text,
    Date,
    Time,
    /// Only for units.
    Unsigned,
}

impl Kind {
    pub fn of(kind: &DataType) -> Option<Self> {
        match kind {
            DataType::Boolean => Some(Self::Boolean),
            DataType::Int64 => Some(Self::Integer),
            DataType::Float64 => Some(Self::Float),
            DataType::Utf8View => Some(Self::Text),
            DataType::Date32 => Some(Self::Date),
            DataType::Timestamp(TimeUnit::Microsecond, None) => Some(Self::Time),
            DataType::UInt64 => Some(Self::Unsigned),
            _ => None,
        }
    }

    pub fn data_type(self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::Utf8View,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Unsigned => DataType::UInt64,
        }
    }

    /// Whether rows can be grouped by it, and its values be items.
    pub fn can_group(self) -> bool {
        self != Self::Unsigned
    }

    /// Whether its values are numbers. Dates and times are numbers of days and microseconds; true is 1.
    pub fn is_number(self) -> bool {
        self.can_group() && self != Self::Text
    }

    pub fn can_be_unit(self) -> bool {
        matches!(self, Self::Integer | Self::Unsigned | Self::Text)
    }

    /// Converts every value to a word: words are equal if and only if the values are, and have the same order. Every
    /// NaN is the same value, the largest, and −0 is 0. NULL has an arbitrary word. Not for texts.
    pub fn words(self, column: &dyn Array, words: &mut Vec<u64>) {
        words.clear();
        let of_integer = |value: i64| value as u64 ^ SIGN;
        match self {
            Self::Boolean => words.extend(column.as_boolean().values().iter().map(u64::from)),
            Self::Integer => words.extend(column.as_primitive::<Int64Type>().values().iter().map(|&x| of_integer(x))),
            Self::Float => words.extend(column.as_primitive::<Float64Type>().values().iter().map(|&x| of_float(x))),
            Self::Date => {
                words.extend(column.as_primitive::<Date32Type>().values().iter().map(|&x| of_integer(x.into())));
            }
            Self::Time => {
                let values = column.as_primitive::<TimestampMicrosecondType>().values();
                words.extend(values.iter().map(|&x| of_integer(x)));
            }
            Self::Text | Self::Unsigned => {}
        }
    }

    /// The column that these [`Kind::words`] come from.
    pub fn column_of_words(self, words: impl Iterator<Item = Option<u64>>) -> ArrayRef {
        let integer = |word: u64| (word ^ SIGN) as i64;
        match self {
            Self::Boolean => Arc::new(words.map(|word| word.map(|word| word != 0)).collect::<BooleanArray>()),
            Self::Float => Arc::new(words.map(|word| word.map(to_float)).collect::<Float64Array>()),
            Self::Date => Arc::new(words.map(|word| word.map(|word| integer(word) as i32)).collect::<Date32Array>()),
            Self::Time => Arc::new(words.map(|word| word.map(integer)).collect::<TimestampMicrosecondArray>()),
            _ => Arc::new(words.map(|word| word.map(integer)).collect::<Int64Array>()),
        }
    }
}

/// A column of texts.
pub(crate) fn column_of_texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(texts.collect::<StringViewArray>())
}

fn of_float(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN } else { value + 0.0 }.to_bits();
    // Negative numbers are in the reverse order of their bits.
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn to_float(word: u64) -> f64 {
    f64::from_bits(if word & SIGN == 0 { !word } else { word & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_the_order_of_values() {
        let floats = [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
        let words = floats.map(of_float);
        assert!(words.is_sorted() && words.iter().all(|word| words.iter().filter(|other| *other == word).count() == 1));
        assert!(floats.iter().zip(words).all(|(value, word)| value.to_bits() == to_float(word).to_bits()));
        assert_eq!(of_float(-0.0), of_float(0.0));
        assert_eq!(of_float(-f64::NAN), of_float(f64::from_bits(0x7ff0_0000_0000_0001)));

        let integers: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 1, i64::MAX]));
        let mut words = Vec::new();
        Kind::Integer.words(&integers, &mut words);
        assert!(words.is_sorted());
        assert_eq!(&Kind::Integer.column_of_words(words.into_iter().map(Some)), &integers);
    }

    #[test]
    fn every_kind_has_its_data_type() {
        for kind in [Kind::Boolean, Kind::Integer, Kind::Float, Kind::Text, Kind::Date, Kind::Time, Kind::Unsigned] {
            assert_eq!(Kind::of(&kind.data_type()), Some(kind));
        }
        assert_eq!(Kind::of(&DataType::Utf8), None);
    }
}
