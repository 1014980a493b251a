//! Which tests take longest, as reported by the test programs.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// How many tests are listed.
const LISTED: usize = 20;

/// A test of this run, and its seconds.
#[derive(Debug, Clone, PartialEq)]
struct Timed {
    seconds: f64,
    program: String,
    test: String,
}

static RUN: Mutex<Vec<Timed>> = Mutex::new(Vec::new());

/// Records the times in a test program's output.
pub fn note(program: &str, printed: &str) {
    let times = printed.lines().filter_map(read).map(|(test, seconds)| {
        let (program, test) = (program.to_owned(), test.to_owned());
        Timed { seconds, program, test }
    });
    RUN.lock().unwrap_or_else(PoisonError::into_inner).extend(times);
}

/// The test and its seconds, from `test NAME ... ok <1.234s>`.
fn read(line: &str) -> Option<(&str, f64)> {
    let (test, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, seconds) = rest.rsplit_once('<')?;
    Some((test, seconds.strip_suffix("s>")?.parse().ok()?))
}

/// The slowest tests of the run so far, slowest first.
pub fn list() -> String {
    slowest(RUN.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

fn slowest(mut times: Vec<Timed>) -> String {
    times.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let mut text = format!("\nslowest of {} tests, in seconds\n", times.len());
    for Timed { seconds, program, test } in times.iter().take(LISTED) {
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
    }

    #[test]
    fn the_slowest_come_first_and_few() {
        let timed = |place: u8| Timed {
            seconds: f64::from(place) + 0.5,
            program: "program".into(),
            test: format!("test_{place}"),
        };
        let list = slowest((0..40).map(timed).collect());
        assert!(list.starts_with("\nslowest of 40 tests, in seconds\n    39.5  program  test_39\n    38.5  program"));
        assert_eq!(list.lines().count(), 2 + LISTED);
    }
}
