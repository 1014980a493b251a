//! All items, and how often each occurs.

use foldhash::HashMap;

use super::{Measured, State, offsets};
use crate::feature::MISSING;
use crate::values::Values;

#[derive(Default)]
pub struct Frequencies {
    groups: usize,
    /// By group and number of the item.
    counts: HashMap<(u32, u32), u64>,
}

impl Frequencies {
    pub fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    pub fn add(&mut self, groups: &[u32], feature: &[i32]) {
        for (&group, &item) in groups.iter().zip(feature) {
            if item != MISSING {
                *self.counts.entry((group, item as u32)).or_default() += 1;
            }
        }
    }

    pub fn absorb(&mut self, other: Self, groups: &[u32], items: &[u32]) {
        for ((group, item), count) in other.counts {
            *self.counts.entry((groups[group as usize], items[item as usize])).or_default() += count;
        }
    }

    pub fn finish(self, items: &Values) -> Vec<Measured> {
        let mut all: Vec<((u32, u32), u64)> = self.counts.into_iter().collect();
        all.sort_unstable_by(|((group, item), _), ((other_group, other), _)| {
            group.cmp(other_group).then_with(|| items.compare(*item, *other))
        });
        let mut counts = vec![0; self.groups];
        all.iter().for_each(|&((group, _), _)| counts[group as usize] += 1);
        let of_group = |ends: &[usize]| {
            let entries = &all[ends[0]..ends[1]];
            let values = items.column(entries.iter().map(|&((_, item), _)| item));
            Measured::Items { values, counts: entries.iter().map(|&(_, count)| count).collect() }
        };
        offsets(&counts).windows(2).map(of_group).collect()
    }

    /// The bytes of all items' texts, in every group.
    pub fn text_bytes(&self, items: &Values) -> usize {
        self.counts.keys().map(|&(_, item)| items.text_bytes(item)).sum()
    }

    pub fn state(&self) -> State {
        State::Frequencies(self.counts.iter().map(|(&(group, item), &count)| (group, item, count)).collect())
    }

    pub fn restore(&mut self, counts: Vec<(u32, u32, u64)>, items: usize) -> bool {
        let fits = |&(group, item, _): &(u32, u32, u64)| (group as usize) < self.groups && (item as usize) < items;
        let fits = counts.iter().all(fits);
        self.counts = counts.into_iter().map(|(group, item, count)| ((group, item), count)).collect();
        fits
    }

    pub fn bytes(&self) -> usize {
        self.counts.capacity() * (size_of::<((u32, u32), u64)>() + 1)
    }
}
