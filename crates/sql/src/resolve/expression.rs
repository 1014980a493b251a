//! Expressions.

use sqlparser::ast::{self, BinaryOperator, UnaryOperator};

use super::coerce::{as_condition, as_integer, as_text, same};
use super::functions::{Call, call, cast, not, time};
use super::operator::matching;
use super::scope::{Body, Named, Written, column};
use super::{Resolver, aggregates, literal, words};
use crate::algebra::calendar::Part;
use crate::algebra::function::{Arithmetic, Comparison, Logic, Time};
use crate::algebra::{Data, Expr, Function, Type, Value};
use crate::error::{Error, Result};

/// What names in an expression refer to.
#[derive(Clone, Copy)]
pub(super) enum Names<'a> {
    /// The columns of a relation.
    Rows(&'a [Named]),
    /// The groups that rows were grouped into.
    Groups(&'a Grouped<'a>),
}

/// The columns of grouped rows: keys, then aggregates.
pub(super) struct Grouped<'a> {
    /// The columns before grouping.
    pub below: &'a [Named],
    /// The group keys, over these columns.
    pub keys: Vec<Expr>,
    /// Aggregates as written, with the type of their values.
    pub aggregates: Vec<(ast::Expr, Type)>,
    /// Aliases from SELECT.
    pub aliases: Vec<(String, ast::Expr)>,
}

