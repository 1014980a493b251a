//! Tables from files and databases, as batches of a few types.
//!
//! A [`Table`] is opened from its headers and footers alone: CSV, TSV, NDJSON, JSON, Parquet or Arrow files; or, with
//! the feature `postgres`, from the catalogue of a PostgreSQL database. A [`Scan`]
//! reads some of its columns in parts, as plain blocking iterators of Arrow record batches. Nothing in a row is an
//! error: a cell that does not have the requested type is NULL, and a line that is not a row is dropped, by rules
//! documented with each format. If reading fails, the error is [`Broken`], whatever the reason.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("people.csv");
//! # let location = path.to_str().ok_or("a path in UTF-8")?;
//! use reticent_table::{Request, Table, Type, UnitColumn};
//!
//! std::fs::write(location, "name,age\nAda,36\nAlan,unknown\n")?;
//! let people = Table::open("people", location)?;
//! let unit = UnitColumn { name: "name".to_owned(), form: people.unit_type("name")? };
//! let request = Request { unit: Some(unit), columns: vec![("age".to_owned(), Type::Number)] };
//! let scan = people.scan(&request, 2)?;
//! for batch in (0..scan.parts()).flat_map(|part| scan.read(part)) {
//!     let batch = batch?;
//!     assert_eq!((batch.num_rows(), batch.column(1).null_count()), (2, 1));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `table` | [`Table`]: what is known without reading rows |
//! | `types` | [`Type`]: the types that a query sees |
//! | `unit` | [`UnitType`], [`UnitColumn`]: the privacy unit, compared exactly |
//! | `request` | [`Request`]: the columns to read |
//! | `scan`, `reader` | [`Scan`], [`Reader`]: a table to be read in parts, and the rows of one part |
//! | `split` | how a table is divided into parts |
//! | `locate` | files, directories and patterns of file names |
//! | `format` | [`Format`], [`TextOptions`]: what a file or its name does not say |
//! | `packing` | [`Packing`]: text files compressed with gzip or Zstandard |
//! | `encoding` | [`Encoding`]: text files that are not in UTF-8 |
//! | `text`, `cells` | encoding and length of text; cells of text formats, and batches of them |
//! | `csv` | values separated by commas, or by another [`Delimiter`] |
//! | `ndjson`, `array`, `json` | JSON objects: one per line, or an array of them |
//! | `typed` | files with typed columns |
//! | `parquet`, `arrow` | the formats of such files, and whether a file is safe to decode |
//! | `typed_lines` | [`TypedLines`]: the rows of such a file as lines of text, in order |
//! | `convert`, `canonical` | conversion of their values to the types of a query; units as text |
//! | `database`, `postgres` | tables of databases: [`DatabaseTable`], and how they are read |
//! | `error` | [`Error`], [`Broken`] |
//!
//! # Not promised
//! - **The order of rows.** Parts are read in any order. [`TypedLines`] has that of the file.
//! - **Files that change.** If a file is written to between opening and reading, rows may be missed or read twice, or
//!   the table is [`Broken`].
//! - **The time and memory that reading takes**, which depend on the files. A footer cannot claim more than the file
//!   has, but a page of a hostile Parquet file can claim gigabytes, and a small compressed file can hold terabytes of text.

// Tests inside and outside the crate share code that refers to it by this name.
#[cfg(test)]
extern crate self as reticent_table;

mod array;
mod arrow;
mod canonical;
mod cells;
mod convert;
mod csv;
mod database;
mod encoding;
mod error;
mod format;
mod json;
mod locate;
mod ndjson;
mod packing;
mod parquet;
#[cfg(feature = "postgres")]
mod postgres;
mod reader;
mod request;
mod scan;
mod split;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod typed;
mod typed_lines;
mod types;
mod unit;

pub use self::cells::number;
pub use self::csv::Delimiter;
pub use self::database::DatabaseTable;
pub use self::encoding::Encoding;
pub use self::error::{Broken, Error, Result};
pub use self::format::{Format, TextOptions};
pub use self::packing::Packing;
pub use self::reader::Reader;
pub use self::request::Request;
pub use self::scan::Scan;
pub use self::table::Table;
pub use self::text::{MOST_TEXT, foreign_format};
pub use self::typed_lines::{Roles, TypedLines};
pub use self::types::Type;
pub use self::unit::{UnitColumn, UnitType};
