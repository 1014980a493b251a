//! Where a file of separated values may be cut.
//!
//! A line end inside quotes ends no row, so whether one does depends on all quotes before it. A quote opens a field only at
//! the field's start, that is after a delimiter or a line end; inside, a quote closes unless a second one follows. That is
//! `csv-core`'s machine, reduced to what quotes do, and only quotes need looking at: they are found many times faster than
//! fields are read.

use std::io::{Read, Result};

use memchr::{memchr, memchr3};

use super::records::fill;

/// How much is read at a time.
const CHUNK: usize = 256 << 10;

/// Follows the quotes from the start of a row on.
pub struct Quotes {
    delimiter: u8,
    state: State,
    /// The last byte that was followed.
    last: u8,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Outside,
    Inside,
    /// After a quote inside: a second quote means that it stands for itself.
    AfterQuote,
}

impl Quotes {
    /// At the start of a row.
    pub fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Outside, last: b'\n' }
    }

    /// Whether what comes next stands in quotes.
    pub fn are_open(&self) -> bool {
        self.state == State::Inside
    }

    /// Follows all of the bytes.
    pub fn follow(&mut self, bytes: &[u8]) {
        let followed = self.step(bytes, |bytes| memchr(b'"', bytes));
        debug_assert!(followed.is_none());
    }

    /// Follows the bytes up to the end of a row, its first line end included; how many bytes that are. Without an end,
    /// all are followed.
    fn follow_row(&mut self, bytes: &[u8]) -> Option<usize> {
        self.step(bytes, |bytes| memchr3(b'"', b'\n', b'\r', bytes))
    }

    /// Outside quotes, `next` finds the next byte that matters: a quote, or one to stop after.
    fn step(&mut self, bytes: &[u8], next: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self.state {
                State::Outside => {
                    let Some(ahead) = next(rest) else { break };
                    let place = at + ahead;
                    if bytes[place] != b'"' {
                        self.last = bytes[place];
                        return Some(place + 1);
                    }
                    let before = if place == 0 { self.last } else { bytes[place - 1] };
                    if before == self.delimiter || before == b'\n' || before == b'\r' {
                        self.state = State::Inside;
                    }
                    at = place + 1;
                }
                State::Inside => {
                    let Some(ahead) = memchr(b'"', rest) else { break };
                    self.state = State::AfterQuote;
                    at += ahead + 1;
                }
                State::AfterQuote if rest[0] == b'"' => {
                    self.state = State::Inside;
                    at += 1;
                }
                State::AfterQuote => self.state = State::Outside,
            }
        }
        self.last = bytes.last().copied().unwrap_or(self.last);
        None
    }
}

/// The first ends of rows after each of the `targets`, which ascend; the end of the input where there is none.
/// `input` begins where a row begins, at `position`.
pub fn cuts(input: &mut impl Read, delimiter: u8, mut position: u64, targets: &[u64]) -> Result<Vec<u64>> {
    let mut quotes = Quotes::new(delimiter);
    let mut found = Vec::with_capacity(targets.len());
    let mut chunk = vec![0; CHUNK];
    while found.len() < targets.len() {
        let filled = fill(input, &mut chunk)?;
        if filled == 0 {
            break;
        }
        let mut rest = &chunk[..filled];
        while let Some(target) = targets.get(found.len()).filter(|_| !rest.is_empty()) {
            let ahead = target.saturating_sub(position).min(rest.len() as u64) as usize;
            quotes.follow(&rest[..ahead]);
            rest = &rest[ahead..];
            let row = quotes.follow_row(rest);
            let followed = row.unwrap_or(rest.len());
            rest = &rest[followed..];
            position += (ahead + followed) as u64;
            found.extend(row.map(|_| position));
        }
    }
    found.resize(targets.len(), position);
    Ok(found)
}
