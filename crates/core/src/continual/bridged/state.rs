//! The state of a bridged counter.

use serde::{Deserialize, Serialize};

use super::block::{Block, LARGEST_FAN_OUT};
use crate::continual::packed;
use crate::noise::DiscreteLaplace;

/// Noise is stored in units of 2^−20.
pub(super) const FRACTION_BITS: u32 = 20;
/// Reciprocals of fan-outs are stored in units of 2^−24.
const RECIPROCAL_BITS: u32 = 24;
/// A state with more noise is rejected. A draw is below 2^63, its fixed point below 2^83, and a node's remainder is a
/// difference of at most 2^10 of them: its product with a reciprocal stays below 2^(93 + 24), and below 2^126 even from
/// an accepted state that was forged.
const LARGEST: i128 = 1 << 100;

/// The noise at the boundaries of all open nodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bridges {
    /// The number of blocks entered.
    pub(super) blocks: u64,
    /// The noise at the end of the open block.
    end: i128,
    /// From the open block down to the open node of single steps.
    open: Vec<Node>,
}

/// An open node.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Node {
    /// The noise at the boundaries of its children that have not been passed, the last boundary first: the final
    /// element is the boundary with which the next child begins.
    #[serde(with = "packed")]
    ahead: Vec<i128>,
}

impl Node {
    fn is_spent(&self) -> bool {
        self.ahead.len() == 1
    }

    /// Bridges from `low` to `high`: keeps the ends and sets the boundaries in between.
    fn open(&mut self, fan_out: usize, low: i128, high: i128, mut fill: impl FnMut(&mut [i64])) {
        let mut draws = [0; LARGEST_FAN_OUT];
        let draws = &mut draws[..fan_out];
        fill(draws);
        let sum: i128 = draws.iter().map(|&draw| i128::from(draw)).sum();
        // In the remainder the data cancel, so it may be rounded in any way.
        let left = high - low - (sum << FRACTION_BITS);
        let reciprocal = (1 << RECIPROCAL_BITS) / fan_out as i128;
        let each = (left * reciprocal) >> RECIPROCAL_BITS;
        self.ahead.resize(fan_out + 1, 0);
        self.ahead[0] = high;
        let mut bound = low;
        for (slot, &draw) in self.ahead[1..fan_out].iter_mut().rev().zip(draws.iter()) {
            bound += (i128::from(draw) << FRACTION_BITS) + each;
            *slot = bound;
        }
        self.ahead[fan_out] = low;
    }

    /// The ends of the next child.
    #[inline]
    fn enter(&mut self) -> (i128, i128) {
        let low = self.ahead.pop().expect("a node that is not spent has two boundaries ahead");
        (low, self.ahead[self.ahead.len() - 1])
    }
}

/// The nearest whole number, the upper one if two are equally near: a floor, so that adding a whole number before or
/// after makes no difference.
#[inline]
pub(super) fn rounded(noise: i128) -> i128 {
    (noise + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS
}

impl Bridges {
    pub(super) fn new() -> Self {
        Self { blocks: 0, end: 0, open: Vec::new() }
    }

    /// The noise of the next step, in fixed point; `block` gives the block with an index, `fill` draws from a law.
    #[inline]
    pub(super) fn next<'a>(
        &mut self,
        block: impl Fn(u64) -> &'a Block,
        fill: impl FnMut(&'a DiscreteLaplace, &mut [i64]),
    ) -> i128 {
        if let Some(node) = self.open.last_mut()
            && !node.is_spent()
        {
            return node.enter().1;
        }
        self.enter(block, fill)
    }

    /// Opens everything that begins with the next step.
    fn enter<'a>(
        &mut self,
        block: impl Fn(u64) -> &'a Block,
        mut fill: impl FnMut(&'a DiscreteLaplace, &mut [i64]),
    ) -> i128 {
        let (mut depth, (mut low, mut high));
        if let Some(parent) = self.open.iter().rposition(|node| !node.is_spent()) {
            depth = parent + 1;
            (low, high) = self.open[parent].enter();
        } else {
            let block = block(self.blocks);
            self.blocks += 1;
            let mut draw = [0];
            fill(&block.whole, &mut draw);
            low = self.end;
            high = low + (i128::from(draw[0]) << FRACTION_BITS);
            self.end = high;
            self.open.resize_with(block.levels.len(), Node::default);
            depth = 0;
        }
        let block = block(self.blocks - 1);
        while depth < self.open.len() {
            let fan_out = block.levels[depth].fan_out as usize;
            self.open[depth].open(fan_out, low, high, |draws| fill(&block.inside, draws));
            (low, high) = self.open[depth].enter();
            depth += 1;
        }
        high
    }

    /// Could this be the state after `offset` steps, 1 to its length, of block number `blocks`, counted from 1?
    pub(super) fn fits(&self, block: &Block, blocks: u64, offset: u64) -> bool {
        if self.blocks != blocks || self.open.len() != block.levels.len() {
            return false;
        }
        // The end of the open node, according to its parent.
        let mut end = self.end;
        let mut rest = offset - 1;
        let fits = |noise: &i128| noise.unsigned_abs() <= LARGEST.unsigned_abs();
        for (node, level) in self.open.iter().zip(&block.levels) {
            let index = rest / level.child;
            rest %= level.child;
            let sound = node.ahead.len() as u64 == level.fan_out - index
                && node.ahead.iter().all(fits)
                && node.ahead.first() == Some(&end);
            if !sound {
                return false;
            }
            end = node.ahead[node.ahead.len() - 1];
        }
        fits(&self.end)
    }

    /// Is this the state before the first step?
    pub(super) fn is_new(&self) -> bool {
        self.blocks == 0 && self.end == 0 && self.open.is_empty()
    }
}
