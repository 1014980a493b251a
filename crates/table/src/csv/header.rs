//! The first line of a file of separated values.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::Delimiter;
use super::records::{Records, leaves_quote_open};
use crate::encoding::Coding;
use crate::locate::short;
use crate::text::{BYTE_ORDER_MARK, decoded};

/// The longest header, in bytes.
pub const LONGEST_HEADER: u64 = 1 << 20;
/// The name of a first column that has none: tables written by pandas start with such a column, the index.
const INDEX: &str = "index";

/// The column names, and where the rows start, in decoded bytes.
#[derive(Debug, PartialEq)]
pub struct Header {
    pub delimiter: Delimiter,
    pub names: Vec<String>,
    pub rows: u64,
}

impl Header {
    /// Reads the header of a file; the error names the file. Without a delimiter, that of the header is found.
    pub fn read(path: &Path, coding: Coding, delimiter: Option<Delimiter>) -> Result<Self, String> {
        let line = coding.open(path, 0).and_then(|input| first_line(BufReader::new(input)));
        let header = line.map_err(|error| coding.unreadable(&error)).and_then(|line| Self::parse(line, delimiter));
        header.map_err(|reason| format!("{} {reason}", short(path)))
    }

    fn parse((line, rows): (Vec<u8>, u64), delimiter: Option<Delimiter>) -> Result<Self, String> {
        if rows == LONGEST_HEADER {
            return Err("has no header: its first line is longer than 1 MiB".to_owned());
        }
        let chosen = delimiter.unwrap_or_else(|| Delimiter::of(&line));
        let delimiter = chosen.byte();
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
            if name.is_empty() && (place > 0 || fields == 1) {
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
        if names[0].is_empty() {
            names[0] = unused(INDEX, &names);
        }
        Ok(Self { delimiter: chosen, names, rows })
    }
}

/// `name`, or with the first number after it that makes it differ from all others, whatever their case.
fn unused(name: &str, others: &[String]) -> String {
    let is_free = |name: &String| others.iter().all(|other| !other.eq_ignore_ascii_case(name));
    let numbered = (1_usize..).map(|number| format!("{name}_{number}"));
    [name.to_owned()].into_iter().chain(numbered).find(is_free).unwrap_or_default()
}

/// The first line that is not empty, without its line end, and the position after it. Empty lines before it are skipped,
/// as they are between rows.
fn first_line(input: impl BufRead) -> io::Result<(Vec<u8>, u64)> {
    let mut bytes = input.take(LONGEST_HEADER).bytes();
    let (mut line, mut position) = (Vec::new(), 0);
    loop {
        let byte = bytes.next().transpose()?;
        position += u64::from(byte.is_some());
        match byte {
            Some(b'\n' | b'\r') if line.is_empty() || line == BYTE_ORDER_MARK => line.clear(),
            None | Some(b'\n' | b'\r') => break,
            Some(byte) => line.push(byte),
        }
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
        let line = first_line(text).unwrap();
        Header::parse(line, Some(Delimiter::Comma)).map(|header| (header.names, header.rows))
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
        assert!(error(b"\"\"\n1").contains("no name for column 1"));
        assert!(error(b",a,\n").contains("no name for column 3"));
        assert!(error(b"a,\x01\n").contains("not a text file"));
        assert!(error(&vec![b'x'; 2 << 20]).contains("longer than 1 MiB"));
    }

    #[test]
    fn a_first_column_without_a_name_is_the_index() {
        for (header, expected) in [
            (",a", "index"),
            ("\" \",a", "index"),
            (",index", "index_1"),
            (",Index,index_1", "index_2"),
            ("\u{feff},a", "index"),
        ] {
            assert_eq!(parse(header.as_bytes()).unwrap().0[0], expected, "{header}");
        }
    }

    #[test]
    fn an_open_quote_does_not_make_rows_a_part_of_the_header() {
        let error = |row: &str| parse(format!("id,\"age\n{row}\n").as_bytes()).unwrap_err();
        assert_eq!(error("1,2"), error("secret\",\"secret"));
        assert!(error("1").contains("unclosed quote"));
    }
}
