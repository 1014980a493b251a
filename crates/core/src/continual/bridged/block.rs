//! One block of a bridged counter: its structure and the variance of its noise.

use serde::{Deserialize, Serialize};

use super::super::law::Law;
use super::super::stream::Stream;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::privacy::{Epsilon, Guarantee};

/// The largest fan-out: the noise of a node's children is drawn into a buffer of this size.
pub(super) const LARGEST_FAN_OUT: usize = 64;
/// The longest block.
const LONGEST_BLOCK: u64 = 1 << 60;
/// The largest part of ε, in units of the smallest.
const LARGEST_PART: u32 = 1 << 20;

/// How one block is divided, and how it divides ε.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPlan {
    /// The number of children into which a node is divided, from the block itself down to nodes of single steps; empty
    /// for a block of one step.
    pub fan_outs: Vec<u16>,
    /// The part of ε that the noise on the whole block uses.
    pub whole: u32,
    /// The part of ε that the noise on each level inside uses.
    pub inside: u32,
}

impl BlockPlan {
    /// The number of its steps; `None` if more than 2^60.
    pub fn length(&self) -> Option<u64> {
        let product = self.fan_outs.iter().try_fold(1u64, |length, &fan_out| length.checked_mul(fan_out.into()));
        product.filter(|length| *length <= LONGEST_BLOCK)
    }

    /// Its share of ε for the whole block, and for each level inside.
    pub(super) fn shares(&self) -> (f64, f64) {
        let total = f64::from(self.whole) + self.fan_outs.len() as f64 * f64::from(self.inside);
        (f64::from(self.whole) / total, f64::from(self.inside) / total)
    }
}

/// The nodes of one level of a block.
#[derive(Debug, Clone)]
pub(super) struct Level {
    pub fan_out: u64,
    /// Steps in a child.
    pub child: u64,
    /// k·σ² − D: the bridge adds u(1−u) times this to the variance at the fraction u of a node.
    pub bulge: f64,
}

/// A block ready to draw.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub length: u64,
    pub levels: Vec<Level>,
    pub whole: DiscreteLaplace,
    /// Unused if there are no levels.
    pub inside: DiscreteLaplace,
}

impl Block {
    pub fn new(stream: &Stream, epsilon: &Epsilon, plan: &BlockPlan) -> Result<Self> {
        let fan_outs_fit = plan.fan_outs.iter().all(|fan_out| (2..=LARGEST_FAN_OUT).contains(&usize::from(*fan_out)));
        let Some(length) = plan.length().filter(|_| fan_outs_fit) else {
            let found = format!("{:?}", plan.fan_outs);
            return Err(Error::parameter("fan-outs", found, "from 2 to 64 each, and at most 2^60 steps together"));
        };
        let parts = 1..=LARGEST_PART;
        if !parts.contains(&plan.whole) || !parts.contains(&plan.inside) {
            let found = format!("{}:{}", plan.whole, plan.inside);
            return Err(Error::parameter("parts of epsilon", found, "from 1 to 2^20 each"));
        }
        let total = u64::from(plan.whole) + plan.fan_outs.len() as u64 * u64::from(plan.inside);
        // ε·part/total on each p-sum is scale c·r·total/(part·ε): the law of one p-sum per step, under a smaller ε.
        let law = |part: u32| {
            let share = &Rational::from(u64::from(part)) / &Rational::from(total);
            let guarantee = Guarantee::Pure(Epsilon::new(epsilon.value() * &share)?);
            match Law::new(stream, &guarantee, 1)? {
                Law::Laplace(law) => Ok(law),
                Law::Gaussian(_) | Law::Rounded(_) => unreachable!("a pure guarantee has Laplace noise"),
            }
        };
        let (whole, inside) = (law(plan.whole)?, law(plan.inside)?);
        let levels = levels(&plan.fan_outs, length, whole.variance(), inside.variance());
        Ok(Self { length, levels, whole, inside })
    }

    /// The variance that the block adds at its step `step`, 1 to length, to that of its beginning.
    #[inline]
    pub fn variance(&self, step: u64) -> f64 {
        let slope = self.whole.variance() * (step as f64 / self.length as f64);
        let mut rest = step;
        let mut sum = slope;
        for level in &self.levels {
            if rest == level.child * level.fan_out {
                break;
            }
            let (index, within) = (rest / level.child, rest % level.child);
            sum += level.bulge * level.at(index, within as f64 / level.child as f64);
            if within == 0 {
                break;
            }
            rest = within;
        }
        sum
    }

    /// The sum of [`Block::variance`] over its first `steps` steps.
    pub fn total_variance(&self, steps: u64) -> f64 {
        let bulges: f64 = self.levels.iter().map(|level| level.bulge * level.total(steps)).sum();
        self.whole.variance() * ramp(steps, self.length) + bulges
    }
}

/// Σ s/length over s = 1 to `steps`.
pub(super) fn ramp(steps: u64, length: u64) -> f64 {
    steps as f64 * (steps as f64 + 1.0) / 2.0 / length as f64
}

/// The levels of a block, given the variances of the noise on the whole and on the nodes inside.
///
/// D is the variance of W_hi − W_lo for a node: σ₀² for the block; for a child, W_{j+1} − W_j = z_j + (τ − Σz)/k has
/// variance σ²(1 − 1/k)² + (k−1)σ²/k² + D/k² = σ²(1 − 1/k) + D/k².
pub(super) fn levels(fan_outs: &[u16], length: u64, whole: f64, inside: f64) -> Vec<Level> {
    let (mut child, mut difference) = (length, whole);
    let level = |&fan_out: &u16| {
        child /= u64::from(fan_out);
        let k = f64::from(fan_out);
        let bulge = k * inside - difference;
        difference = difference / (k * k) + inside * (1.0 - 1.0 / k);
        Level { fan_out: fan_out.into(), child, bulge }
    };
    fan_outs.iter().map(level).collect()
}

impl Level {
    /// u(1−u) at the boundaries of children, straight lines between them.
    #[inline]
    fn at(&self, index: u64, within: f64) -> f64 {
        let (k, j) = (self.fan_out as f64, index as f64);
        ((1.0 - within) * j * (k - j) + within * (j + 1.0) * (k - j - 1.0)) / (k * k)
    }

    /// The sum of [`Level::at`] over the first `steps` steps of a block.
    pub fn total(&self, steps: u64) -> f64 {
        let node = self.child * self.fan_out;
        (steps / node) as f64 * self.total_within(node) + self.total_within(steps % node)
    }

    fn total_within(&self, steps: u64) -> f64 {
        let (full, rest) = (steps / self.child, steps % self.child);
        let (k, c, j) = (self.fan_out as f64, self.child as f64, full as f64);
        // Σ_{i<j} i(k−i)/k².
        let below = |j: f64| (k * j * (j - 1.0) / 2.0 - (j - 1.0) * j * (2.0 * j - 1.0) / 6.0) / (k * k);
        // A child's steps weigh its ends by (c−1)/2 and (c+1)/2.
        let children = below(j) * (c - 1.0) / 2.0 + below(j + 1.0) * (c + 1.0) / 2.0;
        let risen = ramp(rest, self.child);
        let partial = (j * (k - j) * (rest as f64 - risen) + (j + 1.0) * (k - j - 1.0) * risen) / (k * k);
        children + partial
    }
}
