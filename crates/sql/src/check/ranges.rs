//! The range of an expression, from the ranges of its columns.

use std::collections::BTreeMap;

use datafusion::common::Column;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use reticent::exact::Rational;
use reticent::statistic::Bounds;

use super::words;
use crate::error::{Error, Result};
use crate::options::Range;

/// The range of an expression.
///
/// A column's is given; a constant's is itself; those of sums, differences, products and CASE follow. (Values outside are
/// clamped at the very end, so that a wrong range spoils the answer and never the privacy.)
///
/// # Errors
/// If a column has no range, or the expression has one that cannot be told.
pub fn range(expression: &Expr, bounds: &BTreeMap<String, Range>) -> Result<Range> {
    let alone = match expression {
        Expr::Column(column) => given(column, bounds),
        _ => bounds.get(&words(expression)),
    };
    if let Some(range) = alone {
        return Ok(range.clone());
    }
    let Some((lower, upper)) = interval(expression, bounds)? else {
        let words = words(expression);
        return Err(Error::Option(format!(
            "the range of {words} cannot be told from its columns: name it in a sub-query, as in FROM (SELECT {words} AS x …), \
             and give that name bounds, as in --bounds x=LO..HI"
        )));
    };
    let upper = if lower == upper { &upper + &Rational::ONE } else { upper };
    Ok(Range::Public(Bounds::new(lower, upper)?))
}

fn given<'bounds>(column: &Column, bounds: &'bounds BTreeMap<String, Range>) -> Option<&'bounds Range> {
    bounds.get(&column.flat_name()).or_else(|| bounds.get(&column.name))
}

/// The smallest and the largest value; nothing if they cannot be told.
fn interval(expression: &Expr, bounds: &BTreeMap<String, Range>) -> Result<Option<(Rational, Rational)>> {
    Ok(match expression {
        Expr::Column(column) => match given(column, bounds) {
            Some(Range::Public(bounds)) => Some((bounds.lower().clone(), bounds.upper().clone())),
            Some(Range::Auto) => {
                let name = &column.name;
                return Err(Error::Option(format!(
                    "the bounds of {name} can be found privately only where {name} stands alone; give them with --bounds {name}=LO..HI"
                )));
            }
            None => return Err(Error::Bounds { column: column.name.clone() }),
        },
        Expr::Literal(value, _) if value.is_null() => None,
        Expr::Literal(value, _) => value.to_string().parse::<Rational>().ok().map(|value| (value.clone(), value)),
        Expr::Alias(alias) => interval(&alias.expr, bounds)?,
        Expr::Cast(cast) => interval(&cast.expr, bounds)?,
        Expr::TryCast(cast) => interval(&cast.expr, bounds)?,
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (Some((a, b)), Some((c, d))) = (interval(left, bounds)?, interval(right, bounds)?) else {
                return Ok(None);
            };
            match op {
                Operator::Plus => Some((&a + &c, &b + &d)),
                Operator::Minus => Some((&a - &d, &b - &c)),
                Operator::Multiply => {
                    let corners = [&a * &c, &a * &d, &b * &c, &b * &d];
                    let least = corners.iter().min().cloned();
                    least.zip(corners.into_iter().max())
                }
                _ => None,
            }
        }
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
            let mut all: Option<(Rational, Rational)> = None;
            for result in results.filter(|one| !matches!(&***one, Expr::Literal(value, _) if value.is_null())) {
                let Some((lower, upper)) = interval(result, bounds)? else { return Ok(None) };
                all = Some(match all {
                    None => (lower, upper),
                    Some((least, most)) => (least.min(lower), most.max(upper)),
                });
            }
            all
        }
        _ => None,
    })
}
