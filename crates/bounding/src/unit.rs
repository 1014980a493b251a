//! A unit as comparable words.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

use crate::choice::Chooser;
use crate::kind::Kind;

/// How a unit is written in front of a row: as one 64-bit number, or as its length in bytes followed by these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitForm {
    Number,
    Bytes,
}

impl UnitForm {
    pub fn of(kind: Kind) -> Self {
        if kind == Kind::Text { Self::Bytes } else { Self::Number }
    }

    /// Returns how many words of a record are its unit.
    #[inline]
    pub fn words(self, record: &[u32]) -> usize {
        match self {
            Self::Number => 2,
            Self::Bytes => 1 + (record[0] as usize).div_ceil(4),
        }
    }
}

/// The identity of a text unit for choosing its groups and rows.
pub(crate) fn identity_of_text(words: &[u32], chooser: &Chooser) -> u128 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    chooser.shorten(&bytes)
}

#[inline]
pub(crate) fn number(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// A hash of a unit's words, for tables: matches are confirmed by comparison.
#[inline]
pub(crate) fn hash(seed: u64, words: &[u32]) -> u64 {
    let mut pairs = words.chunks_exact(2);
    let state = pairs.by_ref().fold(seed, |state, pair| fold(state ^ number(pair)));
    let state = pairs.remainder().iter().fold(state, |state, &word| fold(state ^ u64::from(word)));
    fold(state ^ seed.rotate_left(32))
}

/// [`hash`] of a unit that is a number.
#[inline]
pub(crate) fn hash_number(seed: u64, unit: u64) -> u64 {
    fold(fold(seed ^ unit) ^ seed.rotate_left(32))
}

#[inline]
fn fold(state: u64) -> u64 {
    /// An odd number with about as many ones as zeros.
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let wide = u128::from(state) * u128::from(MULTIPLIER);
    (wide >> 64) as u64 ^ wide as u64
}

/// The units of some rows.
#[derive(Default)]
pub(crate) struct Units {
    /// For units that are numbers.
    pub numbers: Vec<u64>,
    /// For units that are texts: their words, concatenated, and where each ends.
    words: Vec<u32>,
    ends: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl Units {
    /// Reads the units of other rows, of the column's type.
    pub fn read(&mut self, column: &ArrayRef, kind: Kind) {
        self.numbers.clear();
        self.words.clear();
        self.ends.clear();
        self.nulls = column.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        match kind {
            Kind::Integer => {
                self.numbers.extend(column.as_primitive::<Int64Type>().values().iter().map(|&unit| unit as u64));
            }
            Kind::Text => {
                let column = column.as_string_view();
                for row in 0..column.len() {
                    if column.is_valid(row) {
                        write_bytes(column.value(row).as_bytes(), &mut self.words);
                    }
                    self.ends.push(self.words.len());
                }
            }
            _ => self.numbers.extend_from_slice(column.as_primitive::<UInt64Type>().values()),
        }
    }

    /// Whether the row has no unit.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// The words of a unit that is a text.
    #[inline]
    pub fn text(&self, row: usize) -> &[u32] {
        let from = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.words[from..self.ends[row]]
    }
}

/// Arrow's texts are shorter than 4 GiB.
fn write_bytes(bytes: &[u8], words: &mut Vec<u32>) {
    words.push(bytes.len() as u32);
    let (whole, rest) = bytes.as_chunks::<4>();
    words.extend(whole.iter().map(|&word| u32::from_le_bytes(word)));
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        words.push(u32::from_le_bytes(last));
    }
}
