//! `reticent party verify`: is a transcript what was said?

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent_party::{CheckedTask, Task, Transcript};
use serde_json::json;

use super::show;
use crate::output::{Format, print, say};

/// The arguments of `reticent party verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent party verify transcript.json
  reticent party verify transcript.json --task task.toml

Every signature and every hash is computed anew, and so is the sum. The keys are those in the transcript: with --task you know that \
they, and all else that was agreed, are those that you know.

Exit codes: 0 all as it was said, 1 something is not, 2 usage, or no transcript.")]
pub struct Arguments {
    /// The transcript
    #[arg(value_name = "TRANSCRIPT")]
    transcript: PathBuf,
    /// The task as you know it
    #[arg(long, value_name = "FILE")]
    task: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Verifies and shows.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let transcript = Transcript::read(&arguments.transcript)?;
    let task = arguments.task.as_deref().map(Task::read).transpose()?;
    let verdict = transcript.verify(task.as_ref());
    let sound = verdict.is_sound();
    if arguments.format == Format::Json {
        let found = json!({ "sound": sound, "signatures": verdict.signatures, "findings": verdict.findings });
        print(&format!("{}\n", json!({ "verdict": found })))?;
    } else {
        verdict.findings.iter().for_each(|finding| say!("found: {finding}"));
    }
    if !sound {
        say!("{} is not what was said: do not use it", arguments.transcript.display());
        return Ok(ExitCode::FAILURE);
    }
    let keys = if task.is_some() { "the task's keys" } else { "the keys in it (--task compares them with yours)" };
    say!("all as it was said: {} signatures by {keys}", verdict.signatures);
    crate::query::quiet_panics();
    let checked = CheckedTask::new(transcript.task.clone())?;
    let answer = checked.answer(&transcript.output)?;
    show::answer(&checked, &answer, transcript.attempt, Some(&arguments.transcript), arguments.format)?;
    Ok(ExitCode::SUCCESS)
}
