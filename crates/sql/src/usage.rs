//! How a query uses its columns.
//!
//! Text files have no types, and none are inferred from rows. A column is a number if the query uses it as one (in a
//! sum, in arithmetic, compared with a number) or if it has bounds. All others are text.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, JoinConstraint, JoinOperator,
    ObjectNamePart, Query, Select, SelectItem, TableFactor, UnaryOperator, Value,
};

use crate::walk::{Node, walk};

/// Functions whose arguments are numbers.
const NUMERIC: [&str; 37] = [
    "sum",
    "avg",
    "mean",
    "var",
    "var_pop",
    "var_samp",
    "var_population",
    "var_sample",
    "variance",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "median",
    "quantile",
    "stable_median",
    "histogram",
    "abs",
    "ceil",
    "floor",
    "round",
    "trunc",
    "sqrt",
    "cbrt",
    "exp",
    "ln",
    "log",
    "log2",
    "log10",
    "power",
    "pow",
    "sin",
    "cos",
    "tan",
    "signum",
    "radians",
    "degrees",
    "isnan",
];
/// Functions that return one of their arguments.
const CHOOSING: [&str; 8] = ["coalesce", "nullif", "nvl", "nvl2", "ifnull", "greatest", "least", "nanvl"];

/// The column names in a query, without their tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// All columns mentioned.
    pub mentioned: BTreeSet<String>,
    /// The columns used as numbers.
    pub numbers: BTreeSet<String>,
    /// Whether `*` stands for all columns.
    pub all: bool,
}

impl Usage {
    /// Analyses a query.
    pub fn of(query: &Query) -> Self {
        let (mut usage, mut rules) = (Self::default(), Rules::default());
        walk(query, &mut |node| match node {
            Node::Expression(expression) => {
                usage.look(expression);
                for alike in of_one_type(expression) {
                    if alike.iter().any(|one| is_number(one)) {
                        usage.numbers_in(alike);
                    } else {
                        rules.add(alike.iter().filter_map(|one| column(one)), values(alike.iter().copied()));
                    }
                }
            }
            Node::Select(select) => {
                usage.listed(select);
                for item in &select.projection {
                    if let SelectItem::ExprWithAlias { expr, alias } = item {
                        rules.add([alias.value.clone()], values([expr]));
                    }
                }
            }
            _ => {}
        });
        rules.follow(&mut usage.numbers);
        usage
    }

    /// Records what is mentioned outside expressions: `*`, and USING.
    fn listed(&mut self, select: &Select) {
        let star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        // A list of column aliases covers all columns of the table.
        let renamed = |table: &TableFactor| match table {
            TableFactor::Table { alias: Some(alias), .. } => !alias.columns.is_empty(),
            _ => false,
        };
        let tables = select
            .from
            .iter()
            .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
        self.all |= select.projection.iter().any(star) || tables.into_iter().any(renamed);
        let joins = select.from.iter().flat_map(|table| &table.joins);
        let used = joins.flat_map(|join| match &join.join_operator {
            JoinOperator::Join(JoinConstraint::Using(names))
            | JoinOperator::Inner(JoinConstraint::Using(names))
            | JoinOperator::Left(JoinConstraint::Using(names))
            | JoinOperator::LeftOuter(JoinConstraint::Using(names))
            | JoinOperator::Right(JoinConstraint::Using(names))
            | JoinOperator::RightOuter(JoinConstraint::Using(names)) => names.as_slice(),
            _ => &[],
        });
        let idents = used.filter_map(|name| name.0.last().and_then(ObjectNamePart::as_ident));
        self.mentioned.extend(idents.map(|ident| ident.value.clone()));
    }

    fn look(&mut self, expression: &Expr) {
        if let Some(name) = column(expression) {
            self.mentioned.insert(name);
        }
        match expression {
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => self.numbers_in([&**left, &**right]),
            Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => self.numbers_in([&**expr]),
            Expr::Function(function) if NUMERIC.contains(&name(function).as_str()) => {
                self.numbers_in(arguments(function));
            }
            // Percentiles, whose column comes after ORDER BY.
            Expr::Function(function) if !function.within_group.is_empty() => {
                self.numbers_in(function.within_group.iter().map(|order| &order.expr));
            }
            // The parser has separate nodes for these two.
            Expr::Floor { expr, .. } | Expr::Ceil { expr, .. } => self.numbers_in([&**expr]),
            _ => {}
        }
    }

    /// Records that the columns these values come from are numbers.
    fn numbers_in<'ast>(&mut self, expressions: impl IntoIterator<Item = &'ast Expr>) {
        self.numbers.extend(values(expressions));
    }
}

/// The columns that the value of one of these expressions comes from.
fn values<'ast>(expressions: impl IntoIterator<Item = &'ast Expr>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Expr> = expressions.into_iter().collect();
    while let Some(expression) = open.pop() {
        match expression {
            Expr::Nested(inner) => open.push(inner),
            Expr::Case { conditions, else_result, .. } => {
                open.extend(conditions.iter().map(|when| &when.result).chain(else_result.as_deref()));
            }
            Expr::Function(function) if CHOOSING.contains(&name(function).as_str()) => {
                open.extend(arguments(function));
            }
            other => found.extend(column(other)),
        }
    }
    found
}

/// Implications between numbers: an output of a sub-query that is used as a number is one, and so are the columns it is
/// computed from, and the ones it is compared with.
#[derive(Default)]
struct Rules {
    /// For each name, the rules that it triggers.
    set_off: BTreeMap<String, Vec<usize>>,
    /// For each rule, the names it makes numbers; empty once the rule has been applied.
    then: Vec<BTreeSet<String>>,
}

