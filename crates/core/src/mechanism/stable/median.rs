//! The median, if it is stable.

use super::selection::{self, Rank};
use super::{Proposal, StableRelease};
use crate::error::Result;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::Outcome;

/// Releases the median of a column exactly, or refuses because a few changes would move it.
///
/// Of n sorted values x₀ ≤ … ≤ x₍ₙ₋₁₎ the median is v = x_h with h = ⌊(n−1)/2⌋: the middle one, or the lower of the two
/// middle ones. No bounds need to be known, and the median may have any sensitivity: with ε = 1 and δ = 10⁻⁸, 51 people with
/// nothing and 50 with a million are refused; 90 with nothing and 11 with a million are not.
///
/// # Privacy
/// (ε, δ) in the chosen adjacency, by [`StableRelease`] with C = 1. The distance Δ is the number of rows that must change
/// before the median does. With a = #{x ≤ v} and b = #{x ≥ v}:
///
/// *Replace.* The median moves up once at most h values are ≤ v, and down once at most n−1−h values are ≥ v; a replaced row
/// lowers one of the numbers by at most 1. So Δ = min(a − h, b − (n−1−h)).
///
/// *Add/remove.* v is the median of a table with n values, a of them ≤ v and b ≥ v, exactly if a ≥ h + 1 and
/// b ≥ n − h, that is, if 2a ≥ n and 2b ≥ n + 1. A change moves 2a − n and 2b − n by exactly 1 at best (add a value on the
/// other side, or remove v or one on this side), so it takes 2a − n + 1 changes for the first to fail and 2b − n for the
/// second: Δ = min(2a − n + 1, 2b − n). The empty table has no median; Δ = 1, as one added row gives it one.
///
/// A count of changes up to the next different answer moves by at most 1 between neighbours and is 1 at both if their
/// answers differ. Where all values of a domain that could be moved to are on one side, Δ is smaller than the true number,
/// with the same two properties. (The tests confirm all of this over every small table.)
///
/// # Accuracy
/// A released median is exact. It is refused with the probability [`StableRelease::refusal_probability`] of Δ.
///
/// # Algorithm
/// Selection in linear time without sorting, which also counts what equals the median: one pass over the values \[DL09, FR75\].
///
/// # Errors
/// If 1/ε lies outside 0.001 to 2^50, if δ is below e^−4096, or (when releasing) if the permit does not cover (ε, δ).
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::stable::StableMedian;
/// use reticent::privacy::Adjacency;
///
/// let median = StableMedian::new(Adjacency::Replace, &"1".parse()?, &"1e-8".parse()?)?;
///
/// // Two of these eleven rows must be replaced to change the median: too few for an answer.
/// let few = median.propose(&[1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 5]);
/// assert_eq!((few.answer, few.distance), (Some(3), 2));
/// assert!(median.test().refusal_probability(few.distance) > 0.999_999_9);
///
/// // A hundred times as many people, and nobody need hide.
/// let many = [1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 5].repeat(100);
/// let outcome = median.release(&many, &mut Permit::unaccounted()?)?;
/// assert_eq!(outcome.released().unwrap().value(), &3);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StableMedian {
    adjacency: Adjacency,
    test: StableRelease,
}

impl StableMedian {
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

    /// The test that the median must pass.
    pub fn test(&self) -> &StableRelease {
        &self.test
    }

    /// Releases the median, or refuses. Copies the values if their order is unfavourable; see
    /// [`StableMedian::release_in_place`].
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<T: Ord + Copy>(&self, values: &[T], permit: &mut Permit) -> Result<Outcome<T>> {
        let mut draw = permit.spend(self.guarantee())?;
        Ok(self.test.decide(self.propose(values), &mut draw))
    }

    /// [`StableMedian::release`] that never copies the values, but may reorder them.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release_in_place<T: Ord + Copy>(&self, values: &mut [T], permit: &mut Permit) -> Result<Outcome<T>> {
        let mut draw = permit.spend(self.guarantee())?;
        Ok(self.test.decide(self.propose_in_place(values), &mut draw))
    }

    /// The median and its distance. Exact, and **not private**: for looking at your own data, or for your own
    /// mechanism.
    pub fn propose<T: Ord + Copy>(&self, values: &[T]) -> Proposal<T> {
        self.propose_from(values.len(), |h| selection::rank(values, h))
    }

    /// [`StableMedian::propose`] that never copies the values, but may reorder them.
    pub fn propose_in_place<T: Ord + Copy>(&self, values: &mut [T]) -> Proposal<T> {
        self.propose_from(values.len(), |h| selection::rank_in_place(values, h))
    }

    fn propose_from<T>(&self, n: usize, rank: impl FnOnce(usize) -> Rank<T>) -> Proposal<T> {
        if n == 0 {
            return Proposal { answer: None, distance: 1 };
        }
        let h = (n - 1) / 2;
        let rank = rank(h);
        let [n, h, a, b] = [n, h, rank.less + rank.equal, n - rank.less].map(|count| count as u128);
        // a ≥ h + 1 and b ≥ n − h, so that nothing below is negative and the distance is at least 1.
        let distance = match self.adjacency {
            Adjacency::Replace => (a - h).min(b - (n - 1 - h)),
            Adjacency::AddRemove => (2 * a + 1 - n).min(2 * b - n),
        };
        Proposal { answer: Some(rank.value), distance: distance as u64 }
    }
}
