//! `reticent subsample` as a user runs it.
#![cfg(unix)]

mod accounting;
mod isolation;
mod promise;
mod statistic;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Six blocks; a lead of 3 is needed, of 6 possible, and the noise is 0: the chance of a refusal is about e^−40.
const ALMOST_EXACT: &str = "--epsilon 20 --allow-large-epsilon --delta 1e-3 --blocks 6";

/// The timeout of a run.
const UNHURRIED: &str = "--unpadded --time-limit 60s";

/// A new empty directory.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("subsample-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory");
    path
}

/// `reticent subsample` for a user whose data and scratch folders are in this folder.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let scratch = folder.join("scratch");
    std::fs::create_dir_all(&scratch).expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    command.arg("subsample").args(arguments).env_remove("RETICENT_LEDGER");
    command.env("HOME", folder).env("XDG_DATA_HOME", folder.join("own")).env("TMPDIR", scratch);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("it runs")
}

/// Runs a shell script on a table in this folder, with options in one string.
fn ask_script(folder: &Path, options: &str, script: &str) -> Output {
    let table = folder.join("people.csv");
    if !table.exists() {
        std::fs::write(&table, people(600)).expect("written");
    }
    let table = table.display().to_string();
    let mut arguments = vec![table.as_str(), "--program", "/bin/sh"];
    arguments.extend(options.split_whitespace());
    arguments.extend(["--", "-c", script]);
    run(folder, &arguments)
}

/// The answer of most blocks, with hardly any noise; `None` if refused.
fn most_say(folder: &Path, more: &str, script: &str) -> Option<String> {
    answered(&ask_script(folder, &format!("{ALMOST_EXACT} {UNHURRIED} {more}"), script))
}

/// The answer; `None` if refused.
fn answered(output: &Output) -> Option<String> {
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    match output.status.code() {
        Some(0) => Some(before_the_number(&printed).strip_suffix('\n').expect("a line").into()),
        Some(3) => {
            assert_eq!(before_the_number(&printed), "refused\n");
            None
        }
        other => panic!("{other:?}: {said}"),
    }
}

/// What is printed before the noisy number of runs without an answer.
fn before_the_number(printed: &str) -> &str {
    let number = printed.lines().next_back().filter(|line| line.ends_with(" runs gave no answer (95 %)"));
    number.map_or(printed, |line| &printed[..printed.len() - line.len() - 1])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

/// People with three rows each.
fn people(rows: usize) -> String {
    let mut table = String::from("user,region,age\n");
    for row in 0..rows {
        let region = ["north", "south", "west"][row % 7 % 3];
        table += &format!("u{},{region},{}\n", row / 3, 20 + row * 13 % 60);
    }
    table
}
