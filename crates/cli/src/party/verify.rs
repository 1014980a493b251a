//! `reticent party verify`: verifies a transcript.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::secrets::Quiet;
use reticent_party::{CheckedTask, Task, Transcript};
use serde_json::json;

use super::show;
use crate::output::{Format, print, say};

/// The arguments of `reticent party verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent party verify transcript.json
  reticent party verify transcript.json --task task.toml

Every signature is checked, and every hash and the sum are recomputed. The keys are taken from the transcript: --task checks that \
they, and everything else that was agreed, are the ones you know.

Exit codes: 0 valid, 1 invalid, 2 usage, or no transcript.")]
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

/// Verifies a transcript and shows the answer.
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
        say!("{} failed verification: do not use it", arguments.transcript.display());
        return Ok(ExitCode::FAILURE);
    }
    let keys = if task.is_some() { "the task's keys" } else { "the keys in it (--task compares them with yours)" };
    say!("verified {} signatures with {keys}", verdict.signatures);
    let _quiet = Quiet::new();
    let checked = CheckedTask::new(transcript.task.clone())?;
    let answer = checked.answer(&transcript.output)?;
    show::answer(&checked, &answer, transcript.attempt, Some(&arguments.transcript), arguments.format)?;
    Ok(ExitCode::SUCCESS)
}
