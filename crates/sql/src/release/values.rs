//! Released numbers, and values computed from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
};

use super::correction::Correction;
use super::interval::Interval;
use super::widths::Widths;
use crate::algebra::{Type, Value as Item};

/// One released value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A count.
    Integer(i64),
    /// A sum, a mean, a quantile.
    Real(f64),
    /// A histogram.
    Counts(Vec<i64>),
    /// A value from the data.
    Item(Item),
    /// One person could have changed the answer, or the noise made it look so.
    Refused,
}

/// Where the exact value lies, at 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// At most this far from the released one.
    HalfWidth(f64),
    /// In this interval.
    Within(Interval),
    /// Somewhere in the range that the query's bounds allow: nothing was learned.
    Anywhere(Interval),
    /// None: the value is exact, or refused.
    Exact,
}

/// A value with its error bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The value.
    pub value: Value,
    /// The error bar.
    pub bar: Bar,
}

impl Cell {
    /// A refusal.
    pub const REFUSED: Self = Self { value: Value::Refused, bar: Bar::Exact };
}

/// Everything that was released: groups in the order of their keys.
#[derive(Debug, Clone)]
pub struct Released {
    /// The keys, one column each.
    pub keys: Vec<ArrayRef>,
    /// The number of groups.
    pub groups: usize,
    /// For each aggregate, one cell per group.
    pub columns: Vec<Vec<Cell>>,
    /// The noisy numbers that they were computed from, by part of the design.
    pub additive: Vec<Vec<i64>>,
    /// The half-widths of these numbers, for some numbers of bars that must hold at once.
    pub widths: BTreeMap<usize, Widths>,
    /// How numbers were corrected, if rows were weighed.
    pub correction: Option<Correction>,
}

/// A column of the type that the query computes with. Values that do not fit are NULL, as are refusals and histograms,
/// which no expression can use.
pub fn column(cells: &[Cell], kind: Type) -> ArrayRef {
    let whole = |cell: &Cell| match &cell.value {
        Value::Integer(value) => Some(*value),
        // A sum of integers: the nearest integer. The conversion saturates.
        Value::Real(value) => Some(value.round() as i64),
        Value::Item(Item::Integer(value)) => Some(*value),
        _ => None,
    };
    let real = |cell: &Cell| match &cell.value {
        Value::Integer(value) => Some(*value as f64),
        Value::Real(value) | Value::Item(Item::Number(value)) => Some(*value),
        _ => None,
    };
    let item = |cell: &Cell| match &cell.value {
        Value::Item(item) => item.clone(),
        _ => Item::Null,
    };
    match kind {
        Type::Integer => Arc::new(cells.iter().map(whole).collect::<Int64Array>()),
        Type::Number => Arc::new(cells.iter().map(real).collect::<Float64Array>()),
        Type::Boolean => Arc::new(
            cells
                .iter()
                .map(|cell| if let Item::Boolean(value) = item(cell) { Some(value) } else { None })
                .collect::<BooleanArray>(),
        ),
        Type::Text => Arc::new(
            cells
                .iter()
                .map(|cell| if let Item::Text(value) = item(cell) { Some(value) } else { None })
                .collect::<StringViewArray>(),
        ),
        Type::Date => Arc::new(
            cells
                .iter()
                .map(|cell| if let Item::Date(value) = item(cell) { Some(value) } else { None })
                .collect::<Date32Array>(),
        ),
        Type::Timestamp => Arc::new(
            cells
                .iter()
                .map(|cell| if let Item::Timestamp(value) = item(cell) { Some(value) } else { None })
                .collect::<TimestampMicrosecondArray>(),
        ),
    }
}
