//! (λ, δ)-usefulness, and the largest error of all steps together.
//!
//! A counter is (λ, δ)-useful at a step if |noise| ≤ λ there with probability at least 1 − δ \[CSS11\].

use serde::Serialize;

use super::any::AnyStrategy;
use super::error_bar;
use super::kind::CounterKind;
use super::schedule::Schedule;
use super::shape::Shape;
use crate::error::{Error, Result};
use crate::noise::Entropy;
use crate::numeric::laplace_sum::LaplaceSum;
use crate::numeric::{LEAST, weighted};

/// The maximum number of steps that one call of [`max_error`] simulates: about a thirtieth of a second.
const SIMULATED_STEPS: u64 = 1 << 19;
/// The maximum number of runs.
const MOST_RUNS: u64 = 1000;
/// The minimum number of runs in which the largest error should exceed the value: fewer say little about where it lies.
const FEWEST_BEYOND: f64 = 20.0;

/// A λ for which a counter is (λ, δ)-useful at a step: the smallest, up to the slack of [`Counter::half_width`].
///
/// [`Counter::half_width`]: super::Counter::half_width
///
/// # Errors
/// If δ lies outside 0 < δ < 1 or the step is 0.
///
/// # Example
/// ```
/// use reticent::continual::{CounterKind, Stream, usefulness};
/// use reticent::privacy::Guarantee;
///
/// let plan = CounterKind::Binary.plan(Stream::bits().until(1024)?, Guarantee::Pure("1".parse()?))?;
/// let lambda = usefulness::usefulness(&plan, 1000, 0.01)?;
/// assert!(usefulness::is_useful(&plan, 1000, lambda, 0.01)?);
/// // All 1024 steps together need more.
/// assert!(usefulness::usefulness_throughout(&plan, 1024, 0.01)? > lambda);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn usefulness(plan: &AnyStrategy, step: u64, delta: f64) -> Result<f64> {
    check(step, delta, "delta")?;
    Ok(error_bar::reach(plan.shape(step), delta))
}

/// Is |noise| ≤ λ at a step with probability at least 1 − δ? `true` is always correct; `false` may be wrong only if λ
/// is within a few per cent of the truth.
///
/// # Errors
/// As [`usefulness`].
pub fn is_useful(plan: &AnyStrategy, step: u64, lambda: f64, delta: f64) -> Result<bool> {
    Ok(usefulness(plan, step, delta)? <= lambda)
}

/// A λ such that |noise| ≤ λ at all of the first `steps` steps together with probability at least 1 − δ: proved, as for
/// [`max_error`].
///
/// # Errors
/// As [`usefulness`].
pub fn usefulness_throughout(plan: &AnyStrategy, steps: u64, delta: f64) -> Result<f64> {
    check(steps, delta, "delta")?;
    Ok(proved(plan, steps, delta).value)
}

/// The binary counter's λ for all n steps with probability at least 1 − 1/n, in closed form: 2√2·α·ln(2n²)·r/ε with α =
/// ⌊log₂n⌋ + 1, which is O(log²n/ε) \[CSS11\].
///
/// `range_over_epsilon` is c·r/ε: 1/ε for single events of size 1. [`usefulness_throughout`] finds a smaller λ.
///
/// # Algorithm
/// Each answer is a sum of at most α draws of scale b = α·r/ε, and by [`tails::simple`](super::tails::simple) exceeds λ with
/// probability at most 2e^(−λ²/8ν²), ν² = max(αb², λb/(2√2)). With λ = b·max(√(8α·ln(2n²)), 2√2·ln(2n²)) this is at most
/// 1/n², and 1/n for n steps together. α ≤ ln(2n²) for n ≥ 2, so the second is the larger; at n = 1 the first is taken.
pub fn binary_closed_form(range_over_epsilon: f64, n: u64) -> f64 {
    let n = n.max(1);
    let alpha = f64::from(n.ilog2() + 1);
    let log = libm::log(2.0) + 2.0 * libm::log(n as f64);
    alpha * range_over_epsilon * libm::sqrt(8.0 * log * alpha.max(log))
}

