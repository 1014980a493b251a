//! Standard input as a table.

use std::io::Write;
use std::process::Stdio;

use super::*;

const COUNT: &str = "SELECT COUNT(*) AS n FROM visits";
/// Reads its rows more than once.
const AUTOMATIC: &str = "SELECT SUM(age) AS total FROM visits";

/// Runs a command with this input, from a pipe.
fn piped(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    feeder.join().expect("fed");
    output
}

fn command(desk: &Desk, sql: &str, arguments: &str) -> Command {
    let mut command = desk.program();
    command.arg("query").arg(sql).args(arguments.split_whitespace()).arg("--allow-large-epsilon");
    command
}

fn ask(desk: &Desk, sql: &str, arguments: &str, input: &[u8]) -> Output {
    piped(command(desk, sql, &format!("--table visits=- {arguments}")), input)
}

fn number(output: &Output) -> f64 {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let first: Value = serde_json::from_str(text(&output.stdout).lines().next().expect("a row")).expect("JSON");
    first.as_object().expect("a row").values().next().and_then(|entry| entry["value"].as_f64()).expect("a number")
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).expect("packed");
    encoder.finish().expect("packed")
}

const NDJSON: &str =
    "{\"user\":\"u1\",\"age\":30}\n{\"user\":\"u2\",\"age\":40}\n{\"user\":\"u2\",\"age\":41}\n{\"age\":-5}\n";

#[test]
fn a_pipe_is_a_table_in_each_format() {
    let desk = Desk::new("pipe");
    let csv = "user,age\nu1,30\nu2,40\nu2,41\nu3,-5\n";
    let array = format!("[{}]", NDJSON.trim_end().replace('\n', ","));
    let parquet = include_bytes!("tiny.parquet");
    let options = "--epsilon 900 --no-ledger --format json --bounds age=0..100";
    for (input, format) in [
        (csv.as_bytes(), ""),
        (csv.as_bytes(), "--input csv"),
        (csv.replace(',', "\t").as_bytes(), "--input tsv"),
        (&gzip(csv.as_bytes()), ""),
        (NDJSON.as_bytes(), "--input ndjson"),
        (&gzip(NDJSON.as_bytes()), "--input ndjson"),
        (&zstd::encode_all(array.as_bytes(), 1).expect("packed"), "--input json"),
        (array.as_bytes(), "--input json"),
        (parquet, "--input parquet"),
    ] {
        let arguments = format!("{options} {format}");
        assert_eq!(number(&ask(&desk, COUNT, &arguments, input)), 4.0, "{format}");
        assert!((number(&ask(&desk, AUTOMATIC, &arguments, input)) - 111.0).abs() < 1.0, "{format}");
    }
    // More than a buffer, and more than one pass.
    let many = visits(400_000);
    let arguments = "--epsilon 900 --no-ledger --format json --bounds age=auto";
    let total = number(&ask(&desk, AUTOMATIC, arguments, many.as_bytes()));
    let exact: usize = (0..400_000).map(|row| 20 + row % 50).sum();
    assert!((total / exact as f64 - 1.0).abs() < 0.1, "{total}");
}

