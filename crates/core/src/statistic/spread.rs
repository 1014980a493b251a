//! How a column's values are spread over their range: count, sum and variance in one statistic.

use super::grid::saturated;
use super::{Contribution, Grid, Sensitivity};
use crate::error::Result;

/// The total that one value adds takes at most this many bits.
const BITS: u32 = 28;

/// The values of a column within L..U, each spread over three bins: near the lower end, in between, near the upper end.
///
/// # Privacy
/// With u = (x − L)/(U − L), a value adds (1 − u)² to the first bin, 2u(1 − u) to the second and u² to the third, in
/// units of 1/T: the squares are rounded down to whole units, and what is missing to T goes to the second bin. (T =
/// ⌊W²/2^q⌋ for W steps of the grid and the smallest q for which T takes at most 28 bits; (1 − u)² + u² ≤ 1, so nothing
/// is negative.) The three add up to T whatever the value is. So a unit's rows contribute to the bins as to a
/// histogram, times T, and the [`Sensitivity`] of *all three* follows: L1 g·r·T under add/remove and twice that under
/// replace; L2² g·(r·T)², and twice.
///
/// # Accuracy
/// Bernstein's polynomials of degree 2 span 1, x and x², so count, sum and squares are sums of the three: N = (A + B +
/// C)/T, Σu = (B/2 + C)/T, Σu² = C/T; the mean of u is then γ + β/2 and its variance αγ − β²/4, where α, β and γ are
/// the three over their sum. In groups, under pure ε and with the unit gr/ε, noise on A, B and C has variance 2T²: that
/// of N is 6, that of S = Σ(x − mid) is 4h² with h half the range, that of Q = Σ(x − mid)² = h²(A − B + C)/T is 6h⁴.
/// With [`Moments`](super::Moments) and a third of ε for each they are 18, 18h² and 18h⁴: **three times as much or
/// more**. If only count and mean are wanted, [`Ends`](super::Ends) has 4 and 4h².
///
/// # Algorithm
/// Released bins below 0 are treated as 0, and a sum below T (less than one value) as T.
///
/// # Example
/// ```
/// use reticent::statistic::{Bounds, Grid, Spread};
///
/// let grid = Grid::new(&"0..100".parse::<Bounds>()?);
/// let exact = Spread::of(&grid, [Some(40.0), Some(60.0), None, Some(80.0)]);
/// assert_eq!(exact.count(&grid), 3.0);
/// assert!((exact.mean(&grid) - 60.0).abs() < 1e-6 && (exact.variance(&grid) - 800.0 / 3.0).abs() < 1e-4);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spread {
    /// A, B and C, in units of 1/T.
    pub bins: [i64; 3],
}

impl Spread {
    /// The spread of a column; NaN and NULL are dropped.
    pub fn of(grid: &Grid, values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let terms = SpreadOf::new(grid);
        let mut sums = [0i128; 3];
        for steps in values.into_iter().flatten().filter_map(|value| grid.steps(value)) {
            for (sum, term) in sums.iter_mut().zip(terms.term(steps)) {
                *sum += i128::from(term);
            }
        }
        Self { bins: sums.map(saturated) }
    }

    /// Adds the spread of other values of the same column.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        for (bin, more) in self.bins.iter_mut().zip(other.bins) {
            *bin = bin.saturating_add(more);
        }
    }

    /// How far one unit can move the three together.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn sensitivity(grid: &Grid, contribution: &Contribution) -> Result<Sensitivity> {
        contribution.in_bins().of_values(0, SpreadOf::new(grid).total)
    }

    /// The number of values: a whole number for exact bins, any number for released ones.
    pub fn count(&self, grid: &Grid) -> f64 {
        self.bins.iter().map(|&bin| bin as f64).sum::<f64>() / SpreadOf::new(grid).unit()
    }

    /// Σx.
    pub fn total(&self, grid: &Grid) -> f64 {
        let weighted: f64 = self.bins.iter().zip(knots(grid)).map(|(&bin, knot)| bin as f64 * knot).sum();
        weighted / SpreadOf::new(grid).unit()
    }

    /// The mean: within the bounds, and the middle of the range if there are no values.
    pub fn mean(&self, grid: &Grid) -> f64 {
        mean_of(grid, self.bins.map(|bin| bin as f64))
    }

    /// The variance, divided by the count: from 0 to a quarter of the squared range.
    pub fn variance(&self, grid: &Grid) -> f64 {
        variance_of(grid, self.bins.map(|bin| bin as f64))
    }
}