/// How a [`MaxError`] was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// From the exact law: the smallest whole number.
    Exact,
    /// The quantile of this many runs of the counter's own noise.
    Simulated {
        /// The number of runs.
        runs: u64,
    },
    /// Proved, and larger than necessary.
    Bound,
}

impl Basis {
    /// `exact`, `simulated` or `bound`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Simulated { .. } => "simulated",
            Self::Bound => "bound",
        }
    }
}

/// A bound on the largest |noise| of all steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MaxError {
    /// P(max over steps of |noise| ≤ value) ≥ level.
    pub value: f64,
    /// How it was found.
    pub is: Basis,
}

/// max |noise| over the first `steps` steps stays within this with probability at least `level`.
///
/// # Accuracy
/// - `output-noise` with Laplace noise: exact, because steps are independent: each may fail with 1 − level^(1/T).
/// - `input-noise`: Lévy's inequality P(max |S_t| > λ) ≤ 2·P(|S_T| > λ), for sums of symmetric draws. Nearly sharp.
/// - Short streams: simulated, 400 to 1000 runs at 95 %; the value is accurate to a few per cent.
/// - Otherwise a union bound over the steps. P-sums: Σ_β (steps with β p-sums)·P(|sum of β draws| > λ), within 8 % of
///   long simulations for `binary`; `two-level`: over blocks, with Lévy's inequality inside each. For other noise the
///   probability as a function of a step's variance is at most that of a convex function h with h(0) = 0
///   (see the proofs beside the error bars), so a step with variance v fails with at most v/v_max times the probability of the
///   worst, and all together with T·(average/worst) times it. For weighted sums this takes the largest single term and the
///   narrowest law of all T steps.
///
/// # Errors
/// If the level lies outside 0 < level < 1 or `steps` is 0; [`Error::Entropy`] if no entropy is available.
///
/// # Example
/// ```
/// use reticent::continual::{CounterKind, Stream, max_error};
/// use reticent::noise::Entropy;
/// use reticent::privacy::Guarantee;
///
/// let plan = CounterKind::Binary.plan(Stream::bits().until(1 << 20)?, Guarantee::Pure("1".parse()?))?;
/// let largest = max_error(&plan, 1 << 20, 0.95, &mut Entropy::from_os()?)?;
/// assert!(630.0 < largest.value && largest.value < 750.0); // 630 by long simulation; a bound
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn max_error(plan: &AnyStrategy, steps: u64, level: f64, entropy: &mut Entropy) -> Result<MaxError> {
    check(steps, level, "level")?;
    let bound = proved(plan, steps, 1.0 - level);
    let runs = (SIMULATED_STEPS / steps).min(MOST_RUNS);
    let enough = (1.0 - level) * runs as f64 >= FEWEST_BEYOND;
    if !enough || matches!(plan.kind(), CounterKind::OutputNoise | CounterKind::InputNoise) {
        return Ok(bound);
    }
    simulated_max_error(plan, steps, level, runs, entropy)
}

/// [`max_error`] by this many runs, however long they take.
///
/// # Errors
/// As [`max_error`].
pub fn simulated_max_error(
    plan: &AnyStrategy,
    steps: u64,
    level: f64,
    runs: u64,
    entropy: &mut Entropy,
) -> Result<MaxError> {
    check(steps, level, "level")?;
    let runs = runs.max(1);
    let mut largest = Vec::with_capacity(runs as usize);
    for _ in 0..runs {
        largest.push(plan.largest_noise(steps, &mut entropy.draw()?));
    }
    largest.sort_unstable();
    let within = (libm::ceil(level * runs as f64) as usize).clamp(1, largest.len());
    Ok(MaxError { value: largest[within - 1] as f64, is: Basis::Simulated { runs } })
}

