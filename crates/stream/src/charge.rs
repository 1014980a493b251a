//! Charging a stream: once, before it counts anything.
//!
//! First the intention is made durable here, then the charge in the ledger, then the stream here. If the process ends
//! in between, the ledger shows whether the charge was made: the intention contains its unique request id. A charge
//! that was made is used, not repeated; if none was made, the intention is removed.

use std::ops::ControlFlow;
use std::sync::Arc;

use reticent::error::Explained;
use reticent::ledger::{Accounting, Charge, Ledger, Releases};
use reticent_ledger::{Budget, Dataset, DurableLedger, Event, Terms, fresh_id};

use crate::catalogue::Entry;
use crate::clock::milliseconds;
use crate::definition::Definition;
use crate::error::{Error, Result};
use crate::shared::Shared;

/// A stream that is neither charged nor written yet.
pub(crate) fn intention(shared: &Shared, definition: Definition, caller: &str) -> Result<Entry> {
    let mut id_key = [0; 16];
    getrandom::fill(&mut id_key).map_err(|error| reticent::Error::Entropy(error.to_string()))?;
    let request = format!("stream/{}/{}", definition.name(), fresh_id()?);
    let ledger_head = shared.ledger.head()?.number;
    let caller = caller.to_owned();
    Ok(Entry { id: 0, definition: Arc::new(definition), caller, request, ledger_head, charged: None, id_key })
}

/// Charges the whole stream. If the charge is definitely refused, the intention is removed.
pub(crate) fn charge(shared: &Shared, entry: &mut Entry) -> Result<()> {
    let started = register(&shared.ledger, &entry.definition)
        .and_then(|()| shared.ledger.start(&request(entry)).map_err(Error::from));
    match started {
        Ok(permit) => match permit.accounting() {
            Accounting::Charged(receipt) => settle(shared, entry, receipt.entry),
            Accounting::Unaccounted => unreachable!("a ledger charges"),
        },
        Err(error) if error.is_usage() || error.is_overdrawn() => {
            shared.write(|pages| entry.remove(pages))?;
            Err(error)
        }
        // The charge may have been made: the intention stays, and is resolved when needed.
        Err(error) => Err(error),
    }
}

/// Resolves an intention after the process ended or the ledger failed: true if it was charged and is now a stream.
pub(crate) fn look_into(shared: &Shared, entry: &mut Entry) -> Result<bool> {
    match find(shared, entry)? {
        Some(number) => settle(shared, entry, number).map(|()| true),
        None => shared.write(|pages| entry.remove(pages)).map(|()| false),
    }
}

fn settle(shared: &Shared, entry: &mut Entry, number: u64) -> Result<()> {
    entry.charged = Some((number, milliseconds(&*shared.clock)));
    shared.write(|pages| entry.set_charged(pages))
}

/// The ledger's entry of the charge, which is not older than the intention.
fn find(shared: &Shared, entry: &Entry) -> Result<Option<u64>> {
    let mut found = None;
    shared.ledger.records(entry.ledger_head, |record| match &record.entry.event {
        Event::Charged { charge, .. } if charge.request == entry.request => {
            found = Some(record.entry.number);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// Registers a stream's default dataset, without a limit; a dataset named by the user must exist.
fn register(ledger: &DurableLedger, definition: &Definition) -> Result<()> {
    if !definition.has_own_dataset() || ledger.dataset(definition.dataset())?.is_some() {
        return Ok(());
    }
    let terms = Terms { unit: definition.unit_words(), adjacency: definition.stream().adjacency() };
    let (name, budget) = (definition.dataset().to_owned(), Budget::Unlimited);
    ledger.register(&Dataset { name, budget, terms: Some(terms) })?;
    Ok(())
}

fn request(entry: &Entry) -> Charge {
    let definition = &entry.definition;
    Charge {
        dataset: definition.dataset().into(),
        request: entry.request.clone(),
        caller: entry.caller.clone(),
        description: definition.description(),
        unit: definition.unit_words(),
        adjacency: definition.stream().adjacency(),
        guarantee: definition.guarantee().clone(),
        releases: Releases::Stream,
    }
}
