//! Runs steps in order, and summarises them at the end.

use std::fmt;
use std::time::{Duration, Instant};

use crate::process::Invocation;
use crate::programs::Tests;

/// Something that must hold.
pub struct Step {
    name: &'static str,
    work: Work,
    /// Installs what the step needs; otherwise says why the step cannot run here.
    prepare: fn() -> Result<(), String>,
}

/// What is run; its `Display` shows how to run it by hand.
enum Work {
    One(Invocation),
    Tests(Tests),
}

impl Work {
    fn succeeds(&self) -> bool {
        match self {
            Self::One(invocation) => invocation.succeeds(),
            Self::Tests(tests) => tests.succeed(),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(invocation) => invocation.fmt(formatter),
            Self::Tests(tests) => tests.fmt(formatter),
        }
    }
}

impl Step {
    /// A step that needs nothing but the toolchain.
    pub fn new(name: &'static str, invocation: Invocation) -> Self {
        Self { name, work: Work::One(invocation), prepare: || Ok(()) }
    }

    /// Test programs of the workspace.
    pub fn tests(name: &'static str, targets: &'static str, arguments: &'static str) -> Self {
        Self { name, work: Work::Tests(Tests { targets, arguments }), prepare: || Ok(()) }
    }

    /// The same, after installing something.
    pub fn after(self, prepare: fn() -> Result<(), String>) -> Self {
        Self { prepare, ..self }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.work.fmt(formatter)
    }
}

/// The outcome of a step.
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    Skipped(String),
}

/// Runs the steps in order and stops at the first that fails.
pub fn take(steps: Vec<Step>) -> Result<(), String> {
    let mut report: Vec<(&'static str, Outcome)> = Vec::new();
    let mut failure = None;
    for Step { name, work, prepare } in steps {
        println!("\n── {name}: {work}");
        if let Err(reason) = prepare() {
            println!("SKIPPED: {name}: {reason}");
            report.push((name, Outcome::Skipped(reason)));
            continue;
        }
        let start = Instant::now();
        let passed = work.succeeds();
        let taken = start.elapsed();
        if passed {
            report.push((name, Outcome::Passed(taken)));
        } else {
            report.push((name, Outcome::Failed(taken)));
            failure = Some(format!("FAILED: {name}\nrun it again with: {work}"));
            break;
        }
    }
    print!("{}", summary(&report));
    failure.map_or(Ok(()), Err)
}

/// One line per step, with the reasons for skipped ones, and the counts.
fn summary(report: &[(&str, Outcome)]) -> String {
    let width = report.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut text = String::from("\n");
    for (name, outcome) in report {
        let outcome = match outcome {
            Outcome::Passed(taken) => {
                passed += 1;
                format!("passed {:>8.1} s", taken.as_secs_f64())
            }
            Outcome::Failed(taken) => {
                failed += 1;
                format!("FAILED {:>8.1} s", taken.as_secs_f64())
            }
            Outcome::Skipped(reason) => {
                skipped += 1;
                format!("SKIPPED: {reason}")
            }
        };
        text += &format!("{name:<width$}  {outcome}\n");
    }
    text + &format!("steps: {passed} passed, {failed} failed, {skipped} skipped\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_hides_nothing() {
        let report = [
            ("format", Outcome::Passed(Duration::from_millis(1234))),
            ("wasm32", Outcome::Skipped("no target".into())),
            ("tests", Outcome::Failed(Duration::from_secs(12))),
        ];
        let expected = "
format  passed      1.2 s
wasm32  SKIPPED: no target
tests   FAILED     12.0 s
steps: 1 passed, 1 failed, 1 skipped
";
        assert_eq!(summary(&report), expected);
    }

    #[test]
    fn a_step_that_fails_is_the_last_and_is_named() {
        let missing = || Err("nothing here to test".to_owned());
        let steps = |last| {
            vec![
                Step::new("skipped", Invocation::new("false")).after(missing),
                Step::new("first", Invocation::new("true")),
                Step::new("last", Invocation::new(last)),
            ]
        };
        assert_eq!(take(steps("true")), Ok(()));
        assert_eq!(take(steps("false")), Err("FAILED: last\nrun it again with: false".into()));
    }
}
