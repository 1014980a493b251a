//! Operators: comparisons, arithmetic, patterns.

use sqlparser::ast::{self, BinaryOperator};

use super::coerce::{as_condition, as_number, as_text, same};
use super::expression::Names;
use super::functions::{call, cast, not};
use super::{Resolver, literal};
use crate::algebra::calendar::Span;
use crate::algebra::function::{Arithmetic, Comparison, Logic, Pattern, Text, Time};
use crate::algebra::{Expr, Function, Type, Value};
use crate::error::{Error, Result};

impl Resolver<'_> {
    pub(super) fn compared(
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

    pub(super) fn operator(
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

    pub(super) fn like(
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

/// Whether a text matches a regular expression.
pub(super) fn matching(of: Expr, pattern: &Expr, ignore_case: bool, negated: bool, words: &str) -> Result<Expr> {
    let Some(Value::Text(pattern)) = pattern.as_constant() else {
        return Err(Error::unsupported(words, "the pattern must be a constant of at most 1000 bytes"));
    };
    let pattern = Pattern::regular(pattern, ignore_case).map_err(|why| Error::unsupported(words, why))?;
    let found = call(Function::Match(pattern), vec![of], words)?;
    if negated { not(found, words) } else { Ok(found) }
}
