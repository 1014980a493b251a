//! Rows of separated values, one after the other.

use std::io::{ErrorKind, Read, Result};
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2};

/// How much is initially read from the file at a time.
const CHUNK: usize = 256 << 10;
/// Fields that end beyond this many bytes of a row are dropped.
pub const LONGEST_RECORD: usize = 16 << 20;

/// Splits input into rows of fields: each line that is not empty is a row.
///
/// # Privacy
/// Where a row starts and ends depends only on line ends, and a line end is one regardless of what precedes it. So the
/// rows of a file are a function of its lines, line by line: adding, removing or changing a line, with any bytes in it,
/// changes no row of another line. If quotes protected line ends, an unclosed quote would merge all rows up to the next
/// quote into one.
pub struct Records<R> {
    input: R,
    delimiter: u8,
    buffer: Vec<u8>,
    /// The start of what was read but is not a row yet.
    start: usize,
    end: usize,
    /// The row, if none of its fields is quoted: its fields are as they were read.
    line: Option<Range<usize>>,
    /// Otherwise: its fields without quotes and delimiters.
    unquoted: Vec<u8>,
    /// Where the first fields end, counted from the start of the row.
    ends: Vec<usize>,
    /// How many fields of each row are kept.
    most: usize,
}

impl<R: Read> Records<R> {
    /// `input` starts at the start of a row. Of each row, the first `most` fields are kept.
    pub fn new(input: R, delimiter: u8, most: usize) -> Self {
        let (buffer, ends) = (vec![0; CHUNK], Vec::with_capacity(most));
        Self { input, delimiter, buffer, start: 0, end: 0, line: None, unquoted: Vec::new(), ends, most }
    }

    /// Advances to the next row; false if exhausted.
    pub fn advance(&mut self) -> Result<bool> {
        while let Some((line, is_whole)) = self.next_line()? {
            if line.is_empty() {
                continue;
            }
            self.ends.clear();
            let text = &self.buffer[line.clone()];
            if is_whole && memchr(b'"', text).is_none() {
                self.ends.extend(memchr_iter(self.delimiter, text).chain([text.len()]).take(self.most));
                self.line = Some(line);
            } else {
                self.unquoted.clear();
                self.line = None;
                unquote(text, self.delimiter, is_whole, |field| {
                    match field {
                        Piece::Bytes(bytes) => self.unquoted.extend_from_slice(bytes),
                        Piece::End => self.ends.push(self.unquoted.len()),
                    }
                    self.ends.len() < self.most
                });
            }
            if !is_whole {
                self.skip_line()?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// How many fields of the row are kept.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field of the row, counted from 0; `None` if the row has no such field.
    pub fn field(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends.get(place)?;
        let before = place.checked_sub(1).map(|place| self.ends[place]);
        match &self.line {
            // Between two fields there is a delimiter.
            Some(line) => Some(&self.buffer[line.clone()][before.map_or(0, |end| end + 1)..end]),
            None => Some(&self.unquoted[before.unwrap_or(0)..end]),
        }
    }

    /// The next line without its line end, and whether it is complete; `None` if exhausted.
    fn next_line(&mut self) -> Result<Option<(Range<usize>, bool)>> {
        let mut searched = self.start;
        loop {
            if let Some(ahead) = line_end(&self.buffer[searched..self.end]) {
                let line = self.start..searched + ahead;
                self.start = line.end + 1;
                return Ok(Some((line, true)));
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            searched = self.end;
            if self.end == self.buffer.len() {
                if self.buffer.len() >= LONGEST_RECORD {
                    return Ok(Some((0..self.end, false)));
                }
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match fill(&mut self.input, &mut self.buffer[self.end..])? {
                0 => {
                    let line = self.start..self.end;
                    self.start = self.end;
                    return Ok((!line.is_empty()).then_some((line, true)));
                }
                filled => self.end += filled,
            }
        }
    }

    /// Skips the rest of a line that has filled the buffer.
    fn skip_line(&mut self) -> Result<()> {
        loop {
            (self.start, self.end) = (0, fill(&mut self.input, &mut self.buffer)?);
            if let Some(ahead) = line_end(&self.buffer[..self.end]) {
                self.start = ahead + 1;
                return Ok(());
            }
            if self.end == 0 {
                return Ok(());
            }
        }
    }
}

/// Where the line ends.
fn line_end(bytes: &[u8]) -> Option<usize> {
    memchr2(b'\n', b'\r', bytes)
}

/// A piece of a field.
enum Piece<'line> {
    Bytes(&'line [u8]),
    End,
}

/// Reads the fields of a line according to RFC 4180, until `keep` has enough. A field is quoted if it starts with a
/// quote; inside it two quotes stand for one, and what follows the closing quote belongs to it. An unclosed quote is
/// closed by the end of the line. The last field of an incomplete line has no end. Returns whether a quote was left
/// open.
fn unquote(mut rest: &[u8], delimiter: u8, is_whole: bool, mut keep: impl FnMut(Piece<'_>) -> bool) -> bool {
    loop {
        let mut is_open = rest.first() == Some(&b'"');
        if is_open {
            rest = &rest[1..];
        }
        while is_open && let Some(quote) = memchr(b'"', rest) {
            let is_doubled = rest.get(quote + 1) == Some(&b'"');
            keep(Piece::Bytes(&rest[..quote + usize::from(is_doubled)]));
            rest = &rest[quote + 1 + usize::from(is_doubled)..];
            is_open = is_doubled;
        }
        let end = if is_open { None } else { memchr(delimiter, rest) };
        keep(Piece::Bytes(&rest[..end.unwrap_or(rest.len())]));
        let Some(end) = end else {
            if is_whole {
                keep(Piece::End);
            }
            return is_open;
        };
        if !keep(Piece::End) {
            return false;
        }
        rest = &rest[end + 1..];
    }
}

/// Whether a quote is left open at the end of this line.
pub fn leaves_quote_open(line: &[u8], delimiter: u8) -> bool {
    unquote(line, delimiter, true, |_| true)
}

/// Reads what is available, at least one byte except at the end.
pub fn fill(input: &mut impl Read, chunk: &mut [u8]) -> Result<usize> {
    loop {
        match input.read(chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