impl Resolver<'_> {
    /// Resolves an expression over the columns that names refer to.
    pub(super) fn expression(&mut self, written: &ast::Expr, names: Names<'_>) -> Result<Expr> {
        self.count_node()?;
        if let Names::Groups(grouped) = names
            && let Some(found) = self.of_group(written, grouped)?
        {
            return Ok(found);
        }
        use ast::Expr as E;
        let words = words(written);
        let one = |this: &mut Self, of: &ast::Expr| this.expression(of, names);
        match written {
            E::Identifier(name) => self.named(None, name, names),
            E::CompoundIdentifier(parts) => match &parts[..] {
                [.., table, name] => self.named(Some(table), name, names),
                _ => Err(Error::Syntax(format!("{written} is not a name"))),
            },
            E::Nested(inner) => one(self, inner),
            E::Value(value) => {
                let constant = literal::value(&value.value)?;
                if let Value::Text(text) = &constant {
                    // A long text is as much work as many short ones, and BETWEEN resolves its operand twice.
                    self.nodes += text.len() / 100;
                }
                Ok(Expr::constant(constant))
            }
            E::TypedString(typed) => {
                let text = match &typed.value.value {
                    ast::Value::SingleQuotedString(text) => Value::Text(text.as_str().into()),
                    other => return Err(Error::Syntax(format!("{other} is not a string"))),
                };
                let constant = cast(Expr::constant(text), literal::data_type(&typed.data_type)?, &words)?;
                match constant.as_constant() {
                    Some(Value::Null) => {
                        Err(Error::Syntax(format!("invalid literal {written}; write it as in DATE '2026-03-02'")))
                    }
                    _ => Ok(constant),
                }
            }
            E::IsNull(of) => self.logic(Logic::IsNull, of, false, names),
            E::IsNotNull(of) => self.logic(Logic::IsNull, of, true, names),
            E::IsTrue(of) => self.logic(Logic::IsTrue, of, false, names),
            E::IsNotTrue(of) => self.logic(Logic::IsTrue, of, true, names),
            E::IsFalse(of) => self.logic(Logic::IsFalse, of, false, names),
            E::IsNotFalse(of) => self.logic(Logic::IsFalse, of, true, names),
            E::IsUnknown(of) => self.logic(Logic::IsNull, of, false, names),
            E::IsNotUnknown(of) => self.logic(Logic::IsNull, of, true, names),
            E::IsDistinctFrom(a, b) => self.compared(Comparison::Distinct, a, b, names, &words),
            E::IsNotDistinctFrom(a, b) => self.compared(Comparison::NotDistinct, a, b, names, &words),
            E::Between { expr, negated, low, high } => {
                let above = self.compared(Comparison::GreaterOrEqual, expr, low, names, &words)?;
                let below = self.compared(Comparison::LessOrEqual, expr, high, names, &words)?;
                let within = call(Function::Logic(Logic::And), vec![above, below], &words)?;
                if *negated { not(within, &words) } else { Ok(within) }
            }
            E::InList { expr, list, negated } => {
                let of = one(self, expr)?;
                let list = list.iter().map(|item| one(self, item)).collect::<Result<Vec<_>>>()?;
                self.one_of(of, list, *negated, &words)
            }
            E::InSubquery { expr, subquery, negated } => {
                let of = one(self, expr)?;
                let list = self.constants_of(subquery, &words)?;
                if list.kinds().len() != 1 {
                    return Err(Error::Name(format!("{words}: the sub-query must have one column")));
                }
                self.one_of_column(of, &list, *negated, &words)
            }
            E::Subquery(query) => {
                let found = self.constants_of(query, &words)?;
                match (found.kinds(), found.rows()) {
                    ([kind], 0) => Ok(Expr::null(*kind)),
                    ([kind], 1) => Ok(typed(found.cell(0, 0), *kind)),
                    _ => Err(Error::Name(format!("{words}: the sub-query must return one value"))),
                }
            }
            E::Exists { subquery, negated } => {
                let found = self.constants_of(subquery, &words)?;
                Ok(Expr::constant(Value::Boolean((found.rows() > 0) != *negated)))
            }
            E::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_ref(), (false, *negated), names, &words)
            }
            E::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_ref(), (true, *negated), names, &words)
            }
            E::RLike { negated, expr, pattern, .. } => {
                let of = as_text(one(self, expr)?, &words)?;
                let pattern = self.expression(pattern, names)?;
                self.count_pattern()?;
                matching(of, &pattern, false, *negated, &words)
            }
            E::BinaryOp { left, op, right } => self.operator(left, op, right, names, &words),
            E::UnaryOp { op, expr } => {
                let of = one(self, expr)?;
                match op {
                    UnaryOperator::Plus => Ok(of),
                    UnaryOperator::Minus => call(Function::Arithmetic(Arithmetic::Negate), vec![of], &words),
                    UnaryOperator::Not => not(as_condition(of, &words)?, &words),
                    other => Err(Error::Name(format!("unknown operator {other}"))),
                }
            }
            E::Cast { expr, data_type, array: false, format: None, kind: _ } => {
                let of = one(self, expr)?;
                cast(of, literal::data_type(data_type)?, &words)
            }
            E::Extract { field, expr, .. } => {
                let part = Part::named(&field.to_string());
                let part = part.ok_or_else(|| Error::Name(format!("{words}: unknown part {field}")))?;
                time(Time::Extract(part), one(self, expr)?, &words)
            }
            E::Ceil { expr, field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) } => {
                let arguments = vec![one(self, expr)?];
                Call { name: "ceil", arguments, words: &words }.resolve()
            }
            E::Floor { expr, field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) } => {
                let arguments = vec![one(self, expr)?];
                Call { name: "floor", arguments, words: &words }.resolve()
            }
            E::Position { expr, r#in } => {
                let arguments = vec![one(self, r#in)?, one(self, expr)?];
                Call { name: "strpos", arguments, words: &words }.resolve()
            }
            E::Substring { expr, substring_from, substring_for, .. } => {
                let first = Expr::constant(Value::Integer(1));
                let from = substring_from.as_ref().map_or(Ok(first), |from| one(self, from))?;
                let mut arguments = vec![one(self, expr)?, from];
                if let Some(length) = substring_for {
                    arguments.push(one(self, length)?);
                }
                Call { name: "substr", arguments, words: &words }.resolve()
            }
            E::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let name = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => "trim",
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                };
                let mut arguments = vec![one(self, expr)?];
                if let Some(what) = trim_what {
                    arguments.push(one(self, what)?);
                }
                Call { name, arguments, words: &words }.resolve()
            }
            E::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), names, &words)
            }
            E::Function(function) => self.function(function, names, &words),
            E::Interval(_) => Err(Error::Name(format!("{words} can only be added to or subtracted from a date"))),
            E::GroupingSets(_) | E::Cube(_) | E::Rollup(_) => {
                Err(Error::unsupported(words, "group by plain columns or expressions"))
            }
            E::SimilarTo { .. } => Err(Error::unsupported(words, "use LIKE, or ~ with a regular expression")),
            _ => Err(Error::unsupported(words, "use other functions or operators")),
        }
    }

    fn named(&mut self, table: Option<&ast::Ident>, name: &ast::Ident, names: Names<'_>) -> Result<Expr> {
        let written = |ident: &'_ ast::Ident| (ident.value.clone(), ident.quote_style.is_some());
        let (name_text, quoted) = written(name);
        let table_text = table.map(written);
        let qualifier = table_text.as_ref().map(|(name, quoted)| Written { name, quoted: *quoted });
        let name = Written { name: &name_text, quoted };
        match names {
            Names::Rows(columns) => match column(columns, self.all_columns(), qualifier, name) {
                Ok(place) => Ok(Expr::column(place, columns[place].kind)),
                // `CURRENT_DATE` and so on are names like any other; a column of that name takes precedence.
                Err(error) => match qualifier.is_none().then(|| self.clock(&name_text)).flatten() {
                    Some(now) => now,
                    None => Err(self.unusable(&name_text).unwrap_or(error)),
                },
            },
            Names::Groups(grouped) => {
                column(grouped.below, self.all_columns(), qualifier, name)
                    .map_err(|error| self.unusable(&name_text).unwrap_or(error))?;
                Err(Error::Name(format!(
                    "{name_text} is neither in GROUP BY nor inside an aggregate such as COUNT or SUM"
                )))
            }
        }
    }

    /// Resolves a group key, an aggregate or an alias from SELECT.
    fn of_group(&mut self, written: &ast::Expr, grouped: &Grouped<'_>) -> Result<Option<Expr>> {
        if let Some(place) = grouped.aggregates.iter().position(|(known, _)| known == written) {
            return Ok(Some(Expr::column(grouped.keys.len() + place, grouped.aggregates[place].1)));
        }
        if aggregates::are_in(written) || matches!(written, ast::Expr::Value(_)) {
            return Ok(None);
        }
        if let Ok(below) = self.expression(written, Names::Rows(grouped.below)) {
            let key = grouped.keys.iter().position(|key| *key == below);
            return Ok(key
                .map(|place| Expr::column(place, below.kind()))
                .or(below.as_constant().map(|_| below.clone())));
        }
        let ast::Expr::Identifier(name) = written else { return Ok(None) };
        let alias = grouped.aliases.iter().find(|(alias, _)| *alias == name.value).map(|(_, written)| written);
        match alias {
            // An alias does not refer to itself.
            Some(of) if of != written => {
                let without = Grouped {
                    below: grouped.below,
                    keys: grouped.keys.clone(),
                    aggregates: grouped.aggregates.clone(),
                    aliases: Vec::new(),
                };
                self.expression(of, Names::Groups(&without)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn logic(&mut self, function: Logic, of: &ast::Expr, negated: bool, names: Names<'_>) -> Result<Expr> {
        let words = words(of);
        let of = self.expression(of, names)?;
        let of = if function == Logic::IsNull { of } else { as_condition(of, &words)? };
        let found = call(Function::Logic(function), vec![of], &words)?;
        if negated { not(found, &words) } else { Ok(found) }
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        names: Names<'_>,
        words: &str,
    ) -> Result<Expr> {
        let mut whens = Vec::new();
        for when in conditions {
            whens.push(match operand {
                None => as_condition(self.expression(&when.condition, names)?, words)?,
                Some(operand) => self.compared(Comparison::Equal, operand, &when.condition, names, words)?,
            });
        }
        let null = Expr::constant(Value::Null);
        let mut results = vec![otherwise.map_or(Ok(null), |otherwise| self.expression(otherwise, names))?];
        for when in conditions {
            results.push(self.expression(&when.result, names)?);
        }
        let mut results = same(results, words)?.into_iter();
        let otherwise = results.next().expect("one at the least");
        Expr::case(whens.into_iter().zip(results).collect(), otherwise)
            .ok_or_else(|| Error::Name(format!("{words}: its branches have different types")))
    }

    fn function(&mut self, function: &ast::Function, names: Names<'_>, words: &str) -> Result<Expr> {
        let ast::Function { name, uses_odbc_syntax: _, parameters, args, filter, null_treatment, over, within_group } =
            function;
        let name = name.to_string().to_ascii_lowercase();
        if over.is_some() {
            let why = "one row's value would depend on other people's; order and limit the released groups instead";
            return Err(Error::not_private(words, why));
        }
        if aggregates::is_one(&name) {
            let why = "an aggregate is allowed in SELECT, HAVING and ORDER BY, but not inside another";
            return Err(Error::Name(format!("{words}: {why}")));
        }
        let plain = matches!(parameters, ast::FunctionArguments::None);
        if !plain || filter.is_some() || null_treatment.is_some() || !within_group.is_empty() {
            return Err(Error::Name(format!("{words}: write {name}(…)")));
        }
        let arguments = match args {
            ast::FunctionArguments::None => Vec::new(),
            ast::FunctionArguments::Subquery(_) => {
                return Err(Error::Name(format!("{words}: a sub-query cannot be an argument")));
            }
            ast::FunctionArguments::List(list) => {
                if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
                    return Err(Error::Name(format!("{words}: write {name}(…)")));
                }
                list.args.iter().map(|argument| unnamed(argument, words)).collect::<Result<Vec<_>>>()?
            }
        };
        if arguments.is_empty()
            && let Some(now) = self.clock(&name)
        {
            return now;
        }
        let arguments = arguments.into_iter().map(|of| self.expression(of, names)).collect::<Result<_>>()?;
        if name.starts_with("regexp_") {
            self.count_pattern()?;
        }
        Call { name: &name, arguments, words }.resolve()
    }

    /// The rows of a sub-query inside an expression: it may read public tables only, and must not refer to the outer
    /// query.
    fn constants_of(&mut self, query: &ast::Query, words: &str) -> Result<Data> {
        match self.query(query, true)?.body {
            Body::Public(plain) if self.given.is_some() && plain.reads_given() => Err(Error::unsupported(
                words,
                "a sub-query inside an expression can only read other tables; use a JOIN",
            )),
            Body::Public(plain) => self.compute(&plain),
            Body::Private(_) => {
                let why = "a sub-query inside an expression reads other people's rows; use a JOIN on the unit";
                Err(Error::not_private(words, why))
            }
            Body::Released(_) => Err(Error::unsupported(words, "make it a separate query with its own budget")),
        }
    }
}

/// The expression of a positional argument.
pub(super) fn unnamed<'a>(argument: &'a ast::FunctionArg, words: &str) -> Result<&'a ast::Expr> {
    match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expression)) => Ok(expression),
        _ => Err(Error::Name(format!("{words}: its arguments must be plain expressions"))),
    }
}

