//! Tables from files.
//!
//! A table is opened by its headers and footers alone; rows are read when a query runs, after the charge. What a row holds
//! is never an error: a cell that does not say what is asked for is NULL and a line that is no row is dropped, by rules that
//! are stated with each format. If reading breaks off, the error is [`Error::Reading`], whatever the reason.
//!
//! | module | what it does |
//! |---|---|
//! | `locate` | files, folders and patterns of file names |
//! | `cells` | cells of text formats, and batches of them |
//! | `csv` | comma- or tab-separated values |
//! | `ndjson`, `json` | one JSON object per line |
//! | `scan` | files that this crate reads, as a table of the query engine |
//! | `source` | how the engine reads them; its scans as bytes |
//! | `typed` | the types that a query sees |
//! | `arrow`, `parquet` | files that know their types |

mod arrow;
mod cells;
mod csv;
mod json;
mod locate;
mod ndjson;
mod parquet;
mod scan;
mod source;
mod typed;

use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::datasource::empty::EmptyTable;
use datafusion::error::DataFusionError;
use futures::FutureExt;

use self::arrow::ArrowReader;
use self::csv::Csv;
use self::locate::FileFormat;
use self::ndjson::NdjsonReader;
use self::parquet::Parquet;
use self::scan::{Files, Format};
pub use self::source::{scan_from_bytes, scan_to_bytes};
use self::typed::Columns;
use crate::{Error, Result};

/// What a column of a text format holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text.
    Text,
    /// Numbers; whatever is no number is NULL.
    Number,
}

impl Kind {
    /// The type in which a query sees it.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Text => cells::TEXT,
            Self::Number => DataType::Float64,
        }
    }
}

/// What is known of a table from outside its rows.
///
/// # Example
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("people.csv");
/// # let location = path.to_str().ok_or("a path in UTF-8")?;
/// use reticent_sql::table::{Kind, Table};
///
/// std::fs::write(location, "name,age\nAda,36\nAlan,unknown\n")?;
/// let people = Table::open("people", location)?;
/// assert_eq!(people.columns(), Some(vec!["name".to_owned(), "age".to_owned()]));
/// assert!(people.is_text());
/// let provider = people.provider(&[("age".to_owned(), Kind::Number)])?;
/// assert_eq!(provider.schema().fields().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Table {
    name: String,
    location: String,
    files: Vec<PathBuf>,
    sizes: Vec<u64>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Csv(Csv),
    Ndjson,
    Parquet(Columns),
    Arrow(Columns, Vec<SchemaRef>),
    Imagined,
}

impl Table {
    /// A table that nobody has: no rows, and whatever columns are asked for, as text or numbers by what they are used for.
    /// What does not depend on rows can be found out with it, by those who have none.
    pub fn imagined(name: &str) -> Self {
        let (name, location) = (name.to_owned(), String::new());
        Self { name, location, files: Vec::new(), sizes: Vec::new(), content: Content::Imagined }
    }

    /// Opens the files at a location (a file, a folder, or a pattern such as `visits-*.csv`), reading headers and footers
    /// only. All files of a table have one format and the same columns.
    ///
    /// # Errors
    /// [`Error::Table`] if there are no such files, or they have no columns that fit together.
    pub fn open(name: &str, location: &str) -> Result<Self> {
        let opened = locate::locate(location).and_then(|(format, files)| {
            let sizes = files.iter().map(|file| size(file)).collect::<Result<_, _>>()?;
            let content = Content::open(format, &files)?;
            Ok(Self { name: name.to_owned(), location: location.to_owned(), files, sizes, content })
        });
        opened.map_err(|reason| Error::Table { table: format!("{name}={location}"), reason })
    }

    /// What the table is called in a query.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the table is, as it was given to [`Table::open`].
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The files, canonical and in order.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The names of the columns in order; `None` where any name may be asked for: in NDJSON, which has no header, and in an
    /// imagined table.
    pub fn columns(&self) -> Option<Vec<String>> {
        match &self.content {
            Content::Csv(csv) => Some(csv.names().to_vec()),
            Content::Ndjson | Content::Imagined => None,
            Content::Parquet(columns) | Content::Arrow(columns, _) => {
                Some(columns.schema().fields().iter().map(|field| field.name().clone()).collect())
            }
        }
    }

    /// Columns that the files have but that cannot be asked for, with their types.
    pub fn unusable(&self) -> Vec<(String, String)> {
        match &self.content {
            Content::Csv(_) | Content::Ndjson | Content::Imagined => Vec::new(),
            Content::Parquet(columns) | Content::Arrow(columns, _) => columns.unusable().to_vec(),
        }
    }

