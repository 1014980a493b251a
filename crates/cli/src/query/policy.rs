//! What is known of a table, in TOML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent::privacy::Guarantee;
use reticent_sql::{Input, Options, Unit};
use serde::Deserialize;

use super::settings::{keys, parsed_guarantee, range};
use crate::exit::usage;

/// The total budget of a dataset.
pub type Total = Guarantee;

/// A policy file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The table it is about; needed if the query has several.
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
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Keys {
    File(String),
    List(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    epsilon: Option<Number>,
    delta: Option<Number>,
    rho: Option<Number>,
}

/// As text, to be exact, or as TOML writes numbers.
#[derive(Debug, Deserialize)]
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

/// What is known of a table.
#[derive(Debug)]
pub struct Policy {
    path: PathBuf,
    file: File,
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// If there is no such file, or it says what a policy does not.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| usage(format!("the policy {}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        let file: File = toml::from_str(&text).map_err(|error| failed(&error))?;
        Ok(Self { path: path.into(), file })
    }

    /// Does it say whose privacy is protected?
    pub fn says_unit(&self) -> bool {
        self.file.unit.is_some()
    }

    /// Adds what it says.
    ///
    /// # Errors
    /// If it is about another table, or what it says is wrong.
    pub fn apply(&self, inputs: &[Input], options: &mut Options, budget: &mut Option<Total>) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| usage(format!("the policy {}: {error}", self.path.display()));
        let private: Vec<&str> = inputs.iter().filter(|input| !input.public).map(|input| input.table.name()).collect();
        let table = match (&self.file.table, &private[..]) {
            (Some(name), all) if all.contains(&name.as_str()) => name.clone(),
            (Some(name), _) => {
                return Err(failed(&format!("it is about the table {name}, which --table does not name")));
            }
            (None, [only]) => (*only).to_owned(),
            (None, _) => return Err(failed(&"there are several tables; say which with table = \"NAME\"")),
        };
        if let Some(unit) = &self.file.unit {
            let unit = if unit == "row" { Unit::Row } else { Unit::Column(unit.clone()) };
            if private.len() == 1 {
                options.unit = unit.clone();
            }
            options.table_units.insert(table, unit);
        }
        if let Some(adjacency) = &self.file.adjacency {
            options.adjacency = adjacency.parse().map_err(|error| failed(&error))?;
        }
        options.max_groups = self.file.max_groups.unwrap_or(options.max_groups);
        options.max_rows = self.file.max_rows.unwrap_or(options.max_rows);
        for (column, text) in &self.file.bounds {
            options.bounds.insert(column.clone(), range(column, text).map_err(|error| failed(&error))?);
        }
        let folder = self.path.parent();
        for (column, said) in &self.file.keys {
            let list = match said {
                Keys::List(list) => list.clone(),
                Keys::File(file) => keys(column, file, folder).map_err(|error| failed(&error))?,
            };
            options.keys.insert(column.clone(), list);
        }
        if let Some(said) = &self.file.budget {
            let text = |number: &Option<Number>| number.as_ref().map(Number::text);
            let (epsilon, delta, rho) = (text(&said.epsilon), text(&said.delta), text(&said.rho));
            let total = parsed_guarantee(epsilon.as_ref(), delta.as_ref(), rho.as_deref());
            *budget = Some(total.map_err(|error| failed(&error))?);
        }
        Ok(())
    }
}
