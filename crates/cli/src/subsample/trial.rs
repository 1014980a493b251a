//! Before anything is charged: does the program answer rows that nobody has?

use std::path::Path;
use std::process::Stdio;

use anyhow::Result;

use super::cells::write_line;
use super::plan::Plan;
use super::schedule::in_words;
use super::table::{Block, Table};
use super::{Arguments, Runner};
use crate::exit::usage;

/// As many rows are invented.
const ROWS: usize = 20;

/// A program must answer something, unless it is said what counts where it does not. SQL was planned already.
pub fn needed(arguments: &Arguments) -> bool {
    arguments.program.is_some() && arguments.default.is_none()
}

/// Asks the program about invented rows, or about none. What it says on standard error is shown: there are no secrets in it.
///
/// # Errors
/// If it has no answer to either.
pub fn run(arguments: &Arguments, plan: &Plan, table: &Table, runner: &Runner) -> Result<()> {
    let (blocks, which) = match &arguments.trial {
        Some(path) => (vec![own(path, table.header())?], format!("the rows in {}", path.display())),
        None => (
            vec![invented(table.header()), table.empty_block().into()],
            format!("{ROWS} rows of whole numbers, or for none"),
        ),
    };
    let answers = |block: &Block| runner.ask(block, Stdio::inherit()).is_some_and(|answer| plan.accepts(&answer));
    if blocks.iter().any(answers) {
        return Ok(());
    }
    let (program, limit) = (runner.statistic.program.display(), in_words(arguments.time_limit));
    let number = if arguments.numeric.is_some() { "no number" } else { "nothing" };
    Err(usage(format!(
        "--program {program} has no answer for {which} (it failed, printed {number}, or took longer than {limit}), so nothing is \
         charged; give it rows that you made up with --trial FILE, or say with --default VALUE what counts for a block without an answer"
    )))
}

/// Small whole numbers in every column.
fn invented(header: &[String]) -> Block {
    let mut text = Vec::new();
    write_line(&mut text, header.iter().map(String::as_bytes));
    for row in 0..ROWS {
        let cells: Vec<String> = (0..header.len()).map(|column| (1 + (row + column) % 10).to_string()).collect();
        write_line(&mut text, cells.iter().map(String::as_bytes));
    }
    text.into()
}

/// The rows that the user made up.
fn own(path: &Path, header: &[String]) -> Result<Block> {
    let table = Table::open(path)?;
    if table.header() != header {
        return Err(usage(format!(
            "--trial {}: its columns must be those of the table: {}",
            path.display(),
            header.join(", ")
        )));
    }
    let mut blocks = table.deal(1, None, &mut |_| 0)?;
    Ok(blocks.swap_remove(0))
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
