//! The functions in expressions: an allow-list.
//!
//! | module | contents |
//! |---|---|
//! | [`arithmetic`] | `+ - * / %` |
//! | [`compare`] | `= <> < <= > >=`, `IS DISTINCT FROM` |
//! | [`logic`] | `AND OR NOT`, `IS NULL`, `IS TRUE` |
//! | [`choice`] | `COALESCE`, `NULLIF`, `GREATEST`, `LEAST` |
//! | [`math`] | `ROUND`, `SQRT`, `LN`, … |
//! | [`text`] | `LOWER`, `SUBSTR`, `REPLACE`, … |
//! | [`pattern`] | `LIKE` and regular expressions |
//! | [`time`] | `EXTRACT`, `DATE_TRUNC`, dates plus intervals |
//! | [`membership`] | `IN (…)` |
//! | [`cast`](mod@cast) | `CAST` |
//!
//! # Requirements
//! - **Total**: a value or NULL for every input. None returns a `Result`; none panics.
//! - **Row-local**: the same value whatever else is in the batch. Each is a function of one row's values, lifted to
//!   columns by [`column`](super::column).
//! - **Deterministic**: the same inputs give the same value. None has state, reads a clock or draws random numbers.
//! - **Bounded**: a text is at most [`MOST_TEXT`](reticent_table::MOST_TEXT) bytes long.
//!
//! Tests check every function for each of these, on hostile values of every type it accepts. A new function does not
//! compile until it is in `Function::all`, from which the tests take it.

#[cfg(test)]
pub(crate) mod all;
pub mod arithmetic;
pub mod cast;
pub mod choice;
pub mod compare;
pub mod logic;
pub mod math;
pub mod membership;
pub mod pattern;
#[cfg(test)]
pub(crate) mod tests;
pub mod text;
pub mod time;

use serde::{Deserialize, Serialize};

pub use arithmetic::Arithmetic;
pub use choice::Choice;
pub use compare::Comparison;
pub use logic::Logic;
pub use math::Math;
pub use membership::Membership;
pub use pattern::Pattern;
pub use text::Text;
pub use time::Time;

use super::Type;
use super::column::Column;

/// A function of one row's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Function {
    /// `+ - * / %`
    Arithmetic(Arithmetic),
    /// `=`, `<`, `>` and so on
    Compare(Comparison),
    /// `AND`, `OR`, `NOT`, `IS NULL`
    Logic(Logic),
    /// `COALESCE` and so on
    Choose(Choice),
    /// Mathematical functions
    Math(Math),
    /// Text functions
    Text(Text),
    /// Date and timestamp functions
    Time(Time),
    /// A match against a constant pattern
    Match(Pattern),
    /// Membership in a constant set
    In(Membership),
    /// `CAST(a AS type)`
    Cast(Type),
}

impl Function {
    /// Returns the type of the result; `None` if it does not accept these argument types.
    pub fn output(&self, inputs: &[Type]) -> Option<Type> {
        match self {
            Self::Arithmetic(function) => function.output(inputs),
            Self::Compare(function) => function.output(inputs),
            Self::Logic(function) => function.output(inputs),
            Self::Choose(function) => function.output(inputs),
            Self::Math(function) => function.output(inputs),
            Self::Text(function) => function.output(inputs),
            Self::Time(function) => function.output(inputs),
            Self::Match(pattern) => pattern.output(inputs),
            Self::In(set) => set.output(inputs),
            Self::Cast(to) => matches!(inputs, [from] if cast::can_cast(*from, *to)).then_some(*to),
        }
    }

    /// Computes the value for each of `rows` rows, for arguments of types that it accepts.
    pub fn apply(&self, inputs: &[Type], output: Type, columns: &[Column], rows: usize) -> Column {
        let first = inputs.first().copied().unwrap_or(output);
        match self {
            Self::Arithmetic(function) => function.apply(output, columns, rows),
            Self::Compare(function) => function.apply(first, columns, rows),
            Self::Logic(function) => function.apply(columns, rows),
            Self::Choose(function) => function.apply(output, columns, rows),
            Self::Math(function) => function.apply(output, columns, rows),
            Self::Text(function) => function.apply(columns, rows),
            Self::Time(function) => function.apply(first, columns, rows),
            Self::Match(pattern) => pattern.apply(columns, rows),
            Self::In(set) => set.apply(columns, rows),
            Self::Cast(to) => cast::cast(first, *to, columns, rows),
        }
    }

    /// How long a text that it returns can become.
    pub fn growth(&self) -> Growth {
        match self {
            Self::Text(function) => function.growth(),
            Self::Match(pattern) if pattern.grows() => Growth::Any,
            _ => Growth::None,
        }
    }

    /// Whether a text that it returns can be longer than each of its arguments.
    pub fn grows(&self) -> bool {
        self.growth() != Growth::None
    }
}

/// How long the result of a function can become, in bytes. A longer one than
/// [`MOST_TEXT`](reticent_table::MOST_TEXT) is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// As long as the longest argument.
    None,
    /// As long as all arguments together.
    Sum,
    /// Three times as long as the argument: of all letters, ΐ grows most when its case changes, from two bytes to six.
    Case,
    /// As long as a text can be.
    Any,
}

/// The number if it is finite.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
