//! One JSON object per line.
//!
//! There is no header: any name may be asked for. Nothing in a line is an error:
//! - a line that is not one JSON object in UTF-8 is dropped, and so is one of more than 64 MiB;
//! - a field that is missing or `null` is NULL; of fields with the same name, the last one counts;
//! - as text, a string is itself (an empty one, too), and a number, `true` or `false` is what is written in the file;
//! - as a number, a number or a string counts as the same text in a CSV file would;
//! - an object or a list in a field is NULL.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use datafusion::arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use super::cells::Rows;
use super::json::{Value, fields};
use super::scan::{Emit, Part};
use crate::{Error, Result};

/// Longer lines are dropped.
const LONGEST_LINE: u64 = 64 << 20;
/// How much is read from the file at a time.
const CHUNK: usize = 256 << 10;
/// What some systems write at the start of a text file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads some fields of each object.
#[derive(Debug, Serialize, Deserialize)]
pub struct NdjsonReader {
    files: Vec<PathBuf>,
    names: Vec<String>,
}

impl NdjsonReader {
    /// For a scan that offers these fields as columns.
    pub fn new(files: Vec<PathBuf>, names: Vec<String>) -> Self {
        Self { files, names }
    }

    /// How many files there are, and how many columns each of them offers.
    pub fn files_and_columns(&self) -> (usize, usize) {
        (self.files.len(), self.names.len())
    }

    /// Where a file is.
    pub fn path(&self, file: usize) -> Option<&Path> {
        self.files.get(file).map(PathBuf::as_path)
    }

    /// Reads a part of a file: of the columns that it offers, those at `columns`, which make up `schema`.
    pub fn read(&self, part: &Part, columns: &[usize], schema: &SchemaRef, emit: Emit<'_>) -> Result<()> {
        let names: Vec<&str> = columns.iter().map(|column| self.names[*column].as_str()).collect();
        let path = &self.files[part.file()];
        let range = part.range(0, |targets| cuts(path, targets))?;
        let file = open_at(path, range.start).map_err(|_| Error::Reading)?;
        let mut lines = Lines::new(file.take(range.end - range.start), range.start == 0);
        read(&mut lines, &names, schema, emit)
    }
}

fn open_at(path: &Path, position: u64) -> io::Result<File> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(position))?;
    Ok(file)
}

/// The first starts of lines after the given places. JSON has no line ends inside a line.
fn cuts(path: &Path, targets: &[u64]) -> io::Result<Vec<u64>> {
    let cut = |target: &u64| Ok(target + BufReader::new(open_at(path, *target)?).skip_until(b'\n')? as u64);
    let mut cuts = targets.iter().map(cut).collect::<io::Result<Vec<u64>>>()?;
    cuts.sort_unstable();
    Ok(cuts)
}

fn read<R: Read>(lines: &mut Lines<R>, names: &[&str], schema: &SchemaRef, emit: Emit<'_>) -> Result<()> {
    let mut rows = Rows::new(schema.clone());
    while let Some(line) = lines.advance().map_err(|_| Error::Reading)? {
        let Some(line) = std::str::from_utf8(line).ok() else { continue };
        let mut values = vec![Value::Null; names.len()];
        let object = fields(line, |name, value| {
            if let Some(column) = names.iter().position(|wanted| *wanted == name) {
                values[column] = value;
            }
        });
        if !object {
            continue;
        }
        for (column, value) in values.into_iter().enumerate() {
            rows.push(column, value.text().as_deref());
        }
        rows.end_row();
        if rows.is_full()
            && let Some(batch) = rows.take()?
            && !emit(batch)
        {
            return Ok(());
        }
    }
    if let Some(batch) = rows.take()? {
        emit(batch);
    }
    Ok(())
}

/// Lines, one after the other.
struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether what comes next is the start of a file.
    first: bool,
}

impl<R: Read> Lines<R> {
    fn new(input: R, first: bool) -> Self {
        Self { input: BufReader::with_capacity(CHUNK, input), line: Vec::new(), first }
    }

    /// The next line that is not too long.
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
            return Ok(Some(&self.line[mark..]));
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::RecordBatch;
    use datafusion::arrow::util::pretty::pretty_format_batches;

    use super::super::{Kind, cells};
    use super::*;

    fn table(text: &[u8], columns: &[(&str, Kind)]) -> String {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let schema = cells::schema(&columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect::<Vec<_>>());
        let mut batches: Vec<RecordBatch> = Vec::new();
        let mut lines = Lines::new(text, true);
        read(&mut lines, &names, &schema, &mut |batch| {
            batches.push(batch);
            true
        })
        .unwrap();
        pretty_format_batches(&batches).unwrap().to_string()
    }

    fn cells_of(line: &str) -> (String, String) {
        let one = |kind| {
            let text = table(line.as_bytes(), &[("a", kind)]);
            let row = text.lines().nth(3).map_or("dropped", |row| row.trim_matches('|').trim());
            row.to_owned()
        };
        (one(Kind::Text), one(Kind::Number))
    }

    #[test]
    fn values_become_text_and_numbers() {
        for (line, text, number) in [
            (r#"{"a":"x"}"#, "x", ""),
            (r#"{"a":" 12 "}"#, "12", "12.0"),
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
            let (as_text, as_number) = cells_of(line);
            assert_eq!(as_text, text, "{line}");
            let same = as_number == number || as_number.parse::<f64>().ok() == number.parse::<f64>().ok();
            assert!(same && as_number.is_empty() == number.is_empty(), "{line}: {as_number}");
        }
    }

    #[test]
    fn lines_without_an_object_are_dropped_whatever_is_asked_for() {
        let text = b"\xef\xbb\xbf{\"a\":1}\n\n[1]\n7\n\"x\"\n{\"a\":1\n{\"a\":1}}\n{\"a\":\xff}\n{\"b\":\"\xff\"}\n{\"a\":01}\nnull\n{\"a\":\"\\ud800\"}\r\n{\"a\":2}";
        for columns in [&[][..], &[("a", Kind::Text)], &[("a", Kind::Number), ("b", Kind::Text)]] {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            let owned = columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect::<Vec<_>>();
            let mut rows = 0;
            read(&mut Lines::new(&text[..], true), &names, &cells::schema(&owned), &mut |batch| {
                rows += batch.num_rows();
                true
            })
            .unwrap();
            assert_eq!(rows, 3, "{columns:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_alone() {
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(LONGEST_LINE as usize));
        let text = format!("{{\"a\":1}}\n{long}{{\"a\":2}}\n");
        assert_eq!(table(text.as_bytes(), &[("a", Kind::Text)]).lines().count(), 6);
    }
}
