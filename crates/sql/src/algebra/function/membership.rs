//! Membership in a constant set.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef};
use serde::{Deserialize, Serialize};

use crate::algebra::column::{Booleans, Column, Dates, Integers, Native, Numbers, Reader, Texts, Timestamps, each};
use crate::algebra::{Type, Value};

/// `a IN (…)`: a set of constants of the same type, possibly from a public table.
///
/// # Total
/// Every value is in the set or not. As in SQL, if the set contains NULL, the result for a value not in it is NULL.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Membership {
    kind: Type,
    has_null: bool,
    /// The sum of the elements' hashes: sets with different ones differ. Expressions are compared often, and a set may
    /// have millions of elements.
    digest: u64,
    /// The memory of its texts.
    text_bytes: usize,
    set: Arc<Set>,
}

/// The elements in the form used for lookup: equal values have equal forms.
#[derive(Debug, PartialEq)]
enum Set {
    Bits(HashSet<u64>),
    Texts(HashSet<Box<str>>),
}

/// The serialised form of a set.
#[derive(Debug, Serialize, Deserialize)]
struct Listed(Type, bool, Vec<Word>);

/// The serialised form of an element.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Word {
    Bits(u64),
    Text(String),
}

/// Drawn once per process, so that nobody can choose elements whose hashes have equal sums.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl From<Listed> for Membership {
    fn from(Listed(kind, has_null, words): Listed) -> Self {
        let mut set = Self::empty(kind);
        set.has_null = has_null;
        for word in words {
            match word {
                Word::Bits(bits) => set.insert_bits(bits),
                Word::Text(text) => set.insert_text(&text),
            }
        }
        set
    }
}

impl From<Membership> for Listed {
    fn from(set: Membership) -> Self {
        let mut words: Vec<Word> = match &*set.set {
            Set::Bits(all) => all.iter().map(|&bits| Word::Bits(bits)).collect(),
            Set::Texts(all) => all.iter().map(|text| Word::Text(text.to_string())).collect(),
        };
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

impl PartialEq for Membership {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.has_null, self.digest) == (other.kind, other.has_null, other.digest)
            && (Arc::ptr_eq(&self.set, &other.set) || self.set == other.set)
    }
}

impl Membership {
    /// The set without elements.
    pub fn empty(kind: Type) -> Self {
        let set = if kind == Type::Text { Set::Texts(HashSet::new()) } else { Set::Bits(HashSet::new()) };
        Self { kind, has_null: false, digest: 0, text_bytes: 0, set: Arc::new(set) }
    }

    /// The set of these values; values of another type are left out.
    pub fn new(kind: Type, values: &[Value]) -> Self {
        let mut set = Self::empty(kind);
        set.has_null = values.iter().any(Value::is_null);
        for value in values.iter().filter(|value| value.kind() == Some(kind)) {
            match value {
                Value::Null => {}
                Value::Boolean(value) => set.insert_bits((*value).into()),
                Value::Integer(value) | Value::Timestamp(value) => set.insert_bits(*value as u64),
                Value::Number(value) => set.insert_bits(bits(*value)),
                Value::Text(value) => set.insert_text(value),
                Value::Date(value) => set.insert_bits(i64::from(*value) as u64),
            }
        }
        set
    }

    /// Adds the values of a column of its type.
    pub fn extend(&mut self, column: &ArrayRef) {
        let (rows, column) = (column.len(), Column::Array(column.clone()));
        match self.kind {
            Type::Boolean => self.add_all::<Booleans>(&column, rows, |set, a| set.insert_bits(a.into())),
            Type::Integer => self.add_all::<Integers>(&column, rows, |set, a| set.insert_bits(a as u64)),
            Type::Number => self.add_all::<Numbers>(&column, rows, |set, a| set.insert_bits(bits(a))),
            Type::Text => self.add_all::<Texts>(&column, rows, Self::insert_text),
            Type::Date => self.add_all::<Dates>(&column, rows, |set, a| set.insert_bits(i64::from(a) as u64)),
            Type::Timestamp => self.add_all::<Timestamps>(&column, rows, |set, a| set.insert_bits(a as u64)),
        }
    }

