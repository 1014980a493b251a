//! Per-group accumulators of every measure.
//!
//! Each adds up the features of rows, gives its state as a column of the operator's output, merges such columns of several
//! partitions, and ends as a [`Measured`] per group.
//!
//! | module | holds |
//! |---|---|
//! | `present` | how many rows have a value |
//! | `moments` | count, sum and squares |
//! | `bins` | counts per bin, of the grid or of magnitudes |
//! | `values` | all values on the grid |
//! | `items` | all values of any type and how often each occurs |

mod bins;
mod items;
mod moments;
mod present;
mod values;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::Result;
use reticent::mechanism::range::BINS as MAGNITUDES;
use reticent::statistic::Moments;

use super::canonical::canonical_type;
use super::items::Items;
use super::layout::{Layout, Measure};

/// One measure of one group: exact, and not yet private.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// Of [`Measure::Present`].
    Count(i64),
    /// Of [`Measure::Moments`].
    Moments(Moments),
    /// Of [`Measure::Bins`] and [`Measure::Magnitudes`].
    Bins(Vec<i64>),
    /// Of [`Measure::Values`], in grid steps, ascending.
    Values(Vec<i64>),
    /// Of [`Measure::Items`].
    Items {
        /// Distinct, ascending.
        values: ArrayRef,
        /// How often each occurs.
        counts: Vec<u64>,
    },
}

/// Adds up one measure in all groups.
pub(super) trait Accumulator: Send {
    /// From now on there are so many groups.
    fn resize(&mut self, groups: usize);

    /// Adds rows: the group and the feature of each.
    fn add(&mut self, groups: &[u32], feature: &[i32]);

    /// The state of all groups, as a column of the type of [`state_type`]. `items` is the feature's table, if it has one.
    fn state(&mut self, items: Option<&Items>) -> Result<ArrayRef>;

    /// Adds a column of states to these groups.
    fn merge(&mut self, groups: &[u32], state: &ArrayRef, items: Option<&mut Items>) -> Result<()>;

    /// What was measured in each group.
    fn finish(&mut self, items: Option<&Items>) -> Result<Vec<Measured>>;

    /// Memory held.
    fn bytes(&self) -> usize;
}

/// The accumulator of a measure.
pub(super) fn accumulator(measure: &Measure) -> Box<dyn Accumulator> {
    match measure {
        Measure::Present { .. } => Box::new(present::Present::default()),
        Measure::Moments { grid, squares: false, .. } => Box::new(moments::Sums::new(grid)),
        Measure::Moments { grid, squares: true, .. } => Box::new(moments::Squares::new(grid)),
        Measure::Bins { grid, bins, .. } => Box::new(bins::Bins::of_grid(grid, *bins)),
        Measure::Magnitudes { .. } => Box::new(bins::Bins::of_magnitudes()),
        Measure::Values { .. } => Box::new(values::Values::default()),
        Measure::Items { .. } => Box::new(items::Frequencies::default()),
    }
}

/// The type of a measure's state.
pub(super) fn state_type(measure: &Measure, layout: &Layout, input: &Schema) -> DataType {
    match measure {
        Measure::Present { .. } => DataType::Int64,
        Measure::Moments { .. } => moments::state_type(),
        Measure::Bins { bins, .. } => bins::state_type(*bins as usize),
        Measure::Magnitudes { .. } => bins::state_type(MAGNITUDES),
        Measure::Values { .. } => values::state_type(),
        Measure::Items { column } => {
            let kind = input.field(layout.first_input() + column).data_type();
            items::state_type(canonical_type(kind).unwrap_or(DataType::Null))
        }
    }
}

/// Where each group's entries end if there are so many of each, after the start of the first.
fn offsets(counts: impl IntoIterator<Item = usize>) -> Vec<i64> {
    let mut sum = 0;
    std::iter::once(0)
        .chain(counts.into_iter().map(|count| {
            sum += count as i64;
            sum
        }))
        .collect()
}
