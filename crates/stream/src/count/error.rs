//! Why something was not counted.

use std::borrow::Cow;
use std::path::Path;
use std::{fmt, io};

/// Why something was not counted. No variant carries anything of a line.
///
/// Parameters have the names of [`Draft`](super::Draft)'s fields, and of two things that the caller does: `save` and `resume`.
/// [`Error::with_names`] tells a user what they call them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value of a parameter means nothing.
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// What was given.
        value: String,
        /// What to write instead.
        allowed: &'static str,
    },
    /// A parameter is missing, or does not go with another one.
    Combination {
        /// The one to change.
        parameter: &'static str,
        /// What is wrong and what to do, with the names of parameters in backticks.
        advice: Cow<'static, str>,
    },
    /// A parameter is not that of the saved counter.
    Differs {
        /// Its name.
        parameter: &'static str,
        /// What was given.
        given: String,
        /// What the counter began with, if with anything.
        saved: Option<String>,
    },
    /// CSV without a first line.
    NoHeader {
        /// What was read.
        input: String,
    },
    /// The header does not have a column exactly once.
    Column {
        /// What was read.
        input: String,
        /// Which column.
        column: String,
        /// More than one has the name.
        several: bool,
    },
    /// Reading failed. Why is not told: the reason may lie in the data.
    Reading,
    /// There is a saved counter already where a new one is to be saved.
    Exists(String),
    /// There is no saved counter, but the trace of one.
    LeftOver {
        /// The state.
        path: String,
        /// What is left.
        epoch: String,
    },
    /// There is no saved counter to resume.
    Absent(String),
    /// What is on disk is not a saved counter.
    Damaged(String),
    /// Whether a state is the newest cannot be told.
    EpochLost {
        /// The state.
        path: String,
        /// What is missing.
        epoch: String,
    },
    /// Another process uses the saved counter.
    InUse(String),
    /// A state cannot be read or made there.
    Unusable {
        /// Where.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The disk did not take a state.
    Unsaved {
        /// Where.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// What a ledger keeps for the request is something else.
    NotACount,
    /// The audience could not be shown something.
    Output(#[from] io::Error),
    /// The core library said no.
    Core(#[from] reticent::Error),
}

/// `Result` with this module's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(super) fn combination(parameter: &'static str, advice: impl Into<Cow<'static, str>>) -> Self {
        Self::Combination { parameter, advice: advice.into() }
    }

    pub(super) fn unusable(path: &Path, error: &io::Error) -> Self {
        Self::Unusable { path: path.display().to_string(), reason: error.to_string() }
    }

    /// Can the caller put it right by asking otherwise? Then nothing was charged.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Core(error) => error.is_parameter(),
            Self::Parameter { .. }
            | Self::Combination { .. }
            | Self::Differs { .. }
            | Self::NoHeader { .. }
            | Self::Column { .. }
            | Self::Exists(_)
            | Self::LeftOver { .. }
            | Self::Absent(_)
            | Self::Unusable { .. } => true,
            _ => false,
        }
    }

    /// What went wrong, for a user who knows each parameter by the name that `name` returns: on a command line, `--step` for
    /// `step`.
    pub fn with_names(&self, name: impl Fn(&str) -> String) -> String {
        match self {
            Self::Parameter { parameter, value, allowed } => {
                format!("{} is {value}, but it must be {allowed}", name(parameter))
            }
            Self::Combination { advice, .. } => {
                let words = advice.split('`').enumerate();
                words.map(|(place, word)| if place % 2 == 1 { name(word) } else { word.to_owned() }).collect()
            }
            Self::Differs { parameter, given, saved } => {
                let parameter = name(parameter);
                let began = saved.as_ref().map_or_else(|| "without".into(), |saved| format!("with {saved}"));
                format!(
                    "{parameter} is {given}, but the saved counter began {began}; leave {parameter} out, or start a new \
                     counter"
                )
            }
            Self::NoHeader { input } => format!("{input} has no header line; CSV needs one"),
            Self::Column { input, column, several: false } => {
                format!("{input} has no column {column}; its first line must name the columns")
            }
            Self::Column { input, column, several: true } => {
                format!("{input} has several columns {column}; their names must differ")
            }
            Self::Reading => "reading the input failed".into(),
            Self::Exists(path) => {
                format!("{path} exists already; go on from it with {}, or name another file", name("resume"))
            }
            Self::LeftOver { path, epoch } => {
                format!(
                    "{epoch} is left of a counter that was saved as {path}; remove it to start anew, or name another file"
                )
            }
            Self::Absent(path) => {
                format!("there is no saved counter {path}; leave {} out to start one", name("resume"))
            }
            Self::Damaged(path) => format!("{path} is damaged, or not a saved counter"),
            Self::EpochLost { path, epoch } => {
                format!("{epoch} is missing or damaged: whether {path} is the newest state cannot be told")
            }
            Self::InUse(path) => format!("another process is counting with {path}; wait for it to end"),
            Self::Unusable { path, reason } => format!("{} cannot use {path}: {reason}", name("save")),
            Self::Unsaved { path, reason } => {
                format!("saving {path} failed: {reason}; what was not saved is not shown")
            }
            Self::NotACount => "what the ledger keeps for this request is not a count".into(),
            Self::Output(error) => error.to_string(),
            Self::Core(error) => error.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.with_names(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_names_that_the_caller_gives_them() {
        let flag = |name: &str| format!("--{name}");
        let missing = Error::combination("from", "`step` needs `from`, the start of the first step");
        assert_eq!(missing.to_string(), "step needs from, the start of the first step");
        assert_eq!(missing.with_names(flag), "--step needs --from, the start of the first step");
        let wrong = Error::Parameter { parameter: "step", value: "`1`".into(), allowed: "a length of time" };
        assert_eq!(wrong.with_names(flag), "--step is `1`, but it must be a length of time");
        let unusable = Error::unusable(Path::new("state"), &io::Error::other("full"));
        assert_eq!(unusable.with_names(flag), "--save cannot use state: full");
    }
}
