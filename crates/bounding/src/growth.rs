//! The memory that lists and hash tables take while they grow.

use std::iter::Sum;
use std::ops::Add;

/// A hash table fills at most seven eighths of its slots, whose number is a power of two.
const LOAD: (usize, usize) = (7, 8);

/// Slots of a small table, and control bytes beyond those of the slots.
const LEAST_SLOTS: usize = 16;

/// The bytes of some lists and tables after entries were added, and while they are.
///
/// All of them double whenever they are full. The old memory is released once its contents have moved, so the last
/// move needs half of the final size in addition. They move one after another: of several, only the largest such half
/// is needed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Growth {
    after: usize,
    moved: usize,
}

impl Growth {
    /// Memory that does not move.
    pub fn fixed(bytes: usize) -> Self {
        Self { after: bytes, moved: 0 }
    }

    /// A list to which this many entries may be added.
    pub fn of_list<T>(list: &Vec<T>, more: usize) -> Self {
        let (before, wanted) = (list.capacity(), list.len().saturating_add(more));
        let mut capacity = before;
        while capacity < wanted {
            capacity = capacity.saturating_mul(2).max(4);
        }
        Self::from_to(before, capacity, size_of::<T>())
    }

    /// A hash table of entries of type `T`, to which this many may be added.
    pub fn of_table<T>(capacity: usize, len: usize, more: usize) -> Self {
        let wanted = capacity.max(len.saturating_add(more));
        if wanted == 0 {
            return Self::default();
        }
        let slots = |capacity: usize| {
            (capacity.saturating_mul(LOAD.1) / LOAD.0)
                .max(LEAST_SLOTS)
                .checked_next_power_of_two()
                .unwrap_or(usize::MAX)
        };
        // One control byte per slot, and padding.
        let table = Self::from_to(slots(capacity), slots(wanted), size_of::<T>() + 1);
        table + Self::fixed(2 * LEAST_SLOTS)
    }

    fn from_to(before: usize, after: usize, entry: usize) -> Self {
        let bytes = after.saturating_mul(entry);
        Self { after: bytes, moved: if after > before { bytes / 2 } else { 0 } }
    }

    /// The most bytes at any time.
    pub fn peak(self) -> usize {
        self.after.saturating_add(self.moved)
    }
}

impl Add for Growth {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { after: self.after.saturating_add(other.after), moved: self.moved.max(other.moved) }
    }
}

impl Sum for Growth {
    fn sum<All: Iterator<Item = Self>>(all: All) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use hashbrown::HashTable;

    use super::*;

    /// Never less than what is then allocated, and not twice as much.
    #[test]
    fn growth_is_foreseen() {
        for len in (0..70).chain([447, 448, 449, 896, 897]) {
            for more in (0..70).chain([1000]) {
                let (mut list, mut table) = (Vec::new(), HashTable::new());
                let mut add = |entries: usize| {
                    for entry in 0..entries as u64 {
                        list.push(entry);
                        table.insert_unique(entry, (entry, 0_u32), |(entry, _)| *entry);
                    }
                    (Growth::of_list(&list, more), Growth::of_table::<(u64, u32)>(table.capacity(), table.len(), more))
                };
                let (foreseen, table_foreseen) = add(len);
                add(more);
                assert_eq!(foreseen.after, list.capacity() * size_of::<u64>(), "{len} + {more}");
                let (least, most) = (table.allocation_size(), 2 * table.allocation_size().max(17 * 16));
                assert!((least..most).contains(&table_foreseen.after), "{len} + {more}");
            }
        }
    }

    #[test]
    fn one_table_moves_at_a_time() {
        let (small, large) = (vec![0_u8; 64], vec![0_u8; 1024]);
        let all = || [Growth::of_list(&small, 1), Growth::of_list(&large, 1), Growth::fixed(5)].into_iter();
        assert_eq!(all().sum::<Growth>().peak(), 128 + 2048 + 5 + 1024);
        assert_eq!((Growth::of_list(&large, 0) + Growth::fixed(5)).peak(), 1024 + 5, "nothing moves");
    }
}
