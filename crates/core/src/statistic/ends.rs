//! Distances of a column's values from both ends of their range: count and sum in one statistic.

use super::grid::saturated;
use super::{Contribution, Grid, Sensitivity};
use crate::error::Result;

/// The sums A = Σ(x − L) and B = Σ(U − x) of a column within L..U, exactly: the values' distances from either end.
///
/// # Privacy
/// A value adds x − L to A and U − x to B: two non-negative numbers that add up to U − L, whatever x is. So a unit's
/// rows contribute to (A, B) as to a histogram of two bins, times U − L, and the [`Sensitivity`] of the *pair* follows:
/// L1 g·r·(U−L) under add/remove and twice that under replace; L2² g·(r·(U−L))², and twice that.
///
/// # Accuracy
/// N = (A + B)/(U − L), SUM = (U·A + L·B)/(U − L) and AVG = mid + h·(A − B)/(A + B), with mid and h the middle and half
/// the width of the range, are functions of the two. Compare, in groups and under pure ε, with noise on N and on the
/// centred sum S at ε/2 each: there b = 2gr/ε is the scale for N and b·h that for S, so their variances are 2b² and
/// 2b²h². Here both A and B have scale b·h (as g·r·2h/ε), variance 2b²h²; N = (A + B)/2h has 4b²h²/4h² = b² and S = (A
/// − B)/2 has b²h²: **half the variance of either**, at the same cost. (What a row adds to N and S/h fills the square
/// of numbers within ±1; Laplace noise on A and B is the noise that fits its shape \[HT10\].) Under ρ-zCDP and
/// add/remove the two ways are equal.
///
/// # Example
/// ```
/// use reticent::statistic::{Bounds, Ends, Grid};
///
/// let grid = Grid::new(&"0..100".parse::<Bounds>()?);
/// let exact = Ends::of(&grid, [Some(40.0), Some(60.0), None, Some(80.0)]);
/// assert_eq!((exact.count(&grid), exact.total(&grid), exact.mean(&grid)), (3.0, 180.0, 60.0));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// A, in grid steps.
    pub above_lower: i64,
    /// B, in grid steps.
    pub below_upper: i64,
}

impl Ends {
    /// The ends of a column; NaN and NULL are dropped.
    pub fn of(grid: &Grid, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let (mut above, mut below) = (0i128, 0i128);
        for steps in values.into_iter().flatten().filter_map(|value| grid.steps(value)) {
            above += i128::from(steps - grid.lower());
            below += i128::from(grid.upper() - steps);
        }
        Self { above_lower: saturated(above), below_upper: saturated(below) }
    }

    /// Adds one value, in steps already clamped by the grid.
    ///
    /// No sum of fewer than 2^34 values leaves an `i64`; beyond that it saturates, which moves no two sums further
    /// apart.
    #[inline]
    pub fn add(&mut self, grid: &Grid, steps: i64) {
        let (above, below) = (steps.saturating_sub(grid.lower()), grid.upper().saturating_sub(steps));
        self.merge(&Self { above_lower: above, below_upper: below });
    }

    /// Adds the ends of other values of the same column.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.above_lower = self.above_lower.saturating_add(other.above_lower);
        self.below_upper = self.below_upper.saturating_add(other.below_upper);
    }

    /// How far one unit can move the pair.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn sensitivity(grid: &Grid, contribution: &Contribution) -> Result<Sensitivity> {
        contribution.in_bins().of_values(0, width(grid))
    }

    /// The number of values: a whole number for exact ends, any number for released ones.
    pub fn count(&self, grid: &Grid) -> f64 {
        (i128::from(self.above_lower) + i128::from(self.below_upper)) as f64 / width(grid) as f64
    }

    /// Σx.
    pub fn total(&self, grid: &Grid) -> f64 {
        let weighted = |end: i64, sum: i64| i128::from(end) * i128::from(sum);
        let sum = weighted(grid.upper(), self.above_lower) + weighted(grid.lower(), self.below_upper);
        sum as f64 / width(grid) as f64 * grid.step()
    }

    /// The mean: within the bounds, and the middle of the range if there are no values.
    pub fn mean(&self, grid: &Grid) -> f64 {
        let (lower, upper) = (grid.value(grid.lower()), grid.value(grid.upper()));
        let twice_the_sum = (i128::from(self.above_lower) - i128::from(self.below_upper)) as f64 * grid.step();
        let mean = f64::midpoint(lower, upper) + twice_the_sum / (2.0 * self.count(grid).max(1.0));
        mean.clamp(lower, upper)
    }

    /// N and S = Σ(x − mid) as in [`Moments`](super::Moments), rounded to whole numbers: for statistics that also need
    /// squares.
    pub fn to_count_and_sum(&self, grid: &Grid) -> (i64, i64) {
        let (above, below, width) =
            (i128::from(self.above_lower), i128::from(self.below_upper), i128::from(width(grid)));
        // Twice the true middle is L + U; the grid's is rounded down, by half a step if that is odd.
        let odd = i128::from(grid.lower() + grid.upper() - 2 * grid.middle());
        let count = round_div(above + below, width);
        let sum = round_div((above - below) * width + odd * (above + below), 2 * width);
        (saturated(count), saturated(sum))
    }
}

