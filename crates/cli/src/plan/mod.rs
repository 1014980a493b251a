//! `reticent plan`: what would it cost, before anything is spent?

mod chart;
pub mod count;
mod people;
mod prediction;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

pub use chart::place;

/// The arguments of `reticent plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent plan count --horizon 1048576 --epsilon 1")]
pub struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Every counter's predicted error, side by side
    Count(count::Arguments),
}

/// Plans.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.subject {
        Subject::Count(arguments) => count::run(arguments),
    }
}
