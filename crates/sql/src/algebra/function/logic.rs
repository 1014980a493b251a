//! Boolean operators and tests for NULL.

use serde::{Deserialize, Serialize};

use crate::algebra::column::{Booleans, Column, Reader, each};
use crate::algebra::{Type, Value};
use arrow_array::Array;

/// An operation on conditions, each true, false or NULL (unknown).
///
/// # Total
/// Defined by its three-valued truth table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Logic {
    /// `a AND b`: false if either is, even if the other is NULL
    And,
    /// `a OR b`: true if either is, even if the other is NULL
    Or,
    /// `NOT a`
    Not,
    /// `a IS TRUE`
    IsTrue,
    /// `a IS FALSE`
    IsFalse,
    /// `a IS NULL`, of any type
    IsNull,
}

impl Logic {
    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(self, inputs: &[Type]) -> Option<Type> {
        let fits = match self {
            Self::And | Self::Or => inputs == [Type::Boolean, Type::Boolean],
            Self::Not | Self::IsTrue | Self::IsFalse => inputs == [Type::Boolean],
            Self::IsNull => inputs.len() == 1,
        };
        fits.then_some(Type::Boolean)
    }

    /// Computes the value for each row.
    pub fn apply(self, columns: &[Column], rows: usize) -> Column {
        match (self, columns) {
            (Self::And | Self::Or, [a, b]) => {
                let (a, b) = (Reader::<Booleans>::of(a), Reader::<Booleans>::of(b));
                // The value that decides the result whatever the other is.
                let deciding = self == Self::Or;
                each::<Booleans>(columns, rows, |row| match (a.get(row), b.get(row)) {
                    (Some(one), _) | (_, Some(one)) if one == deciding => Some(deciding),
                    (Some(_), Some(other)) => Some(other),
                    _ => None,
                })
            }
            (Self::IsNull, [Column::Constant(value)]) => Column::Constant(Value::Boolean(value.is_null())),
            (Self::IsNull, [Column::Array(array)]) => each::<Booleans>(columns, rows, |row| Some(array.is_null(row))),
            (_, [a]) => {
                let a = Reader::<Booleans>::of(a);
                each::<Booleans>(columns, rows, |row| match (self, a.get(row)) {
                    (Self::Not, a) => a.map(|a| !a),
                    (Self::IsTrue, a) => Some(a == Some(true)),
                    (_, a) => Some(a == Some(false)),
                })
            }
            _ => Column::Constant(Value::Null),
        }
    }
}
