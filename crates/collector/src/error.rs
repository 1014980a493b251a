//! The one error type of this crate.

use reticent_durable::{Failure, FromFailure};
use thiserror::Error;

/// Why something was not done.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// Too few reports for an estimate.
    #[error("there are {there} reports of this task, and its minimum-batch is {needed}; collect more")]
    TooFew {
        /// So many there are.
        there: u64,
        /// So many there must be.
        needed: u64,
    },

    /// What a shuffler adds cannot be stated.
    #[error("no statement about shuffling: {0}")]
    NoShuffling(String),

    /// A name stands for another task.
    #[error("{0} is the name of another task, whose reports are kept; tasks do not change: choose another name")]
    OtherTask(String),

    /// What is on the disk is not what was written there.
    #[error("{0} is damaged, or no file of reports, or not from this version")]
    Damaged(String),

    /// The disk failed. What was not acknowledged may or may not have been written; what was acknowledged is.
    #[error("the file of reports could not be {doing}: {reason}")]
    Storage {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        reason: String,
    },

    /// The reports could not be read.
    #[error("the reports could not be read: {0}")]
    Input(String),

    /// A task cannot be read from a file.
    #[error("the task {path}: {reason}")]
    TaskFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The core library said no.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Are there too few reports?
    pub fn is_too_few(&self) -> bool {
        matches!(self, Self::TooFew { .. })
    }

    /// Can these reports of this task not give what was asked for?
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::TooFew { .. } | Self::NoShuffling(_))
    }

    /// Is it something that the caller can put right by asking otherwise?
    pub fn is_usage(&self) -> bool {
        match self {
            Self::OtherTask(_) | Self::Damaged(_) | Self::TaskFile { .. } => true,
            Self::Core(error) => error.is_parameter(),
            _ => false,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Damaged(what) => Self::Damaged(what),
            Failure::Storage { doing, reason } => Self::Storage { doing, reason },
        }
    }
}

impl FromFailure for Error {
    fn is_failure(&self) -> bool {
        matches!(self, Self::Storage { .. } | Self::Damaged(_))
    }
}
