//! Intervals of real numbers, and what expressions make of them.

use crate::algebra::function::{Arithmetic, Choice, Math};
use crate::algebra::{Expr, Function, Node, Type, Value};

/// All real numbers from `low` to `high`; either end may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    const EVERYTHING: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// A single number.
    pub fn point(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// The smallest interval that contains these numbers; every number if one of them is undefined.
    fn around(numbers: impl IntoIterator<Item = f64>) -> Self {
        let widen = |all: Self, number: f64| match number.is_nan() {
            true => Self::EVERYTHING,
            false => Self { low: all.low.min(number), high: all.high.max(number) },
        };
        numbers.into_iter().fold(Self { low: f64::INFINITY, high: f64::NEG_INFINITY }, widen)
    }

    fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn contains(self, number: f64) -> bool {
        self.low <= number && number <= self.high
    }

    /// What a function that never falls makes of it.
    fn rising(self, function: impl Fn(f64) -> f64) -> Self {
        Self::around([function(self.low), function(self.high)])
    }

    /// What an operation makes of two intervals if its extremes are at their ends.
    fn at_ends(self, other: Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        let operation = &operation;
        let of = |one: f64| [operation(one, other.low), operation(one, other.high)];
        Self::around([self.low, self.high].into_iter().flat_map(of))
    }

    /// All products of two numbers.
    pub fn times(self, other: Self) -> Self {
        self.at_ends(other, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b })
    }

    fn divided_by(self, other: Self) -> Self {
        if other.contains(0.0) { Self::EVERYTHING } else { self.at_ends(other, |a, b| a / b) }
    }

    fn to_the(self, power: f64) -> Option<Self> {
        let even = power % 2.0 == 0.0;
        match (self.low >= 0.0, power.fract() == 0.0) {
            (true, _) | (_, true) if power < 0.0 => Some(Self::point(1.0).divided_by(self.to_the(-power)?)),
            (true, _) => Some(self.rising(|x| libm::pow(x, power))),
            (false, true) if even => self.magnitude().to_the(power),
            (false, true) => Some(self.rising(|x| libm::pow(x, power))),
            // The root of a negative number is NULL.
            (false, false) => self.not_negative()?.to_the(power),
        }
    }

    fn magnitude(self) -> Self {
        let least = if self.contains(0.0) { 0.0 } else { self.low.abs().min(self.high.abs()) };
        Self { low: least, high: self.low.abs().max(self.high.abs()) }
    }

    /// Only the numbers that are not negative, if there are any.
    fn not_negative(self) -> Option<Self> {
        (self.high >= 0.0).then_some(Self { low: self.low.max(0.0), ..self })
    }
}

/// Whether [`interval`] can follow an expression.
pub fn followed(expression: &Expr) -> bool {
    let can = match expression.node() {
        Node::Column(_) | Node::Constant(_) => true,
        Node::Case { .. } => return results(expression).all(followed),
        Node::Call(function, arguments) => match function {
            Function::Arithmetic(function) => *function != Arithmetic::Remainder,
            Function::Choose(_) => true,
            Function::Cast(_) => arguments.iter().all(|one| matches!(one.kind(), Type::Integer | Type::Number)),
            Function::Math(function) => match function {
                Math::Sin | Math::Cos | Math::Tan | Math::Asin | Math::Acos | Math::Atan2 => false,
                Math::Power => arguments.get(1).is_some_and(|power| power.as_constant().is_some()),
                Math::Log => arguments.first().is_some_and(|base| base.as_constant().is_some()),
                _ => true,
            },
            _ => false,
        },
    };
    let numeric = matches!(expression.kind(), Type::Integer | Type::Number);
    can && numeric && expression.parts().into_iter().all(followed)
}

