//! The result.

use arrow_array::ArrayRef;

use crate::measure::Measured;

/// Exact statistics per group: not yet private.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// One array per key column, in canonical order: ascending, NULL last, whatever the order of the rows.
    pub keys: Vec<ArrayRef>,
    /// In the order of the keys.
    pub groups: Vec<Group>,
}

/// The counts and measures of one group, over all kept rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Units with at least one kept row; if the unit is the row, the number of rows.
    pub units: u64,
    /// Rows.
    pub rows: u64,
    /// In the order of the layout's measures.
    pub measured: Vec<Measured>,
}
