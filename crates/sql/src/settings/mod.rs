//! Options from arguments, policies and the SQL itself, combined: the same for the command line and over HTTP.
//!
//! | module | contents |
//! |---|---|
//! | [`clock`] | the current time, as recorded in the ledger |
//! | [`policy`] | what is known about a table, in TOML |
//! | [`tables`], [`standard_input`] | the tables by name; standard input as one of them |
//! | [`words`] | parsing of ranges, keys and guarantees |

pub mod clock;
pub mod policy;
pub mod standard_input;
pub mod tables;
pub mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reticent::ledger::Origin;
use reticent::message;
use reticent::privacy::{Adjacency, Guarantee};

use crate::dialect;
use crate::error::{Error, Result};
use crate::options::{Options, Range, Unit};
use crate::query::Input;
use policy::Policy;
use reticent_table::Table;
use words::{guarantee, parsed, range};

/// A longer list of keys is recorded by its hash.
const LONGEST_LIST: usize = 1000;
/// More rows or groups than anyone has.
const LARGEST_CAP: u64 = 1 << 32;
/// A budget is not split more finely than this.
const LARGEST_WEIGHT: u32 = 1_000_000;

/// The options given with a query, as written.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The budget: ε.
    pub epsilon: Option<String>,
    /// With ε: δ.
    pub delta: Option<String>,
    /// The budget: ρ.
    pub rho: Option<String>,
    /// Whether a weak guarantee is intended; see [`Guarantee::confirmed`].
    pub allow_large_epsilon: bool,
    /// The privacy unit: `row`, a column, or `table.column`.
    pub units: Vec<String>,
    /// The adjacency.
    pub adjacency: Option<String>,
    /// The most groups to which a unit contributes.
    pub max_groups: Option<String>,
    /// The most rows that it contributes to each.
    pub max_rows: Option<String>,
    /// Ranges by column: `0..120` or `auto`.
    pub bounds: Vec<(String, String)>,
    /// Public keys by column.
    pub keys: Vec<(String, Vec<String>)>,
    /// Weights in the split of the budget, by the name of an aggregate.
    pub weights: Vec<(String, String)>,
}

/// A complete request.
#[derive(Debug)]
pub struct Settings {
    /// The query, without options.
    pub sql: String,
    /// The tables.
    pub inputs: Vec<Input>,
    /// How to answer it.
    pub options: Options,
    /// Whether the privacy unit was given.
    pub says_unit: bool,
    /// The dataset's budget, if a policy sets one.
    pub budget: Option<Guarantee>,
}

impl Settings {
    /// Combines arguments, then policies, then options in the SQL.
    ///
    /// # Errors
    /// If something is wrong, missing, or given twice with different values.
    pub fn new(sql: &str, asked: &Asked, inputs: Vec<Input>, policies: &[&Policy]) -> Result<Self> {
        let (sql, written) = dialect::split(sql)?;
        let epsilon = one("epsilon", [&asked.epsilon, &written.epsilon])?;
        let delta = one("delta", [&asked.delta, &written.delta])?;
        let guarantee = guarantee(epsilon.map(String::as_str), delta.map(String::as_str), asked.rho.as_deref())?;
        let mut options = Options::new(guarantee.confirmed(asked.allow_large_epsilon)?);
        let mut budget = None;
        let mut says_unit = false;
        for policy in policies {
            says_unit |= policy.says_unit();
            policy.apply(&inputs, &mut options, &mut budget)?;
        }
        if let Some(adjacency) = &asked.adjacency {
            options.adjacency = parsed::<Adjacency>("adjacency", adjacency)?;
        }
        if let Some(sql) = &written.unit
            && let Some(flag) = asked.units.iter().find(|flag| *flag != sql && !flag.ends_with(&format!(".{sql}")))
        {
            return Err(Error::option(format!(
                "the unit is {flag} in the arguments but {sql} in the SQL; give it once"
            )));
        }
        let by_policy = options.table_units.clone();
        for unit in asked.units.iter().chain(&written.unit) {
            says_unit = true;
            set_unit(unit, &by_policy, &inputs, &mut options)?;
        }
        let caps = [
            ("max-groups", [&asked.max_groups, &written.max_groups], &mut options.max_groups),
            ("max-rows", [&asked.max_rows, &written.max_rows], &mut options.max_rows),
        ];
        for (name, said, slot) in caps {
            if let Some(text) = one(name, said)?.filter(|text| text.as_str() != "auto") {
                let number = text.parse::<u64>().ok().filter(|number| (1..=LARGEST_CAP).contains(number));
                *slot = Some(number.ok_or_else(|| {
                    Error::option(message!([name], " is {text}, but it must be a positive integer or auto"))
                })?);
            }
        }
        for (column, text) in &asked.bounds {
            options.bounds.insert(column.clone(), range(column, text)?);
            options.asked_bounds.insert(column.clone());
        }
        options.keys.extend(asked.keys.iter().cloned());
        for (name, weight) in &asked.weights {
            let number = weight.parse::<u32>().ok().filter(|number| (1..=LARGEST_WEIGHT).contains(number));
            let number = number.ok_or_else(|| {
                Error::option(message!(
                    ["weight"],
                    " {name}={weight}: a weight must be an integer from 1 to {LARGEST_WEIGHT}"
                ))
            })?;
            options.weights.insert(name.clone(), number);
        }
        Ok(Self { sql, inputs, options, says_unit, budget })
    }

