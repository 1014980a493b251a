//! Tables, as known without reading rows.

use std::fs;
use std::path::{Path, PathBuf};

use reticent_postgres::{known_url, masked};

use crate::csv::{Csv, Delimiter};
use crate::encoding::{Coding, Encoding, is_utf_16};
use crate::format::{Format, TextOptions};
use crate::locate::{FileFormat, TextFormat, identity, locate, short};
#[cfg(feature = "postgres")]
use crate::postgres::{self, Place};
use crate::request::{Column, Form};
use crate::scan::{Inner, Source};
use crate::split::{Chunks, Shares, Text};
use crate::typed::{Columns, Footer, Known};
use crate::{DatabaseTable, Error, Request, Result, Scan, Type, UnitType, arrow, ndjson, parquet};

/// What is known about a table without reading rows.
///
/// # Example
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("people.csv");
/// # let location = path.to_str().ok_or("a path in UTF-8")?;
/// use reticent_table::{Table, UnitType};
///
/// std::fs::write(location, "name,age\nAda,36\nAlan,unknown\n")?;
/// let people = Table::open("people", location)?;
/// assert_eq!(people.columns(), Some(vec!["name".to_owned(), "age".to_owned()]));
/// assert_eq!(people.unit_type("name")?, UnitType::Text);
/// assert!(people.is_text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Table {
    name: String,
    location: String,
    files: Vec<PathBuf>,
    chosen: TextOptions,
    /// If no file name says it.
    chosen_format: Option<Format>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Csv(Csv, Sizes),
    Ndjson(Sizes),
    Json(Sizes),
    Typed(Columns, Typed),
    Imagined,
}

/// Where typed columns are.
#[derive(Debug)]
enum Typed {
    /// With the sizes of each file's chunks.
    Files(Vec<Vec<u64>>, fn(Vec<Chunks>) -> Source),
    #[cfg(feature = "postgres")]
    Database(Place, DatabaseTable),
}

/// How text files are compressed and encoded, and the size of each.
#[derive(Debug)]
struct Sizes(Coding, Vec<u64>);

impl Table {
    /// A table with no files, for planning a query without data: no rows, and any column, as text or as numbers.
    pub fn imagined(name: &str) -> Self {
        let (name, location, files) = (name.to_owned(), String::new(), Vec::new());
        Self { name, location, files, chosen: TextOptions::default(), chosen_format: None, content: Content::Imagined }
    }

    /// Opens the files at a location (a file, a directory, or a pattern such as `visits-*.csv`), reading only headers
    /// and footers. All files of a table have the same format and the same columns.
    ///
    /// With the feature `postgres`, `postgresql://USER@HOST/DATABASE?table=SCHEMA.TABLE` opens a table of a database,
    /// reading only its catalogue. Call this, and read the table, on a thread that may block.
    ///
    /// # Errors
    /// [`Error::Table`] if there are no such files, or their columns do not match; if there is no such table in the
    /// database, or it is one that cannot be read without computing something from its rows. No password is shown.
    pub fn open(name: &str, location: &str) -> Result<Self> {
        Self::open_separated(name, location, None)
    }

    /// Like [`Table::open`], with the delimiter of CSV files, if it is not to be found in their header. Other formats
    /// ignore it.
    ///
    /// # Errors
    /// Those of [`Table::open`].
    pub fn open_separated(name: &str, location: &str, delimiter: Option<Delimiter>) -> Result<Self> {
        Self::open_with(name, location, TextOptions { delimiter, encoding: None })
    }

    /// Like [`Table::open`], with what text files do not say of themselves.
    ///
    /// # Errors
    /// Those of [`Table::open`]; [`Error::Utf16`] if a file is in UTF-16, and no encoding was chosen.
    pub fn open_with(name: &str, location: &str, options: TextOptions) -> Result<Self> {
        if let Some(url) = known_url(location) {
            return Self::open_database(name, &url);
        }
        // An address that was misspelled may contain a password.
        let shown = || if location.contains("://") { masked(location) } else { location.to_owned() };
        let missing = |reason| Error::Table { table: format!("{name}={}", shown()), reason };
        let (format, files) = locate(location).map_err(missing)?;
        Self::of_files(name, location, format, files, options)
    }

    /// A table in one file that has no name, or one that does not say its format. Errors and descriptions call it by the
    /// location.
    ///
    /// # Errors
    /// Those of [`Table::open_with`].
    pub fn open_file(name: &str, location: &str, file: &Path, format: Format, options: TextOptions) -> Result<Self> {
        let called = |reason: String| match reason.strip_prefix(&short(file)) {
            Some(rest) => format!("it{rest}"),
            None => reason,
        };
        match Self::of_files(name, location, format.0, vec![file.to_owned()], options) {
            Ok(table) => Ok(Self { chosen_format: Some(format), ..table }),
            Err(Error::Table { table, reason }) => Err(Error::Table { table, reason: called(reason) }),
            Err(Error::Utf16 { table, .. }) => Err(Error::Utf16 { table, file: "it".to_owned() }),
        }
    }

