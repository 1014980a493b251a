//! Lines as they arrive.

use std::fmt::{self, Debug, Formatter};
use std::io::{ErrorKind, Read, Result};

use zeroize::Zeroize;

/// The maximum length of a line in bytes; a longer one counts as empty.
pub const LONGEST_LINE: usize = 1 << 20;

/// Reads lines from a file or a pipe: waits for input, then hands over all complete lines at once.
///
/// Of a plain file or a pipe, the only copy is in one buffer of fixed size: it is filled straight from the file descriptor
/// and never grows, so it never moves in memory. On request, every line is erased as soon as it has been read, for counters
/// whose memory may be seized.
pub struct Lines {
    input: Box<dyn Read + Send>,
    /// Whether the input is decoded while it is read, and can fail at any row.
    decoded: bool,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    erase: bool,
    /// The current line is too long and is skipped up to its end.
    overlong: bool,
    finished: bool,
}

impl Lines {
    /// Reads from a file or a pipe; `erase` overwrites every line as soon as it has been read.
    pub fn new(input: impl Read + Send + 'static, erase: bool) -> Self {
        Self::of(Box::new(input), false, erase)
    }

    /// Reads what a decoder returns. It keeps copies, so there is nothing to erase.
    pub fn decoded(input: impl Read + Send + 'static) -> Self {
        Self::of(Box::new(input), true, false)
    }

    fn of(input: Box<dyn Read + Send>, decoded: bool, erase: bool) -> Self {
        let buffer = vec![0; 2 * LONGEST_LINE].into_boxed_slice();
        Self { input, decoded, buffer, start: 0, end: 0, erase, overlong: false, finished: false }
    }

    /// Whether the input is decoded while it is read.
    pub fn are_decoded(&self) -> bool {
        self.decoded
    }

    /// Whether every line is overwritten as soon as it has been read.
    pub(super) fn erases(&self) -> bool {
        self.erase
    }

    /// The beginning of the input, before any line is read: as much as arrives at once.
    ///
    /// # Errors
    /// If reading fails.
    pub fn peek(&mut self) -> Result<&[u8]> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Waits for more input; `false` at its end.
    ///
    /// # Errors
    /// If reading fails.
    pub fn fill(&mut self) -> Result<bool> {
        self.fill_up_to(usize::MAX)
    }

    /// [`Lines::fill`] with at most this many bytes.
    fn fill_up_to(&mut self, most: usize) -> Result<bool> {
        if self.finished {
            return Ok(false);
        }
        if self.start > 0 {
            let old_end = self.end;
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.erase {
                self.buffer[self.end..old_end].zeroize();
            }
        }
        if self.end == self.buffer.len() {
            return Ok(true);
        }
        let length = loop {
            let space = self.end.saturating_add(most).min(self.buffer.len());
            match self.input.read(&mut self.buffer[self.end..space]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.end += length;
        self.finished = length == 0;
        Ok(!self.finished)
    }

    /// Passes each complete line in the buffer to `read`, up to `limit` lines, without line breaks; at the end of the
    /// input also a last line without one. A line that is too long is passed as an empty one. Returns the number of
    /// lines.
    pub fn each(&mut self, limit: usize, mut read: impl FnMut(&[u8])) -> usize {
        let mut seen = 0;
        while seen < limit {
            let rest = &self.buffer[self.start..self.end];
            let (length, next) = match memchr::memchr(b'\n', rest) {
                Some(length) => (length, length + 1),
                None if self.finished && (!rest.is_empty() || self.overlong) => (rest.len(), rest.len()),
                None => break,
            };
            let too_long = self.overlong || length > LONGEST_LINE;
            read(if too_long { b"" } else { &rest[..length] });
            self.overlong = false;
            seen += 1;
            self.consume(next);
        }
        if seen < limit && self.end - self.start > LONGEST_LINE {
            self.overlong = true;
            self.consume(self.end - self.start);
        }
        seen
    }

    fn consume(&mut self, length: usize) {
        if self.erase {
            self.buffer[self.start..self.start + length].zeroize();
        }
        self.start += length;
    }

    /// A copy of the next line; `None` at the end of the input. No more than that line is decoded, if the input is decoded
    /// at all: what fails in a later one fails when that is read.
    ///
    /// # Errors
    /// If reading fails.
    pub fn one(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let mut line = None;
            self.each(1, |bytes| line = Some(bytes.to_vec()));
            if line.is_some() || (self.finished && self.start == self.end) {
                return Ok(line);
            }
            if self.decoded {
                while self.fill_up_to(1)? && self.buffer[self.end - 1] != b'\n' && self.end < self.buffer.len() {}
            } else {
                self.fill()?;
            }
        }
    }
}

impl Debug for Lines {
    /// Omits what was read.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lines").field("decoded", &self.decoded).finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// The lines of a pipe that `parts` are written to one after the other.
    fn lines(parts: &[&[u8]]) -> Vec<Vec<u8>> {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
        let feeder = std::thread::spawn(move || parts.iter().for_each(|part| writer.write_all(part).expect("written")));
        let mut lines = Lines::new(File::from(std::os::fd::OwnedFd::from(reader)), true);
        let mut seen = Vec::new();
        while lines.fill().expect("read") {
            lines.each(usize::MAX, |line| seen.push(line.to_vec()));
        }
        lines.each(usize::MAX, |line| seen.push(line.to_vec()));
        feeder.join().expect("fed");
        assert!(lines.buffer.iter().all(|byte| *byte == 0), "everything is erased");
        seen
    }

