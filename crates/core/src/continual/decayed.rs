//! Exponentially decayed sums.

use serde::{Deserialize, Serialize};

use super::counter::{Counter, Saved, StreamCounter};
use super::error_bar;
use super::kind::CounterKind;
use super::p_sums::{Named, PSums};
use super::schedule::Schedule;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::ledger::Accounting;
use crate::permit::Permit;
use crate::privacy::Guarantee;
use crate::release::{LEVEL, Release};

/// 2^64, and 2^32: the units of decay and of decayed sums.
const DECAY_UNITS: f64 = SUM_UNITS * SUM_UNITS;
const SUM_UNITS: f64 = (1u64 << SUM_BITS) as f64;
const SUM_BITS: u32 = 32;
/// Half-lives up to about 2^24 steps: rounding stays below 2^−32/(1−γ) < 2^−7.
const LEAST_LOSS: f64 = 4e-8;

/// The rate of decay: γ, stored as 1 − γ in units of 2^−64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Decay(u64);

impl Decay {
    /// γ itself.
    ///
    /// # Errors
    /// If γ is not between 0 and 1 − 4·10^−8.
    pub fn factor(gamma: &Rational) -> Result<Self> {
        Self::losing((Rational::ONE - gamma.clone()).to_f64())
    }

    /// The number of steps after which a value counts half: γ = 2^(−1/steps).
    ///
    /// # Errors
    /// If it is not positive or longer than about 2^24 steps.
    pub fn half_life(steps: &Rational) -> Result<Self> {
        if !steps.is_positive() {
            return Err(Error::parameter("half-life", steps, "a positive number of steps"));
        }
        Self::losing(-libm::expm1(-std::f64::consts::LN_2 / steps.to_f64()))
    }

    fn losing(loss: f64) -> Result<Self> {
        if (LEAST_LOSS..1.0).contains(&loss) {
            // Below 2^64: the largest float under 1 is 1 − 2^−53.
            return Ok(Self((loss * DECAY_UNITS) as u64));
        }
        let allowed = "between 0 and 1 − 4e-8 a step (a half-life of at most 16,000,000 steps)";
        Err(Error::parameter("decay", 1.0 - loss, allowed))
    }

    /// ln γ.
    fn log(self) -> f64 {
        libm::log1p(-(self.0 as f64 / DECAY_UNITS))
    }

    /// γ·value, rounded towards 0.
    fn apply(self, value: i128) -> i128 {
        // γ·2^64 fits 64 bits, so both products fit 128.
        let gamma = u128::from(self.0.wrapping_neg());
        let (size, low) = (value.unsigned_abs(), u128::from(u64::MAX));
        let kept = (size >> 64) * gamma + (((size & low) * gamma) >> 64);
        let kept = i128::try_from(kept).unwrap_or(i128::MAX);
        if value < 0 { -kept } else { kept }
    }
}

impl TryFrom<u64> for Decay {
    type Error = Error;

    fn try_from(units: u64) -> Result<Self> {
        Self::losing(units as f64 / DECAY_UNITS).map(|_| Self(units))
    }
}

impl From<Decay> for u64 {
    fn from(decay: Decay) -> Self {
        decay.0
    }
}

