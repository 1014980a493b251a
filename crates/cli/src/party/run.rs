//! `reticent party run`: takes part.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::secrets::Quiet;
use reticent_party::{CheckedTask, Config, OwnRows};

use super::show;
use crate::output::{Format, say};

/// The arguments of `reticent party run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party run --config north.toml

The configuration is this party's own. It sets task = \"task.toml\", party = \"north\", key = \"north.key\", tables = { visits = \
\"visits.csv\" }, ledger = \"north.sqlite\", dataset = \"visits\", state = \"north.state\"; and may set listen = \"0.0.0.0:7001\", \
transcript = \"result.json\", join_seconds = 600, round_seconds = 120. Paths are relative to its folder.

Parties may start in any order. Nothing about the rows is sent before all have confirmed the same task, and no row is read before this \
party's own ledger is charged. If a party vanishes, has a different task, or breaks the protocol, all others stop and say so: nothing is \
released, and what was charged stays charged. Run again, all together, for another attempt; it is charged anew.

Exit codes: 0 released, 2 usage (nothing was charged), 4 not enough budget left (nothing was charged), 1 aborted, or anything else.")]
pub struct Arguments {
    /// This party's own configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Check everything that can be checked without the others; nothing is charged or sent
    #[arg(long)]
    dry_run: bool,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Takes part.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let config = Config::read(&arguments.config)?;
    let _quiet = Quiet::new();
    let checked = CheckedTask::read(&config.task)?;
    let mut rows = OwnRows::open(&checked, &config.tables)?;
    if arguments.dry_run {
        reticent_party::check(&config, checked.task(), &rows)?;
        show::terms(&checked, arguments.format)?;
        say!("{} is ready; nothing was charged or sent", config.party);
        return Ok(ExitCode::SUCCESS);
    }
    let others = checked.task().parties().len() - 1;
    say!(
        "{} of {}: {}; waiting up to {} s for {others} others",
        config.party,
        checked.task().title(),
        checked.plan().protocol(),
        config.join_seconds
    );
    let outcome = reticent_party::run(&config, checked.task(), &mut rows)?;
    let answer = checked.answer(outcome.release.value())?;
    show::answer(&checked, &answer, outcome.transcript.attempt, Some(&outcome.file), arguments.format)?;
    Ok(ExitCode::SUCCESS)
}
