//! The ledger's history, entry by entry.

use reticent::privacy::Guarantee;
use reticent::text::printable;
use serde_json::{Map, Value, json};

use crate::account::{FailureKind, MOST_INTERRUPTED};
use crate::budget::Spend;
use crate::entry::{Entry, Event, Row, Terms};
use crate::error::Result;
use crate::hash::Hash;
use crate::storage::Pages;

/// The most entries in memory at a time: a description can have 64 KiB.
const PIECE: u32 = 64;

/// An entry, with its hash and the dataset and request it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The entry.
    pub entry: Entry,
    /// Its hash, which the next entry contains.
    pub hash: Hash,
    /// The dataset that was registered, limited, charged or reopened, or whose release was stored.
    pub dataset: Option<String>,
    /// The request that was charged, or whose release was stored.
    pub request: Option<String>,
}

impl Record {
    /// The columns of [`Record::cells`].
    pub const COLUMNS: [&str; 9] =
        ["entry", "time", "kind", "dataset", "request", "caller", "cost", "spent", "description"];

    /// The columns of [`Record::exact_cells`].
    pub const EXACT_COLUMNS: [&str; 15] = [
        "entry",
        "time",
        "kind",
        "dataset",
        "request",
        "caller",
        "cost",
        "spent_epsilon",
        "spent_delta",
        "spent_rho",
        "unit",
        "adjacency",
        "description",
        "previous",
        "hash",
    ];

    /// A row of a table for people, safe on a terminal; sums are rounded.
    pub fn cells(&self) -> [String; Self::COLUMNS.len()] {
        let summary = Summary::of(&self.entry.event);
        let text = |text: Option<&String>| text.map(|text| printable(text)).unwrap_or_default();
        [
            self.entry.number.to_string(),
            printable(&self.entry.at),
            summary.kind.into(),
            text(self.dataset.as_ref()),
            text(self.request.as_ref()),
            printable(&summary.caller),
            summary.cost.map(|cost| Spend::of(&cost).to_string()).unwrap_or_default(),
            summary.spent.map(|spent| spent.to_string()).unwrap_or_default(),
            printable(&summary.description),
        ]
    }

    /// A row for spreadsheets: unrounded, and with fields that [`Record::cells`] omits.
    pub fn exact_cells(&self) -> [String; Self::EXACT_COLUMNS.len()] {
        let Summary { terms, spent, cost, .. } = Summary::of(&self.entry.event);
        let [number, time, kind, dataset, request, caller, _, _, description] = self.cells();
        let [unit, adjacency] =
            terms.map(|terms| [printable(&terms.unit), terms.adjacency.to_string()]).unwrap_or_default();
        let [epsilon, delta, rho] =
            spent.map(|spent| [spent.epsilon, spent.delta, spent.rho].map(|sum| sum.to_string())).unwrap_or_default();
        let cost = cost.map(|cost| cost.to_string()).unwrap_or_default();
        let (previous, hash) = (self.entry.previous.to_string(), self.hash.to_string());
        [
            number,
            time,
            kind,
            dataset,
            request,
            caller,
            cost,
            epsilon,
            delta,
            rho,
            unit,
            adjacency,
            description,
            previous,
            hash,
        ]
    }

    /// All fields of the entry on one level, and its hash.
    pub fn to_json(&self) -> Value {
        let Self { entry, hash, dataset, request } = self;
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("number", json!(entry.number));
        put("at", json!(entry.at));
        let Ok(Value::Object(event)) = serde_json::to_value(&entry.event) else {
            unreachable!("an event is an object")
        };
        for (name, value) in event {
            match (name.as_str(), value) {
                // In a charge this is the request; in a release it is a number.
                ("charge", Value::Object(charge)) => {
                    charge.into_iter().for_each(|(name, value)| drop(put(&name, value)))
                }
                (name, value) => drop(put(name, value)),
            }
        }
        put("dataset", json!(dataset));
        put("request", json!(request));
        put("previous", json!(entry.previous));
        put("hash", json!(hash));
        Value::Object(object)
    }
}

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What happened, in a word.
    pub kind: &'static str,
    /// Who did it; empty if the entry does not say.
    pub caller: String,
    /// What was charged.
    pub cost: Option<Guarantee>,
    /// The terms of a dataset or a charge.
    pub terms: Option<Terms>,
    /// What the dataset had spent under these terms, after the entry.
    pub spent: Option<Spend>,
    /// What happened, in a sentence; of a charge, what was asked.
    pub description: String,
}

