//! Expressions over one row.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, StringViewArray};
use arrow_select::zip::zip;
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

/// Expressions that make texts longer work on this many rows at a time, or on fewer where a row has several such texts:
/// each text may take [`MOST_TEXT`](reticent_table::MOST_TEXT) bytes, and at most 16 MiB are computed at once.
const FEW: usize = 256;

/// Returns how many rows to evaluate at once if each yields `growing` longer texts: at most `most`, at least one.
pub fn at_once(growing: usize, most: usize) -> usize {
    FEW.checked_div(growing).unwrap_or(most).min(most).max(1)
}

/// Evaluates expressions for all rows of a table that is not private, long texts for few rows at a time; `None` if the
/// values take more than `most` bytes, or if `goes_on` says no between two pieces.
pub fn computed(
    of: &[&Expr],
    columns: &[ArrayRef],
    rows: usize,
    most: usize,
    goes_on: impl Fn() -> bool,
) -> Option<Vec<ArrayRef>> {
    let growing = of.iter().map(|one| one.growing()).sum();
    if growing == 0 {
        let value = |one: &&Expr| goes_on().then(|| one.evaluate(columns, rows).into_array(one.kind(), rows));
        return of.iter().map(value).collect();
    }
    let (size, mut bytes) = (at_once(growing, rows), 0);
    let mut pieces: Vec<Vec<ArrayRef>> = vec![Vec::new(); of.len()];
    for from in (0..rows.max(1)).step_by(size) {
        let rows = size.min(rows - from);
        let slice: Vec<ArrayRef> = columns.iter().map(|column| column.slice(from, rows)).collect();
        for (one, pieces) in of.iter().zip(&mut pieces) {
            let piece = one.evaluate(&slice, rows).into_array(one.kind(), rows);
            bytes += if one.growing() > 0 { piece.get_array_memory_size() } else { 0 };
            pieces.push(piece);
        }
        if bytes > most || !goes_on() {
            return None;
        }
    }
    Some(pieces.iter().map(|pieces| concatenated(pieces)).collect())
}

/// Treats NULL as false.
fn known(condition: &BooleanArray) -> BooleanArray {
    match condition.nulls() {
        None => condition.clone(),
        Some(nulls) => BooleanArray::new(condition.values() & nulls.inner(), None),
    }
}
