//! `reticent party aggregate` and `reticent party report`: many untrusted clients, and two or three aggregators.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use reticent_aggregators::{Answer, Collected, Config, Draft, Error, Process, Record, Report, Simulated, Task, upload};
use reticent_party::words::against;
use serde_json::json;

use crate::exit::{REFUSED, usage};
use crate::output::{Format, csv, json_lines, number_table, print, say, write_new};

/// The arguments of `reticent party aggregate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party aggregate receive --config ngo.toml

An aggregator's own configuration sets task = \"task.toml\", aggregator = \"ngo\", key = \"ngo.key\", store = \"ngo.reports\", ledger = \
\"ngo.sqlite\", dataset = \"screen-time\"; and may set listen, listen_reports, join_seconds, round_seconds. docs/parties.md has a \
complete example.")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Collect clients' reports until stopped
    Receive(Own),
    /// Release one batch of reports together with the other aggregators
    Collect(Collect),
    /// Show how many reports are waiting, and write the record of the last batch
    Status(Status),
    /// Abandon a batch that was begun and not completed; its reports are lost
    Abandon(Own),
    /// Verify the record of a batch, and show the answer
    Read(Read),
    /// Simulate clients and aggregators in this process; nothing is charged
    Simulate(Simulate),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party aggregate receive --config ngo.toml")]
