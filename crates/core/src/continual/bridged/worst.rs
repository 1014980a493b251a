//! The largest variance among many steps, without visiting them all.

use super::block::Block;

/// The largest of `begin` + [`Block::variance`] + `rounding` over the first `steps` steps of a block (`rounding` not at its
/// end), and `least`.
///
/// Branch and bound: inside a node the variance is at most that of the larger end plus a quarter of the bulge of every
/// level below, as u(1−u) ≤ ¼; nodes that cannot exceed the best so far are skipped.
pub(super) fn worst(block: &Block, begin: f64, steps: u64, rounding: f64, least: f64) -> f64 {
    // What the levels from each depth on can add.
    let mut above = vec![0.0];
    for level in block.levels.iter().rev() {
        above.push(above[above.len() - 1] + level.bulge.max(0.0) / 4.0);
    }
    above.reverse();
    let end = begin + block.whole.variance();
    let mut search = Search { block, steps, rounding, above, found: least };
    if steps >= block.length {
        search.found = search.found.max(end);
    }
    search.node(0, 0, begin, end);
    search.found
}

struct Search<'a> {
    block: &'a Block,
    steps: u64,
    rounding: f64,
    above: Vec<f64>,
    found: f64,
}

impl Search<'_> {
    /// Searches the node of this depth after `start` steps, with these variances at its ends.
    fn node(&mut self, depth: usize, start: u64, low: f64, high: f64) {
        let Some(level) = self.block.levels.get(depth) else { return };
        let k = level.fan_out;
        let at = |index: u64| {
            let u = index as f64 / k as f64;
            (1.0 - u) * low + u * high + u * (1.0 - u) * level.bulge
        };
        let mut children = Vec::new();
        for index in 0..k {
            let from = start + index * level.child;
            if from >= self.steps {
                break;
            }
            let (low, high) = (at(index), at(index + 1));
            // A child's end is a separate step; the last child's is the node's.
            if index + 1 < k && from + level.child <= self.steps {
                self.found = self.found.max(high + self.rounding);
            }
            children.push((low.max(high) + self.rounding + self.above[depth + 1], from, low, high));
        }
        // The most promising first, so that the others can be skipped.
        children.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (bound, from, low, high) in children {
            if bound > self.found {
                self.node(depth + 1, from, low, high);
            }
        }
    }
}
