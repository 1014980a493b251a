//! Comma- or tab-separated values.
//!
//! The header is public; everything after it is rows, and nothing in a row is an error:
//! - a row is a line: a line feed or a carriage return ends it, regardless of quotes before it, so that no row can
//!   swallow another;
//! - within a line, fields are split according to RFC 4180: quotes protect delimiters and, doubled, quotes; an unclosed
//!   quote is closed by the end of the line;
//! - an empty line is not a row; a missing field is NULL, and extra fields are ignored;
//! - an empty field, quoted or not, is NULL; one that is not UTF-8 is read as Windows-1252;
//! - a field longer than [`MOST_TEXT`](crate::MOST_TEXT) is NULL, and so is one that ends beyond the first 16 MiB of
//!   its row.
//!
//! | module | contents |
//! |---|---|
//! | `header` | the column names in the first line |
//! | `records` | rows, one after the other |
//! | `cut` | where a large file may be cut so that several cores can read it |

mod cut;
mod header;
mod records;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use self::header::Header;
pub use self::header::LONGEST_HEADER;
use self::records::Records;
use crate::Broken;
use crate::cells::Rows;
use crate::locate::short;
use crate::split::Text;
use crate::text::decoded;

/// The separator between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delimiter {
    Comma,
    Tab,
}

impl Delimiter {
    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
        }
    }
}

/// Files of separated values with the same header.
#[derive(Debug)]
pub struct Csv {
    /// The separator between values.
    pub delimiter: Delimiter,
    /// The names in the header.
    pub names: Vec<String>,
    /// Where the rows of each file start.
    pub starts: Vec<u64>,
}

impl Csv {
    /// Reads the headers, which must all be the same; the error says what is wrong.
    pub fn open(files: &[PathBuf], delimiter: Delimiter) -> Result<Self, String> {
        let mut all = Self { delimiter, names: Vec::new(), starts: Vec::new() };
        for path in files {
            let Header { names, rows } = Header::read(path, delimiter.byte())?;
            if all.starts.is_empty() {
                all.names = names;
            } else if all.names != names {
                return Err(format!("{} has a different header than {}", short(path), short(&files[0])));
            }
            all.starts.push(rows);
        }
        Ok(all)
    }

    /// The position of a column in the header.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}

/// The rows of a part of a file, with the fields at `places`; `None` if the part reads nothing of the file.
pub fn read(
    file: &Text,
    part: usize,
    delimiter: Delimiter,
    places: &[usize],
    schema: SchemaRef,
) -> Result<Option<Batches<Take<File>>>, Broken> {
    let delimiter = delimiter.byte();
    let range = file.range(part, |_, targets| cut::cuts(&mut File::open(&file.path)?, targets))?;
    let Some(range) = range else { return Ok(None) };
    let input = open_at(&file.path, range.start).map_err(|_| Broken)?;
    Ok(Some(Batches::new(input.take(range.end - range.start), delimiter, places, schema)))
}

fn open_at(path: &Path, position: u64) -> std::io::Result<File> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(position))?;
    Ok(file)
}

/// Batches of rows.
pub struct Batches<R> {
    records: Records<R>,
    places: Vec<usize>,
    rows: Rows,
}

impl<R: Read> Batches<R> {
    /// `input` starts at the start of a row.
    fn new(input: R, delimiter: u8, places: &[usize], schema: SchemaRef) -> Self {
        let most = places.iter().max().map_or(0, |last| last + 1);
        Self { records: Records::new(input, delimiter, most), places: places.to_vec(), rows: Rows::new(schema) }
    }
}

impl<R: Read> Iterator for Batches<R> {
    type Item = Result<RecordBatch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rows.is_full() {
            match self.records.advance() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return Some(Err(Broken)),
            }
            for (column, place) in self.places.iter().enumerate() {
                let cell = self.records.field(*place).filter(|field| !field.is_empty()).map(decoded);
                self.rows.push(column, cell.as_deref());
            }
            self.rows.end_row();
        }
        self.rows.take()
    }
}

#[cfg(test)]
mod tests;
