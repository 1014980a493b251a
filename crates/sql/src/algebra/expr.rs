//! Expressions over one row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StringViewArray};
use arrow_select::zip::zip;
use reticent_table::MOST_TEXT;
use serde::{Deserialize, Serialize};

use super::column::{Column, Reader, Texts};
use super::data::concatenated;
use super::function::{Function, Growth};
use super::{Type, Value};

/// An expression over the columns of one row. Columns are numbered: it contains no names.
///
/// It can only be constructed with matching types, so evaluating it never fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Expr {
    kind: Type,
    node: Node,
}

/// A deserialised expression whose types have not been checked yet.
#[derive(Deserialize)]
struct Unchecked {
    kind: Type,
    node: Node,
}

impl TryFrom<Unchecked> for Expr {
    type Error = &'static str;

    fn try_from(Unchecked { kind, node }: Unchecked) -> Result<Self, &'static str> {
        let found = match &node {
            Node::Column(_) => Some(kind),
            Node::Constant(value) => Some(value.kind().unwrap_or(kind)),
            Node::Call(function, arguments) => function.output(&arguments.iter().map(Self::kind).collect::<Vec<_>>()),
            Node::Case { branches, otherwise } => {
                Self::case(branches.clone(), (**otherwise).clone()).map(|case| case.kind)
            }
        };
        if found == Some(kind) { Ok(Self { kind, node }) } else { Err("an expression whose types do not fit") }
    }
}

/// The form of an expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Node {
    /// A column of the row, by position.
    Column(usize),
    /// A constant.
    Constant(Value),
    /// A function of other expressions.
    Call(Function, Vec<Expr>),
    /// `CASE WHEN … THEN … ELSE … END`: the result of the first condition that is true.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result if no condition is true.
        otherwise: Box<Expr>,
    },
}

impl Expr {
    /// The column at this position.
    pub fn column(place: usize, kind: Type) -> Self {
        Self { kind, node: Node::Column(place) }
    }

    /// A constant. NULL gets the type text; for other types use [`Expr::null`].
    pub fn constant(value: Value) -> Self {
        Self { kind: value.kind().unwrap_or(Type::Text), node: Node::Constant(value) }
    }

    /// NULL of a given type.
    pub fn null(kind: Type) -> Self {
        Self { kind, node: Node::Constant(Value::Null) }
    }

    /// A function call; `None` if the function does not accept these argument types. Constant calls are evaluated right
    /// away.
    pub fn call(function: Function, arguments: Vec<Self>) -> Option<Self> {
        let kinds: Vec<Type> = arguments.iter().map(Self::kind).collect();
        let kind = function.output(&kinds)?;
        let constants: Option<Vec<Column>> =
            arguments.iter().map(|one| one.as_constant().cloned().map(Column::Constant)).collect();
        let node = match constants.map(|constants| function.apply(&kinds, kind, &constants, 1)) {
            Some(Column::Constant(value)) => Node::Constant(value),
            _ => Node::Call(function, arguments),
        };
        Some(Self { kind, node })
    }

    /// `CASE`; `None` unless all conditions are Boolean and all results have the same type.
    pub fn case(branches: Vec<(Self, Self)>, otherwise: Self) -> Option<Self> {
        let kind = otherwise.kind;
        let fits = |(condition, result): &(Self, Self)| condition.kind == Type::Boolean && result.kind == kind;
        branches.iter().all(fits).then(|| Self { kind, node: Node::Case { branches, otherwise: Box::new(otherwise) } })
    }

    /// Returns the type of the values.
    pub fn kind(&self) -> Type {
        self.kind
    }

