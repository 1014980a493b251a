//! The one error type of this crate.

use std::fmt::Display;
use std::path::Path;

use reticent::secrets::hide;
use thiserror::Error;

use crate::abort::Abort;
use crate::aggregators::Fault;

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
            Self::Parameter { .. } | Self::Form { .. } => true,
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
