//! Counts and centred sums, from which means and variances follow.

use super::grid::saturated;
use super::{Contribution, Grid, Sensitivity};
use crate::error::Result;

/// Squares are rounded until the largest has at most this many bits: the same relative resolution as for the values.
const SQUARE_BITS: u32 = 28;

/// Count, centred sum and centred sum of squares of a column, exactly.
///
/// # Privacy
/// N is the number of values, S = Σ(x − mid) in grid steps, Q = Σ⌊(x − mid)²/2^q⌉ in steps of 2^q squared grid steps,
/// mid the public middle of the range and q the smallest number for which one square takes at most 28 bits. Centring
/// halves what one value can add: S needs noise for (U − L)/2 instead of max(|L|, |U|). Each has its own
/// [`Sensitivity`]; releasing all three costs the sum.
///
/// # Accuracy
/// SUM = S + mid·N, AVG = mid + S/N and the variance Q/N − (S/N)² are functions of the three, so they cost nothing
/// extra.
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
    /// The moments of a column.
    pub fn of(grid: &Grid, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let terms = MomentsOf::new(grid);
        let (mut count, mut sum, mut squares) = (0i64, 0i128, 0i128);
        for steps in values.into_iter().flatten().filter_map(|value| grid.steps(value)) {
            let (centred, square) = terms.term(steps);
            count += 1;
            sum += i128::from(centred);
            squares += i128::from(square);
        }
        Self { count, sum: saturated(sum), squares: saturated(squares) }
    }

    /// Adds the moments of other values of the same column; saturates like [`MomentsOf::add`].
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
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
        contribution.with_gaps().of_values(0, Self::largest_square(grid))
    }

    /// The most that one value can add to the sum of squares.
    pub fn largest_square(grid: &Grid) -> i64 {
        let square = |steps: i64| MomentsOf::new(grid).term(steps).1;
        square(grid.lower()).max(square(grid.upper()))
    }

    /// Σx, from a released count and centred sum.
    pub fn total(grid: &Grid, count: i64, sum: i64) -> f64 {
        grid.value(sum) + grid.value(grid.middle()) * count as f64
    }

    /// The mean, from a released count and centred sum: within the bounds, and the middle of the range if there are no
    /// values.
    pub fn mean(grid: &Grid, count: i64, sum: i64) -> f64 {
        let mean = grid.value(grid.middle()) + grid.value(sum) / count.max(1) as f64;
        mean.clamp(grid.value(grid.lower()), grid.value(grid.upper()))
    }

    /// The value of one step of Q, a power of two.
    pub fn square_step(grid: &Grid) -> f64 {
        libm::ldexp(grid.step() * grid.step(), square_shift(grid) as i32)
    }

    /// The variance, from a released count, centred sum and sum of squares: Q/N − (S/N)², from 0 to a quarter of the
    /// squared range, times N/(N − 1) if that is the divisor. A count below two is treated as two.
    pub fn variance(grid: &Grid, divisor: Divisor, [count, sum, squares]: [i64; 3]) -> f64 {
        let n = count.max(1) as f64;
        let mean = grid.value(sum) / n;
        let mean_square = squares as f64 * Self::square_step(grid) / n;
        (mean_square - mean * mean).clamp(0.0, largest_variance(grid)) * divisor.correction(count)
    }
}

/// The divisor of the sum of squared deviations from the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// N: the variance of the values themselves.
    Count,
    /// N − 1: the estimate for a population of which the values are a sample.
    CountMinusOne,
}

impl Divisor {
    /// The factor of Q/N − (S/N)².
    fn correction(self, count: i64) -> f64 {
        match self {
            Self::Count => 1.0,
            Self::CountMinusOne => count.max(2) as f64 / (count.max(2) - 1) as f64,
        }
    }

    /// Candidate counts, one of which is nearest to where [`Moments::variance`] is largest for a given sum and squares.
    fn peaks(self, grid: &Grid, sum: i64, squares: i64) -> [f64; 2] {
        let square = sum as f64 * sum as f64;
        let squares = libm::ldexp(squares as f64, square_shift(grid) as i32);
        if squares <= 0.0 {
            return [1.0; 2];
        }
        let x = square / squares;
        match self {
            Self::Count => [2.0 * x; 2],
            Self::CountMinusOne => {
                let most = largest_variance(grid) / (grid.step() * grid.step());
                let reaches = 2.0 * square / (squares + (squares * squares - 4.0 * most * square).max(0.0).sqrt());
                [x + (x * x - x).max(0.0).sqrt(), reaches]
            }
        }
    }
}

/// How far the noise may have moved results computed from released moments, at a level at which the parts hold
/// *jointly*: see [`joint_level`](crate::release::joint_level).
impl Moments {
    /// For [`Moments::total`]: the count may be off by the first half-width, the centred sum by the second (in steps).
    pub fn total_half_width(grid: &Grid, half_widths: (u64, u64)) -> f64 {
        let (count, sum) = (half_widths.0 as f64, half_widths.1 as f64);
        sum * grid.step() + count * grid.value(grid.middle()).abs()
    }

