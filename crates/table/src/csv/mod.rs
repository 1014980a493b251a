//! Values separated by commas, or by another delimiter.
//!
//! The header is public; everything after it is rows, and nothing in a row is an error:
//! - a row is a line: a line feed or a carriage return ends it, regardless of quotes before it, so that no row can
//!   swallow another;
//! - within a line, fields are split according to RFC 4180: quotes protect delimiters and, doubled, quotes; an unclosed
//!   quote is closed by the end of the line;
//! - an empty line is not a row; a missing field is NULL, and extra fields are ignored;
//! - an empty field, quoted or not, is NULL; one that is not UTF-8 is read as Windows-1252, unless an
//!   [`Encoding`](crate::Encoding) was chosen for the file;
//! - a field longer than [`MOST_TEXT`](crate::MOST_TEXT) is NULL, and so is one that ends beyond the first 16 MiB of
//!   its row.
//!
//! | module | contents |
//! |---|---|
//! | `delimiter` | what separates values |
//! | `header` | the column names in the first line |
//! | `records` | rows, one after the other |
//! | `cut` | where a large file may be cut so that several cores can read it |

mod cut;
mod delimiter;
mod header;
mod records;

use std::fs::File;
use std::io::{Read, Take};
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

pub use self::delimiter::Delimiter;
use self::header::Header;
pub use self::header::LONGEST_HEADER;
use self::records::Records;
use crate::Broken;
use crate::cells::Rows;
use crate::encoding::Coding;
use crate::locate::short;
use crate::packing::Input;
use crate::split::Text;
use crate::text::decoded;

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
    /// Reads the headers, which must all be the same; the error says what is wrong. Unless it is known, the delimiter is
    /// that of the first header.
    pub fn open(files: &[PathBuf], coding: Coding, mut delimiter: Option<Delimiter>) -> Result<Self, String> {
        let (mut all, mut starts) = (None, Vec::with_capacity(files.len()));
        for path in files {
            let header = Header::read(path, coding, delimiter)?;
            delimiter = Some(header.delimiter);
            starts.push(header.rows);
            if all.get_or_insert_with(|| header.names.clone()) != &header.names {
                return Err(format!("{} has a different header than {}", short(path), short(&files[0])));
            }
        }
        Ok(Self { delimiter: delimiter.unwrap_or(Delimiter::Comma), names: all.unwrap_or_default(), starts })
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
) -> Result<Option<Batches<Take<Input>>>, Broken> {
    let delimiter = delimiter.byte();
    let range = file.range(part, |_, targets| cut::cuts(&mut File::open(&file.path)?, targets))?;
    let Some(range) = range else { return Ok(None) };
    Ok(Some(Batches::new(file.open(&range)?, delimiter, places, schema)))
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