/// How far the noise may have moved results computed from released bins.
impl Spread {
    /// For [`Spread::count`], if the *sum* of the noises on the three bins is within `half_width_of_sum`.
    pub fn count_half_width(grid: &Grid, half_width_of_sum: u64) -> f64 {
        half_width_of_sum as f64 / SpreadOf::new(grid).unit()
    }

    /// For [`Spread::total`], if the noises on the three bins are each within `half_width`, jointly.
    pub fn total_half_width(grid: &Grid, half_width: u64) -> f64 {
        half_width as f64 * knots(grid).iter().map(|knot| knot.abs()).sum::<f64>() / SpreadOf::new(grid).unit()
    }

    /// For [`Spread::mean`], if the noises on the three bins are each within `half_width`, jointly.
    ///
    /// The mean falls with A and grows with C; B pulls it towards the middle from either side. So it is farthest at
    /// corners.
    pub fn mean_half_width(&self, grid: &Grid, half_width: u64) -> f64 {
        let ([a, most_a], [b, most_b], [c, most_c]) = self.ends(half_width);
        let corners = [[a, b, most_c], [a, most_b, most_c], [most_a, b, c], [most_a, most_b, c]];
        farthest(self.mean(grid), corners.map(|corner| mean_of(grid, corner)))
    }

    /// For [`Spread::variance`], if the noises on the three bins are each within `half_width`, jointly.
    ///
    /// f = (AC − B²/4)/M² with M = max(A + B + C, T) falls with B. As a function of A it rises up to A = max(B + C +
    /// B²/2C, T − B − C) and falls from there on; and so for C. So it is smallest at a corner with the largest B, and
    /// largest with the smallest B and, because f grows where A and C grow together, with A or C at its upper end and
    /// the other as near as it can be to where f is highest.
    pub fn variance_half_width(&self, grid: &Grid, half_width: u64) -> f64 {
        farthest(self.variance(grid), self.extreme_variances(grid, half_width))
    }

    /// For the square root of [`Spread::variance`], in the same way: a root grows with its square.
    pub fn standard_deviation_half_width(&self, grid: &Grid, half_width: u64) -> f64 {
        farthest(self.variance(grid).sqrt(), self.extreme_variances(grid, half_width).map(f64::sqrt))
    }

    fn extreme_variances(&self, grid: &Grid, half_width: u64) -> [f64; 6] {
        let (a, [b, most_b], c) = self.ends(half_width);
        let total = SpreadOf::new(grid).unit();
        // Where the variance is highest for a given other end.
        let best = |other: f64, [least, most]: [f64; 2]| {
            let peak = if other > 0.0 { b + other + b * b / (2.0 * other) } else { f64::INFINITY };
            peak.max(total - b - other).clamp(least, most)
        };
        let ([low_a, high_a], [low_c, high_c]) = (a, c);
        [
            [low_a, most_b, low_c],
            [low_a, most_b, high_c],
            [high_a, most_b, low_c],
            [high_a, most_b, high_c],
            [high_a, b, best(high_a, c)],
            [best(high_c, a), b, high_c],
        ]
        .map(|bins| variance_of(grid, bins))
    }

    /// Both ends of the range that each bin may have had, none below 0.
    fn ends(&self, half_width: u64) -> ([f64; 2], [f64; 2], [f64; 2]) {
        let half_width = half_width as f64;
        let [a, b, c] = self.bins.map(|bin| [bin as f64 - half_width, bin as f64 + half_width].map(|end| end.max(0.0)));
        (a, b, c)
    }
}

