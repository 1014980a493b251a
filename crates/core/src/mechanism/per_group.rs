//! Mechanisms with a guarantee for one row, released in many groups at once.

use super::quantile::error;
use super::stable::{StableMedian, StableMode, StableRelease};
use super::{Estimate, Quantiles};
use crate::error::Result;
use crate::exact::Rational;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};
use crate::statistic::Contribution;

/// A mechanism for one table of rows, released for every group of a table whose units have many rows.
///
/// [`Quantiles`], [`StableMedian`] and [`StableMode`] protect a unit with one row in one table. Here a unit has up to r
/// rows in each of up to g groups, all groups are released at once, and the guarantee is for the unit.
///
/// # Privacy
/// Every group has its own mechanism and its own draw, so what one group shows depends on that group's rows alone. Add
/// or remove a unit, and at most k = g·r rows appear or vanish; replace it, and at most k = 2·g·r do, since its old
/// rows may vanish and its new ones appear, in the same groups or in others. (The same holds with one statistic over
/// all rows: a filter or a missing value may drop one of two replaced rows.) Hence neighbours are linked by a chain of
/// at most k tables, each with one row more or less *in one group* than the one before.
///
/// *Quantiles*: ε. Each group's mechanism is ε/k-private for one row more or less; each link of the chain changes the
/// input of one of them and costs ε/k; k of them cost ε. Groups that the unit is not in cost nothing.
///
/// *Stable median and mode*: (ε, δ). The chain would cost more δ than necessary; instead look at one group whose table
/// changes by j rows. The distance of [`StableRelease`] moves by at most 1 with each row, and is at most 1 where an
/// answer changes: so it moves by at most j in all, and is at most j at both ends if their answers differ (walk from
/// either end to the first change). With noise of scale s this group is therefore (j/s, δⱼ)-private with δⱼ = P(j + K ≥
/// τ), by the proof there with C = j. All groups are independent, so ε and δ add up. Σj ≤ k, and s = k/ε gives ε. The
/// largest Σδⱼ:
/// - add/remove: j ≤ r in at most g groups, so g·δᵣ.
/// - replace: a group that is both left and entered has j ≤ 2r, another j ≤ r; with m of the first kind there are at
///   most 2g − 2m others, and m·δ₂ᵣ + (2g − 2m)·δᵣ is linear in m: the larger of g·δ₂ᵣ and 2g·δᵣ (the second only if
///   there are groups).
///
/// τ is the smallest for which that is at most δ.
///
/// None of this protects which groups exist: their keys must be public, or selected privately
/// ([`Selection`](super::Selection)) at an additional cost.
///
/// # Accuracy
/// Per group, that of the mechanism with its share of the budget: [`PerGroup::mechanism`]. Intervals hold for each group
/// individually.
///
/// # Algorithm
/// The groups in the order given, each with the next draw of one permit, which pays once for all of them.
///
/// # Errors
/// As for the mechanisms, with their share of the budget; (when releasing) if the permit does not cover the guarantee.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::PerGroup;
/// use reticent::privacy::Adjacency;
/// use reticent::statistic::{Contribution, Rows};
///
/// // A person is in up to two departments, with one row in each.
/// let person = Contribution::in_groups(Adjacency::AddRemove, 2, Rows::AtMost(1))?;
/// let medians = PerGroup::quantiles(&["0.5".parse()?], 0, 120, &person, &"1".parse()?)?;
/// let ages: Vec<Vec<i64>> = vec![(0..3000).map(|i| 20 + i % 40).collect(), (0..2000).map(|i| 30 + i % 35).collect()];
/// let released = medians.release(&ages, &mut Permit::unaccounted()?)?;
/// for age in released.value().iter().flatten() {
///     println!("{} ({}..{})", age.value, age.lower, age.upper);
/// }
/// assert_eq!(released.guarantee().to_string(), "ε = 1");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PerGroup<M> {
    guarantee: Guarantee,
    mechanism: M,
}

impl<M> PerGroup<M> {
    /// The guarantee of a release of all groups, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The mechanism of each group. (Its own guarantee is not that of [`PerGroup`].)
    pub fn mechanism(&self) -> &M {
        &self.mechanism
    }
}

impl PerGroup<Quantiles> {
    /// The p-quantiles of every group, in ascending order of p, of values within lo..=hi; `epsilon` is for all groups
    /// together.
    ///
    /// # Errors
    /// As for [`Quantiles::new`].
    pub fn quantiles(
        ps: &[Rational],
        lo: i64,
        hi: i64,
        contribution: &Contribution,
        epsilon: &Epsilon,
    ) -> Result<Self> {
        let share = epsilon.value() / &Rational::from(contribution.changed_rows()?);
        let mechanism = Quantiles::new(ps, lo, hi, Adjacency::AddRemove, &Epsilon::new(share)?)?;
        Ok(Self { guarantee: Guarantee::Pure(epsilon.clone()), mechanism })
    }