/// The sum of all steps so far, each weighted by γ for every step since: D_t = Σ γ^(t−s)·x_s, released after every step.
///
/// # Privacy
/// D is computed from a counter's public releases alone: D_t = γ·D_(t−1) + (Y_t − Y_(t−1)). The guarantee is the
/// counter's, however D is rounded.
///
/// # Accuracy
/// Y is a counter of p-sums whose longest block repeats without end, so neither α nor the error grows with time. A p-sum
/// that ends at b enters Y at step b and leaves it at e, the end of the next longer block, if e > b (if e = b the longer one
/// takes its place at once and it is never used). So its noise z enters D_t as z·γ^(t−b) for b ≤ t < e and as
/// z·(γ^(t−b) − γ^(t−e)) from e on; the noise of the longest blocks as z·γ^(t−b). For blocks of length ℓ in blocks of length
/// P = kℓ the squares of these weights add up, with n = ⌊t/P⌋ and d = ⌊(t − nP)/ℓ⌋, to
///
/// > Σ_{i<k}(1 − γ^(iℓ))²·γ^(2(t−nP))·(1 − γ^(2nP))/(1 − γ^(2P)) + Σ_{i=1..d} γ^(2(t−nP−iℓ)),
///
/// and for the longest, with n = ⌊t/ℓ⌋, to γ^(2(t−nℓ))·(1 − γ^(2nℓ))/(1 − γ^(2ℓ)). The variance at t is the sum of these,
/// times the variance on one p-sum. Over long times it averages
///
/// > \[1/L + Σ_levels (2/P)·Σ_{i<k}(1 − γ^(iℓ))\]/(1 − γ²),
///
/// because a p-sum's squared weights add up over all later steps to (1 − γ^(2iℓ) + (1 − γ^(iℓ))²)/(1 − γ²), i·ℓ = e − b.
/// With single steps only it would be 1/(1 − γ²).
///
/// # Algorithm
/// The lengths are the powers of the radix, and their number α, with the least α²·average (pure ε) or α·average (ρ). D
/// is stored in units of 2^−32, γ in units of 2^−64; rounding each step towards 0 adds less than 2^−32/(1−γ), which
/// error bars include.
///
/// # Errors
/// If the decay is out of range or the guarantee calls for noise that cannot be drawn.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{Decay, DecayedCounter, Stream};
/// use reticent::privacy::Guarantee;
///
/// let decay = Decay::half_life(&"1440".parse()?)?; // what was a day ago counts half
/// let mut activity = DecayedCounter::start(decay, Stream::bits(), Guarantee::Pure("1".parse()?), Permit::unaccounted()?)?;
/// for _ in 0..100 {
///     let now = activity.step(5)?;
///     println!("{} ± {}", now.value(), now.error_bar().half_width());
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct DecayedCounter {
    counter: StreamCounter<PSums>,
    memory: Memory,
}

/// State computed from the releases; public, as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Memory {
    decay: Decay,
    /// D in units of 2^−32.
    decayed: i128,
    /// Y.
    last: i64,
}

/// A saved decayed counter; as secret as the data. See [`Saved`] for the purpose of the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedDecayed {
    counter: Saved<PSums>,
    memory: Memory,
}

impl SavedDecayed {
    /// Larger than those of all earlier saved states of the same counter.
    pub fn epoch(&self) -> u64 {
        self.counter.epoch()
    }
}

/// 1 − γ^steps.
fn lost(log_gamma: f64, steps: u64) -> f64 {
    -libm::expm1(log_gamma * steps as f64)
}

/// Σ of γ^(j·i·ℓ) for i = 1 to `count`, where `log_gamma` is that of γ^j.
fn powers(log_gamma: f64, length: u64, count: u64) -> f64 {
    let first = libm::exp(log_gamma * length as f64);
    first * lost(log_gamma, length.saturating_mul(count)) / lost(log_gamma, length)
}

/// The long-term average of the squared weights' sum.
fn average_weight(lengths: &[u64], log_gamma: f64) -> f64 {
    let below = |pair: &[u64]| {
        let (length, parent) = (pair[0], pair[1]);
        let others = parent / length - 1;
        2.0 / parent as f64 * (others as f64 - powers(log_gamma, length, others))
    };
    let longest = lengths[lengths.len() - 1];
    (1.0 / longest as f64 + lengths.windows(2).map(below).sum::<f64>()) / lost(2.0 * log_gamma, 1)
}

