//! This crate's error type.

use reticent::error::{Class, Explained};
use reticent::ledger::UNFINISHED;
use reticent::message;
use reticent::message::Message;
use thiserror::Error;

use crate::account::Suspension;
use crate::budget::Overdraft;

/// Why a ledger operation failed. Unless the variant says otherwise, nothing was charged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Not enough budget left.
    #[error("{0}")]
    Overdrawn(Box<Overdraft>),

    /// The dataset is not registered.
    #[error("the ledger has no dataset {0}; register it with `reticent ledger create`")]
    NoSuchDataset(String),

    /// The dataset is already registered.
    #[error("the ledger already has a dataset {0}; its budget is fixed")]
    DatasetExists(String),

    /// The limit is below what was spent before it was set.
    #[error("{dataset} has already spent {spent}, more than {limit}; a limit must be at least what was spent")]
    AlreadySpent {
        /// The dataset.
        dataset: String,
        /// What was spent, in the limit's currency.
        spent: String,
        /// The limit.
        limit: String,
    },

    /// The limit's currency cannot count what was spent before.
    #[error("{dataset} has already spent {spent}, which a limit of {limit} cannot count; {instead}")]
    Uncountable {
        /// The dataset.
        dataset: String,
        /// What was spent.
        spent: String,
        /// The limit.
        limit: String,
        /// What limit to set instead.
        instead: &'static str,
    },

    /// The charge's unit differs from the dataset's.
    #[error(
        "the budget of {dataset} is for the privacy unit {registered}, but this release is for {asked}; the two cannot be composed"
    )]
    OtherUnit {
        /// The dataset.
        dataset: String,
        /// The dataset's unit.
        registered: String,
        /// The charge's unit.
        asked: String,
    },

    /// The charge's adjacency differs from the dataset's.
    #[error(
        "the budget of {dataset} is for the adjacency {registered}, but this release is for {asked}; the two cannot be composed"
    )]
    OtherAdjacency {
        /// The dataset.
        dataset: String,
        /// The dataset's adjacency.
        registered: String,
        /// The charge's adjacency.
        asked: String,
    },

    /// The charge's currency cannot be converted to the budget's.
    #[error("the budget of {dataset} is in {budget}, and {cost} cannot be charged to it; {instead}")]
    OtherCurrency {
        /// The dataset.
        dataset: String,
        /// The budget's currency: `ε`, `ε and δ`, or `ρ`.
        budget: &'static str,
        /// The cost of the charge.
        cost: String,
        /// What to ask for instead.
        instead: &'static str,
    },

    /// A run on the dataset failed, and the dataset was not reopened.
    #[error(
        "{dataset} is suspended: {suspension}, and that can depend on the rows; the data owner should investigate, then run \
         `reticent ledger reopen`"
    )]
    Suspended {
        /// The dataset.
        dataset: String,
        /// The run that failed.
        suspension: Suspension,
    },

    /// The request id was used for a different request.
    #[error(
        "request id {request} of {dataset} was already used for a different request (entry {entry}); a new request needs a new id"
    )]
    OtherRequest {
        /// The dataset.
        dataset: String,
        /// The request id.
        request: String,
        /// The entry of the earlier charge.
        entry: u64,
    },

    /// The request is a stream, whose noise must not be drawn twice.
    #[error(
        "request {request} of {dataset} is a stream that was already started (entry {entry}); continue from its saved state, or \
         start another one with a new id"
    )]
    StreamStarted {
        /// The dataset.
        dataset: String,
        /// The request id.
        request: String,
        /// The entry of its charge.
        entry: u64,
    },

    /// The receipt is not from this ledger.
    #[error("the ledger has no charge {request} of {dataset} as entry {entry}; was it charged to another ledger?")]
    UnknownReceipt {
        /// The dataset.
        dataset: String,
        /// The request id.
        request: String,
        /// The entry given in the receipt.
        entry: u64,
    },

    /// The ledger does not have a charge that it should have.
    #[error("the ledger has no charge {request} of {dataset}; was it charged to another ledger?")]
    NotCharged {
        /// The dataset.
        dataset: String,
        /// The request id.
        request: String,
    },

    /// A name, id or text that cannot be stored.
    #[error("{what} is {value}, but it must be {allowed}")]
    Unusable {
        /// The parameter.
        what: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },

    /// A request that cannot be accounted for as it was made; the message says what to write instead.
    #[error("{0}")]
    Request(Message),

    /// The user's own ledger cannot be used.
    #[error("{}", self.message())]
    Own(String, Box<Error>),

    /// The request was charged before, and has no outcome.
    #[error("{UNFINISHED}")]
    Unfinished,

    /// There is no such file.
    #[error("cannot read {file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// The system's reason.
        reason: String,
    },

    /// A file whose path is not Unicode cannot name a dataset.
    #[error("the name of {0} is not valid Unicode; give the dataset a name")]
    FileName(String),

    /// There is no ledger at this location.
    #[error("there is no ledger {0}; `reticent ledger create` creates one")]
    Missing(String),

    /// Not a ledger, or a ledger of a later version.
    #[error("{0} is not a ledger that this version can read")]
    NotALedger(String),

    /// The ledger was changed since it was written. Nothing more is charged to it.
    #[error("the ledger is damaged: {0}; see `reticent ledger verify`")]
    Damaged(String),

    /// The ledger is older than its anchor, or a different one; or the anchor is missing.
    #[error("the ledger does not match its anchor: {0}")]
    NotAnchored(String),

    /// The ledger's file, or the log beside it, is no longer the one that was opened. Nothing was charged.
    #[error("{0} was removed or replaced while the ledger was open; restore it, or restart with the right one")]
    Replaced(String),

    /// An entry that this process has seen is gone. Nothing was charged.
    #[error(
        "the ledger no longer contains entry {0}: it was replaced by an older copy; restore the right one, or restart with it"
    )]
    Older(u64),

    /// The disk or the server failed. The charge may or may not have been written: repeat the request with the same id
    /// (a stream, which cannot be repeated, is charged again).
    #[error("the ledger could not be {doing}: {reason}")]
    Storage {
        /// The failed operation, as a participle.
        doing: &'static str,
        /// The system's error message.
        reason: String,
    },

    /// An error of the core library.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether the dataset is suspended.
    pub fn is_suspended(&self) -> bool {
        matches!(self, Self::Suspended { .. })
    }

    /// Whether the disk or the server failed.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. })
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Overdrawn(_) => Class::Exhausted,
            Self::Suspended { .. } => Class::Suspended,
            Self::NoSuchDataset(_) => Class::Missing,
            Self::DatasetExists(_)
            | Self::AlreadySpent { .. }
            | Self::Uncountable { .. }
            | Self::OtherUnit { .. }
            | Self::OtherAdjacency { .. }
            | Self::OtherRequest { .. }
            | Self::StreamStarted { .. } => Class::Conflict,
            Self::Unfinished => Class::Unfinished,
            Self::OtherCurrency { .. }
            | Self::UnknownReceipt { .. }
            | Self::NotCharged { .. }
            | Self::Unusable { .. }
            | Self::Request(_)
            | Self::File { .. }
            | Self::FileName(_)
            | Self::Missing(_)
            | Self::NotALedger(_) => Class::Request,
            Self::Own(_, error) => error.class(),
            Self::Core(error) => error.class(),
            Self::Damaged(_) | Self::NotAnchored(_) | Self::Replaced(_) | Self::Older(_) | Self::Storage { .. } => {
                Class::Machine
            }
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Request(message) => message.clone(),
            Self::Own(place, error) => {
                let mut message =
                    message!("your ledger, {place}, cannot be used (", ["ledger"], " names another one): ");
                message.extend(error.message());
                message
            }
            Self::Core(error) => error.message(),
            other => other.to_string().into(),
        }
    }

    fn setting(&self) -> Option<&str> {
        if let Self::Core(error) = self { error.setting() } else { None }
    }
}
