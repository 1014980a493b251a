//! Features: what is kept of a row's inputs, one 32-bit number each.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::NullBuffer;
use reticent::mechanism::range::bin;
use reticent::statistic::Grid;

use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::layout::Measure;
use crate::values::{NONE, New, Values};

/// Marks a dropped value. No step, bin or item has this number: steps are within ±2^28.
pub(crate) const MISSING: i32 = i32::MIN;

/// How a column is converted to 32-bit numbers.
#[derive(Debug, Clone, PartialEq)]
enum Feature {
    /// 1, or missing.
    Present,
    /// Steps of the grid.
    Steps(Grid),
    /// The bin.
    Magnitude,
    /// The number in a table of items.
    Item,
}

/// All features that the measures read, each once.
#[derive(Debug, Clone)]
pub(crate) struct Features {
    /// Each with its column and the column's type.
    kinds: Vec<(usize, Kind, Feature)>,
}

/// The tables of those features that are items, by feature.
pub(crate) type Items = Vec<Option<Values>>;

impl Features {
    /// The features that the measures of these inputs need, and the index of the one that each measure reads.
    pub fn of(measures: &[Measure], inputs: &[Kind]) -> (Self, Vec<usize>) {
        let mut kinds: Vec<(usize, Kind, Feature)> = Vec::new();
        let mut read = Vec::new();
        for measure in measures {
            let feature = match measure {
                Measure::Present { .. } => Feature::Present,
                Measure::Moments { grid, .. } | Measure::Bins { grid, .. } | Measure::Values { grid, .. } => {
                    Feature::Steps(grid.clone())
                }
                Measure::Magnitudes { .. } => Feature::Magnitude,
                Measure::Items { .. } => Feature::Item,
            };
            let wanted = (measure.column(), inputs[measure.column()], feature);
            let known = kinds.iter().position(|known| *known == wanted);
            read.push(known.unwrap_or_else(|| {
                kinds.push(wanted);
                kinds.len() - 1
            }));
        }
        (Self { kinds }, read)
    }

    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Empty tables for items.
    pub fn items(&self) -> Items {
        let table = |(_, kind, feature): &_| (*feature == Feature::Item).then(|| Values::of_items(*kind));
        self.kinds.iter().map(table).collect()
    }

    /// Computes the features of some rows' inputs, one column each, into `columns`.
    pub fn read(&self, inputs: &[ArrayRef], items: &mut Items, columns: &mut Vec<Vec<i32>>) -> Result<()> {
        columns.resize_with(self.len(), Vec::new);
        for (((column, kind, feature), items), numbers) in self.kinds.iter().zip(items).zip(columns) {
            let input = &inputs[*column];
            numbers.clear();
            match (feature, items) {
                (Feature::Present, _) => {
                    numbers.resize(input.len(), 1);
                    miss(input.nulls(), numbers);
                }
                (Feature::Steps(grid), _) => {
                    // Copies, which stay in registers while numbers are written.
                    let (grid, same) = (grid.clone(), grid.clone());
                    let float = move |value: f64| grid.steps(value).map_or(MISSING, |steps| steps as i32);
                    each(input, *kind, numbers, float, move |value| same.steps_of_integer(value) as i32);
                }
                (Feature::Magnitude, _) => {
                    let bin = |value: f64| bin(value).map_or(MISSING, |bin| bin as i32);
                    each(input, *kind, numbers, bin, |value| bin(value as f64));
                }
                (Feature::Item, Some(items)) => number_items(input, items, numbers)?,
                (Feature::Item, None) => {}
            }
        }
        Ok(())
    }
}

/// Orders rows by their features alone.
pub(crate) fn compare(items: &Items, one: &[u32], other: &[u32]) -> Ordering {
    let of_feature = |((&one, &other), items): ((&u32, &u32), &Option<Values>)| match items {
        Some(items) if one as i32 != MISSING && other as i32 != MISSING => items.compare(one, other),
        _ => (one as i32).cmp(&(other as i32)),
    };
    one.iter().zip(other).zip(items).map(of_feature).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn number_items(input: &ArrayRef, items: &mut Values, numbers: &mut Vec<i32>) -> Result<()> {
    let mut found = Vec::with_capacity(input.len());
    items.number(input, New::Numbered, &mut found);
    if items.len() > i32::MAX as usize {
        return Err(Error::Memory);
    }
    numbers.extend(found.into_iter().map(|number| if number == NONE { MISSING } else { number as i32 }));
    Ok(())
}

/// Applies one of two functions to every number; NULL is missing.
fn each(
    input: &ArrayRef,
    kind: Kind,
    numbers: &mut Vec<i32>,
    float: impl Fn(f64) -> i32,
    integer: impl Fn(i64) -> i32,
) {
    match kind {
        Kind::Float => apply(input.as_primitive::<Float64Type>(), numbers, float),
        Kind::Integer => apply(input.as_primitive::<Int64Type>(), numbers, integer),
        Kind::Date => apply(input.as_primitive::<Date32Type>(), numbers, |days| integer(days.into())),
        Kind::Time => apply(input.as_primitive::<TimestampMicrosecondType>(), numbers, integer),
        Kind::Boolean => numbers.extend(input.as_boolean().values().iter().map(|truth| integer(truth.into()))),
        Kind::Text | Kind::Unsigned => numbers.resize(input.len(), MISSING),
    }
    miss(input.nulls(), numbers);
}

/// The loop is branch-free and vectorised; the result for a NULL's slot is overwritten.
fn apply<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    numbers: &mut Vec<i32>,
    function: impl Fn(T::Native) -> i32,
) {
    numbers.extend(values.values().iter().map(move |&value| function(value)));
}

fn miss(nulls: Option<&NullBuffer>, numbers: &mut [i32]) {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return };
    for (row, number) in numbers.iter_mut().enumerate() {
        if nulls.is_null(row) {
            *number = MISSING;
        }
    }
}
