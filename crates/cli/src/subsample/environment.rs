//! What a run sees of the system.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::run::{Run, ended_well};
use super::statistic::Statistic;

/// Where a run looks for programs.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How long the test of an isolation may take.
const TRIAL: Duration = Duration::from_secs(5);

/// What keeps a run from the rest of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Namespaces of its own for the network, processes and shared memory: it reaches no other machine, sees no process
    /// but its own, and all of them end with it.
    Full,
    /// A namespace of its own for the network.
    Network,
    /// Nothing: the system does not allow it.
    Nothing,
}

impl Isolation {
    /// The best that the system allows, found by running a program that does nothing.
    pub fn best() -> Self {
        let nothing = Statistic {
            program: "/bin/sh".into(),
            arguments: ["-c", "exit 0"].map(OsString::from).to_vec(),
            description: String::new(),
        };
        let works = |isolation: &Self| {
            let environment = Environment { isolation: *isolation, memory: None };
            environment.command(&nothing, &std::env::temp_dir()).is_some_and(|command| {
                let run = Run { command, input: [].into(), limit: TRIAL, errors: Stdio::null() };
                ended_well(run)
            })
        };
        [Self::Full, Self::Network].into_iter().find(works).unwrap_or(Self::Nothing)
    }

    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Full => "no network, no other processes in sight",
            Self::Network => "no network; processes that a run leaves behind may go on",
            Self::Nothing => "network NOT cut off (the system does not allow it)",
        }
    }

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Network => "network",
            Self::Nothing => "none",
        }
    }

    /// The program that isolates another, with its arguments; nothing if it is not installed.
    fn wrapper(self) -> Option<Vec<OsString>> {
        let (programs, arguments): (&[&str], &[&[&str]]) = match self {
            Self::Nothing => return Some(Vec::new()),
            Self::Network => (&["unshare"], &[&["--user", "--map-current-user", "--net", "--"]]),
            Self::Full => (
                &["setpriv", "unshare"],
                &[
                    // Whoever ends this program ends its runs.
                    &["--pdeathsig", "KILL", "--"],
                    &[
                        "--user",
                        "--map-current-user",
                        "--net",
                        "--ipc",
                        "--pid",
                        "--fork",
                        "--kill-child",
                        "--mount-proc",
                        "--",
                    ],
                ],
            ),
        };
        let mut words = Vec::new();
        for (program, arguments) in programs.iter().zip(arguments) {
            words.push(find(program)?.into());
            words.extend(arguments.iter().map(OsString::from));
        }
        Some(words)
    }
}

/// How runs are started.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// What keeps them from the rest of the system.
    pub isolation: Isolation,
    /// How many bytes of address space a process of theirs may have.
    pub memory: Option<u64>,
}

impl Environment {
    /// The command that runs a statistic in a directory; nothing if what isolates it is gone.
    pub fn command(&self, statistic: &Statistic, directory: &Path) -> Option<Command> {
        let mut words = self.isolation.wrapper()?.into_iter();
        // A shell in between sets the limits. It does not become the program: the first process of a namespace is deaf to
        // signals, also to those that a crash raises.
        let limit =
            self.memory.map_or_else(String::new, |bytes| format!("ulimit -v {} || exit 126; ", bytes.div_ceil(1024)));
        let script = format!("ulimit -c 0; {limit}\"$0\" \"$@\"; exit $?");
        let shell = "/bin/sh";
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(shell);
                command
            }
            None => Command::new(shell),
        };
        command.arg("-c").arg(script).arg(&statistic.program).args(&statistic.arguments);
        command.env_clear().current_dir(directory);
        for (name, value) in [("PATH", PATH), ("LANG", "C"), ("LC_ALL", "C"), ("TZ", "UTC")] {
            command.env(name, value);
        }
        command.env("HOME", directory).env("TMPDIR", directory);
        Some(command)
    }
}

/// A program in the runs' own path.
pub fn find(name: &str) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(executable)
}
