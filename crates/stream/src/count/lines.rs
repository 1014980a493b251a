//! Lines as they arrive.

use std::fs::File;
use std::io::{ErrorKind, Read, Result};

use zeroize::Zeroize;

/// The maximum length of a line in bytes; a longer one counts as empty.
pub const LONGEST_LINE: usize = 1 << 20;

/// Reads lines from a file or a pipe: waits for input, then hands over all complete lines at once.
///
/// The only copy is in one buffer of fixed size: it is filled straight from the file descriptor and never grows, so it
/// never moves in memory. On request, every line is erased as soon as it has been read, for counters whose memory may
/// be seized.
#[derive(Debug)]
pub struct Lines {
    file: File,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    erase: bool,
    /// The current line is too long and is skipped up to its end.
    overlong: bool,
    finished: bool,
}

impl Lines {
    /// Reads from `file`; `erase` overwrites every line as soon as it has been read.
    pub fn new(file: File, erase: bool) -> Self {
        let buffer = vec![0; 2 * LONGEST_LINE].into_boxed_slice();
        Self { file, buffer, start: 0, end: 0, erase, overlong: false, finished: false }
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
            match self.file.read(&mut self.buffer[self.end..]) {
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

    /// A copy of the next line; `None` at the end of the input.
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
            self.fill()?;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
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
}
