//! The values that expressions have.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Type;

/// A constant, or one cell of a table in memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Value {
    /// No value.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A real number.
    Number(f64),
    /// A text.
    Text(Arc<str>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01, in UTC.
    Timestamp(i64),
}

impl Value {
    /// Its type; `None` for NULL, which has any.
    pub fn kind(&self) -> Option<Type> {
        match self {
            Self::Null => None,
            Self::Boolean(_) => Some(Type::Boolean),
            Self::Integer(_) => Some(Type::Integer),
            Self::Number(_) => Some(Type::Number),
            Self::Text(_) => Some(Type::Text),
            Self::Date(_) => Some(Type::Date),
            Self::Timestamp(_) => Some(Type::Timestamp),
        }
    }

    /// Is it NULL?
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// The same value, bit by bit: NaN is NaN, and 0 is not −0. This tells whether two expressions are the same one, not whether
/// SQL calls two values equal.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.to_bits() == other.to_bits(),
            (Self::Null, Self::Null) => true,
            (Self::Boolean(one), Self::Boolean(other)) => one == other,
            (Self::Integer(one), Self::Integer(other)) | (Self::Timestamp(one), Self::Timestamp(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Date(one), Self::Date(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Value {
    /// The order of two values of one type; NULL and values of other types have none. NaN comes after all other numbers.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(one), Self::Boolean(other)) => Some(one.cmp(other)),
            (Self::Integer(one), Self::Integer(other)) | (Self::Timestamp(one), Self::Timestamp(other)) => {
                Some(one.cmp(other))
            }
            (Self::Number(one), Self::Number(other)) => Some(one.total_cmp(other)),
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            (Self::Date(one), Self::Date(other)) => Some(one.cmp(other)),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("NULL"),
            Self::Boolean(value) => write!(formatter, "{value}"),
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::Number(value) => write!(formatter, "{value}"),
            Self::Text(value) => write!(formatter, "'{}'", value.replace('\'', "''")),
            Self::Date(days) => write!(formatter, "day {days}"),
            Self::Timestamp(micros) => write!(formatter, "microsecond {micros}"),
        }
    }
}
