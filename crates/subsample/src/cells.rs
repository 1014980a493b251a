//! Writing CSV lines: one row per line.

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
    use reticent::text::CsvLine;

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for row in [vec!["a", "b,c", "say \"yes\"", ""], vec![""], vec!["", ""], vec![" a ", "ü"], vec!["\"", ","]] {
            let mut line = Vec::new();
            write_line(&mut line, row.iter().map(|cell| cell.as_bytes()));
            assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
            let mut cells = CsvLine::new();
            cells.read(&line);
            let text = |place| std::str::from_utf8(cells.cell(place).unwrap()).unwrap();
            assert_eq!((0..cells.cells()).map(text).collect::<Vec<_>>(), row);
        }
        let mut line = Vec::new();
        write_line(&mut line, [&b"two\r\nlines"[..], b"x"].into_iter());
        assert_eq!(line, b"two  lines,x\n");
    }
}
