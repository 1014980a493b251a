//! Functions that return one of their arguments.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::compare::in_order;
use crate::algebra::column::{Booleans, Column, Dates, Integers, Native, Numbers, Reader, Texts, Timestamps, each};
use crate::algebra::{Type, Value};

/// Chooses among arguments of one type.
///
/// # Total
/// The result is one of the arguments, or NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// `COALESCE(a, b, …)`: the first that is not NULL
    Coalesce,
    /// `NULLIF(a, b)`: a, or NULL if they are equal
    NullIf,
    /// `GREATEST(a, b, …)`, ignoring NULLs
    Greatest,
    /// `LEAST(a, b, …)`, ignoring NULLs
    Least,
}

impl Choice {
    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(self, inputs: &[Type]) -> Option<Type> {
        let (first, rest) = inputs.split_first()?;
        let number = if self == Self::NullIf { rest.len() == 1 } else { true };
        (number && rest.iter().all(|kind| kind == first)).then_some(*first)
    }

    /// Computes the value for each row.
    pub fn apply(self, kind: Type, columns: &[Column], rows: usize) -> Column {
        match kind {
            Type::Boolean => self.chosen::<Booleans>(columns, rows, |a, b| a.cmp(&b), |a| a),
            Type::Integer => self.chosen::<Integers>(columns, rows, |a, b| a.cmp(&b), |a| a),
            Type::Number => self.chosen::<Numbers>(columns, rows, in_order, |a| a),
            Type::Text => self.chosen::<Texts>(columns, rows, |a, b| a.cmp(b), str::to_owned),
            Type::Date => self.chosen::<Dates>(columns, rows, |a, b| a.cmp(&b), |a| a),
            Type::Timestamp => self.chosen::<Timestamps>(columns, rows, |a, b| a.cmp(&b), |a| a),
        }
    }

    fn chosen<T: Native>(
        self,
        columns: &[Column],
        rows: usize,
        order: impl Fn(T::Item<'_>, T::Item<'_>) -> Ordering,
        owned: impl Fn(T::Item<'_>) -> T::Owned,
    ) -> Column {
        let readers: Vec<Reader<'_, T>> = columns.iter().map(Reader::of).collect();
        let Some((first, rest)) = readers.split_first() else { return Column::Constant(Value::Null) };
        each::<T>(columns, rows, |row| {
            let mut values = readers.iter().filter_map(|reader| reader.get(row));
            let chosen = match self {
                Self::Coalesce => values.next(),
                Self::NullIf => {
                    let (a, b) = (first.get(row)?, rest.first().and_then(|reader| reader.get(row)));
                    (!b.is_some_and(|b| order(a, b).is_eq())).then_some(a)
                }
                Self::Greatest => values.reduce(|a, b| if order(a, b).is_ge() { a } else { b }),
                Self::Least => values.reduce(|a, b| if order(a, b).is_le() { a } else { b }),
            };
            chosen.map(&owned)
        })
    }
}
