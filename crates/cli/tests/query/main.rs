//! `reticent query` as a user runs it.
//!
//! | file | holds |
//! |---|---|
//! | `mistakes` | mistakes outside the rows: named, and not charged |
//! | `refusals` | SQL that cannot be answered privately: named, and not charged |
//! | `answers` | what is printed, in each format |
//! | `charges` | what is charged, and to which dataset |
//! | `plans` | dry runs, and errors against the budget |
//! | `policies` | policy files |
//! | `sources` | folders, patterns and formats |
//! | `encodings` | text that is not in UTF-8 |
//! | `standard_input` | standard input as a table |
//! | `outcomes` | every outcome of a charge is final: answers, failures, limits, Ctrl-C |
//! | `public` | one file, one budget: a private file is not public under another name |
//! | `attacks` | queries written to learn more, or to keep the machine busy |
//! | `neighbours` | nothing but the answer depends on the rows |

mod answers;
mod attacks;
mod charges;
mod encodings;
mod mistakes;
mod neighbours;
mod outcomes;
mod plans;
mod policies;
mod public;
mod refusals;
mod sources;
mod standard_input;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// With this epsilon there is no noise: the chance of any in a count is below e^−200.
const WITHOUT_NOISE: &str = "200";

/// A test's own folder, which is also the user's home and the working directory.
struct Desk(PathBuf);

impl Desk {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("query-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        Self(path.canonicalize().expect("its full path"))
    }

    /// With `visits.csv`, `bosses.csv` (public, one row per region) and `plans.csv` (of the same users).
    fn with_visits(name: &str) -> Self {
        let desk = Self::new(name);
        desk.write("visits.csv", visits(300));
        desk.write("bosses.csv", "region,boss\nnorth,Ada\nsouth,Alan\n");
        desk.write("plans.csv", "user,plan\nu1,gold\nu2,free\n");
        desk
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("written");
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        command.current_dir(&self.0).env("HOME", &self.0).env("XDG_DATA_HOME", &self.0);
        command.env_remove("RETICENT_LEDGER").env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs a query, with further arguments in one string. Weak guarantees are confirmed: many of these tests run
    /// without noise.
    fn ask(&self, sql: &str, arguments: &str) -> Output {
        let mut command = self.program();
        command.arg("query").arg(sql).args(arguments.split_whitespace()).arg("--allow-large-epsilon");
        command.output().expect("the program starts")
    }

    /// Queries `visits.csv`.
    fn ask_visits(&self, sql: &str, arguments: &str) -> Output {
        self.ask(sql, &format!("--table visits=visits.csv {arguments}"))
    }

    /// Runs a query that must be answered; returns the output.
    #[track_caller]
    fn answer(&self, sql: &str, arguments: &str) -> String {
        let output = self.ask(sql, arguments);
        assert_eq!(output.status.code(), Some(0), "{sql} {arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The rows of an answer, and its summary.
    #[track_caller]
    fn json(&self, sql: &str, arguments: &str) -> (Vec<Value>, Value) {
        let printed = self.answer(sql, &format!("{arguments} --format json"));
        let mut lines: Vec<Value> =
            printed.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
        let last = lines.pop().expect("a summary");
        (lines, last["summary"].clone())
    }

    /// The single released number.
    #[track_caller]
    fn number(&self, sql: &str, arguments: &str) -> f64 {
        let (rows, _) = self.json(sql, arguments);
        let [Value::Object(row)] = &rows[..] else { panic!("{rows:?}") };
        row.values().next().and_then(|entry| entry["value"].as_f64()).expect("a number")
    }

    /// Runs a query that must fail with this code; returns the message.
    #[track_caller]
    fn fails(&self, code: i32, sql: &str, arguments: &str) -> String {
        let output = self.ask(sql, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{sql} {arguments}: {said}");
        assert!(output.stdout.is_empty(), "{sql} {arguments}");
        assert!(!said.contains("panicked") && !said.contains("DataFusion"), "{sql} {arguments}: {said}");
        said
    }

    /// How often each dataset of the user's own ledger was charged.
    fn charges(&self) -> Vec<(String, u64)> {
        let output = self.program().args(["ledger", "show", "--format", "json"]).output().expect("it starts");
        let lines = text(&output.stdout);
        let dataset = |line: &str| -> (String, u64) {
            let shown: Value = serde_json::from_str(line).expect("JSON");
            (shown["dataset"].as_str().expect("a name").into(), shown["charges"].as_u64().expect("a number"))
        };
        lines.lines().map(dataset).collect()
    }

    fn all_charges(&self) -> u64 {
        self.charges().iter().map(|(_, charges)| charges).sum()
    }

    /// What the owner of the data does after a failure.
    fn reopen(&self, file: &str) {
        let done = self.program().args(["ledger", "reopen", "--file", file]).output().expect("it starts");
        assert!(done.status.success() && text(&done.stdout).contains("can be charged again"), "{done:?}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

/// This many rows of a hundred users, who are from 20 to 69 years old and go north, south and east equally often.
fn visits(rows: usize) -> String {
    let mut csv = String::from("user,region,age,note\n");
    for row in 0..rows {
        let region = ["north", "south", "east"][row % 3];
        let _ = writeln!(csv, "u{},{region},{},x", row % 100, 20 + row % 50);
    }
    csv
}