    /// Returns the form of the expression.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the value if this is a constant.
    pub fn as_constant(&self) -> Option<&Value> {
        match &self.node {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the position if this is just a column.
    pub fn as_column(&self) -> Option<usize> {
        match &self.node {
            Node::Column(place) => Some(*place),
            _ => None,
        }
    }

    /// Returns the subexpressions.
    pub fn parts(&self) -> Vec<&Self> {
        match &self.node {
            Node::Column(_) | Node::Constant(_) => Vec::new(),
            Node::Call(_, arguments) => arguments.iter().collect(),
            Node::Case { branches, otherwise } => {
                branches.iter().flat_map(|(condition, result)| [condition, result]).chain([&**otherwise]).collect()
            }
        }
    }

    /// Returns the number of nodes.
    pub fn size(&self) -> usize {
        1 + self.parts().into_iter().map(Self::size).sum::<usize>()
    }

    /// Whether every column it reads exists and has the expected type.
    pub fn reads(&self, columns: &[Type]) -> bool {
        self.as_column().is_none_or(|place| columns.get(place) == Some(&self.kind))
            && self.parts().into_iter().all(|part| part.reads(columns))
    }

    /// Collects the columns it reads.
    pub fn columns(&self, into: &mut std::collections::BTreeSet<usize>) {
        into.extend(self.as_column());
        self.parts().into_iter().for_each(|part| part.columns(into));
    }

    /// The same expression with its columns at other positions.
    pub fn moved(&self, place: &impl Fn(usize) -> usize) -> Self {
        let all = |parts: &[Self]| parts.iter().map(|part| part.moved(place)).collect();
        let node = match &self.node {
            Node::Column(from) => Node::Column(place(*from)),
            Node::Constant(value) => Node::Constant(value.clone()),
            Node::Call(function, arguments) => Node::Call(function.clone(), all(arguments)),
            Node::Case { branches, otherwise } => Node::Case {
                branches: branches.iter().map(|(when, then)| (when.moved(place), then.moved(place))).collect(),
                otherwise: Box::new(otherwise.moved(place)),
            },
        };
        Self { kind: self.kind, node }
    }

    /// Adds the texts that are computed for each row to `work`, and returns the length of its own.
    fn add_to(&self, work: &mut TextWork) -> Length {
        let parts: Vec<Length> = self.parts().into_iter().map(|part| part.add_to(work)).collect();
        let longest = || parts.iter().fold(Length::default(), |one, other| one.max(*other));
        let growth = match &self.node {
            Node::Constant(Value::Text(text)) => return Length { times: 0, plus: text.len() },
            Node::Column(_) if self.kind == Type::Text => return Length { times: 1, plus: 0 },
            Node::Call(function, _) if self.kind == Type::Text => function.growth(),
            Node::Case { .. } if self.kind == Type::Text => Growth::None,
            _ => return Length::written(self.kind),
        };
        let length = match growth {
            Growth::None => longest(),
            Growth::Sum => parts.iter().fold(Length::default(), |one, other| one.plus(*other)),
            Growth::Case => (0..3).fold(Length::default(), |sum, _| sum.plus(longest())),
            Growth::Any => Length { times: 0, plus: MOST_TEXT },
        };
        work.add(length);
        length
    }

    /// Returns how many texts it computes per row that can be longer than their inputs.
    pub fn growing(&self) -> usize {
        let own = matches!(&self.node, Node::Call(function, _) if function.grows());
        usize::from(own) + self.parts().into_iter().map(Self::growing).sum::<usize>()
    }

    /// Evaluates the expression for each of `rows` rows of these columns.
    ///
    /// # Total
    /// Every node has a value for every row, so the expression does too. All branches of a CASE are computed for all
    /// rows: harmless, since none can fail, and the running time does not depend on which branches are taken.
    pub fn evaluate(&self, columns: &[ArrayRef], rows: usize) -> Column {
        match &self.node {
            Node::Column(place) => {
                columns.get(*place).map_or(Column::Constant(Value::Null), |column| Column::Array(column.clone()))
            }
            Node::Constant(value) => Column::Constant(value.clone()),
            Node::Call(function, arguments) => {
                let kinds: Vec<Type> = arguments.iter().map(Self::kind).collect();
                let arguments: Vec<Column> = arguments.iter().map(|one| one.evaluate(columns, rows)).collect();
                function.apply(&kinds, self.kind, &arguments, rows)
            }
            Node::Case { branches, otherwise } if self.kind == Type::Text => {
                let value = |one: &Self| one.evaluate(columns, rows);
                let conditions: Vec<BooleanArray> =
                    branches.iter().map(|(when, _)| when.holds(columns, rows)).collect();
                let results: Vec<Column> =
                    branches.iter().map(|(_, then)| value(then)).chain([value(otherwise)]).collect();
                let results: Vec<Reader<'_, Texts>> = results.iter().map(Reader::of).collect();
                let first =
                    |row: usize| conditions.iter().position(|holds| holds.value(row)).unwrap_or(conditions.len());
                // Copied: an array that refers to the buffers of everything it was chosen from would accumulate ever
                // more of them.
                let texts: StringViewArray = (0..rows).map(|row| results[first(row)].get(row)).collect();
                Column::Array(Arc::new(texts))
            }
            Node::Case { branches, otherwise } => {
                let mut result = otherwise.evaluate(columns, rows).into_array(self.kind, rows);
                for (condition, then) in branches.iter().rev() {
                    let condition = known(&condition.evaluate(columns, rows).into_condition(rows));
                    let then = then.evaluate(columns, rows).into_array(self.kind, rows);
                    // `zip` needs only arrays of one length, the last two of the same type: both hold.
                    result = zip(&condition, &then, &result).unwrap_or(result);
                }
                Column::Array(result)
            }
        }
    }

    /// Returns a mask without NULLs: true where the condition is true.
    pub fn holds(&self, columns: &[ArrayRef], rows: usize) -> BooleanArray {
        known(&self.evaluate(columns, rows).into_condition(rows))
    }
}

/// The most bytes of text that one thread computes or encodes at once, in all operators that a row passes through.
const TEXT_BYTES: usize = 32 << 20;

/// The most texts that may be computed or encoded for one row, in all operators together: even if each is as long as a
/// text can be, those of one row fit in 32 MiB.
pub const MOST_TEXTS: usize = TEXT_BYTES / MOST_TEXT;

/// The most bytes of a text: a number of times as many as the longest text of the row, and some more.
#[derive(Debug, Clone, Copy, Default)]
struct Length {
    times: usize,
    plus: usize,
}

impl Length {
    /// Of a value that is not a text, written as one.
    fn written(kind: Type) -> Self {
        // The longest number has a sign, 308 zeros, a point and 17 digits, or more zeros and fewer digits.
        Self { times: 0, plus: if kind == Type::Number { 352 } else { 32 } }
    }

    fn max(self, other: Self) -> Self {
        Self { times: self.times.max(other.times), plus: self.plus.max(other.plus) }
    }

    fn plus(self, other: Self) -> Self {
        Self { times: self.times.saturating_add(other.times), plus: self.plus.saturating_add(other.plus) }
    }
}

/// How much text is computed or encoded for each row.
///
/// # Privacy
/// One row joined with many public rows must not take more memory than was allowed for: whether the process survives
/// would reveal that it is there. Operators are nested: while one computes texts, those of the operators below are still
/// held. So they share 32 MiB: one that computes k of the n texts of a query works on as many rows at once as make k/n
/// of that. Since n is at most [`MOST_TEXTS`], that is never less than one row.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextWork {
    texts: usize,
    /// The texts of all operators that are nested.
    of: usize,
    /// All of them together.
    length: Length,
}

impl TextWork {
    /// Of all these expressions together.
    pub fn of<'a>(expressions: impl IntoIterator<Item = &'a Expr>) -> Self {
        let mut work = Self::default();
        for one in expressions {
            one.add_to(&mut work);
        }
        work
    }

