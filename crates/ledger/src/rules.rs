//! The ledger's rules, each applied within one transaction.

use std::collections::BTreeSet;

use reticent::ledger::{COMPUTATION_ERROR, Charge, OnInterruption, PROCESS_ENDED, Receipt, Releases};

use crate::account::{FailureKind, MOST_INTERRUPTED, Registration, Suspension};
use crate::anchor::Head;
use crate::budget::{Budget, Spend};
use crate::chain::{End, Known, append, continues, misplaced, newest};
use crate::entry::{Dataset, Event, Keys, Row, Terms};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::limit;
use crate::run::{Computing, Holder, Run, Runs};
use crate::storage::Pages;

/// What is stored for a charge whose process the user ended.
const INTERRUPTED: &str = "the user interrupted it before an outcome was stored";

/// The outcome of a transaction, and the head to which the anchor must now be moved, if there is an anchor.
#[derive(Debug)]
pub enum Done {
    Registered(Registration, Option<Head>),
    Charged(Receipt, Option<Head>),
    /// Charged before, but nothing was stored for it.
    Unfinished(Receipt, Option<Head>),
    Released(String, Option<Head>),
    /// The failed charge, if the dataset was suspended.
    Reopened(Option<u64>, Option<Head>),
    /// The dataset was suspended just now, because a process ended before an outcome was stored.
    Suspended(Suspension, Option<Head>),
    /// Something was begun, ended or interrupted.
    Noted(Option<Head>),
}

/// Registers a dataset or sets its limit, unless that was done before.
pub fn register(pages: &mut dyn Pages, known: &Known, dataset: &Dataset) -> Result<Done> {
    continues(pages, known)?;
    let Some(row) = pages.registration(&dataset.name)? else {
        let end = End::find(pages)?;
        let (_, head) = append(pages, known, &end, Event::Registered(dataset.clone()), None)?;
        return Ok(Done::Registered(Registration::New, head));
    };
    let before = limit::in_force(pages, registered(&row)?)?;
    if before == *dataset {
        return Ok(Done::Registered(Registration::Unchanged, newest(pages, known)?));
    }
    let (Budget::Unlimited, Budget::Limit(limit), Some(terms)) = (&before.budget, &dataset.budget, &dataset.terms)
    else {
        return Err(Error::DatasetExists(dataset.name.clone()));
    };
    if let Some(registered) = &before.terms {
        same_terms(&dataset.name, registered, terms)?;
    }
    let past = limit::past(pages, &dataset.name, terms, row.number)?;
    let spent = past.under(&dataset.name, limit)?;
    // A process that ended is noticed when the dataset is charged.
    let newest = pages.last_charge(&dataset.name, &Keys::terms(terms))?;
    let runs = newest.map(|row| row.open()).transpose()?.map(|entry| entry.event.runs().to_vec()).unwrap_or_default();
    let event =
        Event::Limited { dataset: Box::new(dataset.clone()), spent: spent.clone(), charges: past.charges, runs };
    let end = End::find(pages)?;
    let (_, head) = append(pages, known, &end, event, None)?;
    Ok(Done::Registered(Registration::Limited { spent }, head))
}

