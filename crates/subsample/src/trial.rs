//! The trial before anything is charged: does the statistic have an answer for made-up rows?

use std::path::{Path, PathBuf};

use crate::cells::write_line;
use crate::error::{Error, Result};
use crate::table::{Block, Table};

/// The number of made-up rows.
pub(crate) const ROWS: usize = 20;

/// Made-up rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// Small integers in every column, and a table without rows: one answer is enough.
    Invented,
    /// The user's own made-up rows, in a file with the table's columns.
    File(PathBuf),
}

impl Trial {
    /// The blocks, at least one of which the statistic must answer.
    ///
    /// # Errors
    /// If the file cannot be read, or its columns differ from the table's.
    pub(crate) fn blocks<R: std::io::BufRead>(&self, table: &Table<R>) -> Result<Vec<Block>> {
        match self {
            Self::Invented => Ok(vec![invented(table.header()), table.empty_block().into()]),
            Self::File(path) => from_file(path, table.header()),
        }
    }

    /// The file, if the rows come from one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Invented => None,
            Self::File(path) => Some(path),
        }
    }
}

/// Small integers in every column.
fn invented(header: &[String]) -> Block {
    let mut text = Vec::new();
    write_line(&mut text, header.iter().map(String::as_bytes));
    for row in 0..ROWS {
        let cells: Vec<String> = (0..header.len()).map(|column| (1 + (row + column) % 10).to_string()).collect();
        write_line(&mut text, cells.iter().map(String::as_bytes));
    }
    text.into()
}

/// All rows of a file as one block.
fn from_file(path: &Path, header: &[String]) -> Result<Vec<Block>> {
    let table = Table::open(path)?;
    if table.header() != header {
        return Err(Error::TrialColumns { file: path.into(), columns: header.to_vec() });
    }
    table.deal(1, None, &mut |_| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invented_rows_have_every_column() {
        let block = invented(&["a".into(), "b,c".into()]);
        let text = String::from_utf8(block.to_vec()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), &lines[..3]), (ROWS + 1, &["a,\"b,c\"", "1,2", "2,3"][..]));
    }
}
