//! Runs test programs, as many at a time as there are cores.
//!
//! Cargo runs them one after another. Many wait for something or are one long test, so much of the machine would be
//! idle.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde_json::Value;

use crate::process::Invocation;
use crate::slowest;

/// Which test programs to build, and how to run them.
#[derive(Debug, Clone, Copy)]
pub struct Tests {
    /// Cargo's options.
    pub targets: &'static str,
    /// The options of each program.
    pub arguments: &'static str,
}

/// The longest start first, so that nothing long is left at the end.
const LONGEST: [&str; 12] = [
    "replay",
    "catalogue",
    "crash",
    "hostile",
    "parties",
    "reticent",
    "reticent_aggregators",
    "fuzz",
    "faults",
    "weighed",
    "guides",
    "subsample",
];

#[derive(Debug, PartialEq, Eq)]
struct Program {
    name: String,
    path: PathBuf,
    /// The package's folder, in which cargo would run it.
    folder: PathBuf,
}

impl Tests {
    /// Builds and runs the programs; returns whether all succeeded. A program's output is shown as a whole when it has
    /// ended.
    pub fn succeed(&self) -> bool {
        let messages = self.cargo().and("--no-run --message-format=json-render-diagnostics").output();
        let mut programs: Vec<Program> = match messages {
            Ok(messages) => messages.lines().filter_map(program).collect(),
            Err(error) => {
                println!("{error}");
                return false;
            }
        };
        programs.sort_by_key(|program| LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len()));
        programs.reverse();
        let waiting = Mutex::new(programs);
        let failed = AtomicBool::new(false);
        let work = || {
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
            while let Some(program) = next() {
                if !program.succeeds(self.arguments) {
                    failed.store(true, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        !failed.into_inner()
    }

    fn cargo(&self) -> Invocation {
        Invocation::new("cargo test --workspace").and(self.targets)
    }
}

/// The command to run by hand.
impl fmt::Display for Tests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cargo().fmt(formatter)?;
        if self.arguments.is_empty() { Ok(()) } else { write!(formatter, " -- {}", self.arguments) }
    }
}

impl Program {
    fn succeeds(&self, arguments: &str) -> bool {
        let mut command = Command::new(&self.path);
        // Only programs of a nightly toolchain time their tests: pretend to be one.
        command.args(arguments.split_whitespace()).args(["-Zunstable-options", "--report-time"]);
        match command.env("RUSTC_BOOTSTRAP", "1").current_dir(&self.folder).output() {
            Ok(output) => {
                let (said, complained) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                slowest::note(&self.name, &said);
                // In one piece: others print at the same time.
                println!("\n     Running {} of {}\n{said}{complained}", self.name, self.folder.display());
                output.status.success()
            }
            Err(error) => {
                println!("{}: {error}", self.path.display());
                false
            }
        }
    }
}

/// The program that one of cargo's messages announces.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    if text("/reason")? != "compiler-artifact" || message.pointer("/profile/test")? != &Value::Bool(true) {
        return None;
    }
    let folder = Path::new(text("/manifest_path")?).parent()?.to_path_buf();
    Some(Program { name: text("/target/name")?.to_owned(), path: text("/executable")?.into(), folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_what_cargo_says() {
        let said = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/crates/a/Cargo.toml","target":{{"name":"streams"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let found = Program { name: "streams".into(), path: "/t/streams-0".into(), folder: "/r/crates/a".into() };
        assert_eq!(program(&said(true, r#""/t/streams-0""#)), Some(found));
        for other in [said(false, r#""/t/streams-0""#), said(true, "null"), r#"{"reason":"build-finished"}"#.into()] {
            assert_eq!(program(&other), None, "{other}");
        }
    }

    #[test]
    fn a_step_can_be_run_by_hand() {
        let tests = Tests { targets: "--test serve", arguments: "--ignored browser::" };
        assert_eq!(tests.to_string(), "cargo test --workspace --test serve -- --ignored browser::");
    }
}