    fn of_files(
        name: &str,
        location: &str,
        format: FileFormat,
        files: Vec<PathBuf>,
        options: TextOptions,
    ) -> Result<Self> {
        let table = || format!("{name}={location}");
        let chosen = options.of(format);
        if let (FileFormat::Text(format, packing), None) = (format, chosen.encoding) {
            // Other reasons why it cannot be read are found below.
            let start = |file: &PathBuf| packing.start(file, format.ending()).unwrap_or_default();
            if let Some(file) = files.iter().find(|file| is_utf_16(&start(file))) {
                return Err(Error::Utf16 { table: table(), file: short(file) });
            }
        }
        let content =
            Content::open(format, &files, chosen).map_err(|reason| Error::Table { table: table(), reason })?;
        let (name, location) = (name.to_owned(), location.to_owned());
        Ok(Self { name, location, files, chosen, chosen_format: None, content })
    }

    #[cfg(feature = "postgres")]
    fn open_database(name: &str, url: &str) -> Result<Self> {
        let failed = |reason| Error::Table { table: format!("{name}={}", masked(url)), reason };
        let postgres::Opened { columns, identity, place } = postgres::open(url).map_err(failed)?;
        let content = Content::Typed(columns, Typed::Database(place, identity));
        let (name, location, files) = (name.to_owned(), masked(url), Vec::new());
        Ok(Self { name, location, files, chosen: TextOptions::default(), chosen_format: None, content })
    }

    #[cfg(not(feature = "postgres"))]
    fn open_database(name: &str, url: &str) -> Result<Self> {
        let reason = "this program was built without PostgreSQL".to_owned();
        Err(Error::Table { table: format!("{name}={}", masked(url)), reason })
    }

