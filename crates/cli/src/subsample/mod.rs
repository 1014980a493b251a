//! `reticent subsample`: the command-line interface of the library `reticent_subsample`.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `parameters` | from arguments to a plan and a statistic; the library's errors, with flags |
//! | `dry_run`, `show` | the output |
//!
//! The order: check everything but the rows, try the program on made-up rows, charge, read the rows, run, store the
//! outcome, show it.

mod arguments;
mod dry_run;
mod parameters;
mod show;

use std::io::{BufReader, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use reticent::ledger::Ended;
use reticent_ledger::accounting::Request;
use reticent_subsample::block_sql::answer;
use reticent_subsample::{Environment, Kept, Mechanism, Subsample, Table, Trial};

pub use arguments::{Arguments, BlockArguments};
use dry_run::DryRun;
use parameters::with_flags;

use crate::accounting::payer;
use crate::output::{self, say};

/// Runs `reticent subsample`.
///
/// # Errors
/// If something outside the rows is wrong, there is not enough budget left, or reading fails.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let plan = parameters::plan(arguments)?;
    let table = Table::open(&arguments.data)?;
    let statistic = parameters::statistic(arguments, table.header())?;
    let environment = Environment { memory: arguments.memory, ..Environment::best() };
    let subsample = Subsample::new(plan, statistic, table, environment).map_err(with_flags)?;
    if arguments.unit.is_none() {
        say!("treating each row as a different person (--unit COLUMN if one person can have several rows)");
    }
    let trial = arguments.trial.clone().map_or(Trial::Invented, Trial::File);
    if arguments.dry_run {
        let without_rows = subsample.answer_without_rows();
        let refused = subsample.needs_trial() && subsample.try_out(&trial).is_err();
        DryRun { subsample: &subsample, without_rows, refused }.print(arguments.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let account = payer(&arguments.accounting.settings(), Some(&arguments.data))?;
    // A request that was charged before is not run again.
    if subsample.needs_trial() && account.remembered()?.is_none() {
        subsample.try_out(&trial).map_err(with_flags)?;
    }
    let request = request(arguments, &subsample)?;
    describe(&subsample);
    // A broken file may make its reader panic, with rows in the message.
    crate::query::quiet_panics();
    let (guarantee, bar) = (subsample.plan().guarantee().clone(), progress_bar(subsample.plan().blocks()));
    let kept = account.release(request, |mut permit| {
        let released = subsample.release(&mut permit, || bar.inc(1));
        bar.finish_and_clear();
        match released {
            Ok(kept) => Ended::Released(kept.to_text()),
            Err(_) => Ended::Failed(Kept::Failed.to_text()),
        }
    })?;
    show::outcome(&Kept::from_text(&kept)?, arguments.format, &guarantee, arguments.numeric.is_some())
}

/// The request to charge: everything that the release depends on, except the rows.
fn request(arguments: &Arguments, subsample: &Subsample) -> Result<Request> {
    let path = arguments.data.canonicalize().with_context(|| format!("cannot find {}", arguments.data.display()))?;
    let plan = subsample.plan();
    Ok(Request {
        description: subsample.description(&path),
        unit: plan.unit().to_string(),
        adjacency: plan.adjacency(),
        guarantee: plan.guarantee().clone(),
    })
}

/// Prints the guarantee, the method and the duration, none of which depends on the rows.
fn describe(subsample: &Subsample) {
    let (plan, schedule) = (subsample.plan(), subsample.plan().schedule());
    let (guarantee, unit, adjacency, blocks) = (plan.guarantee(), plan.unit(), plan.adjacency(), plan.blocks());
    let how = match plan.mechanism() {
        Mechanism::Mode(mode) => {
            let threshold = mode.test().threshold();
            format!("the most frequent answer is released if half its lead, with noise, reaches {threshold}")
        }
        Mechanism::Mean { bounds, mean, .. } => {
            let unless =
                mean.tolerated().map(|most| format!(", unless more than {most} blocks, with noise, have none"));
            format!("the mean of the answers, within {bounds}, is released with noise{}", unless.unwrap_or_default())
        }
    };
    say!("{guarantee}, unit {unit}, adjacency {adjacency}, {blocks} blocks; {how}");
    let (jobs, length, limit) = (schedule.jobs(), in_words(schedule.length(blocks)), in_words(schedule.limit()));
    if schedule.is_padded() {
        say!("{blocks} runs, {jobs} at a time, {limit} each, even if they end earlier: {length}");
    } else {
        say!("{blocks} runs, {jobs} at a time, at most {limit} each: {length} or less");
        say!("warning: --unpadded: the total time tells something about the rows");
    }
    if jobs > 1 {
        say!(
            "a run that takes too much time or memory can change all {jobs} answers of its turn; the noise allows for that"
        );
    }
    say!("runs: {}", subsample.environment().isolation.describe());
}

/// Answers one block of `subsample --sql`; a failure means that the block has no answer.
///
/// # Errors
/// If there is no block, or it does not fit the query.
pub fn answer_block(arguments: &BlockArguments) -> Result<ExitCode> {
    let Some(answer) = answer(&arguments.sql, BufReader::new(std::io::stdin()))? else { return Ok(ExitCode::FAILURE) };
    output::print(&format!("{answer}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// A progress bar on standard error, shown only on a terminal. Padded runs end by the clock.
fn progress_bar(runs: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} blocks, {eta} left");
    ProgressBar::new(runs).with_style(style.expect("the template is well formed"))
}

/// A duration for people.
fn in_words(length: Duration) -> String {
    let seconds = length.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, _) => format!("{:.1} s", length.as_secs_f64()),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_for_people() {
        for (milliseconds, words) in [(1050, "1.1 s"), (105_000, "1 min 45 s"), (3_600_000, "1 h 0 min")] {
            assert_eq!(in_words(Duration::from_millis(milliseconds)), words);
        }
    }
}
