//! What is asked beside the SQL: whose privacy, how much, within which bounds.

use std::collections::{BTreeMap, BTreeSet};

use reticent::privacy::{Adjacency, Guarantee};
use reticent::statistic::Bounds;

/// Whose privacy is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit {
    /// Every row is somebody else.
    Row,
    /// All rows with the same value of this column are one person's.
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

/// How the range of a column is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// Chosen without looking at the data.
    Public(Bounds),
    /// To be found privately, for a share of the budget.
    Auto,
}

/// What the clock says.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_micros()).ok()).unwrap_or_default()
}

/// Public values of a key column, as text.
pub type Keys = Vec<String>;

/// How a query is to be answered.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the whole query may cost.
    pub guarantee: Guarantee,
    /// Which tables are neighbours.
    pub adjacency: Adjacency,
    /// Whose privacy, unless a table says otherwise.
    pub unit: Unit,
    /// Units of single tables, by table name.
    pub table_units: BTreeMap<String, Unit>,
    /// In how many groups one unit counts: to be said where units have several rows, unless the query itself tells.
    pub max_groups: Option<u64>,
    /// With how many rows in each of them; the same holds.
    pub max_rows: Option<u64>,
    /// Ranges of columns, by name (`age` or `people.age`).
    pub bounds: BTreeMap<String, Range>,
    /// Which of them were asked for with this very query: they must be of one of its names. (A policy lists those of a whole table.)
    pub asked_bounds: BTreeSet<String>,
    /// Public keys, by column name.
    pub keys: BTreeMap<String, Keys>,
    /// Shares of the budget, by the aggregate's name; 1 if not given.
    pub weights: BTreeMap<String, u32>,
    /// What the clock says in the query, in microseconds since 1970: it stands still while a query is answered, and when it is
    /// answered again.
    pub now: i64,
}

impl Options {
    /// Every row is somebody else, add/remove, nothing known of any column.
    pub fn new(guarantee: Guarantee) -> Self {
        Self {
            guarantee,
            adjacency: Adjacency::AddRemove,
            unit: Unit::Row,
            table_units: BTreeMap::new(),
            max_groups: None,
            max_rows: None,
            bounds: BTreeMap::new(),
            asked_bounds: BTreeSet::new(),
            keys: BTreeMap::new(),
            weights: BTreeMap::new(),
            now: now(),
        }
    }

    /// The unit of a table.
    pub fn unit_of(&self, table: &str) -> &Unit {
        self.table_units.get(table).unwrap_or(&self.unit)
    }
}
