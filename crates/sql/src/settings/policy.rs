//! What is known about a table, in TOML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reticent::privacy::{Adjacency, Guarantee};
use serde::Deserialize;

use super::words::{guarantee, keys, range};
use crate::error::{Error, Result};
use crate::options::{Options, Unit};
use crate::query::Input;

/// The contents of a policy.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The table it applies to; required if the query has several.
    table: Option<String>,
    unit: Option<String>,
    adjacency: Option<String>,
    max_groups: Option<u64>,
    max_rows: Option<u64>,
    #[serde(default)]
    bounds: BTreeMap<String, String>,
    #[serde(default)]
    keys: BTreeMap<String, Keys>,
    budget: Option<Budget>,
}

/// A file, or the keys themselves.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Keys {
    File(String),
    List(Vec<String>),
}

/// The total budget.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    epsilon: Option<Number>,
    delta: Option<Number>,
    rho: Option<Number>,
    #[serde(default)]
    /// Confirms an ε above 10 or a δ above 0.001, which give almost no protection.
    pub allow_large_epsilon: bool,
}

/// A text, to be exact, or a TOML number.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Number {
    Text(String),
    Integer(i64),
    Float(f64),
}

impl Number {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
        }
    }
}

impl Budget {
    /// Converts to a guarantee.
    ///
    /// # Errors
    /// If it is not a valid guarantee.
    pub fn total(&self) -> Result<Guarantee> {
        let text = |number: &Option<Number>| number.as_ref().map(Number::text);
        let (epsilon, delta, rho) = (text(&self.epsilon), text(&self.delta), text(&self.rho));
        let total = guarantee(epsilon.as_deref(), delta.as_deref(), rho.as_deref())?;
        Ok(total.confirmed(self.allow_large_epsilon)?)
    }
}

/// A policy, and where it comes from.
#[derive(Debug, Clone)]
pub struct Policy {
    origin: String,
    /// The directory that key files are relative to.
    folder: Option<PathBuf>,
    rules: Rules,
}

impl Policy {
    /// Reads a policy file.
    ///
    /// # Errors
    /// If there is no such file, or it is not a valid policy.
    pub fn read(path: &Path) -> Result<Self> {
        let origin = format!("the policy {}", path.display());
        let failed = |error: &dyn std::fmt::Display| Error::option(format!("{origin}: {error}"));
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        let rules: Rules = toml::from_str(&text).map_err(|error| failed(&error))?;
        Ok(Self { origin, folder: path.parent().map(Into::into), rules })
    }

    /// A policy that is part of another file, for one table.
    pub fn inline(table: &str, folder: Option<&Path>, rules: Rules) -> Self {
        let rules = Rules { table: Some(table.into()), ..rules };
        Self { origin: format!("the policy of {table}"), folder: folder.map(Into::into), rules }
    }

    /// The same policy, restricted to this table.
    ///
    /// # Errors
    /// If it is for another table.
    pub fn about(mut self, table: &str) -> Result<Self> {
        match &self.rules.table {
            Some(other) if other != table => {
                Err(self.failed(&format!("it is for the table {other}, but is used for {table}")))
            }
            _ => {
                self.rules.table = Some(table.into());
                Ok(self)
            }
        }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Error {
        Error::option(format!("{}: {error}", self.origin))
    }

    /// The files named by lists of keys, as written, and by policies: their contents are public. A policy that cannot be
    /// read is reported when it is applied.
    pub fn all_key_files(keys: &[String], policies: &[PathBuf]) -> Vec<PathBuf> {
        let written = keys.iter().filter_map(|text| text.split_once('='));
        let written = written.map(|(_, value)| PathBuf::from(value.trim())).filter(|path| path.is_file());
        let policies = policies.iter().filter_map(|path| Self::read(path).ok());
        written.chain(policies.flat_map(|policy| policy.key_files())).collect()
    }

    /// The files that keys are read from: their contents are public. Ask the ledgers whether they hold protected rows
    /// before [`Settings::new`](super::Settings::new) reads them.
    pub fn key_files(&self) -> Vec<PathBuf> {
        let files = self.rules.keys.values().filter_map(|keys| match keys {
            Keys::File(file) => Some(self.folder.as_deref().unwrap_or(Path::new("")).join(file)),
            Keys::List(_) => None,
        });
        files.filter(|file| file.is_file()).collect()
    }

    /// Whether it sets the privacy unit.
    pub fn says_unit(&self) -> bool {
        self.rules.unit.is_some()
    }

    /// The privacy unit; `row` if not set.
    pub fn unit(&self) -> Unit {
        match self.rules.unit.as_deref() {
            None | Some("row") => Unit::Row,
            Some(column) => Unit::Column(column.into()),
        }
    }

    /// The adjacency.
    ///
    /// # Errors
    /// If it is not a valid adjacency.
    pub fn adjacency(&self) -> Result<Adjacency> {
        let said = self.rules.adjacency.as_ref().map(|said| said.parse().map_err(|error| self.failed(&error)));
        said.unwrap_or(Ok(Adjacency::AddRemove))
    }

    /// The total budget, if it sets one.
    ///
    /// # Errors
    /// If it is not a valid guarantee.
    pub fn budget(&self) -> Result<Option<Guarantee>> {
        self.rules.budget.as_ref().map(|said| said.total().map_err(|error| self.failed(&error))).transpose()
    }

    /// Adds its settings to the options.
    ///
    /// # Errors
    /// If it is for another table, or a setting is invalid.
    pub fn apply(&self, inputs: &[Input], options: &mut Options, budget: &mut Option<Guarantee>) -> Result<()> {
        let private: Vec<&str> = inputs.iter().filter(|input| !input.public).map(|input| input.table.name()).collect();
        let table = match (&self.rules.table, &private[..]) {
            (Some(name), all) if all.contains(&name.as_str()) => name.clone(),
            (Some(name), _) => {
                return Err(
                    self.failed(&format!("it is for the table {name}, which is not among the tables of the query"))
                );
            }
            (None, [only]) => (*only).to_owned(),
            (None, _) => return Err(self.failed(&"there are several tables; choose one with table = \"NAME\"")),
        };
        if self.says_unit() {
            if private.len() == 1 {
                options.unit = self.unit();
            }
            options.table_units.insert(table, self.unit());
        }
        if self.rules.adjacency.is_some() {
            options.adjacency = self.adjacency()?;
        }
        options.max_groups = self.rules.max_groups.or(options.max_groups);
        options.max_rows = self.rules.max_rows.or(options.max_rows);
        for (column, text) in &self.rules.bounds {
            options.bounds.insert(column.clone(), range(column, text).map_err(|error| self.failed(&error))?);
        }
        for (column, said) in &self.rules.keys {
            let list = match said {
                Keys::List(list) => list.clone(),
                Keys::File(file) => {
                    // Callers ask the ledgers about `key_files` before they apply a policy.
                    let keys = keys(column, file, self.folder.as_deref(), |_| Ok(()));
                    keys.map_err(|error: Error| self.failed(&error))?
                }
            };
            options.keys.insert(column.clone(), list);
        }
        if let Some(total) = self.budget()? {
            *budget = Some(total);
        }
        Ok(())
    }
}