    fn add_all<T: Native>(&mut self, column: &Column, rows: usize, add: impl Fn(&mut Self, T::Item<'_>)) {
        let values = Reader::<T>::of(column);
        for row in 0..rows {
            match values.get(row) {
                Some(value) => add(self, value),
                None => self.has_null = true,
            }
        }
    }

    fn insert_bits(&mut self, bits: u64) {
        if let Some(Set::Bits(all)) = Arc::get_mut(&mut self.set)
            && all.insert(bits)
        {
            self.digest = self.digest.wrapping_add(HASHES.hash_one(bits));
        }
    }

    fn insert_text(&mut self, text: &str) {
        if let Some(Set::Texts(all)) = Arc::get_mut(&mut self.set)
            && !all.contains(text)
        {
            all.insert(text.into());
            self.text_bytes += text.len() + MALLOC;
            self.digest = self.digest.wrapping_add(HASHES.hash_one(text));
        }
    }

    /// The memory that it takes, in bytes. A hash table has a byte of its own for each place.
    pub fn bytes(&self) -> usize {
        match &*self.set {
            Set::Bits(all) => all.capacity() * (size_of::<u64>() + 1),
            Set::Texts(all) => all.capacity() * (size_of::<Box<str>>() + 1) + self.text_bytes,
        }
    }

    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(&self, inputs: &[Type]) -> Option<Type> {
        (inputs == [self.kind]).then_some(Type::Boolean)
    }

    /// Computes the value for each row.
    pub fn apply(&self, columns: &[Column], rows: usize) -> Column {
        match self.kind {
            Type::Boolean => self.looked_up::<Booleans>(columns, rows, |a| self.has_bits(a.into())),
            Type::Integer => self.looked_up::<Integers>(columns, rows, |a| self.has_bits(a as u64)),
            Type::Number => self.looked_up::<Numbers>(columns, rows, |a| self.has_bits(bits(a))),
            Type::Text => self.looked_up::<Texts>(columns, rows, |a| self.has_text(a)),
            Type::Date => self.looked_up::<Dates>(columns, rows, |a| self.has_bits(i64::from(a) as u64)),
            Type::Timestamp => self.looked_up::<Timestamps>(columns, rows, |a| self.has_bits(a as u64)),
        }
    }

    fn has_bits(&self, bits: u64) -> bool {
        matches!(&*self.set, Set::Bits(all) if all.contains(&bits))
    }

    fn has_text(&self, text: &str) -> bool {
        matches!(&*self.set, Set::Texts(all) if all.contains(text))
    }

    fn looked_up<T: Native>(&self, columns: &[Column], rows: usize, has: impl Fn(T::Item<'_>) -> bool) -> Column {
        let [a] = columns else { return Column::Constant(Value::Null) };
        let a = Reader::<T>::of(a);
        each::<Booleans>(columns, rows, |row| match has(a.get(row)?) {
            false if self.has_null => None,
            found => Some(found),
        })
    }
}

/// The bytes that an allocation takes beside its contents.
const MALLOC: usize = 16;

/// The bits of a number: −0 as 0, and every NaN the same.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { (number + 0.0).to_bits() }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, StringViewArray};

    use super::*;

    #[test]
    fn sets_are_equal_if_their_elements_are() {
        let texts = |all: &[&str]| {
            Membership::new(Type::Text, &all.iter().map(|&one| Value::Text(one.into())).collect::<Vec<_>>())
        };
        assert_eq!(texts(&["a", "b", "a"]), texts(&["b", "a"]));
        assert_ne!(texts(&["a", "b"]), texts(&["a", "c"]));
        assert_ne!(texts(&[]), Membership::new(Type::Text, &[Value::Null]));
        let mut column = Membership::empty(Type::Text);
        column.extend(&(Arc::new(StringViewArray::from(vec!["b", "a", "b"])) as ArrayRef));
        assert_eq!(column, texts(&["a", "b"]));
        assert_eq!(column.bytes(), texts(&["b", "a"]).bytes());
        let mut numbers = Membership::empty(Type::Number);
        numbers.extend(&(Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(0.0)])) as ArrayRef));
        assert_eq!(numbers, Membership::new(Type::Number, &[Value::Number(0.0), Value::Null]));
        let listed = serde_json::to_string(&column).unwrap();
        assert_eq!(serde_json::from_str::<Membership>(&listed).unwrap(), column);
    }
}