/// The sum of the squared weights of all p-sums at a step.
fn weight(lengths: &[u64], log_gamma: f64, step: u64) -> f64 {
    let twice = 2.0 * log_gamma;
    // Σ γ^(2(t−e)) over all ends e = P, 2P, … up to t.
    let ended = |period: u64| {
        let n = step / period;
        libm::exp(twice * (step % period) as f64) * lost(twice, n * period) / lost(twice, period)
    };
    let below = |pair: &[u64]| {
        let (length, parent) = (pair[0], pair[1]);
        let others = parent / length - 1;
        let squares = others as f64 - 2.0 * powers(log_gamma, length, others) + powers(twice, length, others);
        let rest = step % parent;
        let open = if rest < length {
            0.0
        } else {
            let newest = libm::exp(twice * (rest % length) as f64);
            newest * lost(twice, rest / length * length) / lost(twice, length)
        };
        squares * ended(parent) + open
    };
    ended(lengths[lengths.len() - 1]) + lengths.windows(2).map(below).sum::<f64>()
}

/// The lengths with the least average variance; `power` is the exponent with which a p-sum's variance grows with α.
fn best_lengths(decay: Decay, power: i32) -> Vec<u64> {
    let log_gamma = decay.log();
    let mut best = (average_weight(&[1], log_gamma), vec![1]);
    // Blocks much longer than the memory gain nothing: after 64/(1−γ) steps a weight is below e^−64.
    let farthest = 64.0 / lost(log_gamma, 1);
    for radix in 2..=64u64 {
        let mut lengths = vec![1u64];
        while (lengths[lengths.len() - 1] * radix) as f64 <= farthest {
            lengths.push(lengths[lengths.len() - 1] * radix);
            let cost = f64::from(lengths.len() as u32).powi(power) * average_weight(&lengths, log_gamma);
            if cost < best.0 {
                best = (cost, lengths.clone());
            }
        }
    }
    best.1
}

impl DecayedCounter {
    /// Charges the whole stream to the permit and starts.
    ///
    /// # Errors
    /// If the noise cannot be drawn or the permit does not cover the guarantee.
    pub fn start(decay: Decay, stream: Stream, guarantee: Guarantee, permit: Permit) -> Result<Self> {
        let power = if matches!(guarantee, Guarantee::Pure(_)) { 2 } else { 1 };
        let schedule = Schedule::blocks(best_lengths(decay, power))?;
        let strategy = PSums::new(stream, guarantee, Named { kind: CounterKind::Binary, schedule })?;
        let counter = StreamCounter::start(strategy, permit)?;
        Ok(Self { counter, memory: Memory { decay, decayed: 0, last: 0 } })
    }

    /// Closes a step with the sum of its values and returns D, without its error bar: the fast way.
    ///
    /// # Errors
    /// As [`Counter::advance`].
    pub fn advance(&mut self, value: i64) -> Result<f64> {
        let now = self.counter.advance(value)?;
        let Memory { decay, decayed, last } = &mut self.memory;
        let news = (i128::from(now) - i128::from(*last)) << SUM_BITS;
        // |D| < 2^65·2^32/(1−γ) < 2^122: no overflow, but a damaged state must not panic either.
        *decayed = decay.apply(*decayed).saturating_add(news);
        *last = now;
        Ok(self.decayed())
    }

    fn decayed(&self) -> f64 {
        self.memory.decayed as f64 / SUM_UNITS
    }

    /// Closes a step with the sum of its values and releases the decayed sum.
    ///
    /// # Errors
    /// As [`Counter::advance`].
    pub fn step(&mut self, value: i64) -> Result<Release<f64>> {
        self.advance(value)?;
        Ok(self.release().expect("a step was just closed"))
    }

    /// The last release again, without new noise; `None` before the first step.
    pub fn release(&self) -> Option<Release<f64>> {
        let value = self.value()?;
        let error = error_bar::of_release(self.half_width(self.steps(), LEVEL));
        Some(Release::new(value, error, self.guarantee().clone(), self.accounting().clone()))
    }

    /// The last value again, without new noise; `None` before the first step.
    pub fn value(&self) -> Option<f64> {
        (self.steps() > 0).then(|| self.decayed())
    }

    fn lengths(&self) -> &[u64] {
        self.counter.strategy().schedule().lengths().unwrap_or(&[1])
    }

    /// The exact variance of the noise at any step, past or future.
    pub fn variance(&self, step: u64) -> f64 {
        // The answer at step 1 is a single p-sum.
        weight(self.lengths(), self.memory.decay.log(), step) * self.counter.strategy().variance(1)
    }