/// Charges a dataset, unless the same request was charged before, or a process ended while it computed.
pub fn charge(
    pages: &mut dyn Pages,
    known: &Known,
    charge: &Charge,
    own: &Computing,
    on_interruption: OnInterruption,
) -> Result<Done> {
    // First of all: an older copy must not answer either.
    continues(pages, known)?;
    let Charge { dataset: name, request, guarantee, .. } = charge;
    if let Some(row) = pages.charge(name, request)? {
        let Event::Charged { charge: before, .. } = row.open()?.event else { return Err(misplaced(&row)) };
        let (dataset, request, entry) = (name.clone(), request.clone(), row.number);
        if *before != *charge {
            return Err(Error::OtherRequest { dataset, request, entry });
        }
        if before.releases == Releases::Stream {
            return Err(Error::StreamStarted { dataset, request, entry });
        }
        // The anchor may lack the charge, if the process ended in between.
        let head = newest(pages, known)?;
        return Ok(match released(pages, entry)? {
            Some(text) if is_outcome(&text) => Done::Released(text, head),
            _ => Done::Unfinished(Receipt { dataset, request, entry }, head),
        });
    }
    let row = pages.registration(name)?.ok_or_else(|| Error::NoSuchDataset(name.clone()))?;
    let (end, newest) = (End::find(pages)?, pages.last_charges(name)?);
    if let Some(Failure { suspension, .. }) = failure(&newest)? {
        return Err(Error::Suspended { dataset: name.clone(), suspension });
    }
    let runs = Runs::find(pages, &newest, Some(own.holder))?;
    if let Some(entry) = runs.lost.last().copied() {
        let head = lose(pages, known, name, &runs.lost)?;
        return Ok(Done::Suspended(Suspension { entry, failure: FailureKind::ProcessEnded }, head));
    }
    let dataset = limit::in_force(pages, registered(&row)?)?;
    let terms = Terms::of(charge);
    if let Some(registered) = &dataset.terms {
        same_terms(name, registered, &terms)?;
    }
    let key = Keys::terms(&terms);
    let (spent, charges) = match newest.iter().find(|row| row.keys.terms.as_deref() == Some(&key)) {
        None => (Spend::NOTHING, 0),
        Some(row) => match row.open()?.event {
            Event::Charged { spent, charges, .. } | Event::Limited { spent, charges, .. } => (spent, charges),
            _ => return Err(misplaced(row)),
        },
    };
    if !spent.is_possible(&dataset.budget) {
        return Err(Error::Damaged(format!("{name} cannot have spent {spent}")));
    }
    let spent = dataset.budget.admit(name, &spent, guarantee)?;
    let mut runs = runs.under(&key);
    if on_interruption == OnInterruption::Abandon {
        runs = own.begin(pages, runs, end.next(), end.next())?;
    }
    let event = Event::Charged { charge: Box::new(charge.clone()), spent, charges: charges.saturating_add(1), runs };
    let (entry, head) = append(pages, known, &end, event, None)?;
    Ok(Done::Charged(Receipt { dataset: name.clone(), request: request.clone(), entry }, head))
}

/// Stores a release, unless one was stored before.
pub fn keep(pages: &mut dyn Pages, known: &Known, receipt: &Receipt, release: &str) -> Result<Done> {
    continues(pages, known)?;
    if charged(pages, receipt)?.releases == Releases::Stream {
        let Receipt { dataset, request, entry } = receipt.clone();
        return Err(Error::StreamStarted { dataset, request, entry });
    }
    if let Some(kept) = released(pages, receipt.entry)? {
        return stored(pages, known, kept);
    }
    let event = Event::Released { charge: receipt.entry, digest: Hash::of(release) };
    let end = End::find(pages)?;
    let (_, head) = append(pages, known, &end, event, Some(release))?;
    Ok(Done::Released(release.to_owned(), head))
}

/// Stores a failure in place of a release and suspends the dataset, unless something was stored before.
pub fn fail(pages: &mut dyn Pages, known: &Known, receipt: &Receipt, text: &str) -> Result<Done> {
    continues(pages, known)?;
    let Charge { dataset, .. } = charged(pages, receipt)?;
    if let Some(kept) = released(pages, receipt.entry)? {
        return stored(pages, known, kept);
    }
    let event = Event::Failed { dataset, charge: receipt.entry, digest: Hash::of(text) };
    let end = End::find(pages)?;
    let (_, head) = append(pages, known, &end, event, Some(text))?;
    Ok(Done::Released(text.to_owned(), head))
}

/// Stores a text in place of a release and counts that the user interrupted the run, unless something was stored before.
pub fn interrupted(pages: &mut dyn Pages, known: &Known, receipt: &Receipt, text: &str) -> Result<Done> {
    continues(pages, known)?;
    let Charge { dataset, .. } = charged(pages, receipt)?;
    if let Some(kept) = released(pages, receipt.entry)? {
        return stored(pages, known, kept);
    }
    let head = count_interruption(pages, known, dataset, receipt.entry, text)?;
    Ok(Done::Released(text.to_owned(), head))
}

fn count_interruption(
    pages: &mut dyn Pages,
    known: &Known,
    dataset: String,
    charge: u64,
    text: &str,
) -> Result<Option<Head>> {
    let (total, recent) = match pages.last_charge(&dataset, Keys::INTERRUPTION)? {
        None => (0, 0),
        Some(row) => {
            let Event::Interrupted { total, recent, .. } = row.open()?.event else { return Err(misplaced(&row)) };
            let suspension = pages.last_charge(&dataset, Keys::SUSPENSION)?;
            let begins_anew = suspension.is_some_and(|suspension| suspension.number > row.number);
            (total, if begins_anew { 0 } else { recent })
        }
    };
    let (total, recent) = (total.saturating_add(1), recent.saturating_add(1));
    let event = Event::Interrupted { dataset, charge, digest: Hash::of(text), total, recent };
    let end = End::find(pages)?;
    Ok(append(pages, known, &end, event, Some(text))?.1)
}

