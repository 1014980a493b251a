//! What is released of private rows.

use std::sync::Arc;

use reticent::exact::Rational;

use super::{Expr, Rows, Type};

/// What is measured of private rows: for each value of some keys, some statistics. The one way from private rows to anything else.
///
/// # Privacy
/// What one unit contributes is bounded before anything is added up, and noise is added before anything leaves: see
/// `reticent-bounding` and [`release`](crate::release). All that this relation gives is released values.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Of these rows.
    pub rows: Arc<Rows>,
    /// What they are grouped by.
    pub keys: Vec<Expr>,
    /// What is asked of each group.
    pub statistics: Vec<Statistic>,
}

impl Measured {
    /// The types of its columns: keys, then statistics.
    pub fn kinds(&self) -> Vec<Type> {
        self.keys.iter().map(Expr::kind).chain(self.statistics.iter().map(Statistic::kind)).collect()
    }

    /// How many long texts one private row becomes at most; [`Limits::long_texts`](super::Limits) is the most.
    pub fn long_texts(&self) -> u64 {
        let of = self.keys.iter().chain(self.statistics.iter().filter_map(Statistic::of));
        let growing = of.map(Expr::growing).sum::<usize>() as u64;
        self.rows.long_texts().max(self.rows.fan_out().saturating_mul(growing))
    }
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Statistic {
    /// How many rows there are.
    Rows,
    /// How many units there are.
    Units,
    /// How many rows have a value.
    Present(Expr),
    /// The sum of the values.
    Sum(Expr),
    /// Their mean.
    Mean(Expr),
    /// Their variance, of the rows themselves or, with n − 1 in place of n, of the population they are a sample of.
    Variance {
        /// The values.
        of: Expr,
        /// n − 1?
        sample: bool,
    },
    /// The square root of the variance.
    StandardDeviation {
        /// The values.
        of: Expr,
        /// n − 1?
        sample: bool,
    },
    /// The value below which this share of the values lies.
    Quantile {
        /// The values.
        of: Expr,
        /// The share.
        p: Rational,
    },
    /// The exact median, if it is stable.
    StableMedian(Expr),
    /// The most frequent value, if it is stable.
    StableMode(Expr),
    /// How many values lie in each of equal parts of the range.
    Histogram {
        /// The values.
        of: Expr,
        /// How many parts.
        bins: u32,
    },
}

impl Statistic {
    /// What it is computed of.
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

    /// The values that must have a range.
    pub fn ranged(&self) -> Option<&Expr> {
        match self {
            Self::Rows | Self::Units | Self::Present(_) | Self::StableMode(_) => None,
            other => other.of(),
        }
    }

    /// The type of its released value. That of a histogram is a list, of which nothing can be computed.
    pub fn kind(&self) -> Type {
        match self {
            Self::Rows | Self::Units | Self::Present(_) | Self::Histogram { .. } => Type::Integer,
            Self::Sum(of) | Self::StableMode(of) => of.kind(),
            _ => Type::Number,
        }
    }
}
