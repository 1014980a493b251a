//! Words, numbered.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::growth::Growth;

/// Numbers distinct words in order of first occurrence. Hashes locate, comparisons decide.
#[derive(Clone, Default)]
pub(crate) struct Words {
    /// By number.
    values: Vec<u64>,
    /// Words and their numbers.
    numbers: HashTable<(u64, u32)>,
    /// Seeded per table, so that collisions cannot be crafted.
    state: RandomState,
}

impl Words {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The word's number, assigned if it is new.
    #[inline]
    pub fn number(&mut self, word: u64) -> u32 {
        let state = &self.state;
        let entry =
            self.numbers.entry(state.hash_one(word), |(other, _)| *other == word, |(word, _)| state.hash_one(word));
        let values = &mut self.values;
        let new = || {
            values.push(word);
            (word, (values.len() - 1) as u32)
        };
        entry.or_insert_with(new).get().1
    }

    /// The word's number, if it has one.
    #[inline]
    pub fn find(&self, word: u64) -> Option<u32> {
        self.numbers.find(self.state.hash_one(word), |(other, _)| *other == word).map(|&(_, number)| number)
    }

    /// Reserves a number that no word has.
    pub fn skip(&mut self) -> u32 {
        self.values.push(0);
        (self.values.len() - 1) as u32
    }

    #[inline]
    pub fn value(&self, number: u32) -> u64 {
        self.values[number as usize]
    }

    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<u64>() + self.numbers.allocation_size()
    }

    /// The memory needed to add this many words, if all are new.
    pub fn growth(&self, more: usize) -> Growth {
        let numbers = Growth::of_table::<(u64, u32)>(self.numbers.capacity(), self.numbers.len(), more);
        Growth::of_list(&self.values, more) + numbers
    }
}
