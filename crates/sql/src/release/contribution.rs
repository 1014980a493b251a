//! How far one unit can move a statistic.

use reticent::Result;
use reticent::privacy::Adjacency;
use reticent::statistic::{Contribution, Ends, Grid, Moments, Rows, Sensitivity};
use reticent_bounding::{WEIGHT_BITS, WeightCaps};

/// Contribution bounds of one unit: the most rows in each of the most groups, or in one statistic over all rows; or its
/// total weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitContribution {
    rows: Contribution,
    values: Contribution,
    units: Contribution,
    groups: u64,
    max_rows: u64,
    adjacency: Adjacency,
    each_row: bool,
    weights: Option<WeightCaps>,
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
        let (rows, units) = (of(max_rows)?, of(1)?);
        Ok(Self { rows, values: rows, units, groups, max_rows, adjacency, each_row: false, weights: None })
    }

    /// The bounds of units whose rows are [weighed](reticent_bounding::Weighing), in units of 2^−[`WEIGHT_BITS`].
    ///
    /// # Privacy
    /// A unit adds non-negative weights with a total of at most S to the groups' counts. Adding or removing it moves them
    /// by at most S in the L1 norm, and in the L2 norm, too, which is largest if all of the weight is in one group.
    /// Replacing it moves them by at most 2S, and √2·S if it leaves one group and enters another. These are the
    /// sensitivities of a unit with at most S rows in one group.
    ///
    /// # Errors
    /// If a cap is 0 or above 2^16.
    pub fn weighed(adjacency: Adjacency, grouped: bool, caps: WeightCaps) -> Result<Self> {
        let of = |cap: u64| Self::new(adjacency, grouped, 1, cap.saturating_mul(1 << WEIGHT_BITS));
        let rows = of(caps.rows)?;
        Ok(Self { values: of(caps.values)?.rows, units: of(caps.groups)?.rows, weights: Some(caps), ..rows })
    }

    /// The weight caps, if rows are weighed.
    pub fn weights(&self) -> Option<WeightCaps> {
        self.weights
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

    /// The sensitivity of sums of whole numbers from `lower` to `upper`, one for every row.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn of_values(&self, lower: i64, upper: i64) -> Result<Sensitivity> {
        self.rows.of_values(lower, upper)
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
        Ends::sensitivity(grid, &self.values)
    }

    /// The sensitivity of sums of squares.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn squares(&self, grid: &Grid) -> Result<Sensitivity> {
        Moments::squares_sensitivity(grid, &self.values)
    }

    /// The sensitivity of counts of units per key, where keys come from the data.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    #[cfg(feature = "test-util")]
    pub fn bins_of_units(&self) -> Result<Sensitivity> {
        let each = self.weights.map_or(1, |caps| caps.groups << WEIGHT_BITS);
        Contribution::in_groups(self.adjacency, self.groups, Rows::AtMost(each))?.of_count()
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
