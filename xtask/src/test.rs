//! `cargo xtask test`: everything that shows that the program works, in one command.
//!
//! Whatever needs the query engine is built in one way: the profile and the packages of these steps are such that the engine is
//! the one that `cargo run -p reticent-cli` has built. All but `dist-test`, which draws too many samples for that profile.

use crate::install;
use crate::process::Invocation;
use crate::slowest;
use crate::step::{Step, take};

/// How the tests are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manner {
    /// More samples from fresh seeds in the statistical tests.
    pub long: bool,
    /// The slowest tests are listed at the end.
    pub timings: bool,
}

/// Takes the steps, and lists the slowest tests if that is asked for.
pub fn run(manner: Manner) -> Result<(), String> {
    if !manner.timings {
        return take(steps(manner.long));
    }
    slowest::forget()?;
    let timed = steps(manner.long).into_iter().map(|step| step.map(slowest::timed));
    let outcome = take(timed.collect());
    print!("{}", slowest::list()?);
    outcome
}

/// What most defects show up in comes first.
fn steps(long: bool) -> Vec<Step> {
    let step = |name, line| Step::new(name, Invocation::new(line));
    // The same packages each time, so that nothing is built anew.
    let some = |name, tests: &str| {
        let all = Invocation::new("cargo test --workspace --exclude dist-test");
        Step::new(name, all.and(tests))
    };
    let statistics = if long {
        // Fresh seeds must be seen even when all goes well.
        step("statistical tests, long", "cargo test --release -p dist-test -- --nocapture")
            .map(|tests| tests.variable("RETICENT_LONG", "1"))
    } else {
        step("statistical tests", "cargo test --release -p dist-test")
    };
    vec![
        some("tests", ""),
        some("PostgreSQL", "--test postgres -- --ignored").after(install::postgres_server),
        some("dashboard", "--test serve -- --ignored browser::").after(install::browser),
        some("survey page", "--test serve -- --ignored survey_page::").after(install::browser),
        some("HTTP interface", "--test serve -- --ignored schema::").after(install::schema_tools),
        some("NATS", "--test serve --test streams -- --ignored nats::").after(install::nats_server),
        some("networks", "--test party -- --ignored namespaces --test-threads=1").after(install::network_namespaces),
        statistics,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_differs_in_the_statistical_tests_alone() {
        let lines = |long| steps(long).iter().map(|step| step.to_string()).collect::<Vec<_>>();
        let (short, long) = (lines(false), lines(true));
        assert_eq!(short[..short.len() - 1], long[..long.len() - 1]);
        assert_eq!(long.last().unwrap(), "RETICENT_LONG=1 cargo test --release -p dist-test -- --nocapture");
    }
}