/// How far the noise may have moved results computed from released ends.
impl Ends {
    /// For [`Ends::count`], if the *sum* of the noises on A and on B is within `half_width_of_sum`.
    pub fn count_half_width(grid: &Grid, half_width_of_sum: u64) -> f64 {
        half_width_of_sum as f64 / width(grid) as f64
    }

    /// For [`Ends::total`], if the noises on A and on B are each within `half_width`, jointly.
    pub fn total_half_width(grid: &Grid, half_width: u64) -> f64 {
        let both = grid.lower().unsigned_abs() + grid.upper().unsigned_abs();
        half_width as f64 * both as f64 / width(grid) as f64 * grid.step()
    }

    /// For [`Ends::mean`], if the noises on A and on B are each within `half_width`, jointly.
    ///
    /// The mean never falls as A grows or as B falls: this is clear where A + B is less than one value's; elsewhere
    /// h·(A − B)/(A + B) grows with A while B ≥ 0, and where B < 0 it is above h and clamped. So its extremes are at
    /// two corners.
    pub fn mean_half_width(&self, grid: &Grid, half_width: u64) -> f64 {
        let half_width = i64::try_from(half_width).unwrap_or(i64::MAX);
        let here = self.mean(grid);
        let moved = |above: i64, below: i64| Self { above_lower: above, below_upper: below }.mean(grid);
        let (above, below) = (self.above_lower, self.below_upper);
        let most = moved(above.saturating_add(half_width), below.saturating_sub(half_width));
        let least = moved(above.saturating_sub(half_width), below.saturating_add(half_width));
        (most - here).max(here - least)
    }

    /// For [`Ends::to_count_and_sum`], if the sum of the noises on A and B *and* their difference are within
    /// `half_width_of_sum`, jointly (their laws are the same). Rounding is included.
    pub fn count_and_sum_half_widths(grid: &Grid, half_width_of_sum: u64) -> (u64, u64) {
        let in_values = half_width_of_sum / width(grid).unsigned_abs() + 1;
        (in_values, half_width_of_sum.saturating_add(in_values) / 2 + 1)
    }
}

/// U − L, at least 1.
fn width(grid: &Grid) -> i64 {
    grid.upper() - grid.lower()
}

