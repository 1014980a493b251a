//! What a run sees of the system.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run::{Run, ended_well};
use crate::statistic::Statistic;

/// The `PATH` of the runs.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Time limit for testing an isolation.
const TRIAL: Duration = Duration::from_secs(5);

/// What separates a run from the rest of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// Its own namespaces for the network, processes and shared memory: it cannot reach other machines and sees only
    /// its own processes, all of which end with it.
    Full,
    /// Its own network namespace.
    Network,
    /// None, because the system does not allow it.
    Nothing,
}

impl Isolation {
    /// The strongest isolation that the system allows, found by running a program that does nothing.
    pub fn best() -> Self {
        let nothing = Statistic::script("exit 0");
        let works = |isolation: &Self| {
            let environment = Environment { isolation: *isolation, memory: None };
            environment.command(&nothing, &std::env::temp_dir()).is_some_and(|command| {
                let run = Run { command, input: [].into(), limit: TRIAL, errors: Stdio::null() };
                ended_well(run)
            })
        };
        [Self::Full, Self::Network].into_iter().find(works).unwrap_or(Self::Nothing)
    }

    /// A sentence that describes it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Full => "no network; other processes hidden",
            Self::Network => "no network; child processes may outlive their run",
            Self::Nothing => "network access NOT blocked (not permitted by the system)",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Network => "network",
            Self::Nothing => "none",
        }
    }

    /// The program that isolates another, with its arguments; `None` if it is not installed.
    fn wrapper(self) -> Option<Vec<OsString>> {
        let (programs, arguments): (&[&str], &[&[&str]]) = match self {
            Self::Nothing => return Some(Vec::new()),
            Self::Network => (&["unshare"], &[&["--user", "--map-current-user", "--net", "--"]]),
            Self::Full => (
                &["setpriv", "unshare"],
                &[
                    // Runs end when the process that started them does.
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
    /// What separates them from the rest of the system.
    pub isolation: Isolation,
    /// Address space limit of each process, in bytes; `None` for no limit.
    pub memory: Option<u64>,
}

impl Environment {
    /// The strongest isolation that the system allows, and no memory limit.
    pub fn best() -> Self {
        Self { isolation: Isolation::best(), memory: None }
    }

    /// The command that runs a statistic in a directory; `None` if the program that isolates it is gone.
    pub(crate) fn command(&self, statistic: &Statistic, directory: &Path) -> Option<Command> {
        let mut words = self.isolation.wrapper()?.into_iter();
        // A shell sets the limits and stays: the first process of a namespace ignores signals, even those raised by a
        // crash, so it must not be the program.
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
        command.arg("-c").arg(script).arg(statistic.path()).args(statistic.arguments());
        command.env_clear().current_dir(directory);
        for (name, value) in [("PATH", PATH), ("LANG", "C"), ("LC_ALL", "C"), ("TZ", "UTC")] {
            command.env(name, value);
        }
        command.env("HOME", directory).env("TMPDIR", directory);
        Some(command)
    }
}

/// A program in the runs' `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(executable)
}
