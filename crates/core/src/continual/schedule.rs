//! Which p-sums a counter keeps.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A choice of p-sums: sums of the values of consecutive steps, each released once with fresh noise.
///
/// α is the number of p-sums that one step is in, which determines the noise; β the number of p-sums that one answer
/// adds up, which determines the error: about α·√β/ε.
///
/// | schedule | α | β |
/// |---|---|---|
/// | [`Schedule::prefixes`]: \[1, t\] for every t | T | 1 |
/// | [`Schedule::steps`]: \[t, t\] for every t | 1 | t |
/// | [`Schedule::two_level`]: blocks of ⌈√T⌉ and single steps | 2 | up to 2√T |
/// | [`Schedule::binary`]: dyadic blocks | ⌊log₂T⌋ + 1 | ones in the binary digits of t |
///
/// # Example
/// ```
/// use reticent::continual::Schedule;
///
/// let binary = Schedule::binary(1024);
/// assert_eq!(binary.sums_per_step(), 11);
/// assert_eq!(binary.answer(13), vec![1..=8, 9..=12, 13..=13]);
/// assert_eq!(binary.sums_per_answer(13), 3);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PSums", into = "PSums")]
pub struct Schedule(PSums);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PSums {
    /// \[1, t\] for every t up to this one.
    Prefixes(u64),
    /// Consecutive blocks of each of these lengths, each length a multiple of the one before, the first 1.
    Blocks(Vec<u64>),
}

impl Schedule {
    /// \[1, t\] for every t up to the horizon: each answer has its own noise.
    pub fn prefixes(horizon: u64) -> Self {
        Self(PSums::Prefixes(horizon.max(1)))
    }

    /// Every step separately: each input has its own noise.
    pub fn steps() -> Self {
        Self(PSums::Blocks(vec![1]))
    }

    /// Blocks of ⌈√T⌉ steps, and single steps.
    pub fn two_level(horizon: u64) -> Self {
        let root = horizon.isqrt();
        let block = if root * root < horizon { root + 1 } else { root };
        Self(PSums::Blocks(if block > 1 { vec![1, block] } else { vec![1] }))
    }

    /// Dyadic blocks of up to 2^⌊log₂T⌋ steps.
    pub fn binary(horizon: u64) -> Self {
        Self(PSums::Blocks((0..=horizon.max(1).ilog2()).map(|level| 1 << level).collect()))
    }

    /// Blocks of the given lengths.
    ///
    /// # Errors
    /// If the first length is not 1 or one is not a proper multiple of the one before.
    pub fn blocks(lengths: Vec<u64>) -> Result<Self> {
        PSums::Blocks(lengths).try_into()
    }

    /// α: the maximum number of p-sums that one step is in.
    pub fn sums_per_step(&self) -> u64 {
        match &self.0 {
            PSums::Prefixes(horizon) => *horizon,
            PSums::Blocks(lengths) => lengths.len() as u64,
        }
    }

    /// β: the number of p-sums that the answer at a step adds up.
    pub fn sums_per_answer(&self, step: u64) -> u64 {
        match &self.0 {
            PSums::Prefixes(_) => 1,
            PSums::Blocks(lengths) => digits(lengths, step).map(|(_, digit)| digit).sum(),
        }
    }

    /// The p-sums that the answer at a step adds up, from the first step on.
    pub fn answer(&self, step: u64) -> Vec<RangeInclusive<u64>> {
        match &self.0 {
            PSums::Prefixes(_) => vec![1..=step],
            PSums::Blocks(lengths) => {
                let mut from = 1;
                let mut sums = Vec::new();
                for (length, digit) in digits(lengths, step) {
                    for _ in 0..digit {
                        sums.push(from..=from + length - 1);
                        from += length;
                    }
                }
                sums
            }
        }
    }

    /// Σ β over steps 1 to `steps`: the digit sums of all numbers up to `steps`, in closed form.
    pub(crate) fn total_sums(&self, steps: u64) -> u128 {
        let lengths = match &self.0 {
            PSums::Prefixes(_) => return u128::from(steps),
            PSums::Blocks(lengths) => lengths,
        };
        let numbers = u128::from(steps) + 1; // 0 to steps; 0 has no digits
        let triangle = |n: u128| n * n.saturating_sub(1) / 2;
        // The digit of `length` counts 0, 1, …, each for `length` numbers, and starts over at the next longer one.
        let ramp =
            |numbers: u128, length: u128| triangle(numbers / length) * length + numbers / length * (numbers % length);
        let level = |(index, &length): (usize, &u64)| match lengths.get(index + 1) {
            None => ramp(numbers, u128::from(length)),
            Some(&next) => {
                let (next, length) = (u128::from(next), u128::from(length));
                numbers / next * ramp(next, length) + ramp(numbers % next, length)
            }
        };
        lengths.iter().enumerate().map(level).sum()
    }

