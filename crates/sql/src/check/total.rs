//! Expressions in forms that cannot fail.
//!
//! What lies in the rows never becomes an error: an expression that has no value for a row (a text that is no number, a
//! division by zero, a date out of range) is NULL there. Casts become safe casts; operators and functions that can fail are
//! [guarded](super::guarded).

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema, Result as PlanResult};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Like, Operator, TryCast, Volatility};
use datafusion::scalar::ScalarValue;

use super::guarded::{Guarded, Operation};
use super::words;
use crate::error::{Error, Result, planning};

/// Functions that make texts as long as a row says. Where memory ends the program is aborted, which no guard can catch.
const GROWING: [&str; 3] = ["repeat", "lpad", "rpad"];

/// The longest pattern of LIKE.
const LONGEST_PATTERN: usize = 1000;

/// The same expression, NULL where it would fail; its name stays.
///
/// # Errors
/// If it may not be used over private rows at all.
pub fn total(expression: Expr, schema: &DFSchema) -> Result<Expr> {
    refuse(&expression)?;
    let (qualifier, name) = expression.qualified_name();
    let rewritten = expression.transform_up(|one| rewrite(one, schema)).map_err(|error| planning(&error))?;
    if !rewritten.transformed || rewritten.data.qualified_name() == (qualifier.clone(), name.clone()) {
        return Ok(rewritten.data);
    }
    Ok(rewritten.data.alias_qualified(qualifier, name))
}

/// What has no private form, in the user's words.
fn refuse(expression: &Expr) -> Result<()> {
    let mut refused = None;
    let _ = expression.apply(|one| -> PlanResult<TreeNodeRecursion> {
        let why = match one {
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => {
                "a sub-query inside an expression looks at other people's rows; use a JOIN on the unit"
            }
            Expr::OuterReferenceColumn(..) => {
                "a sub-query may not refer to the query around it; use a JOIN on the unit"
            }
            Expr::WindowFunction(_) => "one row's value would depend on other people's",
            Expr::ScalarFunction(function) if function.func.signature().volatility == Volatility::Volatile => {
                "a function that gives another value each time has no place in a private query"
            }
            Expr::ScalarFunction(function) if GROWING.contains(&function.func.name()) => {
                "it could need more memory than there is, for one person's row alone"
            }
            Expr::Like(Like { pattern, .. }) if !is_pattern(pattern) => {
                "the pattern must be a constant of at most 1000 letters"
            }
            // A pattern that is none is noticed at the first row that is compared with it.
            Expr::SimilarTo(_) => "use LIKE, or ~ with a regular expression",
            Expr::Placeholder(_) | Expr::ScalarVariable(..) => "write the value itself",
            Expr::Unnest(_)
            | Expr::GroupingSet(_)
            | Expr::HigherOrderFunction(_)
            | Expr::Lambda(_)
            | Expr::LambdaVariable(_) => "it has no private form",
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        refused = Some(Error::not_private(words(one), why));
        Ok(TreeNodeRecursion::Stop)
    });
    refused.map_or(Ok(()), Err)
}

/// A constant, not so long that it could not be compiled.
fn is_pattern(expression: &Expr) -> bool {
    match expression {
        Expr::Literal(value, _) => value.to_string().len() <= LONGEST_PATTERN,
        Expr::Cast(cast) => is_pattern(&cast.expr),
        Expr::TryCast(cast) => is_pattern(&cast.expr),
        _ => false,
    }
}

fn rewrite(expression: Expr, schema: &DFSchema) -> PlanResult<Transformed<Expr>> {
    Ok(match expression {
        Expr::Cast(cast) => safe_cast(*cast.expr, cast.field.data_type().clone(), schema)?,
        Expr::TryCast(cast) if needs_guard(cast.field.data_type()) => {
            safe_cast(*cast.expr, cast.field.data_type().clone(), schema)?
        }
        Expr::Negative(inner) => {
            let zero = ScalarValue::new_zero(&inner.get_type(schema)?)?;
            let difference = BinaryExpr::new(Box::new(Expr::Literal(zero, None)), Operator::Minus, inner);
            Transformed::yes(rewrite(Expr::BinaryExpr(difference), schema)?.data)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if may_fail(op, &left, &right, schema)? => {
            Transformed::yes(Guarded::call(Operation::Operator(op), vec![*left, *right]))
        }
        // Those that choose among their arguments cannot fail by themselves; those without arguments have one value.
        Expr::ScalarFunction(function) if !function.func.short_circuits() && !function.args.is_empty() => {
            Transformed::yes(Guarded::call(Operation::Function(function.func), function.args))
        }
        other => Transformed::no(other),
    })
}

/// Casts between plain types are NULL where they fail; others are guarded as well.
fn safe_cast(inner: Expr, to: DataType, schema: &dyn ExprSchema) -> PlanResult<Transformed<Expr>> {
    let from = inner.get_type(schema)?;
    if !needs_guard(&to) && !needs_guard(&from) {
        return Ok(Transformed::yes(Expr::TryCast(TryCast::new(Box::new(inner), to))));
    }
    if !datafusion::arrow::compute::can_cast_types(&from, &to) {
        return Err(DataFusionError::Plan(format!("{from} cannot be cast to {to}")));
    }
    Ok(Transformed::yes(Guarded::call(Operation::Cast(to), vec![inner])))
}

fn needs_guard(data_type: &DataType) -> bool {
    !(data_type.is_numeric() && !matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
        || matches!(
            data_type,
            DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 | DataType::Boolean | DataType::Null
        ))
}

/// Whole numbers wrap around when added, subtracted and multiplied, floats never fail, and comparisons have a value for all
/// values; whatever else there is may fail.
fn may_fail(op: Operator, left: &Expr, right: &Expr, schema: &DFSchema) -> PlanResult<bool> {
    use Operator::{
        And, Divide, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Or,
        Plus, StringConcat,
    };
    let types = [left.get_type(schema)?, right.get_type(schema)?];
    let all = |fits: fn(&DataType) -> bool| types.iter().all(fits);
    Ok(match op {
        And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom | StringConcat => false,
        Plus | Minus | Multiply => !all(|one| one.is_integer() || one.is_floating()),
        Divide | Modulo => !all(DataType::is_floating),
        _ => true,
    })
}
