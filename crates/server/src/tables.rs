//! The tables that can be queried.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use reticent::ledger::Origin;
use reticent_durable::FileId;
use reticent_ledger::{Budget, Dataset, DurableLedger, Terms, Use};
use reticent_sql::settings::origins;
use reticent_sql::settings::policy::{Policy, Rules};
use reticent_sql::{Delimiter, Encoding, Input, Table, TextOptions, text};
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::{Config, PolicyConfig, TableConfig};
use crate::error::{Error, Result};

/// A table that can be queried.
#[derive(Debug)]
pub struct Registered {
    name: String,
    location: String,
    options: TextOptions,
    /// The dataset whose budget is charged; `None` if the table is public.
    dataset: Option<String>,
    policy: Option<Policy>,
    /// Where its rows were when the service started: its files, or a table of a database.
    rows: Vec<Origin>,
    /// Its canonical path then; `None` if it is given by a pattern, or in a database.
    place: Option<PathBuf>,
    columns: Option<Vec<String>>,
}

/// A table, as shown to callers.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableView {
    /// Its name in SQL.
    pub name: String,
    /// Whether the table is public and needs no protection.
    pub public: bool,
    /// The dataset whose budget is charged; absent if the table is public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// The privacy unit; absent if the table is public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The names of its columns; absent for NDJSON, where any name is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
}

/// The tables of a query.
#[derive(Debug)]
pub struct Chosen<'tables> {
    /// The tables.
    pub inputs: Vec<Input>,
    /// Their policies.
    pub policies: Vec<&'tables Policy>,
    /// The dataset whose budget is charged; `None` if no table is private.
    pub dataset: Option<&'tables str>,
}

/// What two tables may have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holding {
    File(FileId),
    /// A table of a database.
    Table(String),
}

/// All tables that can be queried.
#[derive(Debug, Default)]
pub struct Tables(BTreeMap<String, Registered>);

impl Tables {
    /// Opens all tables of a configuration by their headers, and registers their budgets.
    ///
    /// # Errors
    /// If a table is missing or unreadable, if the same rows would have two budgets, or if a dataset already has a
    /// different budget.
    pub fn open(config: &Config, ledger: &DurableLedger) -> Result<Self> {
        let mut tables = BTreeMap::new();
        for table in &config.tables {
            let opened = Registered::open(config, table)?;
            if tables.insert(table.name.clone(), opened).is_some() {
                let name = &table.name;
                return Err(Error::field("table", format!("there are two tables {name}; choose another name for one")));
            }
        }
        let tables = Self(tables);
        let all: Vec<_> = tables.0.values().map(|table| (table, table.rows.clone())).collect();
        tables.refuse_second_budgets(&all, ledger)?;
        for table in tables.0.values() {
            table.register(ledger)?;
        }
        Ok(tables)
    }

    /// Checks these tables, with their current files, against all others and the ledger: the same rows must not have
    /// two budgets, nor be both private and public, whatever paths their files have.
    fn refuse_second_budgets(&self, asked: &[(&Registered, Vec<Origin>)], ledger: &DurableLedger) -> Result<()> {
        let mut holders: BTreeMap<Holding, Vec<&Registered>> = BTreeMap::new();
        // A table that was moved cannot be queried.
        for table in self.0.values().filter(|table| table.place_now() == table.place) {
            for id in Table::files_at(&table.location).iter().filter_map(|file| FileId::of(file)) {
                holders.entry(Holding::File(id)).or_default().push(table);
            }
            for name in table.rows.iter().filter_map(Origin::table) {
                holders.entry(Holding::Table(name.to_owned())).or_default().push(table);
            }
        }
        let holders_of = |rows: &Origin| {
            let held: Vec<Holding> = match rows {
                Origin::File(file) => FileId::of(file).map(Holding::File).into_iter().collect(),
                Origin::Table { sharing, .. } => sharing.iter().cloned().map(Holding::Table).collect(),
            };
            held.into_iter().filter_map(|held| holders.get(&held)).flatten().copied().collect::<Vec<_>>()
        };
        for (table, rows) in asked {
            for other in rows.iter().flat_map(holders_of) {
                table.refuse_common_rows(other)?;
            }
            table.refuse_owned(rows, ledger)?;
            let keys = table.policy.as_ref().map(Policy::key_files).unwrap_or_default();
            let keys: Vec<Origin> = keys.into_iter().map(Origin::File).collect();
            let mut private: Vec<String> =
                keys.iter().flat_map(holders_of).filter_map(|other| other.dataset.clone()).collect();
            private.extend(ledger.conflict(&keys, Use::Public)?.map(|owner| owner.account.dataset.name));
            if let Some(owner) = private.first() {
                let message = format!(
                    "the policy of {} reads keys from a file of {owner}, which is private, and keys are public; list the keys themselves",
                    table.name
                );
                return Err(Error::field("policy", message));
            }
        }
        Ok(())
    }

