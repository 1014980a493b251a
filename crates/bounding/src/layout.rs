//! What to measure, and the limits per unit.

use arrow_schema::{DataType, Field, Schema};
use reticent::statistic::Grid;
use serde::{Deserialize, Serialize};

use crate::error::{Result, refuse};
use crate::kind::Kind;

/// The largest number of bins of a histogram.
pub const MOST_BINS: u32 = 100_000;

/// The roles of a batch's columns: the unit if there is one, the keys, the inputs, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Whether the first column is the unit. If not, the unit is the row.
    pub unit: bool,
    /// The number of key columns, which come next. Without keys there is exactly one group, even if there are no rows.
    pub keys: usize,
    /// What is measured of the remaining columns.
    pub measures: Vec<Measure>,
}

/// A measure of every group. `column` is an index into the inputs: 0 is the first column after the keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Measure {
    /// The number of kept rows with a value (not NULL; NaN is a value).
    Present {
        /// Of any type.
        column: usize,
    },
    /// N, S and Q of [`reticent::statistic::Moments`]; NaN and NULL are dropped, everything else is clamped.
    Moments {
        /// A numeric column.
        column: usize,
        /// The grid they are clamped and rounded to.
        grid: Grid,
        /// Whether to compute Q; otherwise it is 0.
        squares: bool,
    },
    /// The number of values in each of several equal bins over the grid's range; the upper end belongs to the last bin.
    /// NaN and NULL are dropped, everything else is clamped.
    Bins {
        /// A numeric column.
        column: usize,
        /// The grid whose range is divided.
        grid: Grid,
        /// The number of bins: 1 to [`MOST_BINS`].
        bins: u32,
    },
    /// The number of values of each order of magnitude: in each bin of [`reticent::mechanism::range::bin`]. NaN and
    /// NULL are dropped.
    Magnitudes {
        /// A numeric column.
        column: usize,
    },
    /// All values on the grid; NaN and NULL are dropped, everything else is clamped.
    Values {
        /// A numeric column.
        column: usize,
        /// The grid they are clamped and rounded to.
        grid: Grid,
    },
    /// All distinct values and how often each occurs; NULL is dropped.
    Items {
        /// A column of any type that a key may have.
        column: usize,
    },
}

/// The contribution limits of a unit: up to `rows` rows in each of up to `groups` groups are kept.
///
/// Without keys there is one group; `groups` does not matter then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContributionCaps {
    /// Groups per unit, at least 1.
    pub groups: u64,
    /// Rows per unit and group, at least 1.
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

    fn suits(&self, kind: Kind) -> bool {
        match self {
            Self::Present { .. } => true,
            Self::Items { .. } => kind.can_group(),
            Self::Moments { .. } | Self::Bins { .. } | Self::Magnitudes { .. } | Self::Values { .. } => {
                kind.is_number()
            }
        }
    }
}

/// The types of a batch's columns, divided according to a layout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Columns {
    pub unit: Option<Kind>,
    pub keys: Vec<Kind>,
    pub inputs: Vec<Kind>,
}

impl Layout {
    /// The index of the first key.
    pub(crate) fn first_key(&self) -> usize {
        usize::from(self.unit)
    }

    /// The index of the first input.
    pub(crate) fn first_input(&self) -> usize {
        self.first_key() + self.keys
    }

    /// The types of the columns, if the schema matches the layout.
    pub(crate) fn columns(&self, schema: &Schema) -> Result<Columns> {
        let fields = schema.fields();
        let Some((grouping, inputs)) =
            self.keys.checked_add(self.first_key()).and_then(|columns| fields.split_at_checked(columns))
        else {
            return refuse(format!("too few columns for the layout: keys = {}, columns = {}", self.keys, fields.len()));
        };
        let (unit, keys) = grouping.split_at(self.first_key());
        let unit = unit.first().map(|field| kind(field, "be the unit", Kind::can_be_unit)).transpose()?;
        let keys = keys.iter().map(|field| kind(field, "be grouped by", Kind::can_group)).collect::<Result<_>>()?;
        let inputs = inputs.iter().map(|field| kind(field, "be measured", |_| true)).collect::<Result<Vec<_>>>()?;
        for measure in &self.measures {
            let column = measure.column();
            let Some(&kind) = inputs.get(column) else {
                return refuse(format!("there is no input {column}: inputs are counted from 0, after the keys"));
            };
            if !measure.suits(kind) {
                return unsuitable(schema.field(self.first_input() + column), "be measured in this way");
            }
            if let Measure::Bins { bins, .. } = measure
                && !(1..=MOST_BINS).contains(bins)
            {
                return refuse(format!("bins = {bins}: there may be 1 to {MOST_BINS}"));
            }
        }
        Ok(Columns { unit, keys, inputs })
    }
}

fn kind(field: &Field, purpose: &str, suits: impl Fn(Kind) -> bool) -> Result<Kind> {
    match Kind::of(field.data_type()) {
        Some(kind) if suits(kind) => Ok(kind),
        _ => unsuitable(field, purpose),
    }
}

fn unsuitable<T>(field: &Field, purpose: &str) -> Result<T> {
    let kind: &DataType = field.data_type();
    refuse(format!("`{}` is of type {kind}, which cannot {purpose}", field.name()))
}
