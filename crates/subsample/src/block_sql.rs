//! What runs on every block if the statistic is SQL: rows on standard input, one value on standard output.

use std::io::BufRead;

use reticent_sql::scalar::ScalarQuery;

use crate::error::{Error, Result};
use crate::table::Table;

/// The query's answer for one block, on one line; `None` if it has no answer. A [`Worker`](crate::Worker) reads the
/// block from standard input, prints the answer, and exits with a nonzero code if it has no answer.
///
/// # Errors
/// If there is no header, or the query does not fit it.
///
/// # Example
/// ```
/// use reticent_subsample::block_sql::answer;
///
/// let block = "region,age\nnorth,36\nsouth,41\n";
/// assert_eq!(answer("SELECT MAX(CAST(age AS INT)) FROM data", block.as_bytes())?.as_deref(), Some("41"));
/// # Ok::<(), reticent_subsample::Error>(())
/// ```
pub fn answer(sql: &str, block: impl BufRead) -> Result<Option<String>> {
    let mut table = Table::new(block, "the block".into())?;
    let query = ScalarQuery::new(sql, table.header()).map_err(Error::Sql)?;
    let mut rows: Vec<Vec<Vec<u8>>> = Vec::new();
    table.each_row(None, |_, cells| rows.push(cells.iter().map(|cell| cell.to_vec()).collect()))?;
    let cells = rows.iter().map(|row| row.iter().map(Vec::as_slice).collect());
    Ok(query.answer(cells).map(|answer| answer.replace(['\n', '\r'], " ")))
}