    /// For [`Moments::mean`]: the farthest that the mean can be from the released one while count and sum are within
    /// their half-widths. It is monotone in either while the other is fixed, so it is farthest at a corner.
    pub fn mean_half_width(grid: &Grid, count: i64, sum: i64, half_widths: (u64, u64)) -> f64 {
        let here = Self::mean(grid, count, sum);
        let corners = ends(count, half_widths.0)
            .into_iter()
            .flat_map(|count| ends(sum, half_widths.1).map(|sum| Self::mean(grid, count, sum)));
        corners.map(|corner| (corner - here).abs()).fold(0.0, f64::max)
    }

    /// For [`Moments::variance`]: the farthest that it can be while count, sum and squares are within their
    /// half-widths.
    ///
    /// So it covers the exact variance whenever the three half-widths hold, the uncertainty of N in N/(N − 1) included.
    /// Proof that the farthest point is among those that are tried, for every range of N, S and Q:
    ///
    /// Let V(N) = Q/N − S²/N², c a quarter of the squared range, and F(N) = g(N)·min(max(V(N), 0), c) with g = 1 or, for
    /// N ≥ 2, g(N) = N/(N − 1). For each N, F never falls as Q grows or as S² falls. So F is largest where Q is at its upper end and S nearest
    /// to 0, and smallest where Q is at its lower end and S at one of its ends; there remains one function of N each.
    ///
    /// If Q ≤ 0 it is 0 everywhere. Otherwise V rises up to N = 2x with x = S²/Q, and falls beyond; with g = 1 this is all there is
    /// to it. With the other g, h = g·V = (QN − S²)/(N(N − 1)) has a derivative of the sign of −QN² + 2S²N − S². If x < 1 it is
    /// negative throughout; else its roots are x ± √(x² − x), of which the smaller is at most 1. So h rises up to
    /// r = x + √(x² − x) ≤ 2x at most, and falls beyond. V ≥ c between the roots of cN² − QN + S², if there are any; let N₁ be the smaller, which is at
    /// most 2x. F = max(h, 0) outside of them and F = c·g, which falls, between them; beyond the larger one, V and g fall, and
    /// so does h. So F rises (or is 0) up to min(r, N₁) and falls beyond: on any range of N ≥ 2 it is smallest at one of the ends, and largest
    /// at an end or at a whole number next to r or N₁. N < 2 is a case of its own: all such N give the same.
    pub fn variance_half_width(grid: &Grid, divisor: Divisor, released: [i64; 3], half_widths: [u64; 3]) -> f64 {
        Self::farthest(grid, divisor, released, half_widths, |variance| variance)
    }

    /// For the square root of [`Moments::variance`], in the same way: a root grows with its square.
    pub fn standard_deviation_half_width(
        grid: &Grid,
        divisor: Divisor,
        released: [i64; 3],
        half_widths: [u64; 3],
    ) -> f64 {
        Self::farthest(grid, divisor, released, half_widths, f64::sqrt)
    }

    fn farthest(
        grid: &Grid,
        divisor: Divisor,
        released: [i64; 3],
        half_widths: [u64; 3],
        shown: impl Fn(f64) -> f64,
    ) -> f64 {
        let shown = |moments: [i64; 3]| shown(Self::variance(grid, divisor, moments));
        let here = shown(released);
        let [[fewest, most], [low, high], squares] = [0, 1, 2].map(|place| ends(released[place], half_widths[place]));
        let mut farthest = 0f64;
        for sum in [low, high, 0i64.clamp(low, high)] {
            for squares in squares {
                // Floats locate a peak to within one.
                let next_to = |peak: f64| [-1, 0, 1, 2].map(|more| (peak as i64).saturating_add(more));
                let peaks = divisor.peaks(grid, sum, squares).into_iter().flat_map(next_to);
                for count in [fewest, most, 1, 2].into_iter().chain(peaks) {
                    let corner = shown([count.clamp(fewest, most), sum, squares]);
                    farthest = farthest.max((corner - here).abs());
                }
            }
        }
        farthest
    }
}

/// Both ends of the range that a number may have had before the noise.
fn ends(released: i64, half_width: u64) -> [i64; 2] {
    let half_width = i64::try_from(half_width).unwrap_or(i64::MAX);
    [released.saturating_sub(half_width), released.saturating_add(half_width)]
}

/// What one value adds to [`Moments`], prepared once per column for loops over many rows.
///
/// # Example
/// ```
/// use reticent::statistic::{Bounds, Grid, Moments, MomentsOf};
///
/// let grid = Grid::new(&"0..100".parse::<Bounds>()?);
/// let column = MomentsOf::new(&grid);
/// let mut moments = Moments::default();
/// for value in [40.0, 60.0, 80.0] {
///     column.add(&mut moments, grid.steps(value).unwrap());
/// }
/// assert_eq!(moments, Moments::of(&grid, [Some(40.0), Some(60.0), Some(80.0)]));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MomentsOf {
    middle: i64,
    /// q
    shift: u32,
}

