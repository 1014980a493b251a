//! The tables that can be asked about.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use reticent_ledger::{Budget, Dataset, DurableLedger, FileId, Terms, Use};
use reticent_sql::resolve::text;
use reticent_sql::settings::policy::{Policy, Rules};
use reticent_sql::{Input, Table};
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::{Config, PolicyConfig, TableConfig};
use crate::error::{Error, Result};

/// A table that can be asked about.
#[derive(Debug)]
pub struct Registered {
    name: String,
    location: String,
    /// Whose budget is charged; `None` if the table is public.
    dataset: Option<String>,
    policy: Option<Policy>,
    /// When the service started.
    files: Vec<PathBuf>,
    /// Where it was then, links followed; `None` if a pattern names it.
    place: Option<PathBuf>,
    columns: Option<Vec<String>>,
}

/// What a table is, for whoever asks about it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableView {
    /// What it is called in SQL.
    pub name: String,
    /// Is it nobody's secret?
    pub public: bool,
    /// Whose budget is charged; none if it is public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Whose privacy is protected; none if it is public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The names of its columns; none for NDJSON, where any name may be asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
}

/// What a query is about.
#[derive(Debug)]
pub struct Chosen<'tables> {
    /// Its tables.
    pub inputs: Vec<Input>,
    /// What is known of them.
    pub policies: Vec<&'tables Policy>,
    /// Whose budget is charged; `None` if no private table is asked about.
    pub dataset: Option<&'tables str>,
}

/// All tables that can be asked about.
#[derive(Debug, Default)]
pub struct Tables(BTreeMap<String, Registered>);

impl Tables {
    /// Opens all tables of a configuration by their headers, and registers their budgets.
    ///
    /// # Errors
    /// If a table is not there or not one, if the same rows would have two budgets, or a budget is another one already.
    pub fn open(config: &Config, ledger: &DurableLedger) -> Result<Self> {
        let mut tables = BTreeMap::new();
        for table in &config.tables {
            let opened = Registered::open(config, table)?;
            if tables.insert(table.name.clone(), opened).is_some() {
                let name = &table.name;
                return Err(Error::field("table", format!("there are two tables {name}; give each a name of its own")));
            }
        }
        let tables = Self(tables);
        let all: Vec<_> = tables.0.values().map(|table| (table, table.files.as_slice())).collect();
        tables.refuse_second_budgets(&all, ledger)?;
        for table in tables.0.values() {
            table.register(ledger)?;
        }
        Ok(tables)
    }

    /// The same rows must not have two budgets, nor be private and public, neither here nor in the ledger, whatever their files are
    /// called: of these tables, with their files as they are now, beside all others.
    fn refuse_second_budgets(&self, asked: &[(&Registered, &[PathBuf])], ledger: &DurableLedger) -> Result<()> {
        let mut holders: BTreeMap<FileId, Vec<&Registered>> = BTreeMap::new();
        // One that is elsewhere now is not asked about.
        for table in self.0.values().filter(|table| table.place_now() == table.place) {
            for id in Table::files_at(&table.location).iter().filter_map(|file| FileId::of(file)) {
                holders.entry(id).or_default().push(table);
            }
        }
        let holders_of = |file: &PathBuf| FileId::of(file).and_then(|id| holders.get(&id)).into_iter().flatten();
        for (table, files) in asked {
            for other in files.iter().flat_map(holders_of) {
                table.refuse_common_file(other)?;
            }
            table.refuse_owned(files, ledger)?;
            let keys = table.policy.as_ref().map(Policy::key_files).unwrap_or_default();
            let mut private: Vec<String> =
                keys.iter().flat_map(holders_of).filter_map(|other| other.dataset.clone()).collect();
            private.extend(ledger.conflict(&keys, Use::Public)?.map(|owner| owner.account.dataset.name));
            if let Some(owner) = private.first() {
                let message = format!(
                    "the policy of {} reads keys from a file of {owner}, which is private, and keys are public; write the keys themselves",
                    table.name
                );
                return Err(Error::field("policy", message));
            }
        }
        Ok(())
    }

    /// All of them, by name.
    pub fn views(&self) -> Vec<TableView> {
        self.0.values().map(Registered::view).collect()
    }

