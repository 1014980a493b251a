//! Expressions.

use arrow_array::Array;
use sqlparser::ast::{self, BinaryOperator, UnaryOperator};

use super::coerce::{as_condition, as_integer, as_number, as_text, incomparable, same};
use super::functions::{Call, call, cast, not, time};
use super::scope::{Body, Named, Written, column};
use super::{Resolver, aggregates, literal, words};
use crate::algebra::calendar::{Part, Span};
use crate::algebra::column::Column;
use crate::algebra::function::{Arithmetic, Comparison, Logic, Membership, Pattern, Text, Time};
use crate::algebra::{Data, Expr, Function, Type, Value};
use crate::error::{Error, Result};

/// How many values of a table are added to a set at a time.
const ROWS: usize = 8192;

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

    fn compared(
        &mut self,
        comparison: Comparison,
        a: &ast::Expr,
        b: &ast::Expr,
        names: Names<'_>,
        words: &str,
    ) -> Result<Expr> {
        let both = vec![self.expression(a, names)?, self.expression(b, names)?];
        call(Function::Compare(comparison), same(both, words)?, words)
    }

    fn operator(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        names: Names<'_>,
        words: &str,
    ) -> Result<Expr> {
        use BinaryOperator as B;
        let comparison = match op {
            B::Eq => Some(Comparison::Equal),
            B::NotEq => Some(Comparison::NotEqual),
            B::Lt => Some(Comparison::Less),
            B::LtEq => Some(Comparison::LessOrEqual),
            B::Gt => Some(Comparison::Greater),
            B::GtEq => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        if let Some(comparison) = comparison {
            return self.compared(comparison, left, right, names, words);
        }
        let arithmetic = match op {
            B::Plus => Some(Arithmetic::Add),
            B::Minus => Some(Arithmetic::Subtract),
            B::Multiply => Some(Arithmetic::Multiply),
            B::Divide => Some(Arithmetic::Divide),
            B::Modulo => Some(Arithmetic::Remainder),
            _ => None,
        };
        if let Some(arithmetic) = arithmetic {
            return self.arithmetic(arithmetic, left, right, names, words);
        }
        let (a, b) = (self.expression(left, names)?, self.expression(right, names)?);
        match op {
            B::And | B::Or => {
                let logic = if *op == B::And { Logic::And } else { Logic::Or };
                call(Function::Logic(logic), vec![as_condition(a, words)?, as_condition(b, words)?], words)
            }
            B::StringConcat => call(Function::Text(Text::Concat), vec![as_text(a, words)?, as_text(b, words)?], words),
            B::PGRegexMatch | B::PGRegexNotMatch => {
                self.count_pattern()?;
                matching(as_text(a, words)?, &b, false, *op != B::PGRegexMatch, words)
            }
            B::PGRegexIMatch | B::PGRegexNotIMatch => {
                self.count_pattern()?;
                matching(as_text(a, words)?, &b, true, *op != B::PGRegexIMatch, words)
            }
            other => Err(Error::Name(format!("unknown operator {other}"))),
        }
    }

    fn arithmetic(
        &mut self,
        operation: Arithmetic,
        left: &ast::Expr,
        right: &ast::Expr,
        names: Names<'_>,
        words: &str,
    ) -> Result<Expr> {
        let spans = |written: &ast::Expr| match written {
            ast::Expr::Interval(interval) => literal::interval(interval).map(Some),
            _ => Ok(None),
        };
        match (operation, spans(left)?, spans(right)?) {
            (_, None, None) => {}
            (Arithmetic::Add, Some(span), None) => return added(self.expression(right, names)?, span, words),
            (Arithmetic::Add, None, Some(span)) => return added(self.expression(left, names)?, span, words),
            (Arithmetic::Subtract, None, Some(span)) => {
                let span = span.negated().ok_or_else(|| Error::Name(format!("{words}: the interval is too long")))?;
                return added(self.expression(left, names)?, span, words);
            }
            _ => return Err(Error::Name(format!("{words}: an interval can only be added to or taken from a date"))),
        }
        let (a, b) = (self.expression(left, names)?, self.expression(right, names)?);
        match (operation, a.kind(), b.kind()) {
            (Arithmetic::Subtract, Type::Date, Type::Date) => {
                call(Function::Time(Time::DaysBetween), vec![a, b], words)
            }
            (Arithmetic::Add, Type::Date, Type::Integer) => call(Function::Time(Time::AddDays), vec![a, b], words),
            (Arithmetic::Add, Type::Integer, Type::Date) => call(Function::Time(Time::AddDays), vec![b, a], words),
            (Arithmetic::Subtract, Type::Date, Type::Integer) => {
                let b = call(Function::Arithmetic(Arithmetic::Negate), vec![b], words)?;
                call(Function::Time(Time::AddDays), vec![a, b], words)
            }
            _ => {
                let both = same(vec![a, b], words)?;
                let both = match both[0].kind() {
                    Type::Integer | Type::Number => both,
                    _ => both.into_iter().map(|one| as_number(one, words)).collect::<Result<_>>()?,
                };
                call(Function::Arithmetic(operation), both, words)
            }
        }
    }

    fn like(
        &mut self,
        of: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::ValueWithSpan>,
        (ignore_case, negated): (bool, bool),
        names: Names<'_>,
        words: &str,
    ) -> Result<Expr> {
        let of = as_text(self.expression(of, names)?, words)?;
        let escape = match escape.map(|escape| &escape.value) {
            None => Some('\\'),
            Some(ast::Value::SingleQuotedString(text)) if text.chars().count() <= 1 => text.chars().next(),
            Some(_) => return Err(Error::Name(format!("{words}: the escape must be a single character"))),
        };
        let Some(Value::Text(pattern)) = self.expression(pattern, names)?.as_constant().cloned() else {
            return Err(Error::unsupported(words, "the pattern must be a constant of at most 1000 bytes"));
        };
        self.count_pattern()?;
        let pattern = Pattern::like(&pattern, escape, ignore_case).map_err(|why| Error::unsupported(words, why))?;
        let found = call(Function::Match(pattern), vec![of], words)?;
        if negated { not(found, words) } else { Ok(found) }
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

    fn one_of(&mut self, of: Expr, list: Vec<Expr>, negated: bool, words: &str) -> Result<Expr> {
        if list.is_empty() {
            return Ok(Expr::constant(Value::Boolean(negated)));
        }
        let mut all = same(std::iter::once(of).chain(list).collect(), words)?;
        let of = all.remove(0);
        let constants: Option<Vec<Value>> = all.iter().map(|one| one.as_constant().cloned()).collect();
        if let Some(constants) = constants {
            let set = Membership::new(of.kind(), &constants);
            return self.in_set(of, set, negated, words);
        }
        let equal = |one: Expr| call(Function::Compare(Comparison::Equal), vec![of.clone(), one], words);
        let equal = all.into_iter().map(equal).collect::<Result<_>>()?;
        let found = together(Logic::Or, equal, words)?.unwrap_or(Expr::constant(Value::Boolean(false)));
        if negated { not(found, words) } else { Ok(found) }
    }

    /// The same for the only column of a table, which may have millions of rows.
    fn one_of_column(&mut self, of: Expr, list: &Data, negated: bool, words: &str) -> Result<Expr> {
        if list.rows() == 0 {
            return Ok(Expr::constant(Value::Boolean(negated)));
        }
        let (kind, column) = (list.kinds()[0], &list.columns()[0]);
        // All values have one type, so that one of them decides which type they are compared in.
        let first = (0..list.rows()).find(|&row| column.is_valid(row)).map_or(Value::Null, |row| list.cell(row, 0));
        let of = same(vec![of, typed(first, kind)], words)?.swap_remove(0);
        let mut set = Membership::empty(of.kind());
        for from in (0..list.rows()).step_by(ROWS) {
            let some = column.slice(from, ROWS.min(list.rows() - from));
            let cast = match of.kind() == kind {
                true => some.clone(),
                false => {
                    let rows = some.len();
                    let cast = Function::Cast(of.kind());
                    cast.apply(&[kind], of.kind(), &[Column::Array(some.clone())], rows).into_array(of.kind(), rows)
                }
            };
            // Out of time, the values are any; otherwise each can be compared.
            self.limits.check_size(0, set.bytes())?;
            if let Some(row) = (0..some.len()).find(|&row| some.is_valid(row) && cast.is_null(row)) {
                return Err(incomparable(&list.cell(from + row, 0), kind, of.kind()));
            }
            set.extend(&cast);
        }
        self.in_set(of, set, negated, words)
    }

    /// Sets are kept until the query is answered, equal ones once.
    fn in_set(&mut self, of: Expr, set: Membership, negated: bool, words: &str) -> Result<Expr> {
        let set = match self.sets.iter().find(|known| **known == set) {
            Some(known) => known.clone(),
            None => {
                self.hold(set.bytes())?;
                self.sets.push(set.clone());
                set
            }
        };
        let found = call(Function::In(set), vec![of], words)?;
        if negated { not(found, words) } else { Ok(found) }
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

fn typed(value: Value, kind: Type) -> Expr {
    if value.is_null() { Expr::null(kind) } else { Expr::constant(value) }
}

fn added(of: Expr, span: Span, words: &str) -> Result<Expr> {
    // Adding hours to a date gives a timestamp.
    let of = match of.kind() {
        Type::Date if span.micros != 0 => cast(of, Type::Timestamp, words)?,
        Type::Text => cast(of, Type::Timestamp, words)?,
        _ => of,
    };
    call(Function::Time(Time::Add(span)), vec![of], words)
}

fn matching(of: Expr, pattern: &Expr, ignore_case: bool, negated: bool, words: &str) -> Result<Expr> {
    let Some(Value::Text(pattern)) = pattern.as_constant() else {
        return Err(Error::unsupported(words, "the pattern must be a constant of at most 1000 bytes"));
    };
    let pattern = Pattern::regular(pattern, ignore_case).map_err(|why| Error::unsupported(words, why))?;
    let found = call(Function::Match(pattern), vec![of], words)?;
    if negated { not(found, words) } else { Ok(found) }
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
fn together(logic: Logic, mut conditions: Vec<Expr>, words: &str) -> Result<Option<Expr>> {
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
