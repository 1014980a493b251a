//! `reticent subsample`: any statistic, asked of disjoint blocks of the data.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `table`, `cells` | the header before the charge; the rows after it, dealt out to blocks |
//! | `statistic`, `block_sql` | what is asked of every block: a program, or SQL |
//! | `environment`, `run`, `schedule` | what a run sees; one run; all of them |
//! | `trial` | rows that nobody has, before the charge |
//! | `plan` | how answers become a release |
//! | `kept`, `dry_run` | what is printed |
//!
//! The order: everything but the rows is checked, the program is tried on rows that nobody has, it is charged, the rows are read, the blocks are asked, the release is kept,
//! the release is shown.

mod arguments;
mod block_sql;
mod cells;
mod dry_run;
mod environment;
mod kept;
mod plan;
mod run;
mod schedule;
mod statistic;
mod table;
mod trial;

use std::io::IsTerminal;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use reticent::ledger::Ended;

pub use arguments::Arguments;
pub use block_sql::{BlockArguments, answer_block};
use dry_run::DryRun;
use environment::{Environment, Isolation};
use kept::Kept;
use plan::{Mechanism, Plan};
use run::Run;
use schedule::{Schedule, in_words};
use statistic::Statistic;
use table::{Block, Table};
use tempfile::TempDir;

use crate::accounting::{self, Account};
use crate::output::say;

/// Runs `reticent subsample`.
///
/// # Errors
/// If something outside the rows is wrong, there is not enough budget left, or reading fails.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let plan = Plan::new(arguments)?;
    let table = Table::open(&arguments.data)?;
    let unit = plan.column().map(|column| table.unit(column)).transpose()?;
    let statistic = Statistic::new(arguments, table.header())?;
    let environment = Environment { isolation: Isolation::best(), memory: arguments.memory };
    let jobs = usize::try_from(arguments.jobs.get()).unwrap_or(usize::MAX);
    let schedule = Schedule { jobs, limit: arguments.time_limit, padded: !arguments.unpadded };
    let runner = Runner::new(statistic, environment, schedule)?;
    if arguments.unit.is_none() {
        say!("treating each row as a different person (--unit COLUMN if one person can have several rows)");
    }
    if arguments.dry_run {
        // Of no rows nothing can be told, so the statistic may say on standard error what is wrong.
        let empty = runner.ask(&table.empty_block().into(), Stdio::inherit());
        let refused = trial::needed(arguments) && trial::run(arguments, &plan, &table, &runner).is_err();
        DryRun { plan: &plan, schedule, isolation: environment.isolation, empty, refused }.print(arguments.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let account = Account::new(&arguments.accounting, Some(&arguments.data))?;
    // A request that was charged before is not run again.
    if trial::needed(arguments) && account.remembered()?.is_none() {
        trial::run(arguments, &plan, &table, &runner)?;
    }
    let request = request(arguments, &plan, &runner.statistic)?;
    describe(&plan, &runner);
    let deal = |lot: &mut dyn FnMut(Option<&[u8]>) -> usize| table.deal(plan.blocks(), unit, lot);
    let kept = account.release(request, |mut permit| {
        let released = plan.release(&mut permit, deal, |blocks| runner.ask_all(blocks));
        match released {
            Ok(release) => Ended::Released(release.to_text()),
            Err(_) => Ended::Failed(Kept::Failed.to_text()),
        }
    })?;
    Kept::from_text(&kept)?.show(arguments.format, &plan)
}

/// What is charged: everything that the release depends on, but for the rows.
fn request(arguments: &Arguments, plan: &Plan, statistic: &Statistic) -> Result<accounting::Request> {
    let path = arguments.data.canonicalize().with_context(|| format!("cannot find {}", arguments.data.display()))?;
    let (statistic, words, limit) = (&statistic.description, plan.words(), arguments.time_limit.as_millis());
    let memory = arguments.memory.map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
    Ok(accounting::Request {
        description: format!("subsample of {:?}: {statistic}; {words}; a run has {limit} ms{memory}", path.as_os_str()),
        unit: plan.unit().into(),
        adjacency: plan.adjacency(),
        guarantee: plan.guarantee().clone(),
    })
}

/// What is promised, how, and what it takes: nothing of it depends on the rows.
fn describe(plan: &Plan, runner: &Runner) {
    let (guarantee, unit, adjacency, blocks) = (plan.guarantee(), plan.unit(), plan.adjacency(), plan.blocks());
    let how = match plan.mechanism() {
        Mechanism::Mode(mode) => {
            let threshold = mode.test().threshold();
            format!("the answer that most give is released if half its lead, with noise, reaches {threshold}")
        }
        Mechanism::Mean { bounds, mean, .. } => {
            let unless =
                mean.tolerated().map(|most| format!(", unless more than {most} blocks, with noise, have none"));
            format!("the mean of the answers, within {bounds}, is released with noise{}", unless.unwrap_or_default())
        }
    };
    say!("{guarantee}, unit {unit}, adjacency {adjacency}, {blocks} blocks; {how}");
    let schedule = &runner.schedule;
    let (jobs, length) = (schedule.jobs, in_words(schedule.length(blocks)));
    let limit = in_words(schedule.limit);
    if schedule.padded {
        say!("{blocks} runs, {jobs} at a time, {limit} each, also if they are done before: {length}");
    } else {
        say!("{blocks} runs, {jobs} at a time, {limit} each at the most: {length} or less");
        say!("warning: --unpadded: how long it takes tells something about the rows");
    }
    if jobs > 1 {
        say!(
            "a run that is greedy for time or memory may change all {jobs} answers of its turn: the noise is made for that"
        );
    }
    say!("runs: {}", runner.environment.isolation.describe());
}

/// Asks blocks.
#[derive(Debug)]
struct Runner {
    statistic: Statistic,
    environment: Environment,
    schedule: Schedule,
    /// Holds the directories of the runs, and goes with them.
    scratch: TempDir,
}

impl Runner {
    fn new(statistic: Statistic, environment: Environment, schedule: Schedule) -> Result<Self> {
        let scratch = tempfile::Builder::new().prefix("reticent-").tempdir();
        let scratch = scratch.with_context(|| {
            format!("the runs need a directory for their scratch in {} (TMPDIR)", std::env::temp_dir().display())
        })?;
        Ok(Self { statistic, environment, schedule, scratch })
    }

    /// The answer of one block.
    fn ask(&self, block: &Block, errors: Stdio) -> Option<String> {
        let directory = tempfile::tempdir_in(self.scratch.path()).ok()?;
        let command = self.environment.command(&self.statistic, directory.path())?;
        run::answer(Run { command, input: block.clone(), limit: self.schedule.limit, errors })
    }

    /// The answers of all blocks.
    fn ask_all(&self, blocks: Vec<Block>) -> Vec<Option<String>> {
        let bar = progress_bar(blocks.len() as u64);
        let answers = self.schedule.run(&blocks, |block| self.ask(block, Stdio::null()), || bar.inc(1));
        bar.finish_and_clear();
        answers
    }
}

/// On standard error, and only for people. Padded runs end when the clock says.
fn progress_bar(runs: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} blocks, {eta} left");
    ProgressBar::new(runs).with_style(style.expect("the template is well formed"))
}
