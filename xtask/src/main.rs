//! Development commands. They need only the Rust toolchain, and Python for the benchmarks' peers.
//!
//! | module | holds |
//! |---|---|
//! | `test` | `cargo xtask test`: all tests |
//! | `programs` | test programs, as many at a time as there are cores |
//! | `slowest` | which tests take longest |
//! | `lint` | `cargo xtask lint`: checks that run no code |
//! | `book` | `cargo xtask book`: the documents as a book |
//! | `links` | whether every link in the documents leads somewhere |
//! | `names` | whether the code that the documents name exists |
//! | `step` | runs steps in order, and reports on them |
//! | `install` | what tests need beyond crates |
//! | `mutants` | `cargo xtask mutants`: private SQL broken on purpose must fail its tests |
//! | `wasm` | `cargo xtask wasm`: builds the module for browsers, checks its size and the service's copy |
//! | `bench` | `cargo xtask bench`: speeds, compared with other libraries |
//! | `process` | starting programs and showing how to start them by hand |

mod bench;
mod book;
mod install;
mod links;
mod lint;
mod mutants;
mod names;
mod process;
mod programs;
mod slowest;
mod step;
mod test;
mod wasm;

use std::process::ExitCode;

const HELP: &str = "\
Development commands of Reticent

Usage: cargo xtask <COMMAND>

Commands:
  test [--long] [--timings]                 Run every test.
                                            --long draws more samples from fresh seeds in the statistical tests, runs a
                                            million queries, fuzzes for an hour and runs the mutants;
                                            --timings lists the slowest tests at the end
  lint                                      Check format, lints, docs, their links and the wasm32 build
  book [--check]                            Check that every link in the documents leads somewhere and the code they name exists,
                                            and build them as a book in target/book, with mdbook in target/tools; --check only
                                            checks
  mutants [WORD]                            Break one rule of private SQL at a time, and check that its tests notice; with a
                                            word, only the rules whose description contains it
  wasm [--write]                            Build the module that randomises answers in a browser, check its size, and compare
                                            it with the copy that the service includes; --write writes the copy
  figures                                   Draw the figures of the documentation from fresh runs
  bench [noise] [--format table|json]       Compare the noise samplers with NumPy and OpenDP on one core.
                                            NumPy and OpenDP are installed into target/bench-venv
  bench once [--format table|json]          Compare whole releases with OpenDP and with the computation without
                                            privacy, on one core
  bench continual [--format table|json]     Compare counters with jax-privacy and with drawing their noise alone, on
                                            one core
  bench local [--format table|json]         Compare devices and collector of the local model with pure-LDP, on one core
  bench ledger [--format table|json]        Compare durable charges with the speed of the disk
  bench party [--format table|json]         Measure 3, 20 and 50 parties on one machine, each in its own process
  bench sql [--format table|json]           Compare private SQL on ten million rows with DataFusion and DuckDB without privacy,
                                            bounding written as SQL, and OpenDP with Polars, on all cores
  bench service [--short] [--format table|json]
                                            Measure the whole service under 100,000 events a second on loopback, for ten
                                            minutes, or with --short for one
  help, --help                              Show this text

Example: cargo xtask test";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    Help,
    Test(test::Manner),
    Lint,
    Book { check_only: bool },
    Mutants { word: String },
    Wasm { write: bool },
    Figures,
    BenchNoise { format: bench::Format },
    BenchOnce { format: bench::Format },
    BenchContinual { format: bench::Format },
    BenchLocal { format: bench::Format },
    BenchLedger { format: bench::Format },
    BenchParty { format: bench::Format },
    BenchSql { format: bench::Format },
    BenchService { format: bench::Format, short: bool },
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = match parse(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(task) => task,
        Err(message) => {
            eprintln!("{message}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let outcome = match task {
        Task::Help => {
            println!("{HELP}");
            Ok(())
        }
        Task::Test(manner) => test::run(manner),
        Task::Lint => lint::run(),
        Task::Book { check_only } => book::run(check_only),
        Task::Mutants { word } => mutants::run(&word),
        Task::Wasm { write } => wasm::run(write),
        Task::Figures => figures(),
        Task::BenchNoise { format } => bench::noise(format),
        Task::BenchOnce { format } => bench::once(format),
        Task::BenchContinual { format } => bench::continual(format),
        Task::BenchLocal { format } => bench::local(format),
        Task::BenchLedger { format } => bench::ledger::run(format),
        Task::BenchParty { format } => bench::party::run(format),
        Task::BenchSql { format } => bench::sql::run(format),
        Task::BenchService { format, short } => bench::service::run(format, short),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\n{message}");
            ExitCode::FAILURE
        }
    }
}

/// Draws the figures of the documentation anew.
fn figures() -> Result<(), String> {
    let draw = process::Invocation::new("cargo run --release -p reticent-bench --bin figures docs/figures");
    if draw.succeeds() { Ok(()) } else { Err(format!("FAILED: run it again with: {draw}")) }
}

