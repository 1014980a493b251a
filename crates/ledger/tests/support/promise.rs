//! What was acknowledged, and whether it was kept.

use reticent::ledger::Charge;
use reticent_ledger::{DurableLedger, Entry, Error, Event, Hash};

use super::entries;
use super::sums::{accounts, sums};
use super::workload::{Answer, Step};

/// What was acknowledged to a caller.
#[derive(Debug, Clone)]
pub enum Promise {
    Registered(String),
    Charged(Box<Charge>),
    /// The release by its hash: it may be long.
    Kept(Box<Charge>, Hash),
}

/// What an answer promises.
pub fn promise(step: &Step, answer: &Answer) -> Option<Promise> {
    match (step, answer) {
        (Step::Register(dataset), _) => Some(Promise::Registered(dataset.name.clone())),
        (Step::Charge(charge), Answer::Permitted(_)) => Some(Promise::Charged(Box::new(charge.clone()))),
        (Step::Charge(charge) | Step::Keep(charge, _), Answer::Release(text)) => {
            Some(Promise::Kept(Box::new(charge.clone()), Hash::of(text)))
        }
        _ => None,
    }
}

/// Checks that every promise is kept, and that nothing was written without a request.
pub fn check(ledger: &DurableLedger, steps: &[Step], promises: &[Promise]) -> Result<Vec<Entry>, String> {
    let said = |error: Error| error.to_string();
    let there = entries(ledger).map_err(said)?;
    let verdict = ledger.verify().map_err(said)?;
    if !verdict.is_sound() {
        return Err(format!("not sound: {:?}", verdict.findings));
    }
    if accounts(ledger).map_err(said)? != sums(&there)? {
        return Err("the sums are wrong".into());
    }
    let charged = |wanted: &Charge| {
        there.iter().find_map(|entry| match &entry.event {
            Event::Charged { charge, .. } if **charge == *wanted => Some(entry.number),
            _ => None,
        })
    };
    for promise in promises {
        let kept = match promise {
            Promise::Registered(name) => {
                there.iter().any(|entry| matches!(&entry.event, Event::Registered(dataset) if dataset.name == *name))
            }
            Promise::Charged(charge) => charged(charge).is_some(),
            Promise::Kept(charge, digest) => {
                let number = charged(charge);
                there.iter().any(|entry| {
                    matches!(&entry.event, Event::Released { charge, digest: kept } if Some(*charge) == number && kept == digest)
                })
            }
        };
        if !kept {
            return Err(format!("lost: {promise:?}"));
        }
    }
    let asked = |event: &Event| match event {
        Event::Opened { .. } | Event::Released { .. } => true,
        // No workload sets a limit later, fails, is interrupted or reopens, or has a stream.
        Event::Limited { .. } | Event::Failed { .. } | Event::Interrupted { .. } | Event::Reopened { .. } => false,
        Event::Began { .. } | Event::Computed { .. } => false,
        Event::Registered(dataset) => {
            steps.iter().any(|step| matches!(step, Step::Register(asked) if asked == dataset))
        }
        Event::Charged { charge, .. } => {
            steps.iter().any(|step| matches!(step, Step::Charge(asked) if *asked == **charge))
        }
    };
    match there.iter().find(|entry| !asked(&entry.event)) {
        Some(entry) => Err(format!("nobody asked for {entry:?}")),
        None => Ok(there),
    }
}
