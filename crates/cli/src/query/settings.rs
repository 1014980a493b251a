//! What arguments, policies and the SQL itself say, together.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::hash::Hash;
use reticent_sql::{Input, Options, Range, Table, Unit, dialect};

use super::arguments::Arguments;
use super::one_place;
use super::policy::{Policy, Total};
use crate::exit::usage;

/// A longer list of keys is told by its hash.
const LONGEST_LIST: usize = 1000;

/// All that is asked.
#[derive(Debug)]
pub struct Settings {
    /// The query, without options.
    pub sql: String,
    /// Its tables.
    pub inputs: Vec<Input>,
    /// How it is to be answered.
    pub options: Options,
    /// Did anybody say whose privacy is protected?
    pub says_unit: bool,
    /// The dataset's budget, if a policy sets one.
    pub budget: Option<Total>,
    named: bool,
    places: Vec<PathBuf>,
}

impl Settings {
    /// As the arguments say; then as policies say; then as the SQL says.
    ///
    /// # Errors
    /// If something is wrong, missing, or said twice in different ways.
    pub fn new(arguments: &Arguments) -> Result<Self> {
        let (sql, written) = dialect::split(&arguments.sql)?;
        let mut inputs = Vec::new();
        for (list, public) in [(&arguments.tables, false), (&arguments.public_tables, true)] {
            for table in list {
                let (name, location) = pair("--table", table, "people=people.csv")?;
                if inputs.iter().any(|input: &Input| input.table.name() == name) {
                    return Err(usage(format!("there are two tables {name}; give each a name of its own")));
                }
                inputs.push(Input { table: Table::open(name, location)?, public });
            }
        }
        if inputs.is_empty() {
            return Err(usage("no table: add --table NAME=FILE, as in --table people=people.csv"));
        }
        let epsilon = one("epsilon", [&arguments.epsilon, &written.epsilon])?;
        let delta = one("delta", [&arguments.delta, &written.delta])?;
        let guarantee = guarantee(epsilon, delta, arguments.rho.as_deref())?;
        let mut options = Options::new(guarantee);
        let mut budget = None;
        let mut says_unit = false;
        for path in &arguments.policies {
            let policy = Policy::read(path)?;
            says_unit |= policy.says_unit();
            policy.apply(&inputs, &mut options, &mut budget)?;
        }
        if let Some(adjacency) = &arguments.adjacency {
            options.adjacency = parsed::<Adjacency>("--adjacency", adjacency)?;
        }
        if let Some(sql) = &written.unit
            && let Some(flag) = arguments.units.iter().find(|flag| *flag != sql && !flag.ends_with(&format!(".{sql}")))
        {
            return Err(usage(format!("the unit is {flag} among the arguments and {sql} in the SQL; say it once")));
        }
        let by_policy = options.table_units.clone();
        for unit in arguments.units.iter().chain(&written.unit) {
            says_unit = true;
            set_unit(unit, &by_policy, &inputs, &mut options)?;
        }
        let caps = [
            ("--max-groups", [&arguments.max_groups, &written.max_groups], &mut options.max_groups),
            ("--max-rows", [&arguments.max_rows, &written.max_rows], &mut options.max_rows),
        ];
        for (name, said, slot) in caps {
            if let Some(text) = one(name, said)? {
                let number = text.parse::<u64>().ok().filter(|number| (1..=1 << 32).contains(number));
                *slot = number
                    .ok_or_else(|| usage(format!("{name} is {text}, but it must be a whole number from 1 on")))?;
            }
        }
        for bound in &arguments.bounds {
            let (column, range) = pair("--bounds", bound, "age=0..120")?;
            options.bounds.insert(column.into(), self::range(column, range)?);
        }
        for key in &arguments.keys {
            let (column, values) = pair("--keys", key, "region=regions.csv")?;
            options.keys.insert(column.into(), keys(column, values, None)?);
        }
        for weight in &arguments.weights {
            let (name, weight) = pair("--weight", weight, "mean=2")?;
            let number = weight.parse::<u32>().ok().filter(|number| (1..=1_000_000).contains(number));
            let number = number.ok_or_else(|| {
                usage(format!("--weight {name}={weight}: a weight is a whole number from 1 to 1000000"))
            })?;
            options.weights.insert(name.into(), number);
        }
        let private = inputs.iter().filter(|input| !input.public);
        let places = private.map(|input| place(&input.table)).collect();
        let named = arguments.accounting.dataset.is_some();
        Ok(Self { sql, inputs, options, says_unit, budget, named, places })
    }

    /// The file or folder whose budget is charged, unless a dataset is named.
    ///
    /// # Errors
    /// If there are several.
    pub fn place(&self) -> Result<Option<PathBuf>> {
        one_place(self.places.clone(), self.named)
    }

    /// The files of all private tables.
    pub fn private_files(&self) -> Vec<PathBuf> {
        let private = self.inputs.iter().filter(|input| !input.public);
        private.flat_map(|input| input.table.files().iter().cloned()).collect()
    }

