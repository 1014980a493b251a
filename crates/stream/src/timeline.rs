//! Time steps.

use serde::{Deserialize, Serialize};

/// Consecutive time steps of equal length. All times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Timeline {
    from: i64,
    step: i64,
}

#[derive(Deserialize)]
struct Unchecked {
    from: i64,
    step: i64,
}

impl TryFrom<Unchecked> for Timeline {
    type Error = &'static str;

    fn try_from(Unchecked { from, step }: Unchecked) -> Result<Self, Self::Error> {
        Self::new(from, step).ok_or("a step must last at least a millisecond")
    }
}

impl Timeline {
    /// Steps of length `step`, starting at `from`; `None` if the length is not positive.
    pub fn new(from: i64, step: i64) -> Option<Self> {
        (step > 0).then_some(Self { from, step })
    }

    /// Steps that end at multiples of their length, such as full minutes; the first of them contains `time`.
    pub(crate) fn aligned(time: i64, step: i64) -> Option<Self> {
        Self::new(time.checked_sub(time.checked_rem_euclid(step)?)?, step)
    }

    /// The start of the first step.
    pub fn start(self) -> i64 {
        self.from
    }

    /// The length of a step.
    pub fn step(self) -> i64 {
        self.step
    }

    /// The step, counted from 1, that contains `time`; `None` before the first.
    pub fn step_of(self, time: i64) -> Option<u64> {
        let since = i128::from(time) - i128::from(self.from);
        (since >= 0).then(|| u64::try_from(since / i128::from(self.step)).unwrap_or(u64::MAX).saturating_add(1))
    }

    /// The number of steps that have ended at `now`.
    pub fn ended(self, now: i64) -> u64 {
        self.step_of(now).map_or(0, |step| step - 1)
    }

    /// The end of a step, counted from 1, which is the start of the next.
    pub fn end_of(self, step: u64) -> i64 {
        let end = i128::from(self.from) + i128::from(step) * i128::from(self.step);
        end.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The number of steps from the start to `to`; `None` if it is not a whole number.
    pub fn steps_until(self, to: i64) -> Option<u64> {
        let (length, step) = (i128::from(to) - i128::from(self.from), i128::from(self.step));
        (length > 0 && length % step == 0).then(|| (length / step) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_begins_where_the_one_before_ends() {
        let minutes = Timeline::new(-60_000, 60_000).unwrap();
        let times = [-60_001, -60_000, -1, 0, 59_999, 60_000];
        assert_eq!(times.map(|time| minutes.step_of(time)), [None, Some(1), Some(1), Some(2), Some(2), Some(3)]);
        assert_eq!(times.map(|time| minutes.ended(time)), [0, 0, 0, 1, 1, 2]);
        assert_eq!((minutes.end_of(1), minutes.end_of(2)), (0, 60_000));
        assert_eq!([60_000, 60_001, -60_000].map(|to| minutes.steps_until(to)), [Some(2), None, None]);
        let widest = Timeline::new(i64::MIN, 1).unwrap();
        assert_eq!((widest.step_of(i64::MAX), widest.end_of(u64::MAX)), (Some(u64::MAX), i64::MAX));
    }

    #[test]
    fn aligned_steps_end_at_multiples_of_their_length() {
        let minutes = Timeline::aligned(61_500, 60_000).unwrap();
        assert_eq!((minutes.start(), minutes.end_of(1)), (60_000, 120_000));
        assert_eq!(Timeline::aligned(-1, 60_000).unwrap().end_of(1), 0);
    }

    #[test]
    fn no_step_is_without_length() {
        assert_eq!((Timeline::new(0, 0), Timeline::new(0, -1), Timeline::aligned(7, 0)), (None, None, None));
        assert!(serde_json::from_str::<Timeline>(r#"{"from":0,"step":0}"#).is_err());
        let minutes = Timeline::new(7, 60_000).unwrap();
        let text = serde_json::to_string(&minutes).unwrap();
        assert_eq!(text, r#"{"from":7,"step":60000}"#);
        assert_eq!(serde_json::from_str::<Timeline>(&text).unwrap(), minutes);
    }
}
