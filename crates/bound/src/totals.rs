//! All accumulators together.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::error::Result;

use super::feature::Features;
use super::layout::Layout;
use super::measure::{Accumulator, Measured, accumulator, state_type};

/// Units, rows and measures of all groups.
pub(super) struct Totals {
    units: Vec<u64>,
    rows: Vec<u64>,
    /// Each with the feature it reads.
    measures: Vec<(usize, Box<dyn Accumulator>)>,
    /// Every row is a unit of its own.
    unit_is_row: bool,
}

/// What was measured, by number of the group.
pub(super) struct Finished {
    pub units: Vec<u64>,
    pub rows: Vec<u64>,
    /// By measure.
    pub measured: Vec<Vec<Measured>>,
}

impl Totals {
    /// `read` says which feature each measure reads.
    pub fn new(layout: &Layout, read: Vec<usize>) -> Self {
        let measures = read.into_iter().zip(layout.measures.iter().map(accumulator)).collect();
        Self { units: Vec::new(), rows: Vec::new(), measures, unit_is_row: !layout.unit }
    }

    pub fn resize(&mut self, groups: usize) {
        if groups != self.rows.len() {
            self.units.resize(groups, 0);
            self.rows.resize(groups, 0);
            self.measures.iter_mut().for_each(|(_, measure)| measure.resize(groups));
        }
    }

    /// Adds rows: the group of each, and its features.
    pub fn add(&mut self, groups: &[u32], features: &[Vec<i32>]) {
        groups.iter().for_each(|&group| self.rows[group as usize] += 1);
        self.measures.iter_mut().for_each(|(feature, measure)| measure.add(groups, &features[*feature]));
    }

    /// Adds a unit to each of these groups.
    pub fn add_units(&mut self, groups: &[u32]) {
        groups.iter().for_each(|&group| self.units[group as usize] += 1);
    }

    /// The columns that [`state_schema`] has after the keys.
    pub fn into_state(mut self, features: &Features) -> Result<Vec<ArrayRef>> {
        let units = if self.unit_is_row { self.rows.clone() } else { self.units };
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(UInt64Array::from(units)), Arc::new(UInt64Array::from(self.rows))];
        for (feature, measure) in &mut self.measures {
            columns.push(measure.state(features.items()[*feature].as_ref())?);
        }
        Ok(columns)
    }

    /// Adds columns of [`Totals::into_state`] to these groups.
    pub fn merge(&mut self, groups: &[u32], state: &[ArrayRef], features: &mut Features) -> Result<()> {
        let add = |sums: &mut [u64], column: &ArrayRef| {
            let numbers = column.as_primitive::<UInt64Type>().values();
            groups.iter().zip(numbers).for_each(|(&group, number)| sums[group as usize] += number);
        };
        add(&mut self.units, &state[0]);
        add(&mut self.rows, &state[1]);
        for ((feature, measure), column) in self.measures.iter_mut().zip(&state[2..]) {
            measure.merge(groups, column, features.items_mut()[*feature].as_mut())?;
        }
        Ok(())
    }

    pub fn finish(mut self, features: &Features) -> Result<Finished> {
        let finish = |(feature, measure): &mut (usize, Box<dyn Accumulator>)| {
            measure.finish(features.items()[*feature].as_ref())
        };
        let measured = self.measures.iter_mut().map(finish).collect::<Result<_>>()?;
        Ok(Finished { units: self.units, rows: self.rows, measured })
    }

    pub fn bytes(&self) -> usize {
        let counts = (self.units.capacity() + self.rows.capacity()) * size_of::<u64>();
        counts + self.measures.iter().map(|(_, measure)| measure.bytes()).sum::<usize>()
    }
}

/// The operator's output: the keys, units, rows, and the state of every measure.
pub(super) fn state_schema(layout: &Layout, input: &Schema) -> SchemaRef {
    let keys = layout.key_types(input).into_iter().enumerate();
    let mut fields: Vec<Field> = keys.map(|(key, kind)| Field::new(format!("key {key}"), kind, true)).collect();
    fields.push(Field::new("units", DataType::UInt64, false));
    fields.push(Field::new("rows", DataType::UInt64, false));
    for (number, measure) in layout.measures.iter().enumerate() {
        fields.push(Field::new(format!("measure {number}"), state_type(measure, layout, input), false));
    }
    Arc::new(Schema::new(fields))
}
