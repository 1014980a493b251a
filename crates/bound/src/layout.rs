//! What is asked for.

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::plan_err;
use datafusion::error::Result;
use reticent::statistic::Grid;
use serde::{Deserialize, Serialize};

use super::canonical::{canonical_type, number_type};

/// More bins than anyone can look at.
pub const MOST_BINS: u32 = 100_000;

/// What the plan's output columns are: the unit if there is one, the keys, the inputs, in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Layout {
    /// Is the first column the unit? If not, the unit is the row.
    pub unit: bool,
    /// So many key columns follow. Without any there is exactly one group, even if there is no row.
    pub keys: usize,
    /// What is measured of the columns after them.
    pub measures: Vec<Measure>,
}

/// What is measured in every group. `column` counts among the inputs: 0 is the first after the keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Measure {
    /// How many kept rows have a value (not NULL; NaN is a value).
    Present {
        /// Of any type.
        column: usize,
    },
    /// N, S and Q of [`reticent::statistic::Moments`]; NaN and NULL are dropped, the rest is clamped.
    Moments {
        /// Of numbers.
        column: usize,
        /// What they are clamped and rounded to.
        grid: Grid,
        /// Whether Q is wanted; without it, it is 0.
        squares: bool,
    },
    /// How many values are in each of equal bins over the grid's range, the last of which has its upper end, too; NaN and NULL
    /// are dropped, the rest is clamped.
    Bins {
        /// Of numbers.
        column: usize,
        /// Whose range is divided.
        grid: Grid,
        /// How many bins; from one to [`MOST_BINS`].
        bins: u32,
    },
    /// How many values are of each order of magnitude: in each bin of [`reticent::mechanism::range::bin`]. NULL and NaN are
    /// dropped.
    Magnitudes {
        /// Of numbers.
        column: usize,
    },
    /// All values on the grid; NaN and NULL are dropped, the rest is clamped.
    Values {
        /// Of numbers.
        column: usize,
        /// What they are clamped and rounded to.
        grid: Grid,
    },
    /// All values of any type with their frequencies; NULL is dropped.
    Items {
        /// Of any type that can be compared.
        column: usize,
    },
}

/// At most so much of a unit is kept: up to `rows` rows in each of up to `groups` groups.
///
/// Without keys there is one group; `groups` does not matter then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// Groups per unit.
    pub groups: u64,
    /// Rows per unit and group.
    pub rows: u64,
}

impl Measure {
    /// The input column that is measured.
    pub fn column(&self) -> usize {
        match self {
            Self::Present { column }
            | Self::Moments { column, .. }
            | Self::Bins { column, .. }
            | Self::Magnitudes { column }
            | Self::Values { column, .. }
            | Self::Items { column } => *column,
        }
    }
}

impl Layout {
    /// Where the inputs begin.
    pub(super) fn first_input(&self) -> usize {
        usize::from(self.unit) + self.keys
    }

    /// The types of the keys, after values that mean the same were made the same.
    pub(super) fn key_types(&self, schema: &Schema) -> Vec<DataType> {
        let from = usize::from(self.unit);
        let keys = schema.fields()[from..from + self.keys].iter();
        keys.map(|field| canonical_type(field.data_type()).expect("checked")).collect()
    }

    /// Does the schema have what is asked for? It depends on no row.
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        let columns = schema.fields();
        let Some((grouping, inputs)) =
            self.keys.checked_add(usize::from(self.unit)).and_then(|n| columns.split_at_checked(n))
        else {
            let (keys, unit) = (self.keys, usize::from(self.unit));
            return plan_err!("{keys} keys and {unit} unit are needed, but the plan has {} columns", columns.len());
        };
        for field in grouping {
            if canonical_type(field.data_type()).is_none() {
                return plan_err!(
                    "`{}` is of type {}, by which rows cannot be grouped",
                    field.name(),
                    field.data_type()
                );
            }
        }
        for measure in &self.measures {
            let Some(field) = inputs.get(measure.column()) else {
                return plan_err!("input {} is measured, but the plan has no such column", measure.column());
            };
            let kind = field.data_type();
            let suits = match measure {
                Measure::Present { .. } => true,
                Measure::Items { .. } => canonical_type(kind).is_some(),
                Measure::Moments { .. } | Measure::Values { .. } | Measure::Magnitudes { .. } => {
                    number_type(kind).is_some()
                }
                Measure::Bins { bins, .. } => (1..=MOST_BINS).contains(bins) && number_type(kind).is_some(),
            };
            if !suits {
                return plan_err!("`{}` is of type {kind}, which cannot be measured so", field.name());
            }
        }
        Ok(())
    }
}
