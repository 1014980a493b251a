//! The commands of the documents, as they stand. Those of docs/parties.md are in `party/guide.rs`.
#![cfg(unix)]

#[path = "support/pages.rs"]
mod pages;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Runs the commands of a page in an empty folder with the examples, one after the other, except those with one of the words in
/// `without`. Those with the word in `refused` end with code 4: the budget is exhausted.
fn run(page: &str, least: usize, without: &[&str], refused: Option<&str>) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{page}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let examples = pages::root().join("examples").canonicalize().expect("the examples");
    std::os::unix::fs::symlink(examples, folder.join("examples")).expect("a link");
    let commands = pages::commands(page);
    let commands: Vec<&String> =
        commands.iter().filter(|line| !without.iter().any(|word| line.contains(word))).collect();
    assert!(commands.len() >= least, "{commands:?}");
    for line in commands {
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(format!("set -e -o pipefail\n{line}")).current_dir(&folder);
        shell.env("PATH", pages::search_path()).env("HOME", &folder).env("XDG_DATA_HOME", folder.join("data"));
        let ended = shell.env_remove("RETICENT_LEDGER").output().expect("bash starts");
        let expected = if refused.is_some_and(|word| line.contains(word)) { 4 } else { 0 };
        assert_eq!(ended.status.code(), Some(expected), "{line}\n{}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn the_start_can_be_pasted() {
    run("start.md", 7, &[], None);
}

#[test]
fn private_tables_can_be_pasted() {
    run("tables.md", 4, &[], None);
}

/// Without those that read the file by another program, or one that nobody has.
#[test]
fn the_ledger_can_be_pasted() {
    run("ledger.md", 6, &["sqlite3", "copy-of-last-week"], Some("--epsilon 0.75"));
}

#[test]
fn the_audit_can_be_pasted() {
    run("audit.md", 3, &[], None);
}