/// What was stored for a charge before, unless that says that there is nothing.
fn stored(pages: &mut dyn Pages, known: &Known, text: String) -> Result<Done> {
    if is_outcome(&text) { Ok(Done::Released(text, newest(pages, known)?)) } else { Err(Error::Unfinished) }
}

/// Whether a stored text is an outcome, rather than the record that there is none.
fn is_outcome(text: &str) -> bool {
    ![PROCESS_ENDED, COMPUTATION_ERROR, INTERRUPTED].contains(&text)
}

/// Records charges as failed whose process ended.
fn lose(pages: &mut dyn Pages, known: &Known, dataset: &str, lost: &BTreeSet<u64>) -> Result<Option<Head>> {
    let mut head = None;
    for charge in lost {
        let (dataset, digest) = (dataset.to_owned(), Hash::of(PROCESS_ENDED));
        let end = End::find(pages)?;
        (_, head) =
            append(pages, known, &end, Event::Failed { dataset, charge: *charge, digest }, Some(PROCESS_ENDED))?;
    }
    Ok(head)
}

/// Begins to compute something from rows for a stream that was charged.
pub fn begin(pages: &mut dyn Pages, known: &Known, receipt: &Receipt, own: &Computing) -> Result<Done> {
    continues(pages, known)?;
    let Receipt { dataset, request, entry } = receipt;
    if charged(pages, receipt)?.releases != Releases::Stream {
        return Err(Error::UnknownReceipt { dataset: dataset.clone(), request: request.clone(), entry: *entry });
    }
    if pages.charge(dataset, &Keys::began(*entry))?.is_some() || released(pages, *entry)?.is_some() {
        return Err(Error::Unfinished);
    }
    let end = End::find(pages)?;
    let others = streams(pages, dataset)?;
    let runs = own.begin(pages, others, end.next(), *entry)?;
    let event = Event::Began { dataset: dataset.clone(), charge: *entry, runs };
    Ok(Done::Noted(append(pages, known, &end, event, None)?.1))
}

/// Ends what was begun for a stream.
pub fn end(pages: &mut dyn Pages, known: &Known, receipt: &Receipt) -> Result<Done> {
    continues(pages, known)?;
    let Receipt { dataset, entry, .. } = receipt;
    let is_begun = pages.charge(dataset, &Keys::began(*entry))?.is_some();
    if !is_begun || released(pages, *entry)?.is_some() {
        return Err(Error::Unfinished);
    }
    let end = End::find(pages)?;
    let event = Event::Computed { dataset: dataset.clone(), charge: *entry, runs: streams(pages, dataset)? };
    Ok(Done::Noted(append(pages, known, &end, event, None)?.1))
}

/// What is being computed for the streams of a dataset. A process that ended is noticed when it is charged.
fn streams(pages: &mut dyn Pages, dataset: &str) -> Result<Vec<Run>> {
    let newest = pages.last_charge(dataset, Keys::COMPUTING)?.map(|row| row.open()).transpose()?;
    Ok(newest.map(|entry| entry.event.runs().to_vec()).unwrap_or_default())
}

/// Records that the user ended what this entry began, unless it has an outcome.
pub fn interrupt(pages: &mut dyn Pages, known: &Known, entry: u64) -> Result<Done> {
    continues(pages, known)?;
    let row = pages.row(entry)?.ok_or_else(|| Error::Damaged(format!("entry {entry} is missing")))?;
    let event = row.open()?.event;
    let Some((dataset, charge)) = event.begins(entry) else { return Err(misplaced(&row)) };
    if released(pages, charge)?.is_some() || pages.charge(dataset, &Keys::computed(charge))?.is_some() {
        return Ok(Done::Noted(newest(pages, known)?));
    }
    Ok(Done::Noted(count_interruption(pages, known, dataset.to_owned(), charge, INTERRUPTED)?))
}

