//! Group keys, numbered.

use arrow_array::{Array, ArrayRef};
use arrow_schema::Schema;

use crate::choice::Chooser;
use crate::error::{Error, Result, refuse};
use crate::growth::Growth;
use crate::kind::Kind;
use crate::layout::Layout;
use crate::values::{NONE, New, Values};
use crate::words::Words;

/// Keys that are known in advance, as one array per key column.
///
/// Rows with other keys are dropped before anything is chosen, and every key appears in the result, with or without
/// rows.
#[derive(Debug, Clone)]
pub struct PublicKeys {
    /// All of the same length, and of the types of the key columns. A duplicate key counts once.
    pub columns: Vec<ArrayRef>,
}

impl PublicKeys {
    /// Returns the index of each result group's key: groups are in canonical order, while these keys may be in any
    /// order. `None` if two of them are the same key.
    ///
    /// # Errors
    /// If the schema does not match the layout, or the keys do not match the schema.
    pub fn order(&self, layout: &Layout, schema: &Schema) -> Result<Option<Vec<u32>>> {
        let keys = Keys::new(&layout.columns(schema)?.keys, Some(self))?;
        let given = self.columns.first().map_or(1, |column| column.len());
        Ok((keys.len() == given).then(|| keys.order()))
    }
}

/// Marks a row that is dropped because its key is not public.
pub(crate) const DROPPED: u32 = NONE;

/// Numbers keys in order of first occurrence. Public keys are numbered in advance, and no others ever are.
///
/// A key of several columns has a number in each of them. The numbers of the first two are numbered as pairs, then each
/// pair's number with that of the third column, and so on. So one fast table for words, and one for texts, suffice for
/// all types.
#[derive(Clone)]
pub(crate) struct Keys {
    columns: Vec<Values>,
    /// One fewer than columns.
    pairs: Vec<Words>,
    new: New,
    right: Vec<u32>,
}

impl Keys {
    pub fn new(kinds: &[Kind], public: Option<&PublicKeys>) -> Result<Self> {
        let columns = kinds.iter().copied().map(Values::of_keys).collect();
        let pairs = vec![Words::default(); kinds.len().saturating_sub(1)];
        let mut keys = Self { columns, pairs, new: New::Numbered, right: Vec::new() };
        if let Some(PublicKeys { columns }) = public {
            if !keys.suit(columns) {
                let types = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(", ");
                let given = types(&mut columns.iter().map(|column| column.data_type().to_string()));
                let wanted = types(&mut kinds.iter().map(|kind| kind.data_type().to_string()));
                return refuse(format!("public keys must be columns of one length of types ({wanted}), not ({given})"));
            }
            let rows = columns.first().map_or(1, |column| column.len());
            keys.group_rows(columns, rows, &mut Vec::new())?;
            keys.new = New::Unknown;
        }
        Ok(keys)
    }

    /// Whether these are keys, as columns of the same length.
    pub fn suit(&self, columns: &[ArrayRef]) -> bool {
        let rows = columns.first().map_or(0, |column| column.len());
        columns.len() == self.columns.len()
            && columns
                .iter()
                .zip(&self.columns)
                .all(|(column, values)| column.len() == rows && *column.data_type() == values.data_type())
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        match (&self.columns[..], self.pairs.last()) {
            ([], _) => 1,
            (_, Some(pairs)) => pairs.len(),
            (columns, None) => columns[0].len(),
        }
    }

    /// Whether all keys are known in advance.
    pub fn are_public(&self) -> bool {
        self.new == New::Unknown
    }

