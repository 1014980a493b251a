//! The range of an expression, from the ranges of its columns.

use reticent::exact::Rational;
use reticent::message;
use reticent::statistic::Bounds;

use super::Resolver;
use super::scope::Named;
use crate::algebra::function::{Arithmetic, Choice, Math, Time};
use crate::algebra::{Expr, Function, Node, Value};
use crate::error::{Error, Result};
use crate::options::Range;

impl Resolver<'_> {
    /// The range of an aggregated expression.
    ///
    /// A column's range is given, a constant is its own, and others follow from them. (Values outside are clamped at
    /// the very end, so a wrong range affects accuracy but never privacy.)
    ///
    /// # Errors
    /// If a column has no range, or the expression's range cannot be derived.
    pub(super) fn range(&self, of: &Expr, words: &str, columns: &[Named]) -> Result<Range> {
        if let Some(given) = self.options.bounds.get(words) {
            return Ok(given.clone());
        }
        if let Some(place) = bare(of).as_column() {
            let column = &columns[place];
            return column.range.clone().ok_or_else(|| Error::Bounds { column: column.name.clone() });
        }
        let (lower, upper) = interval(of, columns).map_err(|why| match why {
            Unknown::Column(name) => Error::Bounds { column: name },
            Unknown::Auto(name) => Error::option(message!("the bounds of {name} can only be found privately if {name} is aggregated by itself; give them with ", ["bounds"], " {name}=LO..HI")),
            Unknown::Function => Error::option(message!("the range of {words} cannot be derived from its columns: name it in a sub-query, as in FROM (SELECT {words} AS x …), \
                 and give that name bounds, as in ", ["bounds"], " x=LO..HI")),
        })?;
        let upper = if lower == upper { &upper + &Rational::ONE } else { upper };
        Ok(Range::Public(Bounds::new(lower, upper)?))
    }
}

/// The range of an expression; `None` if it cannot be derived.
pub(super) fn of(of: &Expr, columns: &[Named]) -> Option<Range> {
    let (lower, upper) = interval(of, columns).ok()?;
    let upper = if lower == upper { &upper + &Rational::ONE } else { upper };
    Bounds::new(lower, upper).ok().map(Range::Public)
}

/// Why a range is unknown.
enum Unknown {
    /// A column has none.
    Column(String),
    /// A column's range is to be found privately.
    Auto(String),
    /// No rule derives it.
    Function,
}

/// Strips casts between numeric types, which change no value much.
fn bare(of: &Expr) -> &Expr {
    match of.node() {
        Node::Call(Function::Cast(_), arguments) if arguments.len() == 1 => bare(&arguments[0]),
        _ => of,
    }
}

/// The smallest and the largest value.
fn interval(of: &Expr, columns: &[Named]) -> Result<(Rational, Rational), Unknown> {
    let (lower, upper) = exact_interval(of, columns)?;
    match of.node() {
        Node::Column(_) | Node::Constant(_) => Ok((lower, upper)),
        _ => Ok((negated(&short(&negated(&lower))?), short(&upper)?)),
    }
}

/// Rounds up to a number with few digits: nested ranges would otherwise have more digits than fit in memory.
fn short(number: &Rational) -> Result<Rational, Unknown> {
    const DIGITS: u32 = 40;
    let size = number.to_f64().abs();
    match number.is_zero() || (1e-100..1e100).contains(&size) {
        true if number.is_positive() => Ok(number.round_up(DIGITS)),
        true => Ok(negated(&negated(number).round_down(DIGITS))),
        false => Err(Unknown::Function),
    }
}

fn negated(number: &Rational) -> Rational {
    &Rational::ZERO - number
}

fn exact_interval(of: &Expr, columns: &[Named]) -> Result<(Rational, Rational), Unknown> {
    let number = |value: f64| Rational::from_f64_bits(value).ok_or(Unknown::Function);
    let of_parts = |parts: &[Expr]| parts.iter().map(|part| interval(part, columns)).collect::<Result<Vec<_>, _>>();
    match of.node() {
        Node::Column(place) => match &columns[*place].range {
            Some(Range::Public(bounds)) => Ok((bounds.lower().clone(), bounds.upper().clone())),
            Some(Range::Auto) => Err(Unknown::Auto(columns[*place].name.clone())),
            None => Err(Unknown::Column(columns[*place].name.clone())),
        },
        Node::Constant(Value::Integer(value)) => {
            let value: Rational = value.to_string().parse().map_err(|_| Unknown::Function)?;
            Ok((value.clone(), value))
        }
        Node::Constant(Value::Number(value)) => {
            // As written: 0.1 is exactly a tenth.
            let value = value.to_string().parse().or_else(|_| number(*value))?;
            Ok((Rational::clone(&value), value))
        }
        Node::Constant(_) => Err(Unknown::Function),
        Node::Call(Function::Cast(_), parts) => interval(parts.first().ok_or(Unknown::Function)?, columns),
        Node::Call(Function::Arithmetic(operation), parts) => {
            let ranges = of_parts(parts)?;
            match (operation, &ranges[..]) {
                (Arithmetic::Negate, [(a, b)]) => Ok((&Rational::ZERO - b, &Rational::ZERO - a)),
                (Arithmetic::Add, [(a, b), (c, d)]) => Ok((a + c, b + d)),
                (Arithmetic::Subtract, [(a, b), (c, d)]) => Ok((a - d, b - c)),
                (Arithmetic::Multiply, [(a, b), (c, d)]) => hull([a * c, a * d, b * c, b * d]),
                (Arithmetic::Divide, [(a, b), (c, d)]) if *c > Rational::ZERO || *d < Rational::ZERO => {
                    hull([a / c, a / d, b / c, b / d])
                }
                _ => Err(Unknown::Function),
            }
        }
        Node::Call(Function::Choose(choice), parts) => {
            let ranges = of_parts(parts)?;
            match choice {
                Choice::NullIf => ranges.into_iter().next().ok_or(Unknown::Function),
                Choice::Coalesce => all(ranges),
                Choice::Greatest | Choice::Least => all(ranges),
            }
        }
        Node::Call(Function::Math(Math::Abs), parts) => {
            let (lower, upper) = of_parts(parts)?.into_iter().next().ok_or(Unknown::Function)?;
            let most = (&Rational::ZERO - &lower).max(upper.clone());
            let least = lower.max(&Rational::ZERO - &upper).max(Rational::ZERO);
            Ok((least, most))
        }
        Node::Call(Function::Time(Time::Extract(part)), _) => {
            let whole = |value: i64| value.to_string().parse().map_err(|_| Unknown::Function);
            Ok((whole(*part.range().start())?, whole(*part.range().end())?))
        }
        Node::Call(..) => Err(Unknown::Function),
        Node::Case { branches, otherwise } => {
            let results = branches.iter().map(|(_, result)| result).chain([&**otherwise]);
            let known = results.filter(|one| !one.as_constant().is_some_and(Value::is_null));
            all(known.map(|one| interval(one, columns)).collect::<Result<Vec<_>, _>>()?)
        }
    }
}

fn hull(corners: [Rational; 4]) -> Result<(Rational, Rational), Unknown> {
    let (least, most) = (corners.iter().min().cloned(), corners.into_iter().max());
    least.zip(most).ok_or(Unknown::Function)
}

fn all(ranges: Vec<(Rational, Rational)>) -> Result<(Rational, Rational), Unknown> {
    let both = |(a, b): (Rational, Rational), (c, d): (Rational, Rational)| (a.min(c), b.max(d));
    ranges.into_iter().reduce(both).ok_or(Unknown::Function)
}
