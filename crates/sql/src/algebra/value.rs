//! Values of expressions.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Type;

/// A constant, or one cell of an in-memory table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Value {
    /// No value.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A real number.
    Number(f64),
    /// A string.
    Text(Arc<str>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01, in UTC.
    Timestamp(i64),
}

impl Value {
    /// Returns the type; `None` for NULL, which can be of any type.
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

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// Bitwise equality: NaN equals NaN, and 0 differs from −0. It decides whether two expressions are the same, not
/// whether SQL considers two values equal.
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
    /// Orders two values of the same type; `None` for NULL or differing types. Numbers are in IEEE 754 total order.
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
