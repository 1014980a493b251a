//! `reticent local collect`: collects reports from files or a pipe.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result};
use reticent::local::Admission;
use reticent_collector::{Collected, Collector, task_file};

use super::now;
use crate::exit::usage;
use crate::output::{print, say};

/// The arguments of `reticent local collect`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reports are JSON, one per line, as `reticent local respond` prints them. A report counts if it carries the \
hash of this very task, was not stored before, and the task has not expired. The same file may be given again: nothing counts \
twice. A service with the same task collects over HTTP.

Examples:
  reticent local collect --task commute.toml --store reports.sqlite reports.ndjson
  cat reports/*.json | reticent local collect --task commute.toml --store reports.sqlite"
)]
pub struct Arguments {
    /// The task file
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The file of reports; created if it does not exist, and may hold reports of several tasks
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// Files with reports [default: standard input]
    files: Vec<PathBuf>,
    /// Print what became of the reports as JSON
    #[arg(long)]
    json: bool,
}

/// Collects reports.
pub fn run(arguments: &Arguments) -> Result<()> {
    let admission = Admission::new(task_file::read(&arguments.task)?);
    let now = now()?;
    if admission.task().has_expired(now) {
        let day = admission.task().expires();
        return Err(usage(format!("--task {}: it expired on {day}", arguments.task.display())));
    }
    let open =
        |path: &PathBuf| File::open(path).map_err(|error| usage(format!("cannot read {}: {error}", path.display())));
    let files = arguments.files.iter().map(open).collect::<Result<Vec<File>>>()?;
    let store = Collector::open(&arguments.store).with_context(|| format!("--store {}", arguments.store.display()))?;
    let mut all: Vec<Collected> = Vec::new();
    if files.is_empty() {
        all.push(store.collect_lines(&admission, std::io::stdin().lock(), now)?);
    }
    for file in files {
        all.push(store.collect_lines(&admission, file.take(u64::MAX), now)?);
    }
    let collected = all.into_iter().fold(Collected::default(), Collected::and);
    if arguments.json {
        print(&(serde_json::to_string(&collected)? + "\n"))?;
    }
    let there = store.count(&admission.id())?;
    let rejected: Vec<String> = collected.rejected.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let rejected = if rejected.is_empty() { "0 rejected".into() } else { format!("rejected: {}", rejected.join(", ")) };
    say!("{} counted, {rejected}; {there} reports of this task in total", collected.counted);
    Ok(())
}
