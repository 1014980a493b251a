//! The formats in which results are printed.

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use reticent::text::csv_line;
use reticent_client::streams::text;
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

/// The width of what is printed for people, in columns.
const WIDTH: u16 = 100;

/// A table of text that is no wider than a page, in which one column is wrapped.
pub fn fitted_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, wrapped: usize) -> Table {
    let mut table = text_table(header, rows);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    let others = table.column_iter_mut().enumerate().filter(|(place, _)| *place != wrapped);
    others.for_each(|(_, column)| {
        column.set_constraint(ColumnConstraint::ContentWidth);
    });
    table
}

/// A text in lines that are no wider than a page.
pub fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= usize::from(WIDTH) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// A table for people, with these columns right-aligned.
pub fn aligned_table(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    right: impl Fn(usize) -> bool,
) -> Table {
    let mut table = text_table(header, rows);
    let right = table.column_iter_mut().enumerate().filter(|(place, _)| right(*place));
    right.for_each(|(_, column)| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// A table of numbers for people: the first column as text, the others right-aligned.
pub fn number_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    aligned_table(header, rows, |place| place > 0)
}

/// Whether the terminal has no block characters.
pub fn no_blocks() -> bool {
    std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// CSV: a header line, then a line for each row.
pub fn csv<T: AsRef<str>>(header: &str, rows: impl IntoIterator<Item = Vec<T>>) -> String {
    rows.into_iter().fold(format!("{header}\n"), |text, row| text + &csv_line(&row) + "\n")
}

/// CSV: a header line, then the fields of that name of each object.
pub fn csv_of(header: &str, objects: impl IntoIterator<Item = Value>) -> String {
    // Floats as Rust writes them: a whole one without its point.
    let float = |value: &Value| value.as_f64().filter(|_| value.is_f64());
    let cell = |value: &Value| float(value).map_or_else(|| text(value), |number| number.to_string());
    csv(header, objects.into_iter().map(|object| header.split(',').map(|name| cell(&object[name])).collect()))
}

/// One object per line.
pub fn json_lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

/// A progress bar on standard error, shown only on a terminal.
pub fn progress_bar(total: u64, things: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = format!("{{bar:40}} {{human_pos}} of {{human_len}} {things}, {{eta}} left");
    ProgressBar::new(total).with_style(ProgressStyle::with_template(&template).expect("the template is well formed"))
}

/// Writes a file, and overwrites one that is there.
pub fn write_over(path: &Path, text: String) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Writes a new file.
pub fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("{} cannot be written", path.display()))
}