    #[test]
    fn lines_end_with_a_line_end_or_with_the_input() {
        assert_eq!(lines(&[b"1\n2", b"3\n\n", b"4"]), [&b"1"[..], b"23", b"", b"4"]);
        assert_eq!(lines(&[b"1\n"]), [b"1"]);
        assert!(lines(&[]).is_empty());
    }

    #[test]
    fn a_line_without_end_is_one_empty_line_and_takes_no_memory() {
        let long = vec![b'7'; 5 * LONGEST_LINE];
        assert_eq!(lines(&[b"1\n", &long, b"\n2\n"]), [&b"1"[..], b"", b"2"]);
        assert_eq!(lines(&[b"1\n", &long]), [&b"1"[..], b""]);
        let longest = vec![b'7'; LONGEST_LINE];
        assert_eq!(lines(&[&longest, b"\n2"]), [&longest[..], b"2"]);
    }

    /// Fails after its text.
    struct Failing(&'static [u8]);

    impl Read for Failing {
        fn read(&mut self, space: &mut [u8]) -> Result<usize> {
            match self.0.read(space)? {
                0 => Err(ErrorKind::InvalidData.into()),
                length => Ok(length),
            }
        }
    }

    #[test]
    fn a_header_is_read_without_the_lines_after_it() {
        let mut lines = Lines::decoded(Failing(b"a,b\n1,2\n3"));
        assert_eq!(lines.one().expect("a header").as_deref(), Some(&b"a,b"[..]));
        assert_eq!((lines.start, lines.end), (4, 4));
        let mut seen = Vec::new();
        let failed = loop {
            match lines.fill() {
                Ok(_) => drop(lines.each(usize::MAX, |line| seen.push(line.to_vec()))),
                Err(error) => break error,
            }
        };
        assert_eq!((seen, failed.kind()), (vec![b"1,2".to_vec()], ErrorKind::InvalidData));
        assert!(Lines::decoded(Failing(b"a,b")).one().is_err(), "half a header");
        assert_eq!(Lines::decoded(&b"a,b"[..]).one().expect("a header").as_deref(), Some(&b"a,b"[..]));
        assert_eq!(Lines::decoded(&b""[..]).one().expect("an end"), None);
        let long = std::io::repeat(b'a').take(5 * LONGEST_LINE as u64).chain(&b"\n1"[..]);
        assert_eq!(Lines::decoded(long).one().expect("a line").as_deref(), Some(&b""[..]));
    }
}
