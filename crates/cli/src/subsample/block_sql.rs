//! What `subsample --sql` runs on every block: rows on standard input, one value on standard output.

use std::io::BufReader;
use std::process::ExitCode;

use anyhow::Result;
use reticent_sql::scalar::ScalarQuery;

use super::table::Table;
use crate::output;

/// The arguments of `reticent block-sql`.
#[derive(Debug, clap::Args)]
pub struct BlockArguments {
    /// What is asked
    sql: String,
}

/// Answers, or ends with a failure, which whoever runs this takes for no answer.
///
/// # Errors
/// If there is no table, or it does not fit the query.
pub fn answer_block(arguments: &BlockArguments) -> Result<ExitCode> {
    let mut table = Table::new(BufReader::new(std::io::stdin()), "the block".into())?;
    let query = ScalarQuery::new(&arguments.sql, table.header())?;
    let mut rows: Vec<Vec<Vec<u8>>> = Vec::new();
    table.each_row(None, |_, cells| rows.push(cells.iter().map(|cell| cell.to_vec()).collect()))?;
    let cells = rows.iter().map(|row| row.iter().map(Vec::as_slice).collect());
    let Some(answer) = query.answer(cells) else { return Ok(ExitCode::FAILURE) };
    output::print(&format!("{}\n", answer.replace(['\n', '\r'], " ")))?;
    Ok(ExitCode::SUCCESS)
}