fn check(steps: u64, probability: f64, name: &'static str) -> Result<()> {
    if steps == 0 {
        return Err(Error::parameter("step", steps, "at least 1"));
    }
    if !(probability > 0.0 && probability < 1.0) {
        return Err(Error::parameter(name, probability, "greater than 0 and less than 1"));
    }
    Ok(())
}

/// Without simulation.
fn proved(plan: &AnyStrategy, steps: u64, outside: f64) -> MaxError {
    let outside = outside.max(LEAST * steps as f64);
    let worst = plan.worst_variance(steps);
    // The factor by which fewer steps would fail if all that do had the worst variance.
    let share = outside * (worst / (plan.average_variance(steps) * steps as f64)).min(1.0);
    let bound = |value: f64| MaxError { value, is: Basis::Bound };
    match (plan.kind(), plan.shape(steps), weighted_extremes(plan, steps)) {
        (CounterKind::OutputNoise, shape, _) => {
            let each = -libm::expm1(libm::log1p(-outside) / steps as f64);
            let is = if matches!(shape, Shape::Sum { .. }) { Basis::Exact } else { Basis::Bound };
            MaxError { value: error_bar::reach(shape, each), is }
        }
        (CounterKind::InputNoise, shape, _) => bound(error_bar::reach(shape, outside / 2.0)),
        (_, Shape::Gaussian { .. }, _) => {
            let value = error_bar::reach(Shape::Gaussian { variance: worst }, share);
            // g is convex up to v = x²/3 only.
            if value * value >= 3.0 * worst {
                return bound(value);
            }
            bound(error_bar::reach(Shape::Gaussian { variance: worst }, outside / steps as f64))
        }
        // Whatever the last step's noise is.
        (_, _, Some(extremes)) => bound(largest_of_weighted(plan, steps, worst, extremes, outside)),
        (_, Shape::Weighted { .. }, None) => unreachable!("the largest weight of weighted draws is known"),
        (_, Shape::Sum { law, .. }, None) => {
            let scale = law.approximate_scale();
            let groups = match plan {
                AnyStrategy::PSums(sums) => failures_by_sums(sums.schedule(), steps),
                // The variance of a sum is that of a draw for each of its terms.
                #[allow(
                    unreachable_patterns,
                    reason = "there may be other strategies whose noise is a sum of equal draws"
                )]
                _ => vec![(libm::round(worst / law.variance()) as u64, steps as f64)],
            };
            bound(largest_of_sums(scale, &groups, outside))
        }
    }
}

/// For the answers at steps 1 to `steps` of a strategy that weights its draws or has several laws: the variances of the
/// narrowest law and of the largest weighted term.
fn weighted_extremes(plan: &AnyStrategy, steps: u64) -> Option<(f64, f64)> {
    match plan {
        AnyStrategy::Bridged(plan) => Some(plan.extremes(steps)),
        AnyStrategy::Honaker(plan) => Some(plan.extremes()),
        AnyStrategy::Hybrid(plan) => Some(plan.extremes(steps)),
        _ => None,
    }
}

/// h convex with h(0) = 0: for sums Σλᵢ·Eᵢ with λᵢ ≤ ℓ, E h is largest, given Σλᵢ = v, for ⌊v/ℓ⌋ terms ℓ and a rest; that
/// lies below the line between whole numbers of terms; and E h(ℓ·Gamma(k)) is convex in k, because the increments E\[h(S + ℓE) −
/// h(S)\] grow with S. So a step of variance v has at most v/(Mℓ) times the probability of M = ⌈v_max/ℓ⌉ terms.
fn largest_of_weighted(
    plan: &AnyStrategy,
    steps: u64,
    worst: f64,
    (narrowest, largest): (f64, f64),
    outside: f64,
) -> f64 {
    let largest = largest.min(worst);
    if largest <= 0.0 {
        return 0.0;
    }
    let whole = libm::ceil(worst / largest * (1.0 - 1e-9)) * largest;
    let share = outside * (whole / (plan.average_variance(steps) * steps as f64)).min(1.0);
    weighted::reach(whole, largest, narrowest, share.max(LEAST))
}

