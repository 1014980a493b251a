//! One line of comma-separated values.

use csv_core::{ReadRecordResult, Reader};
use zeroize::Zeroize;

/// Splits a line into cells by the rules of RFC 4180, except that a record ends with its line: quotes protect commas
/// and quotes, but not line breaks.
///
/// # Privacy
/// No line can swallow the next: the content of one row never decides where another begins.
///
/// # Example
/// ```
/// use reticent::text::CsvLine;
///
/// let mut line = CsvLine::new();
/// line.read(b"1,\"a, b\"\r\n");
/// assert_eq!((line.cells(), line.cell(1), line.cell(2)), (2, Some(&b"a, b"[..]), None));
/// ```
pub struct CsvLine {
    /// Created once: setting up its tables takes longer than reading a line.
    reader: Box<Reader>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    grows: bool,
    /// The number of cells in the last line, and the number of bytes they take.
    count: usize,
    used: usize,
}

impl std::fmt::Debug for CsvLine {
    /// Omits the cells, which are data.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CsvLine")
    }
}

impl Default for CsvLine {
    fn default() -> Self {
        Self { reader: Box::new(Reader::new()), bytes: Vec::new(), ends: Vec::new(), grows: true, count: 0, used: 0 }
    }
}

impl CsvLine {
    /// A splitter for lines of any length, which has not read any yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A splitter for lines of at most `longest` bytes and `most` cells; one with more counts as empty. Its memory never
    /// moves, so that [`CsvLine::erase`] leaves nothing behind.
    pub fn within(longest: usize, most: usize) -> Self {
        Self { bytes: vec![0; longest + 1], ends: vec![0; most], grows: false, ..Self::default() }
    }

    /// Splits a line into cells.
    pub fn read(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.grows {
            // Cells are never longer than their quoted form, and any two are separated by a comma.
            let commas = line.iter().filter(|byte| **byte == b',').count();
            self.bytes.resize(self.bytes.len().max(line.len() + 1), 0);
            self.ends.resize(self.ends.len().max(commas + 2), 0);
        }
        self.reader.reset();
        (self.count, self.used) = (0, 0);
        let (mut rest, mut ended) = (line, false);
        loop {
            let (result, read, written, cells) =
                self.reader.read_record(rest, &mut self.bytes[self.used..], &mut self.ends[self.count..]);
            rest = &rest[read..];
            self.used += written;
            self.count += cells;
            match result {
                // A stray carriage return ends a record for the reader; the rest of the line is skipped.
                ReadRecordResult::Record | ReadRecordResult::End => return,
                // Tells the reader that the end of the line is the end of the input.
                ReadRecordResult::InputEmpty if !ended => ended = true,
                ReadRecordResult::InputEmpty => return,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    self.count = 0;
                    return;
                }
            }
        }
    }

    /// The number of cells in the line.
    pub fn cells(&self) -> usize {
        self.count
    }

    /// The cell at `place`, counted from 0.
    pub fn cell(&self, place: usize) -> Option<&[u8]> {
        if place >= self.count {
            return None;
        }
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        self.bytes.get(start..self.ends[place])
    }

    /// Overwrites the line.
    pub fn erase(&mut self) {
        self.bytes[..self.used].zeroize();
        (self.count, self.used) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 1 << 20;
    const MOST: usize = 1 << 12;

    fn split(mut csv: CsvLine, line: &[u8]) -> Vec<Vec<u8>> {
        csv.read(b"the,line,before,\"it");
        csv.read(line);
        (0..csv.cells()).map(|place| csv.cell(place).expect("a cell").to_vec()).collect()
    }

    /// The cells of a line, whichever splitter reads it.
    fn cells(line: &[u8]) -> Vec<Vec<u8>> {
        let cells = split(CsvLine::new(), line);
        assert_eq!(cells, split(CsvLine::within(LONGEST, MOST), line));
        cells
    }

    #[test]
    fn quotes_protect_commas_and_quotes() {
        assert_eq!(cells(b"a,b,c"), [b"a", b"b", b"c"]);
        assert_eq!(cells(b"a,,\r"), [&b"a"[..], b"", b""]);
        assert_eq!(cells(b"\"a,b\",\"say \"\"yes\"\"\",3\r"), [&b"a,b"[..], b"say \"yes\"", b"3"]);
        assert!(cells(b"\n").is_empty() && cells(b"").is_empty());
    }

    #[test]
    fn a_quote_that_stays_open_ends_with_its_line() {
        assert_eq!(cells(b"1,\"2,3"), [&b"1"[..], b"2,3"]);
        assert_eq!(cells(b"4,5"), [b"4", b"5"]);
        assert_eq!(cells(b"1,2\r3,4\n"), [b"1", b"2"]);
    }

    #[test]
    fn limits_are_kept_where_there_are_any() {
        let commas = vec![b','; 2 * MOST];
        assert!(split(CsvLine::within(LONGEST, MOST), &commas).is_empty());
        assert_eq!(split(CsvLine::new(), &commas).len(), 2 * MOST + 1);
        assert_eq!(cells(&vec![b'x'; LONGEST])[0].len(), LONGEST);
    }

    #[test]
    fn nothing_is_left_after_erasing() {
        let mut csv = CsvLine::within(LONGEST, MOST);
        csv.read(b"1234567,8901234");
        csv.erase();
        assert!(csv.bytes.iter().all(|byte| *byte == 0) && csv.cell(0).is_none());
    }
}
