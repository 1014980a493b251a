//! This crate's error type.

use reticent::error::{Class, Explained};
use reticent::message;
use reticent::message::Message;
use std::fmt::Display;
use std::path::Path;

use reticent::secrets::hide;
use thiserror::Error;

use crate::abort::Abort;
use crate::hex::Digest;

/// What went wrong. No variant contains row data or secrets, so an error may be logged and shown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid field of a task or configuration, or another invalid parameter.
    #[error("{field} is {value}, but it must be {allowed}")]
    Parameter {
        /// The name of the field, as the user knows it.
        field: &'static str,
        /// The value given.
        value: String,
        /// What is allowed.
        allowed: String,
    },

    /// A request that cannot be fulfilled as it was made; the message says what to write instead.
    #[error("{0}")]
    Request(Message),

    /// An error about one party of a simulation.
    #[error("{}", self.message())]
    OfParty(String, Box<Error>),

    /// A file in the wrong format.
    #[error("{path}: {reason}")]
    Form {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A file that could not be read or written.
    #[error("{path} could not be {doing}: {reason}")]
    File {
        /// What could not be done.
        doing: &'static str,
        /// The file.
        path: String,
        /// The operating system's message.
        reason: String,
    },

    /// Another process of this party is using the state directory.
    #[error("another process is using the state directory {0}; only one can at a time")]
    InUse(String),

    /// This attempt has already been charged.
    #[error(
        "attempt {attempt} has already been charged (ledger entry {entry}), so no noise is drawn for it again; was the state \
         directory deleted, or restored from a backup? Run again to start the next attempt"
    )]
    AttemptCharged {
        /// The attempt.
        attempt: u32,
        /// The ledger entry of the charge.
        entry: u64,
    },

    /// The attempt was aborted.
    #[error("{0}")]
    Aborted(Box<Abort>),

    /// A network operation failed on this machine.
    #[error("{doing} failed: {reason}")]
    Network {
        /// What was attempted.
        doing: String,
        /// The operating system's message.
        reason: String,
    },

    /// This party's statistic could not be computed after the charge.
    #[error("the statistic could not be computed: {0}; the charge is kept")]
    Statistic(String),

    /// A party's statistic could not be computed in a simulation.
    #[error("{0}")]
    Simulated(String),

    /// The numbers of the task are not those of its query: the guarantee would not hold, or the answer would be wrong.
    #[error(
        "the task states {what} = {said}, but its query requires {derived}; `reticent party task new` writes the right one"
    )]
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
        "on this party's table the query yields different cells than in the task, because column types differ; write \
         CAST(… AS DOUBLE) or CAST(… AS VARCHAR) around those that it computes with"
    )]
    OtherCells,

    /// The query reads a table that the configuration does not name.
    #[error("the query reads a table {table}: set its path, as in tables = {{ {table} = \"FILE\" }}")]
    NoTable {
        /// The table's name in the query.
        table: String,
    },

    /// The statistic was prepared for another task than the one to be run.
    #[error("the statistic was checked against the task {checked}, but this task is {task}")]
    OtherTask {
        /// The hash of the task that it was checked against.
        checked: Digest,
        /// The hash of the task to be run.
        task: Digest,
    },

    /// Rows that have a budget of their own were to be charged to another dataset.
    #[error(
        "{owner} has a budget of {budget} in this ledger, but this would be charged to {dataset}; query {owner} separately, \
         under its own dataset"
    )]
    OtherBudget {
        /// The dataset that the rows belong to.
        owner: String,
        /// Its budget.
        budget: String,
        /// The dataset that was to be charged.
        dataset: String,
    },

    /// The query cannot be answered by several parties together, or not from this party's tables.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Query(#[from] reticent_sql::Error),

    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] reticent_ledger::Error),

    /// The core library refused.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An [`Error::Parameter`], without the secrets that were written into it.
    pub fn parameter(field: &'static str, value: impl Display, allowed: impl Into<String>) -> Self {
        let (value, allowed) = (value.to_string(), allowed.into());
        Self::Parameter { field, value: hide(&value).into_owned(), allowed: hide(&allowed).into_owned() }
    }

    /// An [`Error::File`].
    pub fn file(doing: &'static str, path: &Path, reason: impl Display) -> Self {
        Self::File { doing, path: path.display().to_string(), reason: reason.to_string() }
    }

    /// An [`Error::Form`], without the secrets that were written into it.
    pub fn form(path: &Path, reason: impl Display) -> Self {
        Self::Form { path: path.display().to_string(), reason: hide(&reason.to_string()).into_owned() }
    }

    /// An [`Error::Network`].
    pub fn network(doing: impl Into<String>, reason: impl Display) -> Self {
        Self::Network { doing: doing.into(), reason: reason.to_string() }
    }

    /// The abort, if this is one.
    pub fn abort(&self) -> Option<&Abort> {
        match self {
            Self::Aborted(abort) => Some(abort),
            _ => None,
        }
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Parameter { .. }
            | Self::Request(_)
            | Self::Form { .. }
            | Self::OtherTerms { .. }
            | Self::OtherCells
            | Self::NoTable { .. }
            | Self::OtherBudget { .. }
            | Self::OtherTask { .. } => Class::Request,
            #[cfg(feature = "sql")]
            Self::Query(error) => error.class(),
            Self::Ledger(error) => error.class(),
            Self::Core(error) => error.class(),
            Self::OfParty(_, error) => error.class(),
            _ => Class::Machine,
        }
    }

    fn message(&self) -> Message {
        match self {
            #[cfg(feature = "sql")]
            Self::Query(error) => error.message(),
            Self::Ledger(error) => error.message(),
            Self::Core(error) => error.message(),
            Self::Request(message) => message.clone(),
            Self::OfParty(party, error) => {
                let mut message = message!("party {party}: ");
                message.extend(error.message());
                message
            }
            other => other.to_string().into(),
        }
    }
}
