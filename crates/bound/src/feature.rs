//! What is kept of a row's inputs: one 32-bit number each.

use std::cmp::Ordering;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use datafusion::arrow::datatypes::Schema;
use datafusion::error::Result;
use reticent::mechanism::range::bin;
use reticent::statistic::Grid;

use super::canonical::Numbers;
use super::items::Items;
use super::layout::{Layout, Measure};

/// Stands for a value that is dropped. No step, bin or item has this number: steps are within ±2^28.
pub(super) const MISSING: i32 = i32::MIN;

/// How a column becomes 32-bit numbers.
#[derive(Debug, Clone)]
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

/// All features of a layout.
pub(super) struct Features {
    kinds: Vec<(usize, Feature)>,
    /// For features that are items.
    items: Vec<Option<Items>>,
    columns: Vec<Vec<i32>>,
}

impl Features {
    /// Those that the layout's measures need, and which of them each measure reads.
    pub fn of(layout: &Layout, schema: &Schema) -> Result<(Self, Vec<usize>)> {
        let mut kinds: Vec<(usize, Feature)> = Vec::new();
        let mut read = Vec::new();
        for measure in &layout.measures {
            let wanted = match measure {
                Measure::Present { column } => (*column, Feature::Present),
                Measure::Moments { column, grid, .. }
                | Measure::Bins { column, grid, .. }
                | Measure::Values { column, grid } => (*column, Feature::Steps(grid.clone())),
                Measure::Magnitudes { column } => (*column, Feature::Magnitude),
                Measure::Items { column } => (*column, Feature::Item),
            };
            let known = kinds.iter().position(|(column, feature)| *column == wanted.0 && feature.is_same(&wanted.1));
            read.push(known.unwrap_or_else(|| {
                kinds.push(wanted);
                kinds.len() - 1
            }));
        }
        let table = |(column, feature): &(usize, Feature)| match feature {
            Feature::Item => Items::new(schema.field(layout.first_input() + column).data_type()).map(Some),
            _ => Ok(None),
        };
        let items = kinds.iter().map(table).collect::<Result<Vec<_>>>()?;
        let columns = vec![Vec::new(); kinds.len()];
        Ok((Self { kinds, items, columns }, read))
    }

    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The features of a batch's inputs, one column each, valid until the next batch.
    pub fn read(&mut self, inputs: &[ArrayRef]) -> Result<&[Vec<i32>]> {
        for (((column, feature), items), numbers) in self.kinds.iter().zip(&mut self.items).zip(&mut self.columns) {
            let input = &inputs[*column];
            numbers.clear();
            match feature {
                Feature::Present => {
                    let nulls = input.logical_nulls();
                    let present = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                    numbers.extend((0..input.len()).map(|row| if present(row) { 1 } else { MISSING }));
                }
                Feature::Steps(grid) => steps(&Numbers::of(input)?, grid, numbers),
                Feature::Magnitude => {
                    let bin = |value: f64| bin(value).map_or(MISSING, |bin| bin as i32);
                    match &Numbers::of(input)? {
                        Numbers::Float(values) => each(values, numbers, bin),
                        Numbers::Integer(values) => each(values, numbers, |value| bin(value as f64)),
                        Numbers::Unsigned(values) => each(values, numbers, |value| bin(value as f64)),
                    }
                }
                Feature::Item => items.as_mut().expect("items have a table").number(input, numbers)?,
            }
        }
        Ok(&self.columns)
    }

    /// The tables of items, by feature.
    pub fn items(&self) -> &[Option<Items>] {
        &self.items
    }

    /// The tables of items, by feature.
    pub fn items_mut(&mut self) -> &mut [Option<Items>] {
        &mut self.items
    }

    /// An order of rows that depends on nothing but what is kept of them.
    pub fn compare(&self, one: &[u32], other: &[u32]) -> Ordering {
        let of_feature = |((one, other), items): ((&u32, &u32), &Option<Items>)| match items {
            Some(items) if *one as i32 != MISSING && *other as i32 != MISSING => items.compare(*one, *other),
            _ => (*one as i32).cmp(&(*other as i32)),
        };
        one.iter().zip(other).zip(&self.items).map(of_feature).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    pub fn bytes(&self) -> usize {
        self.items.iter().flatten().map(Items::bytes).sum()
    }
}

impl Feature {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Present, Self::Present) | (Self::Magnitude, Self::Magnitude) | (Self::Item, Self::Item) => true,
            (Self::Steps(one), Self::Steps(other)) => one == other,
            _ => false,
        }
    }
}

fn steps(values: &Numbers, grid: &Grid, numbers: &mut Vec<i32>) {
    let float = |value: f64| grid.steps(value).map_or(MISSING, |steps| steps as i32);
    let integer = |value: i64| grid.steps_of_integer(value) as i32;
    match values {
        Numbers::Float(values) => each(values, numbers, float),
        Numbers::Integer(values) => each(values, numbers, integer),
        // Beyond an i64, a float is finer than any grid of that size.
        Numbers::Unsigned(values) => {
            each(values, numbers, |value| i64::try_from(value).map_or_else(|_| float(value as f64), integer));
        }
    }
}

/// Applies a function to every value; what is NULL is missing.
fn each<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    numbers: &mut Vec<i32>,
    function: impl Fn(T::Native) -> i32,
) {
    let from = numbers.len();
    numbers.extend(values.values().iter().map(|&value| function(value)));
    // The loop above has no branches and takes several values at once; what it made of a NULL's slot is overwritten.
    if let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) {
        for (row, number) in numbers[from..].iter_mut().enumerate() {
            if nulls.is_null(row) {
                *number = MISSING;
            }
        }
    }
}
