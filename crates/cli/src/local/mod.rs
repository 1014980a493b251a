//! `reticent local`: surveys in which the collector never learns a true answer.
//!
//! | file | holds |
//! |---|---|
//! | `task` | creating, checking and showing tasks |
//! | `draft` | a task from arguments |
//! | `respond` | one device's report |
//! | `collect` | reports from files or a pipe |
//! | `estimate` | estimates from reports |
//! | `show` | estimates, for people and programs |

mod collect;
mod draft;
mod estimate;
mod respond;
mod show;
mod task;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// The commands of `reticent local`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Create, check and show tasks: the question, how it is randomised, and for how long
    #[command(subcommand)]
    Task(task::Command),
    /// Randomise an answer on this device and print the report to send
    Respond(respond::Arguments),
    /// Store reports from files or standard input, durably and each once
    Collect(collect::Arguments),
    /// Estimate how common each answer is, from the collected reports
    Estimate(estimate::Arguments),
}

/// Runs the command.
pub fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Task(arguments) => task::run(arguments)?,
        Command::Respond(arguments) => respond::run(arguments)?,
        Command::Collect(arguments) => collect::run(arguments)?,
        Command::Estimate(arguments) => return estimate::run(arguments),
    }
    Ok(ExitCode::SUCCESS)
}

/// Seconds since the beginning of 1970.
fn now() -> Result<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("this machine's clock is set before 1970")?;
    Ok(since.as_secs())
}
