//! `reticent party`: several organisations, each with its own rows, release one statistic over all rows.
//!
//! | file | holds |
//! |---|---|
//! | `keygen` | a party's key |
//! | `task` | the file that all parties agree on: creating, checking and showing it |
//! | `run` | taking part |
//! | `simulate` | all parties in one process, and what some of them would see |
//! | `verify` | verifying a transcript |
//! | `aggregate` | many untrusted clients, and two or three aggregators |
//! | `show` | answers, for people and programs |

mod aggregate;
mod keygen;
mod run;
mod show;
mod simulate;
mod task;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// The arguments of `reticent party`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party keygen north.key")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Generate a party's key pair: the private key in a file, the public key for the task
    Keygen(keygen::Arguments),
    /// Create, check and show the task file that all parties agree on
    Task(task::Arguments),
    /// Take part: charge this party's ledger, query its own table, and release the sum with all others
    Run(run::Arguments),
    /// Simulate all parties of a task in this process; nothing is charged
    Simulate(simulate::Arguments),
    /// Simulate all parties and show what all but one of them would learn together
    View(simulate::ViewArguments),
    /// Run an aggregator: add up clients' reports with one or two other aggregators
    Aggregate(aggregate::Arguments),
    /// Send a client's answer to the aggregators, in secret shares
    Report(aggregate::ReportArguments),
    /// Verify a transcript (signatures, hashes, the sum), and show the answer
    Verify(verify::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.action {
        Action::Keygen(arguments) => keygen::run(arguments),
        Action::Task(arguments) => task::run(arguments),
        Action::Run(arguments) => run::run(arguments),
        Action::Simulate(arguments) => simulate::run(arguments),
        Action::View(arguments) => simulate::view(arguments),
        Action::Aggregate(arguments) => aggregate::run(arguments),
        Action::Report(arguments) => aggregate::report(arguments),
        Action::Verify(arguments) => verify::run(arguments),
    }
}
