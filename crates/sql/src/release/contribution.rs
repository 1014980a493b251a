//! How far one unit can move what is measured.

use reticent::Result;
use reticent::privacy::Adjacency;
use reticent::statistic::{Contribution, Ends, Grid, Moments, Rows, Sensitivity};

/// What one unit can touch: at most so many rows in each of at most so many groups, or in one statistic over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    rows: Contribution,
    units: Contribution,
    groups: u64,
    max_rows: u64,
    adjacency: Adjacency,
}

impl Touched {
    /// In groups or not.
    ///
    /// # Errors
    /// If a number is 0 or too large.
    pub fn new(adjacency: Adjacency, grouped: bool, groups: u64, max_rows: u64) -> Result<Self> {
        let of = |rows: u64| match grouped {
            true => Contribution::in_groups(adjacency, groups, Rows::AtMost(rows)),
            false => Contribution::overall(adjacency, Rows::AtMost(rows)),
        };
        let groups = if grouped { groups } else { 1 };
        Ok(Self { rows: of(max_rows)?, units: of(1)?, groups, max_rows, adjacency })
    }

    /// Counts of rows, or of rows with a value.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn count(&self) -> Result<Sensitivity> {
        self.rows.of_count()
    }

    /// Counts of units: each counts once in a group, however many rows it has there.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn units(&self) -> Result<Sensitivity> {
        self.units.of_count()
    }

    /// Counts in bins: a unit that is replaced leaves bins and enters others, also without groups.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn bins(&self) -> Result<Sensitivity> {
        self.in_groups()?.of_count()
    }

    /// Count and sum, as [`Ends`].
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn ends(&self, grid: &Grid) -> Result<Sensitivity> {
        Ends::sensitivity(grid, &self.rows)
    }

    /// Sums of squares.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn squares(&self, grid: &Grid) -> Result<Sensitivity> {
        Moments::squares_sensitivity(grid, &self.rows)
    }

    /// Counts of units per key, where keys come from the data.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn bins_of_units(&self) -> Result<Sensitivity> {
        Contribution::in_groups(self.adjacency, self.groups, Rows::AtMost(1))?.of_count()
    }

    /// The same with groups, one of them if there were none.
    ///
    /// # Errors
    /// Never, since the numbers were checked.
    pub fn in_groups(&self) -> Result<Contribution> {
        Contribution::in_groups(self.adjacency, self.groups, Rows::AtMost(self.max_rows))
    }

    /// In how many groups a unit is at most.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// With how many rows in each.
    pub fn max_rows(&self) -> u64 {
        self.max_rows
    }

    /// Which tables are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }
}
