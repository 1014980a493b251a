//! `cargo xtask test`: all tests, in one command.
//!
//! Everything is built in one way: profile and packages of these steps are chosen such that dependencies are those that
//! `cargo run -p reticent-cli` has built. Only long runs, which draw far more samples, are optimised.

use crate::install;
use crate::process::Invocation;
use crate::slowest;
use crate::step::{Step, take};

/// How the tests are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manner {
    /// More samples from fresh seeds in the statistical tests, more queries in those of private SQL, and mutants.
    pub long: bool,
    /// List the slowest tests at the end.
    pub timings: bool,
}

/// Runs the steps, and lists the slowest tests if requested.
pub fn run(manner: Manner) -> Result<(), String> {
    let outcome = take(steps(manner.long));
    if manner.timings {
        print!("{}", slowest::list());
    }
    outcome
}

/// The steps that find most defects come first.
fn steps(long: bool) -> Vec<Step> {
    let mut steps = vec![
        Step::tests("tests", "--lib --bins --tests", ""),
        Step::new("examples in the documentation", Invocation::new("cargo test --workspace --doc")),
        Step::tests("PostgreSQL", "--test postgres", "--ignored").after(install::postgres_server),
        Step::tests("dashboard", "--test serve", "--ignored browser::").after(install::browser),
        Step::tests("survey page", "--test serve", "--ignored survey_page::").after(install::browser),
        Step::tests("HTTP interface", "--test serve", "--ignored schema::").after(install::schema_tools),
        Step::tests("NATS", "--test serve --test streams", "--ignored nats::").after(install::nats_server),
        Step::tests("networks", "--test party", "--ignored namespaces --test-threads=1")
            .after(install::network_namespaces),
    ];
    if long {
        // Fresh seeds must be shown even when everything passes.
        let at_length = |name, tests: &str| {
            let tests = Invocation::new("cargo test --release").and(tests).and("-- --nocapture");
            Step::new(name, tests.variable("RETICENT_LONG", "1"))
        };
        steps.extend([
            at_length("statistical tests, long", "-p dist-test"),
            at_length("private SQL, long", "-p reticent-sql --test replay --test fuzz"),
            Step::new("mutants", Invocation::new("cargo xtask mutants")),
        ]);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_every_test_and_more_of_those_that_draw() {
        let lines = |long| steps(long).iter().map(|step| step.to_string()).collect::<Vec<_>>();
        let (short, long) = (lines(false), lines(true));
        assert_eq!(short[..], long[..short.len()]);
        assert_eq!(long[short.len()], "RETICENT_LONG=1 cargo test --release -p dist-test -- --nocapture");
    }
}
