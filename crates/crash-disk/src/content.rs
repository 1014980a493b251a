//! The bytes of a file, in pieces that copies share.

use std::sync::Arc;

const PIECE: usize = 4096;

/// The bytes of a file.
#[derive(Debug, Clone, Default)]
pub struct Content {
    pieces: Vec<Arc<[u8; PIECE]>>,
    length: usize,
}

impl Content {
    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Reads into `bytes` from `offset`; returns how many bytes there were.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> usize {
        let there = self.length.saturating_sub(offset).min(bytes.len());
        let mut done = 0;
        while done < there {
            let (piece, start) = ((offset + done) / PIECE, (offset + done) % PIECE);
            let step = (PIECE - start).min(there - done);
            bytes[done..done + step].copy_from_slice(&self.pieces[piece][start..start + step]);
            done += step;
        }
        there
    }

    /// Writes `bytes` at `offset`; a gap before them is filled with zeros.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        if self.length < offset + bytes.len() {
            self.resize(offset + bytes.len());
        }
        let mut done = 0;
        while done < bytes.len() {
            let (piece, start) = ((offset + done) / PIECE, (offset + done) % PIECE);
            let step = (PIECE - start).min(bytes.len() - done);
            let piece = Arc::make_mut(&mut self.pieces[piece]);
            piece[start..start + step].copy_from_slice(&bytes[done..done + step]);
            done += step;
        }
    }

    /// Truncates the file, or extends it with zeros.
    pub fn resize(&mut self, length: usize) {
        if length < self.length && !length.is_multiple_of(PIECE) {
            // So that a later extension reads as zeros.
            Arc::make_mut(&mut self.pieces[length / PIECE])[length % PIECE..].fill(0);
        }
        self.pieces.resize_with(length.div_ceil(PIECE), || Arc::new([0; PIECE]));
        self.length = length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_they_were_written_and_copies_stay_apart() {
        let mut content = Content::default();
        content.write(5000, b"abc");
        let copy = content.clone();
        content.write(4094, b"12345");
        let mut read = [9; 8];
        assert_eq!((content.read(4093, &mut read), &read), (8, b"\x0012345\0\0"));
        assert_eq!((copy.read(4999, &mut read), &read[..4]), (4, &b"\0abc"[..]));
        content.resize(5001);
        content.resize(5003);
        assert_eq!((content.read(5000, &mut read), &read[..3]), (3, &b"a\0\0"[..]));
        assert_eq!(content.read(6000, &mut read), 0);
    }
}