    /// The largest β of steps 1 to `steps`: attained at `steps` itself or where one digit is lowered and all below it
    /// are as large as possible.
    pub(crate) fn most_sums(&self, steps: u64) -> u64 {
        let lengths = match &self.0 {
            PSums::Prefixes(_) => return 1,
            PSums::Blocks(lengths) => lengths,
        };
        let lowered = lengths.iter().filter(|&&length| length <= steps).map(|length| steps / length * length - 1);
        lowered.chain([steps]).map(|step| self.sums_per_answer(step)).max().unwrap_or(0)
    }

    /// The lengths of its blocks; `None` if its p-sums are prefixes.
    pub(crate) fn lengths(&self) -> Option<&[u64]> {
        match &self.0 {
            PSums::Prefixes(_) => None,
            PSums::Blocks(lengths) => Some(lengths),
        }
    }
}

/// The lengths with their digits in the mixed-radix form of a number, the longest first.
pub(super) fn digits(lengths: &[u64], number: u64) -> impl Iterator<Item = (u64, u64)> {
    lengths.iter().rev().scan(number, |rest, &length| {
        let digit = *rest / length;
        *rest %= length;
        Some((length, digit))
    })
}

impl TryFrom<PSums> for Schedule {
    type Error = Error;

    fn try_from(sums: PSums) -> Result<Self> {
        let sound = match &sums {
            PSums::Prefixes(horizon) => *horizon > 0,
            PSums::Blocks(lengths) => {
                lengths.first() == Some(&1)
                    && lengths.windows(2).all(|pair| pair[0] < pair[1] && pair[1].is_multiple_of(pair[0]))
            }
        };
        if sound {
            return Ok(Self(sums));
        }
        let allowed = "1 and then proper multiples of the one before";
        Err(Error::parameter("block lengths", format!("{sums:?}"), allowed))
    }
}

impl From<Schedule> for PSums {
    fn from(schedule: Schedule) -> Self {
        schedule.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn schedules(horizon: u64) -> Vec<Schedule> {
        vec![
            Schedule::prefixes(horizon),
            Schedule::steps(),
            Schedule::two_level(horizon),
            Schedule::binary(horizon),
            Schedule::blocks(vec![1, 3, 12, 60]).unwrap(),
        ]
    }

    /// The claims about α and β and the closed forms, checked by listing every p-sum.
    #[test]
    fn claims_agree_with_all_sums_written_out() {
        for horizon in (1..40).chain([63, 64, 65, 200]) {
            for schedule in schedules(horizon) {
                let mut released = BTreeSet::new();
                let (mut total, mut most) = (0, 0);
                for step in 1..=horizon {
                    let answer = schedule.answer(step);
                    // They tile 1 to the step.
                    let mut next = 1;
                    for sum in &answer {
                        assert_eq!(*sum.start(), next);
                        next = sum.end() + 1;
                        released.insert((*sum.start(), *sum.end()));
                    }
                    assert_eq!(next, step + 1);
                    assert_eq!(schedule.sums_per_answer(step), answer.len() as u64);
                    total += answer.len() as u128;
                    most = most.max(answer.len() as u64);
                    assert_eq!(
                        (schedule.total_sums(step), schedule.most_sums(step)),
                        (total, most),
                        "{schedule:?} {step}"
                    );
                }
                let alpha =
                    (1..=horizon).map(|t| released.iter().filter(|(from, to)| (from..=to).contains(&&t)).count());
                assert!(alpha.max().unwrap() as u64 <= schedule.sums_per_step(), "{schedule:?} {horizon}");
            }
        }
    }

    #[test]
    fn alpha_is_not_larger_than_it_must_be() {
        for (horizon, alpha) in [(1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11), (1 << 40, 41)] {
            assert_eq!(Schedule::binary(horizon).sums_per_step(), alpha);
        }
        assert_eq!(Schedule::two_level(1).sums_per_step(), 1);
        assert_eq!(Schedule::two_level(10).answer(9), vec![1..=4, 5..=8, 9..=9]);
    }

    #[test]
    fn lengths_are_checked() {
        for lengths in [vec![], vec![2], vec![1, 1], vec![1, 4, 6], vec![1, 0]] {
            assert!(Schedule::blocks(lengths).is_err());
        }
        assert!(serde_json::from_str::<Schedule>("{\"blocks\":[1,4,6]}").is_err());
        assert!(serde_json::from_str::<Schedule>("{\"blocks\":[1,4,8]}").is_ok());
    }
}
