//! Queries with a single value over a table of text: what `reticent subsample` runs on every block.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | [`ScalarQuery`]: checked against a header, answered on rows |
//! | [`rows`] | the rows of any table as text |
//!
//! Nothing here is private: an answer reveals whatever the rows contain. The query uses the same algebra as all others,
//! so it cannot fail on a row.

pub mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringViewArray};
use reticent::privacy::{Epsilon, Guarantee};
use reticent_table::{MOST_TEXT, number};

use crate::algebra::{Data, Limits, Plain, Type, Value, calendar};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::resolve::Resolver;
use crate::resolve::scope::Named;
use crate::resolve::text::{on_a_large_stack, parse};
use crate::usage::Usage;

/// The name of the table in a query.
pub const TABLE: &str = "data";

/// A query over the table `data` with a single value.
///
/// Every column is text, and an empty cell is NULL. A column that the query uses as a number anywhere (in arithmetic,
/// in a numeric function such as AVG, or compared with a number) is a number everywhere; a cell that is not a number is
/// NULL, as is anything else that cannot be computed. There is no clock: its value depends on these rows alone.
///
/// # Example
/// ```
/// use reticent_sql::scalar::ScalarQuery;
///
/// let header = ["region", "age"].map(String::from);
/// let query = ScalarQuery::new("SELECT region FROM data GROUP BY region ORDER BY AVG(age) DESC LIMIT 1", &header)?;
/// let rows = [["north", "30"], ["south", "50"], ["north", "50"], ["south", "unknown"]];
/// let cells = rows.iter().map(|row| row.iter().map(|cell| cell.as_bytes()).collect::<Vec<_>>());
/// assert_eq!(query.answer(cells).as_deref(), Some("south"));
///
/// let error = ScalarQuery::new("SELECT MAX(aeg) FROM data", &header).unwrap_err();
/// assert!(error.to_string().contains("aeg"));
/// # Ok::<(), reticent_sql::Error>(())
/// ```
#[derive(Debug)]
pub struct ScalarQuery {
    plain: Arc<Plain>,
    kinds: Vec<Type>,
}

impl ScalarQuery {
    /// Parses a query over a table with these columns.
    ///
    /// # Errors
    /// If it is invalid, is not a query, names a table or column that does not exist, or has more than one column.
    pub fn new(sql: &str, header: &[String]) -> Result<Self> {
        if let Some(twice) =
            header.iter().enumerate().find_map(|(place, name)| header[..place].contains(name).then_some(name))
        {
            return Err(Error::table(TABLE, format!("it has two columns {twice}; give each its own name")));
        }
        // No budget is spent here: the caller protects the rows.
        let options = Options::new(Guarantee::Pure("1".parse::<Epsilon>()?));
        let (plain, kinds) = on_a_large_stack(&Limits::default(), || {
            let query = parse(sql, &Limits::default())?;
            let usage = Usage::of(&query);
            let is_number = |name: &String| usage.numbers.iter().any(|known| known.eq_ignore_ascii_case(name));
            let kind = |name: &String| if is_number(name) { Type::Number } else { Type::Text };
            let kinds: Vec<Type> = header.iter().map(kind).collect();
            let named = |(name, kind): (&String, &Type)| Named {
                qualifier: Some(TABLE.to_owned()),
                ..Named::new(name.clone(), *kind)
            };
            let columns: Vec<Named> = header.iter().zip(&kinds).map(named).collect();
            // By a clock, one block could tell the next ones how long it took.
            let resolver = Resolver::new(&[], &options, usage, None, Limits::from_now()).given(TABLE, columns);
            Ok((resolver.resolve_open(&query)?, kinds))
        })?;
        let (plain, columns) = plain;
        if columns != 1 {
            return Err(Error::Name(format!("the query must return one value, but it has {columns} columns")));
        }
        Ok(Self { plain, kinds })
    }

    /// The query's value on these rows; `None` if it is NULL, or if the result does not have exactly one row.
    pub fn answer<'cell>(&self, rows: impl IntoIterator<Item = Vec<&'cell [u8]>>) -> Option<String> {
        let mut columns: Vec<Cells> = self.kinds.iter().map(|kind| Cells::of(*kind)).collect();
        let mut count = 0;
        for row in rows {
            count += 1;
            for (place, column) in columns.iter_mut().enumerate() {
                column.push(row.get(place).copied().unwrap_or_default());
            }
        }
        let columns = columns.into_iter().map(Cells::finish).collect();
        let given = Data::new(self.kinds.clone(), columns, count)?;
        let answer = self.plain.compute(&given, &Limits::default()).ok()?.data;
        (answer.rows() == 1).then(|| text(&answer.cell(0, 0))).flatten()
    }
}

/// A column under construction.
enum Cells {
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

impl Cells {
    fn of(kind: Type) -> Self {
        if kind == Type::Number { Self::Numbers(Vec::new()) } else { Self::Texts(Vec::new()) }
    }

    fn push(&mut self, cell: &[u8]) {
        let text = String::from_utf8_lossy(cell);
        match self {
            // A single `inf` would make every mean infinite.
            Self::Numbers(numbers) => numbers.push(number(&text).filter(|number| number.is_finite())),
            Self::Texts(texts) => {
                let fits = !cell.is_empty() && text.len() <= MOST_TEXT;
                texts.push(fits.then(|| text.into_owned()));
            }
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Numbers(numbers) => Arc::new(Float64Array::from(numbers)),
            Self::Texts(texts) => Arc::new(texts.into_iter().collect::<StringViewArray>()),
        }
    }
}

/// The value as text; an integer has no decimals.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Boolean(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Number(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.to_string()),
        Value::Date(days) => calendar::write_date(*days),
        Value::Timestamp(micros) => calendar::write_timestamp(*micros),
    }
}
