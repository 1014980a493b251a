//! Counts and centred sums, from which means and variances follow.

use super::grid::saturated;
use super::{Contribution, Grid, Sensitivity};
use crate::error::Result;

/// Squares are rounded until the largest has at most this many bits: as fine relative to it as the values are to theirs.
const SQUARE_BITS: u32 = 28;

/// Count, centred sum and centred sum of squares of a column, exactly.
///
/// # Privacy
/// N is the number of values, S = Σ(x − mid) in grid steps, Q = Σ⌊(x − mid)²/2^q⌉ in steps of 2^q squared grid steps, mid the
/// public middle of the range and q the smallest number for which one square takes at most 28 bits. Centring halves what one value can add: S needs noise for (U − L)/2 instead of max(|L|, |U|).
/// Each has its own [`Sensitivity`]; whoever releases all of them pays for all of them.
///
/// # Accuracy
/// SUM = S + mid·N, AVG = mid + S/N and VAR = Q/N − (S/N)² are functions of the three, so they cost nothing more.
///
/// # Example
/// ```
/// use reticent::statistic::{Bounds, Grid, Moments};
///
/// let grid = Grid::new(&"0..100".parse::<Bounds>()?);
/// let exact = Moments::of(&grid, [Some(40.0), Some(60.0), None, Some(80.0)]);
/// assert_eq!(exact.count, 3);
/// assert_eq!(Moments::mean(&grid, exact.count, exact.sum), 60.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moments {
    /// N, without NaN and NULL.
    pub count: i64,
    /// S, in grid steps.
    pub sum: i64,
    /// Q, in steps of 2^q squared grid steps.
    pub squares: i64,
}

impl Moments {
    /// Of a column.
    pub fn of(grid: &Grid, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let (middle, shift) = (grid.middle(), square_shift(grid));
        let (mut count, mut sum, mut squares) = (0i64, 0i128, 0i128);
        for steps in values.into_iter().flatten().filter_map(|value| grid.steps(value)) {
            let centred = i128::from(steps - middle);
            count += 1;
            sum += centred;
            squares += coarse_square(centred, shift);
        }
        Self { count, sum: saturated(sum), squares: saturated(squares) }
    }

    /// What one value of so many steps adds to Q: for whoever adds up rows in another order than [`Moments::of`].
    #[inline]
    pub fn square(grid: &Grid, steps: i64) -> i64 {
        coarse_square(i128::from(steps - grid.middle()), square_shift(grid)) as i64
    }

    /// The moments from Σx (not centred) in grid steps and Q. The sums saturate at the ends of an `i64`, which keeps them
    /// as insensitive as they were.
    pub fn from_sums(grid: &Grid, count: i64, sum: i128, squares: i128) -> Self {
        let centred = sum - i128::from(grid.middle()) * i128::from(count);
        Self { count, sum: saturated(centred), squares: saturated(squares) }
    }

    /// How far one unit can move the count.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn count_sensitivity(contribution: &Contribution) -> Result<Sensitivity> {
        contribution.with_gaps().of_count()
    }

    /// How far one unit can move the centred sum.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn sum_sensitivity(grid: &Grid, contribution: &Contribution) -> Result<Sensitivity> {
        contribution.with_gaps().of_values(grid.lower() - grid.middle(), grid.upper() - grid.middle())
    }

    /// How far one unit can move the sum of squares.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn squares_sensitivity(grid: &Grid, contribution: &Contribution) -> Result<Sensitivity> {
        let end = |steps: i64| coarse_square(i128::from(steps - grid.middle()), square_shift(grid));
        contribution.with_gaps().of_values(0, saturated(end(grid.lower()).max(end(grid.upper()))))
    }

    /// Σx, from a released count and centred sum.
    pub fn total(grid: &Grid, count: i64, sum: i64) -> f64 {
        grid.value(sum) + grid.value(grid.middle()) * count as f64
    }

    /// The mean, from a released count and centred sum: within the bounds, and the middle of the range if there is nothing.
    pub fn mean(grid: &Grid, count: i64, sum: i64) -> f64 {
        let mean = grid.value(grid.middle()) + grid.value(sum) / count.max(1) as f64;
        mean.clamp(grid.value(grid.lower()), grid.value(grid.upper()))
    }

    /// The variance, from a released count, centred sum and sum of squares: from 0 to a quarter of the squared range.
    pub fn variance(grid: &Grid, count: i64, sum: i64, squares: i64) -> f64 {
        let n = count.max(1) as f64;
        let mean = grid.value(sum) / n;
        let step = grid.step();
        let mean_square = squares as f64 * libm::ldexp(step * step, square_shift(grid) as i32) / n;
        let range = grid.value(grid.upper()) - grid.value(grid.lower());
        (mean_square - mean * mean).clamp(0.0, range * range / 4.0)
    }
}

