//! Group keys, numbered.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, UInt32Array};
use datafusion::arrow::compute::{SortOptions, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{plan_err, resources_err};
use datafusion::error::Result;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

use super::canonical::{canonical, cast};
use super::choice::Chooser;
use super::layout::Layout;

/// Keys that are known beforehand, as one array per key column.
///
/// Rows with other keys are dropped before anything is chosen, and every key appears in the result, with or without rows.
#[derive(Debug, Clone)]
pub struct PublicKeys {
    /// All of one length; their types can be cast to those of the plan's keys. A key that occurs twice counts once.
    pub columns: Vec<ArrayRef>,
}

impl PublicKeys {
    /// Which key each group of the result is of: groups come in canonical order, which depends on the types of the plan's
    /// keys, while these keys may stand in any. Nothing if two of them are one key in those types.
    ///
    /// # Errors
    /// If the schema is not what the layout says, or the keys cannot be cast to its types.
    pub fn order(&self, layout: &Layout, schema: &Schema) -> Result<Option<Vec<u32>>> {
        layout.check(schema)?;
        let keys = Keys::new(layout.key_types(schema), Some(self), None)?;
        match &keys.known {
            None => Ok(Some(vec![0])),
            Some(known) if known.count != known.columns[0].len() => Ok(None),
            Some(known) => sorted(&known.columns).map(Some),
        }
    }
}

/// The number of a row that is dropped: its key is none of the public ones.
pub(super) const DROPPED: u32 = u32::MAX;
/// Keys that are not public are remembered until so many came, so that the table of keys stays small.
const STRANGERS: usize = 1 << 16;

/// Numbers keys in the order in which they come; the public ones, if there are any, are numbered first.
pub(super) struct Keys {
    types: Vec<DataType>,
    /// `None` without key columns: there is one group.
    values: Option<Box<dyn GroupValues>>,
    known: Option<Known>,
    /// What stands for each key when groups are chosen; empty without a chooser.
    digests: Vec<u128>,
    chooser: Option<Chooser>,
    numbers: Vec<usize>,
}

struct Known {
    columns: Vec<ArrayRef>,
    count: usize,
}

impl Keys {
    /// Of columns of these types, in canonical form. With a chooser, every key gets its digest.
    pub fn new(types: Vec<DataType>, known: Option<&PublicKeys>, chooser: Option<Chooser>) -> Result<Self> {
        let values = if types.is_empty() { None } else { Some(table(&types)?) };
        let mut keys = Self { types, values, known: None, digests: Vec::new(), chooser, numbers: Vec::new() };
        if keys.values.is_none() {
            if let Some(chooser) = &keys.chooser {
                keys.digests.push(chooser.shorten(&[]));
            }
            return Ok(keys);
        }
        let Some(known) = known else { return Ok(keys) };
        if known.columns.len() != keys.types.len() {
            return plan_err!("{} key columns are public, but there are {}", known.columns.len(), keys.types.len());
        }
        let in_type = |(column, kind): (&ArrayRef, &DataType)| {
            cast(&canonical(column)?, kind).and_then(|column| canonical(&column))
        };
        let columns = known.columns.iter().zip(&keys.types).map(in_type).collect::<Result<Vec<_>>>()?;
        keys.number(&columns, columns[0].len())?;
        let count = keys.len();
        keys.known = Some(Known { columns, count });
        Ok(keys)
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        let numbered = self.values.as_ref().map_or(1, |values| values.len());
        self.known.as_ref().map_or(numbered, |known| known.count)
    }

    /// What stands for each key when groups are chosen.
    pub fn digests(&self) -> &[u128] {
        &self.digests
    }

    pub fn bytes(&self) -> usize {
        self.values.as_ref().map_or(0, |values| values.size()) + self.digests.capacity() * size_of::<u128>()
    }

    /// The group of every row, into `groups`; [`DROPPED`] if its key is not public.
    pub fn group_rows(&mut self, columns: &[ArrayRef], rows: usize, groups: &mut Vec<u32>) -> Result<()> {
        groups.clear();
        if self.values.is_none() {
            groups.resize(rows, 0);
            return Ok(());
        }
        let columns = columns.iter().map(canonical).collect::<Result<Vec<_>>>()?;
        self.number(&columns, rows)?;
        match &self.known {
            None => groups.extend(self.numbers.iter().map(|&number| number as u32)),
            Some(known) => {
                let public = |&number: &usize| if number < known.count { number as u32 } else { DROPPED };
                groups.extend(self.numbers.iter().map(public));
                self.forget_strangers()?;
            }
        }
        Ok(())
    }

    fn number(&mut self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        let Some(values) = &mut self.values else { return Ok(()) };
        let before = values.len();
        values.intern(columns, &mut self.numbers)?;
        debug_assert_eq!(self.numbers.len(), rows);
        if values.len() >= DROPPED as usize {
            return resources_err!("there are more groups than can be numbered");
        }
        // A stranger needs no digest: its rows are dropped.
        if values.len() > before && self.known.is_none() {
            self.digest(columns, before)?;
        }
        Ok(())
    }

    /// Gives every key from number `before` on its digest.
    fn digest(&mut self, columns: &[ArrayRef], before: usize) -> Result<()> {
        let (Some(chooser), Some(values)) = (&self.chooser, &self.values) else { return Ok(()) };
        let mut first = vec![u32::MAX; values.len() - before];
        for (row, &number) in self.numbers.iter().enumerate() {
            if number >= before && first[number - before] == u32::MAX {
                first[number - before] = row as u32;
            }
        }
        let first = UInt32Array::from(first);
        let fresh = columns.iter().map(|column| Ok(take(column, &first, None)?)).collect::<Result<Vec<_>>>()?;
        let rows = in_order(&self.types)?.convert_columns(&fresh)?;
        self.digests.extend(rows.iter().map(|row| chooser.shorten(row.data())));
        Ok(())
    }

    fn forget_strangers(&mut self) -> Result<()> {
        let (Some(known), Some(values)) = (&self.known, &mut self.values) else { return Ok(()) };
        if values.len() > known.count + STRANGERS {
            *values = table(&self.types)?;
            values.intern(&known.columns, &mut self.numbers)?;
        }
        Ok(())
    }

    /// All keys in the order of their numbers.
    pub fn into_columns(mut self) -> Result<Vec<ArrayRef>> {
        let count = self.len();
        let Some(values) = &mut self.values else { return Ok(Vec::new()) };
        let all = values.emit(EmitTo::All)?;
        Ok(all.into_iter().map(|column| column.slice(0, count)).collect())
    }
}

fn table(types: &[DataType]) -> Result<Box<dyn GroupValues>> {
    let fields = types.iter().enumerate().map(|(place, kind)| Field::new(place.to_string(), kind.clone(), true));
    new_group_values(Arc::new(Schema::new(fields.collect::<Vec<_>>())), &GroupOrdering::None)
}

/// Rows of these types as bytes in canonical order: ascending, NULL last.
pub(super) fn in_order(types: &[DataType]) -> Result<RowConverter> {
    let order = SortOptions { descending: false, nulls_first: false };
    Ok(RowConverter::new(types.iter().map(|kind| SortField::new_with_options(kind.clone(), order)).collect())?)
}

/// The places of rows in canonical order.
pub(super) fn sorted(columns: &[ArrayRef]) -> Result<Vec<u32>> {
    let Some(first) = columns.first() else { return Ok(vec![0]) };
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let rows: Rows = in_order(&types)?.convert_columns(columns)?;
    let mut places: Vec<u32> = (0..first.len() as u32).collect();
    places.sort_unstable_by(|&a, &b| rows.row(a as usize).cmp(&rows.row(b as usize)));
    Ok(places)
}
