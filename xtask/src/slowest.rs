//! Which tests take longest, measured by the test programs themselves.
//!
//! Rust's test programs time their tests only if they are told that this is a nightly toolchain. Told to cargo, that would have
//! everything compiled anew; so cargo is told to start test programs through this one, which tells them alone.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Invocation, target};

/// What this program calls itself when cargo starts tests through it.
pub const COMMAND: &str = "time-tests";
/// How many tests are listed.
const LISTED: usize = 20;

/// Where the times of one run are collected, a line each: seconds, program, test.
fn collected() -> PathBuf {
    target().join("test-times.tsv")
}

/// Drops the times of an earlier run.
pub fn forget() -> Result<(), String> {
    let path = collected();
    fs::create_dir_all(target())
        .and_then(|()| fs::write(&path, ""))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// The same invocation of cargo, with its test programs started through this one.
pub fn timed(invocation: Invocation) -> Invocation {
    let Ok(this) = std::env::current_exe() else { return invocation };
    let runner = format!("target.'cfg(all())'.runner=[{:?},{COMMAND:?}]", this.to_string_lossy());
    invocation.first_arguments(["--config".into(), runner])
}

/// Runs one test program, shows what it prints, and collects the times of its tests. Its exit code.
pub fn time_tests(program: &str, arguments: &[&str]) -> Result<i32, String> {
    let mut command = Command::new(program);
    command.args(arguments);
    // Doc tests are started through this one, too, and have no times.
    let is_harness = Path::new(program).parent().is_some_and(|folder| folder.ends_with("deps"));
    if is_harness {
        command.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1").stdout(Stdio::piped());
    }
    let failed = |error| format!("{program}: {error}");
    let mut child = command.spawn().map_err(failed)?;
    let mut times = String::new();
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).lines()) {
        let line = line.map_err(failed)?;
        println!("{line}");
        if let Some((test, seconds)) = read(&line) {
            writeln!(times, "{seconds}\t{}\t{test}", stem(program)).expect("a string grows");
        }
    }
    let mut file = OpenOptions::new().create(true).append(true).open(collected()).map_err(failed)?;
    file.write_all(times.as_bytes()).map_err(failed)?;
    child.wait().map(|status| status.code().unwrap_or(1)).map_err(failed)
}

/// The program's name without the hash that cargo appends.
fn stem(program: &str) -> &str {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program);
    name.rsplit_once('-').map_or(name, |(stem, _)| stem)
}

/// The test and its seconds, from `test NAME ... ok <1.234s>`.
fn read(line: &str) -> Option<(&str, f64)> {
    let (test, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, seconds) = rest.rsplit_once('<')?;
    Some((test, seconds.strip_suffix("s>")?.parse().ok()?))
}

/// The slowest tests of the run, the slowest first.
pub fn list() -> Result<String, String> {
    let path = collected();
    let lines = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(slowest(&lines))
}

fn slowest(lines: &str) -> String {
    let mut times: Vec<(f64, &str, &str)> = lines
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, '\t');
            Some((fields.next()?.parse().ok()?, fields.next()?, fields.next()?))
        })
        .collect();
    times.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut text = format!("\nslowest of {} tests, in seconds\n", times.len());
    for (seconds, program, test) in times.iter().take(LISTED) {
        writeln!(text, "{seconds:>8.1}  {program}  {test}").expect("a string grows");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_what_test_programs_print() {
        assert_eq!(read("test suite::kills ... ok <12.250s>"), Some(("suite::kills", 12.25)));
        assert_eq!(read("test suite::kills ... FAILED <0.001s>"), Some(("suite::kills", 0.001)));
        assert_eq!(read("test suite::kills ... ok"), None);
        assert_eq!(read("running 3 tests"), None);
        assert_eq!(stem("/somewhere/target/debug/deps/streams-0123456789abcdef"), "streams");
    }

    #[test]
    fn the_slowest_come_first_and_few() {
        let lines: String = (0..40).map(|place| format!("{place}.5\tprogram\ttest_{place}\n")).collect();
        let list = slowest(&lines);
        assert!(list.starts_with("\nslowest of 40 tests, in seconds\n    39.5  program  test_39\n    38.5  program"));
        assert_eq!(list.lines().count(), 2 + LISTED);
    }
}
