//! Statistics of some of the units, to be merged with those of others.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use crate::error::{Error, Result};
use crate::feature::Items;
use crate::groups::{Group, Groups};
use crate::growth::Growth;
use crate::job::Plan;
use crate::keys::Keys;
use crate::memory::{Memory, Reservation};
use crate::totals::{Renumbering, Totals};
use crate::values::{New, Values};
use crate::wire;

/// The bytes for each bin of each group of the result: the exact count, then the noisy count, the value shown and its
/// text. Other numbers of the result take as much.
pub const BYTES_PER_BIN: usize = size_of::<i64>() + RESULT_BYTES;

/// The bytes for each group, shown or not, while groups are put in order: its place, whether it is shown, its digits in every
/// key column, and where its values start, three times over.
const SORTING_BYTES: usize = 64;
/// How often a text of the result is copied until it is shown.
const TEXT_COPIES: usize = 3;

/// Without the exact count.
const RESULT_BYTES: usize = 64;

/// Exact statistics of some of the units, whose rows were all in one process.
///
/// Parts of different units are merged by [`Bounding::merge`](crate::Bounding::merge).
///
/// # Privacy
/// A unit must not have rows in two parts: it could then contribute as much as its caps allow in each. A part is exact,
/// not private: handle it like the rows themselves.
pub struct Part {
    pub(crate) plan: Arc<Plan>,
    pub(crate) keys: Keys,
    pub(crate) items: Items,
    pub(crate) totals: Totals,
    held: Reservation,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Part(…)")
    }
}

impl Part {
    /// The statistics of no rows.
    pub(crate) fn new(plan: &Arc<Plan>, memory: &Memory) -> Self {
        Self {
            plan: Arc::clone(plan),
            keys: plan.keys.clone(),
            items: plan.features.items(),
            totals: plan.totals(memory),
            held: memory.reserve(),
        }
    }

    /// Serialises the part.
    ///
    /// # Errors
    /// If the type of a key or an item has no form as bytes. Types are the plan's, so this does not depend on the rows.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let column = |items: &Values| items.column(0..items.len() as u32);
        let items: Vec<Option<ArrayRef>> = self.items.iter().map(|items| items.as_ref().map(column)).collect();
        wire::write_part(&self.keys.columns(0..self.keys.len() as u32), &items, self.totals.state())
    }

    /// Reads the bytes written by [`Part::to_bytes`] for this plan.
    pub(crate) fn from_bytes(plan: &Arc<Plan>, memory: &Memory, bytes: &[u8]) -> Result<Self> {
        let broken = || Error::Bytes("a part cannot be read: it belongs to another job".to_owned());
        let mut part = Self::new(plan, memory);
        let told = wire::read_part(bytes, &part.keys)?;
        let groups = told.keys.first().map_or(1, |column| column.len());
        let items = told.items.iter().flatten().map(|column| column.len()).max().unwrap_or_default();
        part.make_room(groups, items, bytes.len())?;
        let mut numbers = Vec::new();
        part.keys.group_rows(&told.keys, groups, &mut numbers)?;
        if part.keys.len() != groups
            || !numbers.into_iter().eq(0..groups as u32)
            || told.items.len() != part.items.len()
        {
            return Err(broken());
        }
        for (items, column) in part.items.iter_mut().zip(&told.items) {
            match (items, column) {
                (None, None) => {}
                (Some(items), Some(column)) if items.data_type() == *column.data_type() => {
                    let mut numbers = Vec::new();
                    items.number(column, New::Numbered, &mut numbers);
                    if !numbers.into_iter().eq(0..column.len() as u32) {
                        return Err(broken());
                    }
                }
                _ => return Err(broken()),
            }
        }
        part.account()?;
        if !part.totals.restore(told.sums, groups, &part.items)? {
            return Err(broken());
        }
        Ok(part)
    }

    /// Reserves memory for groups and items.
    pub(crate) fn account(&mut self) -> Result<()> {
        let items: usize = self.items.iter().flatten().map(Values::bytes).sum();
        self.held.try_resize(self.keys.bytes() + items)
    }

    /// Reserves memory before this many keys and items are numbered, all of which may be new, with as many bytes of
    /// texts. To be corrected by `account` afterwards.
    pub(crate) fn make_room(&mut self, keys: usize, items: usize, texts: usize) -> Result<()> {
        let items: Growth = self.items.iter().flatten().map(|values| values.growth(items)).sum();
        self.held.try_resize((self.keys.growth(keys) + items).peak().saturating_add(texts))
    }

    /// Adds the keys and items of another part to the tables and returns their numbers here.
    ///
    /// If there is too little memory, nothing has changed.
    pub(crate) fn number(&mut self, other: &Self) -> Result<Renumbering> {
        let items = self.items.iter().flatten().zip(other.items.iter().flatten());
        let items: Growth = items.map(|(items, other)| items.growth_by(other)).sum();
        self.held.try_resize((self.keys.growth_by(&other.keys) + items).peak())?;
        let groups = self.keys.absorb(&other.keys)?;
        let mut all = Vec::new();
        for (items, other) in self.items.iter_mut().zip(&other.items) {
            all.push(items.as_mut().zip(other.as_ref()).map(|(items, other)| items.absorb(other)));
        }
        if self.items.iter().flatten().any(|items| items.len() > i32::MAX as usize) {
            return Err(Error::Memory);
        }
        self.account()?;
        Ok(Renumbering { groups, items: all })
    }

    /// Adds another part.
    pub(crate) fn absorb(&mut self, other: Self) -> Result<()> {
        let numbers = self.number(&other)?;
        self.totals.resize(self.keys.len())?;
        self.totals.absorb(other.totals, &numbers)
    }

    /// The statistics, if there is no other part. Nothing is made of a group that is not shown: one row may bring a million
    /// of them, and a query hundreds of measures.
    pub(crate) fn into_groups(mut self, memory: &Memory) -> Result<Groups> {
        self.totals.resize(self.keys.len())?;
        let mut reserved = memory.reserve();
        let each = SORTING_BYTES + self.plan.layout.keys * size_of::<u64>();
        reserved.try_grow(self.keys.len().saturating_mul(each))?;
        let all = self.plan.layout.keys == 0 || self.keys.are_public();
        let shown: Vec<bool> = self.totals.occupied().map(|occupied| all || occupied).collect();
        let mut order = self.keys.order();
        order.retain(|&group| shown[group as usize]);
        // No one else reserves memory for the result: there must be room for it, and for what is made from it.
        // Each group also has its two counts.
        let numbers = order.len().saturating_mul(2 + self.totals.width()).saturating_mul(RESULT_BYTES);
        let texts = self.keys.text_bytes(order.iter().copied()) + self.totals.text_bytes(&self.items);
        reserved.try_grow(numbers.saturating_add(texts.saturating_mul(TEXT_COPIES)))?;
        let finished = self.totals.finish(&self.items, &order);
        let mut measured: Vec<_> = finished.measured.into_iter().map(Vec::into_iter).collect();
        let counts = finished.units.into_iter().zip(finished.rows);
        let groups = counts.map(|(units, rows)| {
            let measured = measured.iter_mut().filter_map(Iterator::next).collect();
            Group { units, rows, measured }
        });
        let groups = groups.collect();
        Ok(Groups { keys: self.keys.columns(order.iter().copied()), groups })
    }
}
