//! A plan, a statistic and a table together.

use std::io::BufRead;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use reticent::ledger::RunResult;
use reticent::message::Message;
use reticent::secrets::Quiet;
use reticent::{Permit, message};
use tempfile::TempDir;

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::kept::{Kept, Outcome};
use crate::plan::{Mechanism, Plan, Unit};
use crate::run::{self, Run};
use crate::schedule::in_words;
use crate::split::Split;
use crate::statistic::Statistic;
use crate::table::{Block, Table};
use crate::trial::Trial;

/// A plan, a statistic and a table together, checked as far as possible without reading a row.
///
/// The order is: [try it out](Subsample::try_out) if it [needs a trial](Subsample::needs_trial), charge its
/// [description](Subsample::description), [release](Subsample::release), store the outcome.
#[derive(Debug)]
pub struct Subsample<R = std::io::BufReader<std::fs::File>> {
    plan: Plan,
    table: Table<R>,
    /// The position of the unit's column.
    unit: Option<usize>,
    runner: Runner,
}

/// Runs the statistic on a block.
#[derive(Debug)]
struct Runner {
    statistic: Statistic,
    environment: Environment,
    limit: Duration,
    /// Holds the directories of the runs, and is removed with them.
    scratch: TempDir,
}

impl Runner {
    fn ask(&self, block: &Block, errors: Stdio) -> Option<String> {
        let directory = tempfile::tempdir_in(self.scratch.path()).ok()?;
        let command = self.environment.command(&self.statistic, directory.path())?;
        run::answer(Run { command, input: block.clone(), limit: self.limit, errors })
    }
}

impl<R: BufRead> Subsample<R> {
    /// Combines them.
    ///
    /// # Errors
    /// If the table does not have the unit's column, or scratch directories cannot be created.
    pub fn new(plan: Plan, statistic: Statistic, table: Table<R>, environment: Environment) -> Result<Self> {
        let unit = match plan.unit() {
            Unit::Row => None,
            Unit::Column(column) => Some(table.unit(column)?),
        };
        let scratch = tempfile::Builder::new().prefix("reticent-").tempdir();
        let scratch =
            scratch.map_err(|error| Error::Scratch { folder: std::env::temp_dir(), reason: error.to_string() })?;
        let runner = Runner { statistic, environment, limit: plan.schedule().limit(), scratch };
        Ok(Self { plan, table, unit, runner })
    }

    /// How answers become a release.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How runs are started.
    pub fn environment(&self) -> &Environment {
        &self.runner.environment
    }

    /// Everything that decides the release of the table at this path, except its rows: the description of the charge.
    pub fn description(&self, table: &Path) -> String {
        let (statistic, words) = (self.runner.statistic.description(), self.plan.words());
        let limit = self.runner.limit.as_millis();
        let memory = self.runner.environment.memory.map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
        format!("subsample of {:?}: {statistic}; {words}; a run has {limit} ms{memory}", table.as_os_str())
    }

    /// The guarantee, the method and the duration in words, none of which depends on the rows.
    pub fn words(&self) -> Vec<Message> {
        let (plan, schedule) = (&self.plan, self.plan.schedule());
        let (guarantee, unit, adjacency, runs) = (plan.guarantee(), plan.unit(), plan.adjacency(), plan.runs());
        let on = match *plan.split() {
            Split::Blocks(number) => format!("{number} blocks"),
            Split::Samples { number, size, rows } => format!("{number} samples of {size} of {rows} rows"),
            Split::Whole { .. } => "the whole table".into(),
        };
        let mut words = vec![message!("{guarantee}, unit {unit}, adjacency {adjacency}, {on}")];
        let (released, without_answers) = (plan.released(), plan.without_answers());
        words.push(message!("released: {released}; {without_answers}"));
        if let Split::Whole { lipschitz } = plan.split() {
            words.push(message!(
                "your promise, which nothing checks: between neighbours the distance changes by at most {lipschitz}, and it is at most \
                 {lipschitz} where their answers differ"
            ));
        }
        let (jobs, length, limit) = (schedule.jobs(), in_words(schedule.length(runs)), in_words(schedule.limit()));
        let plural = if runs == 1 { "" } else { "s" };
        if schedule.is_padded() {
            words.push(message!(
                "{runs} run{plural}, {jobs} at a time, {limit} each, even if they end earlier: {length}"
            ));
        } else {
            words.push(message!("{runs} run{plural}, {jobs} at a time, at most {limit} each: {length} or less"));
            words.push(message!("warning: ", ["unpadded"], ": the total time tells something about the rows"));
        }
        if jobs > 1 {
            words.push(message!(
                "a run that takes too much time or memory can change all {jobs} answers of its round; the noise allows for that"
            ));
        }
        let isolation = self.environment().isolation.describe();
        words.push(message!("runs: {isolation}"));
        words
    }

    /// The answer for a table without rows. The statistic's standard error is shown: without rows it contains no
    /// secrets.
    pub fn answer_without_rows(&self) -> Option<String> {
        self.runner.ask(&self.table.empty_block().into(), Stdio::inherit())
    }

    /// Whether it should be [tried out](Subsample::try_out) before it is charged. A program should have an answer for
    /// some input, unless there is a default. SQL has been checked already.
    pub fn needs_trial(&self) -> bool {
        self.runner.statistic.is_program() && !self.plan.has_default()
    }

