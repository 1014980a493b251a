//! `reticent local estimate`: estimates from the collected reports.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use reticent::local::Admission;
use reticent::privacy::Delta;
use reticent_collector::{Collector, Error, task_file};

use super::show;
use crate::exit::{REFUSED, usage};
use crate::output::{Format, say};

/// The arguments of `reticent local estimate`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Estimates are unbiased: a rare answer may come out negative. ± is a 95 % interval, proved for any \
number of people if each reports once. Estimating costs nothing, and may be repeated.

If the reports went through a shuffler, --shuffled states what holds against an observer of the shuffled ones: give \
the number of honest reports with --honest, as an adversary's reports hide nobody.

If the task lets a device report more than once (memoisation first or per-answer, or never with a lifetime-epsilon of twice \
epsilon or more), reports are not people: estimates count reports, no interval is printed, and --shuffled is refused. It is \
also refused if the reports reveal that they are from several periods (time-precision).

Exit code 3: there are fewer reports than the task's minimum-batch, or --shuffled is refused.

Examples:
  reticent local estimate --task commute.toml --store reports.sqlite
  reticent local estimate --task commute.toml --store reports.sqlite --format json
  reticent local estimate --task commute.toml --store reports.sqlite --shuffled --delta 1e-6 --honest 90000"
)]
pub struct Arguments {
    /// The task file
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The file of reports
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// State the epsilon after a shuffler has removed the order of the reports
    #[arg(long)]
    shuffled: bool,
    /// With --shuffled: the delta of the statement
    #[arg(long, default_value = "1e-6", requires = "shuffled", allow_hyphen_values = true)]
    delta: String,
    /// With --shuffled: number of honest reports, one per person [default: all]
    #[arg(long, value_name = "REPORTS", requires = "shuffled")]
    honest: Option<u64>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Prints the estimates.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match estimate(arguments) {
        Err(error) if error.downcast_ref::<Error>().is_some_and(Error::is_refusal) => {
            say!("refused: {error}");
            Ok(ExitCode::from(REFUSED))
        }
        outcome => outcome.map(|()| ExitCode::SUCCESS),
    }
}

fn estimate(arguments: &Arguments) -> Result<()> {
    let admission = Admission::new(task_file::read(&arguments.task)?);
    let delta: Delta = arguments.delta.parse()?;
    if !arguments.store.is_file() {
        let store = arguments.store.display();
        return Err(usage(format!("--store {store} does not exist; `reticent local collect` creates it")));
    }
    let store = Collector::open(&arguments.store).with_context(|| format!("--store {}", arguments.store.display()))?;
    let estimated = store.estimate(&admission)?;
    let shuffled = || estimated.shuffled(admission.task(), arguments.honest, &delta);
    let shuffled = arguments.shuffled.then(shuffled).transpose()?;
    show::estimates(admission.task(), &estimated, shuffled.as_ref(), arguments.format)
}
