//! The ledger's rules, each applied within one transaction.

use reticent::ledger::{Charge, Receipt, Releases};

use crate::account::Registration;
use crate::anchor::Head;
use crate::budget::{Budget, Spend};
use crate::chain::{End, Known, append, continues, misplaced, newest};
use crate::entry::{Dataset, Event, Keys, Row, Terms};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::limit;
use crate::storage::Pages;

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
    let event = Event::Limited { dataset: Box::new(dataset.clone()), spent: spent.clone(), charges: past.charges };
    let end = End::find(pages)?;
    let (_, head) = append(pages, known, &end, event, None)?;
    Ok(Done::Registered(Registration::Limited { spent }, head))
}

/// Charges a dataset, unless the same request was charged before.
pub fn charge(pages: &mut dyn Pages, known: &Known, charge: &Charge) -> Result<Done> {
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
            Some(text) => Done::Released(text, head),
            None => Done::Unfinished(Receipt { dataset, request, entry }, head),
        });
    }
    let row = pages.registration(name)?.ok_or_else(|| Error::NoSuchDataset(name.clone()))?;
    if let Some(Failure { charge: entry, .. }) = failure(pages, name)? {
        return Err(Error::Suspended { dataset: name.clone(), entry });
    }
    let dataset = limit::in_force(pages, registered(&row)?)?;
    let terms = Terms::of(charge);
    if let Some(registered) = &dataset.terms {
        same_terms(name, registered, &terms)?;
    }
    let (end, key) = (End::find(pages)?, Keys::terms(&terms));
    let (spent, charges) = match end.charge(name, &key) {
        // Usually the last entry is the dataset's newest charge, and need not be looked up.
        Some(Event::Charged { spent, charges, .. } | Event::Limited { spent, charges, .. }) => {
            (spent.clone(), *charges)
        }
        _ => match pages.last_charge(name, &key)? {
            None => (Spend::NOTHING, 0),
            Some(row) => match row.open()?.event {
                Event::Charged { spent, charges, .. } | Event::Limited { spent, charges, .. } => (spent, charges),
                _ => return Err(misplaced(&row)),
            },
        },
    };
    if !spent.is_possible(&dataset.budget) {
        return Err(Error::Damaged(format!("{name} cannot have spent {spent}")));
    }
    let spent = dataset.budget.admit(name, &spent, guarantee)?;
    let event = Event::Charged { charge: Box::new(charge.clone()), spent, charges: charges.saturating_add(1) };
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
        return Ok(Done::Released(kept, newest(pages, known)?));
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
        return Ok(Done::Released(kept, newest(pages, known)?));
    }
    let event = Event::Failed { dataset, charge: receipt.entry, digest: Hash::of(text) };
    let end = End::find(pages)?;
    let (_, head) = append(pages, known, &end, event, Some(text))?;
    Ok(Done::Released(text.to_owned(), head))
}

/// Lets a suspended dataset be charged again.
pub fn reopen(pages: &mut dyn Pages, known: &Known, name: &str, caller: &str) -> Result<Done> {
    continues(pages, known)?;
    if pages.registration(name)?.is_none() {
        return Err(Error::NoSuchDataset(name.to_owned()));
    }
    let Some(Failure { entry, charge }) = failure(pages, name)? else {
        return Ok(Done::Reopened(None, newest(pages, known)?));
    };
    let event = Event::Reopened { dataset: name.to_owned(), failure: entry, caller: caller.to_owned() };
    let end = End::find(pages)?;
    let (_, head) = append(pages, known, &end, event, None)?;
    Ok(Done::Reopened(Some(charge), head))
}

/// The failure that suspended a dataset.
pub struct Failure {
    /// Its own entry.
    entry: u64,
    /// The entry of the charge that failed.
    pub charge: u64,
}

/// The failure that suspended a dataset; `None` if it is not suspended.
pub fn failure(pages: &mut dyn Pages, dataset: &str) -> Result<Option<Failure>> {
    let Some(row) = pages.last_charge(dataset, Keys::SUSPENSION)? else { return Ok(None) };
    match row.open()?.event {
        Event::Failed { charge, .. } => Ok(Some(Failure { entry: row.number, charge })),
        Event::Reopened { .. } => Ok(None),
        _ => Err(misplaced(&row)),
    }
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
        Event::Released { digest, .. } | Event::Failed { digest, .. } if digest == Hash::of(&text) => Ok(Some(text)),
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