/// What one value adds to a [`Spread`], prepared once per column for loops over many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpreadOf {
    lower: i64,
    /// W
    width: i64,
    /// q
    shift: u32,
    /// T
    total: i64,
}

impl SpreadOf {
    /// For the values of a grid.
    pub fn new(grid: &Grid) -> Self {
        let width = grid.upper() - grid.lower();
        // A width takes at most 29 bits and two steps more, its square at most 60.
        let shift = (64 - (width * width).leading_zeros()).saturating_sub(BITS);
        Self { lower: grid.lower(), width, shift, total: (width * width) >> shift }
    }

    /// What a value, in steps already clamped by the grid, adds to the three bins.
    #[inline]
    pub fn term(&self, steps: i64) -> [i64; 3] {
        let t = (steps - self.lower).clamp(0, self.width);
        let from_upper = self.width - t;
        let (a, c) = ((from_upper * from_upper) >> self.shift, (t * t) >> self.shift);
        [a, self.total - a - c, c]
    }

    /// Adds one value, in steps already clamped by the grid.
    ///
    /// No sum of fewer than 2^34 values leaves an `i64`; beyond that it saturates, which moves no two sums further
    /// apart.
    #[inline]
    pub fn add(&self, spread: &mut Spread, steps: i64) {
        spread.merge(&Spread { bins: self.term(steps) });
    }

    fn unit(&self) -> f64 {
        self.total as f64
    }
}

/// L, the middle and U: the positions of the bins.
fn knots(grid: &Grid) -> [f64; 3] {
    let (lower, upper) = (grid.value(grid.lower()), grid.value(grid.upper()));
    [lower, f64::midpoint(lower, upper), upper]
}

/// The bins with negative ones set to 0, and the divisor.
fn parts(grid: &Grid, bins: [f64; 3]) -> ([f64; 3], f64) {
    let bins = bins.map(|bin| bin.max(0.0));
    (bins, bins.iter().sum::<f64>().max(SpreadOf::new(grid).unit()))
}

fn mean_of(grid: &Grid, bins: [f64; 3]) -> f64 {
    let ([a, _, c], sum) = parts(grid, bins);
    let [lower, middle, upper] = knots(grid);
    (middle + (upper - lower) * (c - a) / (2.0 * sum)).clamp(lower, upper)
}

fn variance_of(grid: &Grid, bins: [f64; 3]) -> f64 {
    let ([a, b, c], sum) = parts(grid, bins);
    let [lower, _, upper] = knots(grid);
    let range = upper - lower;
    let (alpha, beta, gamma) = (a / sum, b / sum, c / sum);
    range * range * (alpha * gamma - beta * beta / 4.0).clamp(0.0, 0.25)
}

