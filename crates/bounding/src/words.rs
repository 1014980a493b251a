//! Words, numbered.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::growth::Growth;

/// How many places there are for words that were looked up recently.
const RECENT: usize = 1 << 12;
/// Stands for no number.
const NONE: u32 = u32::MAX;

/// Numbers distinct words in order of first occurrence. Hashes locate, comparisons decide.
#[derive(Clone, Default)]
pub(crate) struct Words {
    /// By number.
    values: Vec<u64>,
    /// Words and their numbers.
    numbers: HashTable<(u64, u32)>,
    /// Seeded per table, so that collisions cannot be crafted.
    state: RandomState,
    /// The number of a word that was looked up recently, by a few bits of its product: of words that occur often, most are
    /// found here.
    recent: Vec<u32>,
}

impl Words {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The word's number, assigned if it is new.
    #[inline]
    pub fn number(&mut self, word: u64) -> u32 {
        match self.recent(word) {
            Ok(number) => number,
            Err(place) => {
                let number = self.number_anew(word);
                self.remember(place, number)
            }
        }
    }

    /// The word's number, if it has one.
    #[inline]
    pub fn find(&mut self, word: u64) -> Option<u32> {
        match self.recent(word) {
            Ok(number) => Some(number),
            Err(place) => {
                let number = self.find_anew(word)?;
                Some(self.remember(place, number))
            }
        }
    }

    /// The number of a word that was looked up recently; otherwise where to remember it.
    #[inline]
    fn recent(&self, word: u64) -> Result<u32, usize> {
        /// The golden ratio spreads consecutive numbers evenly.
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let place = (word.wrapping_mul(MULTIPLIER) >> (u64::BITS - RECENT.ilog2())) as usize;
        let number = self.recent.get(place).copied().unwrap_or(NONE);
        if self.values.get(number as usize) == Some(&word) { Ok(number) } else { Err(place) }
    }

    fn remember(&mut self, place: usize, number: u32) -> u32 {
        self.recent.resize(RECENT, NONE);
        self.recent[place] = number;
        number
    }

    #[inline(never)]
    fn find_anew(&self, word: u64) -> Option<u32> {
        self.numbers.find(self.state.hash_one(word), |(other, _)| *other == word).map(|&(_, number)| number)
    }

    #[inline(never)]
    fn number_anew(&mut self, word: u64) -> u32 {
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
        let recent = self.recent.capacity() * size_of::<u32>();
        self.values.capacity() * size_of::<u64>() + self.numbers.allocation_size() + recent
    }

    /// The memory needed to add this many words, if all are new.
    pub fn growth(&self, more: usize) -> Growth {
        let numbers = Growth::of_table::<(u64, u32)>(self.numbers.capacity(), self.numbers.len(), more);
        Growth::of_list(&self.values, more) + numbers + Growth::fixed(RECENT * size_of::<u32>())
    }
}
