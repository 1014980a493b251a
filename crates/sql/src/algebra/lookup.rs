//! Joins with a table that is not private.

use std::collections::HashMap;
use std::fmt;
use std::mem::take;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_select::filter::filter;

use super::Type;
use super::data::{Data, sound};
use super::expr::{Expr, TextWork, computed, longest};
use super::groups::canonical;
use super::limits::{Limits, TooLarge};

/// What the index takes for a row, beside its key: a slot of a hash table that may be half empty and grows into one of twice
/// the size (48 bytes each), and two allocations, for the key and for the places.
const BYTES_PER_ROW: usize = 256;
/// How many rows are indexed between two looks at the time.
const ROWS_PER_LOOK: usize = 1 << 14;

/// Matches rows against an in-memory table.
#[derive(Debug, Clone)]
pub struct Lookup {
    table: Arc<Data>,
    /// Expressions over the row's columns that must equal the table's join keys.
    on: Vec<Expr>,
    /// Over the row's columns, followed by the table's.
    condition: Option<Expr>,
    keep_unmatched: bool,
    index: Arc<Index>,
    most_matches: u64,
    /// The length of the table's longest text.
    longest: usize,
}

/// The table's rows by join key; keys with a NULL match nothing.
#[derive(Default)]
struct Index {
    converter: Option<RowConverter>,
    places: HashMap<OwnedRow, Vec<u32>>,
}

impl Lookup {
    /// Matches table rows for which the first expression of each pair (over the row's columns) equals the second (over
    /// the table's columns), and for which the condition is true. With `keep_unmatched`, a row without a match is kept,
    /// with NULL in the table's columns.
    ///
    /// `None` if compared types differ.
    ///
    /// # Errors
    /// If the join keys take too long, or more than a third of the memory that is left for public tables: while the index
    /// is made, they are there as values, encoded, and in the index.
    pub fn new(
        table: Arc<Data>,
        on: Vec<(Expr, Expr)>,
        condition: Option<Expr>,
        keep_unmatched: bool,
        limits: &Limits,
    ) -> Result<Option<Self>, TooLarge> {
        let fits = |(one, other): &(Expr, Expr)| one.kind() == other.kind() && other.reads(table.kinds());
        if !on.iter().all(fits) {
            return Ok(None);
        }
        let rows = table.rows();
        let (on, keys): (Vec<Expr>, Vec<Expr>) = on.into_iter().unzip();
        let keys: Vec<&Expr> = keys.iter().collect();
        let values = computed(&keys, table.columns(), rows, limits.public_left() / 3, || limits.has_time());
        let indexed = if on.is_empty() { 0 } else { rows.saturating_mul(BYTES_PER_ROW) };
        limits.check_size(0, indexed)?;
        let index = Index::of(&values.ok_or_else(|| limits.too_many_bytes())?, limits)?;
        let most = if on.is_empty() { rows } else { index.places.values().map(Vec::len).max().unwrap_or(0) };
        let most_matches = (most as u64).max(u64::from(keep_unmatched));
        let longest = longest(table.columns());
        Ok(Some(Self { table, on, condition, keep_unmatched, index: Arc::new(index), most_matches, longest }))
    }

    /// Returns the bytes of its join keys.
    pub fn key_bytes(&self) -> usize {
        self.index.places.keys().map(|key| key.row().data().len()).sum()
    }

    /// Returns the table.
    pub fn table(&self) -> &Arc<Data> {
        &self.table
    }

    /// Returns the most output rows that one row can have: counted on the actual table, ignoring the condition.
    pub fn most_matches(&self) -> u64 {
        self.most_matches
    }

    /// Whether there are join keys; without them each row is paired with every row of the table.
    pub fn compares(&self) -> bool {
        !self.on.is_empty()
    }

    /// Returns the number of nodes of its expressions.
    pub fn size(&self) -> usize {
        self.on.iter().chain(&self.condition).map(Expr::size).sum()
    }

    /// Returns the number of long texts computed per row as join keys.
    pub fn growing(&self) -> usize {
        self.on.iter().map(Expr::growing).sum()
    }

    /// Returns how much text is computed and encoded per row as join keys.
    pub fn text_work(&self) -> TextWork {
        self.on.iter().fold(TextWork::of(&self.on), TextWork::encoding)
    }

    /// Returns the number of texts that are computed or encoded for a row and its matches.
    pub fn texts(&self) -> usize {
        self.text_work().texts() + TextWork::of(&self.condition).texts()
    }

    /// Returns the number of pairs to examine for these rows.
    pub fn looks(&self, columns: &[ArrayRef], rows: usize) -> usize {
        if !self.compares() {
            return rows.saturating_mul(self.table.rows());
        }
        self.index.find(&self.compared(columns, rows), rows).into_iter().flatten().map(Vec::len).sum()
    }

    fn compared(&self, columns: &[ArrayRef], rows: usize) -> Vec<ArrayRef> {
        self.on.iter().map(|one| one.evaluate(columns, rows).into_array(one.kind(), rows)).collect()
    }

