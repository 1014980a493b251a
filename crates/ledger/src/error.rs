//! The one error type of this crate.

use thiserror::Error;

use crate::budget::Overdraft;

/// Why a ledger did not do what it was asked. Unless the variant says otherwise, nothing was charged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Not enough budget left.
    #[error("{0}")]
    Overdrawn(Box<Overdraft>),

    /// Nobody registered such a dataset.
    #[error("the ledger has no dataset {0}; register it with `reticent ledger create`")]
    NoSuchDataset(String),

    /// There is such a dataset already.
    #[error("the ledger has a dataset {0} already; its budget is fixed")]
    DatasetExists(String),

    /// A limit below what was spent before there was one.
    #[error("{dataset} has spent {spent} already, more than {limit}; a limit must be at least what was spent")]
    AlreadySpent {
        /// Whose limit.
        dataset: String,
        /// What was spent, in the limit's currency.
        spent: String,
        /// The limit.
        limit: String,
    },

    /// A limit in a currency that cannot count what was spent before.
    #[error("{dataset} has spent {spent} already, which a limit of {limit} cannot count; {instead}")]
    Uncountable {
        /// Whose limit.
        dataset: String,
        /// What was spent.
        spent: String,
        /// The limit.
        limit: String,
        /// Which limit could.
        instead: &'static str,
    },

    /// The charge speaks of another unit than the dataset.
    #[error(
        "the budget of {dataset} protects the unit {registered}, but this protects {asked}; the two cannot be added up"
    )]
    OtherUnit {
        /// Whose budget.
        dataset: String,
        /// The dataset's unit.
        registered: String,
        /// The charge's unit.
        asked: String,
    },

    /// The charge speaks of other neighbours than the dataset.
    #[error(
        "the budget of {dataset} holds under adjacency {registered}, but this holds under {asked}; the two cannot be added up"
    )]
    OtherAdjacency {
        /// Whose budget.
        dataset: String,
        /// The dataset's adjacency.
        registered: String,
        /// The charge's adjacency.
        asked: String,
    },

    /// The charge is in a currency that the budget cannot be paid in.
    #[error("the budget of {dataset} is kept in {budget}, and {cost} cannot be taken from it; {instead}")]
    OtherCurrency {
        /// Whose budget.
        dataset: String,
        /// What the budget is made of: `ε`, `ε and δ`, or `ρ`.
        budget: &'static str,
        /// What was to be charged.
        cost: String,
        /// What to ask for instead.
        instead: &'static str,
    },

    /// A run on the dataset failed, and nobody has looked into it.
    #[error(
        "{dataset} is suspended: a run charged to it (entry {entry}) ended without an answer, and that can depend on the rows; the \
         owner of the data looks into it, then runs `reticent ledger reopen`"
    )]
    Suspended {
        /// Whose budget.
        dataset: String,
        /// Where the run was charged.
        entry: u64,
    },

    /// The request's id belongs to another request.
    #[error("request {request} of {dataset} was another one (entry {entry}); a new request needs a new id")]
    OtherRequest {
        /// Whose budget.
        dataset: String,
        /// The id that both have.
        request: String,
        /// Where the first was charged.
        entry: u64,
    },

    /// The request was a stream, whose noise must not be drawn twice.
    #[error(
        "request {request} of {dataset} is a stream that was started before (entry {entry}); go on from its saved state, or start \
         another one with a new id"
    )]
    StreamStarted {
        /// Whose budget.
        dataset: String,
        /// The request's id.
        request: String,
        /// Where it was charged.
        entry: u64,
    },

    /// A receipt that this ledger did not give.
    #[error("the ledger has no charge {request} of {dataset} as entry {entry}; was it charged to another ledger?")]
    UnknownReceipt {
        /// Whose budget.
        dataset: String,
        /// The request's id.
        request: String,
        /// Where it is said to be charged.
        entry: u64,
    },

    /// A name, id or text that cannot be kept.
    #[error("{what} is {value}, but it must be {allowed}")]
    Unusable {
        /// What it is.
        what: &'static str,
        /// What was given.
        value: String,
        /// What would have been right.
        allowed: &'static str,
    },

    /// A file that is to be a dataset cannot be found.
    #[error("cannot read {file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// What the system said.
        reason: String,
    },

    /// A file whose path is not Unicode cannot be the name of a dataset.
    #[error("{0} has no name in Unicode; give the dataset a name")]
    FileName(String),

    /// There is no ledger at this place.
    #[error("there is no ledger {0}; `reticent ledger create` makes one")]
    Missing(String),

    /// What is there is not a ledger, or one of a later version.
    #[error("{0} is not a ledger that this version can read")]
    NotALedger(String),

    /// The ledger is not as it was written. Nothing more is charged to it.
    #[error("the ledger is damaged: {0}; see `reticent ledger verify`")]
    Damaged(String),

    /// The ledger is older than its anchor says, or another one; or there is no anchor where one is wanted.
    #[error("the ledger does not continue the anchor: {0}")]
    NotAnchored(String),

    /// The ledger's file, or the log beside it, is not the one that was opened. Nothing was charged.
    #[error("{0} was removed or replaced while the ledger was open; put it back, or start again with the right one")]
    Replaced(String),

    /// An entry that this process has seen is not there any more. Nothing was charged.
    #[error(
        "the ledger does not hold entry {0} any more, which was there before: an older copy was put in its place; put the right one \
         back, or start again with it"
    )]
    Older(u64),

    /// The disk or the server failed. Whether the charge was written cannot be told: ask again with the same request id (a
    /// stream, which cannot be asked again, is charged anew).
    #[error("the ledger could not be {doing}: {reason}")]
    Storage {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        reason: String,
    },

    /// The core library said no.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Is there not enough budget left?
    pub fn is_overdrawn(&self) -> bool {
        matches!(self, Self::Overdrawn(_))
    }

    /// Is the dataset suspended?
    pub fn is_suspended(&self) -> bool {
        matches!(self, Self::Suspended { .. })
    }

    /// Is it something that the caller can put right by asking otherwise?
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NoSuchDataset(_)
            | Self::DatasetExists(_)
            | Self::AlreadySpent { .. }
            | Self::Uncountable { .. }
            | Self::OtherUnit { .. }
            | Self::OtherAdjacency { .. }
            | Self::OtherCurrency { .. }
            | Self::OtherRequest { .. }
            | Self::StreamStarted { .. }
            | Self::UnknownReceipt { .. }
            | Self::Unusable { .. }
            | Self::File { .. }
            | Self::FileName(_)
            | Self::Missing(_)
            | Self::NotALedger(_) => true,
            Self::Core(error) => error.is_parameter(),
            Self::Overdrawn(_)
            | Self::Suspended { .. }
            | Self::Damaged(_)
            | Self::NotAnchored(_)
            | Self::Replaced(_)
            | Self::Older(_)
            | Self::Storage { .. } => false,
        }
    }

    /// Is the ledger itself at fault, its disk or its server, rather than the request?
    pub fn is_machine(&self) -> bool {
        matches!(
            self,
            Self::Damaged(_) | Self::NotAnchored(_) | Self::Replaced(_) | Self::Older(_) | Self::Storage { .. }
        )
    }

    /// Did the disk or the server fail?
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. })
    }
}
