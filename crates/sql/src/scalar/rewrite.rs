//! What a query says about its columns, and casts that cannot fail.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, UnaryOperator,
    Value, Visit, VisitMut, Visitor, VisitorMut,
};

/// Functions whose arguments are numbers.
const OF_NUMBERS: &[&str] = &[
    "abs", "acos", "approx_median", "approx_percentile_cont", "approx_percentile_cont_with_weight", "asin", "atan", "atan2",
    "avg", "cbrt", "ceil", "corr", "cos", "covar", "covar_pop", "covar_samp", "exp", "floor", "ln", "log", "log10", "log2",
    "mean", "median", "percentile_cont", "pow", "power", "quantile_cont", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "round", "sign", "signum", "sin", "sqrt",
    "stddev", "stddev_pop", "stddev_samp", "sum", "tan", "trunc", "var", "var_pop", "var_population", "var_samp",
    "var_sample",
];

/// The names that the query uses as numbers.
pub fn numbers(statement: &Statement) -> BTreeSet<String> {
    let mut numbers = Numbers(BTreeSet::new());
    if let Statement::Statement(statement) = statement {
        let _ = Visit::visit(&**statement, &mut numbers);
    }
    numbers.0
}

struct Numbers(BTreeSet<String>);

impl Visitor for Numbers {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        use BinaryOperator as Operator;
        match expression {
            Expr::BinaryOp { left, op, right } => match op {
                // A day and an interval make a day.
                _ if is_interval(left) || is_interval(right) => {}
                Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo => {
                    self.add_all([&**left, right]);
                }
                Operator::Gt | Operator::GtEq | Operator::Lt | Operator::LtEq | Operator::Eq | Operator::NotEq
                    if is_number(left) || is_number(right) =>
                {
                    self.add_all([&**left, right]);
                }
                _ => {}
            },
            Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => self.add_all([&**expr]),
            Expr::Between { expr, low, high, .. } if is_number(low) || is_number(high) => {
                self.add_all([&**expr, low, high]);
            }
            Expr::InList { expr, list, .. } if list.iter().any(is_number) => self.add_all([&**expr]),
            Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => self.add_all([&**expr]),
            Expr::Function(function) if is_of_numbers(function) => {
                if let FunctionArguments::List(list) = &function.args {
                    self.add_all(list.args.iter().filter_map(argument));
                }
                self.add_all(function.within_group.iter().map(|order| &order.expr));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Numbers {
    fn add_all<'a>(&mut self, expressions: impl IntoIterator<Item = &'a Expr>) {
        self.0.extend(expressions.into_iter().filter_map(column));
    }
}

/// The column that an expression is, with nothing done to it.
fn column(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Nested(inner) => column(inner),
        Expr::Identifier(name) => Some(normal(name)),
        Expr::CompoundIdentifier(names) => names.last().map(normal),
        _ => None,
    }
}

/// As the engine finds it: in small letters, unless it is quoted.
fn normal(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_ascii_lowercase() }
}

fn argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    }
}

fn is_of_numbers(function: &Function) -> bool {
    let name = function.name.to_string().to_ascii_lowercase();
    OF_NUMBERS.contains(&name.as_str())
}

/// A number, or something that is computed from one.
fn is_number(expression: &Expr) -> bool {
    use BinaryOperator as Operator;
    match expression {
        Expr::Nested(inner) => is_number(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, .. } => true,
        Expr::BinaryOp { op, left, right } => {
            matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo)
                && !is_interval(left)
                && !is_interval(right)
        }
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::Function(function) => is_of_numbers(function),
        _ => false,
    }
}

fn is_interval(expression: &Expr) -> bool {
    matches!(expression, Expr::Interval(_))
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
