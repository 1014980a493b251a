//! Texts, numbered.

use std::hash::BuildHasher;

use arrow_array::StringViewArray;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::growth::Growth;

/// Texts up to this length fit into an Arrow view.
const INLINE: usize = 12;

/// The most bytes of a block, unless a single text is longer.
const BLOCK: usize = 1 << 20;

/// Numbers distinct texts in order of first occurrence. Hashes locate, comparisons decide.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    /// All texts in order of their numbers, concatenated. A block never grows, so that storing a text takes no more memory
    /// than that for the text.
    blocks: Vec<String>,
    /// The block of each, and where it ends there.
    ends: Vec<(u32, u32)>,
    /// The bytes of all blocks.
    held: usize,
    numbers: HashTable<Entry>,
    /// Seeded per table, so that collisions cannot be crafted.
    state: RandomState,
}

/// A numbered text.
#[derive(Clone, Copy)]
struct Entry {
    /// Determines a short text completely; for a long one, its length, first four bytes and hash.
    head: u128,
    number: u32,
}

/// A text to look up.
struct Wanted<'a> {
    head: u128,
    hash: u64,
    /// `None` if the head determines the text.
    long: Option<&'a str>,
}

impl Texts {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of the text in a row, assigned if it is new.
    #[inline]
    pub fn number(&mut self, column: &StringViewArray, row: usize) -> u32 {
        let wanted = self.wanted(column, row);
        match self.find_wanted(&wanted) {
            Some(number) => number,
            None => self.insert(&wanted, column.value(row)),
        }
    }

    /// The number of the text in a row, if it has one.
    #[inline]
    pub fn find(&self, column: &StringViewArray, row: usize) -> Option<u32> {
        self.find_wanted(&self.wanted(column, row))
    }

    #[inline]
    fn wanted<'a>(&self, column: &'a StringViewArray, row: usize) -> Wanted<'a> {
        let view = column.views()[row];
        let length = view as u32 as usize;
        if length <= INLINE {
            // Arrow requires zeros after a short text; this does not rely on it.
            let head = view & (u128::MAX >> (8 * (INLINE - length)));
            return Wanted { head, hash: self.state.hash_one(head), long: None };
        }
        let text = column.value(row);
        let hash = self.state.hash_one(text);
        Wanted { head: u128::from(view as u64) | u128::from(hash) << 64, hash, long: Some(text) }
    }

    #[inline]
    fn find_wanted(&self, wanted: &Wanted<'_>) -> Option<u32> {
        let is_it = |entry: &Entry| {
            entry.head == wanted.head && wanted.long.is_none_or(|text| self.value(entry.number) == text)
        };
        self.numbers.find(wanted.hash, is_it).map(|entry| entry.number)
    }

    #[cold]
    fn insert(&mut self, wanted: &Wanted<'_>, text: &str) -> u32 {
        let is_full = |block: &String| block.capacity() - block.len() < text.len();
        if self.blocks.last().is_none_or(is_full) {
            // As large as the two before it, up to a limit.
            let before = self.blocks.iter().rev().take(2).map(String::len).sum::<usize>();
            let bytes = before.clamp(64, BLOCK).max(text.len());
            self.held += bytes;
            self.blocks.push(String::with_capacity(bytes));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push_str(text);
        }
        let number = self.skip();
        let state = &self.state;
        // The head of a long text contains its hash.
        let rehash = |entry: &Entry| match entry.head as u32 as usize {
            0..=INLINE => state.hash_one(entry.head),
            _ => (entry.head >> 64) as u64,
        };
        self.numbers.insert_unique(wanted.hash, Entry { head: wanted.head, number }, rehash);
        number
    }

    /// Reserves a number that no text has.
    pub fn skip(&mut self) -> u32 {
        let end = self.blocks.last().map_or(0, String::len);
        self.ends.push((self.blocks.len().saturating_sub(1) as u32, end as u32));
        (self.ends.len() - 1) as u32
    }

    #[inline]
    pub fn value(&self, number: u32) -> &str {
        let number = number as usize;
        let (block, end) = self.ends[number];
        let before = number.checked_sub(1).map(|before| self.ends[before]).filter(|(other, _)| *other == block);
        let start = before.map_or(0, |(_, end)| end);
        // Before the first text there is no block.
        self.blocks.get(block as usize).map_or("", |block| &block[start as usize..end as usize])
    }

    pub fn bytes(&self) -> usize {
        self.held + self.ends.capacity() * size_of::<(u32, u32)>() + self.numbers.allocation_size()
    }

    /// The bytes of the texts themselves.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The memory needed to add this many texts, if all are new, without that for the texts themselves.
    pub fn growth(&self, more: usize) -> Growth {
        let numbers = Growth::of_table::<Entry>(self.numbers.capacity(), self.numbers.len(), more);
        Growth::fixed(self.held) + Growth::of_list(&self.ends, more) + numbers
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    /// A number that no text has is the empty text, wherever it is.
    #[test]
    fn skipped_numbers_have_no_text() {
        let mut table = Texts::default();
        assert_eq!(table.skip(), 0);
        let long = ["x".repeat(BLOCK + 1), "y".repeat(BLOCK)];
        let column = StringViewArray::from_iter_values(&long);
        assert_eq!([table.number(&column, 0), table.skip(), table.number(&column, 1)], [1, 2, 3]);
        let texts: Vec<&str> = (0..4).map(|number| table.value(number)).collect();
        assert_eq!(texts, ["", &long[0], "", &long[1]]);
        assert!((2 * BLOCK..3 * BLOCK).contains(&table.bytes()), "{}", table.bytes());
    }

    #[test]
    fn equal_texts_have_equal_numbers() {
        let long = "x".repeat(1 << 16);
        let texts = ["", "a", "a\0", "twelve bytes", "thirteen byte", "thirteen bytf", &long, &long[1..], "é"];
        let column: StringViewArray = texts.iter().chain(&texts).map(Some).collect();
        let mut table = Texts::default();
        assert_eq!(table.find(&column, 3), None);
        let numbers: Vec<u32> = (0..column.len()).map(|row| table.number(&column, row)).collect();
        let expected: Vec<u32> = (0..texts.len() as u32).collect();
        assert_eq!(numbers, [expected.clone(), expected].concat());
        assert!(texts.iter().enumerate().all(|(number, text)| table.value(number as u32) == *text));
        assert!((0..column.len()).all(|row| table.find(&column, row) == Some(numbers[row])));
        // Enough for the table to grow.
        let many: StringViewArray =
            (0..5000).map(|number| Some(format!("{number:0width$}", width = number % 20))).collect();
        let first: Vec<u32> = (0..many.len()).map(|row| table.number(&many, row)).collect();
        assert!((0..many.len()).all(|row| table.find(&many, row) == Some(first[row])));
        assert!((0..many.len()).all(|row| table.value(first[row]) == many.value(row)));
    }
}