    /// Also encodes the values of this expression.
    pub fn encoding(mut self, one: &Expr) -> Self {
        if one.kind() == Type::Text {
            let length = one.add_to(&mut Self::default());
            self.add(length);
        }
        self
    }

    fn add(&mut self, length: Length) {
        self.texts += 1;
        self.length = self.length.plus(length);
    }

    /// Returns the number of texts for each row.
    pub fn texts(self) -> usize {
        self.texts
    }

    /// The same as a part of a query with this many texts.
    pub fn among(self, texts: usize) -> Self {
        Self { of: texts, ..self }
    }

    /// Returns how many rows of these columns to work on at once: at most `most`, at least one.
    pub fn rows_at_once(self, columns: &[ArrayRef], most: usize) -> usize {
        if self.texts == 0 { most.max(1) } else { self.rows_with(longest(columns), most) }
    }

    /// The same for rows whose texts have at most `longest` bytes.
    pub fn rows_with(self, longest: usize, most: usize) -> usize {
        let bytes = self.length.times.saturating_mul(longest).saturating_add(self.length.plus);
        let bytes = bytes.min(self.texts * MOST_TEXT).max(1);
        (TEXT_BYTES * self.texts.max(1) / self.of.max(self.texts).max(1) / bytes).min(most).max(1)
    }
}

