//! Half-widths that hold for all steps so far at once.

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The half-width within which |noise| stays at *every* step so far, with one probability for all of them together.
///
/// # Accuracy
/// By the union bound: with t steps so far and N the smallest power of two that is at least t, each step stays within
/// its own half-width except with probability (1 − level)/N, so all of them together except with probability 1 − level;
/// the largest of these half-widths is used. When t passes N, all steps are evaluated again: twice for each step in the
/// long run.
///
/// # Example
/// ```
/// use reticent::continual::{CounterKind, Stream, Throughout};
/// use reticent::privacy::Guarantee;
///
/// # use reticent::continual::Counter;
/// let stream = Stream::bits().until(100)?;
/// let counter = CounterKind::Binary.start(stream, Guarantee::Pure("1".parse()?), reticent::Permit::unaccounted()?)?;
/// let mut throughout = Throughout::new(0.95);
/// let of_one_step = |step, level| counter.half_width(step, level);
/// let at_once = throughout.up_to(100, of_one_step)?;
/// assert!(at_once > counter.half_width(100, 0.95)?);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Throughout {
    level: f64,
    /// N.
    room: u64,
    /// t.
    steps: u64,
    widest: f64,
}

impl Throughout {
    /// Before the first step.
    pub fn new(level: f64) -> Self {
        Self { level, room: 0, steps: 0, widest: 0.0 }
    }

    /// The level for all steps together.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The number of steps covered.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The half-width for the steps covered so far.
    pub fn half_width(&self) -> f64 {
        self.widest
    }

    /// Covers all steps up to this one, which must not be before those already covered; `one` gives the half-width of one step
    /// at a level.
    ///
    /// # Errors
    /// Those of `one`.
    pub fn up_to(&mut self, step: u64, one: impl Fn(u64, f64) -> Result<f64>) -> Result<f64> {
        if step > self.room {
            *self = Self { room: step.next_power_of_two(), ..Self::new(self.level) };
        }
        let each = (1.0 - self.level) / self.room as f64;
        // 1 − each is rounded; the next float is on the safe side, and below 1 for fewer than 2^48 steps.
        let level = (1.0 - each).next_up().min(1.0 - f64::EPSILON / 2.0);
        for step in self.steps + 1..=step {
            self.widest = self.widest.max(one(step, level)?);
        }
        self.steps = self.steps.max(step);
        Ok(self.widest)
    }
}