fn parse(arguments: &[&str]) -> Result<Task, String> {
    let Some((&command, options)) = arguments.split_first() else { return Err("which command?".into()) };
    if options.iter().any(|option| ["-h", "--help"].contains(option)) {
        return Ok(Task::Help);
    }
    match (command, options) {
        ("help" | "-h" | "--help", _) => Ok(Task::Help),
        ("test", options) => parse_manner(options).map(Task::Test),
        ("lint", []) => Ok(Task::Lint),
        ("book", []) => Ok(Task::Book { check_only: false }),
        ("book", ["--check"]) => Ok(Task::Book { check_only: true }),
        ("mutants", []) => Ok(Task::Mutants { word: String::new() }),
        ("mutants", [word]) => Ok(Task::Mutants { word: (*word).to_owned() }),
        ("wasm", []) => Ok(Task::Wasm { write: false }),
        ("figures", []) => Ok(Task::Figures),
        ("wasm", ["--write"]) => Ok(Task::Wasm { write: true }),
        ("bench", ["continual", options @ ..]) => parse_format(options).map(|format| Task::BenchContinual { format }),
        ("bench", ["local", options @ ..]) => parse_format(options).map(|format| Task::BenchLocal { format }),
        ("bench", ["ledger", options @ ..]) => parse_format(options).map(|format| Task::BenchLedger { format }),
        ("bench", ["party", options @ ..]) => parse_format(options).map(|format| Task::BenchParty { format }),
        ("bench", ["sql", options @ ..]) => parse_format(options).map(|format| Task::BenchSql { format }),
        ("bench", ["service", "--short", options @ ..]) => {
            parse_format(options).map(|format| Task::BenchService { format, short: true })
        }
        ("bench", ["service", options @ ..]) => {
            parse_format(options).map(|format| Task::BenchService { format, short: false })
        }
        ("bench", ["once", options @ ..]) => parse_format(options).map(|format| Task::BenchOnce { format }),
        ("bench", ["noise", options @ ..] | options) => parse_format(options).map(|format| Task::BenchNoise { format }),
        (unknown, _) => Err(format!("there is no command {unknown}")),
    }
}

fn parse_manner(options: &[&str]) -> Result<test::Manner, String> {
    let mut manner = test::Manner::default();
    for option in options {
        match *option {
            "--long" => manner.long = true,
            "--timings" => manner.timings = true,
            unknown => return Err(format!("`test` does not understand {unknown}")),
        }
    }
    Ok(manner)
}

fn parse_format(options: &[&str]) -> Result<bench::Format, String> {
    match options {
        [] | ["--format", "table"] | ["--format=table"] => Ok(bench::Format::Table),
        ["--format", "json"] | ["--format=json"] => Ok(bench::Format::Json),
        unknown => Err(format!("`bench` does not understand {}", unknown.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Format;
    use crate::test::Manner;

    #[test]
    fn commands_are_understood() {
        assert_eq!(parse(&["test"]), Ok(Task::Test(Manner::default())));
        assert_eq!(parse(&["test", "--long"]), Ok(Task::Test(Manner { long: true, timings: false })));
        assert_eq!(parse(&["test", "--timings", "--long"]), Ok(Task::Test(Manner { long: true, timings: true })));
        assert_eq!(parse(&["lint"]), Ok(Task::Lint));
        assert_eq!(parse(&["book"]), Ok(Task::Book { check_only: false }));
        assert_eq!(parse(&["book", "--check"]), Ok(Task::Book { check_only: true }));
        assert_eq!(parse(&["mutants"]), Ok(Task::Mutants { word: String::new() }));
        assert_eq!(parse(&["mutants", "clock"]), Ok(Task::Mutants { word: "clock".into() }));
        assert_eq!(parse(&["wasm"]), Ok(Task::Wasm { write: false }));
        assert_eq!(parse(&["wasm", "--write"]), Ok(Task::Wasm { write: true }));
        assert_eq!(parse(&["figures"]), Ok(Task::Figures));
        assert_eq!(parse(&["bench"]), Ok(Task::BenchNoise { format: Format::Table }));
        assert_eq!(parse(&["bench", "noise", "--format", "json"]), Ok(Task::BenchNoise { format: Format::Json }));
        assert_eq!(parse(&["bench", "--format=json"]), Ok(Task::BenchNoise { format: Format::Json }));
        assert_eq!(parse(&["bench", "once"]), Ok(Task::BenchOnce { format: Format::Table }));
        assert_eq!(parse(&["bench", "once", "--format=json"]), Ok(Task::BenchOnce { format: Format::Json }));
        assert_eq!(parse(&["bench", "continual"]), Ok(Task::BenchContinual { format: Format::Table }));
        assert_eq!(parse(&["bench", "local"]), Ok(Task::BenchLocal { format: Format::Table }));
        assert_eq!(parse(&["bench", "ledger"]), Ok(Task::BenchLedger { format: Format::Table }));
        assert_eq!(parse(&["bench", "party"]), Ok(Task::BenchParty { format: Format::Table }));
        assert_eq!(parse(&["bench", "sql"]), Ok(Task::BenchSql { format: Format::Table }));
        assert_eq!(parse(&["bench", "service"]), Ok(Task::BenchService { format: Format::Table, short: false }));
        assert_eq!(
            parse(&["bench", "service", "--short", "--format=json"]),
            Ok(Task::BenchService { format: Format::Json, short: true })
        );
        assert_eq!(parse(&["bench", "--help"]), Ok(Task::Help));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert_eq!(parse(&["tset"]), Err("there is no command tset".into()));
        assert_eq!(parse(&["test", "--fast"]), Err("`test` does not understand --fast".into()));
        assert_eq!(parse(&["bench", "--format", "xml"]), Err("`bench` does not understand --format xml".into()));
        assert!(parse(&[]).is_err());
    }
}
