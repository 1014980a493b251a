//! Membership in a constant set.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::algebra::column::{Booleans, Column, Dates, Integers, Native, Numbers, Reader, Texts, Timestamps, each};
use crate::algebra::{Type, Value};

/// `a IN (…)`: a set of constants of the same type, possibly from a public table.
///
/// # Total
/// Every value is in the set or not. As in SQL, if the set contains NULL, the result for a value not in it is NULL.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Membership {
    kind: Type,
    has_null: bool,
    words: Arc<HashSet<Word>>,
}

/// A value in the form used for lookup: equal values have equal words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Word {
    Bits(u64),
    Text(String),
}

/// The serialised form of a set.
#[derive(Debug, Serialize, Deserialize)]
struct Listed(Type, bool, Vec<Word>);

impl From<Listed> for Membership {
    fn from(Listed(kind, has_null, words): Listed) -> Self {
        Self { kind, has_null, words: Arc::new(words.into_iter().collect()) }
    }
}

impl From<Membership> for Listed {
    fn from(set: Membership) -> Self {
        let mut words: Vec<Word> = set.words.iter().cloned().collect();
        words.sort_unstable();
        Self(set.kind, set.has_null, words)
    }
}

/// Sorted, so that equal sets print alike.
impl fmt::Debug for Membership {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed(kind, has_null, words) = self.clone().into();
        formatter.debug_tuple("Membership").field(&kind).field(&has_null).field(&words).finish()
    }
}

impl Membership {
    /// The set of these values; values of another type are left out.
    pub fn new(kind: Type, values: &[Value]) -> Self {
        let word = |value: &Value| match value {
            Value::Null => None,
            Value::Boolean(value) => Some(Word::Bits((*value).into())),
            Value::Integer(value) | Value::Timestamp(value) => Some(Word::Bits(*value as u64)),
            Value::Number(value) => Some(Word::Bits(bits(*value))),
            Value::Text(value) => Some(Word::Text(value.to_string())),
            Value::Date(value) => Some(Word::Bits(i64::from(*value) as u64)),
        };
        let of_kind = values.iter().filter(|value| value.kind() == Some(kind));
        let words = of_kind.filter_map(word).collect();
        Self { kind, has_null: values.iter().any(Value::is_null), words: Arc::new(words) }
    }

    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(&self, inputs: &[Type]) -> Option<Type> {
        (inputs == [self.kind]).then_some(Type::Boolean)
    }

    /// Computes the value for each row.
    pub fn apply(&self, columns: &[Column], rows: usize) -> Column {
        match self.kind {
            Type::Boolean => self.looked_up::<Booleans>(columns, rows, |a| Word::Bits(a.into())),
            Type::Integer => self.looked_up::<Integers>(columns, rows, |a| Word::Bits(a as u64)),
            Type::Number => self.looked_up::<Numbers>(columns, rows, |a| Word::Bits(bits(a))),
            Type::Text => self.looked_up::<Texts>(columns, rows, |a| Word::Text(a.to_owned())),
            Type::Date => self.looked_up::<Dates>(columns, rows, |a| Word::Bits(i64::from(a) as u64)),
            Type::Timestamp => self.looked_up::<Timestamps>(columns, rows, |a| Word::Bits(a as u64)),
        }
    }

    fn looked_up<T: Native>(&self, columns: &[Column], rows: usize, word: impl Fn(T::Item<'_>) -> Word) -> Column {
        let [a] = columns else { return Column::Constant(Value::Null) };
        let a = Reader::<T>::of(a);
        each::<Booleans>(columns, rows, |row| match self.words.contains(&word(a.get(row)?)) {
            false if self.has_null => None,
            found => Some(found),
        })
    }
}

/// The bits of a number: −0 as 0, and every NaN the same.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { (number + 0.0).to_bits() }
}