fn farthest<const N: usize>(here: f64, others: [f64; N]) -> f64 {
    others.iter().map(|other| (other - here).abs()).fold(0.0, f64::max)
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
    fn without_noise_they_are_count_mean_and_variance() {
        for bounds in ["-20..100", "0..1", "1000..1000.1", "-7..-3", "-3..4", "1700000000..1700086400"] {
            let grid = grid(bounds);
            let (lower, upper) = (grid.value(grid.lower()), grid.value(grid.upper()));
            let range = upper - lower;
            let values: Vec<f64> = (0..1000).map(|i| lower + range * f64::from(i * 7919 % 1009) / 1500.0).collect();
            let spread = Spread::of(&grid, values.iter().copied().map(Some));
            let mean = values.iter().sum::<f64>() / 1000.0;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1000.0;
            assert_eq!(spread.count(&grid), 1000.0);
            // A step of the narrowest of these ranges is a hundred thousandth of it.
            assert!((spread.mean(&grid) - mean).abs() <= 1e-5 * range, "{bounds}");
            assert!((spread.total(&grid) / 1000.0 - mean).abs() <= 1e-5 * range, "{bounds}");
            assert!((spread.variance(&grid) - variance).abs() <= 1e-5 * range * range, "{bounds}");
            let (terms, mut by_value) = (SpreadOf::new(&grid), Spread::default());
            values.iter().for_each(|value| terms.add(&mut by_value, grid.steps(*value).unwrap()));
            assert_eq!(by_value, spread);
        }
    }

    #[test]
    fn nothing_at_all_has_a_mean() {
        let grid = grid("10..20");
        assert_eq!(Spread::of(&grid, [None, Some(f64::NAN)]), Spread::default());
        assert_eq!((Spread::default().mean(&grid), Spread::default().variance(&grid)), (15.0, 0.0));
        let noisy = Spread { bins: [i64::MIN, i64::MAX, i64::MAX] };
        assert!((10.0..=20.0).contains(&noisy.mean(&grid)) && (0.0..=25.0).contains(&noisy.variance(&grid)));
        assert!(noisy.mean_half_width(&grid, u64::MAX) <= 10.0 && noisy.variance_half_width(&grid, u64::MAX) <= 25.0);
    }

    #[test]
    fn a_row_is_a_row_of_a_histogram_times_the_total() {
        let grid = grid("-3..4");
        let unit = Contribution::in_groups(Adjacency::Replace, 3, Rows::AtMost(2)).unwrap();
        let (spread, histogram) = (Spread::sensitivity(&grid, &unit).unwrap(), unit.of_histogram().unwrap());
        let total = SpreadOf::new(&grid).total as u64;
        assert_eq!(spread.l1().unwrap(), total * histogram.l1().unwrap());
        assert_eq!(spread.l2_squared().unwrap(), u128::from(total).pow(2) * histogram.l2_squared().unwrap());
    }

    proptest! {
        #[test]
        fn nothing_is_negative_and_all_add_up(value in any::<f64>(), lower in -1000i64..1000, width in 1i64..1000) {
            for bounds in [format!("{lower}..{}", lower + width), format!("{lower}..{lower}.0000{width}")] {
                let Ok(bounds) = bounds.parse::<Bounds>() else { continue };
                let grid = Grid::new(&bounds);
                let terms = SpreadOf::new(&grid);
                if let Some(steps) = grid.steps(value) {
                    let term = terms.term(steps);
                    prop_assert!(term.iter().all(|&bin| bin >= 0), "{:?}", term);
                    prop_assert_eq!(term.iter().sum::<i64>(), terms.total);
                    prop_assert!(terms.total >= 1 && terms.total < 1 << BITS);
                }
            }
        }

        /// Wherever the true bins lie within the half-width, the true results lie within theirs.
        #[test]
        fn half_widths_hold(
            truth in prop::array::uniform3(0u32..100), noise in prop::array::uniform3(-40i32..40), fine in 0i64..1 << 20,
        ) {
            let grid = grid("-3..4");
            let unit = SpreadOf::new(&grid).total / 10;
            let truth = Spread { bins: truth.map(|bin| i64::from(bin) * unit + fine) };
            let noise = noise.map(|noise| i64::from(noise) * unit);
            let noisy = Spread { bins: [0, 1, 2].map(|place| truth.bins[place] + noise[place]) };
            let half_width = noise.iter().map(|noise| noise.unsigned_abs()).max().unwrap();
            let of_sum = noise.iter().sum::<i64>().unsigned_abs();
            let tiny = 1e-9;
            let off = |of: &dyn Fn(&Spread) -> f64| (of(&noisy) - of(&truth)).abs();
            prop_assert!(off(&|s| s.count(&grid)) <= Spread::count_half_width(&grid, of_sum) + tiny);
            prop_assert!(off(&|s| s.total(&grid)) <= Spread::total_half_width(&grid, half_width) + tiny);
            prop_assert!(off(&|s| s.mean(&grid)) <= noisy.mean_half_width(&grid, half_width) + tiny);
            prop_assert!(off(&|s| s.variance(&grid)) <= noisy.variance_half_width(&grid, half_width) + tiny);
            let deviation = noisy.standard_deviation_half_width(&grid, half_width);
            prop_assert!(off(&|s| s.variance(&grid).sqrt()) <= deviation + tiny);
        }
    }
}
