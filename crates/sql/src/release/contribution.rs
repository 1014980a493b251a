//! How far one unit can move a statistic.

use reticent::Result;
use reticent::privacy::Adjacency;
use reticent::statistic::{Contribution, Ends, Grid, Moments, Rows, Sensitivity};

/// Contribution bounds of one unit: the most rows in each of the most groups, or in one statistic over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitContribution {
    rows: Contribution,
    units: Contribution,
    groups: u64,
    max_rows: u64,
    adjacency: Adjacency,
    each_row: bool,
}

impl UnitContribution {
    /// Bounds with or without groups.
    ///
    /// # Errors
    /// If a number is 0 or too large.
    pub fn new(adjacency: Adjacency, grouped: bool, groups: u64, max_rows: u64) -> Result<Self> {
        let of = |rows: u64| match grouped {
            true => Contribution::in_groups(adjacency, groups, Rows::AtMost(rows)),
            false => Contribution::overall(adjacency, Rows::AtMost(rows)),
        };
        let groups = if grouped { groups } else { 1 };
        Ok(Self { rows: of(max_rows)?, units: of(1)?, groups, max_rows, adjacency, each_row: false })
    }

    /// The bounds where every row is a unit.
    pub fn each_row(adjacency: Adjacency, grouped: bool) -> Self {
        let one = Self::new(adjacency, grouped, 1, 1).expect("1 is neither 0 nor too large");
        Self { each_row: true, ..one }
    }

    /// Whether every row is a unit.
    pub fn is_each_row(&self) -> bool {
        self.each_row
    }

    /// The sensitivity of counts of rows, or of rows with a value.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn count(&self) -> Result<Sensitivity> {
        self.rows.of_count()
    }

    /// The sensitivity of counts of units: each counts once per group, however many rows it has there.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn units(&self) -> Result<Sensitivity> {
        self.units.of_count()
    }

    /// The sensitivity of counts in bins: a unit that is replaced leaves bins and enters others, even without groups.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn bins(&self) -> Result<Sensitivity> {
        self.in_groups().of_count()
    }

    /// The sensitivity of count and sum, as [`Ends`].
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn ends(&self, grid: &Grid) -> Result<Sensitivity> {
        Ends::sensitivity(grid, &self.rows)
    }

    /// The sensitivity of sums of squares.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn squares(&self, grid: &Grid) -> Result<Sensitivity> {
        Moments::squares_sensitivity(grid, &self.rows)
    }

    /// The sensitivity of counts of units per key, where keys come from the data.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn bins_of_units(&self) -> Result<Sensitivity> {
        Contribution::in_groups(self.adjacency, self.groups, Rows::AtMost(1))?.of_count()
    }

    /// The same bounds with groups; one group if there were none.
    pub fn in_groups(&self) -> Contribution {
        let rows = Rows::AtMost(self.max_rows);
        Contribution::in_groups(self.adjacency, self.groups, rows).expect("both numbers were checked by `new`")
    }

    /// The most groups to which a unit contributes.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// The most rows that it contributes to each.
    pub fn max_rows(&self) -> u64 {
        self.max_rows
    }

    /// The adjacency.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }
}
