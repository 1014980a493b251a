//! The dyadic intervals behind the pan-private counters.

use std::ops::RangeInclusive;

/// The *left* dyadic blocks \[k·2^(ℓ+1) + 1, k·2^(ℓ+1) + 2^ℓ\], k ≥ 0, on levels ℓ below `levels`, that end at `last` or
/// before.
///
/// Any \[1, m\] with m ≤ `last` and m < 2^`levels` is composed of them: for each 1 in the binary digits of m, from the
/// highest to the lowest, one block of that length, which begins where the ones before it end. Those before it are
/// longer, so it begins after a multiple of 2^(ℓ+1) steps: it is a left block, and ends at m or before. Right blocks
/// never occur.
///
/// Step i lies in the left block of level ℓ exactly if digit ℓ of i − 1 is 0, so on each level at most one block is
/// open at any time; and the block that ends with step i is of level ℓ = the number of trailing zeros of i.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocks {
    levels: u32,
    last: u64,
}

impl Blocks {
    /// `levels` is less than 63, `last` at most 2^40.
    pub(super) fn new(levels: u32, last: u64) -> Self {
        Self { levels, last }
    }

    /// The maximum number of levels that have blocks.
    pub(super) fn levels(self) -> u32 {
        self.levels
    }

    /// The block of a level that a step lies in, if there is one.
    #[inline]
    pub(super) fn around(self, level: u32, step: u64) -> Option<RangeInclusive<u64>> {
        let length = 1u64 << level;
        let before = step - 1;
        let start = before & !(length - 1);
        (before & length == 0 && start + length <= self.last).then_some(start + 1..=start + length)
    }

    /// The levels of the blocks that begin with a step.
    #[inline]
    pub(super) fn beginning(self, step: u64) -> impl Iterator<Item = u32> {
        let candidates = (step - 1).trailing_zeros().min(self.levels);
        (0..candidates).filter(move |&level| self.around(level, step).is_some())
    }

    /// The level of the block that ends with a step, if one does.
    #[inline]
    pub(super) fn ending(self, step: u64) -> Option<u32> {
        let level = step.trailing_zeros();
        (level < self.levels && step <= self.last).then_some(level)
    }

    /// The blocks that have begun but not ended after this many steps.
    pub(super) fn open_after(self, steps: u64) -> impl Iterator<Item = (u32, RangeInclusive<u64>)> {
        let around = move |level| self.around(level, steps.max(1)).map(|block| (level, block));
        (0..self.levels).filter_map(around).filter(move |(_, block)| steps > 0 && *block.end() > steps)
    }

    /// The number of blocks that a step lies in.
    pub(super) fn count(self, step: u64) -> u64 {
        (0..self.levels).filter(|&level| self.around(level, step).is_some()).count() as u64
    }

    /// The sum of [`Blocks::count`] over steps 1 to `steps`.
    ///
    /// On level ℓ the first 2^ℓ of every 2^(ℓ+1) steps lie in a block, until the blocks that end in time are used up.
    pub(super) fn total(self, steps: u64) -> u128 {
        let level = |level: u32| {
            let length = 1u64 << level;
            let begun = steps / (2 * length) * length + (steps % (2 * length)).min(length);
            let blocks = if self.last < length { 0 } else { (self.last - length) / (2 * length) + 1 };
            u128::from(begun.min(blocks * length))
        };
        (0..self.levels).map(level).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_put_together_from_left_blocks() {
        for last in 0..70u64 {
            let levels = u64::BITS - last.leading_zeros();
            let blocks = Blocks::new(levels, last);
            for m in 0..=last {
                let mut next = 1;
                while next <= m {
                    let step = next;
                    let longest = (0..levels).rev().filter_map(|level| blocks.around(level, step));
                    let block = longest.into_iter().find(|block| *block.start() == step && *block.end() <= m).unwrap();
                    next = block.end() + 1;
                }
                assert_eq!(next, m + 1);
            }
        }
    }

    #[test]
    fn beginnings_ends_and_counts_agree_with_the_blocks_written_out() {
        for last in 0..70u64 {
            for levels in 0..7 {
                let blocks = Blocks::new(levels, last);
                let mut total = 0;
                for step in 1..=last + 3 {
                    let around: Vec<_> =
                        (0..levels).filter_map(|level| Some((level, blocks.around(level, step)?))).collect();
                    assert!(around.iter().all(|(level, block)| {
                        block.contains(&step) && *block.end() <= last && block.end() - block.start() + 1 == 1 << level
                    }));
                    let begin = around.iter().filter(|(_, block)| *block.start() == step).map(|(level, _)| *level);
                    assert_eq!(blocks.beginning(step).collect::<Vec<_>>(), begin.collect::<Vec<_>>());
                    let end = around.iter().filter(|(_, block)| *block.end() == step).map(|(level, _)| *level);
                    assert_eq!(blocks.ending(step).into_iter().collect::<Vec<_>>(), end.collect::<Vec<_>>());
                    let open: Vec<_> = around.iter().filter(|(_, block)| *block.end() > step).cloned().collect();
                    assert_eq!(blocks.open_after(step).collect::<Vec<_>>(), open);
                    total += around.len() as u128;
                    assert_eq!((blocks.count(step), blocks.total(step)), (around.len() as u64, total));
                }
            }
        }
    }
}
