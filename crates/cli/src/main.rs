//! `reticent`: private statistics from the terminal.

mod accounting;
mod audit;
mod count;
mod exit;
mod figures;
mod ledger;
mod numbers;
mod output;
mod parallel;
mod place;
mod plan;
mod query;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Publishes statistics about people without betraying any one of them.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 released, 1 anything else, 2 usage or bad configuration, 3 refused by the mechanism, 4 the budget does not reach."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Draws outputs of a mechanism on neighbouring inputs and weighs them against its claim
    Audit(audit::Arguments),
    /// Counts a stream: the sum so far is released after every step, with noise
    Count(Box<count::Arguments>),
    /// Keeps privacy budgets: what may be spent, what was spent, on what
    Ledger(ledger::Arguments),
    /// Says what a release would cost in accuracy, before anything is spent
    Plan(plan::Arguments),
    /// Asks a query of private tables in SQL
    Query(Box<query::Arguments>),
    /// Redraws every chart of the documents from fresh runs
    Figures(figures::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Count(arguments) => count::run(&arguments),
        Command::Ledger(arguments) => ledger::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Figures(arguments) => figures::run(&arguments),
    };
    outcome.unwrap_or_else(|error| exit::report(&error))
}
