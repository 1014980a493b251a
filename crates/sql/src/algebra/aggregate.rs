//! Exact aggregates: of one unit's rows, or of a table that is not private.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, UInt32Array};
use arrow_select::take::take;
use serde::{Deserialize, Serialize};

use super::column::{Column, Integers, Numbers, Reader, cell};
use super::data::sound;
use super::expr::Expr;
use super::groups::{Grouping, canonical};
use super::{Type, Value};

/// An aggregate of a group of rows. NULLs are ignored.
///
/// # Total
/// Every aggregate has a value for every group; without any non-NULL value it is NULL (a count is 0). An integer sum
/// that does not fit in 64 bits and a real-valued result that is not finite are NULL.
///
/// # Deterministic
/// No aggregate depends on the order of rows, which for one unit's rows depends on other units: real numbers are added
/// in ascending order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Aggregate {
    /// `COUNT(*)`
    Rows,
    /// `COUNT(x)`
    Count(Expr),
    /// `COUNT(DISTINCT x)`
    Distinct(Expr),
    /// `SUM(x)`
    Sum(Expr),
    /// `AVG(x)`
    Mean(Expr),
    /// `MIN(x)`
    Least(Expr),
    /// `MAX(x)`
    Most(Expr),
    /// `BOOL_AND(x)`
    All(Expr),
    /// `BOOL_OR(x)`
    Any(Expr),
    /// `VAR_SAMP(x)`, `VAR_POP(x)`, `STDDEV_SAMP(x)`, `STDDEV_POP(x)`
    Spread {
        /// The numbers.
        of: Expr,
        /// Divided by n − 1 rather than n?
        sample: bool,
        /// The standard deviation rather than the variance?
        root: bool,
    },
    /// `QUANTILE(x, p)`, interpolated linearly; `MEDIAN(x)` is the quantile at ½
    Quantile(Expr, f64),
    /// `MODE(x)`: the most frequent value, the smallest if there are several
    Mode(Expr),
}

impl Aggregate {
    /// Whether the argument's type can be aggregated this way. Where real numbers are required, integers must be cast
    /// first.
    pub fn fits(&self) -> bool {
        match self {
            Self::Rows => true,
            Self::Count(_) | Self::Distinct(_) | Self::Least(_) | Self::Most(_) | Self::Mode(_) => true,
            Self::Sum(of) => matches!(of.kind(), Type::Integer | Type::Number),
            Self::Mean(of) | Self::Spread { of, .. } | Self::Quantile(of, _) => of.kind() == Type::Number,
            Self::All(of) | Self::Any(of) => of.kind() == Type::Boolean,
        }
    }

    /// Returns the argument; `None` for `COUNT(*)`.
    pub fn expressions(&self) -> Option<&Expr> {
        match self {
            Self::Rows => None,
            Self::Count(of) | Self::Distinct(of) | Self::Sum(of) | Self::Mean(of) | Self::Least(of) => Some(of),
            Self::Most(of) | Self::All(of) | Self::Any(of) | Self::Mode(of) | Self::Quantile(of, _) => Some(of),
            Self::Spread { of, .. } => Some(of),
        }
    }

    /// The same aggregate of another expression; `other` is not called for `COUNT(*)`.
    pub fn of(self, other: &mut dyn FnMut() -> Expr) -> Self {
        match self {
            Self::Rows => Self::Rows,
            Self::Count(_) => Self::Count(other()),
            Self::Distinct(_) => Self::Distinct(other()),
            Self::Sum(_) => Self::Sum(other()),
            Self::Mean(_) => Self::Mean(other()),
            Self::Least(_) => Self::Least(other()),
            Self::Most(_) => Self::Most(other()),
            Self::All(_) => Self::All(other()),
            Self::Any(_) => Self::Any(other()),
            Self::Spread { sample, root, .. } => Self::Spread { of: other(), sample, root },
            Self::Quantile(_, p) => Self::Quantile(other(), p),
            Self::Mode(_) => Self::Mode(other()),
        }
    }

    /// Returns the type of the value.
    pub fn kind(&self) -> Type {
        match self {
            Self::Rows | Self::Count(_) | Self::Distinct(_) => Type::Integer,
            Self::Sum(of) | Self::Least(of) | Self::Most(of) | Self::Mode(of) => of.kind(),
            Self::Mean(_) | Self::Spread { .. } | Self::Quantile(..) => Type::Number,
            Self::All(_) | Self::Any(_) => Type::Boolean,
        }
    }

