//! Released numbers, and what is computed from them.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
};

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
    /// A value of the data itself.
    Item(Item),
    /// One person could have changed the answer, or so the noise had it.
    Refused,
}

/// How far the noise may have carried a value, at 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// So far.
    HalfWidth(f64),
    /// So many ranks: the value is that far from the exact quantile, counted in rows.
    Ranks(f64),
    /// Not at all: it is exact, or refused.
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
    /// No answer.
    pub const REFUSED: Self = Self { value: Value::Refused, bar: Bar::Exact };
}

/// All that was released: groups in the order of their keys.
#[derive(Debug, Clone)]
pub struct Released {
    /// The keys, a column each.
    pub keys: Vec<ArrayRef>,
    /// How many groups there are.
    pub groups: usize,
    /// For each aggregate, a cell for each group.
    pub columns: Vec<Vec<Cell>>,
}

/// A column of the type that the query computes with. What does not fit is NULL; refusals are, too, and histograms, of which nothing can
/// be computed.
pub fn column(cells: &[Cell], kind: Type) -> ArrayRef {
    let whole = |cell: &Cell| match &cell.value {
        Value::Integer(value) => Some(*value),
        // A sum of whole numbers: the nearest. Conversion saturates.
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
