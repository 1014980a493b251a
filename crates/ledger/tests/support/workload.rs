//! Requests to a ledger, and their expected outcomes.

use std::collections::HashMap;

use reticent::ledger::{Accounting, Charge, ChargeOutcome, Keeper, OnInterruption, Receipt, Releases};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, DurableLedger, Error, Result, Terms};

/// One request.
#[derive(Debug, Clone)]
pub enum Step {
    Register(Dataset),
    Charge(Charge),
    /// Keeps a release for a charge that was asked before.
    Keep(Charge, String),
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Done,
    Permitted(Receipt),
    /// A release: kept now, or before.
    Release(String),
    Refused,
}

/// Receipts by dataset and request.
pub type Receipts = HashMap<(String, String), Receipt>;

pub fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

pub fn zcdp(rho: &str) -> Guarantee {
    Guarantee::Zcdp(rho.parse().unwrap())
}

pub fn approx(epsilon: &str, delta: &str) -> Guarantee {
    Guarantee::Approx(epsilon.parse().unwrap(), delta.parse().unwrap())
}

pub fn dataset(name: &str, limit: Option<Guarantee>) -> Dataset {
    let terms = Terms { unit: "row".into(), adjacency: Adjacency::AddRemove };
    let (budget, terms) = limit.map_or((Budget::Unlimited, None), |limit| (Budget::Limit(limit), Some(terms)));
    Dataset { name: name.into(), budget, terms }
}

pub fn charge(dataset: &str, request: impl Into<String>, guarantee: Guarantee) -> Charge {
    Charge {
        dataset: dataset.into(),
        request: request.into(),
        caller: "ada".into(),
        description: "how many people there are".into(),
        unit: "row".into(),
        adjacency: Adjacency::AddRemove,
        guarantee,
        releases: Releases::Once,
    }
}

/// Four datasets, one of each kind of budget; the limits are nearly reached by 200 steps.
pub fn datasets(steps: usize) -> [Dataset; 4] {
    let scale = 1 + steps / 200;
    [
        dataset("pure", Some(pure(&format!("{}", 3 * scale)))),
        dataset("approx", Some(approx(&format!("{}", 3 * scale), &format!("{scale}e-6")))),
        dataset("rho", Some(zcdp(&format!("{scale}")))),
        dataset("open", None),
    ]
}

/// A release of some length, unlike all others.
pub fn release(number: usize, length: usize) -> String {
    let mut text = format!("release {number}: ");
    while text.len() < length {
        text += &format!("{} ", text.len() * (number + 17) % 9973);
    }
    text
}

/// A number of steps: registrations, charges that fit and that do not, repeated requests, small and large releases.
pub fn workload(steps: usize, large: usize) -> Vec<Step> {
    let mut asked: Vec<Step> = datasets(steps).into_iter().map(Step::Register).collect();
    let mut number = 0;
    while asked.len() < steps {
        number += 1;
        let (name, cost) = match number % 4 {
            0 => ("pure", pure("0.1")),
            1 if number % 8 == 1 => ("approx", pure("0.05")),
            1 => ("approx", approx("0.1", "1e-8")),
            2 if number % 8 == 2 => ("rho", pure("0.2")),
            2 => ("rho", zcdp("0.03")),
            _ if number % 8 == 3 => ("open", zcdp("1/3")),
            _ => ("open", approx("1/7", "1e-9")),
        };
        let charge = charge(name, format!("request {number}"), cost);
        asked.push(Step::Charge(charge.clone()));
        match number % 10 {
            // Asked again before anything is kept, and after.
            1 => asked.push(Step::Charge(charge.clone())),
            2 => asked.push(Step::Charge(Charge {
                request: format!("greedy {number}"),
                guarantee: pure("100"),
                ..charge
            })),
            // A charge for which nothing is ever kept.
            3 => {}
            4 => {
                asked.push(Step::Keep(charge.clone(), release(number, 10)));
                asked.push(Step::Charge(charge));
            }
            5 => asked.push(Step::Keep(charge, release(number, large))),
            _ => asked.push(Step::Keep(charge, release(number, 100))),
        }
    }
    asked.truncate(steps);
    asked
}

/// Asks, and remembers the receipt. A charge that does not fit is refused; every other error is an error.
pub fn ask(ledger: &DurableLedger, step: &Step, receipts: &mut Receipts) -> Result<Answer> {
    match step {
        Step::Register(dataset) => ledger.register(dataset).map(|_| Answer::Done),
        Step::Charge(charge) => match ledger.charge(charge, OnInterruption::Recompute) {
            Ok(ChargeOutcome::New(permit) | ChargeOutcome::Unfinished(permit)) => {
                let Accounting::Charged(receipt) = permit.accounting().clone() else {
                    panic!("a permit without a charge")
                };
                receipts.insert((charge.dataset.clone(), charge.request.clone()), receipt.clone());
                Ok(Answer::Permitted(receipt))
            }
            Ok(ChargeOutcome::AlreadyAnswered(text)) => Ok(Answer::Release(text)),
            Err(Error::Overdrawn(_)) => Ok(Answer::Refused),
            Err(error) => Err(error),
        },
        Step::Keep(charge, text) => match receipts.get(&(charge.dataset.clone(), charge.request.clone())) {
            Some(receipt) => ledger.keep(receipt, text).map(Answer::Release),
            None => Ok(Answer::Refused),
        },
    }
}