    /// Lets all tables of one database be read in one snapshot. Call it before any of them is read.
    ///
    /// # Errors
    /// [`Error::Table`] if two of them are reached in different ways: the snapshots of two logins need not be the same.
    pub fn read_together<'tables>(tables: impl IntoIterator<Item = &'tables mut Self>) -> Result<()> {
        #[cfg(not(feature = "postgres"))]
        let _ = tables.into_iter();
        #[cfg(feature = "postgres")]
        {
            let (mut names, mut places) = (Vec::new(), Vec::new());
            for table in tables {
                if let Content::Typed(_, Typed::Database(place, _)) = &mut table.content {
                    names.push(format!("{}={}", table.name, table.location));
                    places.push(place);
                }
            }
            postgres::Place::share(&mut places).map_err(|place| Error::Table {
                table: names.swap_remove(place),
                reason:
                    "another table of the same database is reached with another login or other parameters; write both \
                         URLs alike, so that the tables are read in one snapshot"
                        .to_owned(),
            })?;
        }
        Ok(())
    }

    /// The files that [`Table::open`] would find at a location now, canonical and sorted; empty if it would fail.
    pub fn files_at(location: &str) -> Vec<PathBuf> {
        locate(location).map_or_else(|_| Vec::new(), |(_, files)| files)
    }

    /// Returns the name of the table in a query.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the location that was passed to [`Table::open`], without passwords.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Returns the delimiter that was chosen for its CSV files; `None` if their header tells, or the format is another.
    pub fn chosen_delimiter(&self) -> Option<Delimiter> {
        self.chosen.delimiter
    }

    /// Returns the encoding that was chosen for its text files.
    pub fn chosen_encoding(&self) -> Option<Encoding> {
        self.chosen.encoding
    }

    /// Returns the format that was chosen for it; `None` if file names say it.
    pub fn chosen_format(&self) -> Option<Format> {
        self.chosen_format
    }

    /// Returns the files, canonical and sorted.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The table of a database that it is; `None` if it is made of files.
    pub fn database_table(&self) -> Option<&DatabaseTable> {
        match &self.content {
            #[cfg(feature = "postgres")]
            Content::Typed(_, Typed::Database(_, table)) => Some(table),
            _ => None,
        }
    }

    /// Whether the two tables have a file in common, under whatever name, or may both hold a row of one database.
    pub fn has_a_file_of(&self, other: &Self) -> bool {
        if let (Some(one), Some(other)) = (self.database_table(), other.database_table()) {
            return one.shares_rows_with(other);
        }
        let theirs: Vec<_> = other.files.iter().map(|file| identity(file)).collect();
        self.files.iter().any(|file| theirs.contains(&identity(file)))
    }

    /// Returns the column names in order; `None` if any name is accepted: in NDJSON, which has no header, and in an
    /// imagined table.
    pub fn columns(&self) -> Option<Vec<String>> {
        match &self.content {
            Content::Csv(csv, _) => Some(csv.names.clone()),
            Content::Ndjson(_) | Content::Json(_) | Content::Imagined => None,
            Content::Typed(columns, ..) => {
                let usable = columns.iter().filter(|column| column.seen.is_some());
                Some(usable.map(|column| column.name.clone()).collect())
            }
        }
    }

    /// Columns that a query cannot use, with their types. Those that hold bytes may still be the unit.
    pub fn unusable(&self) -> Vec<(String, String)> {
        let Content::Typed(columns, ..) = &self.content else { return Vec::new() };
        let unusable = columns.iter().filter(|column| column.seen.is_none());
        unusable.map(|column| (column.name.clone(), column.data_type.clone())).collect()
    }

    /// Whether the format has no types, so that the query determines which columns are numbers.
    pub fn is_text(&self) -> bool {
        !matches!(self.content, Content::Typed(..))
    }

    /// Whether each line is read as a JSON object.
    pub fn is_json_lines(&self) -> bool {
        matches!(self.content, Content::Ndjson(_))
    }

    /// The type of a column; `None` if the format has no types, or there is no such column that a query can use.
    pub fn column_type(&self, name: &str) -> Option<Type> {
        match &self.content {
            Content::Typed(columns, ..) => columns.find(name)?.seen,
            _ => None,
        }
    }

    /// How units are compared if this column is the privacy unit.
    ///
    /// # Errors
    /// [`Error::Table`] if there is no such column, or its type cannot tell people apart exactly.
    pub fn unit_type(&self, column: &str) -> Result<UnitType> {
        self.unit(column).map_err(|reason| self.error(reason))
    }

    /// Divides the table into at most `parts` parts to read. No row is read.
    ///
    /// # Errors
    /// [`Error::Table`] if there is no such column, or it has another type.
    pub fn scan(&self, request: &Request, parts: usize) -> Result<Scan> {
        self.divide(request, |bytes| Shares::new(bytes, parts))
    }

    /// Like [`Table::scan`], with the shares of this many bytes.
    pub(crate) fn divide(&self, request: &Request, shares: impl FnOnce(u64) -> Shares) -> Result<Scan> {
        let columns = request.all();
        columns.iter().try_for_each(|column| self.check(column)).map_err(|reason| self.error(reason))?;
        #[cfg(feature = "postgres")]
        if let Content::Typed(_, Typed::Database(place, _)) = &self.content {
            // How large it is, is seen when it is read.
            let rows = place.rows(shares(u64::MAX).parts());
            return Ok(Scan::new(Inner { parts: rows.parts(), columns, source: Source::Database(rows) }));
        }
        let sizes: Vec<u64> = match &self.content {
            Content::Csv(_, Sizes(_, sizes)) | Content::Ndjson(Sizes(_, sizes)) | Content::Json(Sizes(_, sizes)) => {
                sizes.clone()
            }
            Content::Typed(_, Typed::Files(chunks, _)) => chunks.iter().map(|chunks| sum(chunks)).collect(),
            _ => Vec::new(),
        };
        let shares = shares(sum(&sizes));
        let positions = sizes.iter().scan(0_u64, |end, size| {
            let position = *end;
            *end = end.saturating_add(*size);
            Some(position)
        });
        let files: Vec<(&PathBuf, u64)> = self.files.iter().zip(positions).collect();
        // Whole or cut, with where the rows of each start.
        let text = |coding: Coding, can_be_cut: bool, starts: &[u64]| {
            let text = |((path, position), (start, size)): (&(&PathBuf, u64), (&u64, &u64))| {
                if can_be_cut && coding.can_be_cut() {
                    shares.text(path, *position, *start, *size)
                } else {
                    shares.whole(path, coding, *position, *start, *size)
                }
            };
            files.iter().zip(starts.iter().zip(&sizes)).map(text).collect::<Vec<Text>>()
        };
        let starts = vec![0; sizes.len()];
        let source = match &self.content {
            Content::Csv(csv, Sizes(coding, _)) => Source::Csv {
                delimiter: csv.delimiter,
                places: columns.iter().filter_map(|column| csv.place(&column.name)).collect(),
                files: text(*coding, true, &csv.starts),
            },
            Content::Typed(_, Typed::Files(chunks, source)) => {
                let files = files.iter().zip(chunks);
                source(files.map(|((path, position), chunks)| shares.chunks(path, *position, chunks)).collect())
            }
            Content::Ndjson(Sizes(coding, _)) => Source::Ndjson(text(*coding, true, &starts)),
            Content::Json(Sizes(coding, _)) => Source::Json(text(*coding, false, &starts)),
            _ => Source::Ndjson(Vec::new()),
        };
        Ok(Scan::new(Inner { parts: shares.parts(), columns, source }))
    }

    /// Whether a column can be requested; the error says why not.
    fn check(&self, column: &Column) -> Result<(), String> {
        let name = &column.name;
        match column.form {
            Form::Unit(form) => match self.unit(name)? {
                found if form == found || form == UnitType::Text => Ok(()),
                found => Err(format!("the unit `{name}` is {found}, not {form}; request it as {found} or as text")),
            },
            Form::Value(wanted) => match (&self.content, self.known(name)?) {
                (Content::Typed(..), Some(known)) => match known.seen {
                    Some(seen) if seen == wanted => Ok(()),
                    Some(seen) => Err(format!("the column `{name}` is {seen}, not {wanted}")),
                    None => Err(format!("the column `{name}` is {}, which a query cannot use", known.data_type)),
                },
                _ if column.form.is_of_text() => Ok(()),
                _ => Err(format!("the column `{name}` is text or a number, not {wanted}: the file has no other types")),
            },
        }
    }

    fn unit(&self, name: &str) -> Result<UnitType, String> {
        match self.known(name)? {
            Some(known) => known.unit.map_err(|reason| format!("the column `{name}` {reason}")),
            None => Ok(UnitType::Text),
        }
    }

    /// What is known about a column, if the format has types; an error if there is no such column.
    fn known(&self, name: &str) -> Result<Option<&Known>, String> {
        let names = match &self.content {
            Content::Csv(csv, _) if csv.place(name).is_none() => csv.names.clone(),
            Content::Csv(..) | Content::Ndjson(_) | Content::Json(_) | Content::Imagined => return Ok(None),
            Content::Typed(columns, ..) => match columns.find(name) {
                Some(known) => return Ok(Some(known)),
                None => columns.iter().map(|column| column.name.clone()).collect(),
            },
        };
        Err(format!("there is no column `{name}`; there are {}", names.join(", ")))
    }

    fn error(&self, reason: String) -> Error {
        let table =
            if self.location.is_empty() { self.name.clone() } else { format!("{}={}", self.name, self.location) };
        Error::Table { table, reason }
    }
}

