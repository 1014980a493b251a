//! This crate's error type.

use reticent::error::{Class, Explained};
use reticent::message::Message;
use std::fmt::Display;
use std::path::Path;

use reticent::secrets::hide;
use thiserror::Error;

use crate::abort::Abort;
use crate::aggregators::Fault;

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

    /// The collection failed.
    #[error("{0}")]
    Collection(Box<Fault>),

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
            Self::Parameter { .. } | Self::Form { .. } => Class::Request,
            Self::Ledger(error) => error.class(),
            Self::Core(error) => error.class(),
            _ => Class::Machine,
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Ledger(error) => error.message(),
            Self::Core(error) => error.message(),
            other => other.to_string().into(),
        }
    }
}
