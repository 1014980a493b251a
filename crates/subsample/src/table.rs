//! The table: its header before the charge, its rows after it.
//!
//! CSV is read here, one row per line; other formats and compressed files are read as in private SQL.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use reticent::text::CsvLine;
use reticent_sql::scalar::TABLE;
use reticent_sql::scalar::rows::each_row;

use crate::cells::write_line;
use crate::error::{Error, Result, TableFault};

/// The lines of rows.
type Lines = Vec<Box<[u8]>>;

/// Names less similar than this are not suggested as typos.
const ALIKE: f64 = 0.8;

/// Endings of files that are read as in private SQL.
const OTHER_FORMATS: [&str; 7] = ["tsv", "parquet", "arrow", "feather", "ipc", "gz", "zst"];

/// Formats without a header.
const WITHOUT_COLUMNS: [&str; 3] = ["ndjson", "jsonl", "json"];

/// A table whose header alone has been read.
#[derive(Debug)]
pub struct Table<R = BufReader<File>> {
    rows: Rows<R>,
    header: Vec<String>,
    /// Its name in error messages.
    name: String,
}

/// Where rows come from.
#[derive(Debug)]
enum Rows<R> {
    /// CSV lines.
    Lines(R),
    /// Files of another format.
    Files(Box<reticent_sql::Table>),
}

/// A block as a run receives it: CSV with a header.
pub(crate) type Block = Arc<[u8]>;

impl Table {
    /// Opens a CSV, TSV, Parquet or Arrow file, according to its extension (CSV by default), and reads its header. CSV and
    /// TSV may be compressed.
    ///
    /// # Errors
    /// [`Error::Table`] if the file does not exist or has no header.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let faulty = |fault: TableFault| Error::Table { table: name.clone(), fault };
        let unreadable = |error: std::io::Error| faulty(TableFault::Unreadable(error.to_string()));
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            return Err(faulty(TableFault::Directory));
        }
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        if WITHOUT_COLUMNS.contains(&ending.as_str()) {
            return Err(faulty(TableFault::FormatWithoutColumns));
        }
        if !OTHER_FORMATS.contains(&ending.as_str()) {
            return Table::new(BufReader::new(file), name);
        }
        let files = reticent_sql::Table::open(TABLE, &name);
        let files = files.map_err(|error| faulty(TableFault::Format(error.to_string())))?;
        let header = files.columns().ok_or_else(|| faulty(TableFault::FormatWithoutColumns))?;
        Ok(Self { rows: Rows::Files(Box::new(files)), header, name })
    }
}

