//! `reticent party simulate` and `reticent party view`: all parties in one process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use reticent_ledger::accounting::refuse_uncharged;
use reticent_party::{CheckedTask, OwnRows, Statistic};

use super::show;
use crate::exit::usage;
use crate::output::{Format, csv, number_table, print, say, write_new};

/// The arguments of `reticent party simulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party simulate task.toml --transcript rehearsal.json \\
    --table north.visits=north.csv --table south.visits=south.csv --table east.visits=east.csv

The same rounds, messages and signatures as between real processes, with temporary keys. Nothing is charged, \
and the person who runs this sees every party's rows: use it to try things out, with invented rows.")]
pub struct Arguments {
    #[command(flatten)]
    stage: Stage,
    /// Also write the transcript, for `reticent party verify`
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// The arguments of `reticent party view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party view task.toml --all-but north \\
    --table north.visits=north.csv --table south.visits=south.csv --table east.visits=east.csv

Shows what an adversary knows that controls every party but one: all messages, and the exact numbers, the noise and the mask secrets \
of the parties it controls. With --format json, all of it; as a table, what remains of the honest party's numbers when everything \
the adversary knows is subtracted: the numbers with this party's own noise. Nothing is charged: use it to try things out, with \
invented rows.")]
pub struct ViewArguments {
    #[command(flatten)]
    stage: Stage,
    /// The party that does not collude
    #[arg(long, value_name = "PARTY")]
    all_but: String,
    /// Write the view to a file, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How to print the view
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// The parties, with their rows.
#[derive(Debug, clap::Args)]
struct Stage {
    /// The task file
    #[arg(value_name = "TASK")]
    task: PathBuf,
    /// A table of a party: PARTY.TABLE=FILE
    #[arg(long = "table", value_name = "PARTY.TABLE=FILE")]
    tables: Vec<String>,
}

impl Stage {
    fn checked(&self) -> Result<CheckedTask> {
        Ok(CheckedTask::read(&self.task)?)
    }

    /// Each party's rows, in the task's order.
    fn rows(&self, checked: &CheckedTask) -> Result<Vec<OwnRows>> {
        let mut tables: BTreeMap<&str, BTreeMap<String, PathBuf>> = BTreeMap::new();
        for text in &self.tables {
            let wrong = || usage(format!("--table {text}: write it as --table PARTY.TABLE=FILE"));
            let (name, file) = text.split_once('=').ok_or_else(wrong)?;
            let (party, table) = name.split_once('.').ok_or_else(wrong)?;
            checked.task().place(party)?;
            tables.entry(party).or_default().insert(table.into(), file.into());
        }
        let open = |name: &str| {
            let none = BTreeMap::new();
            OwnRows::open(checked, tables.get(name).unwrap_or(&none)).with_context(|| format!("party {name}"))
        };
        let rows = checked.task().parties().iter().map(|member| open(&member.name)).collect::<Result<Vec<_>>>()?;
        refuse_uncharged(&rows.iter().flat_map(OwnRows::files).cloned().collect::<Vec<_>>())?;
        Ok(rows)
    }
}

/// Simulates the parties.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    crate::query::quiet_panics();
    let checked = arguments.stage.checked()?;
    let rows = arguments.stage.rows(&checked)?;
    warn();
    let simulated = reticent_party::simulate(checked.task(), rows)?;
    if let Some(path) = &arguments.transcript {
        write_new(path, &simulated.transcript.to_json())?;
    }
    let answer = checked.answer(simulated.release.value())?;
    let file = arguments.transcript.as_deref();
    show::answer(&checked, &answer, simulated.transcript.attempt, file, arguments.format)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows an adversary's view.
pub fn view(arguments: &ViewArguments) -> Result<ExitCode> {
    crate::query::quiet_panics();
    let checked = arguments.stage.checked()?;
    let honest = checked.task().place(&arguments.all_but)?;
    let rows = arguments.stage.rows(&checked)?;
    warn();
    let seen = reticent_party::view(&checked, rows, honest)?;
    let (noisy, loss, text) = (&seen.left, &seen.loss, seen.to_json(&checked).to_string() + "\n");
    if let Some(path) = &arguments.out {
        write_new(path, &text)?;
    }
    match arguments.format {
        Format::Json => print(&text)?,
        Format::Csv => {
            let row = |(cell, noisy): (&reticent_party::Cell, &i64)| vec![cell.name.clone(), noisy.to_string()];
            print(&csv("cell,steps", checked.task().cells().iter().zip(noisy).map(row)))?;
        }
        Format::Table => {
            let row =
                |(cell, noisy): (&reticent_party::Cell, &i64)| vec![cell.name.clone(), in_units(*noisy, &cell.step)];
            let heading = format!("what is left of {}, with its own noise", arguments.all_but);
            let table = number_table(&["cell", &heading], checked.task().cells().iter().zip(noisy).map(row));
            print(&format!("{table}\n"))?;
            say!("{} has ε = {loss} against all others together", arguments.all_but);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A number of grid steps in units of the cell.
fn in_units(steps: i64, step: &reticent::exact::Rational) -> String {
    match step.to_f64() {
        1.0 => steps.to_string(),
        step => format!("{:.3}", steps as f64 * step),
    }
}

pub fn warn() {
    say!("warning: a simulation: no ledger is charged, and the person who runs it sees all rows; use invented ones");
}