    /// Where each private table is: a file or directory, or a table of a database.
    fn places(&self) -> Vec<Origin> {
        self.inputs.iter().filter(|input| !input.public).map(|input| place(&input.table)).collect()
    }

    /// Where the rows are that the query is charged for; `None` if the dataset is `named`, and there are several places.
    ///
    /// # Errors
    /// If several private tables have no common name.
    pub fn place(&self, named: bool) -> Result<Option<Origin>> {
        let mut places = self.places();
        match (places.len(), named) {
            (1, _) => Ok(places.pop()),
            (_, true) => Ok(None),
            _ => Err(Error::option(message!(
                "the query uses several private tables: name their dataset with ",
                ["dataset"]
            ))),
        }
    }

    /// Where the rows of all private tables are.
    pub fn private_rows(&self) -> Vec<Origin> {
        self.inputs.iter().filter(|input| !input.public).flat_map(|input| origins(&input.table)).collect()
    }

    /// Where the rows of all public tables are.
    pub fn public_rows(&self) -> Vec<Origin> {
        self.inputs.iter().filter(|input| input.public).flat_map(|input| origins(&input.table)).collect()
    }

    /// A description of the whole request, for the ledger. A list that is too long is replaced by its digest.
    pub fn description(&self, digest: impl Fn(&str) -> String) -> String {
        // As written: whitespace in a string literal or after a comment makes a different query.
        let mut text = String::from("query ");
        for letter in self.sql.trim().chars() {
            match letter {
                letter if letter.is_control() || letter == '\\' => text.extend(letter.escape_default()),
                letter => text.push(letter),
            }
        }
        for input in &self.inputs {
            let kind = if input.public { "public table" } else { "table" };
            // However a database is reached, the table is the same.
            let database = input.table.database_table();
            let location = database.map_or_else(|| input.table.location(), |table| table.name());
            let _ = write!(text, "; {kind} {} = {location}", input.table.name());
            // What the header tells needs no words, and what was charged before keeps its own.
            let _ = input.table.chosen_delimiter().map(|delimiter| write!(text, " separated by {delimiter}"));
            let _ = input.table.chosen_encoding().map(|encoding| write!(text, " in the encoding {encoding}"));
            let _ = input.table.chosen_format().map(|format| write!(text, " as {format}"));
        }
        let Options { max_groups, max_rows, bounds, keys, weights, .. } = &self.options;
        for (cap, what) in [(max_rows, "rows"), (max_groups, "groups")] {
            let _ = cap.map(|cap| write!(text, "; at most {cap} {what}"));
        }
        for (column, range) in bounds {
            let _ = match range {
                Range::Public(bounds) => write!(text, "; {column} in {bounds}"),
                Range::Auto => write!(text, "; bounds of {column} found privately"),
            };
        }
        for (column, keys) in keys {
            let list = serde_json::json!(keys).to_string();
            let list = match list.len() > LONGEST_LIST {
                true => format!("{} with hash {}", keys.len(), digest(&list)),
                false => list,
            };
            let _ = write!(text, "; keys of {column}: {list}");
        }
        for (table, unit) in &self.options.table_units {
            let _ = write!(text, "; unit of {table}: {unit}");
        }
        for (name, weight) in weights {
            let _ = write!(text, "; weight of {name}: {weight}");
        }
        if clock::asks(&self.sql) { clock::describe(&text, self.options.now) } else { text }
    }
}

