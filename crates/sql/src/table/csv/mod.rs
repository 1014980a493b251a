//! Comma- or tab-separated values.
//!
//! The header is public; what follows are rows, and nothing in a row is an error:
//! - fields are taken apart by RFC 4180, as `csv-core` does; quoted fields may hold line ends; a quote that is never closed
//!   makes the rest of the file one field;
//! - an empty line is no row; a missing field is NULL, a field too many is passed over;
//! - an empty field, quoted or not, is NULL, and so is one that is not UTF-8;
//! - a field that ends beyond the first 16 MiB of its row is NULL.
//!
//! | module | what it does |
//! |---|---|
//! | `header` | the names in the first line |
//! | `records` | rows, one after the other |
//! | `cut` | where a large file may be cut so that several cores can read it |

mod cut;
mod header;
mod records;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use datafusion::arrow::datatypes::SchemaRef;
use serde::{Deserialize, Serialize};

use self::header::Header;
use self::records::Records;
use super::cells::Rows;
use super::scan::{Emit, Part};
use crate::{Error, Result};

/// What may stand between two values.
const DELIMITERS: [u8; 2] = [b',', b'\t'];

/// Files of separated values with one header.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Csv {
    delimiter: u8,
    names: Vec<String>,
    /// Each file, and where its rows begin.
    files: Vec<(PathBuf, u64)>,
}

impl Csv {
    /// Reads the headers, which must be the same; the error says what is wrong.
    pub fn open(files: &[PathBuf], delimiter: u8) -> Result<Self, String> {
        let mut all = Self { delimiter, names: Vec::new(), files: Vec::new() };
        for path in files {
            let Header { names, rows } = Header::read(path, delimiter)?;
            if all.files.is_empty() {
                all.names = names;
            } else if all.names != names {
                let first = super::locate::short(&files[0]);
                return Err(format!("{} has another header than {first}", super::locate::short(path)));
            }
            all.files.push((path.clone(), rows));
        }
        Ok(all)
    }

    /// The names in the header.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// For a scan that offers these columns, given by their places in the header.
    pub fn reader(&self, places: Vec<usize>) -> CsvReader {
        CsvReader { csv: self.clone(), places }
    }
}

/// Reads some columns of the files.
#[derive(Debug, Serialize, Deserialize)]
pub struct CsvReader {
    csv: Csv,
    places: Vec<usize>,
}

impl CsvReader {
    /// How many files there are, and how many columns each of them offers; nothing if a column is not in the header.
    pub fn files_and_columns(&self) -> Option<(usize, usize)> {
        let known = self.places.iter().all(|place| *place < self.csv.names.len());
        (known && DELIMITERS.contains(&self.csv.delimiter)).then_some((self.csv.files.len(), self.places.len()))
    }

    /// Where a file is.
    pub fn path(&self, file: usize) -> Option<&Path> {
        self.csv.files.get(file).map(|(path, _)| path.as_path())
    }

    /// Reads a part of a file: of the columns that it offers, those at `columns`, which make up `schema`.
    pub fn read(&self, part: &Part, columns: &[usize], schema: &SchemaRef, emit: Emit<'_>) -> Result<()> {
        let places: Vec<usize> = columns.iter().map(|column| self.places[*column]).collect();
        let (path, start) = &self.csv.files[part.file()];
        let range = part.range(*start, |targets| {
            let mut file = open_at(path, *start)?;
            cut::cuts(&mut file, self.csv.delimiter, *start, targets)
        })?;
        let file = open_at(path, range.start).map_err(|_| Error::Reading)?;
        read(file.take(range.end - range.start), self.csv.delimiter, &places, schema, emit)
    }
}

fn open_at(path: &Path, position: u64) -> std::io::Result<File> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(position))?;
    Ok(file)
}

/// Reads rows that begin at the start of `input`, the fields at `places` of each.
fn read(input: impl Read, delimiter: u8, places: &[usize], schema: &SchemaRef, emit: Emit<'_>) -> Result<()> {
    let mut rows = Rows::new(schema.clone());
    let mut records = Records::new(input, delimiter, places.iter().max().map_or(0, |last| last + 1));
    while records.advance().map_err(|_| Error::Reading)? {
        for (column, place) in places.iter().enumerate() {
            let cell = records.field(*place).filter(|field| !field.is_empty());
            rows.push(column, cell.and_then(|field| std::str::from_utf8(field).ok()));
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

#[cfg(test)]
mod tests;
