//! `reticent plan`: predicts accuracy before anything is spent.

pub mod count;
mod people;
pub mod query;
pub mod trust;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// The arguments of `reticent plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent plan count --horizon 1048576 --epsilon 1
  reticent plan trust --rows 100000 --parties 10 --epsilon 1
  reticent plan query \"SELECT COUNT(*) AS people, AVG(age) AS age FROM staff\" \\
    --table staff=examples/staff.csv --bounds age=18..70")]
pub struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Compare the predicted error of every counter
    Count(count::Arguments),
    /// Compare the error of one count when one server, parties, or nobody is trusted
    Trust(trust::Arguments),
    /// Predict the errors of a query for smaller and larger budgets
    Query(Box<query::Arguments>),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.subject {
        Subject::Count(arguments) => count::run(arguments),
        Subject::Trust(arguments) => trust::run(arguments),
        Subject::Query(arguments) => query::run(arguments),
    }
}
