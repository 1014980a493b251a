//! `reticent ledger`: budgets, spending, and the ledger's integrity.
//!
//! | module | holds |
//! |---|---|
//! | `create` | creates a ledger and registers datasets |
//! | `show` | budgets, spent and left |
//! | `history` | entry by entry |
//! | `verify` | whether the ledger is intact |
//! | `reopen` | lets a dataset be charged again after a failure |

mod create;
mod history;
mod reopen;
mod show;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use reticent_ledger::registration::named;
use reticent_ledger::{DurableLedger, Place};

/// The arguments of `reticent ledger`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent ledger create visits --epsilon 1 --unit event --ledger budgets.sqlite
  reticent ledger show --ledger budgets.sqlite
  reticent ledger history --last 5 --ledger budgets.sqlite
  reticent ledger verify --ledger budgets.sqlite
  reticent ledger reopen visits --ledger budgets.sqlite

Exit codes: 0 success, 1 damaged or not readable, 2 usage or bad configuration.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a ledger unless it exists, and register a dataset with its budget
    Create(create::Arguments),
    /// Show budgets, what was spent and what is left
    Show(show::Arguments),
    /// Show every entry, oldest first
    History(history::Arguments),
    /// Verify the ledger: recompute every hash and every sum
    Verify(verify::Arguments),
    /// Reopen a dataset that a failed run, or many interrupted ones, suspended
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
struct LedgerArgs {
    /// The ledger: a file, or postgres://… [default: $RETICENT_LEDGER, or the one in your data directory]
    #[arg(long, value_name = "PLACE")]
    ledger: Option<String>,
}

impl LedgerArgs {
    fn place(&self) -> Result<Place> {
        Ok(Place::new(self.ledger.as_deref())?)
    }

    fn open_to_read(&self) -> Result<(Place, DurableLedger)> {
        let place = self.place()?;
        let ledger = DurableLedger::open_to_read(&place.location)?;
        Ok((place, ledger))
    }
}

/// The dataset.
#[derive(Debug, clap::Args)]
struct DatasetArgs {
    /// The dataset's name
    name: Option<String>,
    /// The dataset is this file, under its full path, as `reticent count FILE` looks it up
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    file: Option<PathBuf>,
}

impl DatasetArgs {
    /// The name; `None` if no dataset is named.
    fn dataset(&self) -> Result<Option<String>> {
        Ok(named(self.name.as_deref(), self.file.as_deref())?)
    }
}
