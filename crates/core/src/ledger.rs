//! The interface to a budget keeper: what it is asked and what it answers.
//!
//! Every release happens in this order: the charge is made durable, the data is read, the release is made durable, the
//! release is shown.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Guarantee};

/// Where a release was charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounting {
    /// In a ledger, durably, before the data was touched.
    Charged(Receipt),
    /// Nowhere: an experiment. If it is published, its cost must be added up by hand.
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

/// Where rows are kept that are charged for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file or folder.
    File(PathBuf),
    /// A table of a database.
    Table {
        /// Its name: the same however it is reached.
        name: String,
        /// The names of all tables that may hold a row of it, itself included: its partitions, those that it is a
        /// partition of, and materialised views.
        sharing: Vec<String>,
    },
}

impl Origin {
    /// The path of a file; `None` for a table of a database.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(path) => Some(path),
            Self::Table { .. } => None,
        }
    }

    /// The name of a table of a database; `None` for a file.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            Self::Table { name, .. } => Some(name),
        }
    }
}

impl From<PathBuf> for Origin {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(formatter),
            Self::Table { name, .. } => formatter.write_str(name),
        }
    }
}

/// How many releases one charge pays for, and therefore who keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Releases {
    /// One. The ledger keeps the release and returns it when the same request is made again.
    Once,
    /// Many. The stream's own state keeps what was released, or nothing does: repeating the request is an error, since
    /// the noise would be drawn a second time.
    Stream,
}

/// A charge to be recorded by a ledger.
///
/// All fields together make up the request: reusing a `request` id with any other field changed is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The dataset whose budget is charged.
    pub dataset: String,
    /// The request id, chosen by the caller; repeating the same request is not charged again.
    pub request: String,
    /// The caller.
    pub caller: String,
    /// A complete description of the query, in words that a privacy officer understands.
    pub description: String,
    /// The privacy unit: `row`, `event`, or the name of a column.
    pub unit: String,
    /// Which datasets are neighbours.
    pub adjacency: Adjacency,
    /// The cost.
    pub guarantee: Guarantee,
    /// How many releases the charge pays for.
    pub releases: Releases,
}

impl Charge {
    /// The charge of one release about single rows, under add/remove; the other methods change what differs.
    ///
    /// # Example
    /// ```
    /// use reticent::ledger::Charge;
    /// use reticent::privacy::{Adjacency, Guarantee};
    ///
    /// let charge = Charge::new("visits.csv", "monday", Guarantee::Pure("0.5".parse()?))
    ///     .caller("alice")
    ///     .description("visitors on Monday")
    ///     .unit("visitor_id", Adjacency::AddRemove);
    /// assert_eq!(charge.unit, "visitor_id");
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn new(dataset: impl Into<String>, request: impl Into<String>, guarantee: Guarantee) -> Self {
        Self {
            dataset: dataset.into(),
            request: request.into(),
            caller: String::new(),
            description: String::new(),
            unit: "row".into(),
            adjacency: Adjacency::AddRemove,
            guarantee,
            releases: Releases::Once,
        }
    }

    /// The caller.
    #[must_use]
    pub fn caller(mut self, caller: impl Into<String>) -> Self {
        self.caller = caller.into();
        self
    }

    /// A complete description of the query, in words that a privacy officer understands.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The privacy unit, and which datasets are neighbours.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>, adjacency: Adjacency) -> Self {
        (self.unit, self.adjacency) = (unit.into(), adjacency);
        self
    }

    /// Pays for all releases of a stream.
    #[must_use]
    pub fn stream(mut self) -> Self {
        self.releases = Releases::Stream;
        self
    }
}

/// Proof that a charge is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The dataset whose budget was charged.
    pub dataset: String,
    /// The caller's request id.
    pub request: String,
    /// The entry's number in the ledger.
    pub entry: u64,
}