impl Rules {
    fn add(&mut self, any: impl IntoIterator<Item = String>, then: BTreeSet<String>) {
        for name in any {
            self.set_off.entry(name).or_default().push(self.then.len());
        }
        self.then.push(then);
    }

    /// Adds all consequences. Every rule is applied once, and every name visited once.
    fn follow(mut self, numbers: &mut BTreeSet<String>) {
        let mut open: Vec<String> = numbers.iter().cloned().collect();
        while let Some(name) = open.pop() {
            for rule in self.set_off.remove(&name).unwrap_or_default() {
                for name in std::mem::take(&mut self.then[rule]) {
                    if numbers.insert(name.clone()) {
                        open.push(name);
                    }
                }
            }
        }
    }
}

/// Subexpressions that have the same type: compared with each other, or chosen from.
fn of_one_type(expression: &Expr) -> Vec<Vec<&Expr>> {
    match expression {
        Expr::BinaryOp { left, op, right } if is_comparison(op) => vec![vec![left, right]],
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => vec![vec![left, right]],
        Expr::Between { expr, low, high, .. } => vec![vec![expr, low, high]],
        Expr::InList { expr, list, .. } => vec![std::iter::once(&**expr).chain(list).collect()],
        Expr::Case { operand, conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            let compared = operand
                .iter()
                .flat_map(|operand| std::iter::once(&**operand).chain(conditions.iter().map(|when| &when.condition)));
            vec![results.collect(), compared.collect()]
        }
        Expr::Function(function) if CHOOSING.contains(&name(function).as_str()) => vec![arguments(function)],
        _ => Vec::new(),
    }
}

fn column(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|name| name.value.clone()),
        _ => None,
    }
}

fn name(function: &Function) -> String {
    function.name.to_string().to_lowercase()
}

fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    list.args
        .iter()
        .filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expression))
            | FunctionArg::Named { arg: FunctionArgExpr::Expr(expression), .. } => Some(expression),
            _ => None,
        })
        .collect()
}

/// A number, or arithmetic, whose value is a number.
fn is_number(expression: &Expr) -> bool {
    match expression {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::Nested(inner) => is_number(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_number(expr),
        Expr::BinaryOp { op, .. } => is_arithmetic(op),
        Expr::Function(function) => NUMERIC.contains(&name(function).as_str()),
        Expr::Floor { .. } | Expr::Ceil { .. } => true,
        _ => false,
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

#[cfg(test)]
mod tests {
    use crate::algebra::Limits;
    use crate::resolve::text::parse;

    use super::*;

    fn numbers(sql: &str) -> Vec<String> {
        Usage::of(&parse(sql, &Limits::default()).unwrap()).numbers.into_iter().collect()
    }

    #[test]
    fn columns_are_numbers_where_they_are_used_as_numbers() {
        assert_eq!(numbers("SELECT city, COUNT(*) FROM t WHERE name = 'x' GROUP BY city"), [""; 0]);
        assert_eq!(numbers("SELECT SUM(t.a), AVG(CASE WHEN b = 'x' THEN c ELSE (d) END) FROM t"), ["a", "c", "d"]);
        assert_eq!(
            numbers("SELECT COUNT(*) FROM t WHERE 30 <= a AND b BETWEEN 1 AND 2 AND c IN (-1) AND d = e"),
            ["a", "b", "c"]
        );
        assert_eq!(
            numbers("SELECT COUNT(*) FROM (SELECT coalesce(x, y) * 2 AS z FROM t) WHERE -w < z"),
            ["w", "x", "y"]
        );
        assert_eq!(numbers("SELECT CASE a WHEN 1 THEN 'one' ELSE b END, COUNT(*) FROM t GROUP BY 1"), ["a"]);
        assert_eq!(numbers("SELECT COUNT(*) FROM t GROUP BY floor(age), ceil(size)"), ["age", "size"]);
        assert_eq!(numbers("SELECT SUM(z) FROM (SELECT y AS z FROM (SELECT x AS y FROM t))"), ["x", "y", "z"]);
    }

    /// Each comparison makes one more column a number, starting with the last in the text: rescanning all of them each
    /// time would take an hour.
    #[test]
    fn a_long_chain_of_comparisons_is_followed_once() {
        const LINKS: usize = 30_000;
        let links: Vec<String> = (0..LINKS).map(|link| format!("c{link}=c{}", link + 1)).collect();
        let sql = format!("SELECT COUNT(*) FROM t WHERE x IN ({},c{LINKS}=1)", links.join(","));
        let limits = Limits { bytes: sql.len(), tokens: usize::MAX, steps: usize::MAX, ..Limits::default() };
        let found =
            crate::resolve::text::on_a_large_stack(&limits, || Ok(Usage::of(&parse(&sql, &limits)?).numbers)).unwrap();
        assert_eq!(found.len(), LINKS + 1);
    }

    #[test]
    fn every_column_is_mentioned() {
        let sql =
            "SELECT a, SUM(t.b) AS s FROM t JOIN u ON t.id = u.key WHERE c LIKE 'x%' GROUP BY a HAVING COUNT(d) > 3";
        let all: Vec<String> = Usage::of(&parse(sql, &Limits::default()).unwrap()).mentioned.into_iter().collect();
        assert_eq!(all, ["a", "b", "c", "d", "id", "key"]);
    }
}