impl Moments {
    /// The count, rounded down, at which [`Moments::variance`] is largest for a given sum and squares: 2S²/Q.
    pub(crate) fn variance_peak(grid: &Grid, sum: i64, squares: i64) -> i64 {
        if squares <= 0 {
            return 1;
        }
        // S² fits 126 bits; a factor of 2 is one bit less of the shift, if there is one.
        let (square, shift) = (i128::from(sum) * i128::from(sum), square_shift(grid));
        let doubled = if shift == 0 { square.saturating_mul(2) } else { square >> (shift - 1) };
        saturated(doubled / i128::from(squares))
    }
}

/// q
fn square_shift(grid: &Grid) -> u32 {
    let largest = grid.upper().abs_diff(grid.middle()).max(grid.lower().abs_diff(grid.middle()));
    (2 * (64 - largest.leading_zeros())).saturating_sub(SQUARE_BITS)
}

/// ⌊x²/2^shift⌉
fn coarse_square(centred: i128, shift: u32) -> i128 {
    let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
    (centred * centred + half) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Adjacency;
    use crate::statistic::{Bounds, Rows};
    use proptest::prelude::*;

    fn grid(bounds: &str) -> Grid {
        Grid::new(&bounds.parse::<Bounds>().unwrap())
    }

    #[test]
    fn without_noise_the_formulas_give_mean_and_variance() {
        let grid = grid("-20..100");
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 97) - 3.5).collect();
        let exact = Moments::of(&grid, values.iter().copied().map(Some));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        assert!((Moments::mean(&grid, exact.count, exact.sum) - mean).abs() < 1e-5);
        assert!((Moments::total(&grid, exact.count, exact.sum) - mean * n).abs() < 1e-2);
        assert!((Moments::variance(&grid, exact.count, exact.sum, exact.squares) / variance - 1.0).abs() < 1e-6);
    }

    /// A range that is narrow next to its distance from 0: timestamps of one day, a tenth above a thousand.
    #[test]
    fn narrow_ranges_keep_their_variance() {
        for (bounds, first, width) in [("1700000000..1700086400", 1.7e9, 86_400.0), ("1000..1000.1", 1000.0, 0.1)] {
            let grid = grid(bounds);
            let values = (0..10_000).map(|i| Some(first + width * (f64::from(i) + 0.5) / 10_000.0));
            let exact = Moments::of(&grid, values);
            let variance = Moments::variance(&grid, exact.count, exact.sum, exact.squares);
            assert!((variance / (width * width / 12.0) - 1.0).abs() < 1e-3, "{bounds}: {variance}");
        }
    }

    #[test]
    fn nothing_at_all_has_a_mean() {
        let grid = grid("10..20");
        let none = Moments::of(&grid, [None, Some(f64::NAN)]);
        assert_eq!(none, Moments::default());
        assert_eq!(Moments::mean(&grid, 0, 0), 15.0);
        assert_eq!(Moments::variance(&grid, -5, 3, -7), 0.0);
    }

    proptest! {
        /// Row by row, in the other direction.
        #[test]
        fn sums_of_steps_and_squares_make_the_moments(rows in prop::collection::vec(any::<f64>(), 0..20)) {
            let grid = grid("-30..51");
            let steps: Vec<i64> = rows.iter().rev().filter_map(|&value| grid.steps(value)).collect();
            let sum = steps.iter().map(|&steps| i128::from(steps)).sum();
            let squares = steps.iter().map(|&steps| i128::from(Moments::square(&grid, steps))).sum();
            let moments = Moments::from_sums(&grid, steps.len() as i64, sum, squares);
            prop_assert_eq!(moments, Moments::of(&grid, rows.iter().copied().map(Some)));
        }

        #[test]
        fn one_row_moves_each_moment_by_no_more_than_its_sensitivity(
            rows in prop::collection::vec(any::<f64>(), 0..20), one in any::<f64>(), other in any::<f64>(),
        ) {
            let grid = grid("-30..50");
            let of = |extra: Option<f64>| Moments::of(&grid, rows.iter().copied().chain(extra).map(Some));
            for (adjacency, before, after) in [
                (Adjacency::AddRemove, of(None), of(Some(one))),
                (Adjacency::Replace, of(Some(one)), of(Some(other))),
            ] {
                // A row that is certainly there may still hold a NaN, which is dropped.
                let contribution = Contribution::overall(adjacency, Rows::Exactly(1)).unwrap();
                let most = |sensitivity: Result<Sensitivity>| sensitivity.unwrap().l1().unwrap();
                prop_assert!(before.count.abs_diff(after.count) <= most(Moments::count_sensitivity(&contribution)));
                prop_assert!(before.sum.abs_diff(after.sum) <= most(Moments::sum_sensitivity(&grid, &contribution)));
                prop_assert!(before.squares.abs_diff(after.squares) <= most(Moments::squares_sensitivity(&grid, &contribution)));
            }
        }
    }
}
