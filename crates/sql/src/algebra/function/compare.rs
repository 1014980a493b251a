//! Comparisons.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::algebra::column::{Booleans, Column, Dates, Integers, Native, Numbers, Reader, Texts, Timestamps, each};
use crate::algebra::{Type, Value};

/// Compares two values of the same type.
///
/// # Total
/// Every type has a total order: texts by their bytes, and real numbers with NaN after all others and −0 equal to 0.
/// Comparing NULL with anything gives NULL, except for `IS [NOT] DISTINCT FROM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// `a = b`
    Equal,
    /// `a <> b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterOrEqual,
    /// `a IS DISTINCT FROM b`: NULL is an ordinary value
    Distinct,
    /// `a IS NOT DISTINCT FROM b`: NULL is an ordinary value
    NotDistinct,
}

impl Comparison {
    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(self, inputs: &[Type]) -> Option<Type> {
        matches!(inputs, [one, other] if one == other).then_some(Type::Boolean)
    }

    /// Computes the value for each row.
    pub fn apply(self, input: Type, columns: &[Column], rows: usize) -> Column {
        match input {
            Type::Boolean => self.compared::<Booleans>(columns, rows, |a, b| a.cmp(&b)),
            Type::Integer => self.compared::<Integers>(columns, rows, |a, b| a.cmp(&b)),
            Type::Number => self.compared::<Numbers>(columns, rows, in_order),
            Type::Text => self.compared::<Texts>(columns, rows, |a, b| a.cmp(b)),
            Type::Date => self.compared::<Dates>(columns, rows, |a, b| a.cmp(&b)),
            Type::Timestamp => self.compared::<Timestamps>(columns, rows, |a, b| a.cmp(&b)),
        }
    }

    fn compared<T: Native>(
        self,
        columns: &[Column],
        rows: usize,
        order: impl Fn(T::Item<'_>, T::Item<'_>) -> Ordering,
    ) -> Column {
        let [a, b] = columns else { return Column::Constant(Value::Null) };
        let (a, b) = (Reader::<T>::of(a), Reader::<T>::of(b));
        each::<Booleans>(columns, rows, |row| match (a.get(row), b.get(row), self) {
            (Some(a), Some(b), _) => Some(self.holds(order(a, b))),
            (None, None, Self::NotDistinct) | (Some(_), None, Self::Distinct) | (None, Some(_), Self::Distinct) => {
                Some(true)
            }
            (_, _, Self::Distinct | Self::NotDistinct) => Some(false),
            _ => None,
        })
    }

    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal | Self::NotDistinct => order.is_eq(),
            Self::NotEqual | Self::Distinct => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Orders two numbers: 0 equals −0, and every NaN equals every other and comes last.
pub fn in_order(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}
