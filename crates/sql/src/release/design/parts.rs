//! What is released for a query, and how its aggregates are computed from that.

use reticent::exact::Rational;
use reticent::mechanism::{PerGroup, Quantiles};
use reticent::privacy::Guarantee;
use reticent::statistic::{Grid, Sensitivity};

use super::noise::Source;

/// The start of the description of [`Additive::Ends`].
pub const COUNT_AND_SUM: &str = "count and sum of";

/// Numbers that noise is added to: one or more per group.
#[derive(Debug, Clone, PartialEq)]
pub enum Additive {
    /// Rows.
    Rows,
    /// Units.
    Units,
    /// Rows that have a value, by the index of the measure.
    Present(usize),
    /// Rows that have a value, and rows that have none: two bins.
    Presence(usize),
    /// Count and sum of values.
    Ends(usize, Grid),
    /// Sums of squares.
    Squares(usize, Grid),
    /// Counts in bins.
    Bins(usize, u32),
}

/// Numbers with their share of the budget.
#[derive(Debug, Clone)]
pub struct Paid {
    /// What they are.
    pub part: Additive,
    /// A description.
    pub words: String,
    /// The share of the budget.
    pub cost: Guarantee,
    /// The weight in the split.
    pub weight: u32,
    /// The most that one unit can move them, all groups together.
    pub sensitivity: Sensitivity,
    /// Where their noise comes from.
    pub source: Source,
}

/// Values from which quantiles are released.
#[derive(Debug, Clone)]
pub struct Ranks {
    /// The index of the measure.
    pub measure: usize,
    /// The grid.
    pub grid: Grid,
    /// The fractions, ascending.
    pub shares: Vec<Rational>,
    /// The mechanism.
    pub mechanism: PerGroup<Quantiles>,
}

/// How an aggregate's value is computed from released numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A number of an additive part.
    Count(usize),
    /// The number of values, from their ends.
    CountOfEnds(usize),
    /// The number of values, of those that are present and missing.
    Present(usize),
    /// The number of rows, as the values that are present and missing.
    PresentOrMissing(usize),
    /// A sum.
    Sum(usize),
    /// A sum of weighed rows: the number of values times their mean.
    SumOf {
        /// The part that counts the values.
        present: usize,
        /// The part of the ends.
        ends: usize,
    },
    /// A mean.
    Mean(usize),
    /// A variance, from ends and squares.
    Variance {
        /// The part of the ends.
        ends: usize,
        /// The part of the squares.
        squares: usize,
        /// Divide by n − 1?
        sample: bool,
        /// Take the square root?
        root: bool,
    },
    /// Counts in bins.
    Histogram(usize),
    /// A quantile: the index of the [`Ranks`], and of the fraction in it.
    Quantile(usize, usize),
    /// A stable median.
    Median(usize),
    /// A stable mode.
    Mode(usize),
}

impl Output {
    /// The same with other numbers of parts.
    pub(super) fn renumbered(&self, number: impl Fn(usize) -> usize) -> Self {
        match self.clone() {
            Self::Count(part) => Self::Count(number(part)),
            Self::CountOfEnds(part) => Self::CountOfEnds(number(part)),
            Self::Present(part) => Self::Present(number(part)),
            Self::PresentOrMissing(part) => Self::PresentOrMissing(number(part)),
            Self::Sum(part) => Self::Sum(number(part)),
            Self::SumOf { present, ends } => Self::SumOf { present: number(present), ends: number(ends) },
            Self::Mean(part) => Self::Mean(number(part)),
            Self::Histogram(part) => Self::Histogram(number(part)),
            Self::Variance { ends, squares, sample, root } => {
                Self::Variance { ends: number(ends), squares: number(squares), sample, root }
            }
            other @ (Self::Quantile(..) | Self::Median(_) | Self::Mode(_)) => other,
        }
    }
}
