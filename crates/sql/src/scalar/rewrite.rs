//! What a query says about its columns, and casts that cannot fail.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, VisitMut, VisitorMut,
};

use crate::usage::Usage;
use crate::walk::{Node, walk};

/// Functions of numbers that only a query over rows in the open has.
const OF_NUMBERS: &[&str] = &[
    "acos",
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
    "asin",
    "atan",
    "atan2",
    "corr",
    "covar",
    "covar_pop",
    "covar_samp",
    "percentile_cont",
    "quantile_cont",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
];

/// The names that the query uses as numbers.
pub fn numbers(statement: &Statement) -> BTreeSet<String> {
    let Statement::Statement(statement) = statement else { return BTreeSet::new() };
    let mut numbers = Usage::of(statement).numbers;
    let _ = walk(statement, &mut |node| {
        if let Node::Expression(Expr::Function(function)) = node
            && OF_NUMBERS.contains(&function.name.to_string().to_lowercase().as_str())
        {
            if let FunctionArguments::List(list) = &function.args {
                numbers.extend(list.args.iter().filter_map(argument).filter_map(column));
            }
            numbers.extend(function.within_group.iter().filter_map(|order| column(&order.expr)));
        }
        ControlFlow::Continue(())
    });
    numbers
}

fn argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    }
}

/// The column that an expression is, with nothing done to it.
fn column(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Nested(inner) => column(inner),
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.clone()),
        _ => None,
    }
}

/// A cell that cannot be cast is NULL, and spoils its own row only.
pub fn make_casts_safe(statement: &mut Statement) {
    if let Statement::Statement(statement) = statement {
        let _ = VisitMut::visit(&mut **statement, &mut SafeCasts);
    }
}

struct SafeCasts;

impl VisitorMut for SafeCasts {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { kind, .. } = expression {
            *kind = CastKind::TryCast;
        }
        ControlFlow::Continue(())
    }
}
