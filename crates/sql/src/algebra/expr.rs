//! Expressions over one row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, StringViewArray};
use arrow_select::zip::zip;
use reticent_table::MOST_TEXT;
use serde::{Deserialize, Serialize};

use super::column::{Column, Reader, Texts};
use super::data::concatenated;
use super::function::Function;
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

    /// Returns how many texts it computes per row: each is copied, whether it is longer than its inputs or not.
    fn copied_texts(&self) -> usize {
        let own = self.kind == Type::Text && matches!(self.node, Node::Call(..) | Node::Case { .. });
        usize::from(own) + self.parts().into_iter().map(Self::copied_texts).sum::<usize>()
    }

    /// Returns the length of its longest constant text, in bytes.
    fn longest_constant(&self) -> usize {
        let own = if let Some(Value::Text(text)) = self.as_constant() { text.len() } else { 0 };
        self.parts().into_iter().map(Self::longest_constant).fold(own, usize::max)
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

/// The most bytes of texts that expressions compute at once.
const TEXT_BYTES: usize = 16 << 20;

/// How much text expressions compute for each row.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextWork {
    copied: usize,
    grows: bool,
    longest_constant: usize,
}

impl TextWork {
    /// Of all these expressions together.
    pub fn of<'a>(expressions: impl IntoIterator<Item = &'a Expr>) -> Self {
        expressions.into_iter().fold(Self::default(), |all, one| Self {
            copied: all.copied + one.copied_texts(),
            grows: all.grows || one.growing() > 0,
            longest_constant: all.longest_constant.max(one.longest_constant()),
        })
    }

    /// Returns how many rows of these columns to evaluate at once: at most `most`, at least one, and otherwise so few
    /// that all texts computed for them fit in 16 MiB. A function that does not make texts longer returns at most as
    /// much as the longest of its inputs.
    pub fn rows_at_once(self, columns: &[ArrayRef], most: usize) -> usize {
        if self.copied == 0 {
            return most.max(1);
        }
        let each = if self.grows { MOST_TEXT } else { self.longest_constant.max(longest(columns)).max(1) };
        (TEXT_BYTES / self.copied.saturating_mul(each)).min(most).max(1)
    }
}

/// The length of the longest text in these columns, in bytes.
fn longest(columns: &[ArrayRef]) -> usize {
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
        assert_eq!(rows(&case(10)), 8192);
        assert_eq!(rows(&case(1 << 16)), 256);
        let greatest = Expr::call(Function::Choose(Choice::Greatest), vec![case(1 << 16), case(10), case(10)]).unwrap();
        assert_eq!(rows(&greatest), 64, "four texts for each row");
        let column = Expr::column(0, Type::Text);
        let reversed = Expr::call(Function::Text(Text::Reverse), vec![column.clone()]).unwrap();
        let columns = |length: usize| -> [ArrayRef; 1] { [Arc::new(StringViewArray::from(vec!["x".repeat(length)]))] };
        let rows = |one: &Expr, length: usize| TextWork::of([one]).rows_at_once(&columns(length), 8192);
        assert_eq!((rows(&reversed, 20), rows(&reversed, 1 << 16), rows(&column, 1 << 16)), (8192, 256, 8192));
        let doubled = Expr::call(Function::Text(Text::Concat), vec![column.clone(), column]).unwrap();
        assert_eq!(rows(&doubled, 20), 256, "it may grow as long as any");
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