/// A ledger's answer to a charge that it does not refuse.
#[derive(Debug)]
pub enum ChargeOutcome {
    /// The charge is durable and was made just now.
    New(Box<Permit>),
    /// The same request was charged before, but no outcome was kept for it: the earlier computation is still running,
    /// failed, or was interrupted.
    ///
    /// Whether a computation fails may depend on the rows. If it can, this permit must not be used; otherwise one
    /// charge would pay for observing how each of many runs ends. The request then counts as failed, permanently.
    Unfinished(Box<Permit>),
    /// The same request was answered before, and nothing was charged now: this is the release that was kept.
    AlreadyAnswered(String),
}

/// How a charged computation ended. The ledger keeps the text, and repeating the request returns it from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunResult {
    /// With something to show: releases, or a refusal.
    Released(String),
    /// With nothing to show, perhaps because of what is in the rows.
    Failed(String),
    /// With nothing to show, because the user ended it.
    Interrupted(String),
}

/// What happens to a request that was charged but has no outcome, because the process ended in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInterruption {
    /// It is not computed again, and the dataset is suspended: how a run ends may depend on the rows, even that its
    /// process was killed when memory ran out, and each further run would reveal more.
    Abandon,
    /// It is computed now: it cannot fail because of what is in the rows.
    Recompute,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// The outcome that was computed and kept just now, or the one kept by a concurrent caller of the same request that
    /// was faster.
    Fresh(String),
    /// The outcome that was kept when the same request was made before.
    Replayed(String),
    /// The request was charged before, no outcome was kept, and it is not computed again.
    Unfinished,
}

/// The message for a request that was charged but has no outcome. It does not claim that there will be none: one may
/// still arrive.
pub const UNFINISHED: &str = "this request was charged and has no outcome: it is still being answered, or it was interrupted and is \
                              not computed again";

/// What is recorded as the failure of a charge whose process ended before an outcome was stored.
pub const PROCESS_ENDED: &str = "the process ended before an outcome was stored";

/// What is recorded as the failure of a charge whose computation returned an error. There is one text for all errors:
/// which of them it was may depend on the rows.
pub const COMPUTATION_ERROR: &str = "the computation returned an error before an outcome was stored";

/// What a budget keeper provides. Every keeper is a [`Ledger`], whose methods are the only ones to call: they put these
/// in the right order.
pub trait Keeper {
    /// Why a charge was not made: budget exhausted, or a storage failure.
    type Error: std::error::Error + From<Error>;

    /// Records the charge durably and returns a permit to draw noise for it; or refuses, and nothing is spent.
    ///
    /// With [`OnInterruption::Abandon`], the keeper also remembers, as durably as the charge, that this process computes
    /// it. If the process ends, in whatever way, before [`Keeper::keep`] or [`Keeper::fail`], that is a failure: the next
    /// charge to the dataset records it, and is refused.
    ///
    /// # Errors
    /// If there is not enough budget left, if the dataset is suspended, if the request's id was used for another
    /// request, if the same stream was started before, or if the charge could not be made durable.
    fn charge(&self, charge: &Charge, on_interruption: OnInterruption) -> Result<ChargeOutcome, Self::Error>;

    /// Keeps what is released for a charge, before anyone sees it.
    ///
    /// Only the returned text may be shown: if two processes made the same request at once, both get the release that
    /// was kept first.
    ///
    /// # Errors
    /// If there is no such charge, or the release could not be made durable.
    fn keep(&self, receipt: &Receipt, release: &str) -> Result<String, Self::Error>;

    /// Records that a charge ended without a release, and suspends the dataset: nothing more is charged to it until its
    /// operator has investigated the failure.
    ///
    /// Whether a run fails can depend on one unit's rows, and ε does not cover that bit. So a failure is disclosed
    /// once, and an analyst who learns to provoke failures is stopped by the first one.
    ///
    /// Only the returned text may be shown, as with [`Keeper::keep`].
    ///
    /// # Errors
    /// If there is no such charge, or the failure could not be made durable.
    fn fail(&self, receipt: &Receipt, failure: &str) -> Result<String, Self::Error>;