/// A constant that keeps its type if it is NULL.
pub(super) fn typed(value: Value, kind: Type) -> Expr {
    if value.is_null() { Expr::null(kind) } else { Expr::constant(value) }
}

/// The parts of `a AND b AND …`.
pub(super) fn conjuncts(condition: &ast::Expr) -> Vec<&ast::Expr> {
    match condition {
        ast::Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut all = conjuncts(left);
            all.extend(conjuncts(right));
            all
        }
        ast::Expr::Nested(inner) => conjuncts(inner),
        other => vec![other],
    }
}

/// The conjunction of these conditions; `None` if there are none.
pub(super) fn all_of(conditions: Vec<Expr>) -> Result<Option<Expr>> {
    together(Logic::And, conditions, "AND")
}

/// Combines conditions in pairs, the pairs in pairs and so on: thousands of them are a dozen levels deep.
pub(super) fn together(logic: Logic, mut conditions: Vec<Expr>, words: &str) -> Result<Option<Expr>> {
    while conditions.len() > 1 {
        let mut pairs = Vec::new();
        let mut rest = conditions.into_iter();
        while let Some(one) = rest.next() {
            pairs.push(match rest.next() {
                Some(other) => call(Function::Logic(logic), vec![one, other], words)?,
                None => one,
            });
        }
        conditions = pairs;
    }
    Ok(conditions.pop())
}

/// Evaluates a LIMIT or OFFSET: a non-negative integer constant.
pub(super) fn constant_number(this: &mut Resolver<'_>, written: &ast::Expr) -> Result<usize> {
    let wrong = || Error::Syntax(format!("{written} is not a number of rows"));
    let found = as_integer(this.expression(written, Names::Rows(&[]))?, &written.to_string())?;
    match found.as_constant() {
        Some(Value::Integer(number)) => usize::try_from(*number).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_conditions_are_a_dozen_levels_deep() {
        fn levels(expression: &Expr) -> usize {
            1 + expression.parts().into_iter().map(levels).max().unwrap_or(0)
        }
        let conditions = vec![Expr::column(0, Type::Boolean); 5000];
        // 2^12 < 5000 ≤ 2^13, plus a level for the conditions themselves.
        assert_eq!(levels(&all_of(conditions).unwrap().unwrap()), 14);
    }
}
