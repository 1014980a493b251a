//! One JSON object per line, or an array of objects.
//!
//! A file named `.json` is an array, whose elements are treated like the lines of `.ndjson` and `.jsonl`; it is read by
//! a single part. There is no header: any column name is accepted. Nothing in a line is an error:
//! - a line that is not one JSON object, with or without a comma after it, is dropped, and so is one of more than 16
//!   MiB; a line that is not UTF-8 is read as Windows-1252, unless an
//!   [`Encoding`](crate::Encoding) was chosen for the file;
//! - a field that is missing or `null` is NULL; if a name is repeated, the last one counts;
//! - as text, a string is itself (even if empty), and a number, `true` or `false` is what the file contains;
//! - as a number, a number or a string is treated like the same text in a CSV file;
//! - an object or a list in a field is NULL, and so is a text longer than [`MOST_TEXT`](crate::MOST_TEXT).
//!
//! So a file of objects that span several lines has no rows, and one object with a list for each column is one row of
//! NULLs. That is not refused: every byte of such a file belongs to a row, and one row must not decide the fate of the
//! others. Descriptions of the table ([`Table::is_json_lines`](crate::Table::is_json_lines)) say how it is read.

use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::Broken;
use crate::array::{self, Elements};
use crate::cells::Rows;
use crate::encoding::Coding;
use crate::json::{Value, fields};
use crate::locate::short;
use crate::packing::{Input, Packing};
use crate::request::Column;
use crate::split::Text;
use crate::text::{BYTE_ORDER_MARK, decoded};

/// Longer lines are dropped.
const LONGEST_LINE: u64 = 16 << 20;
/// How much is read from the file at a time.
const CHUNK: usize = 256 << 10;

/// The rows of a part of a file of lines, with these fields; `None` if the part reads nothing of the file.
pub fn read_lines(
    file: &Text,
    part: usize,
    columns: &[Column],
    schema: SchemaRef,
) -> Result<Option<FileBatches>, Broken> {
    let Some(range) = file.range(part, |_, targets| cuts(&file.path, targets))? else { return Ok(None) };
    let lines = Lines::new(file.open(&range)?, range.start == 0);
    Ok(Some(Batches::new(Items::Lines(lines), columns, schema)))
}

/// The rows of a file that is an array, if this part reads it.
pub fn read_array(
    file: &Text,
    part: usize,
    columns: &[Column],
    schema: SchemaRef,
) -> Result<Option<FileBatches>, Broken> {
    let uncut = |_, _: &[u64]| Err(io::ErrorKind::InvalidInput.into());
    let Some(range) = file.range(part, uncut)? else { return Ok(None) };
    let elements = Elements::new(file.open(&range)?, CHUNK, LONGEST_LINE);
    Ok(Some(Batches::new(Items::Elements(elements), columns, schema)))
}

/// Checks that a file looks like an array; the error names the file. The end of one that is compressed, or in an encoding
/// that was chosen, is not looked at: all of it would have to be decoded.
pub fn check_array(path: &Path, coding: Coding) -> Result<(), String> {
    let name = short(path);
    let begins = coding.open(path, 0).and_then(array::begins);
    if !begins.map_err(|error| format!("{name} {}", coding.unreadable(&error)))? {
        return Err(format!(
            "{name} does not begin with `[`, as a JSON array does; if each line is an object, name it .ndjson"
        ));
    }
    if coding.can_be_cut() && !array::ends(path).unwrap_or(false) {
        return Err(format!("{name} does not end with `]`, as a JSON array does; it may have been cut off"));
    }
    Ok(())
}

/// The first starts of lines after the given positions. JSON has no line breaks inside a line.
fn cuts(path: &Path, targets: &[u64]) -> io::Result<Vec<u64>> {
    let cut = |target: &u64| Ok(target + BufReader::new(Packing::Plain.open(path, *target)?).skip_until(b'\n')? as u64);
    let mut cuts = targets.iter().map(cut).collect::<io::Result<Vec<u64>>>()?;
    cuts.sort_unstable();
    Ok(cuts)
}

/// Batches of the rows of a file.
pub type FileBatches = Batches<Take<Input>>;

/// Batches of rows.
pub struct Batches<R> {
    items: Items<R>,
    names: Vec<String>,
    rows: Rows,
}

impl<R: Read> Batches<R> {
    fn new(items: Items<R>, columns: &[Column], schema: SchemaRef) -> Self {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        Self { items, names, rows: Rows::new(schema) }
    }
}

impl<R: Read> Iterator for Batches<R> {
    type Item = Result<RecordBatch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rows.is_full() {
            let item = match self.items.advance() {
                Ok(Some(item)) => item,
                Ok(None) => break,
                Err(_) => return Some(Err(Broken)),
            };
            push(&decoded(item), &self.names, &mut self.rows);
        }
        self.rows.take()
    }
}

/// Adds a line as a row, if it is one.
fn push(line: &str, names: &[String], rows: &mut Rows) {
    let mut values = vec![Value::Null; names.len()];
    let is_object = fields(line, |name, value| {
        for (wanted, place) in names.iter().zip(&mut values) {
            if wanted == name {
                *place = value.clone();
            }
        }
    });
    if is_object {
        for (column, value) in values.into_iter().enumerate() {
            rows.push(column, value.text().as_deref());
        }
        rows.end_row();
    }
}