    /// The tables that a query names.
    ///
    /// # Errors
    /// If it is not SQL, if it names private tables of several datasets, if a table cannot be opened any more or is another one
    /// than when the service started, or if the same rows now have two budgets.
    pub fn chosen(&self, sql: &str, ledger: &DurableLedger) -> Result<Chosen<'_>> {
        let named = text::tables(sql)?;
        let mut chosen: Vec<&Registered> = self.0.values().filter(|table| named.contains(&table.name)).collect();
        let datasets: BTreeSet<&str> = chosen.iter().filter_map(|table| table.dataset.as_deref()).collect();
        if datasets.len() > 1 {
            let names = datasets.into_iter().collect::<Vec<_>>().join(" and ");
            return Err(Error::field(
                "sql",
                format!("the query is about tables of {names}, and can be charged to one only"),
            ));
        }
        if chosen.is_empty() {
            // The query cannot be planned, and what is said about it names the tables that there are.
            chosen = self.0.values().collect();
        }
        if chosen.is_empty() {
            let message = "there are no tables here; name some in the configuration, as [[table]], and start again";
            return Err(Error::field("sql", message));
        }
        let inputs: Vec<Input> = chosen.iter().map(|table| table.input()).collect::<Result<_>>()?;
        let asked: Vec<_> = chosen.iter().zip(&inputs).map(|(table, input)| (*table, input.table.files())).collect();
        self.refuse_second_budgets(&asked, ledger)?;
        let policies = chosen.iter().filter_map(|table| table.policy.as_ref()).collect();
        Ok(Chosen { inputs, policies, dataset: datasets.into_iter().next() })
    }
}

impl Registered {
    fn open(config: &Config, table: &TableConfig) -> Result<Self> {
        let location = config.path(&table.file);
        let opened = Table::open(&table.name, &location)?;
        let policy = match &table.policy {
            None => None,
            Some(_) if table.public => {
                let message = format!("the table {} is public, and a policy protects private ones", table.name);
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
        let (files, columns) = (opened.files().to_vec(), opened.columns());
        let mut table = Self { name: table.name.clone(), location, dataset, policy, files, place: None, columns };
        table.place = table.place_now();
        Ok(table)
    }

    fn place_now(&self) -> Option<PathBuf> {
        fs::canonicalize(&self.location).ok()
    }

    /// Two tables with the same rows are both private, of one dataset, or both public.
    fn refuse_common_file(&self, other: &Self) -> Result<()> {
        let (name, other_name) = (&self.name, &other.name);
        match (&other.dataset, &self.dataset) {
            (one, another) if one == another => Ok(()),
            (Some(_), Some(_)) => {
                let message =
                    format!("the tables {other_name} and {name} have a file in common; give both the same dataset");
                Err(Error::field("dataset", message))
            }
            _ => {
                let message = format!(
                    "the tables {other_name} and {name} have a file in common, and one of them is public; what is private in one is so in \
                     both: leave `public` out, or take the file out of one"
                );
                Err(Error::field("public", message))
            }
        }
    }

    /// What belongs to a dataset of the ledger is charged to it, and is not public.
    fn refuse_owned(&self, files: &[PathBuf], ledger: &DurableLedger) -> Result<()> {
        let wanted = self.dataset.as_deref().map_or(Use::Public, Use::Charged);
        let Some(owner) = ledger.conflict(files, wanted)? else { return Ok(()) };
        let (name, owned) = (&owner.account.dataset.name, &self.name);
        Err(match wanted {
            Use::Public => {
                let message = format!(
                    "the table {owned} is public, but the ledger knows {name}, which it belongs to, as private; leave `public` \
                     out and write dataset = {name:?}"
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

    /// Its budget, if its policy sets one; without a limit otherwise.
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

    /// A link that points elsewhere now would move queries to other rows under this table's budget. New content under the same
    /// name, and more files in the same folder, are the same table.
    fn input(&self) -> Result<Input> {
        // Where it lies, and what else lies there, is for the owner to know, not for those who ask.
        let table = Table::open(&self.name, &self.location).map_err(|error| {
            tracing::warn!("{error}");
            let name = &self.name;
            let message =
                format!("the table {name} cannot be opened as it could when the service started; its owner must look at its files");
            Error::Conflict(message)
        })?;
        let place = self.place_now();
        let is_file = place.as_ref().is_some_and(|place| place.is_file());
        if place != self.place || (is_file && table.files() != self.files) {
            let name = &self.name;
            let message = format!(
                "the table {name} is at another place than when the service started; if that is meant, start it again"
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
