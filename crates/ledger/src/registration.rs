//! Datasets as users name and register them: checks before anything is written, and hints for names that do not exist.

use std::path::{Path, PathBuf};

use reticent::message;
use reticent::privacy::{Adjacency, Guarantee};
use reticent::text::printable;

use crate::account::Registration;
use crate::budget::Budget;
use crate::claims::dataset_of_file;
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

/// The dataset that the user names, or that is a file, under its full path; `None` if there is neither.
///
/// # Errors
/// As [`check_name`] and [`dataset_of_file`].
pub fn named(name: Option<&str>, file: Option<&Path>) -> Result<Option<String>> {
    match (name, file) {
        (_, Some(file)) => dataset_of_file(file).map(Some),
        (Some(name), None) => {
            check_name("the dataset's name", name)?;
            Ok(Some(name.into()))
        }
        (None, None) => Ok(None),
    }
}

/// What the user says about a dataset to register.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Its name.
    pub name: Option<String>,
    /// Instead of a name: the file that it is.
    pub file: Option<PathBuf>,
    /// The limit: ε.
    pub epsilon: Option<String>,
    /// With ε: δ.
    pub delta: Option<String>,
    /// The limit: ρ.
    pub rho: Option<String>,
    /// Confirms a limit that protects next to nothing.
    pub allow_large_epsilon: bool,
    /// The privacy unit.
    pub unit: Option<String>,
    /// `add-remove` or `replace`; see [`Dataset::limited`] for the default.
    pub adjacency: Option<String>,
}

impl Asked {
    /// The dataset, checked before a ledger is created for it; `None` if nothing is said about one.
    ///
    /// # Errors
    /// If something is missing or invalid, or the name is that of a file here: under the bare name the budget would not
    /// apply to `reticent count FILE`.
    pub fn dataset(&self) -> Result<Option<Dataset>> {
        let limit = Guarantee::written(self.epsilon.as_deref(), self.delta.as_deref(), self.rho.as_deref())?;
        let wrong = |message| Err(Error::Request(message));
        let (name, limit) = match (named(self.name.as_deref(), self.file.as_deref())?, limit) {
            (Some(name), Some(limit)) => (name, limit),
            (Some(name), None) => {
                return wrong(message!(
                    "{name} needs a budget: ",
                    ["epsilon"],
                    " E, ",
                    ["epsilon"],
                    " E ",
                    ["delta"],
                    " D, or ",
                    ["rho"],
                    " R"
                ));
            }
            (None, Some(limit)) => {
                return wrong(message!("{limit} of which dataset? Give a name or ", ["file"], " FILE"));
            }
            (None, None) if self.unit.is_some() || self.adjacency.is_some() => {
                return wrong(message!(
                    ["unit"],
                    " and ",
                    ["adjacency"],
                    " belong to a dataset; give its name and budget"
                ));
            }
            (None, None) => return Ok(None),
        };
        if let Some(name) = self.name.as_deref().filter(|name| Path::new(name).is_file()) {
            return wrong(message!(
                "{name} is a file here; write ",
                ["file"],
                " {name} to set the budget of that file, or choose another name"
            ));
        }
        // No default: it cannot be changed later, and a budget for a different unit than the releases' is useless.
        let Some(unit) = self.unit.clone() else {
            return wrong(message!(
                "the budget of {name} needs a privacy unit: ",
                ["unit"],
                " row or the name of a column for a table; for `reticent count`, ",
                ["unit"],
                " line (one line per step) or event (time steps)"
            ));
        };
        let adjacency = self.adjacency.as_deref().map(str::parse).transpose()?;
        Dataset::limited(name, limit, unit, adjacency, self.allow_large_epsilon).map(Some)
    }
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
