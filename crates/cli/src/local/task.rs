//! `reticent local task`: creates, checks and shows tasks.

use std::path::PathBuf;

use anyhow::Result;
use reticent_collector::facts::facts;
use reticent_collector::task_file::{self, to_toml};
use reticent_durable::replace;

use super::draft::Draft;
use crate::exit::usage;
use crate::output::{print, say, text_table};

/// The commands of `reticent local task`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Create a task file
    New(New),
    /// Check task files
    Check(Check),
    /// Show a task, what a report reveals, and how accurate the estimate will be
    Show(Show),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A task does not change: its hash is in every report, and a collector accepts reports of its own task \
only. Options that you leave out have careful defaults, and the choice of `auto` becomes part of the task.

A device answers once, unless the task says otherwise. A task that lets it report more than once (--memoisation first or \
per-answer, or a --lifetime-epsilon of twice --epsilon or more) has estimates without intervals: its reports are not people.

Examples:
  reticent local task new --question 'How did you come here today?' --choices 'on foot,by bicycle,by train' \\
      --epsilon 1 --expires 2030-01-01 --out commute.toml
  reticent local task new --question 'How old are you?' --integers 0..120 --epsilon 1 --expires 2030-01-01
  reticent local task new --question 'Which word?' --alphabet abcdefghijklmnopqrstuvwxyz --longest 8 --epsilon 2 \\
      --expires 2030-01-01"
)]
pub struct New {
    #[command(flatten)]
    draft: Box<Draft>,
    /// Where to write it [default: standard output]; an existing file is not overwritten
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reticent local task check commute.toml")]
pub struct Check {
    /// Task files: TOML, or JSON if the name ends in .json
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "As JSON it is what a browser needs.

Examples:
  reticent local task show commute.toml
  reticent local task show commute.toml --format json > commute.json")]
pub struct Show {
    /// The task file
    file: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// The task itself, for a browser
    Json,
    /// The task itself, as a file
    Toml,
}

/// Runs the command.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::New(arguments) => make(arguments),
        Command::Check(arguments) => {
            for path in &arguments.files {
                let task = task_file::read(path)?;
                say!("{}: {} at {}, {}", path.display(), task.mechanism(), task.guarantee(), task.id());
            }
            Ok(())
        }
        Command::Show(arguments) => show(arguments),
    }
}

fn make(arguments: &New) -> Result<()> {
    let task = arguments.draft.task()?;
    let text = to_toml(&task);
    match &arguments.out {
        None => print(&text)?,
        Some(path) if path.exists() => {
            return Err(usage(format!(
                "--out {} already exists; tasks do not change: name another file",
                path.display()
            )));
        }
        Some(path) => {
            replace(path, text.as_bytes()).map_err(|error| usage(format!("--out {}: {error}", path.display())))?;
        }
    }
    say!("task {}: {} at {}", task.id(), task.mechanism(), task.guarantee());
    Ok(())
}

fn show(arguments: &Show) -> Result<()> {
    let task = task_file::read(&arguments.file)?;
    let text = match arguments.format {
        Format::Json => serde_json::to_string(&task)? + "\n",
        Format::Toml => to_toml(&task),
        Format::Table => format!("{}\n", text_table(&["task", ""], facts(&task).into_iter().map(Vec::from))),
    };
    Ok(print(&text)?)
}
