//! Literals.

use sqlparser::ast;

use crate::algebra::calendar::{Part, SECOND, Span};
use crate::algebra::{Type, Value};
use crate::error::{Error, Result};

/// A constant.
pub fn value(written: &ast::Value) -> Result<Value> {
    Ok(match written {
        ast::Value::Number(digits, _) => number(digits)?,
        ast::Value::SingleQuotedString(text)
        | ast::Value::EscapedStringLiteral(text)
        | ast::Value::NationalStringLiteral(text)
        | ast::Value::UnicodeStringLiteral(text) => Value::Text(text.as_str().into()),
        ast::Value::DollarQuotedString(text) => Value::Text(text.value.as_str().into()),
        ast::Value::Boolean(value) => Value::Boolean(*value),
        ast::Value::Null => Value::Null,
        other => return Err(Error::Syntax(format!("{other} is not a supported kind of constant"))),
    })
}

fn number(digits: &str) -> Result<Value> {
    if let Ok(whole) = digits.parse() {
        return Ok(Value::Integer(whole));
    }
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::Number(number)),
        _ => Err(Error::Syntax(format!("{digits} is out of range"))),
    }
}

/// The type of a CAST.
pub fn data_type(written: &ast::DataType) -> Result<Type> {
    use ast::DataType as D;
    Ok(match written {
        D::Boolean | D::Bool => Type::Boolean,
        D::TinyInt(_) | D::SmallInt(_) | D::MediumInt(_) | D::Int(_) | D::Integer(_) | D::BigInt(_) => Type::Integer,
        D::Int2(_) | D::Int4(_) | D::Int8(_) | D::Int16 | D::Int32 | D::Int64 => Type::Integer,
        D::Float(_) | D::Real | D::Float4 | D::Float8 | D::Float32 | D::Float64 => Type::Number,
        D::Double(_) | D::DoublePrecision | D::Numeric(_) | D::Decimal(_) | D::Dec(_) => Type::Number,
        D::Text | D::String(_) | D::Varchar(_) | D::Nvarchar(_) | D::Char(_) | D::Character(_) => Type::Text,
        D::CharacterVarying(_) | D::CharVarying(_) => Type::Text,
        D::Date => Type::Date,
        D::Timestamp(..) | D::Datetime(_) | D::TimestampNtz(..) => Type::Timestamp,
        other => {
            let known = "BOOLEAN, BIGINT, DOUBLE, VARCHAR, DATE and TIMESTAMP";
            return Err(Error::Name(format!("unknown type {other}; there are {known}")));
        }
    })
}

/// `INTERVAL '3 months'`, `INTERVAL '1' DAY`, `INTERVAL 2 HOURS`.
pub fn interval(written: &ast::Interval) -> Result<Span> {
    let wrong = || Error::Syntax(format!("invalid interval {written}; write INTERVAL '3 months' or INTERVAL '1' DAY"));
    if written.last_field.is_some() {
        return Err(wrong());
    }
    let text = match &*written.value {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.clone(),
            ast::Value::SingleQuotedString(text) => text.clone(),
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let unit = written.leading_field.as_ref().map(ToString::to_string);
    let pairs: Vec<(&str, &str)> = match (&unit, &words[..]) {
        (Some(unit), [number]) => vec![(number, unit)],
        (None, words) if !words.is_empty() && words.len() % 2 == 0 => {
            words.chunks(2).map(|pair| (pair[0], pair[1])).collect()
        }
        _ => return Err(wrong()),
    };
    let mut span = Span::default();
    for (number, unit) in pairs {
        let number: i64 = number.parse().map_err(|_| wrong())?;
        let part = Part::named(unit).ok_or_else(wrong)?;
        let (slot, times) = match part {
            Part::Year => (&mut span.months, 12),
            Part::Quarter => (&mut span.months, 3),
            Part::Month => (&mut span.months, 1),
            Part::Week => (&mut span.days, 7),
            Part::Day => (&mut span.days, 1),
            Part::Hour => (&mut span.micros, 3600 * SECOND),
            Part::Minute => (&mut span.micros, 60 * SECOND),
            Part::Second => (&mut span.micros, SECOND),
            Part::Millisecond => (&mut span.micros, 1000),
            Part::Microsecond => (&mut span.micros, 1),
            _ => return Err(wrong()),
        };
        *slot = number.checked_mul(times).and_then(|more| slot.checked_add(more)).ok_or_else(wrong)?;
    }
    Ok(span)
}
