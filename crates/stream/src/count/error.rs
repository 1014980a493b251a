//! Why something was not counted.

use std::path::Path;
use std::{fmt, io};

use reticent::error::{Class, Explained};
use reticent::message;
use reticent::message::Message;

/// Why something was not counted. No variant carries anything of a line.
///
/// Parameters have the names of [`Draft`](super::Draft)'s fields, and of two things that the caller does: `save` and
/// `resume`.
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
        /// What is wrong and what to do.
        advice: Message,
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
    pub(super) fn combination(parameter: &'static str, advice: impl Into<Message>) -> Self {
        Self::Combination { parameter, advice: advice.into() }
    }

    pub(super) fn unusable(path: &Path, error: &io::Error) -> Self {
        Self::Unusable { path: path.display().to_string(), reason: error.to_string() }
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Core(error) => error.class(),
            Self::Parameter { .. }
            | Self::Combination { .. }
            | Self::Differs { .. }
            | Self::NoHeader { .. }
            | Self::Column { .. }
            | Self::Absent(_)
            | Self::Unusable { .. } => Class::Request,
            Self::Exists(_) | Self::LeftOver { .. } => Class::Conflict,
            _ => Class::Machine,
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Parameter { parameter, value, allowed } => {
                message!([parameter], " is {value}, but it must be {allowed}")
            }
            Self::Combination { advice, .. } => advice.clone(),
            Self::Differs { parameter, given, saved } => {
                let began = saved.as_ref().map_or_else(|| "without".into(), |saved| format!("with {saved}"));
                message!(
                    [parameter],
                    " is {given}, but the saved counter began {began}; leave ",
                    [parameter],
                    " out, or start a new counter"
                )
            }
            Self::NoHeader { input } => message!("{input} has no header line; CSV needs one"),
            Self::Column { input, column, several: false } => {
                message!("{input} has no column {column}; its first line must name the columns")
            }
            Self::Column { input, column, several: true } => {
                message!("{input} has several columns {column}; their names must differ")
            }
            Self::Reading => "reading the input failed".into(),
            Self::Exists(path) => {
                message!("{path} exists already; go on from it with ", ["resume"], ", or name another file")
            }
            Self::LeftOver { path, epoch } => {
                message!(
                    "{epoch} is left of a counter that was saved as {path}; remove it to start anew, or name another file"
                )
            }
            Self::Absent(path) => message!("there is no saved counter {path}; leave ", ["resume"], " out to start one"),
            Self::Damaged(path) => message!("{path} is damaged, or not a saved counter"),
            Self::EpochLost { path, epoch } => {
                message!("{epoch} is missing or damaged, so there is no telling whether {path} is the newest state")
            }
            Self::InUse(path) => message!("another process is counting with {path}; wait for it to end"),
            Self::Unusable { path, reason } => message!(["save"], " cannot use {path}: {reason}"),
            Self::Unsaved { path, reason } => {
                message!("saving {path} failed: {reason}; what was not saved is not shown")
            }
            Self::NotACount => "what the ledger keeps for this request is not a count".into(),
            Self::Output(error) => error.to_string().into(),
            Self::Core(error) => error.message(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use reticent::message::Spelling;

    use super::*;

    #[test]
    fn parameters_have_the_names_that_the_caller_gives_them() {
        let flags = |error: &Error| error.message().spelled(Spelling::Flag);
        let missing =
            Error::combination("from", message!(["step"], " needs ", ["from"], ", the start of the first step"));
        assert_eq!(missing.to_string(), "`step` needs `from`, the start of the first step");
        assert_eq!(flags(&missing), "--step needs --from, the start of the first step");
        let wrong = Error::Parameter { parameter: "step", value: "`1`".into(), allowed: "a length of time" };
        assert_eq!(flags(&wrong), "--step is `1`, but it must be a length of time");
        let unusable = Error::unusable(Path::new("state"), &io::Error::other("full"));
        assert_eq!(flags(&unusable), "--save cannot use state: full");
    }
}