/// The results of a CASE.
fn results(expression: &Expr) -> Box<dyn Iterator<Item = &Expr> + '_> {
    match expression.node() {
        Node::Case { branches, otherwise } => Box::new(branches.iter().map(|(_, result)| result).chain([&**otherwise])),
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether an expression can be NULL although its columns are not: a function is undefined somewhere.
fn may_be_null(expression: &Expr) -> bool {
    let own = match expression.node() {
        Node::Column(_) => false,
        Node::Constant(value) => *value == Value::Null,
        Node::Case { .. } | Node::Call(Function::Cast(_), _) => false,
        Node::Call(Function::Arithmetic(function), _) => *function == Arithmetic::Divide,
        Node::Call(Function::Choose(choice), _) => *choice == Choice::NullIf,
        Node::Call(Function::Math(function), _) => {
            matches!(function, Math::Sqrt | Math::Ln | Math::Log2 | Math::Log10 | Math::Log | Math::Power)
        }
        Node::Call(..) => true,
    };
    own || expression.parts().into_iter().any(may_be_null)
}

/// Where the value of an expression lies if its columns lie in these intervals, up to the rounding of floats; `None` if
/// it is NULL for certain, or not [followed].
///
/// Every function's interval contains its value at every point of its arguments' intervals: for rising functions and
/// those of two arguments that rise or fall in each, it is enough to look at the ends.
pub fn interval(expression: &Expr, columns: &impl Fn(usize) -> Option<Interval>) -> Option<Interval> {
    let of = |part: &Expr| interval(part, columns);
    match expression.node() {
        Node::Column(place) => columns(*place),
        Node::Constant(Value::Integer(value)) => Some(Interval::point(*value as f64)),
        Node::Constant(Value::Number(value)) => Some(Interval::point(*value)),
        Node::Constant(_) => None,
        // Any of them may be the result with the exact values.
        Node::Case { .. } => results(expression).filter_map(of).reduce(Interval::hull),
        Node::Call(Function::Choose(choice), arguments) => {
            let mut present = arguments.iter().filter_map(of);
            let total = !arguments.iter().any(may_be_null);
            match choice {
                Choice::Coalesce => present.reduce(Interval::hull),
                Choice::NullIf => present.next(),
                Choice::Greatest if total => present.reduce(|one, other| one.at_ends(other, f64::max)),
                Choice::Least if total => present.reduce(|one, other| one.at_ends(other, f64::min)),
                // NULLs are ignored, so any of them may be the only one.
                Choice::Greatest | Choice::Least => present.reduce(Interval::hull),
            }
        }
        Node::Call(function, arguments) => {
            let arguments = arguments.iter().map(of).collect::<Option<Vec<_>>>()?;
            let whole = expression.kind() == Type::Integer;
            match (function, arguments.as_slice()) {
                (Function::Arithmetic(function), &[one]) => {
                    (*function == Arithmetic::Negate).then_some(Interval { low: -one.high, high: -one.low })
                }
                (Function::Arithmetic(function), &[one, other]) => match function {
                    Arithmetic::Add => Some(one.at_ends(other, |a, b| a + b)),
                    Arithmetic::Subtract => Some(one.at_ends(other, |a, b| a - b)),
                    // Nothing times however much is nothing.
                    Arithmetic::Multiply => Some(one.times(other)),
                    Arithmetic::Divide if whole => Some(one.divided_by(other).rising(libm::trunc)),
                    Arithmetic::Divide => Some(one.divided_by(other)),
                    Arithmetic::Remainder | Arithmetic::Negate => None,
                },
                (Function::Cast(_), &[one]) => Some(if whole { one.rising(libm::trunc) } else { one }),
                (Function::Math(function), &[one]) => match function {
                    Math::Abs => Some(one.magnitude()),
                    Math::Sqrt | Math::Ln | Math::Log2 | Math::Log10 => {
                        one.not_negative().map(|one| one.rising(|x| function.of(x)))
                    }
                    _ => Some(one.rising(|x| function.of(x))),
                },
                (Function::Math(Math::Power), &[one, power]) => one.to_the(power.low),
                (Function::Math(Math::Log), &[base, one]) => {
                    let by = Interval::point(libm::log(base.low));
                    one.not_negative().map(|one| one.rising(libm::log).divided_by(by))
                }
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::column::cell;
    use crate::algebra::function::tests::Dice;
    use arrow_array::{ArrayRef, Float64Array, Int64Array};
    use std::sync::Arc;

    const KINDS: [Type; 3] = [Type::Number, Type::Number, Type::Integer];

    /// A random expression over two real columns and an integer one.
    fn expression(dice: &mut Dice, kind: Type, depth: usize) -> Expr {
        let constant = |dice: &mut Dice| match kind {
            Type::Integer => Expr::constant(Value::Integer(dice.below(7) as i64 - 3)),
            _ => Expr::constant(Value::Number(dice.below(9) as f64 / 2.0 - 2.0)),
        };
        if depth == 0 || dice.below(5) == 0 {
            return match (dice.below(3), kind) {
                (0, _) => constant(dice),
                (_, Type::Integer) => Expr::column(2, kind),
                (place, _) => Expr::column(place - 1, kind),
            };
        }
        let mut part = |kind: Type| expression(dice, kind, depth - 1);
        let (one, other, whole) = (part(kind), part(kind), part(Type::Integer));
        let arithmetic = [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide];
        let unary = [Math::Abs, Math::Sign, Math::Ceil, Math::Floor, Math::Round(0), Math::Truncate(0)];
        let real = [Math::Sqrt, Math::Cbrt, Math::Exp, Math::Ln, Math::Log2, Math::Log10, Math::Atan, Math::Round(1)];
        let choices = [Choice::Coalesce, Choice::NullIf, Choice::Greatest, Choice::Least];
        let call = |function: Function, arguments: Vec<Expr>| Expr::call(function, arguments).unwrap();
        match (dice.below(9), kind) {
            (0, _) => call(Function::Arithmetic(Arithmetic::Negate), vec![one]),
            (1..=3, _) => call(Function::Arithmetic(arithmetic[dice.below(4)]), vec![one, other]),
            (4, _) => call(Function::Math(unary[dice.below(6)]), vec![one]),
            (5, _) => call(Function::Choose(choices[dice.below(4)]), vec![one, other]),
            (6, _) => {
                let compare = Function::Compare(crate::algebra::function::Comparison::Less);
                let condition = call(compare, vec![Expr::column(0, Type::Number), Expr::constant(Value::Number(0.5))]);
                Expr::case(vec![(condition, one)], other).unwrap()
            }
            (7, Type::Integer) => call(Function::Cast(Type::Integer), vec![expression(dice, Type::Number, depth - 1)]),
            (7, _) => call(Function::Cast(Type::Number), vec![whole]),
            (_, Type::Integer) => one,
            _ if dice.below(3) == 0 => {
                let power = Expr::constant(Value::Number([-1.0, 0.5, 2.0, 3.0, -2.0, 1.5][dice.below(6)]));
                call(Function::Math(Math::Power), vec![one, power])
            }
            _ => call(Function::Math(real[dice.below(8)]), vec![one]),
        }
    }

    /// Wherever the columns are within their intervals, the value is within its own.
    #[test]
    fn the_value_at_any_point_is_in_the_interval() {
        let mut dice = Dice(11);
        let (mut looked, mut bounded) = (0, 0);
        for _ in 0..3000 {
            let kind = if dice.below(3) == 0 { Type::Integer } else { Type::Number };
            let expression = expression(&mut dice, kind, 3);
            assert!(followed(&expression), "{expression:?}");
            let mut end = || dice.below(25) as f64 / 4.0 - 3.0;
            let columns = [0, 1, 2].map(|place| {
                let (one, other) = (end(), end());
                let whole = |x: f64| if KINDS[place] == Type::Integer { x.floor() } else { x };
                Interval { low: whole(one.min(other)), high: whole(one.max(other)) }
            });
            let found = interval(&expression, &|place| Some(columns[place]));
            for _ in 0..20 {
                let point = columns.map(|one| one.low + (one.high - one.low) * dice.below(9) as f64 / 8.0);
                let arrays: [ArrayRef; 3] = [
                    Arc::new(Float64Array::from(vec![point[0]])),
                    Arc::new(Float64Array::from(vec![point[1]])),
                    Arc::new(Int64Array::from(vec![point[2].floor() as i64])),
                ];
                let value = match cell(&expression.evaluate(&arrays, 1).into_array(kind, 1), 0) {
                    Value::Integer(value) => value as f64,
                    Value::Number(value) => value,
                    _ => continue,
                };
                let found = found.unwrap_or_else(|| panic!("{expression:?} at {point:?} is {value}"));
                let slack = 1e-9 * (1.0 + value.abs());
                assert!(
                    found.low - slack <= value && value <= found.high + slack,
                    "{expression:?} at {point:?} is {value}, not in {found:?} for {columns:?}"
                );
                looked += 1;
                bounded += usize::from(found.low.is_finite() && found.high.is_finite());
            }
        }
        assert!(looked > 30_000 && bounded > looked / 2, "{looked}, {bounded} of them bounded");
    }

    #[test]
    fn what_cannot_be_followed_is_not() {
        let x = || Expr::column(0, Type::Number);
        assert!(!followed(&Expr::call(Function::Math(Math::Sin), vec![x()]).unwrap()));
        assert!(!followed(&Expr::call(Function::Cast(Type::Text), vec![x()]).unwrap()));
        assert!(followed(&Expr::call(Function::Math(Math::Exp), vec![x()]).unwrap()));
    }
}
