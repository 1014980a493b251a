//! The one error type of this crate.

use thiserror::Error;

/// Why something was not done. No variant carries anything of an event, so an error may be logged and shown.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of a definition, or another parameter, that means nothing.
    #[error("{field} is {value}, but it must be {allowed}")]
    Parameter {
        /// The field's name as the user knows it.
        field: &'static str,
        /// What was given.
        value: String,
        /// What to write instead.
        allowed: String,
    },

    /// There is a stream of that name already.
    #[error("there is a stream {0} already; choose another name")]
    Exists(String),

    /// No stream of that name.
    #[error("there is no stream {0}")]
    Missing(String),

    /// It is there, but cannot be opened.
    #[error("the stream {name} cannot be opened: {reason}; the other streams run, and nothing of it is lost")]
    Unopened {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },

    /// All steps of the horizon are released.
    #[error("the stream {0} has ended: all steps of its horizon are released; create another stream to go on")]
    Ended(String),

    /// Another process has the directory.
    #[error("another process uses the data directory {0}; there can be one at a time")]
    InUse(String),

    /// What is on the disk is not what was written there.
    #[error("{0} is damaged, or not from this version")]
    Damaged(String),

    /// The disk failed. What was not acknowledged may or may not have been written; what was acknowledged is.
    #[error("the data directory could not be {doing}: {reason}")]
    Storage {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        reason: String,
    },

    /// The streams were stopped.
    #[error("the streams are stopped")]
    Stopped,

    /// A source of events failed.
    #[error("the source {source_name} failed: {reason}")]
    Source {
        /// Which.
        source_name: String,
        /// What it said.
        reason: String,
    },

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
    pub(crate) fn parameter(field: &'static str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::Parameter { field, value: value.to_string(), allowed: allowed.into() }
    }

    pub(crate) fn storage(doing: &'static str, reason: impl ToString) -> Self {
        Self::Storage { doing, reason: reason.to_string() }
    }

    /// Is it something that the caller can put right by asking otherwise?
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Parameter { .. } | Self::Exists(_) | Self::Missing(_) => true,
            Self::Ledger(error) => error.is_usage(),
            Self::Core(error) => error.is_parameter(),
            _ => false,
        }
    }

    /// Is there not enough budget left?
    pub fn is_overdrawn(&self) -> bool {
        matches!(self, Self::Ledger(error) if error.is_overdrawn())
    }

    /// Is the stream over?
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Ended(_))
    }

    /// Did the disk fail? The same may work later.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. }) || matches!(self, Self::Ledger(error) if error.is_storage())
    }
}
