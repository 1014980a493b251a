//! What a dataset may spend and has spent.

use std::fmt;

use reticent::ledger::{COMPUTATION_ERROR, PROCESS_ENDED};
use reticent::privacy::Guarantee;
use reticent::text::printable;
use serde_json::{Value, json};

use crate::budget::{Budget, Spend};
use crate::chain::misplaced;
use crate::component::Component;
use crate::entry::{Dataset, Event, Row, Terms};
use crate::error::Result;
use crate::hash::Hash;
use crate::limit;
use crate::rules::{failure, registered};
use crate::run::{Holder, Runs};
use crate::storage::Pages;

/// What a dataset may spend and has spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The dataset and its terms.
    pub dataset: Dataset,
    /// How often it was charged.
    pub charges: u64,
    /// What was spent, for each set of terms charged. The dataset's own terms come first, if it has any; others follow
    /// only if it got its terms together with a limit, after being charged under others.
    pub spent: Vec<(Terms, Spend)>,
    /// How many runs users have interrupted.
    pub interrupted: u64,
    /// Why nothing can be charged to the dataset; `None` if it is not suspended.
    pub suspended: Option<Suspension>,
}

/// The number of interrupted runs that suspends a dataset, counted since it was last suspended or reopened.
///
/// A user who watches how long a run takes, or how much memory, and interrupts it accordingly, learns one bit for each
/// charge that ε does not cover. 20 such bits are as many as can be learned before the owner must look; more typing
/// errors than that between two looks are rare.
pub const MOST_INTERRUPTED: u64 = 20;

/// The failed charge that suspended a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspension {
    /// The charge's entry.
    pub entry: u64,
    /// How it ended.
    pub failure: FailureKind,
}

/// How a charge failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The run ended without an answer.
    NoAnswer,
    /// The computation returned an error before an outcome was stored.
    Error,
    /// The process ended before an outcome was stored.
    ProcessEnded,
    /// The user interrupted the run, the [last one allowed](MOST_INTERRUPTED).
    Interrupted,
}

impl FailureKind {
    /// How a charge failed whose failure has a text with this hash.
    pub(crate) fn of(digest: Hash) -> Self {
        match digest {
            digest if digest == Hash::of(PROCESS_ENDED) => Self::ProcessEnded,
            digest if digest == Hash::of(COMPUTATION_ERROR) => Self::Error,
            _ => Self::NoAnswer,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer => formatter.write_str("a run ended without an answer"),
            Self::Error => formatter.write_str(COMPUTATION_ERROR),
            Self::ProcessEnded => formatter.write_str(PROCESS_ENDED),
            Self::Interrupted => write!(formatter, "users interrupted {MOST_INTERRUPTED} runs"),
        }
    }
}

/// In words: how the charge ended.
impl fmt::Display for Suspension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (entry {})", self.failure, self.entry)
    }
}

impl Account {
    /// The columns of [`Account::rows`].
    pub const COLUMNS: [&str; 10] =
        ["dataset", "unit", "adjacency", "component", "budget", "spent", "left", "part", "charges", "interrupted"];

    /// The limit for charges under these terms, if there is one.
    pub fn limit(&self, terms: &Terms) -> Option<&Guarantee> {
        match &self.dataset.budget {
            Budget::Limit(limit) if self.dataset.terms.as_ref() == Some(terms) => Some(limit),
            _ => None,
        }
    }

    /// ε, δ and ρ under each set of terms.
    pub fn components(&self) -> impl Iterator<Item = (&Terms, Vec<Component>)> {
        self.spent.iter().map(|(terms, spent)| (terms, Component::all(self.limit(terms), spent)))
    }