impl Content {
    fn open(format: FileFormat, files: &[PathBuf], chosen: TextOptions) -> Result<Self, String> {
        let typed = |footer: fn(&Path) -> Result<Footer, String>, source| {
            let footers = files.iter().map(|file| footer(file)).collect::<Result<Vec<_>, _>>()?;
            let columns = Columns::of(files, &footers)?;
            let chunks = footers.into_iter().map(|footer| footer.chunks).collect();
            Ok(Self::Typed(columns, Typed::Files(chunks, source)))
        };
        match format {
            FileFormat::Text(format, packing) => {
                let coding = Coding { packing, encoding: chosen.encoding };
                files.iter().try_for_each(|file| coding.check(file, format.ending()))?;
                let sizes = Sizes(coding, files.iter().map(|file| size(file)).collect::<Result<_, _>>()?);
                match format {
                    TextFormat::Csv => Ok(Self::Csv(Csv::open(files, coding, chosen.delimiter)?, sizes)),
                    TextFormat::Tsv => Ok(Self::Csv(Csv::open(files, coding, Some(Delimiter::Tab))?, sizes)),
                    TextFormat::Ndjson => Ok(Self::Ndjson(sizes)),
                    TextFormat::Json => {
                        files.iter().try_for_each(|file| ndjson::check_array(file, coding))?;
                        Ok(Self::Json(sizes))
                    }
                }
            }
            FileFormat::Parquet => typed(parquet::footer, Source::Parquet),
            FileFormat::Arrow => typed(arrow::footer, Source::Arrow),
        }
    }
}

/// The size of a file. Also checks that it can be opened.
fn size(file: &Path) -> Result<u64, String> {
    let metadata = fs::File::open(file).and_then(|file| file.metadata());
    metadata.map(|metadata| metadata.len()).map_err(|error| format!("{} cannot be opened: {error}", short(file)))
}

/// The sum of sizes in a footer, which may be arbitrarily large.
fn sum(sizes: &[u64]) -> u64 {
    sizes.iter().fold(0, |sum, size| sum.saturating_add(*size))
}