    /// Runs the statistic on made-up rows. Its standard error is shown: it contains no secrets.
    ///
    /// # Errors
    /// [`Error::NoTrialAnswer`] if it has no valid answer; [`Error::TrialColumns`] or [`Error::Table`] if the made-up
    /// rows cannot be used.
    pub fn try_out(&self, trial: &Trial) -> Result<()> {
        let answers =
            |block: &Block| self.runner.ask(block, Stdio::inherit()).is_some_and(|answer| self.plan.accepts(&answer));
        if trial.blocks(&self.table)?.iter().any(answers) {
            return Ok(());
        }
        Err(Error::NoTrialAnswer {
            program: self.runner.statistic.path().display().to_string(),
            file: trial.file().map(Path::to_path_buf),
            printed: match self.plan.mechanism() {
                Mechanism::Mean { .. } => "no number",
                Mechanism::Stable(_) => "no distance and answer",
                _ => "nothing",
            },
            limit: self.runner.limit,
        })
    }

    /// Reads the rows, runs the statistic on every block, and releases the summary. `done` is called after every run.
    ///
    /// # Privacy
    /// The guarantee of the [plan](Plan::guarantee), if each answer is computed from its block alone.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee, or [`Error::Reading`].
    pub fn release(self, permit: &mut Permit, done: impl Fn() + Sync) -> Result<Kept> {
        let _quiet = Quiet::new();
        let Self { plan, table, unit, runner } = self;
        plan.release(permit, table, unit, |runs, part| {
            let runs: Vec<usize> = (0..runs).collect();
            plan.schedule().run(&runs, |&run| runner.ask(&part(run), Stdio::null()), &done)
        })
    }

    /// [`Subsample::release`] for [`Ledger::release`](reticent::ledger::Ledger::release).
    ///
    /// # Privacy
    /// A failure suspends the dataset, because it may depend on the rows.
    pub fn run(self, mut permit: Permit, done: impl Fn() + Sync) -> RunResult {
        match self.release(&mut permit, done) {
            Ok(kept) => RunResult::Released(kept.to_text()),
            Err(_) => RunResult::Failed(Kept::from(Outcome::Failed).to_text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;
    use crate::plan::{Parameters, Summary};
    use crate::schedule::Schedule;

    const PEOPLE: &str = "user,age\nada,36\nalan,41\n";

    fn subsample(script: &str, change: impl FnOnce(&mut Parameters)) -> Subsample<&'static [u8]> {
        let summary = Summary::MostFrequent { delta: "0.001".parse().unwrap() };
        let mut parameters = Parameters::new("20".parse().unwrap(), summary);
        (parameters.split, parameters.schedule) = (Split::Blocks(6), Schedule::unpadded(Duration::from_secs(20)));
        parameters.allow_large_epsilon = true;
        change(&mut parameters);
        let table = Table::new(PEOPLE.as_bytes(), "people.csv".into()).unwrap();
        Subsample::new(Plan::new(parameters).unwrap(), Statistic::script(script), table, Environment::best()).unwrap()
    }

    /// A ledger compares this text with the next request's, so a charged request must keep its description.
    #[test]
    fn the_description_says_what_decides_the_release() {
        let path = Path::new("/data/people.csv");
        let plain = "subsample of \"/data/people.csv\": echo 1; most frequent answer of 6 blocks, no answer where there is none; a run \
                     has 20000 ms";
        assert_eq!(subsample("echo 1", |_| ()).description(path), plain);
        let mut limited = subsample("echo 1", |parameters| {
            parameters.default = Some(" blue ".into());
            parameters.schedule = Schedule::padded(NonZero::new(2).unwrap(), Duration::from_millis(200));
            parameters.split = Split::Blocks(20);
        });
        limited.runner.environment.memory = Some(1 << 20);
        let words = "subsample of \"/data/people.csv\": echo 1; most frequent answer of 20 blocks, 2 at a time, \"blue\" where there is \
                     none; a run has 200 ms, 1048576 bytes";
        assert_eq!(limited.description(path), words);
    }

    #[test]
    fn a_statistic_without_an_answer_is_found_out_before_the_charge() {
        let silent = subsample("exit 0", |_| ());
        assert!(silent.needs_trial() && silent.answer_without_rows().is_none());
        let error = silent.try_out(&Trial::Invented).unwrap_err();
        assert!(matches!(&error, Error::NoTrialAnswer { file: None, printed: "nothing", .. }), "{error}");
        subsample("wc -l", |_| ()).try_out(&Trial::Invented).unwrap();
        assert!(!subsample("exit 0", |parameters| parameters.default = Some("0".into())).needs_trial());
        let wordy = subsample("echo blue", |parameters| {
            parameters.summary = Summary::Mean { bounds: "0..1".parse().unwrap() };
        });
        assert!(wordy.try_out(&Trial::Invented).is_err(), "a mean is of numbers");
    }

    #[test]
    fn every_block_is_asked_once() {
        let asked = std::sync::atomic::AtomicU64::new(0);
        let count = || {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let kept = subsample("echo blue", |_| ()).release(&mut Permit::unaccounted().unwrap(), count);
        let kept = kept.unwrap();
        assert_eq!((kept.outcome, asked.into_inner()), (Outcome::Answer("blue".into()), 6));
        assert_eq!(kept.unanswered.map(|unanswered| (unanswered.number, unanswered.of)), Some((0, 6)));
    }
}
