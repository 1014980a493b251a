//! All items, and how often each occurs.

use foldhash::HashMap;

use super::{Measured, State, offsets};
use crate::error::Result;
use crate::feature::MISSING;
use crate::growth::Growth;
use crate::memory::{Memory, Reservation};
use crate::values::Values;

pub struct Frequencies {
    groups: usize,
    /// By group and number of the item.
    counts: HashMap<(u32, u32), u64>,
    held: Reservation,
}

impl Frequencies {
    pub fn new(memory: &Memory) -> Self {
        Self { groups: 0, counts: HashMap::default(), held: memory.reserve() }
    }

    pub fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    /// Makes room for as many rows, even if no two have the same item.
    pub fn prepare(&mut self, rows: usize) -> Result<()> {
        self.held.try_resize(self.peak(rows))
    }

    fn peak(&self, rows: usize) -> usize {
        Growth::of_table::<((u32, u32), u64)>(self.counts.capacity(), self.counts.len(), rows).peak()
    }

    /// Releases what was reserved for items that were not new.
    fn settle(&mut self) {
        self.held.shrink(self.held.bytes().saturating_sub(self.peak(0)));
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32]) {
        for (&group, &item) in groups.iter().zip(feature) {
            if item != MISSING {
                *self.counts.entry((group, item as u32)).or_default() += 1;
            }
        }
        self.settle();
    }

    pub fn absorb(&mut self, other: &Self, groups: &[u32], items: &[u32]) -> Result<()> {
        self.prepare(other.counts.len())?;
        for (&(group, item), count) in &other.counts {
            *self.counts.entry((groups[group as usize], items[item as usize])).or_default() += count;
        }
        self.settle();
        Ok(())
    }

    pub fn finish(self, items: &Values, groups: &[u32]) -> Vec<Measured> {
        let mut all: Vec<((u32, u32), u64)> = self.counts.into_iter().collect();
        all.sort_unstable_by(|((group, item), _), ((other_group, other), _)| {
            group.cmp(other_group).then_with(|| items.compare(*item, *other))
        });
        let mut counts = vec![0; self.groups];
        all.iter().for_each(|&((group, _), _)| counts[group as usize] += 1);
        let offsets = offsets(&counts);
        let of_group = |&group: &u32| {
            let entries = &all[offsets[group as usize]..offsets[group as usize + 1]];
            let values = items.column(entries.iter().map(|&((_, item), _)| item));
            Measured::Items { values, counts: entries.iter().map(|&(_, count)| count).collect() }
        };
        groups.iter().map(of_group).collect()
    }

    /// The bytes of all items' texts, in every group.
    pub fn text_bytes(&self, items: &Values) -> usize {
        self.counts.keys().map(|&(_, item)| items.text_bytes(item)).sum()
    }

    pub fn state(&self) -> State {
        State::Frequencies(self.counts.iter().map(|(&(group, item), &count)| (group, item, count)).collect())
    }

    pub fn restore(&mut self, counts: Vec<(u32, u32, u64)>, items: usize) -> Result<bool> {
        self.prepare(counts.len())?;
        let fits = |&(group, item, _): &(u32, u32, u64)| (group as usize) < self.groups && (item as usize) < items;
        let fits = counts.iter().all(fits);
        self.counts = counts.into_iter().map(|(group, item, count)| ((group, item), count)).collect();
        Ok(fits)
    }
}