    /// Records that a charge ended without a release because the user ended it, and counts that.
    ///
    /// When users interrupt a run may depend on how long it has taken and how much memory it uses, which they can watch,
    /// and which depend on the rows. So the data's owner must be able to see how often it happens.
    ///
    /// Only the returned text may be shown, as with [`Keeper::keep`].
    ///
    /// # Errors
    /// If there is no such charge, or it could not be made durable.
    fn interrupted(&self, receipt: &Receipt, text: &str) -> Result<String, Self::Error>;

    /// Remembers durably that this process computes something from rows for a stream, which was charged before. From now
    /// until [`Keeper::end_run`] or [`Keeper::fail`], the end of the process is a failure, as with [`Keeper::charge`].
    ///
    /// # Errors
    /// If there is no such charge of a stream, if that was computed before, or if it could not be made durable.
    fn begin_run(&self, receipt: &Receipt) -> Result<(), Self::Error>;

    /// Records that what was begun for a stream has been computed.
    ///
    /// # Errors
    /// If it was not begun, or has failed; or if it could not be made durable.
    fn end_run(&self, receipt: &Receipt) -> Result<(), Self::Error>;

    /// The permit of a stream that was charged before.
    ///
    /// # Errors
    /// If there is no such charge of a stream.
    fn permit(&self, receipt: &Receipt) -> Result<Permit, Self::Error>;
}

/// A budget keeper, as everyone else uses it: to release something, call [`Ledger::release`]; for a stream, call
/// [`Ledger::start`], and later [`Ledger::resume`].
pub trait Ledger: Keeper {
    /// The one way to make a release. Returns what was kept for the same request, if anything; otherwise charges,
    /// computes, keeps the outcome, and only then lets anyone see it.
    ///
    /// # Privacy
    /// `compute` runs after the charge is durable, at most once for it (unless the request is one to
    /// [recompute](OnInterruption::Recompute)), and draws from the charge's own permit. A failure is kept like a
    /// release. An error of `compute` is a failure, too, recorded as [`COMPUTATION_ERROR`] whatever it says, unless the
    /// request is one to recompute: then it must not depend on the rows.
    ///
    /// # Errors
    /// As for [`Keeper::charge`] and [`Keeper::keep`], and those of `compute`.
    fn release<E: From<Self::Error>>(
        &self,
        charge: &Charge,
        on_interruption: OnInterruption,
        compute: impl FnOnce(Permit) -> Result<RunResult, E>,
    ) -> Result<ReleaseOutcome, E> {
        let permit = match (self.charge(charge, on_interruption)?, on_interruption) {
            (ChargeOutcome::AlreadyAnswered(text), _) => return Ok(ReleaseOutcome::Replayed(text)),
            (ChargeOutcome::Unfinished(_), OnInterruption::Abandon) => return Ok(ReleaseOutcome::Unfinished),
            (ChargeOutcome::New(permit) | ChargeOutcome::Unfinished(permit), _) => *permit,
        };
        let accounting = permit.accounting().clone();
        let computed = compute(permit);
        if let (Err(_), OnInterruption::Abandon, Accounting::Charged(receipt)) =
            (&computed, on_interruption, &accounting)
        {
            self.fail(receipt, COMPUTATION_ERROR)?;
        }
        let shown = match (computed?, &accounting) {
            (RunResult::Released(text), Accounting::Charged(receipt)) => self.keep(receipt, &text)?,
            (RunResult::Failed(text), Accounting::Charged(receipt)) => self.fail(receipt, &text)?,
            (RunResult::Interrupted(text), Accounting::Charged(receipt)) => self.interrupted(receipt, &text)?,
            (
                RunResult::Released(text) | RunResult::Failed(text) | RunResult::Interrupted(text),
                Accounting::Unaccounted,
            ) => text,
        };
        Ok(ReleaseOutcome::Fresh(shown))
    }

