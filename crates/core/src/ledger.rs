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

/// How a computation ended that was charged. The ledger keeps the text, and the same request gives it from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With something to show: releases, or a refusal.
    Released(String),
    /// Without, perhaps because of what is in the rows.
    Failed(String),
}

/// What becomes of a request that was charged and of which nothing is kept, because the process ended in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// It is not computed again: how a run ends may depend on the rows, and each further run would tell more.
    StaysOpen,
    /// It is computed now: it cannot fail because of what is in the rows.
    IsComputed,
}

/// What a request gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// What was computed and kept just now, or was kept by somebody who asked the same and was faster.
    Now(String),
    /// What was kept when the same was asked before.
    Before(String),
    /// It was charged before, nothing was kept, and it is not computed again.
    Never,
}

/// What is said of a request that was charged and of which no outcome is kept. It claims none: there may be one yet.
pub const UNFINISHED: &str = "this request was charged and has no outcome: it is still being answered, or it was interrupted and is \
                              not computed again";

/// A keeper of budgets.
///
/// To release something, call [`Ledger::release`], or [`Ledger::start`] and later [`Ledger::resume`] for a stream: the other methods are
/// the parts of these.
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

    /// The one way to a release: what was kept for the same request; otherwise the charge, then the computation, then what came of it
    /// is kept, and only then may anyone see it.
    ///
    /// # Privacy
    /// `compute` runs after the charge is durable, at most once for it (unless the request is one that
    /// [is computed](Interrupted::IsComputed) again), and draws from the charge's own permit. A failure is kept like a release. If
    /// `compute` gives an error, nothing is kept: that must not depend on rows.
    ///
    /// # Errors
    /// As for [`Ledger::charge`] and [`Ledger::keep`], and those of `compute`.
    fn release<E: From<Self::Error>>(
        &self,
        charge: &Charge,
        interrupted: Interrupted,
        compute: impl FnOnce(Permit) -> Result<Ended, E>,
    ) -> Result<Answered, E>
    where
        Self: Sized,
    {
        let permit = match (self.charge(charge)?, interrupted) {
            (Charged::Answered(text), _) => return Ok(Answered::Before(text)),
            (Charged::Unfinished(_), Interrupted::StaysOpen) => return Ok(Answered::Never),
            (Charged::Permitted(permit) | Charged::Unfinished(permit), _) => *permit,
        };
        let accounting = permit.accounting().clone();
        let shown = match (compute(permit)?, &accounting) {
            (Ended::Released(text), Accounting::Charged(receipt)) => self.keep(receipt, &text)?,
            (Ended::Failed(text), Accounting::Charged(receipt)) => self.fail(receipt, &text)?,
            (Ended::Released(text) | Ended::Failed(text), Accounting::Unaccounted) => text,
        };
        Ok(Answered::Now(shown))
    }

    /// The one way to a stream: the charge, then leave to draw all of its noise.
    ///
    /// # Panics
    /// If the charge is for [a single release](Releases::Once).
    ///
    /// # Errors
    /// As for [`Ledger::charge`]; also if the same stream was started before.
    fn start(&self, charge: &Charge) -> Result<Permit, Self::Error> {
        assert_eq!(charge.releases, Releases::Stream, "a single release is not started");
        match self.charge(charge)? {
            Charged::Permitted(permit) => Ok(*permit),
            Charged::Unfinished(_) | Charged::Answered(_) => unreachable!("a stream is charged once, and not kept"),
        }
    }

    /// Leave to go on with a stream that was charged before and has kept its own state.
    ///
    /// # Errors
    /// If there is no such charge of a stream.
    fn resume(&self, receipt: &Receipt) -> Result<Permit, Self::Error>;
}
