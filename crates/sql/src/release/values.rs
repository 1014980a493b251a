//! Released numbers, and what is computed from them.

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, ListArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::scalar::ScalarValue;
use std::sync::Arc;

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
    Item(ScalarValue),
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

/// A column of the type that the plan above expects. What does not fit is NULL; refusals are, too.
pub fn column(cells: &[Cell], data_type: &DataType) -> datafusion::error::Result<ArrayRef> {
    let is = |wanted: fn(&Value) -> bool| cells.iter().any(|cell| wanted(&cell.value));
    let array: ArrayRef = if is(|value| matches!(value, Value::Counts(_))) || matches!(data_type, DataType::List(_)) {
        let counts = cells.iter().map(|cell| match &cell.value {
            Value::Counts(counts) => Some(counts.iter().copied().map(Some)),
            _ => None,
        });
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(counts))
    } else if is(|value| matches!(value, Value::Item(_))) {
        let null = ScalarValue::try_from(data_type)?;
        let items = cells.iter().map(|cell| match &cell.value {
            Value::Item(item) => item.clone(),
            _ => null.clone(),
        });
        ScalarValue::iter_to_array(items)?
    } else if data_type.is_integer() {
        let whole = cells.iter().map(|cell| match cell.value {
            Value::Integer(value) => Some(value),
            // A sum of whole numbers: the nearest. Conversion saturates.
            Value::Real(value) => Some(value.round() as i64),
            _ => None,
        });
        Arc::new(Int64Array::from_iter(whole))
    } else {
        let real = cells.iter().map(|cell| match cell.value {
            Value::Integer(value) => Some(value as f64),
            Value::Real(value) => Some(value),
            _ => None,
        });
        Arc::new(Float64Array::from_iter(real))
    };
    Ok(cast(&array, data_type)?)
}
