//! `reticent local respond`: one device's report.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result};
use reticent::noise::Entropy;
use reticent_collector::{device, task_file};

use super::now;
use crate::exit::usage;
use crate::output::{print, say};

/// The device's folder, in the user's data directory.
const FOLDER: &str = "reticent/device";
/// The longest answer, in bytes.
const LONGEST_ANSWER: u64 = 1 << 16;

/// The arguments of `reticent local respond`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The answer is randomised here. The line of JSON that is printed is all that may leave this device; the answer \
itself is never written. The folder holds what the device must remember so that being asked again reveals no more; \
deleting it means spending again.

Keep the report until it has been sent: it may be sent again, and counts once. A device answers once, unless the task says \
otherwise.

Exit code 4: this device has already given all the answers that the task allows; nothing is printed.

Examples:
  reticent local respond --task commute.toml --answer 'by train'
  reticent local respond --task commute.toml --answer - < answer.txt > report.json
  reticent local respond --task commute.toml --answer 'on foot' | curl --data-binary @- URL"
)]
pub struct Arguments {
    /// The task file
    #[arg(long, value_name = "FILE")]
    task: PathBuf,
    /// The answer; - reads it from standard input, where no other user of this machine can see it
    #[arg(long, allow_hyphen_values = true)]
    answer: String,
    /// The device's folder, with its key and its memory [default: a folder in your data directory]
    #[arg(long, value_name = "DIR")]
    device: Option<PathBuf>,
}

/// Prints the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    let task = task_file::read(&arguments.task)?;
    let answer = match arguments.answer.as_str() {
        "-" => {
            let mut text = String::new();
            let read = std::io::stdin().take(LONGEST_ANSWER).read_to_string(&mut text);
            read.map_err(|error| usage(format!("--answer -: {error}")))?;
            text.trim_end_matches(['\r', '\n']).to_owned()
        }
        text => text.to_owned(),
    };
    let answer = task.domain().answer(&answer)?;
    let folder = match &arguments.device {
        Some(folder) => folder.clone(),
        None => dirs::data_dir().context("your data directory is unknown; name a folder with --device")?.join(FOLDER),
    };
    let mut entropy = Entropy::from_os()?;
    let mut device = device(&folder, &mut entropy)?;
    let report = device.respond(&task, &answer, now()?, &mut entropy)?;
    print(&(serde_json::to_string(&report)? + "\n"))?;
    say!(
        "guarantee: {}; for everything this device ever reports on the task: ε = {}",
        task.guarantee(),
        task.lifetime_epsilon()
    );
    Ok(())
}