/// Lets a suspended dataset be charged again.
pub fn reopen(pages: &mut dyn Pages, known: &Known, name: &str, caller: &str, own: Option<Holder>) -> Result<Done> {
    continues(pages, known)?;
    if pages.registration(name)?.is_none() {
        return Err(Error::NoSuchDataset(name.to_owned()));
    }
    let rows = pages.last_charges(name)?;
    let lost = Runs::find(pages, &rows, own)?.lost;
    lose(pages, known, name, &lost)?;
    let Some(Failure { entry, suspension }) = failure(&pages.last_charges(name)?)? else {
        return Ok(Done::Reopened(None, newest(pages, known)?));
    };
    let event = Event::Reopened { dataset: name.to_owned(), failure: entry, caller: caller.to_owned() };
    let end = End::find(pages)?;
    let (_, head) = append(pages, known, &end, event, None)?;
    Ok(Done::Reopened(Some(suspension.entry), head))
}

/// The failure that suspended a dataset.
pub struct Failure {
    /// Its own entry.
    entry: u64,
    /// The charge that failed.
    pub suspension: Suspension,
}

/// The failure that suspended a dataset, according to the newest row under each of its terms, in their order; `None` if it
/// is not suspended.
pub fn failure(newest: &[Row]) -> Result<Option<Failure>> {
    let suspends = |row: &&Row| {
        row.keys.terms.as_deref().is_some_and(|terms| [Keys::SUSPENSION, Keys::INTERRUPTION].contains(&terms))
    };
    for row in newest.iter().rev().filter(suspends) {
        let (entry, failure) = match row.open()?.event {
            Event::Failed { charge, digest, .. } => (charge, FailureKind::of(digest)),
            Event::Interrupted { charge, recent, .. } if recent >= MOST_INTERRUPTED => {
                (charge, FailureKind::Interrupted)
            }
            Event::Interrupted { .. } => continue,
            Event::Reopened { .. } => return Ok(None),
            _ => return Err(misplaced(row)),
        };
        return Ok(Some(Failure { entry: row.number, suspension: Suspension { entry, failure } }));
    }
    Ok(None)
}

/// Checks that the receipt is for a stream; returns the head to which the anchor must now be moved.
pub fn resume(pages: &mut dyn Pages, known: &Known, receipt: &Receipt) -> Result<Option<Head>> {
    continues(pages, known)?;
    match charged(pages, receipt)?.releases {
        Releases::Stream => newest(pages, known),
        Releases::Once => {
            let Receipt { dataset, request, entry } = receipt.clone();
            Err(Error::UnknownReceipt { dataset, request, entry })
        }
    }
}

fn same_terms(dataset: &str, registered: &Terms, asked: &Terms) -> Result<()> {
    let dataset = dataset.to_owned();
    if registered.unit != asked.unit {
        let (registered, asked) = (registered.unit.clone(), asked.unit.clone());
        return Err(Error::OtherUnit { dataset, registered, asked });
    }
    if registered.adjacency != asked.adjacency {
        let (registered, asked) = (registered.adjacency.to_string(), asked.adjacency.to_string());
        return Err(Error::OtherAdjacency { dataset, registered, asked });
    }
    Ok(())
}

/// The charge of a receipt.
fn charged(pages: &mut dyn Pages, receipt: &Receipt) -> Result<Charge> {
    let Receipt { dataset, request, entry } = receipt;
    let unknown = || Error::UnknownReceipt { dataset: dataset.clone(), request: request.clone(), entry: *entry };
    let row = pages.row(*entry)?.ok_or_else(unknown)?;
    match row.open()?.event {
        Event::Charged { charge, .. } if charge.dataset == *dataset && charge.request == *request => Ok(*charge),
        _ => Err(unknown()),
    }
}

/// What was stored for a charge.
fn released(pages: &mut dyn Pages, charge: u64) -> Result<Option<String>> {
    let Some((row, text)) = pages.release(charge)? else { return Ok(None) };
    match row.open()?.event {
        Event::Released { digest, .. } | Event::Failed { digest, .. } | Event::Interrupted { digest, .. }
            if digest == Hash::of(&text) =>
        {
            Ok(Some(text))
        }
        _ => Err(Error::Damaged(format!("the release of entry {} was changed", row.number))),
    }
}

/// The dataset registered by a row.
pub fn registered(row: &Row) -> Result<Dataset> {
    match row.open()?.event {
        Event::Registered(dataset) => Ok(dataset),
        _ => Err(misplaced(row)),
    }
}
