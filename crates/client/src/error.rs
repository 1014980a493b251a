//! This crate's error type.

use reticent::error::{Class, Explained};
use reticent::message;
use reticent::message::Message;
use thiserror::Error;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The address of the service is not one.
    #[error("{}", self.message())]
    Address(String),

    /// Nothing answers at this address.
    #[error("{}", self.message())]
    Unreachable {
        /// The address.
        address: String,
        /// Why.
        reason: String,
    },

    /// The response ended early.
    #[error("the response from {address} broke off: {reason}")]
    BrokenOff {
        /// The address.
        address: String,
        /// Why.
        reason: String,
    },

    /// The service refused, and says why; or something else answered.
    #[error("{message}")]
    Refused {
        /// The status of the response.
        status: u16,
        /// What is wrong.
        message: Message,
    },

    /// The input could not be read.
    #[error("{0}")]
    Input(String),

    /// Sending failed after some lines were acknowledged.
    #[error("{}{error}", acknowledged_words(*.acknowledged))]
    Partly {
        /// How many lines were acknowledged.
        acknowledged: u64,
        /// Why the next ones were not.
        error: Box<Error>,
    },
}

fn acknowledged_words(lines: u64) -> String {
    match lines {
        1 => "1 line was acknowledged, the rest were not: ".into(),
        lines => format!("{lines} lines were acknowledged, the rest were not: "),
    }
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Refused { status: 402, .. } => Class::Exhausted,
            Self::Address(_) | Self::Refused { status: 400..500, .. } => Class::Request,
            Self::Partly { error, .. } => error.class(),
            _ => Class::Machine,
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Address(address) => {
                message!(["server"], " {address}: write it as http://127.0.0.1:8080 or https://stats.example.org")
            }
            Self::Unreachable { address, reason } => message!(
                "the service at {address} does not answer: {reason}; is `reticent serve` running, and ",
                ["server"],
                " right?"
            ),
            Self::Refused { message, .. } => message.clone(),
            Self::Partly { acknowledged, error } => {
                let mut message: Message = acknowledged_words(*acknowledged).into();
                message.extend(error.message());
                message
            }
            other => other.to_string().into(),
        }
    }
}
