//! Type coercion.

use super::functions::cast;
use crate::algebra::{Expr, Type, Value};
use crate::error::{Error, Result};

/// Coerces expressions to one type: integers become real numbers, dates become timestamps, NULL takes the others' type.
/// A constant text is parsed as the others' type if possible.
///
/// # Errors
/// If there is no common type.
pub fn same(expressions: Vec<Expr>, words: &str) -> Result<Vec<Expr>> {
    let is_null = |one: &Expr| one.as_constant().is_some_and(Value::is_null);
    let is_constant_text = |one: &Expr| one.kind() == Type::Text && one.as_constant().is_some();
    let kinds = |skip: &dyn Fn(&Expr) -> bool| -> Vec<Type> {
        let mut kinds: Vec<Type> =
            expressions.iter().filter(|one| !is_null(one) && !skip(one)).map(Expr::kind).collect();
        kinds.dedup();
        kinds
    };
    let mut found = kinds(&is_constant_text);
    if found.is_empty() {
        found = kinds(&|_| false);
    }
    let common = found.iter().copied().map(Some).reduce(|one, other| wider(one?, other?)).unwrap_or(Some(Type::Text));
    let common = common.ok_or_else(|| {
        let words = if words.is_empty() { "this" } else { words };
        let kinds: Vec<String> = found.iter().map(ToString::to_string).collect();
        Error::Name(format!("{words} mixes {}; convert with CAST(… AS …)", kinds.join(" and ")))
    })?;
    expressions.into_iter().map(|one| into(one, common, words)).collect()
}

fn wider(one: Type, other: Type) -> Option<Type> {
    use Type::{Date, Integer, Number, Timestamp};
    match (one, other) {
        (one, other) if one == other => Some(one),
        (Integer, Number) | (Number, Integer) => Some(Number),
        (Date, Timestamp) | (Timestamp, Date) => Some(Timestamp),
        _ => None,
    }
}

fn into(one: Expr, to: Type, words: &str) -> Result<Expr> {
    let Some(constant) = one.as_constant() else { return cast(one, to, words) };
    if constant.is_null() {
        return Ok(Expr::null(to));
    }
    // Formatted only when shown: it may be long, and this runs many times.
    let (written, before) = (constant.clone(), one.kind());
    let constant = cast(one, to, words)?;
    match constant.as_constant() {
        Some(Value::Null) => Err(incomparable(&written, before, to)),
        _ => Ok(constant),
    }
}

/// The error for a constant that is no value of the type that it is compared in.
pub fn incomparable(written: &Value, before: Type, to: Type) -> Error {
    Error::Name(format!("{written} is {before}, but is compared with {to}"))
}

/// Coerces to a real number.
pub fn as_number(one: Expr, words: &str) -> Result<Expr> {
    match one.kind() {
        Type::Number => Ok(one),
        Type::Integer => cast(one, Type::Number, words),
        _ if one.as_constant().is_some_and(Value::is_null) => Ok(Expr::null(Type::Number)),
        kind => Err(not(&format!("{kind}, not a number; write CAST(… AS DOUBLE) if it holds numbers"), words)),
    }
}

/// Coerces to an integer.
pub fn as_integer(one: Expr, words: &str) -> Result<Expr> {
    match one.kind() {
        Type::Integer | Type::Number => cast(one, Type::Integer, words),
        _ if one.as_constant().is_some_and(Value::is_null) => Ok(Expr::null(Type::Integer)),
        kind => Err(not(&format!("{kind}, not a whole number; write CAST(… AS BIGINT) if it holds numbers"), words)),
    }
}

/// Casts to a text; every type can be.
pub fn as_text(one: Expr, words: &str) -> Result<Expr> {
    cast(one, Type::Text, words)
}

/// Checks that it is a condition.
pub fn as_condition(one: Expr, words: &str) -> Result<Expr> {
    match one.kind() {
        Type::Boolean => Ok(one),
        _ if one.as_constant().is_some_and(Value::is_null) => Ok(Expr::null(Type::Boolean)),
        kind => Err(not(&format!("{kind}, not a condition"), words)),
    }
}

fn not(what: &str, words: &str) -> Error {
    Error::Name(format!("{words} has a part that is {what}"))
}
