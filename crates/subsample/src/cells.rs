//! Reading and writing CSV lines: one row per line.

use csv_core::{ReadRecordResult, Reader};

/// The cells of a line, by the rules of RFC 4180, except that a row ends with its line: quotes protect commas and
/// quotes, but not line breaks.
///
/// # Privacy
/// No row can swallow the next: the content of one row never decides where another begins.
pub struct Cells {
    /// Created once: setting up its tables takes longer than reading a line.
    reader: Box<Reader>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

impl std::fmt::Debug for Cells {
    /// Without the cells, which are data.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Cells")
    }
}

impl Cells {
    /// A reader that has not read any line yet.
    pub fn new() -> Self {
        Self { reader: Box::new(Reader::new()), bytes: Vec::new(), ends: Vec::new(), count: 0 }
    }

    /// Splits a line into cells.
    pub fn read(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.reader.reset();
        self.count = 0;
        // Cells are never longer than their quoted form, and any two are separated by a comma.
        let commas = memchr::memchr_iter(b',', line).count();
        self.bytes.resize(self.bytes.len().max(line.len() + 1), 0);
        self.ends.resize(self.ends.len().max(commas + 2), 0);
        let (mut rest, mut used, mut ended) = (line, 0, false);
        loop {
            let (result, read, written, cells) =
                self.reader.read_record(rest, &mut self.bytes[used..], &mut self.ends[self.count..]);
            rest = &rest[read..];
            used += written;
            self.count += cells;
            match result {
                // An empty input tells the reader that the line has ended.
                ReadRecordResult::InputEmpty if !ended => ended = true,
                // A stray carriage return ends a record for the reader; the rest of the line is skipped.
                _ => return,
            }
        }
    }

    /// The number of cells in the line; 0 if it is empty.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The cell at `place`, counted from 0; empty past the last.
    pub fn cell(&self, place: usize) -> &[u8] {
        if place >= self.count {
            return b"";
        }
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        self.bytes.get(start..self.ends[place]).unwrap_or_default()
    }
}

/// Appends a line, quoting cells where necessary. Line breaks within a cell become spaces, so that a program that reads
/// the block line by line sees one row per line.
pub fn write_line<'cell>(text: &mut Vec<u8>, cells: impl ExactSizeIterator<Item = &'cell [u8]>) {
    let alone = cells.len() == 1;
    for (place, cell) in cells.enumerate() {
        if place > 0 {
            text.push(b',');
        }
        // An empty line would not be a row.
        let quoted = memchr::memchr2(b',', b'"', cell).is_some() || alone && cell.is_empty();
        if quoted {
            text.push(b'"');
        }
        for &byte in cell {
            match byte {
                b'"' => text.extend_from_slice(b"\"\""),
                b'\n' | b'\r' => text.push(b' '),
                other => text.push(other),
            }
        }
        if quoted {
            text.push(b'"');
        }
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &[u8]) -> Vec<Vec<u8>> {
        let mut cells = Cells::new();
        cells.read(b"the,line,before,\"it");
        cells.read(line);
        (0..cells.count()).map(|place| cells.cell(place).to_vec()).collect()
    }

    #[test]
    fn a_row_ends_with_its_line() {
        assert_eq!(cells(b"a,b,c\r\n"), [b"a", b"b", b"c"]);
        assert_eq!(cells(b"\"a,b\",\"say \"\"yes\"\"\",\n"), [&b"a,b"[..], b"say \"yes\"", b""]);
        assert_eq!(cells(b"1,\"2,3\n"), [&b"1"[..], b"2,3"]);
        assert_eq!(cells(b"1,2\r3,4\n"), [b"1", b"2"]);
        assert!(cells(b"\n").is_empty() && cells(b"").is_empty());
        assert_eq!(cells(&vec![b','; 10_000]).len(), 10_001);
        assert_eq!(cells(&vec![b'x'; 1 << 20])[0].len(), 1 << 20);
    }

    #[test]
    fn what_is_written_reads_back() {
        for row in [vec!["a", "b,c", "say \"yes\"", ""], vec![""], vec!["", ""], vec![" a ", "ü"], vec!["\"", ","]] {
            let mut line = Vec::new();
            write_line(&mut line, row.iter().map(|cell| cell.as_bytes()));
            assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
            let back: Vec<String> = cells(&line).into_iter().map(|cell| String::from_utf8(cell).unwrap()).collect();
            assert_eq!(back, row);
        }
        let mut line = Vec::new();
        write_line(&mut line, [&b"two\r\nlines"[..], b"x"].into_iter());
        assert_eq!(line, b"two  lines,x\n");
    }
}
