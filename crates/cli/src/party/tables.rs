//! A party's own rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use reticent_party::{Statistic, Task};
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::{Input, JointQuery, Table};

use super::terms::{self, Terms};
use crate::exit::usage;

/// The task's query of this party's own tables, ready to be asked.
#[derive(Debug)]
pub struct OwnRows {
    query: JointQuery,
}

impl OwnRows {
    /// Opens the tables: headers and footers alone.
    ///
    /// # Errors
    /// If a table is missing or has not what the query needs, or if the query has another shape here than in the task.
    pub fn open(terms: &Terms, tables: &BTreeMap<String, PathBuf>) -> Result<Self> {
        let task = &terms.task;
        let named = reticent_sql::joint::tables(task.sql())?;
        if let Some(missing) = named.iter().find(|name| !tables.contains_key(*name)) {
            return Err(usage(format!(
                "the query reads a table {missing}: say where it is, as in tables = {{ {missing} = \"FILE\" }}"
            )));
        }
        let open = |(name, path): (&String, &PathBuf)| -> Result<Input> {
            let location = path.to_str().ok_or_else(|| anyhow!("{} is not text", path.display()))?;
            Ok(Input { table: Table::open(name, location).map_err(reticent_sql::Error::from)?, public: false })
        };
        let inputs = tables.iter().filter(|(name, _)| named.contains(*name)).map(open).collect::<Result<Vec<_>>>()?;
        let query = JointQuery::prepare(task.sql(), inputs, terms::options(task)?)?;
        if query.shape() != terms.query.shape() {
            return Err(usage(
                "the query has other cells in this party's table than in the task, because of the types of its columns; write \
                 CAST(… AS DOUBLE) or CAST(… AS VARCHAR) around those that it computes with",
            ));
        }
        Ok(Self { query })
    }
}

impl Statistic for OwnRows {
    fn exact(&mut self, _: &Task, secret: [u8; 32]) -> Result<Vec<i64>, String> {
        let failed = |_| reticent_sql::Error::Reading.to_string();
        let exact = self.query.measure(ChoiceKey::new(secret)).map_err(failed)?;
        Ok(exact.for_noise().to_vec())
    }
}

/// All files of these tables: a pattern or a folder is several.
///
/// # Errors
/// If there are none.
pub fn files<'path>(tables: impl IntoIterator<Item = (&'path String, &'path PathBuf)>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (name, path) in tables {
        let table = Table::open(name, path.to_str().unwrap_or_default()).map_err(reticent_sql::Error::from)?;
        files.extend(table.files().iter().cloned());
    }
    Ok(files)
}