    /// Rows for spreadsheets, one for each component, with exact numbers; one that is mostly empty if nothing is limited or
    /// spent.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let text = |value: Option<String>| value.unwrap_or_default();
        let row = |rest: [String; 7]| {
            let (name, numbers) = (printable(&self.dataset.name), [self.charges, self.interrupted]);
            std::iter::once(name).chain(rest).chain(numbers.map(|number| number.to_string())).collect()
        };
        let mut rows = Vec::new();
        for (terms, components) in self.components() {
            rows.extend(components.iter().map(|component| {
                row([
                    printable(&terms.unit),
                    terms.adjacency.to_string(),
                    component.name.into(),
                    text(component.limit.as_ref().map(ToString::to_string)),
                    component.spent.to_string(),
                    text(component.left().map(|left| left.to_string())),
                    text(component.part().map(|part| part.to_f64().to_string())),
                ])
            }));
        }
        if rows.is_empty() {
            rows.push(row(Default::default()));
        }
        rows
    }

    /// The account for programs.
    pub fn to_json(&self) -> Value {
        let spent = self.components().map(|(terms, components)| {
            json!({
                "unit": terms.unit,
                "adjacency": terms.adjacency,
                "limited": self.limit(terms).is_some(),
                "components": components.iter().map(Component::to_json).collect::<Vec<_>>(),
            })
        });
        let terms = self.dataset.terms.as_ref();
        let budget = match &self.dataset.budget {
            Budget::Limit(limit) => Some(limit.to_string()),
            Budget::Unlimited => None,
        };
        json!({
            "dataset": self.dataset.name,
            "unit": terms.map(|terms| &terms.unit),
            "adjacency": terms.map(|terms| terms.adjacency),
            "budget": budget,
            "charges": self.charges,
            "interrupted": self.interrupted,
            "suspended": self.suspended.map(|suspension| suspension.entry),
            "spent": spent.collect::<Vec<_>>(),
        })
    }
}

/// The result of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    /// The dataset is new.
    New,
    /// The dataset had no limit before and has one now.
    Limited {
        /// What was spent before, in the limit's currency.
        spent: Spend,
    },
    /// The dataset was already registered with the same budget and terms.
    Unchanged,
}

impl Registration {
    /// What became of the dataset, in a sentence.
    pub fn sentence(&self, dataset: &Dataset) -> String {
        let Dataset { name, budget, terms } = dataset;
        let happened = match self {
            Self::New => format!("registered {name}"),
            Self::Unchanged => format!("nothing changed: {name} is already registered"),
            Self::Limited { spent } => format!("{name} had no limit and has one now, of which it has spent {spent}"),
        };
        let terms = terms.as_ref().map(|Terms { unit, adjacency }| format!(", unit {unit}, adjacency {adjacency}"));
        format!("{happened}: {budget}{}", terms.unwrap_or_default())
    }

    /// The same, for programs.
    pub fn to_json(&self, dataset: &Dataset) -> Value {
        let (outcome, spent) = match self {
            Self::New => ("registered", None),
            Self::Unchanged => ("unchanged", None),
            Self::Limited { spent } => ("limited", Some(spent)),
        };
        json!({
            "outcome": outcome,
            "dataset": dataset.name,
            "budget": dataset.budget.to_string(),
            "unit": dataset.terms.as_ref().map(|terms| &terms.unit),
            "adjacency": dataset.terms.as_ref().map(|terms| terms.adjacency),
            "spent": spent,
        })
    }
}

/// The account of the dataset registered by `row`. Sums and counts are read from its newest charges, so the cost does
/// not grow with the number of charges. Nothing is written: that a process ended is recorded when the dataset is charged,
/// but it is suspended already.
pub(crate) fn read(pages: &mut dyn Pages, row: &Row, own: Option<Holder>) -> Result<Account> {
    let dataset = limit::in_force(pages, registered(row)?)?;
    let newest = pages.last_charges(&dataset.name)?;
    let mut suspended = failure(&newest)?.map(|failure| failure.suspension);
    if suspended.is_none() {
        let lost = Runs::find(pages, &newest, own)?.lost;
        suspended = lost.last().map(|&entry| Suspension { entry, failure: FailureKind::ProcessEnded });
    }
    let (mut spent, mut charges, mut interrupted) = (Vec::new(), 0_u64, 0);
    for row in newest {
        let (terms, sum, count) = match row.open()?.event {
            Event::Charged { charge, spent, charges, .. } => (Some(Terms::of(&charge)), spent, charges),
            Event::Limited { dataset, spent, charges, .. } => (dataset.terms, spent, charges),
            Event::Interrupted { total, .. } => {
                interrupted = total;
                continue;
            }
            Event::Failed { .. } | Event::Reopened { .. } | Event::Began { .. } | Event::Computed { .. } => continue,
            _ => return Err(misplaced(&row)),
        };
        spent.extend(terms.map(|terms| (terms, sum)));
        charges = charges.saturating_add(count);
    }
    if let Some(own) = &dataset.terms {
        match spent.iter().position(|(terms, _)| terms == own) {
            Some(place) => spent[..=place].rotate_right(1),
            None => spent.insert(0, (own.clone(), Spend::NOTHING)),
        }
    }
    Ok(Account { dataset, charges, spent, interrupted, suspended })
}
