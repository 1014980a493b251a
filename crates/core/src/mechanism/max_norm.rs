//! Several whole numbers for each group, with one draw of noise for all of them.

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteBox;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release, joint_level};

/// Releases vectors of whole numbers, one for each group, that one unit can move by at most Δ in the L∞ norm, all groups
/// together.
///
/// # Privacy
/// ε-differential privacy in the adjacency that the sensitivity was derived for: if neighbouring inputs differ by d_g in
/// group g, with Σ_g max_i |d_gi| ≤ Δ, then by the triangle inequality the probabilities of any result differ by a factor
/// of at most Π_g e^(max_i |d_gi|·ε/Δ) ≤ e^ε \[HT10\]. The number of groups does not matter.
///
/// A row that adds 1 to a count and values in −1..=1 to D − 1 sums has an L∞ norm of 1, though its L1 norm is up to D. A unit
/// with up to r rows in each of up to g groups has Δ = g·r under add/remove, and 2·g·r under replace.
///
/// # Accuracy
/// Every number has a variance of about (D+1)(D+2)/3·(Δ/ε)². [`Laplace`](super::Laplace) noise for the same numbers, each
/// with a share of ε, has 2D²·(Δ/ε)²; box noise has less from D = 2 on, down to a sixth. Gaussian noise for ε = 1 and δ =
/// 10^−8 has less from D = 76 on if a unit has one row, and sooner if it is in several groups.
///
/// # Algorithm
/// value + [`DiscreteBox`] noise.
///
/// # Errors
/// If the sensitivity is 0, there are no or more than 256 numbers for each group, or Δ/ε is out of range for them; (when
/// releasing) if the groups are not whole or the permit does not cover ε.
///
/// # Example
/// Count, sum and sum of squares of two groups; one row for each person, with values in −100..=100. Squares, centred and
/// scaled, lie within the same range.
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::MaxNorm;
///
/// let of = |value: i64| [100, value, (value * value - 5000) / 50];
/// let groups = [[80, -35, 17], [3, 9, -100]].map(|rows: [i64; 3]| {
///     rows.map(of).iter().fold([0; 3], |sums, row| [0, 1, 2].map(|place| sums[place] + row[place]))
/// });
/// let mechanism = MaxNorm::new(3, 100, &"1".parse()?)?;
/// let released = mechanism.release(groups.concat(), &mut Permit::unaccounted()?)?;
/// assert_eq!(released.value().len(), 6);
/// assert_eq!(released.error_bar().half_width(), 520.0); // 5.2 rows
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MaxNorm {
    guarantee: Guarantee,
    noise: DiscreteBox,
    error: ErrorBar,
}

impl MaxNorm {
    /// For `coordinates` numbers of each group, which one unit can move by at most `sensitivity` in the sum over all groups
    /// of the largest move in each.
    ///
    /// # Errors
    /// If the sensitivity is 0, there are no or more than 256 coordinates, or Δ/ε is out of range for them.
    pub fn new(coordinates: u32, sensitivity: u64, epsilon: &Epsilon) -> Result<Self> {
        if sensitivity == 0 {
            return Err(Error::parameter("sensitivity", 0, "at least 1: what no unit can move needs no noise"));
        }
        let noise = DiscreteBox::new(coordinates, &(&Rational::from(sensitivity) / epsilon.value()))?;
        let half_width = noise.half_width(1, &Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64, LEVEL)?;
        Ok(Self { guarantee: Guarantee::Pure(epsilon.clone()), noise, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added to the numbers of each group.
    pub fn noise(&self) -> &DiscreteBox {
        &self.noise
    }

    /// Releases the numbers of all groups, group by group; the error bar holds for each number individually.
    ///
    /// # Errors
    /// If the number of numbers is not a multiple of those of a group, or the permit does not cover ε.
    pub fn release(&self, mut values: Vec<i64>, permit: &mut Permit) -> Result<Release<Vec<i64>>> {
        let width = self.noise.coordinates() as usize;
        if !values.len().is_multiple_of(width) {
            return Err(Error::parameter("number of numbers", values.len(), "a multiple of those of a group"));
        }
        let mut draw = permit.spend(&self.guarantee)?;
        let mut point = vec![0; width];
        for group in values.chunks_mut(width) {
            self.noise.sample(&mut draw, &mut point);
            // Saturation is post-processing: it depends on the noisy sum alone.
            group.iter_mut().zip(&point).for_each(|(value, noise)| *value = value.saturating_add(*noise));
        }
        Ok(Release::new(values, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// A t such that `together` numbers of each of `groups` groups are all within t of the truth with probability at least
    /// `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1, or `together` or `groups` is 0 or too large.
    pub fn half_width(&self, together: u32, groups: u64, level: &Rational) -> Result<u64> {
        if groups == 0 {
            return Err(Error::parameter("number of groups", groups, "at least 1"));
        }
        self.noise.half_width(together, &joint_level(level, groups))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;

    fn mechanism(coordinates: u32, sensitivity: u64, epsilon: &str) -> Result<MaxNorm> {
        MaxNorm::new(coordinates, sensitivity, &epsilon.parse().unwrap())
    }

    /// Half-widths hold as often as they say, for one number and for several at once: over 20,000 groups, within 5.5
    /// standard errors of 95 %.
    #[test]
    fn half_widths_hold() {
        const GROUPS: usize = 20_000;
        let mechanism = mechanism(4, 3000, "0.5").unwrap();
        let released =
            mechanism.release(vec![7; 4 * GROUPS], &mut Permit::unaccounted_from(Entropy::seeded(3))).unwrap();
        for together in 1..=4 {
            let t = mechanism.half_width(together, 1, &"0.95".parse().unwrap()).unwrap();
            let holds = |group: &&[i64]| group[..together as usize].iter().all(|value| value.abs_diff(7) <= t);
            let held = released.value().chunks(4).filter(holds).count() as f64 / GROUPS as f64;
            assert!((held - 0.95).abs() < 5.5 * (0.05 * 0.95 / GROUPS as f64).sqrt(), "{together}: {held}");
        }
        let far = mechanism.half_width(4, GROUPS as u64, &"0.95".parse().unwrap()).unwrap();
        assert!(released.value().iter().all(|value| value.abs_diff(7) <= far));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for (coordinates, sensitivity, epsilon) in [(3, 0, "1"), (0, 1, "1"), (257, 1000, "1"), (3, 1, "1e-16")] {
            assert!(mechanism(coordinates, sensitivity, epsilon).unwrap_err().is_parameter());
        }
        let mechanism = mechanism(3, 10, "1").unwrap();
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        assert!(mechanism.release(vec![1, 2], &mut permit).unwrap_err().is_parameter());
        assert!(mechanism.release(vec![], &mut permit).unwrap().value().is_empty());
        assert!(mechanism.half_width(1, 0, &"0.95".parse().unwrap()).is_err());
    }
}