    /// The one way to start a stream: makes the charge, then returns the permit to draw all of its noise.
    ///
    /// # Errors
    /// As for [`Keeper::charge`]; also if the charge is for [a single release](Releases::Once), or if the same stream was
    /// started before.
    fn start(&self, charge: &Charge) -> Result<Permit, Self::Error> {
        if charge.releases != Releases::Stream {
            return Err(Error::invalid("releases", "a charge for a single release does not start a stream").into());
        }
        // A stream goes on from its own state.
        match self.charge(charge, OnInterruption::Recompute)? {
            ChargeOutcome::New(permit) => Ok(*permit),
            ChargeOutcome::Unfinished(_) | ChargeOutcome::AlreadyAnswered(_) => {
                Err(Error::invalid("request", "this stream was already started; continue from its saved state").into())
            }
        }
    }

    /// The permit to continue a stream that was charged before and has kept its own state.
    ///
    /// # Errors
    /// If there is no such charge of a stream.
    fn resume(&self, receipt: &Receipt) -> Result<Permit, Self::Error> {
        self.permit(receipt)
    }

    /// Computes something from rows for a stream that was started, once. A failure is recorded with the stream's charge,
    /// as [`Ledger::release`] does it, and suspends the dataset; the inner error is the text that was recorded.
    ///
    /// # Errors
    /// As for [`Keeper::begin_run`], [`Keeper::end_run`] and [`Keeper::fail`].
    fn compute<T>(
        &self,
        accounting: &Accounting,
        compute: impl FnOnce() -> Result<T, String>,
    ) -> Result<Result<T, String>, Self::Error> {
        let Accounting::Charged(receipt) = accounting else { return Ok(compute()) };
        self.begin_run(receipt)?;
        match compute() {
            Ok(computed) => self.end_run(receipt).map(|()| Ok(computed)),
            Err(failure) => self.fail(receipt, &failure).map(Err),
        }
    }
}

impl<K: Keeper + ?Sized> Ledger for K {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A keeper that remembers nothing but was asked before, as a careless implementation might say of a stream.
    struct Careless;

    impl Keeper for Careless {
        type Error = Error;

        fn charge(&self, _: &Charge, _: OnInterruption) -> Result<ChargeOutcome, Error> {
            Ok(ChargeOutcome::AlreadyAnswered("12".into()))
        }

        fn begin_run(&self, _: &Receipt) -> Result<(), Error> {
            Ok(())
        }

        fn end_run(&self, _: &Receipt) -> Result<(), Error> {
            Ok(())
        }

        fn keep(&self, _: &Receipt, release: &str) -> Result<String, Error> {
            Ok(release.into())
        }

        fn fail(&self, _: &Receipt, failure: &str) -> Result<String, Error> {
            Ok(format!("recorded: {failure}"))
        }

        fn interrupted(&self, _: &Receipt, text: &str) -> Result<String, Error> {
            Ok(text.into())
        }

        fn permit(&self, _: &Receipt) -> Result<Permit, Error> {
            Permit::unaccounted()
        }
    }

    /// Both were panics.
    #[test]
    fn a_stream_that_cannot_start_is_an_error() {
        let once = Charge::new("visits", "monday", Guarantee::Pure("1".parse().unwrap()));
        assert!(Careless.start(&once).unwrap_err().to_string().contains("single release"));
        assert!(Careless.start(&once.stream()).unwrap_err().to_string().contains("already started"));
    }

    #[test]
    fn a_failure_on_the_rows_of_a_stream_is_recorded_with_its_charge() {
        let receipt = Receipt { dataset: "visits".into(), request: "monday".into(), entry: 3 };
        let failed = |accounting: Accounting| Careless.compute(&accounting, || Err::<(), _>("no rows".into())).unwrap();
        assert_eq!(failed(Accounting::Charged(receipt)), Err("recorded: no rows".into()));
        assert_eq!(failed(Accounting::Unaccounted), Err("no rows".into()));
        assert_eq!(Careless.compute(&Accounting::Unaccounted, || Ok(3)).unwrap(), Ok(3));
    }
}