    /// The memory they take, in bytes.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Values::bytes).sum::<usize>() + self.pairs.iter().map(Words::bytes).sum::<usize>()
    }

    /// The memory needed to group this many rows, if all their keys are new, without that for texts.
    pub fn growth(&self, rows: usize) -> Growth {
        let rows = if self.are_public() { 0 } else { rows };
        let columns: Growth = self.columns.iter().map(|values| values.growth(rows)).sum();
        columns + self.pairs.iter().map(|pairs| pairs.growth(rows)).sum()
    }

    /// The memory needed to absorb another table, if all its keys are new.
    pub fn growth_by(&self, other: &Self) -> Growth {
        if self.are_public() {
            return self.growth(0);
        }
        let columns = self.columns.iter().zip(&other.columns).map(|(values, other)| values.growth_by(other));
        let pairs = self.pairs.iter().zip(&other.pairs).map(|(pairs, other)| {
            // And for the numbers of the other's pairs here.
            pairs.growth(other.len()) + Growth::fixed(other.len() * size_of::<u32>())
        });
        columns.chain(pairs).sum()
    }

    /// Writes the group of every row to `groups`; [`DROPPED`] if its key is not public.
    pub fn group_rows(&mut self, columns: &[ArrayRef], rows: usize, groups: &mut Vec<u32>) -> Result<()> {
        let Some((first, rest)) = self.columns.split_first_mut() else {
            groups.clear();
            groups.resize(rows, 0);
            return Ok(());
        };
        first.number(&columns[0], self.new, groups);
        // Fails before a number is used that does not fit.
        let mut most = first.len();
        for ((values, column), pairs) in rest.iter_mut().zip(&columns[1..]).zip(&mut self.pairs) {
            values.number(column, self.new, &mut self.right);
            for (left, &right) in groups.iter_mut().zip(&self.right) {
                *left = match self.new {
                    New::Numbered => pairs.number(pair(*left, right)),
                    New::Unknown if *left == NONE || right == NONE => NONE,
                    New::Unknown => pairs.find(pair(*left, right)).unwrap_or(NONE),
                };
            }
            most = most.max(values.len()).max(pairs.len());
        }
        if most >= DROPPED as usize { Err(Error::Memory) } else { Ok(()) }
    }

    /// Adds the keys of another table and returns their numbers here. Both have public keys, or neither.
    ///
    /// Each value is compared once, in however many keys it occurs: written out, the keys could take far more memory than
    /// both tables.
    pub fn absorb(&mut self, other: &Self) -> Result<Vec<u32>> {
        if self.are_public() {
            // The same ones.
            return Ok((0..self.len() as u32).collect());
        }
        let Some((first, rest)) = self.columns.split_first_mut() else { return Ok(vec![0]) };
        let mut groups = first.absorb(&other.columns[0]);
        let mut most = first.len();
        for (((values, other), pairs), others) in
            rest.iter_mut().zip(&other.columns[1..]).zip(&mut self.pairs).zip(&other.pairs)
        {
            let right = values.absorb(other);
            let here = |number: u32| {
                let (left, other) = halves(others.value(number));
                pair(groups[left as usize], right[other as usize])
            };
            groups = (0..others.len() as u32).map(|number| pairs.number(here(number))).collect();
            most = most.max(values.len()).max(pairs.len());
        }
        if most >= DROPPED as usize { Err(Error::Memory) } else { Ok(groups) }
    }

    /// The keys with these numbers.
    pub fn columns(&self, groups: impl Iterator<Item = u32> + Clone) -> Vec<ArrayRef> {
        let parts = self.parts();
        let column = |(values, numbers): (&Values, &Vec<u32>)| {
            values.column(groups.clone().map(|group| numbers[group as usize]))
        };
        self.columns.iter().zip(&parts).map(column).collect()
    }

    /// The bytes of the texts in the keys of these groups: each has a copy.
    pub fn text_bytes(&self, groups: impl Iterator<Item = u32> + Clone) -> usize {
        let parts = self.parts();
        let column = |(values, numbers): (&Values, &Vec<u32>)| {
            groups.clone().map(|group| values.text_bytes(numbers[group as usize])).sum::<usize>()
        };
        self.columns.iter().zip(&parts).map(column).sum()
    }

    /// The digest of each key, for choosing groups.
    pub fn digests(&self, chooser: &Chooser) -> Vec<u128> {
        let parts = self.parts();
        let mut bytes = Vec::new();
        let digest = |group: usize| {
            bytes.clear();
            self.columns.iter().zip(&parts).for_each(|(values, numbers)| values.write(numbers[group], &mut bytes));
            chooser.shorten(&bytes)
        };
        (0..self.len()).map(digest).collect()
    }

    /// The groups in canonical order: ascending, NULL last.
    pub fn order(&self) -> Vec<u32> {
        let parts = self.parts();
        let mut groups: Vec<u32> = (0..self.len() as u32).collect();
        groups.sort_unstable_by(|&one, &other| {
            let columns = self.columns.iter().zip(&parts);
            let orders =
                columns.map(|(values, numbers)| values.compare(numbers[one as usize], numbers[other as usize]));
            orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        groups
    }

    /// By column, the number of every key's value in it.
    fn parts(&self) -> Vec<Vec<u32>> {
        let mut left: Vec<u32> = (0..self.len() as u32).collect();
        let mut parts = Vec::new();
        for pairs in self.pairs.iter().rev() {
            let halves = |&number: &u32| halves(pairs.value(number));
            parts.push(left.iter().map(|number| halves(number).1).collect());
            left = left.iter().map(|number| halves(number).0).collect();
        }
        if !self.columns.is_empty() {
            parts.push(left);
        }
        parts.reverse();
        parts
    }
}

/// Two numbers as one word.
fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

fn halves(pair: u64) -> (u32, u32) {
    ((pair >> 32) as u32, pair as u32)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Date32Array, Float64Array, StringViewArray};

    use super::*;

    fn columns() -> Vec<ArrayRef> {
        vec![
            Arc::new(StringViewArray::from(vec![Some("b"), None, Some("b"), Some("a"), Some("b")])),
            Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::NAN), Some(0.0), None, Some(-1.0)])),
            Arc::new(BooleanArray::from(vec![true, true, true, false, true])),
            Arc::new(Date32Array::from(vec![7, 7, 7, -1, 7])),
        ]
    }

    const KINDS: [Kind; 4] = [Kind::Text, Kind::Float, Kind::Boolean, Kind::Date];

    #[test]
    fn keys_of_several_columns_are_found_again_and_ordered() {
        let mut keys = Keys::new(&KINDS, None).unwrap();
        let mut groups = Vec::new();
        keys.group_rows(&columns(), 5, &mut groups).unwrap();
        assert_eq!(groups, [0, 1, 0, 2, 3]);
        assert_eq!(keys.order(), [2, 3, 0, 1]);
        let mut other = Keys::new(&KINDS, None).unwrap();
        let later: Vec<ArrayRef> = columns().iter().map(|column| column.slice(3, 2)).collect();
        other.group_rows(&later, 2, &mut groups).unwrap();
        assert_eq!(other.absorb(&keys).unwrap(), [2, 3, 0, 1]);
        assert_eq!(other.columns([2, 3, 0, 1].into_iter()), keys.columns(0..4));
        assert_eq!((other.absorb(&keys).unwrap(), other.len()), (vec![2, 3, 0, 1], 4), "nothing new");
    }

    /// A long text in many keys is stored once, and stays so when tables are merged.
    #[test]
    fn keys_are_merged_without_being_written_out() {
        let (groups, long) = (1000, "x".repeat(60_000));
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![long.as_str(); groups]));
        let numbers: ArrayRef = Arc::new(Date32Array::from_iter_values(0..groups as i32));
        let mut full = Keys::new(&[Kind::Text, Kind::Date], None).unwrap();
        full.group_rows(&[texts, numbers], groups, &mut Vec::new()).unwrap();
        let mut empty = Keys::new(&[Kind::Text, Kind::Date], None).unwrap();
        assert_eq!(empty.absorb(&full).unwrap(), (0..groups as u32).collect::<Vec<_>>());
        assert!(empty.bytes() < 3 * 60_000, "{}", empty.bytes());
        assert_eq!(empty.columns(990..1000), full.columns(990..1000));
    }

    #[test]
    fn strangers_leave_no_trace() {
        let public = PublicKeys { columns: columns().iter().map(|column| column.slice(0, 3)).collect() };
        let mut keys = Keys::new(&KINDS, Some(&public)).unwrap();
        let (bytes, mut groups) = (keys.bytes(), Vec::new());
        keys.group_rows(&columns(), 5, &mut groups).unwrap();
        assert_eq!(groups, [0, 1, 0, DROPPED, DROPPED]);
        assert_eq!((keys.len(), keys.bytes()), (2, bytes));
    }
}
