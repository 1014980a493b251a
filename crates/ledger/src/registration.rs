//! Datasets as users name and register them: checks before anything is written, and hints for names that do not exist.

use std::path::Path;

use reticent::message;
use reticent::privacy::{Adjacency, Guarantee};
use reticent::text::printable;

use crate::account::Registration;
use crate::budget::Budget;
use crate::durable::DurableLedger;
use crate::entry::{Dataset, Terms};
use crate::error::{Error, Result};
use crate::storage::location::{Location, may_hold_a_password};

/// How many similar names are suggested at most.
const MOST_SUGGESTIONS: usize = 3;
/// How similar they must be, from 0 to 1.
const RESEMBLANCE: f64 = 0.7;

/// Checks a name before anything else is done.
///
/// # Errors
/// If it is empty, has control characters, or may contain a password: then it is not repeated.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(Error::Request(message!(
            "{what} is {name:?}, but it must be non-empty text without line breaks or control characters"
        )));
    }
    if may_hold_a_password(name) {
        return Err(Error::Request(message!(
            "{what} looks like an address with a password in it; choose one that may be shown"
        )));
    }
    Ok(())
}

/// A budget that nothing can ever be charged to is useless, and cannot be changed.
fn check_unit(unit: &str) -> Result<()> {
    check_name("the unit", unit)?;
    let known = ["row", "line", "event", "part of a line"];
    let meant = known.into_iter().find(|known| unit != *known && unit.trim().eq_ignore_ascii_case(known));
    if let Some(meant) = meant {
        return Err(Error::Request(message!(["unit"], " is {unit:?}, which no release uses; write {meant:?}")));
    }
    if unit.trim() != unit || unit == "step" || unit.starts_with("steps") || unit.starts_with("events:") {
        return Err(Error::Request(message!(
            ["unit"],
            " is {unit:?}, which no release uses; for `reticent count` write line (one line per step), event (time steps), '3 \
             lines', '3 events' (",
            ["unit"],
            " events:3), or 'step of 1h' (",
            ["unit"],
            " step ",
            ["step"],
            " 1h)"
        )));
    }
    Ok(())
}

impl Dataset {
    /// A dataset with a limit, checked before a ledger is created for it. The adjacency is by default that of `reticent
    /// count` for lines, and add-remove for other units.
    ///
    /// # Errors
    /// If no release protects such a unit, or if the limit gives almost no protection and is not confirmed.
    pub fn limited(
        name: String,
        limit: Guarantee,
        unit: String,
        adjacency: Option<Adjacency>,
        allow_large_epsilon: bool,
    ) -> Result<Self> {
        check_unit(&unit)?;
        let limit = limit.confirmed(allow_large_epsilon)?;
        let adjacency = adjacency.unwrap_or(match unit == "line" || unit.ends_with(" lines") {
            true => Adjacency::Replace,
            false => Adjacency::AddRemove,
        });
        Ok(Self { name, budget: Budget::Limit(limit), terms: Some(Terms { unit, adjacency }) })
    }
}

impl DurableLedger {
    /// [`DurableLedger::register`] a dataset whose adjacency is a default, or was `said`.
    ///
    /// # Errors
    /// Also if the default would ignore earlier charges. If the dataset has another budget, the error tells which.
    pub fn register_as_said(&self, dataset: &Dataset, said: bool) -> Result<Registration> {
        if !said {
            self.same_as_before(dataset)?;
        }
        self.register(dataset).map_err(|error| match error {
            Error::DatasetExists(_) => self.fixed(&dataset.name).unwrap_or(error),
            other => other,
        })
    }

    /// A default must not ignore earlier charges.
    fn same_as_before(&self, dataset: &Dataset) -> Result<()> {
        let Some(account) = self.account(&dataset.name)? else { return Ok(()) };
        let charged = account.spent.iter().any(|(charged, _)| Some(charged) == dataset.terms.as_ref());
        match account.spent.first() {
            Some((Terms { unit, adjacency }, spent)) if account.dataset.budget == Budget::Unlimited && !charged => {
                let name = &dataset.name;
                Err(Error::Request(message!(
                    "{name} has spent {spent} under unit {unit}, adjacency {adjacency}; choose which of these the budget protects \
                     with ",
                    ["unit"],
                    " and ",
                    ["adjacency"]
                )))
            }
            _ => Ok(()),
        }
    }

    /// The error if there is a different budget already.
    fn fixed(&self, name: &str) -> Option<Error> {
        let Dataset { budget, terms, .. } = self.account(name).ok().flatten()?.dataset;
        let Terms { unit, adjacency } = terms?;
        Some(Error::Request(message!(
            "{name} is already registered: {budget}, unit {unit}, adjacency {adjacency}. This cannot be changed; for another budget, \
             choose another name"
        )))
    }

    /// The error for an unknown dataset of this ledger, with suggestions.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn unknown(&self, location: &Location, name: &str) -> Result<Error> {
        let names: Vec<String> = self.accounts()?.into_iter().map(|account| account.dataset.name).collect();
        let mut near: Vec<(f64, &String)> = names.iter().map(|other| (resemblance(name, other), other)).collect();
        near.retain(|(resemblance, _)| *resemblance >= RESEMBLANCE);
        near.sort_by(|left, right| right.0.total_cmp(&left.0));
        let near: Vec<String> = near.iter().take(MOST_SUGGESTIONS).map(|(_, name)| printable(name)).collect();
        let mut message = message!("the ledger {location} has no dataset {name}");
        message.extend(if Path::new(name).is_file() {
            message!("; for the file, write ", ["file"], " {name}")
        } else if !near.is_empty() {
            let near = near.join(" or ");
            message!("; did you mean {near}?")
        } else if names.is_empty() {
            "; it has none yet".into()
        } else {
            "; `reticent ledger show` lists all".into()
        });
        Ok(Error::Request(message))
    }
}

/// From 0 to 1: similar spelling, or the same file name in another folder.
fn resemblance(asked: &str, name: &str) -> f64 {
    let (asked, name) = (asked.to_lowercase(), name.to_lowercase());
    let last = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let whole = strsim::jaro_winkler(&asked, &name);
    let files = last(&asked).zip(last(&name)).map_or(0.0, |(asked, name)| strsim::jaro_winkler(&asked, &name));
    whole.max(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library asks, not only the command line.
    #[test]
    fn a_limit_that_protects_little_must_be_confirmed() {
        let limited = |allow| {
            let limit = Guarantee::Pure("1000".parse().unwrap());
            Dataset::limited("staff".into(), limit, "row".into(), None, allow)
        };
        assert!(limited(false).unwrap_err().to_string().contains("`allow-large-epsilon`"));
        assert_eq!(limited(true).unwrap().terms.unwrap().adjacency, Adjacency::AddRemove);
    }

    #[test]
    fn names_are_words() {
        assert!(check_name("the name", "visits of 2026/März").is_ok());
        for name in ["", "a\nb", "\u{1b}", "\0"] {
            assert!(check_name("the name", name).is_err(), "{name:?}");
        }
    }
}
