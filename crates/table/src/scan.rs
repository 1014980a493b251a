//! A table to be read in parts.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::csv::{self, Delimiter, LONGEST_HEADER};
#[cfg(feature = "postgres")]
use crate::postgres::Rows;
use crate::reader::{Batches, Reader};
use crate::request::{self, Column};
use crate::split::{Chunks, MOST_PARTS, Text};
use crate::{Broken, arrow, ndjson, parquet};

/// Everything needed to read some columns of a table, in parts.
///
/// Every row is in exactly one part, whatever the number of parts, as long as the files do not change. Parts can be
/// read in any order and concurrently, even in other processes: a scan can be serialised. It refers to files by path,
/// so another process must see the same files at the same paths. A scan of a database belongs to its process: serialising
/// it is an error. Some of its batches may be empty.
///
/// # Example
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("people.csv");
/// # let location = path.to_str().ok_or("a path in UTF-8")?;
/// # std::fs::write(location, "id,age\n1,36\n2,41\n")?;
/// use reticent_table::{Request, Scan, Table, Type};
///
/// let request = Request { unit: None, columns: vec![("age".to_owned(), Type::Number)] };
/// let scan = Table::open("people", location)?.scan(&request, 8)?;
/// let elsewhere: Scan = serde_json::from_str(&serde_json::to_string(&scan)?)?;
/// let rows: Result<usize, _> =
///     (0..elsewhere.parts()).flat_map(|part| elsewhere.read(part)).map(|batch| Ok(batch?.num_rows())).sum();
/// assert_eq!(rows, Ok::<_, reticent_table::Broken>(2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Scan(Arc<Inner>);

/// The files, their format, and what to read from them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Inner {
    pub parts: usize,
    pub columns: Vec<Column>,
    pub source: Source,
}

/// The files of one format, or a table of a database.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The columns at these positions of the header.
    Csv {
        delimiter: Delimiter,
        places: Vec<usize>,
        files: Vec<Text>,
    },
    Ndjson(Vec<Text>),
    Json(Vec<Text>),
    Parquet(Vec<Chunks>),
    Arrow(Vec<Chunks>),
    #[cfg(feature = "postgres")]
    #[serde(skip)]
    Database(Rows),
}

impl Scan {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Returns the number of parts: at least 1, and at most as many as requested. A part may have no rows.
    pub fn parts(&self) -> usize {
        self.0.parts
    }

    /// The schema of every batch: `u` for the unit, if there is one, then `0`, `1` and so on.
    pub fn schema(&self) -> SchemaRef {
        request::schema(&self.0.columns)
    }

    /// Reads the rows of a part. Files are opened when the first batch is requested.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn read(&self, part: usize) -> Reader {
        assert!(part < self.parts(), "a scan of {} parts has no part {part}", self.parts());
        Reader::new(self.0.clone(), part)
    }
}

impl Debug for Scan {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Inner {
    /// Returns the number of files; a table of a database counts as one.
    pub fn files(&self) -> usize {
        match &self.source {
            Source::Csv { files, .. } | Source::Ndjson(files) | Source::Json(files) => files.len(),
            Source::Parquet(files) | Source::Arrow(files) => files.len(),
            #[cfg(feature = "postgres")]
            Source::Database(_) => 1,
        }
    }

    /// The rows of a part of a file; `None` if the part reads nothing of the file.
    pub fn read(&self, part: usize, file: usize) -> Result<Option<Batches>, Broken> {
        let (columns, schema) = (&self.columns, request::schema(&self.columns));
        Ok(match &self.source {
            Source::Csv { delimiter, places, files } => {
                csv::read(&files[file], part, *delimiter, places, schema)?.map(|batches| Box::new(batches) as Batches)
            }
            Source::Ndjson(files) => {
                ndjson::read_lines(&files[file], part, columns, schema)?.map(|batches| Box::new(batches) as Batches)
            }
            Source::Json(files) => {
                ndjson::read_array(&files[file], part, columns, schema)?.map(|batches| Box::new(batches) as Batches)
            }
            Source::Parquet(files) => {
                parquet::read(&files[file], part, columns, schema)?.map(|batches| Box::new(batches) as Batches)
            }
            Source::Arrow(files) => {
                arrow::read(&files[file], part, columns, schema)?.map(|batches| Box::new(batches) as Batches)
            }
            #[cfg(feature = "postgres")]
            Source::Database(rows) => rows.read(part, columns, schema)?.map(|batches| Box::new(batches) as Batches),
        })
    }

    /// Whether every row would be read exactly once.
    fn is_sound(&self) -> bool {
        let is_text = self.columns.iter().all(|column| column.form.is_of_text());
        let text = |files: &[Text]| is_text && files.iter().all(|file| file.is_sound(self.parts));
        (1..=MOST_PARTS).contains(&self.parts)
            && match &self.source {
                Source::Csv { places, files, .. } => {
                    let known = places.iter().all(|place| (*place as u64) < LONGEST_HEADER);
                    text(files) && known && places.len() == self.columns.len()
                }
                Source::Ndjson(files) => text(files),
                Source::Json(files) => text(files) && files.iter().all(Text::is_whole),
                Source::Parquet(files) | Source::Arrow(files) => files.iter().all(|file| file.is_sound(self.parts)),
                #[cfg(feature = "postgres")]
                Source::Database(_) => false,
            }
    }
}

impl Serialize for Scan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let inner = Inner::deserialize(deserializer)?;
        if !inner.is_sound() {
            return Err(de::Error::custom("a scan whose parts or columns don't fit together"));
        }
        Ok(Self::new(inner))
    }
}
