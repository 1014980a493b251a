//! The commands of docs/parties.md, as printed there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::hospitals::Hospitals;

/// The commands after `$ ` in the page, with their continuation lines.
fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in page.lines() {
        match (line.strip_prefix("$ "), goes_on) {
            (Some(first), _) => commands.push(first.to_owned()),
            (None, true) => commands.last_mut().expect("it was begun").extend(["\n", line]),
            (None, false) => continue,
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

#[test]
fn every_command_of_the_guide_can_be_pasted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/parties.md")).expect("the page");
    let commands = commands(&page);
    assert!(commands.len() >= 10, "{commands:?}");
    // Its own folder, home and search path.
    let desk = Hospitals::at("guide", Vec::new());
    let program = PathBuf::from(env!("CARGO_BIN_EXE_reticent"));
    let search = env::join_paths(
        [program.parent().expect("a folder").to_owned()]
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    // Whatever is still running when something fails ends with the script.
    let script =
        format!("set -e -o pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n{}\n", commands.join("\n"));
    let mut shell = Command::new("bash");
    desk.at_home(&mut shell);
    let ended = shell.arg("-c").arg(&script).env("PATH", search.expect("a search path")).output().expect("bash starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{script}\n{said}");
    let printed = String::from_utf8_lossy(&ended.stdout);
    for expected in ["north", "ward", "ε"] {
        assert!(printed.contains(expected) || said.contains(expected), "{expected}: {printed}\n{said}");
    }
}