struct Own {
    /// This aggregator's own configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party aggregate status --config ngo.toml")]
struct Status {
    #[command(flatten)]
    own: Own,
    /// Write the signed record of the last batch
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party aggregate collect --config ngo.toml --record result.json

All aggregators run it, in any order. Invalid reports are dropped. If an aggregator was killed while a batch was being \
opened, all run it again: that batch is completed first, with the same shares and no further charge. Exit codes: 0 released, 2 usage, \
3 too few reports (nothing was opened or charged), 4 not enough budget left, 1 an aggregator that failed to do its part, or anything \
else.")]
struct Collect {
    #[command(flatten)]
    own: Own,
    /// Write the signed record, from which anyone can compute the answer
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party aggregate read result.json --task task.toml")]
struct Read {
    /// The record
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// The task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party aggregate simulate --task task.toml --answers answers.txt")]
struct Simulate {
    /// The task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// Made-up answers, one per line
    #[arg(long, value_name = "FILE")]
    answers: PathBuf,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// The arguments of `reticent party report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party report --task task.toml --answer 90

The answer is split into shares on this machine, one for each aggregator; no share reveals anything by itself. Together the \
aggregators open only the noisy sum of many answers.")]
pub struct ReportArguments {
    /// The task
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The answer: yes or no, a number, or the name of a bucket, as the task asks
    #[arg(long, value_name = "ANSWER", required_unless_present = "answers", allow_hyphen_values = true)]
    answer: Option<String>,
    /// Made-up answers of many clients, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "answer")]
    answers: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.action {
        Action::Receive(own) => receive(own),
        Action::Collect(collect) => self::collect(collect),
        Action::Status(status) => self::status(status),
        Action::Abandon(own) => abandon(own),
        Action::Read(read) => self::read(read),
        Action::Simulate(simulate) => self::simulate(simulate),
    }
}

/// Sends reports.
pub fn report(arguments: &ReportArguments) -> Result<ExitCode> {
    let task = Task::read(&arguments.task)?;
    let answers = match (&arguments.answer, &arguments.answers) {
        (Some(answer), _) => vec![task.statistic().read(answer)?],
        (None, Some(path)) => answers(&task, path)?,
        (None, None) => return Err(usage("--answer is missing")),
    };
    let reports = answers.into_iter().map(|answer| Report::new(&task, answer)).collect::<Result<Vec<_>, Error>>()?;
    let received = upload(&task, &reports)?;
    let refused = received.iter().map(|received| received.refused).max().unwrap_or_default();
    if refused > 0 {
        anyhow::bail!("{refused} of {} reports were refused", reports.len());
    }
    say!("{} sent to {} aggregators", reports.len(), received.len());
    Ok(ExitCode::SUCCESS)
}

fn process(own: &Own) -> Result<Process> {
    Ok(Process::new(Config::read(&own.config)?)?)
}

fn receive(own: &Own) -> Result<ExitCode> {
    let process = process(own)?;
    let reception = process.reception()?;
    say!("{} is receiving reports at {}", process.site().name, process.site().reports);
    reception.run();
    Ok(ExitCode::SUCCESS)
}

fn status(status: &Status) -> Result<ExitCode> {
    let store = process(&status.own)?.store()?;
    if let Some(path) = &status.record {
        let record = store.record()?.ok_or_else(|| usage("there is no record: no batch has been released yet"))?;
        write_new(path, &record.to_json())?;
    }
    let pending = store.pending()?.map(|batch| batch.to_string());
    print(&format!("{}\n", json!({ "waiting": store.waiting()?, "batch_begun": pending })))?;
    Ok(ExitCode::SUCCESS)
}

fn abandon(own: &Own) -> Result<ExitCode> {
    match process(own)?.store()?.abandon()? {
        Some(batch) => say!("abandoned batch {batch}; its reports are lost, and what was charged stays charged"),
        None => say!("there is no batch to abandon"),
    }
    Ok(ExitCode::SUCCESS)
}

fn collect(arguments: &Collect) -> Result<ExitCode> {
    let process = process(&arguments.own)?;
    match process.collect()? {
        Collected::Released { record, .. } => {
            if let Some(path) = &arguments.record {
                write_new(path, &record.to_json())?;
            }
            show(process.task(), &record, arguments.format)
        }
        Collected::TooFew { accepted, dropped } => Ok(too_few(process.task(), accepted, dropped)),
    }
}

fn too_few(task: &Task, accepted: u64, dropped: u64) -> ExitCode {
    let least = task.minimum_reports();
    say!("{accepted} of at least {least} reports ({dropped} dropped): nothing was opened or charged");
    ExitCode::from(REFUSED)
}

fn read(arguments: &Read) -> Result<ExitCode> {
    let task = Task::read(&arguments.task)?;
    let text = std::fs::read_to_string(&arguments.record);
    let text = text.with_context(|| format!("{} cannot be read", arguments.record.display()))?;
    show(&task, &Record::read(&text, &task)?, arguments.format)
}

fn simulate(arguments: &Simulate) -> Result<ExitCode> {
    let task = Task::read(&arguments.task)?;
    let answers = answers(&task, &arguments.answers)?;
    super::simulate::warn();
    let mut simulated = Simulated::new(Draft::from(task))?;
    simulated.answer(answers)?;
    let collected = simulated.collect()?.into_iter().next().context("there is no aggregator")??;
    match collected {
        Collected::Released { record, .. } => show(simulated.task(), &record, arguments.format),
        Collected::TooFew { accepted, dropped } => Ok(too_few(simulated.task(), accepted, dropped)),
    }
}

/// One answer per line.
fn answers(task: &Task, path: &Path) -> Result<Vec<Answer>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(task.statistic().read_lines(&text)?)
}

fn show(task: &Task, record: &Record, format: Format) -> Result<ExitCode> {
    let (rows, half_width) = (record.named_sums(task)?, task.plan().error_bar().half_width());
    match format {
        Format::Json => print(&json_lines(record.to_json_lines(task)?))?,
        Format::Csv => {
            let row = |(name, value): (&str, i64)| vec![name.to_owned(), value.to_string(), half_width.to_string()];
            print(&csv("name,value,half_width", rows.into_iter().map(row)))?;
        }
        Format::Table => {
            let row = |(name, value): (&str, i64)| vec![name.into(), format!("{value} ± {half_width}")];
            print(&format!("{}\n", number_table(&["", task.title()], rows.into_iter().map(row))))?;
            let against = against(task.colluders(), "aggregator", "aggregators");
            let (reports, dropped, guarantee) = (record.reports(), record.dropped(), task.guarantee());
            say!("{reports} reports counted, {dropped} dropped; {guarantee} for each report, {against}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
