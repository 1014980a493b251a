//! Pages of the documents, and the commands on them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What stands after `$ ` in a page, with the lines that it is continued on.
pub fn commands(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("docs").join(page)).expect("the page");
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        match (line.strip_prefix("$ "), goes_on) {
            (Some(first), _) => commands.push(first.to_owned()),
            (None, true) => commands.last_mut().expect("it was begun").extend(["\n", line]),
            (None, false) => continue,
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// A search path on which `reticent` is the program under test.
pub fn search_path() -> OsString {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_reticent"));
    let folder = program.parent().expect("a folder").to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    env::join_paths([folder].into_iter().chain(env::split_paths(&others))).expect("a search path")
}
