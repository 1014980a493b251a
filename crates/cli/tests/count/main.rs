//! `reticent count` as a user runs it.

mod accounting;
mod files;
mod input;
mod keys;
#[cfg(target_os = "linux")]
mod memory;
mod promise;
mod state;
mod time;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// With this epsilon the noise is 0: for one or two p-sums an item and ranges no wider than 18 the chance of anything else
/// is below e^−24 a step.
const WITHOUT_NOISE: &str = "900";

/// Where these tests have their own ledger when they name none: never that of the user who runs them.
fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("count-home-{}", std::process::id()))
}

/// Makes a command use this folder as the user's own.
fn at_home<'command>(command: &'command mut Command, home: &std::path::Path) -> &'command mut Command {
    command.env("HOME", home).env("XDG_DATA_HOME", home).env_remove("RETICENT_LEDGER")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    // Weak guarantees are confirmed: many of these tests run without noise.
    at_home(command.arg("count").args(arguments).arg("--allow-large-epsilon"), &home());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `reticent count` to its end.
fn count(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = command(arguments).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A process that stops at the horizon does not read all of it.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    feeder.join().expect("fed");
    output
}

/// The same, with arguments in one string.
fn count_with(arguments: &str, input: &[u8]) -> Output {
    count(&arguments.split_whitespace().collect::<Vec<_>>(), input)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

/// The values of JSON releases, whose steps must be numbered from `first`.
fn values_from(first: u64, output: &Output) -> Vec<i64> {
    let releases: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for (release, step) in releases.iter().zip(first..) {
        assert_eq!(release["step"], step, "{release}");
    }
    releases.iter().map(|release| release["value"].as_i64().expect("a whole number")).collect()
}

/// The exact sums that a run without noise gives.
fn sums(arguments: &str, input: &[u8]) -> Vec<i64> {
    let arguments = format!("{arguments} --epsilon {WITHOUT_NOISE} --format json");
    let output = count_with(&arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
    values_from(1, &output)
}

/// A new empty directory.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("count-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory");
    path
}
