//! The distinct values of a column, numbered.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use crate::growth::Growth;
use crate::kind::{Kind, column_of_texts};
use crate::texts::Texts;
use crate::words::Words;
use crate::worker::{CHUNK, MOST_TEXT};

/// Stands for a value without a number.
pub(crate) const NONE: u32 = u32::MAX;

/// Numbers the distinct values of a column in order of first occurrence. All NaN are one value, and −0 is 0.
#[derive(Clone)]
pub(crate) struct Values {
    kind: Kind,
    nulls: Nulls,
    distinct: Distinct,
    /// The words of the batch being numbered.
    words: Vec<u64>,
}

#[derive(Clone)]
enum Distinct {
    Words(Words),
    Texts(Texts),
}

/// The treatment of NULL.
#[derive(Clone, Copy)]
enum Nulls {
    /// It has no number.
    Missing,
    /// A value like the others, with this number if it has occurred.
    Value(Option<u32>),
}

/// Whether new values get numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum New {
    Numbered,
    /// A new value gets [`NONE`].
    Unknown,
}

impl Values {
    /// Key values, which include NULL.
    pub fn of_keys(kind: Kind) -> Self {
        Self::new(kind, Nulls::Value(None))
    }

    /// Items, which exclude NULL.
    pub fn of_items(kind: Kind) -> Self {
        Self::new(kind, Nulls::Missing)
    }

    fn new(kind: Kind, nulls: Nulls) -> Self {
        let distinct = match kind {
            Kind::Text => Distinct::Texts(Texts::default()),
            _ => Distinct::Words(Words::default()),
        };
        Self { kind, nulls, distinct, words: Vec::new() }
    }

    pub fn data_type(&self) -> DataType {
        self.kind.data_type()
    }

    pub fn len(&self) -> usize {
        match &self.distinct {
            Distinct::Words(words) => words.len(),
            Distinct::Texts(texts) => texts.len(),
        }
    }

    /// Writes the number of every row's value to `numbers`; [`NONE`] if it has none.
    pub fn number(&mut self, column: &ArrayRef, new: New, numbers: &mut Vec<u32>) {
        numbers.clear();
        if let Distinct::Words(_) = self.distinct {
            self.kind.words(column, &mut self.words);
        }
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
        let mut from = 0;
        if let (Some(nulls), Nulls::Value(None), New::Numbered) = (nulls, self.nulls, new) {
            // The first NULL is numbered in its turn.
            from = (0..column.len()).find(|&row| nulls.is_null(row)).unwrap_or_default();
            self.number_rows(column, 0..from, NONE, new, numbers);
            self.nulls = Nulls::Value(Some(match &mut self.distinct {
                Distinct::Words(words) => words.skip(),
                Distinct::Texts(texts) => texts.skip(),
            }));
        }
        let null = match self.nulls {
            Nulls::Value(Some(number)) => number,
            _ => NONE,
        };
        self.number_rows(column, from..column.len(), null, new, numbers);
    }

    fn number_rows(&mut self, column: &ArrayRef, rows: Range<usize>, null: u32, new: New, numbers: &mut Vec<u32>) {
        let (words, nulls) = (&self.words, column.nulls().filter(|nulls| nulls.null_count() > 0));
        match (&mut self.distinct, new) {
            (Distinct::Words(table), New::Numbered) => {
                fill(rows, nulls, null, numbers, |row| table.number(words[row]));
            }
            (Distinct::Words(table), New::Unknown) => {
                fill(rows, nulls, null, numbers, |row| table.find(words[row]).unwrap_or(NONE));
            }
            (Distinct::Texts(table), New::Numbered) => {
                let column = column.as_string_view();
                fill(rows, nulls, null, numbers, |row| table.number(column, row));
            }
            (Distinct::Texts(table), New::Unknown) => {
                let column = column.as_string_view();
                fill(rows, nulls, null, numbers, |row| table.find(column, row).unwrap_or(NONE));
            }
        }
    }

    /// The values with these numbers.
    pub fn column(&self, numbers: impl Iterator<Item = u32>) -> ArrayRef {
        match &self.distinct {
            Distinct::Words(words) => {
                let value = |number| (!self.is_null(number)).then(|| words.value(number));
                self.kind.column_of_words(numbers.map(value))
            }
            Distinct::Texts(texts) => {
                column_of_texts(numbers.map(|number| (!self.is_null(number)).then(|| texts.value(number))))
            }
        }
    }