impl Summary {
    /// The summary of an entry.
    pub fn of(event: &Event) -> Self {
        let nothing = || (String::new(), None);
        let ((caller, cost), kind, terms, spent, description) = match event {
            Event::Opened { ledger } => (nothing(), "opened", None, None, format!("ledger {ledger}")),
            Event::Registered(dataset) => {
                let description = format!("budget {}{}", dataset.budget, described(dataset.terms.as_ref()));
                (nothing(), "registered", dataset.terms.clone(), None, description)
            }
            Event::Limited { dataset, spent, .. } => {
                let description = format!("new budget {}{}", dataset.budget, described(dataset.terms.as_ref()));
                (nothing(), "limited", dataset.terms.clone(), Some(spent.clone()), description)
            }
            Event::Charged { charge, spent, .. } => {
                let who = (charge.caller.clone(), Some(charge.guarantee.clone()));
                (who, "charged", Some(Terms::of(charge)), Some(spent.clone()), charge.description.clone())
            }
            Event::Released { charge, .. } => {
                (nothing(), "released", None, None, format!("stored the release of entry {charge}"))
            }
            Event::Failed { charge, digest, .. } => {
                let how = FailureKind::of(*digest);
                let description = format!("entry {charge}: {how}; suspended until it is reopened");
                (nothing(), "failed", None, None, description)
            }
            Event::Interrupted { charge, total, recent, .. } => {
                let suspended = if *recent < MOST_INTERRUPTED { "" } else { "; suspended until it is reopened" };
                let description = format!("entry {charge}: interrupted run number {total}{suspended}");
                (nothing(), "interrupted", None, None, description)
            }
            Event::Reopened { failure, caller, .. } => {
                let description = format!("can be charged again after the failure of entry {failure}");
                ((caller.clone(), None), "reopened", None, None, description)
            }
            Event::Began { charge, .. } => {
                (nothing(), "began", None, None, format!("rows are being read for the stream of entry {charge}"))
            }
            Event::Computed { charge, .. } => {
                (nothing(), "computed", None, None, format!("no rows are being read for the stream of entry {charge}"))
            }
        };
        Self { kind, caller, cost, terms, spent, description }
    }
}

fn described(terms: Option<&Terms>) -> String {
    terms.map(|terms| format!(", unit {}, adjacency {}", terms.unit, terms.adjacency)).unwrap_or_default()
}

/// The next entries after number `after`; empty at the end.
pub(crate) fn piece(pages: &mut dyn Pages, after: u64) -> Result<Vec<Record>> {
    let rows = pages.rows(after, PIECE)?;
    rows.iter().map(|row| record(pages, &rows, row)).collect()
}

fn record(pages: &mut dyn Pages, piece: &[Row], row: &Row) -> Result<Record> {
    let entry = row.open()?;
    let (dataset, request) = match &entry.event {
        Event::Opened { .. } => (None, None),
        Event::Registered(dataset) => (Some(dataset.name.clone()), None),
        Event::Limited { dataset, .. } => (Some(dataset.name.clone()), None),
        Event::Charged { charge, .. } => (Some(charge.dataset.clone()), Some(charge.request.clone())),
        Event::Reopened { dataset, .. } => (Some(dataset.clone()), None),
        Event::Released { charge, .. }
        | Event::Failed { charge, .. }
        | Event::Interrupted { charge, .. }
        | Event::Began { charge, .. }
        | Event::Computed { charge, .. } => {
            // Usually just before.
            let near = piece.binary_search_by_key(charge, |row| row.number).ok().map(|place| piece[place].clone());
            let charged = match near {
                Some(row) => Some(row),
                None => pages.row(*charge)?,
            };
            match charged.map(|row| row.open()).transpose()?.map(|entry| entry.event) {
                Some(Event::Charged { charge, .. }) => (Some(charge.dataset), Some(charge.request)),
                _ => (None, None),
            }
        }
    };
    Ok(Record { entry, hash: row.hash, dataset, request })
}
