//! Why a count failed.

use std::path::Path;
use std::{fmt, io};

use reticent::error::{Class, Explained};
use reticent::message;
use reticent::message::Message;

/// Why a count failed. No variant carries any part of a line.
///
/// Parameters are named after [`Draft`](super::Draft)'s fields, plus `save` and `resume`, which are up to the caller.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The value of a parameter is invalid.
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// The value that was given.
        value: String,
        /// What to write instead.
        allowed: &'static str,
    },
    /// A parameter is missing, or does not fit another one.
    Combination {
        /// The parameter to change.
        parameter: &'static str,
        /// What is wrong and what to do.
        advice: Message,
    },
    /// A parameter differs from the saved counter's.
    Differs {
        /// Its name.
        parameter: &'static str,
        /// The value that was given.
        given: String,
        /// The saved counter's value, if it has one.
        saved: Option<String>,
    },
    /// The input cannot be counted, which is known before a line is read.
    Input(Message),
    /// CSV without a first line.
    NoHeader {
        /// The input's name.
        input: String,
    },
    /// The header lacks a column, or has it more than once.
    Column {
        /// The input's name.
        input: String,
        /// The column.
        column: String,
        /// Whether more than one column has this name.
        several: bool,
    },
    /// Reading failed. The reason is withheld, because it may depend on the data.
    Reading,
    /// A saved counter already exists where a new one is to be saved.
    Exists(String),
    /// There is no saved counter, but a trace of one.
    LeftOver {
        /// The state.
        path: String,
        /// The leftover file.
        epoch: String,
    },
    /// There is no saved counter to resume.
    Absent(String),
    /// What is on disk is not a saved counter.
    Damaged(String),
    /// It is unknown whether a state is the newest.
    EpochLost {
        /// The state.
        path: String,
        /// The missing file.
        epoch: String,
    },
    /// Another process uses the saved counter.
    InUse(String),
    /// A state cannot be read or created.
    Unusable {
        /// Its path.
        path: String,
        /// The system's error message.
        reason: String,
    },
    /// A state could not be saved.
    Unsaved {
        /// Its path.
        path: String,
        /// The system's error message.
        reason: String,
    },
    /// The ledger's record for this request is not a count.
    NotACount,
    /// The output failed.
    Output(io::Error),
    /// The ledger refused.
    Ledger(reticent_ledger::Error),
    /// An error of the core library.
    Core(reticent::Error),
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
            Self::Ledger(error) => error.class(),
            Self::Parameter { .. }
            | Self::Combination { .. }
            | Self::Differs { .. }
            | Self::Input(_)
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
            Self::Combination { advice, .. } | Self::Input(advice) => advice.clone(),
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
                message!("{path} already exists; continue it with ", ["resume"], ", or name another file")
            }
            Self::LeftOver { path, epoch } => {
                message!(
                    "{epoch} is left over from a counter saved as {path}; remove it to start over, or name another file"
                )
            }
            Self::Absent(path) => message!("there is no saved counter {path}; leave ", ["resume"], " out to start one"),
            Self::Damaged(path) => message!("{path} is damaged, or not a saved counter"),
            Self::EpochLost { path, epoch } => {
                message!("{epoch} is missing or damaged, so {path} cannot be shown to be the newest state")
            }
            Self::InUse(path) => message!("another process is counting with {path}; wait for it to end"),
            Self::Unusable { path, reason } => message!(["save"], " cannot use {path}: {reason}"),
            Self::Unsaved { path, reason } => {
                message!("saving {path} failed: {reason}; what was not saved is not shown")
            }
            Self::NotACount => "the stored outcome of this request is not a count".into(),
            Self::Output(error) => error.to_string().into(),
            Self::Ledger(error) => error.message(),
            Self::Core(error) => error.message(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(formatter)
    }
}

/// Without a source: the message already contains that of an inner error.
impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<reticent_ledger::Error> for Error {
    fn from(error: reticent_ledger::Error) -> Self {
        Self::Ledger(error)
    }
}

impl From<reticent::Error> for Error {
    fn from(error: reticent::Error) -> Self {
        Self::Core(error)
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
