//! This crate's error type.

use std::fmt::Display;
use std::path::Path;

use reticent::error::{Class, Explained};
use reticent::message::Message;
use thiserror::Error;

use crate::fault::Fault;

/// What went wrong. No variant contains answers or secrets, so an error may be logged and shown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The collection failed.
    #[error("{0}")]
    Collection(Box<Fault>),

    /// An invalid field, file or key, or a network operation that failed.
    #[error(transparent)]
    Party(#[from] reticent_party::Error),

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
        reticent_party::Error::parameter(field, value, allowed).into()
    }

    pub(crate) fn file(doing: &'static str, path: &Path, reason: impl Display) -> Self {
        reticent_party::Error::file(doing, path, reason).into()
    }

    pub(crate) fn form(path: &Path, reason: impl Display) -> Self {
        reticent_party::Error::form(path, reason).into()
    }

    pub(crate) fn network(doing: impl Into<String>, reason: impl Display) -> Self {
        reticent_party::Error::network(doing, reason).into()
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Collection(_) => Class::Machine,
            Self::Party(error) => error.class(),
            Self::Ledger(error) => error.class(),
            Self::Core(error) => error.class(),
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Collection(fault) => fault.to_string().into(),
            Self::Party(error) => error.message(),
            Self::Ledger(error) => error.message(),
            Self::Core(error) => error.message(),
        }
    }
}
