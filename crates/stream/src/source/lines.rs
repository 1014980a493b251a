//! Whole lines out of whatever arrives.

use zeroize::Zeroize;

/// A line that is longer is an event that cannot be read.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// Gathers bytes and gives whole lines. Its memory never moves, so that it can be erased.
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// How much of it is filled.
    filled: usize,
    /// The line that is being read is too long: it is skipped up to its end.
    skipping: bool,
}

impl Lines {
    pub fn new() -> Self {
        Self { bytes: vec![0; LONGEST_LINE], filled: 0, skipping: false }
    }

    /// Room for more; never none.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// So many bytes were put into the space: the whole lines that there are now, and how many bytes of the next have begun.
    /// The lines may be erased where they are; they are to be forgotten then.
    pub fn take(&mut self, more: usize) -> Option<(&mut [u8], usize)> {
        self.filled += more;
        let Some(last) = memchr::memrchr(b'\n', &self.bytes[..self.filled]) else {
            if self.filled == self.bytes.len() {
                self.erase();
                self.skipping = true;
            }
            return None;
        };
        // The end of a line that was too long is a line of nothing.
        let skipped = if std::mem::take(&mut self.skipping) { memchr::memchr(b'\n', &self.bytes) } else { None };
        Some((&mut self.bytes[skipped.unwrap_or(0)..=last], self.filled - last - 1))
    }

    /// Forgets the lines that were taken, and keeps so many bytes of the next.
    pub fn forget(&mut self, begun: usize) {
        self.bytes.copy_within(self.filled - begun..self.filled, 0);
        self.bytes[begun..self.filled].zeroize();
        self.filled = begun;
    }

    /// What came after the last line break: a line, if there is anything.
    pub fn rest(&mut self) -> &mut [u8] {
        if std::mem::take(&mut self.skipping) {
            self.bytes[0] = b'\n';
            return &mut self.bytes[..1];
        }
        &mut self.bytes[..self.filled]
    }

    /// Forgets everything.
    pub fn erase(&mut self) {
        self.bytes[..self.filled].zeroize();
        self.filled = 0;
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(lines: &mut Lines, bytes: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let space = lines.space();
            let fits = space.len().min(rest.len());
            space[..fits].copy_from_slice(&rest[..fits]);
            if let Some((whole, begun)) = lines.take(fits) {
                let whole = whole.strip_suffix(b"\n").unwrap();
                found.extend(whole.split(|byte| *byte == b'\n').map(|line| String::from_utf8(line.to_vec()).unwrap()));
                lines.forget(begun);
            }
            rest = &rest[fits..];
        }
        found
    }

    #[test]
    fn lines_are_put_together_from_pieces() {
        let mut lines = Lines::new();
        assert_eq!(put(&mut lines, b"one\ntw"), ["one"]);
        assert_eq!(put(&mut lines, b"o"), [""; 0]);
        assert_eq!(put(&mut lines, b"\n\nthree"), ["two", ""]);
        assert_eq!(lines.rest(), b"three");
    }

    #[test]
    fn a_line_that_is_too_long_is_an_empty_one() {
        for length in [LONGEST_LINE - 1, LONGEST_LINE, 3 * LONGEST_LINE] {
            let mut lines = Lines::new();
            let mut text = vec![b'x'; length];
            text.extend(b"\nnext\n");
            let found = put(&mut lines, &text);
            assert_eq!((found.len(), found[1].as_str()), (2, "next"), "{length}");
            assert_eq!(found[0].is_empty(), length >= LONGEST_LINE, "{length}");
        }
        let mut lines = Lines::new();
        put(&mut lines, &vec![b'x'; LONGEST_LINE + 5]);
        assert_eq!(lines.rest(), b"\n");
    }

    #[test]
    fn what_was_taken_is_gone() {
        let mut lines = Lines::new();
        put(&mut lines, b"secret\nnot yet");
        assert_eq!(&lines.bytes[..7], b"not yet");
        assert!(lines.bytes[7..].iter().all(|byte| *byte == 0));
    }
}