    /// All tables, by name.
    pub fn views(&self) -> Vec<TableView> {
        self.0.values().map(Registered::view).collect()
    }

    /// The tables that a query names.
    ///
    /// # Errors
    /// If it is not valid SQL, if it names private tables of several datasets, if a table can no longer be opened or
    /// was moved since the service started, or if the same rows now have two budgets.
    pub fn chosen(&self, sql: &str, ledger: &DurableLedger) -> Result<Chosen<'_>> {
        let named = text::tables(sql)?;
        let mut chosen: Vec<&Registered> = self.0.values().filter(|table| named.contains(&table.name)).collect();
        let datasets: BTreeSet<&str> = chosen.iter().filter_map(|table| table.dataset.as_deref()).collect();
        if datasets.len() > 1 {
            let names = datasets.into_iter().collect::<Vec<_>>().join(" and ");
            return Err(Error::field(
                "sql",
                format!("the query uses tables of {names}, but can be charged to only one dataset"),
            ));
        }
        if chosen.is_empty() {
            // Planning will fail, with an error that lists the available tables.
            chosen = self.0.values().collect();
        }
        if chosen.is_empty() {
            let message = "there are no tables; add some to the configuration as [[table]], and restart";
            return Err(Error::field("sql", message));
        }
        let inputs: Vec<Input> = chosen.iter().map(|table| table.input()).collect::<Result<_>>()?;
        let asked: Vec<_> = chosen.iter().zip(&inputs).map(|(table, input)| (*table, origins(&input.table))).collect();
        self.refuse_second_budgets(&asked, ledger)?;
        let policies = chosen.iter().filter_map(|table| table.policy.as_ref()).collect();
        Ok(Chosen { inputs, policies, dataset: datasets.into_iter().next() })
    }
}

impl Registered {
    fn open(config: &Config, table: &TableConfig) -> Result<Self> {
        let location = config.path(&table.file);
        let delimiter = table.delimiter.as_deref().map(str::parse::<Delimiter>).transpose();
        let delimiter = delimiter.map_err(|why| Error::field("delimiter", format!("table {}: {why}", table.name)))?;
        let encoding = table.encoding.as_deref().map(str::parse::<Encoding>).transpose();
        let encoding = encoding.map_err(|why| Error::field("encoding", format!("table {}: {why}", table.name)))?;
        let options = TextOptions { delimiter, encoding };
        let opened = Table::open_with(&table.name, &location, options)?;
        if opened.chosen_encoding() != encoding {
            let message = format!("the table {} is not text, and has no encoding; leave it out", table.name);
            return Err(Error::field("encoding", message));
        }
        if opened.chosen_delimiter() != delimiter {
            let message = format!("the table {} is not CSV, and has no delimiter; leave it out", table.name);
            return Err(Error::field("delimiter", message));
        }
        let policy = match &table.policy {
            None => None,
            Some(_) if table.public => {
                let message = format!("the table {} is public, but policies are only for private tables", table.name);
                return Err(Error::field("policy", message));
            }
            Some(PolicyConfig::File(path)) => {
                Some(Policy::read(Path::new(&config.path(&path.to_string_lossy())))?.about(&table.name)?)
            }
            Some(PolicyConfig::Inline(rules)) => {
                Some(Policy::inline(&table.name, config.folder.as_deref(), Rules::clone(rules)))
            }
        };
        let dataset = (!table.public).then(|| table.dataset.clone().unwrap_or_else(|| table.name.clone()));
        let (rows, columns) = (origins(&opened), opened.columns());
        let name = table.name.clone();
        let mut table = Self { name, location, options, dataset, policy, rows, place: None, columns };
        table.place = table.place_now();
        Ok(table)
    }

