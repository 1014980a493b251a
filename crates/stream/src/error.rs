//! This crate's error type.

use reticent::error::{Class, Explained};
use reticent::message::Message;
use thiserror::Error;

/// Why an operation failed. No variant contains anything from an event, so errors may be logged and shown.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid field of a definition, or another invalid parameter.
    #[error("{field} is {value}, but it must be {allowed}")]
    Parameter {
        /// The field's name, as the user knows it.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },

    /// The name is taken.
    #[error("there is already a stream {0}; choose another name")]
    Exists(String),

    /// There is no stream of that name.
    #[error("there is no stream {0}")]
    Missing(String),

    /// The stream exists, but cannot be opened.
    #[error("the stream {name} cannot be opened: {reason}; its data is not lost, and the other streams run")]
    Unopened {
        /// The stream.
        name: String,
        /// Why.
        reason: String,
    },

    /// All steps of the horizon are released.
    #[error("the stream {0} has ended: all steps of its horizon were released; create another stream to continue")]
    Ended(String),

    /// Another process is using the directory.
    #[error("another process is using the data directory {0}; only one can at a time")]
    InUse(String),

    /// The data on the disk was changed or is of another format.
    #[error("{0} is damaged, or not from this version")]
    Damaged(String),

    /// The disk failed. What was not acknowledged may or may not have been written; what was acknowledged is.
    #[error("the data directory could not be {doing}: {reason}")]
    Storage {
        /// The failed operation, as a participle.
        doing: &'static str,
        /// The system's error message.
        reason: String,
    },

    /// The streams were stopped.
    #[error("the streams were stopped")]
    Stopped,

    /// A source of events failed.
    #[error("the source {source_name} failed: {reason}")]
    Source {
        /// The source.
        source_name: String,
        /// Its error message.
        reason: String,
    },

    /// An error of the ledger.
    #[error(transparent)]
    Ledger(#[from] reticent_ledger::Error),

    /// An error of the core library.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn parameter(field: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::Parameter { field, value: value.to_string(), allowed: allowed.into() }
    }

    pub(crate) fn storage(doing: &'static str, reason: impl ToString) -> Self {
        Self::Storage { doing, reason: reason.to_string() }
    }

    /// Whether the stream has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Ended(_))
    }

    /// Whether the disk or the server failed. A retry may succeed.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. }) || matches!(self, Self::Ledger(error) if error.is_storage())
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Parameter { .. } => Class::Request,
            Self::Missing(_) => Class::Missing,
            Self::Exists(_) | Self::Ended(_) | Self::InUse(_) => Class::Conflict,
            Self::Stopped => Class::Stopping,
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

    fn setting(&self) -> Option<&str> {
        match self {
            Self::Parameter { field, .. } => Some(field),
            Self::Ledger(error) => error.setting(),
            Self::Core(error) => error.setting(),
            _ => None,
        }
    }
}
