//! Files in the formats of today, made by the program, must open with whatever the program becomes.
//!
//! A change of a format must raise its version and add a fixture. These stay as they are: they must still open, or be refused with a text
//! that `docs/formats.md` tells.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A new empty folder.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("formats-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn reticent(arguments: &[&str], home: &Path, input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    command.args(arguments).env("HOME", home).env("XDG_DATA_HOME", home).env_remove("RETICENT_LEDGER");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A refused state is not read.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

/// What a saved counter releases for one more line.
fn resumed(name: &str, version: &str, line: &[u8]) -> (Option<i32>, Vec<i64>, String) {
    let home = folder(&format!("count-{name}-{version}"));
    let save = home.join(name);
    let state = fs::read_to_string(fixture("count").join(name)).expect("the state");
    assert!(state.contains("\"version\":1"));
    fs::write(&save, state.replacen("\"version\":1", &format!("\"version\":{version}"), 1)).expect("written");
    let epoch = format!("{name}.epoch");
    fs::copy(fixture("count").join(&epoch), home.join(&epoch)).expect("copied");
    let save = save.to_str().expect("a text");
    let output = reticent(&["count", "-", "--no-ledger", "--format", "json", "--save", save, "--resume"], &home, line);
    let value = |line: &str| {
        let release: serde_json::Value = serde_json::from_str(line).expect("JSON");
        release["value"].as_i64().expect("a whole number")
    };
    (output.status.code(), text(&output.stdout).lines().map(value).collect(), text(&output.stderr))
}

/// Each has counted 1, 2 and 3, or one visit at each of two doors, without noise.
#[test]
fn counters_saved_in_version_1_go_on_where_they_were_and_other_versions_are_refused() {
    let keyed: &[u8] = b"door,n\nsouth,1\n";
    for (name, line, values) in
        [("two-level.json", &b"4\n"[..], &[10][..]), ("blt.json", b"4\n", &[10]), ("keyed.json", keyed, &[1, 2])]
    {
        let (code, released, said) = resumed(name, "1", line);
        assert_eq!((code, released.as_slice()), (Some(0), values), "{name}: {said}");
    }
    let (code, released, said) = resumed("two-level.json", "2", b"4\n");
    assert_eq!((code, released), (Some(1), Vec::new()));
    assert!(said.contains("is damaged, or not a saved counter"), "{said}");
}

#[test]
fn tokens_are_known() {
    let directory = folder("tokens");
    let connection = rusqlite::Connection::open(directory.join("tokens.sqlite")).expect("a database");
    let dump = fs::read_to_string(fixture("tokens.sql")).expect("the dump");
    connection.execute_batch(&dump).expect("the dump is SQL");
    drop(connection);
    let path = directory.to_str().expect("a text");
    let output = reticent(&["token", "list", "--data-dir", path, "--format", "csv"], &directory, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    for token in ["ada,owner,", "alan,analyst,", "till-7,source,"] {
        assert!(lines.lines().any(|line| line.starts_with(token)), "{token}: {lines}");
    }
    assert!(lines.contains("staff: ε = 1, δ = 1e-7"), "{lines}");
    assert!(directory.join("tokens.made").exists(), "from now on a service without tokens does not start here");
}
