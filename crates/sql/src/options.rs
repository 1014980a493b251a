//! The options of a query: privacy unit, budget, clamping bounds.

use std::collections::{BTreeMap, BTreeSet};

use reticent::privacy::{Adjacency, Guarantee};
use reticent::statistic::Bounds;

/// The privacy unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// Each row is a different person.
    Row,
    /// All rows with the same value in this column belong to one person.
    Column(String),
}

impl std::fmt::Display for Unit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Row => formatter.write_str("row"),
            Self::Column(name) => formatter.write_str(name),
        }
    }
}

/// `row`, or the name of a column.
impl From<&str> for Unit {
    fn from(name: &str) -> Self {
        if name == "row" { Self::Row } else { Self::Column(name.into()) }
    }
}

/// The range of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// Chosen without looking at the data.
    Public(Bounds),
    /// To be found privately, for a share of the budget.
    Auto,
}

/// The current time.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_micros()).ok()).unwrap_or_default()
}

/// Public values of a key column, as text.
pub type Keys = Vec<String>;

/// How to answer a query.
#[derive(Debug, Clone)]
pub struct Options {
    /// The budget for the whole query.
    pub guarantee: Guarantee,
    /// The adjacency.
    pub adjacency: Adjacency,
    /// The privacy unit, unless a table has its own.
    pub unit: Unit,
    /// Privacy units of individual tables, by table name.
    pub table_units: BTreeMap<String, Unit>,
    /// The most groups to which one unit contributes. Where units may have several rows and neither this nor `max_rows` is
    /// given, contributions are limited by weights that are chosen privately.
    pub max_groups: Option<u64>,
    /// The most rows that it contributes to each.
    pub max_rows: Option<u64>,
    /// Whether weights may be chosen, and groups selected, before the answer: parties release everything at once.
    pub may_weigh: bool,
    /// Ranges of columns, by name (`age` or `people.age`).
    pub bounds: BTreeMap<String, Range>,
    /// The ranges given for this query in particular: their names must occur in it. (A policy lists those of a whole
    /// table.)
    pub asked_bounds: BTreeSet<String>,
    /// Public keys, by column name.
    pub keys: BTreeMap<String, Keys>,
    /// Weights in the split of the budget, by the aggregate's name; 1 if not given.
    pub weights: BTreeMap<String, u32>,
    /// The current time in the query, in microseconds since 1970: fixed while a query is answered, and when it is
    /// answered again.
    pub now: i64,
}

impl Options {
    /// Defaults: each row is a different person, add/remove adjacency, nothing known about any column.
    pub fn new(guarantee: Guarantee) -> Self {
        Self {
            guarantee,
            adjacency: Adjacency::AddRemove,
            unit: Unit::Row,
            table_units: BTreeMap::new(),
            max_groups: None,
            max_rows: None,
            may_weigh: true,
            bounds: BTreeMap::new(),
            asked_bounds: BTreeSet::new(),
            keys: BTreeMap::new(),
            weights: BTreeMap::new(),
            now: now(),
        }
    }

    /// Returns the privacy unit of a table.
    pub fn unit_of(&self, table: &str) -> &Unit {
        self.table_units.get(table).unwrap_or(&self.unit)
    }
}