    fn place_now(&self) -> Option<PathBuf> {
        fs::canonicalize(&self.location).ok()
    }

    /// Two tables with the same rows must both be private, with the same dataset, or both public.
    fn refuse_common_rows(&self, other: &Self) -> Result<()> {
        let (name, other_name) = (&self.name, &other.name);
        let is_in_database = self.rows.iter().any(|rows| rows.table().is_some());
        let common = if is_in_database { "can have rows in common" } else { "have a file in common" };
        match (&other.dataset, &self.dataset) {
            (one, another) if one == another => Ok(()),
            (Some(_), Some(_)) => {
                let message = format!("the tables {other_name} and {name} {common}; give both the same dataset");
                Err(Error::field("dataset", message))
            }
            _ => {
                let message = format!(
                    "the tables {other_name} and {name} {common}, and one of them is public; what is private in one must be \
                     private in both: leave out `public`, or one of the tables"
                );
                Err(Error::field("public", message))
            }
        }
    }

    /// Rows that belong to a dataset in the ledger must be charged to it, and cannot be public.
    fn refuse_owned(&self, rows: &[Origin], ledger: &DurableLedger) -> Result<()> {
        let wanted = self.dataset.as_deref().map_or(Use::Public, Use::Charged);
        let Some(owner) = ledger.conflict(rows, wanted)? else { return Ok(()) };
        let (name, owned) = (&owner.account.dataset.name, &self.name);
        Err(match wanted {
            Use::Public => {
                let message = format!(
                    "the table {owned} is public, but the ledger knows its dataset {name} as private; leave out `public` and \
                     write dataset = {name:?}"
                );
                Error::field("public", message)
            }
            _ => {
                let message =
                    format!("{name} has a budget in the ledger; write dataset = {name:?} for the table {owned}");
                Error::field("dataset", message)
            }
        })
    }

    /// Registers its dataset, with the policy's budget if it sets one, otherwise without a limit.
    fn register(&self, ledger: &DurableLedger) -> Result<()> {
        let Some(name) = self.dataset.clone() else { return Ok(()) };
        let limit = self.policy.as_ref().map(Policy::budget).transpose()?.flatten();
        match (limit, &self.policy) {
            (Some(limit), Some(policy)) => {
                let terms = Terms { unit: policy.unit().to_string(), adjacency: policy.adjacency()? };
                ledger.register(&Dataset { name, budget: Budget::Limit(limit), terms: Some(terms) })?;
            }
            _ => ledger.ensure(&name)?,
        }
        Ok(())
    }

    /// Opens the table again. A link that now points elsewhere would charge queries on other rows to this table's
    /// budget. New content at the same path, and more files in the same folder, are the same table.
    fn input(&self) -> Result<Input> {
        // The table's path, and what else is there, is for the owner to know, not for callers.
        let table = Table::open_with(&self.name, &self.location, self.options).map_err(|error| {
            tracing::warn!("{error}");
            let name = &self.name;
            let message =
                format!("the table {name} can no longer be opened; its owner should check the files or the database");
            Error::Conflict(message)
        })?;
        let place = self.place_now();
        let is_file = place.as_ref().is_some_and(|place| place.is_file());
        let is_same = |one: &Origin| self.rows.iter().any(|rows| rows.table() == one.table());
        let is_in_database = table.database_table().is_some();
        let rows = origins(&table);
        if place != self.place || (is_file && rows != self.rows) || (is_in_database && !rows.iter().all(is_same)) {
            let name = &self.name;
            let message = format!(
                "the table {name} was moved since the service started; if that was intended, restart the service"
            );
            return Err(Error::Conflict(message));
        }
        Ok(Input { table, public: self.dataset.is_none() })
    }

    fn view(&self) -> TableView {
        let unit = self
            .dataset
            .as_ref()
            .map(|_| self.policy.as_ref().map_or_else(|| "row".into(), |policy| policy.unit().to_string()));
        TableView {
            name: self.name.clone(),
            public: self.dataset.is_none(),
            dataset: self.dataset.clone(),
            unit,
            columns: self.columns.clone(),
        }
    }
}
