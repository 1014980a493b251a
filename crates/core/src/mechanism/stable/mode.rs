//! The most frequent value, if it is stable.

use std::collections::BTreeMap;

use super::{Proposal, StableRelease};
use crate::error::Result;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::Outcome;

/// Releases the most frequent value exactly, or refuses because another is close.
///
/// Of equally frequent values the smallest is the mode. The values need not be known beforehand; the empty table has no
/// mode and is always refused.
///
/// # Privacy
/// (ε, δ) in the chosen adjacency, by [`StableRelease`] with C = 1. Let the gap g be the highest frequency less the second
/// highest (0 for values that do not occur).
///
/// *Add/remove*, Δ = max(1, g): one row moves one frequency by 1, so both order statistics by at most 1, and not in opposite
/// directions; g and Δ move by at most 1. If v is the mode of x and w ≠ v that of x′, f_v − f_w is at least 0 in x and
/// at most 0 in x′ and moved by at most 1, so it is at most 1 in x; hence g(x) ≤ 1 and Δ(x) = 1, and so for x′. The empty
/// table has no mode and g = 0; its neighbours have g = 1: Δ = 1 at both.
///
/// *Replace*, Δ = max(1, ⌈g/2⌉): a replacement is a removal and an addition, so g moves by at most 2 and ⌈g/2⌉ by at most
/// 1; if the modes differ, g ≤ 2 at both and Δ = 1. The empty table has no neighbours.
///
/// *Several replacements.* j of them move ⌈g/2⌉ by at most j, and if they change the mode, g ≤ 2j, so that Δ ≤ j, at both:
/// C = j. [`SubsampleMode`](crate::mechanism::subsample::SubsampleMode) relies on this.
///
/// # Accuracy
/// A released mode is exact. It is refused with the probability [`StableRelease::refusal_probability`] of Δ.
///
/// # Algorithm
/// Count, then [`StableRelease`] \[DL09; DR14\].
///
/// # Errors
/// If 1/ε lies outside 0.001 to 2^50, if δ is below e^−4096, or (when releasing) if the permit does not cover (ε, δ).
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::stable::StableMode;
/// use reticent::privacy::Adjacency;
///
/// let mode = StableMode::new(Adjacency::AddRemove, &"1".parse()?, &"1e-8".parse()?)?;
/// let colours = [vec!["blue"; 130], vec!["green"; 60], vec!["red"; 10]].concat();
/// let favourite = mode.release(colours, &mut Permit::unaccounted()?)?;
/// assert_eq!(favourite.released().unwrap().value(), &"blue");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StableMode {
    adjacency: Adjacency,
    test: StableRelease,
}

impl StableMode {
    /// For tables with neighbours as in `adjacency`; the privacy unit is a row.
    ///
    /// # Errors
    /// If 1/ε lies outside 0.001 to 2^50 or δ is below e^−4096.
    pub fn new(adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        Ok(Self::with_test(adjacency, StableRelease::new(1, epsilon, delta)?))
    }

    /// With a test for units that have more than one row.
    pub(crate) fn with_test(adjacency: Adjacency, test: StableRelease) -> Self {
        Self { adjacency, test }
    }

    /// The guarantee of an outcome, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.test.guarantee()
    }

    /// The test that the mode must pass.
    pub fn test(&self) -> &StableRelease {
        &self.test
    }

    /// Releases the mode of some values, or refuses.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<T: Ord>(&self, values: impl IntoIterator<Item = T>, permit: &mut Permit) -> Result<Outcome<T>> {
        self.release_counts(values.into_iter().map(|value| (value, 1)), permit)
    }

    /// [`StableMode::release`] for values that are already counted. A value may occur several times: its counts are
    /// added.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release_counts<T: Ord>(
        &self,
        counts: impl IntoIterator<Item = (T, u64)>,
        permit: &mut Permit,
    ) -> Result<Outcome<T>> {
        let mut draw = permit.spend(self.guarantee())?;
        Ok(self.test.decide(self.propose_counts(counts), &mut draw))
    }

    /// The mode and its distance. Exact, and **not private**: for looking at your own data, or for your own mechanism.
    pub fn propose<T: Ord>(&self, values: impl IntoIterator<Item = T>) -> Proposal<T> {
        self.propose_counts(values.into_iter().map(|value| (value, 1)))
    }

    /// [`StableMode::propose`] for values that are already counted.
    pub fn propose_counts<T: Ord>(&self, counts: impl IntoIterator<Item = (T, u64)>) -> Proposal<T> {
        let (answer, gap) = mode_and_gap(counts);
        let distance = match self.adjacency {
            Adjacency::AddRemove => gap.max(1),
            Adjacency::Replace => gap.div_ceil(2).max(1),
        };
        Proposal { answer, distance }
    }
}

/// The most frequent value (the smallest of equals) and its lead over the next; `None` and 0 if all counts are 0.
pub(crate) fn mode_and_gap<T: Ord>(counts: impl IntoIterator<Item = (T, u64)>) -> (Option<T>, u64) {
    let mut frequencies = BTreeMap::new();
    for (value, count) in counts {
        let frequency = frequencies.entry(value).or_insert(0u64);
        *frequency = frequency.saturating_add(count);
    }
    let (mut mode, mut highest, mut second) = (None, 0, 0);
    // In ascending order, so that the first of equals wins.
    for (value, frequency) in frequencies {
        if frequency > highest {
            (mode, second, highest) = (Some(value), highest, frequency);
        } else {
            second = second.max(frequency);
        }
    }
    (mode, highest - second)
}