/// The length of the longest text in these columns, in bytes.
pub fn longest(columns: &[ArrayRef]) -> usize {
    let of = |column: &ArrayRef| column.as_string_view_opt().and_then(|texts| texts.lengths().max());
    columns.iter().filter_map(of).max().unwrap_or_default() as usize
}

/// The bytes of a column's values: those of its texts wherever they occur, even if they share memory.
pub fn logical_bytes(column: &ArrayRef) -> usize {
    let texts = column.as_string_view_opt().map(|texts| texts.lengths().map(|length| length as usize).sum::<usize>());
    texts.map_or_else(|| column.get_array_memory_size(), |texts| texts + 16 * column.len())
}

/// Evaluates expressions for all rows of a table that is not private, texts for few rows at a time; `None` if the values
/// take more than `most` bytes, or if `goes_on` says no between two pieces.
pub fn computed(
    of: &[&Expr],
    columns: &[ArrayRef],
    rows: usize,
    most: usize,
    goes_on: impl Fn() -> bool,
) -> Option<Vec<ArrayRef>> {
    let mut bytes = 0;
    let mut all = Vec::new();
    for one in of {
        let size = TextWork::of([*one]).rows_at_once(columns, rows);
        let mut pieces = Vec::new();
        for from in (0..rows.max(1)).step_by(size) {
            let rows = size.min(rows - from);
            let slice: Vec<ArrayRef> = columns.iter().map(|column| column.slice(from, rows)).collect();
            let piece = one.evaluate(&slice, rows).into_array(one.kind(), rows);
            bytes += logical_bytes(&piece);
            pieces.push(piece);
            if bytes > most || !goes_on() {
                return None;
            }
        }
        all.push(if pieces.len() == 1 { pieces.remove(0) } else { concatenated(&pieces) });
    }
    Some(all)
}