/// n/d for d > 0, rounded to the nearest.
fn round_div(n: i128, d: i128) -> i128 {
    (n + d / 2).div_euclid(d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Adjacency;
    use crate::statistic::{Bounds, Moments, Rows};
    use proptest::prelude::*;

    fn grid(bounds: &str) -> Grid {
        Grid::new(&bounds.parse::<Bounds>().unwrap())
    }

    #[test]
    fn without_noise_they_are_count_and_moments() {
        for bounds in ["-20..100", "0..1", "1000..1000.1", "-7..-3", "-3..4"] {
            let grid = grid(bounds);
            let (lower, upper) = (grid.value(grid.lower()), grid.value(grid.upper()));
            let values: Vec<f64> =
                (0..1000).map(|i| lower + (upper - lower) * f64::from(i * 7919 % 1009) / 1009.0).collect();
            let ends = Ends::of(&grid, values.iter().copied().map(Some));
            let moments = Moments::of(&grid, values.iter().copied().map(Some));
            assert_eq!(ends.to_count_and_sum(&grid), (moments.count, moments.sum), "{bounds}");
            assert_eq!(ends.count(&grid), 1000.0);
            let mean = values.iter().sum::<f64>() / 1000.0;
            assert!((ends.mean(&grid) - mean).abs() <= grid.step(), "{bounds}");
            assert!((ends.total(&grid) - 1000.0 * mean).abs() <= 1000.0 * grid.step(), "{bounds}");
            let mut by_value = Ends::default();
            values.iter().for_each(|value| by_value.add(&grid, grid.steps(*value).unwrap()));
            assert_eq!(by_value, ends);
        }
    }

    #[test]
    fn nothing_at_all_has_a_mean() {
        let grid = grid("10..20");
        assert_eq!(Ends::of(&grid, [None, Some(f64::NAN)]), Ends::default());
        assert_eq!(Ends::default().mean(&grid), 15.0);
        let noisy = Ends { above_lower: i64::MIN, below_upper: i64::MAX };
        assert_eq!(noisy.mean(&grid), 10.0);
        assert!(noisy.mean_half_width(&grid, u64::MAX) <= 10.0);
    }

    /// Everything that one unit can add to (A, B) in two groups, on a range of four steps: no two contributions are
    /// further apart than the sensitivity says, and some are exactly that far.
    #[test]
    fn no_unit_can_move_the_pair_further() {
        const WIDTH: i64 = 4;
        let unit = |rows: u64| -> Vec<[i64; 2]> {
            let sums = |count: i64| (0..=WIDTH * count).map(move |above| [above, WIDTH * count - above]);
            (0..=rows as i64).flat_map(sums).collect()
        };
        for (adjacency, groups, rows) in [
            (Adjacency::AddRemove, Some(1), 2),
            (Adjacency::AddRemove, Some(2), 1),
            (Adjacency::Replace, None, 2),
            (Adjacency::Replace, Some(1), 1),
            (Adjacency::Replace, Some(2), 1),
        ] {
            let contribution = match groups {
                Some(groups) => Contribution::in_groups(adjacency, groups, Rows::AtMost(rows)).unwrap(),
                None => Contribution::overall(adjacency, Rows::AtMost(rows)).unwrap(),
            };
            let claim = contribution.in_bins().of_values(0, WIDTH).unwrap();
            let all: Vec<[i64; 4]> = unit(rows)
                .iter()
                .flat_map(|&[a, b]| unit(rows).into_iter().map(move |[c, d]| [a, b, c, d]))
                .filter(|all| groups.unwrap_or(1) == 2 || all[..2] == [0, 0] || all[2..] == [0, 0])
                // One statistic over all rows has no second group.
                .filter(|all| groups.is_some() || all[2..] == [0, 0])
                .collect();
            let others = if adjacency == Adjacency::Replace { all.clone() } else { vec![[0; 4]] };
            let (mut l1, mut l2_squared) = (0, 0);
            for one in &all {
                for other in &others {
                    let differences = [0, 1, 2, 3].map(|place| one[place].abs_diff(other[place]));
                    l1 = l1.max(differences.iter().sum::<u64>());
                    l2_squared = l2_squared.max(differences.iter().map(|&d| u128::from(d * d)).sum());
                }
            }
            assert_eq!((l1, l2_squared), (claim.l1().unwrap(), claim.l2_squared().unwrap()), "{contribution:?}");
        }
    }

    proptest! {
        /// Wherever the true ends lie within the half-width, the true results lie within theirs.
        #[test]
        fn half_widths_hold(
            above in -1000i64..100_000_000, below in -1000i64..100_000_000,
            first in -50_000_000i64..50_000_000, second in -50_000_000i64..50_000_000,
        ) {
            let grid = grid("-3..4");
            let half_width = first.unsigned_abs().max(second.unsigned_abs());
            let of_sum = (first + second).unsigned_abs().max((first - second).unsigned_abs());
            let truth = Ends { above_lower: above, below_upper: below };
            let noisy = Ends { above_lower: above + first, below_upper: below + second };
            let tiny = 1e-9;
            prop_assert!((noisy.mean(&grid) - truth.mean(&grid)).abs() <= noisy.mean_half_width(&grid, half_width) + tiny);
            prop_assert!((noisy.total(&grid) - truth.total(&grid)).abs() <= Ends::total_half_width(&grid, half_width) + tiny);
            prop_assert!((noisy.count(&grid) - truth.count(&grid)).abs() <= Ends::count_half_width(&grid, of_sum) + tiny);
            let (count, sum) = (truth.to_count_and_sum(&grid), noisy.to_count_and_sum(&grid));
            let widths = Ends::count_and_sum_half_widths(&grid, of_sum);
            prop_assert!(count.0.abs_diff(sum.0) <= widths.0 && count.1.abs_diff(sum.1) <= widths.1);
        }
    }
}
