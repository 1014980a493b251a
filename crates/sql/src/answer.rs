//! What a query gives back: rows of released values, and what they cost.

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::check::{Origin, above};
use crate::error::{Error, Result};
use crate::release::values::{Bar, Released, Value};

/// A released table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Entry>>,
    /// What it promises and costs.
    pub summary: Summary,
}

/// One entry of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A key, or what was computed from released values.
    Plain(Json),
    /// An aggregate with its error bar.
    Released {
        /// Its value.
        value: Json,
        /// The noise is within this, 95 times in 100.
        half_width: f64,
    },
    /// A quantile: its distance from the exact one is counted in rows.
    Ranked {
        /// Its value.
        value: Json,
        /// It is within so many ranks, 95 times in 100.
        half_width_in_ranks: f64,
    },
    /// Exact, because one person could not have changed it.
    Stable(Json),
    /// No answer, because one person could have changed it, or so the noise had it.
    Refused,
}

/// What an answer promises and costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The promise, which is the price.
    pub guarantee: String,
    /// Whose privacy.
    pub unit: String,
    /// Which tables are neighbours.
    pub adjacency: String,
    /// In how many groups one unit counts.
    pub max_groups: u64,
    /// With how many rows in each.
    pub max_rows: u64,
    /// What was paid for what.
    pub split: Vec<Share>,
    /// What half-widths speak of.
    pub half_widths: String,
}

/// What was paid for one part of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What is released.
    pub what: String,
    /// The part of the budget.
    pub cost: String,
    /// How far one unit can move it, and what hides that.
    pub noise: String,
    /// The half-width at 95 %, where it is known beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
}

/// What half-widths speak of, for whoever reads the answer alone.
pub const HALF_WIDTHS: &str = "95 %, noise only: what clamping and bounding took away is not in them";

impl Answer {
    /// From the table that the steps above the aggregation made of the released one.
    pub(crate) fn new(
        table: &[RecordBatch],
        names: Vec<String>,
        origins: &[Origin],
        released: &Released,
        summary: Summary,
    ) -> Result<Self> {
        let mut rows = Vec::new();
        for batch in table {
            let places = batch.column_by_name(above::ROW).ok_or(Error::Reading)?;
            let places = places.as_primitive_opt::<Int64Type>().ok_or(Error::Reading)?;
            for row in 0..batch.num_rows() {
                let group = usize::try_from(places.value(row)).map_err(|_| Error::Reading)?;
                let entry = |(column, origin): (usize, &Origin)| {
                    let value = json(batch.column(column), row);
                    let Origin::Asked(place) = origin else { return Entry::Plain(value) };
                    let cell = &released.columns[*place][group];
                    match (&cell.value, cell.bar) {
                        (Value::Refused, _) => Entry::Refused,
                        (_, Bar::HalfWidth(half_width)) => Entry::Released { value, half_width },
                        (_, Bar::Ranks(half_width_in_ranks)) => Entry::Ranked { value, half_width_in_ranks },
                        (_, Bar::Exact) => Entry::Stable(value),
                    }
                };
                rows.push(origins.iter().enumerate().map(entry).collect());
            }
        }
        Ok(Self { columns: names, rows, summary })
    }

    /// Was nothing released but refusals?
    pub fn is_refused(&self) -> bool {
        let mut asked = self.rows.iter().flatten().filter(|entry| !matches!(entry, Entry::Plain(_))).peekable();
        asked.peek().is_some() && asked.all(|entry| *entry == Entry::Refused)
    }

    /// One object per row with its columns in order, then the summary: a line each.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json_lines(&self) -> serde_json::Result<Vec<String>> {
        let row = |entries: &Vec<Entry>| {
            let field = |(name, entry): (&String, &Entry)| format!("{}:{}", Json::from(name.as_str()), entry.to_json());
            let fields: Vec<String> = self.columns.iter().zip(entries).map(field).collect();
            format!("{{{}}}", fields.join(","))
        };
        let summary = format!("{{\"summary\":{}}}", serde_json::to_string(&self.summary)?);
        Ok(self.rows.iter().map(row).chain([summary]).collect())
    }
}

impl Entry {
    /// For programs: as JSON text, the value before its error bar.
    pub fn to_json(&self) -> String {
        match self {
            Self::Plain(value) => value.to_string(),
            Self::Released { value, half_width } => {
                format!("{{\"value\":{value},\"half_width\":{}}}", number(*half_width))
            }
            Self::Ranked { value, half_width_in_ranks } => {
                format!("{{\"value\":{value},\"half_width_in_ranks\":{}}}", number(*half_width_in_ranks))
            }
            Self::Stable(value) => format!("{{\"value\":{value}}}"),
            Self::Refused => "{\"refused\":true}".into(),
        }
    }
}

/// Whole numbers without a point, so that 31 is 31.
pub fn number(value: f64) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT { Json::from(value as i64) } else { Json::from(value) }
}

/// A value of an Arrow column.
fn json(array: &dyn Array, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Float64 => number(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            (0..list.len()).map(|place| json(&list, place)).collect()
        }
        other => {
            let options = FormatOptions::new();
            let text = ArrayFormatter::try_new(array, &options).map(|format| format.value(row).to_string());
            let Ok(text) = text else { return Json::Null };
            // Narrow whole numbers and decimals are numbers, too.
            let number = serde_json::from_str::<serde_json::Number>(&text).ok().filter(|_| other.is_numeric());
            number.map_or(Json::from(text), Json::from)
        }
    }
}
