//! `reticent`: private statistics from the terminal.

mod accounting;
mod audit;
mod care;
mod count;
mod exit;
mod figures;
mod ledger;
mod local;
mod marks;
mod numbers;
mod output;
mod parallel;
mod party;
mod place;
mod plan;
mod query;
mod serve;
mod stream;
#[cfg(unix)]
mod subsample;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Costs nothing that could be measured until a pan-private stream or counter begins; then all that is freed is overwritten.
#[global_allocator]
static ALLOCATOR: reticent_erase::Erasing = reticent_erase::Erasing;

/// Publishes statistics about people without betraying any one of them.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 released, 1 anything else, 2 usage or bad configuration, 3 refused by the mechanism (and \
charged), 4 not enough budget left."
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
    /// Asks people without learning a true answer: tasks, devices, collector, estimates
    Local(local::Arguments),
    /// Several organisations release one statistic of all their rows; none shows its rows to any other
    Party(party::Arguments),
    /// Says what a release would cost in accuracy, before anything is spent
    Plan(plan::Arguments),
    /// Asks a query of private tables in SQL
    Query(Box<query::Arguments>),
    /// Runs the service: live streams, private SQL over HTTP, a dashboard
    Serve(serve::Arguments),
    /// Creates streams of a running service, sends events, shows what was released
    Stream(stream::Arguments),
    /// Makes and revokes the tokens of a service
    Token(token::Arguments),
    /// Asks your own query or program of many parts of a table, and releases what they agree on
    #[cfg(unix)]
    Subsample(Box<subsample::Arguments>),
    /// What `subsample --sql` runs on every block
    #[cfg(unix)]
    #[command(hide = true)]
    BlockSql(subsample::BlockArguments),
    /// Redraws every chart of the documents from fresh runs
    Figures(figures::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| exit::of_arguments(&error));
    let outcome = match arguments.command {
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Count(arguments) => count::run(&arguments),
        Command::Ledger(arguments) => ledger::run(&arguments),
        Command::Local(arguments) => local::run(&arguments),
        Command::Party(arguments) => party::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Stream(arguments) => stream::run(&arguments),
        Command::Token(arguments) => token::run(&arguments),
        #[cfg(unix)]
        Command::Subsample(arguments) => subsample::run(&arguments),
        #[cfg(unix)]
        Command::BlockSql(arguments) => subsample::answer_block(&arguments),
        Command::Figures(arguments) => figures::run(&arguments),
    };
    outcome.unwrap_or_else(|error| exit::report(&error))
}
