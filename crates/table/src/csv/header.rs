//! The first line of a file of separated values.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::records::{Records, leaves_quote_open};
use crate::locate::short;
use crate::text::{BYTE_ORDER_MARK, decoded, foreign_format};

/// The longest header, in bytes.
pub const LONGEST_HEADER: u64 = 1 << 20;
/// The column names, and where the rows start.
#[derive(Debug, PartialEq)]
pub struct Header {
    pub names: Vec<String>,
    pub rows: u64,
}

impl Header {
    /// Reads the header of a file; the error names the file.
    pub fn read(path: &Path, delimiter: u8) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", short(path)))?;
        Self::parse(BufReader::new(file), delimiter).map_err(|reason| format!("{} {reason}", short(path)))
    }

    /// Empty lines before the header are skipped, as they are between rows.
    fn parse(input: impl BufRead, delimiter: u8) -> Result<Self, String> {
        let (line, rows) = first_line(input)?;
        if let Some(what) = foreign_format(&line) {
            return Err(what.to_string());
        }
        if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err("is not a text file: there are control characters in its first line, the header".to_owned());
        }
        if leaves_quote_open(&line, delimiter) {
            return Err("has an unclosed quote in its first line, the header".to_owned());
        }
        let mut records = Records::new(line.as_slice(), delimiter, line.len() + 1);
        let found = records.advance().map_err(|_| "cannot be read".to_owned())?;
        let fields = if found { records.len() } else { 0 };
        let mut names = Vec::with_capacity(fields);
        let mut seen = HashSet::new();
        for place in 0..fields {
            let name = decoded(records.field(place).unwrap_or_default());
            let name = name.trim_ascii();
            if name.is_empty() {
                return Err(format!("has no name for column {}: add one in the first line", place + 1));
            }
            if !seen.insert(name.to_owned()) {
                return Err(format!("has two columns named `{name}`: rename one in the first line"));
            }
            names.push(name.to_owned());
        }
        if names.is_empty() {
            return Err("has no header: its first line must name the columns".to_owned());
        }
        Ok(Self { names, rows })
    }
}

/// The first line that is not empty, without its line end, and the position after it.
fn first_line(input: impl BufRead) -> Result<(Vec<u8>, u64), String> {
    let mut bytes = input.take(LONGEST_HEADER).bytes();
    let (mut line, mut position) = (Vec::new(), 0);
    loop {
        let byte = bytes.next().transpose().map_err(|error| format!("cannot be read: {error}"))?;
        position += u64::from(byte.is_some());
        match byte {
            Some(b'\n' | b'\r') if line.is_empty() || line == BYTE_ORDER_MARK => line.clear(),
            None | Some(b'\n' | b'\r') => break,
            Some(byte) => line.push(byte),
        }
    }
    if position == LONGEST_HEADER {
        return Err("has no header: its first line is longer than 1 MiB".to_owned());
    }
    if line.starts_with(BYTE_ORDER_MARK) {
        line.drain(..BYTE_ORDER_MARK.len());
    }
    Ok((line, position))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<(Vec<String>, u64), String> {
        Header::parse(text, b',').map(|header| (header.names, header.rows))
    }

    #[test]
    fn names_and_the_start_of_the_rows() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(parse(b"id,age\n1,2\n"), Ok((names(&["id", "age"]), 7)));
        assert_eq!(parse(b"\xef\xbb\xbfid, age \r\n"), Ok((names(&["id", "age"]), 12)));
        assert_eq!(parse(b"\xef\xbb\xbf\r\n\n\"a,b\",\"say \"\"c\"\"\""), Ok((names(&["a,b", "say \"c\""]), 23)));
        assert_eq!(parse(b"one"), Ok((names(&["one"]), 3)));
        assert_eq!(parse(b"one\rtwo\r"), Ok((names(&["one"]), 4)));
    }

    #[test]
    fn a_header_without_good_names_is_an_error() {
        let error = |text: &[u8]| parse(text).unwrap_err();
        assert!(error(b"").contains("no header"));
        assert!(error(b"\n\r\n\n").contains("no header"));
        assert!(error(b"\xef\xbb\xbf").contains("no header"));
        assert!(error(b"a,,c\n1,2,3").contains("no name for column 2"));
        assert!(error(b"a,b,a\n").contains("two columns named `a`"));
        assert_eq!(parse(b"a,stra\xdfe\n"), Ok((vec!["a".to_owned(), "straße".to_owned()], 9)));
        assert!(error(b"\x1f\x8b\x08\x00\n").contains("compressed with gzip"));
        assert!(error(b"PAR1\x15\x04\n").contains("is a Parquet file"));
        assert!(error(b"\xff\xfea\0,\0b\0\n").contains("UTF-16"));
        assert!(error(b"a,\x01\n").contains("not a text file"));
        assert!(error(&vec![b'x'; 2 << 20]).contains("longer than 1 MiB"));
    }

    #[test]
    fn an_open_quote_does_not_make_rows_a_part_of_the_header() {
        let error = |row: &str| parse(format!("id,\"age\n{row}\n").as_bytes()).unwrap_err();
        assert_eq!(error("1,2"), error("secret\",\"secret"));
        assert!(error("1").contains("unclosed quote"));
    }
}
