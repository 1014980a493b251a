//! `reticent ledger history`: entry by entry, oldest first.

use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Result;
use reticent::text::{csv_line, json_line};
use reticent_ledger::Record;

use super::{DatasetArgs, LedgerArgs};
use crate::output::Format;

/// Columns are as wide as the widest of this many lines, and never get narrower.
const PAGE: usize = 500;

/// The arguments of `reticent ledger history`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent ledger history --ledger budgets.sqlite
  reticent ledger history visits --last 10 --ledger budgets.sqlite
  reticent ledger history --ledger budgets.sqlite --format json

`spent` is what the dataset had spent after the entry, under the entry's unit and adjacency. Each entry's hash is checked \
before it is shown; `reticent ledger verify` checks that none is missing.

Exit codes: 0 shown, 1 an entry was changed or the ledger cannot be read, 2 no such ledger or dataset.")]
pub struct Arguments {
    #[command(flatten)]
    dataset: DatasetArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// Show only the newest N entries
    #[arg(long, value_name = "N")]
    last: Option<u64>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Shows all entries, or those of one dataset.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let dataset = arguments.dataset.dataset()?;
    let (place, ledger) = arguments.ledger.open_to_read()?;
    if let Some(name) = &dataset
        && ledger.account(name)?.is_none()
    {
        return Err(ledger.unknown(&place.location, name)?.into());
    }
    let mut writer = Writer::new(arguments.format);
    let mut outcome = writer.start();
    if outcome.is_ok() {
        let read = ledger.records_of(dataset.as_deref(), arguments.last, |record| {
            outcome = writer.write(record);
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        // Entries before an altered one are shown.
        if let Err(error) = read {
            writer.finish()?;
            return Err(error.into());
        }
    }
    match outcome.and_then(|()| writer.finish()) {
        // A reader that closes the pipe early has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        outcome => Ok(outcome.map(|()| ExitCode::SUCCESS)?),
    }
}

/// Prints records as they arrive.
struct Writer {
    format: Format,
    out: io::BufWriter<io::StdoutLock<'static>>,
    widths: [usize; Record::COLUMNS.len()],
    page: Vec<[String; Record::COLUMNS.len()]>,
}

impl Writer {
    fn new(format: Format) -> Self {
        let out = io::BufWriter::new(io::stdout().lock());
        Self { format, out, widths: [0; Record::COLUMNS.len()], page: Vec::new() }
    }

    fn start(&mut self) -> io::Result<()> {
        match self.format {
            Format::Table => self.page.push(Record::COLUMNS.map(String::from)),
            Format::Json => {}
            Format::Csv => writeln!(self.out, "{}", Record::EXACT_COLUMNS.join(","))?,
        }
        Ok(())
    }

    fn write(&mut self, record: Record) -> io::Result<()> {
        match self.format {
            Format::Table => {
                self.page.push(record.cells());
                if self.page.len() >= PAGE { self.turn() } else { Ok(()) }
            }
            Format::Json => self.out.write_all(json_line(&record.to_json()).as_bytes()),
            Format::Csv => writeln!(self.out, "{}", csv_line(&record.exact_cells())),
        }
    }

    /// Prints a page of lines.
    fn turn(&mut self) -> io::Result<()> {
        for line in &self.page {
            for (width, cell) in self.widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for line in self.page.drain(..) {
            let mut text = String::new();
            for (place, (width, cell)) in self.widths.iter().zip(&line).enumerate() {
                text += &if place == 0 { format!("{cell:>width$}") } else { format!("  {cell:<width$}") };
            }
            writeln!(self.out, "{}", text.trim_end())?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.turn()?;
        self.out.flush()
    }
}
