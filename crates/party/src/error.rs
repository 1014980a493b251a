//! The one error type of this crate.

use std::fmt::Display;
use std::path::Path;

use reticent::secrets::hide;
use thiserror::Error;

use crate::abort::Abort;
use crate::aggregators::Fault;
use crate::hex::Digest;

/// Why something was not done. No variant carries anything of a row, or a secret, so an error may be logged and shown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of a task or a configuration, or another parameter, that means nothing.
    #[error("{field} is {value}, but it must be {allowed}")]
    Parameter {
        /// The field's name as the user knows it.
        field: &'static str,
        /// What was given.
        value: String,
        /// What to write instead.
        allowed: String,
    },

    /// A file of another form than it should have.
    #[error("{path}: {reason}")]
    Form {
        /// Which file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A file that could not be read or written.
    #[error("{path} could not be {doing}: {reason}")]
    File {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: String,
        /// What the system said.
        reason: String,
    },

    /// Another process of this party is at it.
    #[error("another process uses the state directory {0}; there can be one at a time")]
    InUse(String),

    /// This attempt was charged before.
    #[error(
        "attempt {attempt} was charged before (entry {entry} of the ledger), so nothing is drawn for it again; was the state \
         directory deleted, or put back from a copy? Run again: the next attempt is another one"
    )]
    AttemptCharged {
        /// Which.
        attempt: u32,
        /// Where it was charged.
        entry: u64,
    },

    /// The parties did not come to an end together.
    #[error("{0}")]
    Aborted(Box<Abort>),

    /// The aggregators did not come to an end together.
    #[error("{0}")]
    Collection(Box<Fault>),

    /// The network of this machine did not do what it was asked.
    #[error("{doing} failed: {reason}")]
    Network {
        /// What was being done.
        doing: String,
        /// What the system said.
        reason: String,
    },

    /// The statistic of this party could not be computed. It was charged.
    #[error("the statistic could not be computed: {0}; the charge is kept")]
    Statistic(String),

    /// The numbers of the task are not those of its query: the guarantee would not hold, or the answer would be wrong.
    #[error("the task says {what} {said}, but its query has {derived}; `reticent party task new` writes what is right")]
    OtherTerms {
        /// Which number, as a sentence has it.
        what: String,
        /// What the task says.
        said: String,
        /// What follows from the query.
        derived: String,
    },

    /// The query has other cells in this party's table than in the task.
    #[error(
        "the query has other cells in this party's table than in the task, because of the types of its columns; write \
         CAST(… AS DOUBLE) or CAST(… AS VARCHAR) around those that it computes with"
    )]
    OtherCells,

    /// The query reads a table that the configuration does not name.
    #[error("the query reads a table {table}: say where it is, as in tables = {{ {table} = \"FILE\" }}")]
    NoTable {
        /// The table's name in the query.
        table: String,
    },

    /// The statistic was prepared for another task than the one that is to be run.
    #[error("the statistic was checked against the task {checked}, but this task is {task}")]
    OtherTask {
        /// The hash of the task that it was checked against.
        checked: Digest,
        /// The hash of the task that is to be run.
        task: Digest,
    },

    /// The query cannot be asked of several parties, or not of this party's tables.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Query(#[from] reticent_sql::Error),

    /// The ledger said no.
    #[error(transparent)]
    Ledger(#[from] reticent_ledger::Error),

    /// The core library said no.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn parameter(field: &'static str, value: impl Display, allowed: impl Into<String>) -> Self {
        let (value, allowed) = (value.to_string(), allowed.into());
        Self::Parameter { field, value: hide(&value).into_owned(), allowed: hide(&allowed).into_owned() }
    }

    pub(crate) fn file(doing: &'static str, path: &Path, reason: impl Display) -> Self {
        Self::File { doing, path: path.display().to_string(), reason: reason.to_string() }
    }

    pub(crate) fn form(path: &Path, reason: impl Display) -> Self {
        Self::Form { path: path.display().to_string(), reason: hide(&reason.to_string()).into_owned() }
    }

    pub(crate) fn network(doing: impl Into<String>, reason: impl Display) -> Self {
        Self::Network { doing: doing.into(), reason: reason.to_string() }
    }

    /// Is it something that the caller can put right by asking otherwise?
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Parameter { .. }
            | Self::Form { .. }
            | Self::OtherTerms { .. }
            | Self::OtherCells
            | Self::NoTable { .. }
            | Self::OtherTask { .. } => true,
            #[cfg(feature = "sql")]
            Self::Query(error) => error.is_usage(),
            Self::Ledger(error) => error.is_usage(),
            Self::Core(error) => error.is_parameter(),
            _ => false,
        }
    }

    /// Is there not enough budget left?
    pub fn is_overdrawn(&self) -> bool {
        matches!(self, Self::Ledger(error) if error.is_overdrawn())
    }

    /// The abort, if it is one.
    pub fn abort(&self) -> Option<&Abort> {
        match self {
            Self::Aborted(abort) => Some(abort),
            _ => None,
        }
    }
}