impl MomentsOf {
    /// For the values of a grid.
    pub fn new(grid: &Grid) -> Self {
        Self { middle: grid.middle(), shift: square_shift(grid) }
    }

    /// x − mid in steps, and its square in steps of 2^q squared ones, for a value clamped by the grid.
    #[inline]
    pub fn term(&self, steps: i64) -> (i64, i64) {
        // Within the grid a centred value is below 2^29, so its square fits.
        let centred = steps.saturating_sub(self.middle);
        (centred, coarse_square(centred, self.shift))
    }

    /// Adds one value, in steps already clamped by the grid.
    ///
    /// No sum of fewer than 2^34 values leaves an `i64`; beyond that it saturates, which moves no two sums further
    /// apart.
    #[inline]
    pub fn add(&self, moments: &mut Moments, steps: i64) {
        let (centred, square) = self.term(steps);
        moments.merge(&Moments { count: 1, sum: centred, squares: square });
    }
}

/// A quarter of the squared range: no values within it have a larger variance.
fn largest_variance(grid: &Grid) -> f64 {
    let range = grid.value(grid.upper()) - grid.value(grid.lower());
    range * range / 4.0
}

/// q
fn square_shift(grid: &Grid) -> u32 {
    let largest = grid.upper().abs_diff(grid.middle()).max(grid.lower().abs_diff(grid.middle()));
    (2 * (64 - largest.leading_zeros())).saturating_sub(SQUARE_BITS)
}

/// ⌊x²/2^shift⌉
#[inline]
fn coarse_square(centred: i64, shift: u32) -> i64 {
    let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
    (centred.saturating_mul(centred).saturating_add(half)) >> shift
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
        let of = |divisor| Moments::variance(&grid, divisor, [exact.count, exact.sum, exact.squares]);
        assert!((of(Divisor::Count) / variance - 1.0).abs() < 1e-6);
        assert!((of(Divisor::CountMinusOne) / variance - n / (n - 1.0)).abs() < 1e-6);
    }

    /// A range that is narrow compared to its distance from 0: timestamps of one day, a tenth above a thousand.
    #[test]
    fn narrow_ranges_keep_their_variance() {
        for (bounds, first, width) in [("1700000000..1700086400", 1.7e9, 86_400.0), ("1000..1000.1", 1000.0, 0.1)] {
            let grid = grid(bounds);
            let values = (0..10_000).map(|i| Some(first + width * (f64::from(i) + 0.5) / 10_000.0));
            let exact = Moments::of(&grid, values);
            let variance = Moments::variance(&grid, Divisor::Count, [exact.count, exact.sum, exact.squares]);
            assert!((variance / (width * width / 12.0) - 1.0).abs() < 1e-3, "{bounds}: {variance}");
        }
    }

    #[test]
    fn nothing_at_all_has_a_mean() {
        let grid = grid("10..20");
        let none = Moments::of(&grid, [None, Some(f64::NAN)]);
        assert_eq!(none, Moments::default());
        assert_eq!(Moments::mean(&grid, 0, 0), 15.0);
        assert_eq!(Moments::variance(&grid, Divisor::Count, [-5, 3, -7]), 0.0);
    }

    proptest! {
        /// For every count, sum and squares within their half-widths, with every count tried: none is farther.
        #[test]
        fn no_variance_is_farther_than_the_half_width(
            count in -3i64..60, sum in -1.0f64..1.0, squares in -0.5f64..1.5,
            half_widths in (0u64..30, 0.0f64..1.0, 0.0f64..1.0), other in (0.0f64..1.0, 0.0f64..1.0),
        ) {
            let grid = grid("-30..50");
            let (centred, square) = MomentsOf::new(&grid).term(grid.upper());
            let steps = |share: f64, of: i64| (share * 20.0 * of as f64) as i64;
            let released = [count, steps(sum, centred), steps(squares, square)];
            let half_widths = [
                half_widths.0, steps(half_widths.1, centred).unsigned_abs(), steps(half_widths.2, square).unsigned_abs(),
            ];
            let within = |place: usize, share: f64| {
                let [low, high] = ends(released[place], half_widths[place]);
                low + ((high - low) as f64 * share) as i64
            };
            let [fewest, most] = ends(released[0], half_widths[0]);
            for divisor in [Divisor::Count, Divisor::CountMinusOne] {
                let here = Moments::variance(&grid, divisor, released);
                let bar = Moments::variance_half_width(&grid, divisor, released, half_widths);
                let root_bar = Moments::standard_deviation_half_width(&grid, divisor, released, half_widths);
                for count in fewest..=most {
                    for (sum, squares) in [(other.0, other.1), (other.0, 0.0), (other.0, 1.0), (0.0, other.1), (1.0, 1.0)] {
                        let there = Moments::variance(&grid, divisor, [count, within(1, sum), within(2, squares)]);
                        prop_assert!((there - here).abs() <= bar * (1.0 + 1e-9), "{divisor:?} {count}: {there} {here} {bar}");
                        prop_assert!((there.sqrt() - here.sqrt()).abs() <= root_bar * (1.0 + 1e-9));
                    }
                }
            }
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
