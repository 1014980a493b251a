//! The table: its header before the charge, its rows after it.
//!
//! CSV is read here, one row a line; other formats as `reticent query` reads them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};

use super::cells::{Cells, write_line};
use crate::exit::usage;

/// Names that are less alike than this are not taken for a slip of the pen.
const ALIKE: f64 = 0.8;

/// What reading can end with once the rows are open: the same whatever they are.
const READING_FAILED: &str = "the table could not be read to its end; what was charged stays charged";

/// Formats whose files are read as `reticent query` reads them.
const OTHER_FORMATS: [&str; 5] = ["tsv", "parquet", "arrow", "feather", "ipc"];

/// Formats without a header.
const WITHOUT_COLUMNS: [&str; 3] = ["ndjson", "jsonl", "json"];

/// A table of which the header was read.
#[derive(Debug)]
pub struct Table<R = BufReader<File>> {
    rows: Rows<R>,
    header: Vec<String>,
    /// As it is called in messages.
    name: String,
}

/// Where rows come from.
#[derive(Debug)]
enum Rows<R> {
    /// Lines of CSV.
    Lines(R),
    /// Files of another format.
    Files(Box<reticent_sql::Table>),
}

/// A block as it is handed to a run: CSV with the header.
pub type Block = Arc<[u8]>;

impl Table {
    /// Opens a file and reads its first line.
    ///
    /// # Errors
    /// If there is no such file, or it has no first line.
    pub fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: std::io::Error| usage(format!("cannot read {}: {error}", path.display()));
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            return Err(usage(format!("{} is a directory; name a file", path.display())));
        }
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let name = path.display().to_string();
        if WITHOUT_COLUMNS.contains(&ending.as_str()) {
            return Err(usage(format!(
                "{name} has no header, so a run would not know its columns; make it CSV or Parquet"
            )));
        }
        if !OTHER_FORMATS.contains(&ending.as_str()) {
            return Table::new(BufReader::new(file), name);
        }
        let files = reticent_sql::Table::open("data", &name).map_err(|error| usage(error.to_string()))?;
        let header = files.columns().unwrap_or_default();
        Ok(Self { rows: Rows::Files(Box::new(files)), header, name })
    }
}

impl<R: BufRead> Table<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(mut reader: R, name: String) -> Result<Self> {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).map_err(|error| usage(format!("cannot read {name}: {error}")))?;
        let mut cells = Cells::new();
        cells.read(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line));
        if cells.count() == 0 {
            return Err(usage(format!("{name} has no header; its first line must name the columns")));
        }
        let text = |place| String::from_utf8_lossy(cells.cell(place)).into_owned();
        let header = (0..cells.count()).map(text).collect();
        Ok(Self { rows: Rows::Lines(reader), header, name })
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The place of a column.
    ///
    /// # Errors
    /// If there is none of this name, or several.
    pub fn place(&self, column: &str) -> Result<usize> {
        let mut places = (0..self.header.len()).filter(|&place| self.header[place] == column);
        let name = &self.name;
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => Err(usage(format!("{name} has several columns {column}; their names must differ"))),
            (None, _) => {
                let likeness = |other: &&String| strsim::jaro_winkler(&column.to_lowercase(), &other.to_lowercase());
                let nearest = self.header.iter().max_by(|left, right| likeness(left).total_cmp(&likeness(right)));
                let hint = match nearest.filter(|nearest| likeness(nearest) >= ALIKE) {
                    Some(nearest) => format!("; is it {nearest}?"),
                    None => "; its first line must name the columns".into(),
                };
                Err(usage(format!("{name} has no column {column}{hint}")))
            }
        }
    }

    /// The place of the column that says whose row it is.
    ///
    /// # Errors
    /// If there is no such column, or its type cannot tell people apart exactly.
    pub fn unit(&self, column: &str) -> Result<usize> {
        let place = self.place(column)?;
        if let Rows::Files(files) = &self.rows {
            files.unit_type(column).map_err(|error| usage(error.to_string()))?;
        }
        Ok(place)
    }

    /// A block without rows.
    pub fn empty_block(&self) -> Vec<u8> {
        let mut text = Vec::new();
        write_line(&mut text, self.header.iter().map(String::as_bytes));
        text
    }

    /// Deals the rows out to so many blocks; `lot` says which block a row with this id goes to. If there are ids, rows without one
    /// are dropped.
    ///
    /// # Errors
    /// If reading fails.
    pub fn deal(
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

    /// Does something with every row: whose it is, if this column says so, and as many cells as there are columns.
    ///
    /// # Errors
    /// If reading fails.
    pub fn each_row(&mut self, unit: Option<usize>, mut act: impl FnMut(Option<&[u8]>, &[&[u8]])) -> Result<()> {
        let reader = match &mut self.rows {
            Rows::Lines(reader) => reader,
            Rows::Files(files) => {
                let unit = unit.map(|place| self.header[place].as_str());
                // A file that is broken may break its reader, too, whose last words may be about rows.
                std::panic::set_hook(Box::new(|_| {}));
                let read = catch_unwind(AssertUnwindSafe(|| reticent_sql::scalar::rows::each_row(files, unit, act)));
                let _ = std::panic::take_hook();
                return read.map_err(|_| anyhow!(READING_FAILED)).and_then(|read| Ok(read?));
            }
        };
        let (mut line, mut cells) = (Vec::new(), Cells::new());
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(|_| anyhow!(READING_FAILED))? == 0 {
                return Ok(());
            }
            cells.read(&line);
            if cells.count() > 0 {
                let id = unit.map(|place| cells.cell(place)).filter(|id| !id.is_empty());
                act(id, &(0..self.header.len()).map(|place| cells.cell(place)).collect::<Vec<_>>());
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
    fn the_header_is_told_from_the_rows() {
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
    fn rows_go_where_their_lots_say_with_the_header_before_them() {
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

    /// Lines that break off, carriage returns and quotes: there are as many rows as lines, whatever one says.
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
    fn a_failure_of_reading_has_one_text() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("sector 17 of ada's file"))
            }
        }
        let reader = BufReader::new(std::io::Cursor::new("x\n1\n").chain(Broken));
        let error = Table::new(reader, "x".into()).unwrap().deal(1, None, &mut |_| 0).unwrap_err();
        assert_eq!(format!("{error:#}"), READING_FAILED);
    }
}