/// As `reticent count -`: an account that all pipes share, unless the dataset has a name.
#[test]
fn a_pipe_is_charged_to_the_dataset_that_is_named() {
    let desk = Desk::new("pipe-charges");
    let csv = visits(10);
    let ask_with = |input: &[u8]| ask(&desk, COUNT, "--epsilon 1", input);
    let ask = |more: &str| ask(&desk, COUNT, &format!("--epsilon 1 {more}"), csv.as_bytes());
    let output = ask("");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("name yours with --dataset"), "{}", text(&output.stderr));
    for _ in 0..2 {
        let output = ask("--dataset visits --request monday");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(desk.charges(), [("standard input".into(), 1), ("visits".into(), 1)]);
    let history = desk.program().args(["ledger", "history", "--format", "json"]).output().expect("it starts");
    assert!(text(&history.stdout).contains("table visits = - as csv"), "{}", text(&history.stdout));
    desk.write("policy.toml", "[budget]\nepsilon = 10\n");
    for (more, message) in [
        ("--request monday", "--request is for one dataset"),
        ("--policy policy.toml", "the budget of a policy is for one dataset"),
        ("--table more=-", "standard input can be one private table"),
        ("--public-table more=-", "standard input can be one private table"),
        ("--input xlsx", "a format is one of csv, tsv, ndjson, json, parquet, arrow"),
        ("--input json", "does not begin with `[`"),
        ("--input parquet", "it is not a complete Parquet file"),
        ("--encoding utf-16", "it does not start with the byte-order mark of UTF-16"),
    ] {
        let output = ask(more);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more}: {said}");
        assert!(said.contains(message) && !said.contains("/proc/"), "{more}: {said}");
    }
    let output = ask_with(include_bytes!("tiny.parquet"));
    assert!(text(&output.stderr).contains("standard input is a Parquet file; add --input parquet"));
    let output = ask_with(b"");
    assert!(text(&output.stderr).contains("table visits=-: it has no header"), "{}", text(&output.stderr));
    assert_eq!(desk.all_charges(), 2);
    let said = desk.fails(2, COUNT, "--table visits=policy.csv --epsilon 1 --input csv");
    assert!(said.contains("policy.csv"), "{said}");
    desk.write("visits.csv", &csv);
    let said = desk.fails(2, COUNT, "--table visits=visits.csv --epsilon 1 --input csv");
    assert!(said.contains("--input is the format of standard input"), "{said}");
}

/// The same file, the same budget, however it is named.
#[test]
fn a_file_as_standard_input_is_that_file() {
    let desk = Desk::new("redirected");
    desk.write("visits.csv", visits(10));
    desk.write("visits.ndjson", NDJSON);
    desk.write("visits", NDJSON);
    let ask = |file: &str, more: &str| {
        let mut command = command(&desk, COUNT, &format!("--table visits=- --epsilon 900 --format json {more}"));
        command.stdin(fs::File::open(desk.0.join(file)).expect("the file")).output().expect("the program starts")
    };
    assert_eq!(number(&ask("visits.csv", "--request monday")), 10.0);
    assert_eq!(number(&ask("visits.ndjson", "")), 4.0);
    assert_eq!(number(&ask("visits", "--input ndjson")), 4.0);
    let full = |file: &str| desk.0.join(file).display().to_string();
    let mut charges = desk.charges();
    charges.sort();
    assert_eq!(charges, [(full("visits"), 1), (full("visits.csv"), 1), (full("visits.ndjson"), 1)]);
    assert_eq!(number(&ask("visits.csv", "--request monday")), 10.0);
    assert_eq!(desk.all_charges(), 3);
}

/// Before anything is charged.
#[test]
fn a_pipe_that_cannot_be_copied_is_an_error() {
    let desk = Desk::new("pipe-full");
    let said = ask(&desk, COUNT, "--epsilon 1 --temp-dir nowhere", b"a\n1\n");
    assert_eq!(said.status.code(), Some(2));
    if cfg!(target_os = "linux") {
        let program = env!("CARGO_BIN_EXE_reticent");
        let mut limited = Command::new("sh");
        limited.current_dir(&desk.0).env("HOME", &desk.0).env("XDG_DATA_HOME", &desk.0);
        limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"", program]);
        limited.args(["query", COUNT, "--table", "visits=-", "--epsilon", "1"]);
        let output = piped(limited, visits(100_000).as_bytes());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("standard input cannot be copied to") && said.contains("--temp-dir"), "{said}");
    }
    assert_eq!(desk.charges(), []);
}

/// Only its own process can read the copy, which has no name.
#[cfg(target_os = "linux")]
#[test]
fn the_copy_of_a_pipe_has_no_name() {
    let desk = Desk::new("pipe-copy");
    desk.write("temporary/empty", "");
    fs::remove_file(desk.0.join("temporary/empty")).expect("removed");
    let arguments = "--table visits=- --epsilon 1 --no-ledger --temp-dir temporary";
    let mut command = command(&desk, COUNT, arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(visits(50_000).as_bytes()).expect("written");
    assert_eq!(fs::read_dir(desk.0.join("temporary")).expect("a folder").count(), 0);
    drop(stdin);
    assert!(child.wait_with_output().expect("it ends").status.success());
    assert_eq!(fs::read_dir(desk.0.join("temporary")).expect("a folder").count(), 0);
}
