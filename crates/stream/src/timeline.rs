//! Steps of time.

use crate::definition::{Definition, Step};

/// Equal steps of time, one after the other; all times in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// When the first step begins.
    start: i64,
    /// How long a step lasts.
    step: i64,
}

impl Timeline {
    /// Of a stream that was created at this time; none if its steps are of events. Steps end at multiples of their length, so the
    /// first may be shorter than the others.
    pub fn new(definition: &Definition, created: i64) -> Option<Self> {
        let Step::Clock(step) = definition.step() else { return None };
        Some(Self { start: created - created.rem_euclid(step), step })
    }

    /// When a step, counted from 1, ends and the next begins.
    pub fn end_of(self, step: u64) -> i64 {
        let end = i128::from(self.start) + i128::from(step) * i128::from(self.step);
        end.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// How many steps have ended by now.
    pub fn ended(self, now: i64) -> u64 {
        let since = i128::from(now) - i128::from(self.start);
        u64::try_from(since / i128::from(self.step)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_begins_where_the_one_before_ends() {
        let minutes = Timeline { start: -60_000, step: 60_000 };
        assert_eq!([-60_001, -60_000, -1, 0, 59_999, 60_000].map(|time| minutes.ended(time)), [0, 0, 0, 1, 1, 2]);
        assert_eq!((minutes.end_of(1), minutes.end_of(2)), (0, 60_000));
        let widest = Timeline { start: i64::MIN, step: 1000 };
        assert_eq!(widest.end_of(u64::MAX), i64::MAX);
    }
}