/// Treats NULL as false.
fn known(condition: &BooleanArray) -> BooleanArray {
    match condition.nulls() {
        None => condition.clone(),
        Some(nulls) => BooleanArray::new(condition.values() & nulls.inner(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::function::{Choice, Text};

    /// Every computed text counts, also where no function makes it longer: a CASE, and each of many copies.
    #[test]
    fn few_rows_are_evaluated_at_once_where_texts_are_long() {
        let text = |length: usize| Expr::constant(Value::Text("x".repeat(length).into()));
        let case = |length: usize| Expr::case(vec![(Expr::null(Type::Boolean), text(length))], text(1)).unwrap();
        let rows = |one: &Expr| TextWork::of([one]).rows_at_once(&[], 8192);
        assert_eq!(rows(&text(65_000)), 8192, "a constant is not copied");
        assert_eq!((rows(&case(10)), rows(&case(1 << 16))), (8192, 512));
        let greatest = |all: Vec<Expr>| Expr::call(Function::Choose(Choice::Greatest), all).unwrap();
        assert_eq!(rows(&greatest(vec![case(1 << 16), case(1 << 16), case(1 << 16)])), 128, "four texts for each row");
        let column = || Expr::column(0, Type::Text);
        let columns = |length: usize| -> [ArrayRef; 1] { [Arc::new(StringViewArray::from(vec!["x".repeat(length)]))] };
        let rows = |one: &Expr, length: usize| TextWork::of([one]).rows_at_once(&columns(length), 8192);
        let call = |function: Text, arguments: Vec<Expr>| Expr::call(Function::Text(function), arguments).unwrap();
        let reversed = call(Text::Reverse, vec![column()]);
        assert_eq!((rows(&reversed, 20), rows(&reversed, 1 << 16), rows(&column(), 1 << 16)), (8192, 512, 8192));
        let doubled = call(Text::Concat, vec![column(), column()]);
        assert_eq!([rows(&doubled, 20), rows(&doubled, 8192), rows(&doubled, 60_000)], [8192, 2048, 512]);
        let padded = call(Text::PadEnd, vec![column(), Expr::constant(Value::Integer(3))]);
        assert_eq!(rows(&padded, 20), 512, "it may grow as long as any");
        let encoded = TextWork::of([&column()]).encoding(&column()).encoding(&text(1 << 16));
        assert_eq!(encoded.rows_at_once(&columns(1 << 16), 8192), 256);
    }

    /// Operators are nested: what all of them hold must fit in 32 MiB, down to one row of a query with 512 texts.
    #[test]
    fn nested_operators_share_what_they_may_compute_at_once() {
        let column = Expr::column(0, Type::Text);
        let reversed = Expr::call(Function::Text(Text::Reverse), vec![column]).unwrap();
        let work = |texts: usize| TextWork::of(std::iter::repeat_n(&reversed, texts));
        for nested in [1, 2, 60, MOST_TEXTS] {
            for texts in [1, MOST_TEXTS / nested] {
                let rows = work(texts).among(nested * texts).rows_with(MOST_TEXT, 8192);
                assert!((1..=TEXT_BYTES / (nested * texts * MOST_TEXT)).contains(&rows), "{nested} × {texts}: {rows}");
            }
        }
    }

    /// The estimates that batches are planned with: none of these functions returns more.
    #[test]
    fn texts_are_not_longer_than_planned() {
        let longest =
            |one: char| [one.to_lowercase().to_string(), one.to_uppercase().to_string()].map(|text| text.len());
        let times = (0..=u32::from(char::MAX)).filter_map(char::from_u32);
        let most = times.map(|one| longest(one).into_iter().max().unwrap().div_ceil(one.len_utf8())).max();
        assert_eq!(most, Some(3));
        let written = |number: f64| number.to_string().len();
        for number in [f64::MIN, -f64::MIN_POSITIVE, -5e-324, -2.225_073_858_507_201e-308] {
            assert!(written(number) <= Length::written(Type::Number).plus, "{number:e}: {}", written(number));
        }
    }

    /// A text that occurs often counts often, although it is in memory once.
    #[test]
    fn shared_texts_count_wherever_they_occur() {
        let once: ArrayRef = Arc::new(StringViewArray::from(vec!["x".repeat(1000)]));
        let places = arrow_array::UInt32Array::from(vec![0; 500]);
        let often = arrow_select::take::take(&once, &places, None).unwrap();
        assert_eq!(logical_bytes(&often), 500 * 1016);
        assert!(
            computed(&[&Expr::column(0, Type::Text)], std::slice::from_ref(&often), 500, 400_000, || true).is_none()
        );
        assert!(computed(&[&Expr::column(0, Type::Text)], &[often], 500, 600_000, || true).is_some());
    }

    #[test]
    fn nothing_more_is_computed_once_stopped() {
        let interrupt = reticent_bounding::Interrupt::new();
        let column: ArrayRef = Arc::new(StringViewArray::from(vec!["x"; 1000]));
        let reversed = Expr::call(Function::Text(Text::Reverse), vec![Expr::column(0, Type::Text)]).unwrap();
        let nulls = || reversed.evaluate(std::slice::from_ref(&column), 1000).into_array(Type::Text, 1000).null_count();
        assert_eq!(nulls(), 0);
        interrupt.stop();
        assert_eq!(super::super::stop::until(&interrupt, nulls), 1000);
    }
}