    /// Whether it applies to rows with these columns.
    pub fn fits(&self, columns: &[Type]) -> bool {
        let both: Vec<Type> = columns.iter().chain(self.table.kinds()).copied().collect();
        let condition = |one: &Expr| one.kind() == Type::Boolean && one.reads(&both);
        self.on.iter().all(|one| one.reads(columns)) && self.condition.as_ref().is_none_or(condition)
    }

    /// Passes matching pairs of row numbers (row, table row) to `act`, in batches of about `at_most`, or of fewer if
    /// their condition computes long texts, among the `texts` of a query. A kept row without a match is paired with NULL.
    pub fn pairs<E>(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        at_most: usize,
        texts: usize,
        mut act: impl FnMut(&UInt32Array, &UInt32Array) -> Result<(), E>,
    ) -> Result<(), E> {
        let found = self.index.find(&self.compared(columns, rows), rows);
        let most = match TextWork::of(&self.condition).among(texts) {
            work if work.texts() == 0 => at_most.max(1),
            work => work.rows_with(self.longest.max(longest(columns)), at_most),
        };
        let everything: Vec<u32> = if self.compares() { Vec::new() } else { (0..self.table.rows() as u32).collect() };
        let mut matched = vec![false; rows];
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (row, found) in found.into_iter().enumerate() {
            let matches = if self.compares() { found.map_or(&[][..], Vec::as_slice) } else { &everything };
            for some in matches.chunks(most) {
                ours.extend(std::iter::repeat_n(row as u32, some.len()));
                theirs.extend_from_slice(some);
                if ours.len() >= most {
                    self.act_on(columns, (&mut ours, &mut theirs), &mut matched, &mut act)?;
                }
            }
        }
        self.act_on(columns, (&mut ours, &mut theirs), &mut matched, &mut act)?;
        if !self.keep_unmatched {
            return Ok(());
        }
        let alone: UInt32Array = (0..rows as u32).filter(|&row| !matched[row as usize]).map(Some).collect();
        act(&alone, &UInt32Array::new_null(alone.len()))
    }

    /// Passes the pairs that satisfy the condition to `act`, and clears the batch.
    fn act_on<E>(
        &self,
        columns: &[ArrayRef],
        (ours, theirs): (&mut Vec<u32>, &mut Vec<u32>),
        matched: &mut [bool],
        act: &mut impl FnMut(&UInt32Array, &UInt32Array) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut ours, mut theirs) = (UInt32Array::from(take(ours)), UInt32Array::from(take(theirs)));
        if let Some(condition) = &self.condition {
            let left = columns.iter().map(|column| sound(arrow_select::take::take(column, &ours, None)));
            let both: Vec<ArrayRef> = left.chain(self.table.taken(&theirs).columns().iter().cloned()).collect();
            let holds = condition.holds(&both, ours.len());
            let those = |places: &UInt32Array| sound(filter(places, &holds)).as_primitive::<UInt32Type>().clone();
            (ours, theirs) = (those(&ours), those(&theirs));
        }
        ours.values().iter().for_each(|&row| matched[row as usize] = true);
        act(&ours, &theirs)
    }
}

/// Shows only the number of keys: the map itself has no fixed order.
impl fmt::Debug for Index {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Index").field("keys", &self.places.len()).finish()
    }
}

impl Index {
    fn of(columns: &[ArrayRef], limits: &Limits) -> Result<Self, TooLarge> {
        let Some(first) = columns.first() else { return Ok(Self::default()) };
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
        let converter = sound(RowConverter::new(fields));
        let encoded = sound(converter.convert_columns(&columns.iter().map(canonical).collect::<Vec<_>>()));
        let mut places: HashMap<OwnedRow, Vec<u32>> = HashMap::new();
        for row in (0..first.len()).filter(|&row| columns.iter().all(|column| column.is_valid(row))) {
            places.entry(encoded.row(row).owned()).or_default().push(row as u32);
            if row % ROWS_PER_LOOK == 0 {
                limits.check_size(0, 0)?;
            }
        }
        Ok(Self { converter: Some(converter), places })
    }

    fn find(&self, columns: &[ArrayRef], rows: usize) -> Vec<Option<&Vec<u32>>> {
        let Some(converter) = &self.converter else { return vec![None; rows] };
        let encoded = sound(converter.convert_columns(&columns.iter().map(canonical).collect::<Vec<_>>()));
        let complete = |row: usize| columns.iter().all(|column| column.is_valid(row));
        let find = |row: usize| complete(row).then(|| self.places.get(&encoded.row(row).owned())).flatten();
        (0..rows).map(find).collect()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    /// The index of many numbers takes far more memory than the numbers.
    #[test]
    fn the_index_counts() {
        let rows = 10_000;
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
        let table = Arc::new(Data::new(vec![Type::Integer], vec![column], rows).unwrap());
        let key = || Expr::column(0, Type::Integer);
        let made = |public_bytes: usize| {
            let limits = Limits { public_bytes, ..Limits::default() };
            Lookup::new(Arc::clone(&table), vec![(key(), key())], None, false, &limits)
        };
        assert!(made(rows * BYTES_PER_ROW).is_ok());
        assert!(made(rows * BYTES_PER_ROW - 1).is_err());
        let without_keys =
            Lookup::new(table, Vec::new(), None, false, &Limits { public_bytes: 1, ..Limits::default() });
        assert!(without_keys.is_ok(), "there is no index");
    }
}
