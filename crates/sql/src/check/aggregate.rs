//! Which statistics an aggregate needs.

use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Case, Expr, ExprSchemable};
use datafusion::scalar::ScalarValue;
use reticent::exact::Rational;

use super::rows::{Owner, Rows, is_one_of, visible};
use super::total::total;
use super::words;
use crate::bound::MOST_BINS;
use crate::error::{Error, Result, planning};

/// What can be asked, for those who asked for something else.
const KNOWN: &str = "COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE(x, p), STABLE_MEDIAN, MODE, STABLE_MODE, HISTOGRAM(x, bins) \
                     and COUNT(DISTINCT unit)";
/// Bins of a histogram, unless the user says how many.
const BINS: u32 = 10;

/// One aggregate of the query.
#[derive(Debug, Clone)]
pub struct Asked {
    /// As the user wrote it.
    pub words: String,
    /// The type of its column in the plan above.
    pub data_type: DataType,
    /// What is measured for it.
    pub statistic: Statistic,
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
    /// The values that must have a range.
    pub fn ranged(&self) -> Option<&Expr> {
        match self {
            Self::Rows | Self::Units | Self::Present(_) | Self::StableMode(_) => None,
            Self::Sum(of) | Self::Mean(of) | Self::StableMedian(of) => Some(of),
            Self::Variance { of, .. }
            | Self::StandardDeviation { of, .. }
            | Self::Quantile { of, .. }
            | Self::Histogram { of, .. } => Some(of),
        }
    }
}

/// Reads one aggregate.
///
/// # Errors
/// If it has no private form.
pub fn ask(expression: &Expr, rows: &Rows) -> Result<Asked> {
    let unaliased = expression.clone().unalias();
    let Expr::AggregateFunction(function) = &unaliased else {
        return Err(Error::not_private(words(expression), format!("use {KNOWN}")));
    };
    let words = words(expression);
    let data_type = expression.get_type(rows.plan.schema()).map_err(|error| planning(&error))?;
    let statistic = statistic(function, rows, &words)?;
    if let Some(of) = statistic.ranged() {
        let found = of.get_type(rows.plan.schema()).map_err(|error| planning(&error))?;
        if !found.is_numeric() && found != DataType::Null {
            let why = format!("it is {}, not a number; write CAST(… AS DOUBLE) if it holds numbers", kind(&found));
            return Err(Error::not_private(words, why));
        }
    }
    Ok(Asked { words, data_type, statistic })
}

fn statistic(function: &AggregateFunction, rows: &Rows, words: &str) -> Result<Statistic> {
    let (name, params) = (function.func.name(), &function.params);
    if !params.order_by.is_empty() || params.null_treatment.is_some() {
        return Err(Error::not_private(words, "leave ORDER BY and IGNORE NULLS out of it"));
    }
    let first = params.args.first().cloned();
    if params.distinct {
        return match (&rows.owner, name, &first) {
            (Owner::Unit(columns), "count", Some(of)) if is_one_of(of, columns) && params.filter.is_none() => {
                Ok(Statistic::Units)
            }
            (Owner::Unit(columns), ..) => {
                let unit = visible(columns).map_or("unit", |column| column.name.as_str());
                let why = format!("only units can be counted like that: COUNT(DISTINCT {unit})");
                Err(Error::not_private(words, why))
            }
            _ => Err(Error::not_private(
                words,
                "how many different values there are can hang on one row; name the unit's column with --unit and count it",
            )),
        };
    }
    let filter = params.filter.as_deref();
    let of = || -> Result<Expr> {
        let of = first.clone().ok_or_else(|| Error::not_private(words, "it needs a column"))?;
        let of = total(only_where(of, filter), rows.plan.schema())?.unalias();
        Ok(as_it_is(of, rows))
    };
    Ok(match name {
        "count" => match &first {
            None | Some(Expr::Literal(..)) if filter.is_none() && !first.as_ref().is_some_and(is_null) => {
                Statistic::Rows
            }
            _ => Statistic::Present(of()?),
        },
        "sum" => Statistic::Sum(of()?),
        "avg" => Statistic::Mean(of()?),
        "var_pop" | "var" | "variance" => Statistic::Variance { of: of()?, sample: name != "var_pop" },
        "stddev_pop" | "stddev" => Statistic::StandardDeviation { of: of()?, sample: name == "stddev" },
        "median" => Statistic::Quantile { of: of()?, p: Rational::new(1, 2)? },
        "quantile" => Statistic::Quantile { of: of()?, p: share(params.args.get(1), words)? },
        "stable_median" => Statistic::StableMedian(of()?),
        "stable_mode" => Statistic::StableMode(of()?),
        "histogram" => Statistic::Histogram { of: of()?, bins: bins(params.args.get(1), words)? },
        _ => return Err(Error::not_private(words, format!("use {KNOWN}"))),
    })
}

/// `x FILTER (WHERE …)` has the values of x where the condition holds, and NULL elsewhere.
fn only_where(of: Expr, filter: Option<&Expr>) -> Expr {
    match filter {
        None => of,
        Some(filter) => Expr::Case(Case::new(None, vec![(Box::new(filter.clone()), Box::new(of))], None)),
    }
}

/// Without the engine's own casts from one kind of number to another, so that SUM and AVG of a column are of the same column.
fn as_it_is(expression: Expr, rows: &Rows) -> Expr {
    match expression {
        Expr::TryCast(cast)
            if cast.field.data_type().is_floating()
                && cast.expr.get_type(rows.plan.schema()).is_ok_and(|from| from.is_integer() || from.is_floating()) =>
        {
            *cast.expr
        }
        other => other,
    }
}

fn is_null(expression: &Expr) -> bool {
    matches!(expression, Expr::Literal(value, _) if value.is_null())
}

fn literal(expression: Option<&Expr>) -> Option<&ScalarValue> {
    match expression? {
        Expr::Literal(value, _) => Some(value),
        Expr::Cast(cast) => literal(Some(&cast.expr)),
        _ => None,
    }
}

/// A share, as it was written: 0.9 is nine tenths.
fn share(expression: Option<&Expr>, words: &str) -> Result<Rational> {
    let wrong = || Error::not_private(words, "its second part is a constant from 0 to 1, as in QUANTILE(age, 0.9)");
    let value = literal(expression).ok_or_else(wrong)?;
    let share: Rational = value.to_string().parse().map_err(|_| wrong())?;
    if share < Rational::ZERO || share > Rational::ONE { Err(wrong()) } else { Ok(share) }
}

fn bins(expression: Option<&Expr>, words: &str) -> Result<u32> {
    let Some(expression) = expression else { return Ok(BINS) };
    let number = literal(Some(expression)).and_then(|value| value.to_string().parse::<u32>().ok());
    number.filter(|bins| (1..=MOST_BINS).contains(bins)).ok_or_else(|| {
        let why = format!("its second part is the number of bins, from 1 to {MOST_BINS}, as in HISTOGRAM(age, 12)");
        Error::not_private(words, why)
    })
}

fn kind(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => "text",
        DataType::Boolean => "true or false",
        DataType::Date32 | DataType::Date64 => "a date",
        DataType::Timestamp(..) => "a time",
        _ => "of another type",
    }
}
