//! `reticent party simulate` and `reticent party view`: all parties in one process.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::secrets::Quiet;
use reticent_party::{Cell, CheckedTask, OwnRows};

use super::show;
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
    /// The task, and each party's rows.
    fn set(&self) -> Result<(CheckedTask, Vec<OwnRows>)> {
        let _quiet = Quiet::new();
        let checked = CheckedTask::read(&self.task)?;
        let rows = OwnRows::of_all(&checked, &self.tables)?;
        Ok((checked, rows))
    }
}

/// Simulates the parties.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (checked, rows) = arguments.stage.set()?;
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
    let (checked, rows) = arguments.stage.set()?;
    let honest = checked.task().place(&arguments.all_but)?;
    warn();
    let seen = reticent_party::view(&checked, rows, honest)?;
    let (loss, text) = (&seen.loss, seen.to_json(&checked).to_string() + "\n");
    if let Some(path) = &arguments.out {
        write_new(path, &text)?;
    }
    let cells = || checked.task().cells().iter().zip(seen.left.iter().copied());
    match arguments.format {
        Format::Json => print(&text)?,
        Format::Csv => {
            let row = |(cell, noisy): (&Cell, i64)| vec![cell.name.clone(), noisy.to_string()];
            print(&csv("cell,steps", cells().map(row)))?;
        }
        Format::Table => {
            let row = |(cell, noisy): (&Cell, i64)| vec![cell.name.clone(), cell.in_units(noisy)];
            let heading = format!("what is left of {}, with its own noise", arguments.all_but);
            print(&format!("{}\n", number_table(&["cell", &heading], cells().map(row))))?;
            say!("{} has ε = {loss} against all others together", arguments.all_but);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says that nothing is charged.
pub fn warn() {
    say!("warning: simulation only: nothing is charged, and you see all rows; use invented data");
}
