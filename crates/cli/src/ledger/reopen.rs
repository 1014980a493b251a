//! `reticent ledger reopen`: lets a dataset be charged again after a failure.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent_ledger::DurableLedger;
use reticent_ledger::accounting::caller;

use super::{DatasetArgs, LedgerArgs};
use crate::exit::usage;
use crate::output::print;

/// The arguments of `reticent ledger reopen`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run that ends without an answer (a memory or time limit, a damaged file, a full disk, a process that was killed) may do so because of \
one person's rows, and no epsilon covers that. So its dataset is suspended: nothing more is charged to it until you, who are \
responsible for the data, have found out why. `reticent ledger history` shows the query. Raise the limit, or repair the file; if \
the query was written to fail, talk to its author. Then reopen the dataset.

20 interrupted runs suspend a dataset, too: when users press Ctrl-C can depend on how long a run takes, and so on the rows.

Examples:
  reticent ledger history visits --last 5 --ledger budgets.sqlite
  reticent ledger reopen visits --ledger budgets.sqlite
  reticent ledger reopen --file examples/visits.csv

Exit codes: 0 it can be charged, 1 the ledger is damaged or cannot be written, 2 no such ledger or dataset."
)]
pub struct Arguments {
    #[command(flatten)]
    dataset: DatasetArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// Also record the ledger's newest hash in this file
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
}

/// Reopens one dataset.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Some(name) = arguments.dataset.dataset()? else {
        return Err(usage("name a dataset; `reticent ledger show` lists all, and which of them are suspended"));
    };
    let place = arguments.ledger.place()?;
    let ledger = DurableLedger::open(&place.location)?;
    if ledger.dataset(&name)?.is_none() {
        return Err(ledger.unknown(&place.location, &name)?.into());
    }
    let ledger = ledger.anchored_if(arguments.anchor.as_deref());
    print(&match ledger.reopen(&name, &caller())? {
        Some(entry) => format!("{name} can be charged again; entry {entry} stays charged, without an answer\n"),
        None => format!("{name} was not suspended\n"),
    })?;
    Ok(ExitCode::SUCCESS)
}