    /// Computes the value for each group of these rows.
    pub fn evaluate(&self, columns: &[ArrayRef], grouping: &Grouping) -> ArrayRef {
        let rows = grouping.rows();
        // −0 and 0 are the same value: which of them is returned must not depend on which came first.
        let value = |of: &Expr| canonical(&of.evaluate(columns, rows).into_array(of.kind(), rows));
        let column = self.expressions().map(|of| Column::Array(value(of)));
        let column = column.unwrap_or(Column::Constant(Value::Null));
        match self {
            Self::Rows => counted(grouping, |_| true),
            Self::Count(_) => counted(grouping, |row| is_valid(&column, row)),
            Self::Distinct(_) => distinct(&column, grouping),
            Self::Sum(of) if of.kind() == Type::Integer => {
                let column = Reader::<Integers>::of(&column);
                let sum = |group: &[u32]| {
                    let values: Vec<i64> = group.iter().filter_map(|&row| column.get(row as usize)).collect();
                    let sum = values.iter().map(|&value| i128::from(value)).sum::<i128>();
                    i64::try_from(sum).ok().filter(|_| !values.is_empty())
                };
                Arc::new(grouping.groups().map(sum).collect::<Int64Array>())
            }
            Self::Sum(_) => numbers(&column, grouping, |values| values.iter().sum()),
            Self::Mean(_) => numbers(&column, grouping, |values| values.iter().sum::<f64>() / values.len() as f64),
            Self::Spread { sample, root, .. } => numbers(&column, grouping, |values| spread(values, *sample, *root)),
            Self::Quantile(_, p) => numbers(&column, grouping, |values| quantile(values, *p)),
            Self::Least(of) => chosen(&column, of.kind(), grouping, |values| values.first().copied()),
            Self::Most(of) => chosen(&column, of.kind(), grouping, |values| values.last().copied()),
            Self::Mode(of) => {
                let Column::Array(array) = &column else { unreachable!("an array was made") };
                chosen(&column, of.kind(), grouping, |values| most_frequent(array, values))
            }
            Self::All(_) => truths(&column, grouping, |mut values| values.all(|value| value)),
            Self::Any(_) => truths(&column, grouping, |mut values| values.any(|value| value)),
        }
    }
}

fn is_valid(column: &Column, row: usize) -> bool {
    matches!(column, Column::Array(array) if array.is_valid(row))
}

fn counted(grouping: &Grouping, counts: impl Fn(usize) -> bool) -> ArrayRef {
    let count = |group: &[u32]| group.iter().filter(|&&row| counts(row as usize)).count() as i64;
    Arc::new(Int64Array::from_iter_values(grouping.groups().map(count)))
}

fn distinct(column: &Column, grouping: &Grouping) -> ArrayRef {
    let Column::Array(array) = column else { return counted(grouping, |_| false) };
    let values = Grouping::of(std::slice::from_ref(array), grouping.rows());
    let count = |group: &[u32]| {
        let valid = group.iter().filter(|&&row| array.is_valid(row as usize));
        let mut numbers: Vec<u32> = valid.map(|&row| values.number(row as usize)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len() as i64
    };
    Arc::new(Int64Array::from_iter_values(grouping.groups().map(count)))
}

/// Applies a function to each group's numbers in ascending order.
fn numbers(column: &Column, grouping: &Grouping, of: impl Fn(&[f64]) -> f64) -> ArrayRef {
    let column = Reader::<Numbers>::of(column);
    let value = |group: &[u32]| {
        let mut values: Vec<f64> = group.iter().filter_map(|&row| column.get(row as usize)).collect();
        values.sort_unstable_by(f64::total_cmp);
        (!values.is_empty()).then(|| of(&values)).filter(|value| value.is_finite())
    };
    Arc::new(grouping.groups().map(value).collect::<Float64Array>())
}

fn spread(values: &[f64], sample: bool, root: bool) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let mut squares: Vec<f64> = values.iter().map(|value| (value - mean) * (value - mean)).collect();
    squares.sort_unstable_by(f64::total_cmp);
    let variance = squares.iter().sum::<f64>() / if sample { n - 1.0 } else { n };
    if root { libm::sqrt(variance) } else { variance }
}

fn quantile(values: &[f64], p: f64) -> f64 {
    let place = p.clamp(0.0, 1.0) * (values.len() - 1) as f64;
    let (below, above) = (libm::floor(place), libm::ceil(place));
    let (one, other) = (values[below as usize], values[above as usize]);
    one + (other - one) * (place - below)
}

/// Returns one row's value per group, chosen from the rows that are not NULL, in ascending order.
fn chosen(column: &Column, kind: Type, grouping: &Grouping, of: impl Fn(&[u32]) -> Option<u32>) -> ArrayRef {
    let Column::Array(array) = column else {
        return arrow_array::new_null_array(&kind.data_type(), grouping.len());
    };
    let ranks = super::order::ranks(array);
    let place = |group: &[u32]| {
        let mut valid: Vec<u32> = group.iter().copied().filter(|&row| array.is_valid(row as usize)).collect();
        valid.sort_unstable_by_key(|&row| ranks[row as usize]);
        of(&valid)
    };
    sound(take(array, &grouping.groups().map(place).collect::<UInt32Array>(), None))
}

