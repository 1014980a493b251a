//! Statistics released from private rows.

use std::sync::Arc;

use reticent::exact::Rational;

use super::{Expr, Rows, Type};

/// Statistics of private rows, by group: the only way out of private rows.
///
/// # Privacy
/// Each unit's contribution is bounded before anything is added up, and noise is added before anything leaves: see
/// `reticent-bounding` and [`release`](crate::release). This relation yields released values only.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The private rows.
    pub rows: Arc<Rows>,
    /// The group keys.
    pub keys: Vec<Expr>,
    /// The statistics of each group.
    pub statistics: Vec<Statistic>,
}

impl Measured {
    /// Returns the column types: keys, then statistics.
    pub fn kinds(&self) -> Vec<Type> {
        self.keys.iter().map(Expr::kind).chain(self.statistics.iter().map(Statistic::kind)).collect()
    }

    /// Returns the most long texts that one private row can yield; limited by [`Limits::long_texts`](super::Limits).
    pub fn long_texts(&self) -> u64 {
        let of = self.keys.iter().chain(self.statistics.iter().filter_map(Statistic::of));
        let growing = of.map(Expr::growing).sum::<usize>() as u64;
        self.rows.long_texts().max(self.rows.fan_out().saturating_mul(growing))
    }
}

/// A statistic.
#[derive(Debug, Clone, PartialEq)]
pub enum Statistic {
    /// The number of rows.
    Rows,
    /// The number of units.
    Units,
    /// The number of rows with a value.
    Present(Expr),
    /// The sum of the values.
    Sum(Expr),
    /// Their mean.
    Mean(Expr),
    /// Their variance: of the rows themselves (divided by n) or of the population they are sampled from (by n − 1).
    Variance {
        /// The values.
        of: Expr,
        /// Divide by n − 1?
        sample: bool,
    },
    /// The square root of the variance.
    StandardDeviation {
        /// The values.
        of: Expr,
        /// Divide by n − 1?
        sample: bool,
    },
    /// The value below which this fraction of the values lies.
    Quantile {
        /// The values.
        of: Expr,
        /// The fraction.
        p: Rational,
    },
    /// The exact median, if it is stable.
    StableMedian(Expr),
    /// The most frequent value, if it is stable.
    StableMode(Expr),
    /// The number of values in each of `bins` equal parts of the range.
    Histogram {
        /// The values.
        of: Expr,
        /// The number of bins.
        bins: u32,
    },
}

impl Statistic {
    /// Returns the expression it is computed from.
    pub fn of(&self) -> Option<&Expr> {
        match self {
            Self::Rows | Self::Units => None,
            Self::Present(of) | Self::Sum(of) | Self::Mean(of) | Self::StableMedian(of) | Self::StableMode(of) => {
                Some(of)
            }
            Self::Variance { of, .. } | Self::StandardDeviation { of, .. } => Some(of),
            Self::Quantile { of, .. } | Self::Histogram { of, .. } => Some(of),
        }
    }

    /// Returns the expression that needs clamping bounds, if any.
    pub fn ranged(&self) -> Option<&Expr> {
        match self {
            Self::Rows | Self::Units | Self::Present(_) | Self::StableMode(_) => None,
            other => other.of(),
        }
    }

    /// Returns the type of the released value. A histogram is a list, which no expression can use.
    pub fn kind(&self) -> Type {
        match self {
            Self::Rows | Self::Units | Self::Present(_) | Self::Histogram { .. } => Type::Integer,
            Self::Sum(of) | Self::StableMode(of) => of.kind(),
            _ => Type::Number,
        }
    }
}
