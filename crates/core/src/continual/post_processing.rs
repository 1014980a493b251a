//! Releases corrected to satisfy known constraints.

use serde::{Deserialize, Serialize};

use super::counter::Counter;
use super::kind::CounterKind;
use super::stream::Stream;
use super::throughout::Throughout;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::privacy::Guarantee;
use crate::release::LEVEL;

/// A constraint that the true values are known to satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Never negative: max(Y, 0) is released in place of Y. The caller vouches for this (people in a room: joins minus
    /// leaves); error bars rely on it.
    NonNegative,
    /// Starts at 0 and never falls: the largest of 0 and all Y so far is released. Only for values that are never
    /// negative.
    Monotone,
}

/// A counter whose releases satisfy a [`Rule`].
///
/// # Privacy
/// A function of the counter's releases alone: the guarantee is unchanged.
///
/// # Accuracy
/// - `NonNegative`: with S ≥ 0, |max(Y, 0) − S| ≤ |Y − S|: no release is farther from the truth than before. Error bars
///   are unchanged.
/// - `Monotone`: with R_t = max(0, Y_1, …, Y_t) and S never falling, |Y_s − S_s| ≤ λ for all s ≤ t implies |R_t − S_t| ≤ λ.
///   *Proof.* R_t ≥ Y_t ≥ S_t − λ; and R_t is 0 ≤ S_t or some Y_s ≤ S_s + λ ≤ S_t + λ. ∎ So the largest error up to any step
///   is not larger than before. A single step's error can be: R_t is too high if any earlier Y was. Hence its error bar at
///   level 1 − β is one that holds for all steps up to t at once ([`Throughout`]).
/// - Both bias the releases upwards where S is small compared to the noise. [`Counter::variance`] remains that of the
///   noise before; around 0 the mean square error is less.
///
/// # Algorithm
/// The last release and the half-width for all steps so far are stored.
///
/// # Errors
/// `Monotone` is refused for streams with negative values.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{Counter, CounterKind, PostProcessed, Rule, Stream};
/// use reticent::privacy::Guarantee;
///
/// let counter = CounterKind::Auto.start(Stream::bits().until(100)?, Guarantee::Pure("1".parse()?), Permit::unaccounted()?)?;
/// let mut visitors = PostProcessed::new(counter, Rule::Monotone)?;
/// let mut last = 0;
/// for _ in 0..100 {
///     let total = visitors.advance(1)?;
///     assert!(total >= last);
///     last = total;
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct PostProcessed<C> {
    counter: C,
    rule: Rule,
    memory: Memory,
}

/// The state of a [`PostProcessed`] counter besides its counter; public, as releases are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The last release.
    value: i64,
    /// At [`LEVEL`], for a running maximum.
    throughout: Throughout,
}

impl Default for Memory {
    fn default() -> Self {
        Self { value: 0, throughout: Throughout::new(LEVEL) }
    }
}

impl<C: Counter> PostProcessed<C> {
    /// A counter's releases under a rule, from its first step on.
    ///
    /// # Errors
    /// If the rule is [`Rule::Monotone`] and values can be negative, or the counter has already begun.
    pub fn new(counter: C, rule: Rule) -> Result<Self> {
        if counter.steps() > 0 {
            return Err(Error::parameter("steps", counter.steps(), "0: a counter is post-processed from its start"));
        }
        Self::resume(counter, rule, Memory::default())
    }

    /// Continues with a restored counter and the memory that was saved with it.
    ///
    /// # Errors
    /// If the rule is [`Rule::Monotone`] and values can be negative; [`Error::DamagedState`] if the memory cannot
    /// belong to the counter.
    pub fn resume(counter: C, rule: Rule, memory: Memory) -> Result<Self> {
        let (low, high) = counter.stream().range();
        if rule == Rule::Monotone && low < 0 {
            return Err(Error::parameter(
                "range",
                format!("{low}..{high}"),
                "without negative values for a monotone sum",
            ));
        }
        let covered = if rule == Rule::Monotone { counter.steps() } else { 0 };
        if memory.value < 0
            || memory.throughout.steps() != covered
            || memory.throughout.level().to_bits() != LEVEL.to_bits()
        {
            return Err(Error::DamagedState);
        }
        Ok(Self { counter, rule, memory })
    }

    /// The counter itself.
    pub fn counter(&self) -> &C {
        &self.counter
    }

    /// The counter itself, for saving; its steps must go through this wrapper.
    pub fn counter_mut(&mut self) -> &mut C {
        &mut self.counter
    }

    /// The state to save along with the counter.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// The rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }
}

impl<C: Counter> Counter for PostProcessed<C> {
    fn kind(&self) -> CounterKind {
        self.counter.kind()
    }

    fn stream(&self) -> &Stream {
        self.counter.stream()
    }