/// The smallest whole λ with Σ count·P(|sum of that many draws| > λ) ≤ outside, by the tails' upper bounds.
fn largest_of_sums(scale: f64, groups: &[(u64, f64)], outside: f64) -> f64 {
    let most = groups.iter().map(|group| group.0).max().unwrap_or(0);
    let all: f64 = groups.iter().map(|group| group.1).sum();
    let fails = |lambda: f64| {
        let tail = |&(terms, count): &(u64, f64)| 2.0 * count * LaplaceSum::new(scale, terms).upper_tail(lambda + 1.0);
        // The largest sums first: they make up most of the total.
        let mut left = outside;
        groups.iter().rev().any(|group| {
            left -= tail(group);
            left < 0.0
        })
    };
    // As if all were the largest, or as if only one step were: the answer lies in between.
    let mut high = LaplaceSum::new(scale, most).reach((outside / all).max(LEAST));
    while fails(high) {
        high = 2.0 * high + 1.0;
    }
    let mut low = -1.0;
    while high - low > 1.0 {
        let middle = libm::floor(0.5 * (low + high));
        if fails(middle) { low = middle } else { high = middle }
    }
    high
}

/// Which sums of draws must not fail, and how many times each, so that no answer at steps 1 to `steps` does.
///
/// Two lengths, 1 and B: within a block the noise is that of the k blocks before plus a growing sum of single steps. By
/// Lévy's inequality, P(|noise| > λ anywhere in the block) ≤ 2·P(|sum of k + B − 1 draws| > λ): twice for each block
/// instead of once for each step. Blocks are grouped, 64 groups in all, each with the terms of its last block.
fn failures_by_sums(schedule: &Schedule, steps: u64) -> Vec<(u64, f64)> {
    const PARTS: u64 = 64;
    let Some(&[1, block]) = schedule.lengths() else { return answers_by_sums(schedule, steps) };
    let blocks = steps / block + 1;
    let ends = (1..=PARTS).map(|part| (u128::from(blocks) * u128::from(part) / u128::from(PARTS)) as u64);
    let group = |from: &mut u64, to: u64| {
        Some((to.saturating_sub(1) + block - 1, 2.0 * (to - std::mem::replace(from, to)) as f64))
    };
    ends.scan(0, group).filter(|group| group.1 > 0.0).collect()
}

/// How many of the answers at steps 1 to `steps` add up each number of p-sums: in order, and with numbers of p-sums
/// rounded up to the largest if there are very many.
fn answers_by_sums(schedule: &Schedule, steps: u64) -> Vec<(u64, f64)> {
    const MANY: u64 = 128;
    let most = schedule.most_sums(steps);
    let Some(lengths) = schedule.lengths() else { return vec![(1, steps as f64)] };
    if most > MANY {
        return vec![(most, steps as f64)];
    }
    // Numbers below each length by the sum of their digits, the shortest length first.
    let mut below = vec![vec![1.0]];
    for pair in lengths.windows(2) {
        let last = below.last().expect("there is one");
        let mut next = vec![0.0; last.len() + (pair[1] / pair[0]) as usize - 1];
        for digit in 0..(pair[1] / pair[0]) as usize {
            last.iter().enumerate().for_each(|(sum, count)| next[digit + sum] += count);
        }
        below.push(next);
    }
    // 0 to `steps`: those that agree with `steps` in the longer digits and are smaller in this one; and `steps` itself.
    let mut counts = vec![0.0; most as usize + 1];
    let (mut rest, mut agreed) = (steps, 0_usize);
    for (length, below) in lengths.iter().zip(&below).rev() {
        for digit in 0..(rest / length) as usize {
            below.iter().enumerate().for_each(|(sum, count)| counts[agreed + digit + sum] += count);
        }
        agreed += (rest / length) as usize;
        rest %= length;
    }
    counts[agreed] += 1.0;
    // But not 0, the only one without digits.
    (0..).zip(counts).skip(1).filter(|group| group.1 > 0.0).collect()
}

#[cfg(test)]
mod tests;
