//! `reticent`: private statistics from the terminal.

mod accounting;
mod audit;
mod count;
mod exit;
mod interrupt;
mod ledger;
mod local;
mod marks;
mod numbers;
mod output;
mod party;
mod plan;
mod query;
mod serve;
mod stream;
#[cfg(unix)]
mod subsample;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Without measurable cost until a pan-private stream or counter begins; from then on freed memory is overwritten.
#[global_allocator]
static ALLOCATOR: reticent_erase::Erasing = reticent_erase::Erasing;

/// Publish statistics about people without exposing any individual.
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
    /// Audit a mechanism: test its outputs on neighbouring inputs against its claimed guarantee
    Audit(audit::Arguments),
    /// Count a stream: release the noisy running sum after every step
    Count(Box<count::Arguments>),
    /// Manage privacy budgets: what may be spent, what was spent, and on what
    Ledger(ledger::Arguments),
    /// Survey people without learning any true answer: tasks, devices, collection, estimates
    #[command(subcommand)]
    Local(local::Command),
    /// Release a joint statistic of several organisations; none shows its rows to another
    Party(party::Arguments),
    /// Predict the accuracy of a release before spending anything
    Plan(plan::Arguments),
    /// Run a private SQL query
    Query(Box<query::Arguments>),
    /// Run the service: live streams, private SQL over HTTP, a dashboard
    Serve(serve::Arguments),
    /// Create streams in a running service, send events, show releases
    #[command(subcommand)]
    Stream(stream::Command),
    /// Create and revoke the access tokens of a service
    #[command(subcommand)]
    Token(token::Command),
    /// Make your own query or program private: run it on many parts of a table and release what they agree on
    #[cfg(unix)]
    Subsample(Box<subsample::Arguments>),
    /// What `subsample --sql` runs on every block
    #[cfg(unix)]
    #[command(hide = true)]
    BlockSql(subsample::BlockArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| exit::of_arguments(&error));
    let outcome = match arguments.command {
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Count(arguments) => count::run(&arguments),
        Command::Ledger(arguments) => ledger::run(&arguments),
        Command::Local(command) => local::run(&command),
        Command::Party(arguments) => party::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Stream(command) => stream::run(&command),
        Command::Token(command) => token::run(&command),
        #[cfg(unix)]
        Command::Subsample(arguments) => subsample::run(&arguments),
        #[cfg(unix)]
        Command::BlockSql(arguments) => subsample::answer_block(&arguments),
    };
    outcome.unwrap_or_else(|error| exit::report(&error))
}
