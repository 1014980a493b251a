//! Splits incoming bytes into whole lines.

use zeroize::Zeroize;

/// A longer line counts as an unreadable event.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// Buffers bytes and yields whole lines. Its memory never moves, so that it can be erased.
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// The number of bytes in use.
    filled: usize,
    /// The current line is too long and is skipped up to its end.
    skipping: bool,
}

impl Lines {
    pub fn new() -> Self {
        Self { bytes: vec![0; LONGEST_LINE], filled: 0, skipping: false }
    }

    /// The free part of the buffer; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Returns the whole lines in the buffer, after `more` bytes were written to its free part, and the number of bytes
    /// of the next line. The lines may be erased in place; then call `forget`.
    pub fn take(&mut self, more: usize) -> Option<(&mut [u8], usize)> {
        self.filled += more;
        let Some(last) = memchr::memrchr(b'\n', &self.bytes[..self.filled]) else {
            if self.filled == self.bytes.len() {
                self.erase();
                self.skipping = true;
            }
            return None;
        };
        // The end of an overlong line counts as an empty line.
        let skipped = if std::mem::take(&mut self.skipping) { memchr::memchr(b'\n', &self.bytes) } else { None };
        Some((&mut self.bytes[skipped.unwrap_or(0)..=last], self.filled - last - 1))
    }

    /// Discards the lines that were taken, and keeps the `begun` bytes of the next.
    pub fn forget(&mut self, begun: usize) {
        self.bytes.copy_within(self.filled - begun..self.filled, 0);
        self.bytes[begun..self.filled].zeroize();
        self.filled = begun;
    }

    /// The bytes after the last line break, which form a line unless there are none.
    pub fn rest(&mut self) -> &mut [u8] {
        if std::mem::take(&mut self.skipping) {
            self.bytes[0] = b'\n';
            return &mut self.bytes[..1];
        }
        &mut self.bytes[..self.filled]
    }

    /// Discards everything.
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