    fn guarantee(&self) -> &Guarantee {
        self.counter.guarantee()
    }

    fn accounting(&self) -> &Accounting {
        self.counter.accounting()
    }

    fn steps(&self) -> u64 {
        self.counter.steps()
    }

    fn advance(&mut self, value: i64) -> Result<i64> {
        let noisy = self.counter.advance(value)?;
        let least = match self.rule {
            Rule::NonNegative => 0,
            Rule::Monotone => self.memory.value,
        };
        self.memory.value = noisy.max(least);
        if self.rule == Rule::Monotone {
            let (counter, step) = (&self.counter, self.counter.steps());
            self.memory.throughout.up_to(step, |step, level| counter.half_width(step, level))?;
        }
        Ok(self.memory.value)
    }

    fn value(&self) -> Option<i64> {
        (self.steps() > 0).then_some(self.memory.value)
    }

    fn variance(&self, step: u64) -> f64 {
        self.counter.variance(step)
    }

    fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if self.rule == Rule::NonNegative || step == 0 || !(level > 0.0 && level < 1.0) {
            return self.counter.half_width(step, level);
        }
        if step == self.steps() && level == self.memory.throughout.level() {
            return Ok(self.memory.throughout.half_width());
        }
        Throughout::new(level).up_to(step, |step, level| self.counter.half_width(step, level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permit;
    use crate::continual::AnyCounter;
    use crate::noise::Entropy;

    fn start(stream: Stream, seed: u64) -> AnyCounter {
        let permit = Permit::unaccounted_from(Entropy::seeded(seed));
        CounterKind::Binary.start(stream.until(64).unwrap(), Guarantee::Pure("1".parse().unwrap()), permit).unwrap()
    }

    #[test]
    fn the_largest_error_does_not_grow() {
        for seed in 0..200 {
            for rule in [Rule::NonNegative, Rule::Monotone] {
                let mut plain = start(Stream::bits(), seed);
                let mut ruled = PostProcessed::new(start(Stream::bits(), seed), rule).unwrap();
                let (mut sum, mut worst, mut last) = (0, 0, 0);
                for step in 0..64 {
                    let value = i64::from(step % 3 == 0);
                    sum += value;
                    let error = (plain.advance(value).unwrap() - sum).abs();
                    worst = worst.max(error);
                    let released = ruled.advance(value).unwrap();
                    assert_eq!(ruled.value(), Some(released));
                    let bound = if rule == Rule::NonNegative { error } else { worst };
                    assert!(released >= 0 && (released - sum).abs() <= bound, "{rule:?} {seed} {step}");
                    assert!(rule == Rule::NonNegative || released >= last);
                    last = released;
                }
            }
        }
    }

    #[test]
    fn error_bars_of_a_maximum_hold_for_all_steps_at_once() {
        let mut ruled = PostProcessed::new(start(Stream::bits(), 1), Rule::Monotone).unwrap();
        for step in 1..=64u64 {
            ruled.advance(1).unwrap();
            let bar = ruled.half_width(step, 0.95).unwrap();
            // At least that of every step so far, each with its share of the failure probability.
            let share = 1.0 - 0.05 / step as f64;
            for earlier in 1..=step {
                assert!(bar >= ruled.counter().half_width(earlier, share).unwrap());
            }
            // A step in the past is looked up, with the same result.
            assert!(step == 1 || ruled.half_width(step - 1, 0.95).unwrap() <= bar);
        }
        assert!(ruled.half_width(0, 0.95).is_err() && ruled.half_width(5, 1.0).is_err());
    }

    #[test]
    fn sums_that_can_fall_are_not_made_monotone() {
        let head_count = || start(Stream::new(-1..=1).unwrap(), 1);
        assert!(PostProcessed::new(head_count(), Rule::Monotone).is_err());
        assert!(PostProcessed::new(head_count(), Rule::NonNegative).is_ok());
    }

    #[test]
    fn memory_goes_with_its_counter() {
        let mut ruled = PostProcessed::new(start(Stream::bits(), 1), Rule::Monotone).unwrap();
        for _ in 0..10 {
            ruled.advance(1).unwrap();
        }
        let memory: Memory = serde_json::from_str(&serde_json::to_string(&ruled.memory()).unwrap()).unwrap();
        let saved = ruled.counter_mut().save().unwrap();
        let permit = || Permit::unaccounted_from(Entropy::seeded(2));
        let restored = || AnyCounter::restore(saved.clone(), 0, permit()).unwrap();
        assert_eq!(PostProcessed::resume(restored(), Rule::Monotone, memory).unwrap().value(), ruled.value());
        assert!(PostProcessed::resume(restored(), Rule::Monotone, Memory::default()).is_err());
        assert!(PostProcessed::new(restored(), Rule::Monotone).is_err());
    }
}