    /// The long-term mean of the variances.
    pub fn average_variance(&self) -> f64 {
        average_weight(self.lengths(), self.memory.decay.log()) * self.counter.strategy().variance(1)
    }

    /// |noise| at a step, including all rounding, stays within this with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or the step is 0.
    pub fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if step == 0 {
            return Err(Error::parameter("step", step, "at least 1"));
        }
        let strategy = self.counter.strategy();
        let variance = self.variance(step);
        let shape = match strategy.shape(1) {
            // No weight exceeds 1.
            Shape::Sum { law, .. } => {
                let one = law.variance();
                Shape::Weighted { variance, largest: one, narrowest: one }
            }
            _ => Shape::Gaussian { variance },
        };
        // Error bars are for noise rounded to whole numbers; this noise is not rounded, so it may lie ½ farther out.
        let rounding = 0.5 + 1.0 / SUM_UNITS / lost(self.memory.decay.log(), 1);
        Ok(error_bar::half_width(shape, level)? + rounding)
    }

    /// The p-sums.
    pub fn schedule(&self) -> &Schedule {
        self.counter.strategy().schedule()
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        self.counter.stream()
    }

    /// The guarantee of all releases together.
    pub fn guarantee(&self) -> &Guarantee {
        self.counter.guarantee()
    }

    /// Where the stream was charged.
    pub fn accounting(&self) -> &Accounting {
        self.counter.accounting()
    }

    /// The number of steps released so far.
    pub fn steps(&self) -> u64 {
        self.counter.steps()
    }

    /// Saves it, in a new epoch.
    pub fn save(&mut self) -> SavedDecayed {
        SavedDecayed { counter: self.counter.save(), memory: self.memory.clone() }
    }

    /// Continues from a saved state. The permit must belong to the same charge; nothing is deducted from it.
    ///
    /// # Errors
    /// As [`StreamCounter::restore`].
    pub fn restore(saved: SavedDecayed, newest_epoch: u64, permit: Permit) -> Result<Self> {
        let counter = StreamCounter::restore(saved.counter, newest_epoch, permit)?;
        let blocks = counter.strategy().schedule().lengths().is_some();
        if !blocks || counter.value().unwrap_or(0) != saved.memory.last {
            return Err(Error::DamagedState);
        }
        Ok(Self { counter, memory: saved.memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use std::collections::BTreeMap;

    fn start(decay: Decay, epsilon: &str, seed: u64) -> DecayedCounter {
        let guarantee = Guarantee::Pure(epsilon.parse().unwrap());
        let permit = Permit::unaccounted_from(Entropy::seeded(seed));
        DecayedCounter::start(decay, Stream::new(0..=10).unwrap(), guarantee, permit).unwrap()
    }

    fn half_life(steps: u64) -> Decay {
        Decay::half_life(&Rational::from(steps)).unwrap()
    }

    #[test]
    fn values_are_the_weighted_sums() {
        for (decay, gamma) in [
            (half_life(3), 2f64.powf(-1.0 / 3.0)),
            (Decay::factor(&"0.9".parse().unwrap()).unwrap(), 0.9),
            (Decay::factor(&"0.25".parse().unwrap()).unwrap(), 0.25),
        ] {
            let mut counter = start(decay, "9000", 1);
            let mut exact = 0.0;
            for step in 0..200 {
                exact = exact * gamma + (step * step % 11) as f64;
                let value = counter.advance(step * step % 11).unwrap();
                assert!((value - exact).abs() < 1e-6, "{gamma} {step}: {value} {exact}");
            }
        }
    }

    /// By carrying the weight of every p-sum's noise through the recursion D_t = γ·D_(t−1) + (Y_t − Y_(t−1)).
    #[test]
    fn variances_are_those_of_the_recursion() {
        for steps in [1, 5, 40, 300] {
            let decay = half_life(steps);
            let counter = start(decay, "1", 1);
            let gamma = decay.log().exp();
            let longest = *counter.lengths().last().unwrap();
            for schedule in [counter.schedule().clone(), Schedule::blocks(vec![1, 3, 12]).unwrap()] {
                let mut weights: BTreeMap<(u64, u64), f64> = BTreeMap::new();
                let mut before = Vec::new();
                for step in 1..=3 * longest.max(12) {
                    let now = schedule.answer(step);
                    weights.values_mut().for_each(|weight| *weight *= gamma);
                    let ends = |sum: &std::ops::RangeInclusive<u64>| (*sum.start(), *sum.end());
                    now.iter().for_each(|sum| *weights.entry(ends(sum)).or_default() += 1.0);
                    before.iter().for_each(|sum| *weights.entry(ends(sum)).or_default() -= 1.0);
                    before = now;
                    let squares: f64 = weights.values().map(|weight| weight * weight).sum();
                    let predicted = weight(schedule.lengths().unwrap(), decay.log(), step);
                    assert!((predicted / squares - 1.0).abs() < 1e-6, "{steps} {step}: {predicted} {squares}");
                }
            }
        }
    }

    #[test]
    fn averages_are_those_of_long_times() {
        for lengths in [vec![1], vec![1, 7], vec![1, 3, 12]] {
            let log_gamma = half_life(20).log();
            let period = *lengths.last().unwrap();
            let begin = 100 * period * 20;
            let mean =
                (begin..begin + period).map(|step| weight(&lengths, log_gamma, step)).sum::<f64>() / period as f64;
            assert!((average_weight(&lengths, log_gamma) / mean - 1.0).abs() < 1e-9, "{lengths:?}");
        }
    }

    #[test]
    fn a_long_memory_does_not_pay_for_every_step() {
        // Single steps only, α = 1, would have 1/(1 − γ²) times the variance of scale-1 noise.
        let counter = start(half_life(100_000), "1", 1);
        let alpha = counter.lengths().len() as f64;
        let single =
            counter.counter.strategy().variance(1) / (alpha * alpha) * average_weight(&[1], counter.memory.decay.log());
        assert!(counter.average_variance() < single / 20.0, "{:?}", counter.schedule());
        // A short one needs no blocks.
        assert_eq!(start(half_life(1), "1", 1).lengths(), [1]);
    }

    #[test]
    fn a_restored_counter_goes_on() {
        let mut counter = start(half_life(10), "1", 1);
        for step in 0..30 {
            let text = serde_json::to_string(&counter.save()).unwrap();
            let saved: SavedDecayed = serde_json::from_str(&text).unwrap();
            let permit = || Permit::unaccounted_from(Entropy::seeded(step));
            assert!(DecayedCounter::restore(saved.clone(), step + 2, permit()).is_err());
            let [mut left, mut right] =
                [permit(), permit()].map(|permit| DecayedCounter::restore(saved.clone(), step + 1, permit).unwrap());
            assert_eq!(left.value(), counter.value());
            assert_eq!(left.advance(1).unwrap(), right.advance(1).unwrap());
            counter = left;
        }
        let mut other = counter.save();
        other.memory.last += 1;
        let permit = Permit::unaccounted_from(Entropy::seeded(1));
        assert!(matches!(DecayedCounter::restore(other, 0, permit), Err(Error::DamagedState)));
    }

    #[test]
    fn decays_outside_the_range_are_refused() {
        for gamma in ["1", "1.5", "0.99999999", "-0.1", "0"] {
            assert!(Decay::factor(&gamma.parse().unwrap()).is_err(), "{gamma}");
        }
        for steps in ["0", "-1", "20000000"] {
            assert!(Decay::half_life(&steps.parse().unwrap()).is_err(), "{steps}");
        }
        assert!(serde_json::from_str::<Decay>("5").is_err());
        assert_eq!(half_life(1), Decay::factor(&"0.5".parse().unwrap()).unwrap());
    }

    #[test]
    fn products_are_exact_at_any_size() {
        let half = half_life(1);
        for value in [0, 1, -1, 2, -7, i128::from(u64::MAX), i128::MAX, i128::MIN + 1, 1 << 100] {
            assert_eq!(half.apply(value), value / 2);
        }
    }
}