    /// All of it, in words, for the ledger.
    pub fn description(&self) -> String {
        // As it was written: white space in a text or after a comment makes another query.
        let mut text = String::from("query ");
        for letter in self.sql.trim().chars() {
            match letter {
                letter if letter.is_control() || letter == '\\' => text.extend(letter.escape_default()),
                letter => text.push(letter),
            }
        }
        for input in &self.inputs {
            let kind = if input.public { "public table" } else { "table" };
            let _ = write!(text, "; {kind} {} = {}", input.table.name(), input.table.location());
        }
        let Options { max_groups, max_rows, bounds, keys, weights, .. } = &self.options;
        let _ = write!(text, "; at most {max_rows} rows in {max_groups} groups");
        for (column, range) in bounds {
            let _ = match range {
                Range::Public(bounds) => write!(text, "; {column} in {bounds}"),
                Range::Auto => write!(text, "; bounds of {column} found privately"),
            };
        }
        for (column, keys) in keys {
            let list = serde_json::json!(keys).to_string();
            let list = match list.len() > LONGEST_LIST {
                true => format!("{} with hash {}", keys.len(), Hash::of(&list)),
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
        text
    }
}

/// Where a table is, for the ledger: the file, or the folder of several.
fn place(table: &Table) -> PathBuf {
    let location = Path::new(table.location());
    match table.files() {
        [file] => file.clone(),
        _ if location.is_dir() => location.into(),
        [first, ..] => first.parent().unwrap_or(location).into(),
        [] => location.into(),
    }
}

fn guarantee(epsilon: Option<&String>, delta: Option<&String>, rho: Option<&str>) -> Result<Guarantee> {
    Ok(match (epsilon, delta, rho) {
        (Some(epsilon), None, None) => Guarantee::Pure(parsed("--epsilon", epsilon)?),
        (Some(epsilon), Some(delta), None) => {
            Guarantee::Approx(parsed("--epsilon", epsilon)?, parsed("--delta", delta)?)
        }
        (None, None, Some(rho)) => Guarantee::Zcdp(parsed("--rho", rho)?),
        (None, Some(_), None) => return Err(usage("--delta goes with --epsilon; add --epsilon 1")),
        (Some(_), _, Some(_)) => return Err(usage("either epsilon or --rho, not both")),
        _ => return Err(usage("what may it cost? add --epsilon 1 (the smaller, the more private)")),
    })
}

/// A policy's unit is the word of whoever owns the table: an argument may repeat it, not change it.
fn set_unit(text: &str, by_policy: &BTreeMap<String, Unit>, inputs: &[Input], options: &mut Options) -> Result<()> {
    if text.is_empty() {
        return Err(usage("--unit is empty; write --unit row, or the column that tells whose a row is"));
    }
    let unit = |name: &str| if name.eq_ignore_ascii_case("row") { Unit::Row } else { Unit::Column(name.into()) };
    let of_table = text.split_once('.').filter(|(table, _)| inputs.iter().any(|input| input.table.name() == *table));
    let said = of_table.map_or_else(|| unit(text), |(_, column)| unit(column));
    let contradicts = |(table, policy): &(&String, &Unit)| {
        **policy != said && of_table.is_none_or(|(only, _)| only == table.as_str())
    };
    if let Some((table, policy)) = by_policy.iter().find(contradicts) {
        return Err(usage(format!("the unit of {table} is {said} as asked, and {policy} in its policy; say it once")));
    }
    match of_table {
        Some((table, _)) => drop(options.table_units.insert(table.into(), said)),
        None => options.unit = said,
    }
    Ok(())
}

/// A range as it is written.
pub fn range(column: &str, text: &str) -> Result<Range> {
    if text.trim() == "auto" {
        return Ok(Range::Auto);
    }
    let bounds = text.parse().map_err(|error| usage(format!("--bounds {column}={text}: {error}")))?;
    Ok(Range::Public(bounds))
}

/// Keys as they are written: a list, or a file with one a line or with a column of that name.
pub fn keys(column: &str, text: &str, folder: Option<&Path>) -> Result<Vec<String>> {
    let path = folder.map_or_else(|| PathBuf::from(text), |folder| folder.join(text));
    if !path.is_file() {
        if text.contains(',') || !text.contains(['/', '.']) {
            return Ok(text.split(',').map(|key| key.trim().to_owned()).collect());
        }
        return Err(usage(format!(
            "--keys {column}={text}: there is no such file (keys themselves are written a,b,c)"
        )));
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| usage(format!("--keys {column}={}: {error}", path.display())))?;
    Ok(key_column(column, &text))
}

/// The column of that name if the first line is a header; else every line.
fn key_column(column: &str, text: &str) -> Vec<String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let unquoted = |cell: &str| cell.trim().trim_matches('"').replace("\"\"", "\"");
    let place = lines.peek().and_then(|first| first.split(',').position(|name| unquoted(name) == column));
    if place.is_some() {
        lines.next();
    }
    lines
        .map(|line| match place {
            Some(place) => unquoted(line.split(',').nth(place).unwrap_or("")),
            None => unquoted(line),
        })
        .collect()
}

/// `NAME=VALUE`
fn pair<'text>(flag: &str, text: &'text str, example: &str) -> Result<(&'text str, &'text str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok((name.trim(), value.trim())),
        _ => Err(usage(format!("{flag} {text}: write it as {flag} {example}"))),
    }
}

/// What was said once, or twice in the same way.
fn one<'text>(name: &str, said: [&'text Option<String>; 2]) -> Result<Option<&'text String>> {
    match said {
        [Some(flag), Some(sql)] if flag != sql => {
            let name = name.trim_start_matches("--");
            Err(usage(format!("{name} is {flag} among the arguments and {sql} in the SQL; say it once")))
        }
        [flag, sql] => Ok(flag.as_ref().or(sql.as_ref())),
    }
}

fn parsed<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    text.trim().parse().map_err(|error: T::Err| usage(format!("{flag}: {error}")))
}

/// The same budget as arguments would say it.
pub fn parsed_guarantee(epsilon: Option<&String>, delta: Option<&String>, rho: Option<&str>) -> Result<Guarantee> {
    guarantee(epsilon, delta, rho)
}