impl<R: BufRead> Table<R> {
    /// CSV from any reader, whose first line is read now; `name` is its name in error messages.
    ///
    /// # Errors
    /// [`Error::Table`] if the first line cannot be read or names no columns.
    pub fn new(mut reader: R, name: String) -> Result<Self> {
        let faulty = |fault: TableFault| Error::Table { table: name.clone(), fault };
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line);
        read.map_err(|error| faulty(TableFault::Unreadable(error.to_string())))?;
        let mut cells = CsvLine::new();
        cells.read(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line));
        if cells.cells() == 0 {
            return Err(faulty(TableFault::NoHeader));
        }
        let text = |place| String::from_utf8_lossy(cells.cell(place).unwrap_or_default()).into_owned();
        let header = (0..cells.cells()).map(text).collect();
        Ok(Self { rows: Rows::Lines(reader), header, name })
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The position of a column.
    ///
    /// # Errors
    /// If no column, or more than one, has this name.
    fn place(&self, column: &str) -> Result<usize> {
        let mut places = (0..self.header.len()).filter(|&place| self.header[place] == column);
        let fault = match (places.next(), places.next()) {
            (Some(place), None) => return Ok(place),
            (Some(_), Some(_)) => TableFault::SeveralColumns { column: column.into() },
            (None, _) => {
                let likeness = |other: &&String| strsim::jaro_winkler(&column.to_lowercase(), &other.to_lowercase());
                let nearest = self.header.iter().max_by(|left, right| likeness(left).total_cmp(&likeness(right)));
                let nearest = nearest.filter(|nearest| likeness(nearest) >= ALIKE).cloned();
                TableFault::NoColumn { column: column.into(), nearest }
            }
        };
        Err(Error::Table { table: self.name.clone(), fault })
    }

    /// The position of the column that identifies the privacy unit.
    ///
    /// # Errors
    /// If the column does not exist, or its values cannot be compared exactly.
    pub(crate) fn unit(&self, column: &str) -> Result<usize> {
        let place = self.place(column)?;
        if let Rows::Files(files) = &self.rows {
            let faulty = |fault: TableFault| Error::Table { table: self.name.clone(), fault };
            files.unit_type(column).map_err(|error| faulty(TableFault::Format(error.to_string())))?;
        }
        Ok(place)
    }

    /// A block without rows.
    pub(crate) fn empty_block(&self) -> Vec<u8> {
        let mut text = Vec::new();
        write_line(&mut text, self.header.iter().map(String::as_bytes));
        text
    }

    /// Splits the rows into blocks; `lot` decides which block a row with a given id goes to. If a column identifies the
    /// unit, rows without a value in it are dropped.
    ///
    /// # Errors
    /// [`Error::Reading`] if the table cannot be read to its end.
    pub(crate) fn deal(
        mut self,
        blocks: u64,
        unit: Option<usize>,
        lot: &mut dyn FnMut(Option<&[u8]>) -> usize,
    ) -> Result<Vec<Block>> {
        let mut texts = vec![self.empty_block(); blocks as usize];
        self.each_row(unit, |id, cells| {
            if unit.is_none() || id.is_some() {
                write_line(&mut texts[lot(id)], cells.iter().copied());
            }
        })?;
        Ok(texts.into_iter().map(Block::from).collect())
    }

    /// The header and every row, as CSV lines.
    ///
    /// # Errors
    /// [`Error::Reading`] if the table cannot be read to its end.
    pub(crate) fn lines(mut self) -> Result<(Vec<u8>, Lines)> {
        let mut rows = Vec::new();
        self.each_row(None, |_, cells| {
            let mut line = Vec::new();
            write_line(&mut line, cells.iter().copied());
            rows.push(line.into_boxed_slice());
        })?;
        Ok((self.empty_block(), rows))
    }

    /// Calls `act` for every row with its unit, if a column identifies it, and one cell per column.
    ///
    /// # Errors
    /// [`Error::Reading`] if the table cannot be read to its end.
    pub(crate) fn each_row(&mut self, unit: Option<usize>, mut act: impl FnMut(Option<&[u8]>, &[&[u8]])) -> Result<()> {
        let reader = match &mut self.rows {
            Rows::Lines(reader) => reader,
            Rows::Files(files) => {
                let unit = unit.map(|place| self.header[place].as_str());
                // A malformed file may make its reader panic, with a message that quotes rows.
                let read = catch_unwind(AssertUnwindSafe(|| each_row(files, unit, act)));
                return if matches!(read, Ok(Ok(()))) { Ok(()) } else { Err(Error::Reading) };
            }
        };
        let (mut line, mut cells) = (Vec::new(), CsvLine::new());
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(|_| Error::Reading)? == 0 {
                return Ok(());
            }
            cells.read(&line);
            if cells.cells() > 0 {
                let id = unit.map(|place| cells.cell(place).unwrap_or_default()).filter(|id| !id.is_empty());
                act(id, &(0..self.header.len()).map(|place| cells.cell(place).unwrap_or_default()).collect::<Vec<_>>());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn table(text: &str) -> Table<&[u8]> {
        Table::new(text.as_bytes(), "people.csv".into()).unwrap()
    }

    #[test]
    fn the_header_is_not_a_row() {
        let people = table("\u{feff}name,\"age, years\"\r\nada,36\r\n");
        assert_eq!(people.header(), ["name", "age, years"]);
        assert_eq!(people.empty_block(), b"name,\"age, years\"\n");
        assert_eq!(people.place("age, years").unwrap(), 1);
        let said = |column: &str| table("name,user_id,id,id\n").place(column).unwrap_err().to_string();
        assert_eq!(said("userid"), "people.csv has no column userid; is it user_id?");
        assert_eq!(said("zip"), "people.csv has no column zip; its first line must name the columns");
        assert_eq!(said("id"), "people.csv has several columns id; their names must differ");
        for text in ["", "\n", "\r\nada,36\n"] {
            assert!(Table::new(text.as_bytes(), "x".into()).is_err());
        }
    }

    #[test]
    fn rows_go_to_the_blocks_of_their_lots_after_the_header() {
        let text = "id,text\n1,\"a,b\"\n,nobody's\n2,open \"quote\n\n1,x,further,cells\n";
        let mut ids = Vec::new();
        let blocks = table(text).deal(3, Some(0), &mut |id| {
            ids.push(id.map(<[u8]>::to_vec));
            ids.len() % 3
        });
        assert_eq!(ids, [Some(b"1".to_vec()), Some(b"2".to_vec()), Some(b"1".to_vec())]);
        let texts: Vec<String> =
            blocks.unwrap().iter().map(|block| String::from_utf8(block.to_vec()).unwrap()).collect();
        assert_eq!(texts, ["id,text\n1,x\n", "id,text\n1,\"a,b\"\n", "id,text\n2,\"open \"\"quote\"\n"]);
    }

    /// Truncated lines, carriage returns and quotes: there are as many rows as lines, whatever the lines contain.
    #[test]
    fn no_line_swallows_another() {
        for odd in ["\"", "a,\"b", "\"\"\"", "\r", "a\rb", ",,,,", "\u{0}", "\"a\"b\""] {
            let mut rows = 0;
            let text = format!("x,y\n1,2\n{odd}\n3,4\n");
            let _ = table(&text).deal(1, None, &mut |_| {
                rows += 1;
                0
            });
            let blank = usize::from(odd == "\r");
            assert_eq!(rows, 3 - blank, "{odd:?}");
        }
    }

    #[test]
    fn a_read_that_fails_says_nothing_about_rows() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("sector 17 of ada's file"))
            }
        }
        let reader = BufReader::new(std::io::Cursor::new("x\n1\n").chain(Broken));
        let error = Table::new(reader, "x".into()).unwrap().deal(1, None, &mut |_| 0).unwrap_err();
        assert_eq!(error, Error::Reading);
    }

    #[test]
    fn compressed_files_are_read_as_in_private_sql() {
        let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x2d\x4e\x2d\xb2\x4e\x4c\x4f\xe5\x2a\x35\xb4\x36\x36\xe0\x2a\x35\xb2\x36\x31\xe4\x02\x00\xc3\xe8\xa5\xbc\x15\x00\x00\x00";
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["people.csv.gz", "people.ndjson.gz"] {
            std::fs::write(path(name), packed).unwrap();
        }
        let mut people = Table::open(&path("people.csv.gz")).unwrap();
        assert_eq!(people.header(), ["user", "age"]);
        let mut rows = Vec::new();
        people.each_row(Some(0), |id, cells| rows.push((id.unwrap().to_vec(), cells[1].to_vec()))).unwrap();
        assert_eq!(rows, [(b"u1".to_vec(), b"30".to_vec()), (b"u2".to_vec(), b"41".to_vec())]);
        let fault = Table::open(&path("people.ndjson.gz")).unwrap_err();
        assert!(matches!(fault, Error::Table { fault: TableFault::FormatWithoutColumns, .. }), "{fault}");
    }
}
