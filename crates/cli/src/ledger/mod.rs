//! `reticent ledger`: budgets, spending, and the ledger's integrity.
//!
//! | module | holds |
//! |---|---|
//! | `create` | creates a ledger and registers datasets |
//! | `show` | budgets, spent and left |
//! | `history` | entry by entry |
//! | `verify` | whether the ledger is intact |
//! | `reopen` | lets a dataset be charged again after a failure |
//! | `component` | ε, δ and ρ, each with its own limit |
//! | `bar` | a budget as a bar |

mod bar;
mod component;
mod create;
mod history;
mod reopen;
mod show;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use reticent_ledger::{DurableLedger, Error, dataset_of_file};

use crate::exit::usage;
use crate::place::Place;
use crate::text;

/// How many similar names are suggested at most.
const MOST_SUGGESTIONS: usize = 3;
/// How similar they must be, from 0 to 1.
const RESEMBLANCE: f64 = 0.7;

/// The arguments of `reticent ledger`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent ledger create visits --epsilon 1 --unit event --ledger budgets.sqlite
  reticent ledger show --ledger budgets.sqlite
  reticent ledger history --last 5 --ledger budgets.sqlite
  reticent ledger verify --ledger budgets.sqlite
  reticent ledger reopen visits --ledger budgets.sqlite

Exit codes: 0 done and sound, 1 damaged or not readable, 2 usage or bad configuration.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a ledger if there is none, and register a dataset with its budget
    Create(create::Arguments),
    /// Show budgets, what was spent and what is left
    Show(show::Arguments),
    /// Show every entry, oldest first
    History(history::Arguments),
    /// Verify the ledger: recompute every hash and every sum
    Verify(verify::Arguments),
    /// Reopen a dataset that a failed run suspended
    Reopen(reopen::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Create(arguments) => create::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::History(arguments) => history::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Reopen(arguments) => reopen::run(arguments),
    }
}

/// The ledger.
#[derive(Debug, clap::Args)]
struct Which {
    /// The ledger: a file, or postgres://… [default: $RETICENT_LEDGER, or the one in your data directory]
    #[arg(long, value_name = "PLACE")]
    ledger: Option<String>,
}

impl Which {
    fn place(&self) -> Result<Place> {
        Place::new(self.ledger.as_deref())
    }

    fn open_to_read(&self) -> Result<(Place, DurableLedger)> {
        let place = self.place()?;
        let ledger = DurableLedger::open_to_read(&place.location)?;
        Ok((place, ledger))
    }
}

/// The dataset.
#[derive(Debug, clap::Args)]
struct Whose {
    /// The dataset's name
    name: Option<String>,
    /// The dataset is this file, under its full path, as `reticent count FILE` looks it up
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    file: Option<PathBuf>,
}

impl Whose {
    /// The name; `None` if no dataset is named.
    fn dataset(&self) -> Result<Option<String>> {
        match (&self.name, &self.file) {
            (_, Some(file)) => Ok(Some(dataset_of_file(file)?)),
            (Some(name), None) => text::usable("the dataset's name", name).map(|()| Some(name.clone())),
            (None, None) => Ok(None),
        }
    }
}

/// The error for an unknown dataset, with suggestions.
fn unknown(ledger: &DurableLedger, place: &Place, name: &str) -> Result<anyhow::Error> {
    let names: Vec<String> = ledger.accounts()?.into_iter().map(|account| account.dataset.name).collect();
    let mut near: Vec<(f64, &String)> = names.iter().map(|other| (resemblance(name, other), other)).collect();
    near.retain(|(resemblance, _)| *resemblance >= RESEMBLANCE);
    near.sort_by(|left, right| right.0.total_cmp(&left.0));
    let near: Vec<String> = near.iter().take(MOST_SUGGESTIONS).map(|(_, name)| text::printable(name)).collect();
    let hint = if is_file(name) {
        format!("; for the file, write --file {name}")
    } else if !near.is_empty() {
        format!("; did you mean {}?", near.join(" or "))
    } else if names.is_empty() {
        "; it has none yet".into()
    } else {
        "; `reticent ledger show` lists all".into()
    };
    Ok(usage(format!("the ledger {} has no dataset {name}{hint}", place.location)))
}

/// From 0 to 1: similar spelling, or the same file name in another folder.
fn resemblance(asked: &str, name: &str) -> f64 {
    let (asked, name) = (asked.to_lowercase(), name.to_lowercase());
    let last = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let whole = strsim::jaro_winkler(&asked, &name);
    let files = last(&asked).zip(last(&name)).map_or(0.0, |(asked, name)| strsim::jaro_winkler(&asked, &name));
    whole.max(files)
}

fn is_file(name: &str) -> bool {
    Path::new(name).is_file()
}

/// The damage found, without the advice to verify, which is useless in a command that does just that.
fn damage(error: &Error) -> Option<&str> {
    match error {
        Error::Damaged(what) => Some(what),
        _ => None,
    }
}