    /// Whether the format has no types, so that the query must say which columns are numbers.
    pub fn is_text(&self) -> bool {
        matches!(self.content, Content::Csv(_) | Content::Ndjson | Content::Imagined)
    }

    /// The table for the query engine. For text formats, `columns` says which columns to offer and what they hold; other
    /// formats offer all columns, and `columns` is ignored.
    ///
    /// # Errors
    /// [`Error::Table`] if a column is not there or is asked for twice.
    pub fn provider(&self, columns: &[(String, Kind)]) -> Result<Arc<dyn TableProvider>> {
        self.engine_table(columns)
            .map_err(|reason| Error::Table { table: format!("{}={}", self.name, self.location), reason })
    }

    fn engine_table(&self, columns: &[(String, Kind)]) -> Result<Arc<dyn TableProvider>, String> {
        let (files, sizes) = (self.files.clone(), self.sizes.clone());
        Ok(match &self.content {
            Content::Csv(csv) => {
                distinct(columns)?;
                let place = |(name, _): &(String, Kind)| {
                    let place = csv.names().iter().position(|known| known == name);
                    place.ok_or_else(|| format!("there is no column `{name}`; there are {}", csv.names().join(", ")))
                };
                let places = columns.iter().map(place).collect::<Result<_, _>>()?;
                Arc::new(Files::new(Format::Csv(csv.reader(places)), cells::schema(columns), sizes))
            }
            Content::Ndjson => {
                distinct(columns)?;
                let names = columns.iter().map(|(name, _)| name.clone()).collect();
                let format = Format::Ndjson(NdjsonReader::new(files, names));
                Arc::new(Files::new(format, cells::schema(columns), sizes))
            }
            Content::Arrow(columns, schemas) => {
                let reader = ArrowReader::new(files, columns, schemas).map_err(|error| error.to_string())?;
                Arc::new(Files::new(Format::Arrow(reader), columns.schema().clone(), sizes))
            }
            Content::Parquet(columns) => Arc::new(Parquet::new(&files, &sizes, columns)?),
            Content::Imagined => {
                distinct(columns)?;
                Arc::new(EmptyTable::new(cells::schema(columns)))
            }
        })
    }
}

impl Content {
    fn open(format: FileFormat, files: &[PathBuf]) -> Result<Self, String> {
        let columns = |schema: fn(&Path) -> Result<SchemaRef, String>| {
            // A broken footer can make its decoder panic.
            let broken = |file: &Path| format!("{} is not a whole file: its schema is broken", locate::short(file));
            let read = |file: &PathBuf| catch_unwind(|| schema(file)).unwrap_or_else(|_| Err(broken(file)));
            let schemas = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, String>((Columns::of(files, &schemas)?, schemas))
        };
        Ok(match format {
            FileFormat::Csv => Self::Csv(Csv::open(files, b',')?),
            FileFormat::Tsv => Self::Csv(Csv::open(files, b'\t')?),
            FileFormat::Ndjson => Self::Ndjson,
            FileFormat::Parquet => {
                let (columns, _) = columns(parquet::schema)?;
                // Tells at once what a query would be told.
                Parquet::new(files, &vec![0; files.len()], &columns)?;
                Self::Parquet(columns)
            }
            FileFormat::Arrow => {
                let (columns, schemas) = columns(arrow::schema)?;
                Self::Arrow(columns, schemas)
            }
        })
    }
}

/// Runs work that reads rows. Whatever breaks it off is one error: the engine's errors may quote a row, and on a broken
/// file its decoders may panic. (The panic's message goes where the program's panic hook sends it.)
///
/// # Errors
/// [`Error::Reading`], without saying why.
pub async fn reading<T>(work: impl Future<Output = Result<T, DataFusionError>>) -> Result<T> {
    let finished = AssertUnwindSafe(work).catch_unwind().await;
    finished.map_err(|_| Error::Reading)?.map_err(Error::while_reading)
}

/// How long a file is; that it can be opened is found out, too.
fn size(file: &Path) -> Result<u64, String> {
    let metadata = fs::File::open(file).and_then(|file| file.metadata());
    metadata
        .map(|metadata| metadata.len())
        .map_err(|error| format!("{} cannot be opened: {error}", locate::short(file)))
}

/// A query's schema has each name once.
fn distinct(columns: &[(String, Kind)]) -> Result<(), String> {
    let mut names = HashSet::new();
    match columns.iter().find(|(name, _)| !names.insert(name)) {
        Some((name, _)) => Err(format!("the column `{name}` is asked for twice")),
        None => Ok(()),
    }
}
