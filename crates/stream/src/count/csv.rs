//! One line of comma-separated values.

use csv_core::{ReadRecordResult, Reader};
use zeroize::Zeroize;

use super::lines::LONGEST_LINE;

/// A line with more cells than this counts as empty.
const MOST_CELLS: usize = 1 << 12;

/// Splits a line into cells by the rules of RFC 4180, except that a record ends with its line: quotes protect commas
/// and quotes, but not line breaks, so that no line can swallow the next.
pub(crate) struct CsvLine {
    /// Created once: setting up its tables takes longer than reading a line.
    reader: Box<Reader>,
    cells: Box<[u8]>,
    ends: Box<[usize]>,
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

impl CsvLine {
    /// A splitter that has not read any line yet.
    pub fn new() -> Self {
        let cells = vec![0; LONGEST_LINE + 1].into_boxed_slice();
        Self { reader: Box::new(Reader::new()), cells, ends: vec![0; MOST_CELLS].into_boxed_slice(), count: 0, used: 0 }
    }

    /// Splits a line into cells.
    pub fn read(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.reader.reset();
        (self.count, self.used) = (0, 0);
        let (mut rest, mut ended) = (line, false);
        loop {
            let (result, read, written, cells) =
                self.reader.read_record(rest, &mut self.cells[self.used..], &mut self.ends[self.count..]);
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
        self.cells.get(start..self.ends[place])
    }

    /// Overwrites the line.
    pub fn erase(&mut self) {
        self.cells[..self.used].zeroize();
        (self.count, self.used) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &[u8]) -> Vec<Vec<u8>> {
        let mut csv = CsvLine::new();
        csv.read(b"the,line,before,\"it");
        csv.read(line);
        (0..csv.cells()).map(|place| csv.cell(place).expect("a cell").to_vec()).collect()
    }

    #[test]
    fn quotes_protect_commas_and_quotes() {
        assert_eq!(cells(b"a,b,c"), [b"a", b"b", b"c"]);
        assert_eq!(cells(b"a,,\r"), [&b"a"[..], b"", b""]);
        assert_eq!(cells(b"\"a,b\",\"say \"\"yes\"\"\",3\r"), [&b"a,b"[..], b"say \"yes\"", b"3"]);
        assert!(cells(b"").is_empty());
    }

    #[test]
    fn a_quote_that_stays_open_ends_with_its_line() {
        assert_eq!(cells(b"1,\"2,3"), [&b"1"[..], b"2,3"]);
        assert_eq!(cells(b"4,5"), [b"4", b"5"]);
    }

    #[test]
    fn a_line_of_commas_says_nothing() {
        assert!(cells(&vec![b','; 2 * MOST_CELLS]).is_empty());
        assert_eq!(cells(&vec![b'x'; LONGEST_LINE]).len(), 1);
    }

    #[test]
    fn nothing_is_left_after_erasing() {
        let mut csv = CsvLine::new();
        csv.read(b"1234567,8901234");
        csv.erase();
        assert!(csv.cells.iter().all(|byte| *byte == 0) && csv.cell(0).is_none());
    }
}