    /// The same with intervals at another level than 95 %.
    pub fn at_level(self, level: &Rational) -> Self {
        Self { mechanism: self.mechanism.at_level(level), ..self }
    }

    /// Releases the quantiles of every group. Each interval holds by itself; the error bar reaches to the farthest end of
    /// any.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release<G: AsRef<[i64]>>(&self, groups: &[G], permit: &mut Permit) -> Result<Release<Vec<Vec<Estimate>>>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let sample = |group: &G| self.mechanism.sample_with(group.as_ref(), &mut draw);
        let quantiles: Vec<Vec<Estimate>> = groups.iter().map(sample).collect();
        let error = error(quantiles.iter().flatten())?;
        Ok(Release::new(quantiles, error, self.guarantee.clone(), draw.accounting().clone()))
    }
}

impl PerGroup<StableMedian> {
    /// The median of every group, or a refusal; `epsilon` and `delta` are for all groups together.
    ///
    /// # Errors
    /// As for [`StableMedian::new`].
    pub fn stable_median(contribution: &Contribution, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let test = stable_test(contribution, epsilon, delta)?;
        let mechanism = StableMedian::with_test(Adjacency::AddRemove, test);
        Ok(Self { guarantee: Guarantee::Approx(epsilon.clone(), delta.clone()), mechanism })
    }

    /// Releases the median of every group that has a stable one; `None` is a refusal.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<T: Ord + Copy, G: AsRef<[T]>>(
        &self,
        groups: &[G],
        permit: &mut Permit,
    ) -> Result<Release<Vec<Option<T>>>> {
        let median = &self.mechanism;
        let mut draw = permit.spend(&self.guarantee)?;
        let answers =
            groups.iter().map(|group| median.test().answer(median.propose(group.as_ref()), &mut draw)).collect();
        Ok(Release::new(answers, exact()?, self.guarantee.clone(), draw.accounting().clone()))
    }
}

impl PerGroup<StableMode> {
    /// The most frequent value of every group, or a refusal; `epsilon` and `delta` are for all groups together.
    ///
    /// # Errors
    /// As for [`StableMode::new`].
    pub fn stable_mode(contribution: &Contribution, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let test = stable_test(contribution, epsilon, delta)?;
        let mechanism = StableMode::with_test(Adjacency::AddRemove, test);
        Ok(Self { guarantee: Guarantee::Approx(epsilon.clone(), delta.clone()), mechanism })
    }

    /// Releases the mode of every group that has a stable one; `None` is a refusal. Every group's values come with
    /// their counts, each value once or several times.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<T: Ord, G: IntoIterator<Item = (T, u64)>>(
        &self,
        groups: impl IntoIterator<Item = G>,
        permit: &mut Permit,
    ) -> Result<Release<Vec<Option<T>>>> {
        let mode = &self.mechanism;
        let mut draw = permit.spend(&self.guarantee)?;
        let answers =
            groups.into_iter().map(|group| mode.test().answer(mode.propose_counts(group), &mut draw)).collect();
        Ok(Release::new(answers, exact()?, self.guarantee.clone(), draw.accounting().clone()))
    }
}

/// The test of each group: noise of scale k/ε, and the threshold of the worst case.
fn stable_test(contribution: &Contribution, epsilon: &Epsilon, delta: &Delta) -> Result<StableRelease> {
    // j rows in each of m groups: C = j, and a share of 1/m of both.
    let worst = |rows: u64, groups: u64| -> Result<StableRelease> {
        let groups = Rational::from(groups);
        let (epsilon, delta) = (Epsilon::new(epsilon.value() / &groups)?, Delta::new(delta.value() / &groups)?);
        StableRelease::new(rows, &epsilon, &delta)
    };
    let (rows, groups) = (contribution.max_rows(), contribution.max_groups());
    let test = match (contribution.adjacency(), groups) {
        (Adjacency::AddRemove, groups) => worst(rows, groups.unwrap_or(1))?,
        (Adjacency::Replace, None) => worst(2 * rows, 1)?,
        (Adjacency::Replace, Some(groups)) => {
            let (same, different) = (worst(2 * rows, groups)?, worst(rows, 2 * groups)?);
            // The noise is the same.
            if same.threshold() > different.threshold() { same } else { different }
        }
    };
    Ok(test.promising(Guarantee::Approx(epsilon.clone(), delta.clone())))
}

/// A stable answer is exact.
fn exact() -> Result<ErrorBar> {
    ErrorBar::new(0.0, LEVEL)
}

#[cfg(test)]
mod tests;