/// A [description](Settings::description) without the locations of its tables, for callers who refer to them by name.
pub fn without_places(description: &str) -> String {
    let is_table = |part: &str| part.starts_with("table ") || part.starts_with("public table ");
    let without = |part| match str::split_once(part, " = ") {
        Some((table, _)) if is_table(part) => table,
        _ => part,
    };
    description.split("; ").map(without).collect::<Vec<_>>().join("; ")
}

/// Where the rows of a table are: its files, or a table of a database.
pub fn origins(table: &Table) -> Vec<Origin> {
    let files = table.files().iter().cloned().map(Origin::File);
    files.chain(database_origin(table)).collect()
}

fn database_origin(table: &Table) -> Option<Origin> {
    let table = table.database_table()?;
    Some(Origin::Table { name: table.name().to_owned(), sharing: table.sharing().to_vec() })
}

/// The location of a table for the ledger: a table of a database, the file or folder that was named, or for a pattern the
/// folder before its first wildcard. It does not depend on which files there are: otherwise one more file would be another
/// dataset, with another budget, for all of them.
fn place(table: &Table) -> Origin {
    if let Some(origin) = database_origin(table) {
        return origin;
    }
    let location = Path::new(table.location());
    if location.exists() {
        return Origin::File(location.into());
    }
    let plain = |part: &&std::ffi::OsStr| !part.to_string_lossy().contains(['*', '?', '[']);
    let folder: PathBuf = location.iter().take_while(plain).collect();
    Origin::File(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder })
}

/// The owner of a table sets the unit in its policy: an argument may repeat it, but not change it.
fn set_unit(text: &str, by_policy: &BTreeMap<String, Unit>, inputs: &[Input], options: &mut Options) -> Result<()> {
    if text.is_empty() {
        let instead =
            message!(["unit"], " is empty; write ", ["unit"], " row, or the column that identifies the person");
        return Err(Error::option(instead));
    }
    let unit = |name: &str| if name.eq_ignore_ascii_case("row") { Unit::Row } else { Unit::Column(name.into()) };
    let of_table = text.split_once('.').filter(|(table, _)| inputs.iter().any(|input| input.table.name() == *table));
    let said = of_table.map_or_else(|| unit(text), |(_, column)| unit(column));
    let contradicts = |(table, policy): &(&String, &Unit)| {
        **policy != said && of_table.is_none_or(|(only, _)| only == table.as_str())
    };
    if let Some((table, policy)) = by_policy.iter().find(contradicts) {
        return Err(Error::option(format!(
            "the unit of {table} is {said} in the request but {policy} in its policy; give it once"
        )));
    }
    match of_table {
        Some((table, _)) => drop(options.table_units.insert(table.into(), said)),
        None => options.unit = said,
    }
    Ok(())
}

/// A value that was given once, or twice with the same value.
fn one<'text>(name: &'static str, said: [&'text Option<String>; 2]) -> Result<Option<&'text String>> {
    match said {
        [Some(flag), Some(sql)] if flag != sql => {
            Err(Error::option(message!([name], " is {flag} in the arguments but {sql} in the SQL; give it once")))
        }
        [flag, sql] => Ok(flag.as_ref().or(sql.as_ref())),
    }
}
