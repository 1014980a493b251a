//! This crate's error type.

use reticent::error::{Class, Explained};
use reticent::message;
use reticent::message::Message;
use thiserror::Error;

/// Why an operation failed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// Too few reports for an estimate.
    #[error("there are {there} reports of this task, but its minimum-batch is {needed}; collect more")]
    TooFew {
        /// How many there are.
        there: u64,
        /// How many are needed.
        needed: u64,
    },

    /// The guarantee after shuffling cannot be stated.
    #[error("no guarantee for shuffled reports: {0}")]
    NoShuffling(String),

    /// More honest reports than there are reports, or none.
    #[error("honest is {honest}, but it must be from 1 to {reports}, the number of reports")]
    Honest {
        /// How many are said to be honest.
        honest: u64,
        /// How many there are.
        reports: u64,
    },

    /// The name is bound to another task.
    #[error("{0} is already the name of another task; tasks cannot be changed: choose another name")]
    OtherTask(String),

    /// The file was changed or is of another format.
    #[error("{0} is damaged, not a file of reports, or not from this version")]
    Damaged(String),

    /// The disk failed. What was not acknowledged may or may not have been written; what was acknowledged is.
    #[error("the file of reports could not be {doing}: {reason}")]
    Storage {
        /// The failed operation, as a participle.
        doing: &'static str,
        /// The system's error message.
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

    /// A device's folder cannot be used.
    #[error("the device {path}: {reason}")]
    Device {
        /// The folder.
        path: String,
        /// What is wrong with it.
        reason: String,
    },

    /// An error of the core library.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether there are too few reports.
    pub fn is_too_few(&self) -> bool {
        matches!(self, Self::TooFew { .. })
    }

    /// Whether the task or its reports rule out what was requested.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::TooFew { .. } | Self::NoShuffling(_))
    }
}

reticent_durable::from_failure!(Error);

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            // The caller named the file.
            Self::OtherTask(_)
            | Self::TaskFile { .. }
            | Self::Device { .. }
            | Self::Damaged(_)
            | Self::Honest { .. } => Class::Request,
            Self::TooFew { .. } | Self::NoShuffling(_) => Class::Conflict,
            Self::Core(error) => error.class(),
            _ => Class::Machine,
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Device { path, reason } => message!(["device"], " {path}: {reason}"),
            Self::Honest { honest, reports } => {
                message!(["honest"], " is {honest}, but it must be from 1 to {reports}, the number of reports")
            }
            Self::Core(error) => error.message(),
            other => other.to_string().into(),
        }
    }
}
