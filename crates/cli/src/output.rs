//! The formats in which results are printed.

use std::io::{ErrorKind, Write};

use clap::ValueEnum;
use comfy_table::{CellAlignment, LineStyle, Table, presets};
use reticent::text::csv_line;
use serde_json::Value;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// One object per result, for programs.
    Json,
    /// With a header line, for spreadsheets.
    Csv,
}

/// Prints to standard output. A reader that closes the pipe early has seen enough; any other failure is an error.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints to standard error, without secrets; it is no failure if that is closed.
macro_rules! say {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{}", reticent::secrets::hide(&format!($($argument)*)));
    }};
}
pub(crate) use say;

/// A table of text for people.
pub fn text_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header(header.to_vec());
    table.add_rows(rows);
    table
}

/// A table of numbers for people: the first column as text, the others right-aligned.
pub fn number_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = text_table(header, rows);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// Whether the terminal has no block characters.
pub fn no_blocks() -> bool {
    std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// CSV: a header line, then a line for each row.
pub fn csv<T: AsRef<str>>(header: &str, rows: impl IntoIterator<Item = Vec<T>>) -> String {
    rows.into_iter().fold(format!("{header}\n"), |text, row| text + &csv_line(&row) + "\n")
}

/// One object per line.
pub fn json_lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}
