//! What a dataset may spend and has spent.

use crate::budget::Spend;
use crate::chain::misplaced;
use crate::entry::{Dataset, Event, Row, Terms};
use crate::error::Result;
use crate::limit;
use crate::rules::registered;
use crate::storage::Pages;

/// What a dataset may spend and has spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The dataset and its terms.
    pub dataset: Dataset,
    /// How often it was charged.
    pub charges: u64,
    /// What was spent, under each of the terms it was charged for. A dataset with terms has these first; others follow only
    /// if it got its terms with a limit, after it was charged for others.
    pub spent: Vec<(Terms, Spend)>,
}

/// What became of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registration {
    /// The dataset is new.
    New,
    /// It had no limit so far, and has one now.
    Limited {
        /// What was spent before, in the limit's currency.
        spent: Spend,
    },
    /// It was registered in the same way before.
    Unchanged,
}

/// The account of the dataset that a row registered.
pub(crate) fn read(pages: &mut dyn Pages, row: &Row) -> Result<Account> {
    let registered = registered(row)?;
    let dataset = limit::in_force(pages, registered.clone())?;
    // A limit that was set later is found among the charges.
    let charges = pages.charges(&dataset.name)?.saturating_sub(u64::from(dataset != registered));
    let mut spent = Vec::new();
    for row in pages.last_charges(&dataset.name)? {
        match row.open()?.event {
            Event::Charged { charge, spent: sum } => spent.push((Terms::of(&charge), sum)),
            Event::Limited { dataset, spent: sum } => spent.extend(dataset.terms.map(|terms| (terms, sum))),
            _ => return Err(misplaced(&row)),
        }
    }
    if let Some(own) = &dataset.terms {
        match spent.iter().position(|(terms, _)| terms == own) {
            Some(place) => spent[..=place].rotate_right(1),
            None => spent.insert(0, (own.clone(), Spend::NOTHING)),
        }
    }
    Ok(Account { dataset, charges, spent })
}