    /// Adds the values of another table and returns their numbers here. Texts are copied a few megabytes at a time.
    pub fn absorb(&mut self, other: &Self) -> Vec<u32> {
        let (mut all, mut some, mut from) = (Vec::with_capacity(other.len()), Vec::new(), 0);
        let values = 0..other.len() as u32;
        while from < values.end {
            let mut bytes = 0;
            let fits = (from..values.end).take(CHUNK).take_while(|&number| {
                bytes += other.text_bytes(number);
                bytes <= MOST_TEXT
            });
            let end = from + (fits.count() as u32).max(1);
            self.number(&other.column(from..end), New::Numbered, &mut some);
            all.append(&mut some);
            from = end;
        }
        all
    }

    /// The length of a value's text, in bytes; 0 for other types.
    pub fn text_bytes(&self, number: u32) -> usize {
        match &self.distinct {
            Distinct::Texts(texts) if !self.is_null(number) => texts.value(number).len(),
            _ => 0,
        }
    }

    /// Compares values by their numbers: ascending, NULL last.
    pub fn compare(&self, one: u32, other: u32) -> Ordering {
        let by_value = || match &self.distinct {
            Distinct::Words(words) => words.value(one).cmp(&words.value(other)),
            Distinct::Texts(texts) => texts.value(one).cmp(texts.value(other)),
        };
        self.is_null(one).cmp(&self.is_null(other)).then_with(by_value)
    }

    /// Appends the value in an encoding that is unique within the column and prefix-free.
    pub fn write(&self, number: u32, bytes: &mut Vec<u8>) {
        if self.is_null(number) {
            return bytes.push(0);
        }
        bytes.push(1);
        match &self.distinct {
            Distinct::Words(words) => bytes.extend(words.value(number).to_le_bytes()),
            Distinct::Texts(texts) => {
                let text = texts.value(number);
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }

    /// The memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        match &self.distinct {
            Distinct::Words(words) => words.bytes(),
            Distinct::Texts(texts) => texts.bytes(),
        }
    }

    /// The memory needed to number this many rows, if all their values are new, without that for texts.
    pub fn growth(&self, rows: usize) -> Growth {
        match &self.distinct {
            Distinct::Words(words) => words.growth(rows),
            Distinct::Texts(texts) => texts.growth(rows),
        }
    }

    /// The memory needed to absorb another table, if all its values are new.
    pub fn growth_by(&self, other: &Self) -> Growth {
        let texts = match &other.distinct {
            Distinct::Words(_) => 0,
            Distinct::Texts(texts) => texts.held(),
        };
        // And for the numbers of its values here.
        self.growth(other.len()) + Growth::fixed(texts + other.len() * size_of::<u32>())
    }

    #[inline]
    fn is_null(&self, number: u32) -> bool {
        matches!(self.nulls, Nulls::Value(Some(null)) if null == number)
    }
}

/// The number of every row: that of NULL, or the function's result.
fn fill(
    rows: Range<usize>,
    nulls: Option<&NullBuffer>,
    null: u32,
    numbers: &mut Vec<u32>,
    mut number: impl FnMut(usize) -> u32,
) {
    match nulls {
        None => numbers.extend(rows.map(number)),
        Some(nulls) => numbers.extend(rows.map(|row| if nulls.is_null(row) { null } else { number(row) })),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    /// Including NULL: otherwise a part read from bytes would have different numbers from the part written.
    #[test]
    fn numbers_are_in_the_order_of_first_rows() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(3), None, Some(7), None, Some(0)]));
        let mut numbers = Vec::new();
        let mut keys = Values::of_keys(Kind::Integer);
        keys.number(&column, New::Unknown, &mut numbers);
        assert_eq!((&numbers[..], keys.len()), (&[NONE; 6][..], 0));
        keys.number(&column, New::Numbered, &mut numbers);
        assert_eq!(numbers, [0, 1, 2, 0, 2, 3]);
        assert_eq!(&keys.column([2, 0].into_iter()), &(Arc::new(Int64Array::from(vec![None, Some(7)])) as ArrayRef));
        keys.number(&column.slice(2, 1), New::Unknown, &mut numbers);
        assert_eq!(numbers, [2]);
        let mut items = Values::of_items(Kind::Integer);
        items.number(&column, New::Numbered, &mut numbers);
        assert_eq!(numbers, [0, 1, NONE, 0, NONE, 2]);
    }
}
