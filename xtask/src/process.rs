//! Starts programs, and shows how to start them by hand.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the repository").to_path_buf()
}

/// Prefixes of variables that say which package is built or run.
const OF_A_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// Cargo's build folder.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// A program with its arguments and environment; its `Display` can be pasted into a shell.
#[derive(Debug, Clone)]
pub struct Invocation {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, &'static str)>,
    silent: bool,
}

impl Invocation {
    /// Splits a command line at its spaces.
    pub fn new(line: &str) -> Self {
        let mut words = line.split_whitespace().map(String::from);
        let program = words.next().expect("a command line names a program");
        Self { program, arguments: words.collect(), environment: Vec::new(), silent: false }
    }

    /// A program at a path, without arguments.
    pub fn program(path: impl AsRef<Path>) -> Self {
        let program = path.as_ref().to_string_lossy().into_owned();
        Self { program, arguments: Vec::new(), environment: Vec::new(), silent: false }
    }

    /// Adds arguments, split at spaces.
    pub fn and(mut self, arguments: &str) -> Self {
        self.arguments.extend(arguments.split_whitespace().map(String::from));
        self
    }

    /// Adds one argument, which may contain spaces.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Puts arguments before all others.
    fn first_arguments<const N: usize>(mut self, arguments: [String; N]) -> Self {
        self.arguments.splice(0..0, arguments);
        self
    }

    /// Sets an environment variable.
    pub fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Hides its output, if only its success matters.
    pub fn silently(mut self) -> Self {
        self.silent = true;
        self
    }

    /// The same program, pinned to one core where the system has a tool for it and allows it.
    pub fn on_one_core(mut self) -> Self {
        if Self::new("taskset -c 0 true").silently().succeeds() {
            let program = std::mem::replace(&mut self.program, "taskset".into());
            self = self.first_arguments(["-c".into(), "0".into(), program]);
        }
        self
    }

    /// Runs it with this process's own output; returns whether it succeeded.
    pub fn succeeds(&self) -> bool {
        self.command().status().is_ok_and(|status| status.success())
    }

    /// Runs it and returns what it printed.
    pub fn output(&self) -> Result<String, String> {
        let output = self.command().stdout(Stdio::piped()).stderr(Stdio::inherit()).output();
        match output {
            Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(output) => Err(format!("{self}\nended with {}", output.status)),
            Err(error) => Err(format!("{self}\ncould not be started: {error}")),
        }
    }

    fn command(&self) -> Command {
        // The same cargo that started this program, so that both use one toolchain.
        let program = match self.program.as_str() {
            "cargo" => env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            other => other.into(),
        };
        let mut command = Command::new(program);
        // Cargo told this program its package; passed on to another cargo, this would make some build scripts run
        // again.
        let ours = env::vars_os().map(|(name, _)| name);
        let ours = ours.filter(|name| OF_A_PACKAGE.iter().any(|start| name.to_string_lossy().starts_with(start)));
        for name in ours {
            command.env_remove(name);
        }
        command.args(&self.arguments).envs(self.environment.iter().copied()).current_dir(root());
        if self.silent {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        command
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        formatter.write_str(&quoted(&self.program))?;
        self.arguments.iter().try_for_each(|argument| write!(formatter, " {}", quoted(argument)))
    }
}

/// Whether there is a program of this name.
pub fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,+".contains(character);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invocations_can_be_pasted_into_a_shell() {
        let doc = Invocation::new("cargo doc --no-deps").variable("RUSTDOCFLAGS", "-D warnings").argument("it's");
        assert_eq!(doc.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s'");
    }

    #[test]
    fn failure_is_told_from_success() {
        let this_program_exists = Invocation::new("cargo --version");
        assert!(this_program_exists.clone().silently().succeeds());
        assert!(this_program_exists.output().unwrap().starts_with("cargo "));
        let missing = Invocation::new("no-such-program-anywhere");
        assert!(!missing.succeeds() && missing.output().is_err() && !exists("no-such-program-anywhere"));
    }
}
