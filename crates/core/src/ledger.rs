//! What a keeper of budgets is asked, and what it answers.
//!
//! The order of every release: the charge is durable, then the data is read, then the release is durable, then it is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::permit::Permit;
use crate::privacy::{Adjacency, Guarantee};

/// Where a release was charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounting {
    /// In a ledger, durably, before the data was touched.
    Charged(Receipt),
    /// Nowhere: an experiment. Whoever publishes it must add it up by hand.
    Unaccounted,
}

impl fmt::Display for Accounting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Charged(receipt) => write!(formatter, "charged to {} (entry {})", receipt.dataset, receipt.entry),
            Self::Unaccounted => formatter.write_str("not accounted for"),
        }
    }
}

/// How often something is released for one charge, and so who keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Releases {
    /// Once. The ledger keeps the release and gives it back to whoever asks the same again.
    Once,
    /// Again and again. What was released is kept by the stream's own state, or not at all: asking the same again is an
    /// error, since the noise would be drawn a second time.
    Stream,
}

/// What a ledger is asked to write down.
///
/// All of it together is the request: the same `request` with anything else in it is another one, and an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Whose budget.
    pub dataset: String,
    /// Chosen by the caller; the same request asked again is not charged again.
    pub request: String,
    /// Who asks.
    pub caller: String,
    /// What is asked, completely, in words that a privacy officer understands.
    pub description: String,
    /// Whose privacy is protected: `row`, `event`, or the name of a column.
    pub unit: String,
    /// Which tables are neighbours.
    pub adjacency: Adjacency,
    /// What it costs.
    pub guarantee: Guarantee,
    /// How often something is released for it.
    pub releases: Releases,
}

/// Proof that a charge is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Whose budget.
    pub dataset: String,
    /// The caller's request id.
    pub request: String,
    /// The entry's number in the ledger.
    pub entry: u64,
}

/// What a ledger says to a charge that it does not refuse.
#[derive(Debug)]
pub enum Charged {
    /// The charge is durable, and it was made just now.
    Permitted(Box<Permit>),
    /// The same was asked before and charged then, and nothing was kept for it: whoever asked still computes, failed, or ended.
    ///
    /// Whether a computation fails may depend on rows. Where it can, this permit must not be used, or one charge pays for the answer
    /// to the question how each of many runs ends: what came of the request is a failure, for good.
    Unfinished(Box<Permit>),
    /// The same was asked before, and nothing was charged: this is the release, as it was kept.
    Answered(String),
}

/// A keeper of budgets.
pub trait Ledger {
    /// Why a charge was not made: the budget does not reach, the storage failed.
    type Error: std::error::Error;

    /// Writes the charge down durably and gives leave to draw noise for it; or refuses, and nothing is spent.
    ///
    /// # Errors
    /// If the budget does not reach, if the request's id was used for another request, or if the charge could not be made
    /// durable.
    fn charge(&self, charge: &Charge) -> Result<Charged, Self::Error>;

    /// Keeps what is released for a charge; to be called before anyone sees it.
    ///
    /// What comes back is what may be shown: if two processes asked the same at once, the release that was kept first, in
    /// both of them.
    ///
    /// # Errors
    /// If there is no such charge, or the release could not be made durable.
    fn keep(&self, receipt: &Receipt, release: &str) -> Result<String, Self::Error>;

    /// Keeps that a charge ended without a release, and suspends the dataset: nothing more is charged to it until its operator has
    /// looked into the failure.
    ///
    /// Whether a run fails can depend on one unit's rows, and ε does not cover that bit. So a failure is told once, and an
    /// analyst who learns to provoke failures is stopped by the first of them.
    ///
    /// What comes back is what may be shown, as with [`Ledger::keep`].
    ///
    /// # Errors
    /// If there is no such charge, or the failure could not be made durable.
    fn fail(&self, receipt: &Receipt, failure: &str) -> Result<String, Self::Error>;

    /// Leave to go on with a stream that was charged before and has kept its own state.
    ///
    /// # Errors
    /// If there is no such charge of a stream.
    fn resume(&self, receipt: &Receipt) -> Result<Permit, Self::Error>;
}