/// Candidates for rows.
enum Items<R> {
    Lines(Lines<R>),
    Elements(Elements<R>),
}

impl<R: Read> Items<R> {
    fn advance(&mut self) -> io::Result<Option<&[u8]>> {
        match self {
            Self::Lines(lines) => lines.advance(),
            Self::Elements(elements) => elements.advance(),
        }
    }
}

/// Lines, one after the other.
struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the next bytes are the start of a file.
    first: bool,
}

impl<R: Read> Lines<R> {
    fn new(input: R, first: bool) -> Self {
        Self { input: BufReader::with_capacity(CHUNK, input), line: Vec::new(), first }
    }

    /// Returns the next line that is not too long.
    fn advance(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            let read = self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            let first = std::mem::take(&mut self.first);
            if read as u64 == LONGEST_LINE && !self.line.ends_with(b"\n") {
                self.line = Vec::new();
                self.input.skip_until(b'\n')?;
                continue;
            }
            let mark = if first && self.line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            let line = self.line[mark..].trim_ascii_end();
            return Ok(Some(line.strip_suffix(b",").unwrap_or(line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;

    use super::*;
    use crate::Type;
    use crate::request::{Form, schema};

    fn batches(text: &[u8], columns: &[(&str, Type)]) -> Vec<RecordBatch> {
        let column = |(name, wanted): &(&str, Type)| Column { name: (*name).to_owned(), form: Form::Value(*wanted) };
        let columns: Vec<Column> = columns.iter().map(column).collect();
        let batches = Batches::new(Items::Lines(Lines::new(text, true)), &columns, schema(&columns));
        batches.collect::<Result<_, _>>().expect("rows are never an error")
    }

    fn count(text: &[u8], columns: &[(&str, Type)]) -> usize {
        batches(text, columns).iter().map(RecordBatch::num_rows).sum()
    }

    fn cells_of(line: &str) -> (String, Option<f64>) {
        let batch = batches(line.as_bytes(), &[("a", Type::Text), ("a", Type::Number)]).remove(0);
        let text = batch.column(0).as_string_view().iter().next().flatten();
        let number = batch.column(1).as_primitive::<Float64Type>().iter().next().flatten();
        (text.unwrap_or_default().to_owned(), number)
    }

    #[test]
    fn values_become_text_and_numbers() {
        for (line, text, number) in [
            (r#"{"a":"x"}"#, "x", ""),
            (r#"{"a":" 12 "}"#, " 12 ", "12"),
            (r#"{"a":"nan"}"#, "nan", ""),
            (r#"{"a":1e2}"#, "1e2", "100.0"),
            (r#"{"a":123456789012345678901234567890}"#, "123456789012345678901234567890", "1.2345678901234568e29"),
            (r#"{"a":1e999}"#, "1e999", "inf"),
            (r#"{"a":-9223372036854775808}"#, "-9223372036854775808", "-9.223372036854775808e18"),
            (r#"{"a":true}"#, "true", ""),
            (r#"{"a":null}"#, "", ""),
            (r#"{"a":[1]}"#, "", ""),
            (r#"{"a":{"a":1}}"#, "", ""),
            (r#"{"b":1}"#, "", ""),
            (r#"{}"#, "", ""),
            (r#" { "a" : 7 , "b" : "}" } "#, "7", "7.0"),
            (r#"{"a":1,"a":2}"#, "2", "2.0"),
            (r#"{"a":1,"\u0061":null}"#, "", ""),
            (r#"{"a":"\ud800"}"#, "", ""),
        ] {
            assert_eq!(cells_of(line), (text.to_owned(), number.parse().ok()), "{line}");
        }
    }

    #[test]
    fn lines_without_an_object_are_dropped_whatever_is_asked_for() {
        let text = b"\xef\xbb\xbf{\"a\":1}\n\n[1]\n7\n\"x\"\n{\"a\":1\n{\"a\":1}}\n{\"a\":\xff}\n{\"b\":\"\xff\"}\n{\"a\":01}\nnull\n{\"a\":\"\\ud800\"}\r\n{\"a\":2}";
        for columns in [&[][..], &[("a", Type::Text)], &[("a", Type::Number), ("b", Type::Text)]] {
            assert_eq!(count(text, columns), 4, "{columns:?}");
        }
    }

    /// Objects cut out of an array, one per line.
    #[test]
    fn a_comma_after_an_object_is_no_part_of_it() {
        let text = b"{\"a\":1},\n{\"a\":2} , \r\n{\"a\":3},,\n{\"a\":4,}\n{\"a\":5}\n";
        for columns in [&[][..], &[("a", Type::Number)]] {
            assert_eq!(count(text, columns), 3, "{columns:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_alone() {
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(LONGEST_LINE as usize));
        let text = format!("{{\"a\":1}}\n{long}{{\"a\":2}}\n");
        assert_eq!(count(text.as_bytes(), &[("a", Type::Text)]), 2);
    }
}