fn most_frequent(array: &ArrayRef, sorted: &[u32]) -> Option<u32> {
    let same = |one: &u32, other: &u32| cell(array, *one as usize) == cell(array, *other as usize);
    // The first of the longest runs.
    let longest = sorted.chunk_by(same).reduce(|longest, run| if run.len() > longest.len() { run } else { longest });
    longest.and_then(|run| run.first().copied())
}

fn truths(column: &Column, grouping: &Grouping, of: impl Fn(std::vec::IntoIter<bool>) -> bool) -> ArrayRef {
    let column = Reader::<super::column::Booleans>::of(column);
    let value = |group: &[u32]| {
        let values: Vec<bool> = group.iter().filter_map(|&row| column.get(row as usize)).collect();
        (!values.is_empty()).then(|| of(values.into_iter()))
    };
    Arc::new(grouping.groups().map(value).collect::<BooleanArray>())
}

#[cfg(test)]
mod tests {
    use super::super::function::all::listed;
    use super::super::function::tests::{Dice, array, hostile};
    use super::*;

    fn of(kind: Type) -> Expr {
        Expr::column(0, kind)
    }

    /// Every aggregate, with every argument type that it takes.
    fn all() -> Vec<Aggregate> {
        use Type::{Boolean, Date, Integer, Number, Text, Timestamp};
        let any =
            |make: fn(Expr) -> Aggregate| [Boolean, Integer, Number, Text, Date, Timestamp].map(|kind| make(of(kind)));
        let spread = |sample, root| Aggregate::Spread { of: of(Number), sample, root };
        listed!(listed: Aggregate {
            Aggregate::Rows => [Aggregate::Rows],
            Aggregate::Count(_) => [Aggregate::Count(of(Type::Text))],
            Aggregate::Distinct(_) => [Aggregate::Distinct(of(Type::Number)), Aggregate::Distinct(of(Type::Text))],
            Aggregate::Sum(_) => [Aggregate::Sum(of(Type::Integer)), Aggregate::Sum(of(Type::Number))],
            Aggregate::Mean(_) => [Aggregate::Mean(of(Type::Number))],
            Aggregate::Least(_) => [Aggregate::Least(of(Type::Number))],
            Aggregate::Most(_) => [Aggregate::Most(of(Type::Number))],
            Aggregate::All(_) => [Aggregate::All(of(Type::Boolean))],
            Aggregate::Any(_) => [Aggregate::Any(of(Type::Boolean))],
            Aggregate::Spread { .. } => [Aggregate::Spread { of: of(Type::Number), sample: true, root: true }],
            Aggregate::Quantile(..) => [0.0, 0.3, 0.5, 1.0, 7.0, f64::NAN].map(|p| Aggregate::Quantile(of(Type::Number), p)),
            Aggregate::Mode(_) => [Aggregate::Mode(of(Type::Number))],
        });
        let more = [any(Aggregate::Least), any(Aggregate::Most), any(Aggregate::Mode)].concat();
        let spreads = vec![spread(true, false), spread(false, true), spread(false, false)];
        [listed(), more, spreads].concat()
    }

    /// A group's value depends neither on the order of its rows nor on the other groups.
    #[test]
    fn aggregates_depend_on_the_rows_of_a_group_alone_and_not_on_their_order() {
        let mut dice = Dice(3);
        for aggregate in all() {
            assert!(aggregate.fits(), "{aggregate:?}");
            let kind = aggregate.expressions().map_or(Type::Text, Expr::kind);
            let values = hostile(kind);
            for round in 0..60 {
                let some: Vec<Value> = (0..round % 9).map(|_| values[dice.below(values.len())].clone()).collect();
                let alone = |values: &[Value]| {
                    let rows = values.len();
                    let column =
                        if rows == 0 { arrow_array::new_empty_array(&kind.data_type()) } else { array(kind, values) };
                    cell(&aggregate.evaluate(&[column], &Grouping::of(&[], rows)), 0)
                };
                let expected = alone(&some);
                let mut mixed = some.clone();
                (1..mixed.len()).for_each(|place| mixed.swap(place, dice.below(place + 1)));
                assert_eq!(expected, alone(&mixed), "{aggregate:?} of {some:?}");
                let others: Vec<Value> = (0..20).map(|_| values[dice.below(values.len())].clone()).collect();
                let mut both: Vec<(i64, Value)> = mixed.into_iter().map(|value| (1, value)).collect();
                for (place, value) in others.into_iter().enumerate() {
                    both.insert(dice.below(both.len() + 1), (2 + place as i64 % 3, value));
                }
                let groups: Vec<Value> = both.iter().map(|(group, _)| Value::Integer(*group)).collect();
                let column = array(kind, &both.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>());
                let grouping = Grouping::of(&[array(Type::Integer, &groups)], groups.len());
                let found = aggregate.evaluate(&[column], &grouping);
                if let Some(row) = groups.iter().position(|group| *group == Value::Integer(1)) {
                    let among = cell(&found, grouping.number(row) as usize);
                    assert_eq!(expected, among, "{aggregate:?} of {some:?}, among others");
                }
            }
        }
    }
}
