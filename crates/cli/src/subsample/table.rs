//! The table: its header before the charge, its rows after it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};

use super::cells::{Cells, write_line};
use crate::exit::usage;

/// Names that are less alike than this are not taken for a slip of the pen.
const ALIKE: f64 = 0.8;

/// What reading can end with once the rows are open: the same whatever they are.
const READING_FAILED: &str = "the table could not be read to its end; what was charged stays charged";

/// A table of which the header was read.
#[derive(Debug)]
pub struct Table<R = BufReader<File>> {
    reader: R,
    header: Vec<String>,
    /// As it is called in messages.
    name: String,
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
        Table::new(BufReader::new(file), path.display().to_string())
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
        Ok(Self { reader, header, name })
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

    /// A block without rows.
    pub fn empty_block(&self) -> Vec<u8> {
        let mut text = Vec::new();
        write_line(&mut text, self.header.iter().map(String::as_bytes));
        text
    }

    /// Deals the rows out to so many blocks; `lot` says which block a row with this id goes to.
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
        let columns = self.header.len();
        self.each_row(|cells| {
            let id = unit.map(|place| cells.cell(place)).filter(|id| !id.is_empty());
            write_line(&mut texts[lot(id)], (0..columns).map(|place| cells.cell(place)));
        })?;
        Ok(texts.into_iter().map(Block::from).collect())
    }

    /// Does something with every row.
    ///
    /// # Errors
    /// If reading fails.
    pub fn each_row(&mut self, mut act: impl FnMut(&Cells)) -> Result<()> {
        let (mut line, mut cells) = (Vec::new(), Cells::new());
        loop {
            line.clear();
            let read = self.reader.by_ref().read_until(b'\n', &mut line);
            if read.map_err(|_| anyhow!(READING_FAILED))? == 0 {
                return Ok(());
            }
            cells.read(&line);
            if cells.count() > 0 {
                act(&cells);
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        let text = "id,text\n1,\"a,b\"\n,open \"quote\n2\n\n1,x,further,cells\n";
        let mut ids = Vec::new();
        let blocks = table(text).deal(3, Some(0), &mut |id| {
            ids.push(id.map(<[u8]>::to_vec));
            ids.len() % 3
        });
        assert_eq!(ids, [Some(b"1".to_vec()), None, Some(b"2".to_vec()), Some(b"1".to_vec())]);
        let texts: Vec<String> =
            blocks.unwrap().iter().map(|block| String::from_utf8(block.to_vec()).unwrap()).collect();
        assert_eq!(texts, ["id,text\n2,\n", "id,text\n1,\"a,b\"\n1,x\n", "id,text\n,\"open \"\"quote\"\n"]);
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
