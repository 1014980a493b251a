//! `reticent subsample`: the command-line interface of the library `reticent_subsample`.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `show` | the output |
//!
//! The order: check everything but the rows, try the program on made-up rows, charge, read the rows, run, store the
//! outcome, show it.

mod arguments;
mod show;

use std::io::BufReader;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use reticent::message::Spelling;
use reticent_ledger::accounting::Request;
use reticent_subsample::block_sql::answer;
use reticent_subsample::{
    DryRun, Environment, Kept, Parameters, Plan, Schedule, Split, Statistic, Subsample, Summary, Table, Trial, Worker,
};

pub use arguments::{Arguments, BlockArguments};

use crate::accounting::payer;
use crate::exit::usage;
use crate::interrupt::on_signals;
use crate::output::{self, progress_bar, say};

/// Runs `reticent subsample`.
///
/// # Errors
/// If something outside the rows is wrong, there is not enough budget left, or reading fails.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let plan = plan(arguments)?;
    let table = Table::open(&arguments.data)?;
    let statistic = statistic(arguments, table.header())?;
    let environment = Environment { memory: arguments.memory, ..Environment::best() };
    let subsample = Subsample::new(plan, statistic, table, environment)?;
    if arguments.unit.is_none() {
        say!("treating each row as a different person (--unit COLUMN if one person can have several rows)");
    }
    let trial = arguments.trial.clone().map_or(Trial::Invented, Trial::File);
    if arguments.dry_run {
        show::dry_run(&DryRun::new(&subsample, &trial), arguments.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let account = Arc::new(payer(&arguments.accounting.settings(), Some(&arguments.data))?);
    // A request that was charged before is not run again.
    if subsample.needs_trial() && account.remembered()?.is_none() {
        subsample.try_out(&trial)?;
    }
    let request = request(arguments, &subsample)?;
    subsample.words().iter().for_each(|line| say!("{}", line.spelled(Spelling::Flag)));
    let (guarantee, bar) = (subsample.plan().guarantee().clone(), progress_bar(subsample.plan().runs(), "runs"));
    on_signals(&account, None::<fn()>)?;
    let kept = account.release(request, |permit| {
        let result = subsample.run(permit, || bar.inc(1));
        bar.finish_and_clear();
        result
    })?;
    show::outcome(&Kept::from_text(&kept)?, arguments.format, &guarantee, arguments.numeric.is_some())
}

/// How answers become a release.
fn plan(arguments: &Arguments) -> Result<Plan> {
    let summary = Summary::asked(arguments.numeric.as_deref(), arguments.delta.as_deref())?;
    let samples = [arguments.samples, arguments.sample_size, arguments.rows];
    Ok(Plan::new(Parameters {
        unit: arguments.unit.as_deref().unwrap_or("row").into(),
        adjacency: arguments.adjacency.parse()?,
        split: Split::asked(arguments.blocks, samples, arguments.distance)?,
        default: arguments.default.clone(),
        schedule: Schedule::asked(arguments.jobs, arguments.time_limit, !arguments.unpadded)?,
        allow_large_epsilon: arguments.allow_large_epsilon,
        ..Parameters::new(arguments.epsilon.parse()?, summary)
    })?)
}

/// The statistic given by the arguments, checked without reading a row.
fn statistic(arguments: &Arguments, header: &[String]) -> Result<Statistic> {
    let statistic = match (&arguments.sql, &arguments.program) {
        (Some(_), _) if !arguments.program_arguments.is_empty() => {
            return Err(usage("what follows -- are the arguments of --program; leave them out with --sql"));
        }
        (Some(sql), _) => {
            // This executable, in another process.
            let program =
                std::env::current_exe().context("cannot locate the reticent executable, which runs the SQL")?;
            Statistic::sql(sql, header, Worker { program, arguments: vec!["block-sql".into(), "--".into()] })
        }
        (None, Some(program)) => Statistic::program(program, &arguments.program_arguments),
        (None, None) => return Err(usage("name the statistic with --sql or --program")),
    };
    Ok(statistic?)
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

/// Answers one block of `subsample --sql`; a failure means that the block has no answer.
///
/// # Errors
/// If there is no block, or it does not fit the query.
pub fn answer_block(arguments: &BlockArguments) -> Result<ExitCode> {
    let Some(answer) = answer(&arguments.sql, BufReader::new(std::io::stdin()))? else { return Ok(ExitCode::FAILURE) };
    output::print(&format!("{answer}\n"))?;
    Ok(ExitCode::SUCCESS)
}
