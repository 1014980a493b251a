//! The blocks with the least average error.

use super::super::stream::Stream;
use super::block::{BlockPlan, LARGEST_FAN_OUT, levels};
use crate::privacy::Epsilon;

/// Parts of ε are chosen as multiples of this fraction of the part of one level.
const PARTS: f64 = 1024.0;
/// The maximum number of blocks that are tried; the best number is near a third of the fan-out.
const MOST_BLOCKS: u64 = 32;
/// The maximum number of levels inside a block that are tried; nine of fan-out 20 reach 2^40 steps.
const MOST_LEVELS: u32 = 12;
/// The fan-out inside the blocks of a stream without end, and how much longer each block is than the one before: near the
/// best of the fan-outs from 8 to 24, which differ little.
const GROWTH: u16 = 16;
/// Blocks of a stream without end: 16, 16², …, 16^15 = 2^60 steps; the last is repeated.
const GROWING_BLOCKS: usize = 15;

/// How the steps that are averaged over weigh the noise on a block as a whole, and the noise on the levels inside: the
/// average variance is whole·σ₀² + inside·σ₁², summed over blocks.
#[derive(Debug, Clone, Copy, Default)]
struct Weights {
    whole: f64,
    inside: f64,
}

/// The weights of a block in the sum of variances over `within` of its steps and `after` steps behind it.
fn weights(fan_outs: &[u16], length: u64, within: u64, after: u64) -> Weights {
    // A block's own noise has the weight s/length at its step s, and 1 after it.
    let (s, n) = (within as f64, length as f64);
    let whole = after as f64 + s * (s + 1.0) * (2.0 * s + 1.0) / (6.0 * n * n);
    let inside = levels(fan_outs, length, 0.0, 1.0).iter().map(|level| level.bulge * level.total(within)).sum();
    Weights { whole, inside }
}

/// The division of ε with the least whole/ε₀² + inside/ε₁² under ε₀ + h·ε₁ = ε: ε₀ : ε₁ = whole^⅓ : (inside/h)^⅓.
fn plan(fan_outs: &[u16], weights: Weights) -> BlockPlan {
    let ratio = libm::cbrt(weights.whole * fan_outs.len() as f64 / weights.inside);
    let whole = if fan_outs.is_empty() || !ratio.is_finite() { PARTS } else { libm::round(ratio * PARTS) };
    BlockPlan { fan_outs: fan_outs.to_vec(), whole: whole.clamp(1.0, PARTS * PARTS) as u32, inside: PARTS as u32 }
}

/// 2p/(1−p)², p = e^−ε.
fn laplace_variance(epsilon: f64) -> f64 {
    let sinh = libm::sinh(epsilon / 2.0);
    0.5 / (sinh * sinh)
}

/// Equal blocks for a number of steps, their fan-outs equal or one apart, each with its own division of ε: the noise on an
/// early block as a whole stays in all later answers, so early blocks spend more on it.
pub(super) fn for_steps(stream: &Stream, epsilon: &Epsilon, steps: u64) -> Vec<BlockPlan> {
    let rate = epsilon.value().to_f64() / (stream.max_steps() as f64 * stream.max_change() as f64);
    let mut best: Option<(f64, Vec<BlockPlan>)> = None;
    for (blocks, fan_outs) in candidates(steps) {
        let length: u64 = fan_outs.iter().map(|&fan_out| u64::from(fan_out)).product();
        let mut error = 0.0;
        let mut plans = Vec::new();
        for block in 0..blocks {
            let begin = block * length;
            if begin >= steps {
                break;
            }
            let within = length.min(steps - begin);
            let weights = weights(&fan_outs, length, within, steps - begin - within);
            let plan = plan(&fan_outs, weights);
            let (whole, inside) = plan.shares();
            error += weights.whole * laplace_variance(rate * whole) + weights.inside * laplace_variance(rate * inside);
            plans.push(plan);
        }
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, plans));
        }
    }
    best.map_or_else(Vec::new, |(_, plans)| plans)
}

/// For every number of blocks and levels: fan-outs, equal or one apart, that just reach, and equal ones up to two larger,
/// which leave the last block unfinished.
fn candidates(steps: u64) -> impl Iterator<Item = (u64, Vec<u16>)> {
    let shapes = (1..=MOST_BLOCKS.min(steps)).flat_map(|blocks| (0..=MOST_LEVELS).map(move |levels| (blocks, levels)));
    shapes.flat_map(move |(blocks, levels)| {
        let needed = u128::from(steps.div_ceil(blocks));
        let reached = move |small: u64, large: u32| {
            u128::from(small).pow(levels - large) * u128::from(small + 1).pow(large) >= needed
        };
        let just = (1..LARGEST_FAN_OUT as u64).find(|&small| reached(small, levels));
        let bases = just.into_iter().flat_map(|small| small..=(small + 2).min(LARGEST_FAN_OUT as u64 - 1));
        let larger = bases.filter_map(move |small| Some((small, (0..=levels).find(|&large| reached(small, large))?)));
        larger.filter(move |(small, large)| *small > 1 || *large == levels).flat_map(move |(small, large)| {
            let first: Vec<u16> = (0..levels).map(|level| small as u16 + u16::from(level < large)).collect();
            let last = first.iter().rev().copied().collect();
            [(blocks, first), (blocks, last)]
        })
    })
}

/// Blocks of 16, 16², … steps, each with the division of ε that minimises the sum of the average errors up to 2^6, 2^8,
/// …, 2^40 steps, each relative to ln³ of the steps (the growth of counters' variances).
pub(super) fn without_end() -> Vec<BlockPlan> {
    let mut begin = 0;
    let mut plans: Vec<BlockPlan> = Vec::new();
    for levels in 1..=GROWING_BLOCKS {
        let fan_outs = vec![GROWTH; levels];
        let length = u64::from(GROWTH).pow(levels as u32);
        let mut sum = Weights::default();
        for steps in (6..=40).step_by(2).map(|exponent| 1u64 << exponent).filter(|&steps| steps > begin) {
            let within = length.min(steps - begin);
            let weights = weights(&fan_outs, length, within, steps - begin - within);
            let log = 1.0 + libm::log(steps as f64);
            let relative = 1.0 / (steps as f64 * log * log * log);
            sum.whole += relative * weights.whole;
            sum.inside += relative * weights.inside;
        }
        // Blocks that begin beyond 2^40, or are hardly entered before, divide ε like the last one that was optimised.
        let weighed = begin + length <= 1 << 40;
        let parts = if weighed { plan(&fan_outs, sum) } else { plans[plans.len() - 1].clone() };
        plans.push(BlockPlan { fan_outs, ..parts });
        begin += length;
    }
    plans
}
