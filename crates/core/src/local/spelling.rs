//! Texts as digits, for prefixes that grow by a few letters at a time.

use crate::error::{Error, Result};
use crate::local::projective::geometry::Geometry;

/// How texts over an alphabet are written as vectors (1, d₁, d₂, …) of base-q digits, a few more letters at each level.
#[derive(Debug, Clone)]
pub(crate) struct Spelling {
    alphabet: Vec<char>,
    longest: u32,
    /// Letters by which a prefix grows.
    pub step: u32,
    /// Digits of a letter.
    pub digits: u32,
    pub q: u32,
}

/// The maximum number of extensions of a prefix, unless a single letter already has more.
const MOST_EXTENSIONS: u128 = 1 << 12;
const MOST_LETTERS: usize = 65_000;

impl Spelling {
    pub fn new(alphabet: &str, longest: u32, q: u32) -> Result<Self> {
        let letters: Vec<char> = alphabet.chars().collect();
        // A bit for every possible letter: a sort would be larger than all the rest of a browser's module.
        let mut seen = vec![0u64; (char::MAX as usize + 1) / 64];
        let is_new = |&letter: &char| {
            let (word, bit) = (&mut seen[letter as usize / 64], 1 << (letter as usize % 64));
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        };
        if !(1..=MOST_LETTERS).contains(&letters.len()) || !letters.iter().all(is_new) {
            return Err(Error::parameter("alphabet", alphabet, "1 to 65000 letters, all different"));
        }
        if longest == 0 {
            return Err(Error::parameter("longest text", longest, "at least 1 letter"));
        }
        // One more code than letters: the end of the text.
        let digits = digits_for(letters.len() as u128 + 1, q);
        if longest.checked_mul(digits).is_none_or(|all| all > 127) {
            return Err(too_long(longest));
        }
        let step = (1..=longest).rev().find(|step| extensions(q, digits * step) <= MOST_EXTENSIONS).unwrap_or(1);
        Ok(Self { alphabet: letters, longest, step, digits, q })
    }

    /// The number of lengths.
    pub fn levels(&self) -> u32 {
        self.longest.div_ceil(self.step)
    }

    /// The points that represent the prefixes of a level.
    pub fn space(&self, level: u32) -> Result<Geometry> {
        Geometry::new(self.q, 1 + self.digits * self.letters(level)).ok_or_else(|| too_long(self.longest))
    }

    /// The number of letters in a level's prefixes.
    pub fn letters(&self, level: u32) -> u32 {
        (self.step * (level + 1)).min(self.longest)
    }

    /// A letter's code counts from 1; 0 means past the end of the text.
    pub fn codes(&self, text: &str) -> Vec<u32> {
        let code = |letter: char| self.alphabet.iter().position(|&known| known == letter).map(|place| place as u32 + 1);
        let mut codes: Vec<u32> = text.chars().filter_map(code).take(self.longest as usize).collect();
        codes.resize(self.longest as usize, 0);
        codes
    }

    pub fn text(&self, codes: &[u32]) -> String {
        codes.iter().filter(|&&code| code > 0).map(|&code| self.alphabet[code as usize - 1]).collect()
    }

    /// (1, the digits of the codes).
    pub fn vector(&self, codes: &[u32]) -> Vec<u32> {
        let q = self.q;
        let mut vector = vec![1];
        for &code in codes {
            vector.extend((0..self.digits).rev().map(|place| code / q.pow(place) % q));
        }
        vector
    }

    /// The prefix of a text as a vector.
    pub fn prefix(&self, text: &str, level: u32) -> Vec<u32> {
        self.vector(&self.codes(text)[..self.letters(level) as usize])
    }

    /// The prefix with more letters, from their digits; `None` if these are not letters, or letters past the end of the
    /// text.
    pub fn continued(&self, prefix: &[u32], mut number: u128, letters: u32) -> Option<Vec<u32>> {
        let base = extensions(self.q, self.digits);
        let mut codes = vec![0; letters as usize];
        for code in codes.iter_mut().rev() {
            *code = (number % base) as u32;
            number /= base;
        }
        let all: Vec<u32> = prefix.iter().copied().chain(codes).collect();
        let is_known = all.iter().all(|&code| code as usize <= self.alphabet.len());
        let ends_once = all.windows(2).all(|pair| pair[0] != 0 || pair[1] == 0);
        (is_known && ends_once).then_some(all)
    }
}

fn too_long(longest: u32) -> Error {
    Error::parameter("longest text", longest, "so few letters that q^t < 2^127; about 20 for a to z")
}

/// q^digits, saturated.
fn extensions(q: u32, digits: u32) -> u128 {
    u128::from(q).checked_pow(digits).unwrap_or(u128::MAX)
}

/// The fewest digits of base q that distinguish `codes` codes.
fn digits_for(codes: u128, q: u32) -> u32 {
    (1..).find(|&digits| extensions(q, digits) >= codes).unwrap_or(1)
}
