//! Correction of an answer for what contribution limits left out.

use std::collections::BTreeMap;

use reticent::Permit;
use reticent::mechanism::{Batch, Part};
use reticent::privacy::{Adjacency, Guarantee};
use reticent::release::LEVEL;
use reticent::statistic::{Ends, Grid};
use reticent_bounding::{WEIGHT_BITS, Weighted};

use super::contribution::UnitContribution;
use super::design::{Additive, Design};
use super::draw::numbers;
use super::weights::{Chosen, counts_rows};
use crate::error::Result;

/// Totals that are no more than this many standard deviations above 0 may be noise alone.
const FAR: f64 = 3.0;
/// How much groups differ in the share that they lost: a standard deviation, as a multiple of the average share.
const SPREAD: f64 = 2.0;
/// The same for how far their means move.
const SPREAD_OF_MEANS: f64 = 1.5;
/// What units have beyond a cap falls with this power of the cap.
const TAIL: f64 = 1.5;

/// The number of standard deviations within which an error lies, where this many of them must hold at once at 95 %.
///
/// # Accuracy
/// Errors are sums of independent noises. Laplace noise is beyond d standard deviations with probability p = e^(−√2·d). Of
/// all sums of Laplace and Gaussian noises with the same variance, a single Laplace noise has the heaviest tail: with scales
/// 1 and b < 1, the sum is beyond t with probability (e^(−t) − b²·e^(−t/b))/(1 − b²), which at t = √2·d·√(1 + b²) is
/// below p for d ≥ √2, hence for p ≤ 0.05 (tested, together with Gaussian noise, on a grid).
pub fn deviations(together: u64) -> f64 {
    libm::log(together as f64 / (1.0 - LEVEL)) / std::f64::consts::SQRT_2
}

/// The totals that a design needs, over all groups: what larger weight caps would add to those of the answer.
///
/// # Privacy
/// They are released by a [`Batch`]: a unit has no more of each than the difference of the caps
/// ([`Weighing`](reticent_bounding::Weighing)). Where all groups are released, the totals with the caps of the answer are
/// sums of released numbers, and cost nothing; otherwise they are released, too.
#[derive(Debug, Clone)]
pub struct Totals {
    /// The parts of the design that have one.
    of: Vec<usize>,
    parts: Vec<Additive>,
    /// Whether totals with the caps of the answer are released, too.
    both: bool,
    budget: Guarantee,
    adjacency: Adjacency,
}

/// Released totals: for each part, one or two numbers.
#[derive(Debug, Clone)]
pub struct ReleasedTotals {
    of: Vec<usize>,
    /// What the larger caps add.
    added: Vec<Total>,
    /// With the caps of the answer; empty if all groups are released.
    small: Vec<Total>,
    chosen: Chosen,
}

/// A total of a part, and the variance of the noise on each of its numbers.
#[derive(Debug, Clone, PartialEq)]
struct Total {
    numbers: Vec<i64>,
    variance: f64,
}

/// How numbers of groups are corrected.
///
/// # Accuracy
/// Let T be a group's weight with the caps of the answer, and f the ratio of what all units have to the total of T. The
/// group's count is estimated by f·T: what was left out is assumed to be spread over the groups as what was counted. Its
/// error is the sum of
/// - the noise on T, times f;
/// - the noise on f, which is the same in all groups: f − 1 is what wider caps C' = r·C add to the total, over that total.
///   What units have even beyond C' is extrapolated: where the number of units with more than n rows falls as n^−2.5, it
///   is D/(r^1.5 − 1) if C' added D. With heavier tails it is more, with lighter ones next to nothing, so it is taken to
///   have a standard deviation of its own size;
/// - how much more or less the group lost than the others. Nothing in the answer tells, since C is chosen such that few
///   units exceed it. It is taken to have a standard deviation of twice the average loss; for G groups of one size no
///   more than √(G − 1) times is possible, if one of them lost everything. So G = 1 has no such error.
///
/// Heavier tails are covered less often: with 300 units whose numbers of rows are lognormal with σ = 2, a simulation covered
/// counts in one of five answers. The words beside the answer say so.
///
/// These are independent, so their variances add up ([`deviations`]). If active units gather in few groups, more than 5 % of
/// the groups may be outside, but no more than 1/k of them can have lost k times the average.
///
/// Likewise a mean is moved by as much as the overall mean moves between the two caps. How far a group's own mean moves is
/// taken to have a standard deviation of 1.5 times that, as far as it is more than noise. Besides, a group's mean moves even
/// if the overall one does not, because its rows are weighed differently: by ℓ·(m' − m) if the wider caps add a share ℓ of
/// the weight with the mean m'. Where means of groups differ, so do the means of parts of a group: m' − m is taken to have half
/// the standard deviation of groups' means, which is estimated, and of a mean of as many values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Correction {
    rows: Option<Ratio>,
    units: Option<Ratio>,
    /// By part of the design.
    means: BTreeMap<usize, Shift>,
}

/// The ratio of what all units have to what was counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The estimate, at least 1.
    factor: f64,
    /// Its variance; infinite if nothing is known.
    variance: f64,
    /// By how much groups differ in what they lost, as a multiple of the average.
    spread: f64,
}

/// By how much a mean moves, as a share of the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimate.
    by: f64,
    /// Its variance; infinite if nothing is known.
    variance: f64,
    /// The share of weight that the wider caps add.
    added: f64,
    /// The variance of groups' means.
    between: f64,
}

impl Totals {
    /// For a design.
    pub fn of(design: &Design, adjacency: Adjacency, budget: &Guarantee) -> Self {
        let parts: Vec<&Additive> = design.additive.iter().map(|paid| &paid.part).collect();
        let rows = parts.iter().position(|part| counts_rows(part));
        let has_one =
            |place: &usize| Some(*place) == rows || matches!(parts[*place], Additive::Units | Additive::Ends(..));
        let of: Vec<usize> = (0..parts.len()).filter(has_one).collect();
        let parts = of.iter().map(|&place| parts[place].clone()).collect();
        Self { of, parts, both: design.selects_keys(), budget: budget.clone(), adjacency }
    }

    /// The half-width of a count where caps differ by 1.
    ///
    /// # Errors
    /// If the budget is too small.
    pub fn half_width_per_cap(&self) -> Result<f64> {
        let batch = self.batch(Chosen::ONE)?;
        let is_count = |part: &Additive| !matches!(part, Additive::Ends(..));
        let place = self.parts.iter().position(is_count).unwrap_or_default();
        let width = match &self.parts[place] {
            Additive::Ends(_, grid) => (grid.upper() - grid.lower()) as f64,
            _ => 1.0,
        };
        Ok(FAR * batch.noise(place).variance().sqrt() / width / f64::from(1 << WEIGHT_BITS))
    }

    /// The noise on the totals: first on what the larger caps add.
    ///
    /// # Errors
    /// If the budget is too small for these caps.
    pub fn batch(&self, chosen: Chosen) -> Result<Batch> {
        let mut parts = Vec::new();
        let added = chosen.wider.beyond(&chosen.caps);
        for caps in std::iter::once(added).chain(self.both.then_some(chosen.caps)) {
            let unit = UnitContribution::weighed(self.adjacency, false, caps)?;
            for part in &self.parts {
                let sensitivity = match part {
                    Additive::Units => unit.units()?,
                    Additive::Ends(_, grid) => unit.ends(grid)?,
                    _ => unit.count()?,
                };
                parts.push(Part { sensitivity, weight: 1 });
            }
        }
        Ok(Batch::new(&parts, &self.budget)?)
    }

    /// Releases the totals.
    ///
    /// # Errors
    /// If the permit does not cover the cost.
    pub fn release(&self, chosen: Chosen, weighted: &Weighted, permit: &mut Permit) -> Result<ReleasedTotals> {
        let batch = self.batch(chosen)?;
        let added = std::slice::from_ref(&weighted.added);
        let all = std::iter::once(added).chain(self.both.then_some(&weighted.groups.groups[..]));
        let exact = all.flat_map(|groups| self.parts.iter().map(|part| total(part, &numbers(part, groups)))).collect();
        let released = batch.release(exact, permit)?.into_value();
        let with_noise = |(place, numbers)| Total { numbers, variance: batch.noise(place).variance() };
        let mut added: Vec<Total> = released.into_iter().enumerate().map(with_noise).collect();
        let small = added.split_off(self.parts.len());
        Ok(ReleasedTotals { of: self.of.clone(), added, small, chosen })
    }
}

/// The numbers of a part over all groups: two for ends, one for what is counted.
fn total(part: &Additive, numbers: &[i64]) -> Vec<i64> {
    let sum = |numbers: &mut dyn Iterator<Item = &i64>| {
        let sum: i128 = numbers.map(|&number| i128::from(number)).sum();
        sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    };
    match part {
        Additive::Ends(..) => (0..2).map(|end| sum(&mut numbers.iter().skip(end).step_by(2))).collect(),
        _ => vec![sum(&mut numbers.iter())],
    }
}

impl ReleasedTotals {
    /// The correction, given the noisy numbers of all parts of this many groups, in units of 2^−[`WEIGHT_BITS`].
    pub fn correction(&self, design: &Design, noisy: &[Vec<i64>], groups: usize) -> Correction {
        let mut correction = Correction::default();
        // What was left out may be in groups that are not shown.
        let spread = if design.selects_keys() { SPREAD } else { SPREAD.min((groups.max(1) as f64 - 1.0).sqrt()) };
        let Chosen { caps, wider, known } = self.chosen;
        let ratio = |small: &Total, added: &Total, [cap, wider]: [u64; 2], known: bool| {
            if known { Ratio::of(small, added, wider as f64 / cap as f64, spread) } else { Ratio::UNKNOWN }
        };
        for (index, (&place, added)) in self.of.iter().zip(&self.added).enumerate() {
            let part = &design.additive[place].part;
            let of_groups = || {
                let numbers = total(part, &noisy[place]);
                let each = noisy[place].len() / numbers.len().max(1);
                Total { numbers, variance: each as f64 * design.variance(&design.additive[place]) }
            };
            let small = self.small.get(index).cloned().unwrap_or_else(of_groups);
            match part {
                Additive::Units => {
                    correction.units = Some(ratio(&small, added, [caps.groups, wider.groups], known[1]));
                }
                Additive::Ends(..) => {
                    let variance = design.variance(&design.additive[place]);
                    correction.means.insert(place, Shift::of(&small, added).between(&noisy[place], &small, variance));
                }
                _ => correction.rows = Some(ratio(&small, added, [caps.rows, wider.rows], known[0])),
            }
        }
        correction
    }
}

impl Correction {
    /// The ratio for counts of a part.
    pub fn ratio(&self, part: &Additive) -> Ratio {
        let ratio = if *part == Additive::Units { self.units } else { self.rows.filter(|_| counts_rows(part)) };
        ratio.unwrap_or(Ratio::UNKNOWN)
    }

    /// The shift of the mean of a part.
    pub fn shift(&self, part: usize) -> Shift {
        self.means.get(&part).copied().unwrap_or(Shift::UNKNOWN)
    }

    /// The share of rows, and of units' presence in groups, that was left out, each with its half-width.
    pub fn left_out(&self) -> [Option<(f64, f64)>; 2] {
        [self.rows, self.units].map(|ratio| {
            ratio.map(|Ratio { factor, variance, .. }| {
                // 1 − 1/f has the slope 1/f².
                (1.0 - 1.0 / factor, (deviations(1) * variance.sqrt() / (factor * factor)).min(1.0))
            })
        })
    }
}

impl Ratio {
    const UNKNOWN: Self = Self { factor: 1.0, variance: f64::INFINITY, spread: 0.0 };

    /// From the totals with the caps of the answer, and what caps add that are `wider` times as large.
    fn of(small: &Total, added: &Total, wider: f64, spread: f64) -> Self {
        let (counted, added_variance) = (small.numbers[0] as f64, added.variance);
        if counted <= FAR * small.variance.sqrt() {
            return Self::UNKNOWN;
        }
        let added = (added.numbers[0] as f64).max(0.0);
        let beyond = 1.0 / (libm::pow(wider, TAIL) - 1.0);
        let left_out = (1.0 + beyond) * added / counted;
        let of_total = (1.0 + beyond) * (1.0 + beyond) * added_variance
            + (beyond * added) * (beyond * added)
            + left_out * left_out * small.variance;
        Self { factor: 1.0 + left_out, variance: of_total / (counted * counted), spread }
    }

    /// A count and its variance, from a noisy weight and its variance.
    pub fn of_count(&self, weight: f64, variance: f64) -> (f64, f64) {
        let Self { factor, variance: of_factor, spread } = *self;
        let squared = weight.max(0.0) * weight.max(0.0);
        let unequal = spread * (factor - 1.0);
        let error = factor * factor * variance + (squared + variance) * of_factor + squared * unequal * unequal;
        (factor * weight, error)
    }
}

impl Shift {
    const UNKNOWN: Self = Self { by: 0.0, variance: f64::INFINITY, added: 1.0, between: 0.0 };

    /// From the ends with the caps of the answer, and what wider ones add to them.
    ///
    /// With x and n the part above the lower bound and the whole, and those that are added Δx and Δn, the mean x/n moves
    /// by (x + Δx)/(n + Δn) − x/n = (Δx − (x/n)·Δn)/(n + Δn).
    fn of(small: &Total, added: &Total) -> Self {
        let of = |total: &Total| (total.numbers[0] as f64, total.numbers[0] as f64 + total.numbers[1] as f64);
        let ((above, all), (more_above, more)) = (of(small), of(added));
        let wide = all + more;
        let is_more_than_noise = |number: f64, variance: f64| number > FAR * (2.0 * variance).sqrt();
        let is_known = is_more_than_noise(all, small.variance)
            && is_more_than_noise(wide, small.variance + added.variance)
            && wide > all / 2.0;
        if !is_known {
            return Self::UNKNOWN;
        }
        let mean = (above / all).clamp(0.0, 1.0);
        let variance = of_residual(mean) * (added.variance + (more / all) * (more / all) * small.variance);
        let by = (more_above - mean * more) / wide;
        Self { by, variance: variance / (wide * wide), added: (more / wide).clamp(0.0, 1.0), between: 0.0 }
    }

    /// With the variance of the means of groups, from their noisy ends and the variance of the noise on each.
    ///
    /// With the overall mean m, x − m·n is n times as far from 0 as the group's mean is from m, plus noise of a known
    /// variance. So the sum of its squares, less that of noise, over the sum of n² is the variance of means, weighted by n².
    fn between(self, ends: &[i64], total: &Total, variance: f64) -> Self {
        let mean = (total.numbers[0] as f64 / (total.numbers[0] as f64 + total.numbers[1] as f64)).clamp(0.0, 1.0);
        let groups = ends.len() as f64 / 2.0;
        let (mut residuals, mut squares) = (0.0, 0.0);
        for pair in ends.chunks_exact(2) {
            let (above, all) = (pair[0] as f64, pair[0] as f64 + pair[1] as f64);
            let residual = above - mean * all;
            // The overall mean is that of these groups, so the residuals add up to 0.
            residuals += residual * residual * groups / (groups - 1.0).max(1.0) - of_residual(mean) * variance;
            squares += all * all - 2.0 * variance;
        }
        // No variable between 0 and 1 has a larger variance than 1/4.
        let between = if squares > 0.0 { (residuals / squares).clamp(0.0, 0.25) } else { 0.25 };
        Self { between, ..self }
    }

    /// A mean and its half-width of this many standard deviations, from noisy ends and the variance of each.
    ///
    /// # Accuracy
    /// Let A and B be the exact ends, m = A/(A + B) the mean as a share of the range, and X and Y the noisy ends. Then
    /// (1 − m)·X − m·Y has the mean 0 and the variance ((1 − m)² + m²)·σ², so all m for which it is within d standard
    /// deviations of 0 contain the exact one as often as d says, however few values there are (Fieller). They lie between
    /// the roots of a quadratic, if X + Y is far enough from 0; otherwise anywhere. A shift of variance s², as a share of the range,
    /// adds s²·(X + Y)².
    pub fn of_mean(&self, grid: &Grid, ends: &Ends, variance: f64, deviations: f64) -> (f64, f64) {
        let (lower, upper) = (grid.value(grid.lower()), grid.value(grid.upper()));
        let range = upper - lower;
        let mean = ends.mean(grid);
        let moved = (mean + self.by * range).clamp(lower, upper);
        let (above, all) = (ends.above_lower as f64, ends.above_lower as f64 + ends.below_upper as f64);
        let far = deviations * deviations;
        let share = (mean - lower) / range;
        let of_values = share * (1.0 - share) / ends.count(grid).max(1.0);
        let unequal = SPREAD_OF_MEANS * SPREAD_OF_MEANS * (self.by * self.by - self.variance).max(0.0)
            + self.added * self.added / 4.0 * (self.between + of_values);
        let square = all * all - 2.0 * far * variance;
        if !self.variance.is_finite() || all <= 0.0 || square <= 0.0 {
            return (moved, range);
        }
        let half_linear = above * all - far * variance;
        let constant = above * above - far * (variance + all * all * (self.variance + unequal));
        let root = (half_linear * half_linear - square * constant).max(0.0).sqrt();
        let (low, high) = ((half_linear - root) / square, (half_linear + root) / square);
        // Values are rounded to the grid, by up to half a step.
        let half_width = (high - share).max(share - low) * range + grid.step() / 2.0;
        (moved, half_width.min(range))
    }
}

/// The variance of (1 − m)·X − m·Y for noises X and Y of variance 1.
fn of_residual(mean: f64) -> f64 {
    mean * mean + (1.0 - mean) * (1.0 - mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(numbers: &[i64], deviation: f64) -> Total {
        Total { numbers: numbers.to_vec(), variance: deviation * deviation }
    }

    /// Of all sums of two noises with the same variance, a single Laplace noise is farthest from 0 most often.
    #[test]
    fn no_sum_of_noises_has_heavier_tails_than_one() {
        for together in [1, 2, 3, 10, 1000] {
            let level = (1.0 - LEVEL) / together as f64;
            for share in (0..100).map(|hundredths| f64::from(hundredths) / 100.0) {
                // Scales 1 and `share` of two Laplace noises.
                let t = deviations(together) * (2.0 * (1.0 + share * share)).sqrt();
                let tail = |scale: f64| if scale > 0.0 { scale * scale * libm::exp(-t / scale) } else { 0.0 };
                let beyond = (tail(1.0) - tail(share)) / (1.0 - share * share);
                assert!(beyond <= level * (1.0 + 1e-9), "{together} {share} {beyond}");
                // Scale 1 and a Gaussian noise of deviation s: ½·e^(s²/2)·(e^−t·erfc(a) + e^t·erfc(b)) on each side, besides
                // the Gaussian's own tail.
                let s = share.max(0.01) * 2.0;
                let t = deviations(together) * (2.0 + s * s).sqrt();
                let part =
                    |t: f64| libm::exp(s * s / 2.0 - t) * libm::erfc((s - t / s) / std::f64::consts::SQRT_2) / 2.0;
                let own = libm::erfc(t / s / std::f64::consts::SQRT_2);
                let beyond = own + part(t) - part(-t);
                assert!(beyond <= level * (1.0 + 1e-6), "{together} {s} {beyond} {level}");
            }
        }
        assert!((deviations(1) - 2.118).abs() < 0.001);
    }

    #[test]
    fn variances_of_independent_errors_add_up() {
        // Caps 4 times as large add 140; an eighth of what the first cap left out is beyond them: 20.
        let ratio = Ratio::of(&total(&[800], 0.0), &total(&[140], 0.0), 4.0, 2.0);
        assert!((ratio.factor - 1.2).abs() < 1e-9 && (ratio.variance.sqrt() - 0.025).abs() < 1e-9, "{ratio:?}");
        let (value, variance) = ratio.of_count(80.0, 49.0);
        let expected = (1.2f64 * 7.0).powi(2) + (80.0f64.powi(2) + 49.0) * 0.025f64.powi(2) + (80.0f64 * 0.4).powi(2);
        assert!((value - 96.0).abs() < 1e-9 && (variance - expected).abs() < 1e-6, "{value} {variance} {expected}");
        // Nothing was left out: noise below 0 is none.
        assert_eq!(Ratio::of(&total(&[800], 0.0), &total(&[-9], 0.0), 4.0, 2.0).of_count(80.0, 49.0), (80.0, 49.0));
    }

    #[test]
    fn where_the_totals_are_noise_nothing_is_claimed() {
        let ratio = Ratio::of(&total(&[80], 30.0), &total(&[25], 60.0), 2.0, 2.0);
        assert_eq!(ratio.of_count(3.0, 5.0), (3.0, f64::INFINITY));
        let grid = Grid::new(&"0..100".parse().unwrap()).coarsened(100);
        let shift = Shift::of(&total(&[40, 60], 30.0), &total(&[10, 10], 30.0));
        let ends = Ends { above_lower: 5000, below_upper: 5000 };
        assert_eq!(shift.of_mean(&grid, &ends, 1.0, 2.0), (50.0, 100.0));
    }

    #[test]
    fn means_move_as_the_overall_mean_does() {
        let grid = Grid::new(&"0..100".parse().unwrap()).coarsened(100);
        // Means of 40 and 50.
        let shift = Shift::of(&total(&[400, 600], 0.0), &total(&[600, 400], 0.0));
        assert!((shift.by - 0.1).abs() < 1e-9);
        let ends = Ends { above_lower: 3_000_000, below_upper: 7_000_000 };
        let (mean, half_width) = shift.of_mean(&grid, &ends, 0.0, 2.0);
        // Two standard deviations: 1.5 times the shift, plus a little noise, averaged over many values.
        assert!(
            (mean - 40.0).abs() < 1e-6 && (half_width - 30.0 - grid.step() / 2.0).abs() < 0.01,
            "{mean} {half_width}"
        );
        // Means of 30 and 50, without noise: a variance of 1 %, and half of the weight is added.
        let unequal = shift.between(&[3000, 7000, 5000, 5000], &total(&[8000, 12_000], 0.0), 0.0);
        assert!((unequal.between - 0.02).abs() < 1e-9 && (unequal.added - 0.5).abs() < 1e-9, "{unequal:?}");
        let wider = unequal.of_mean(&grid, &ends, 0.0, 2.0).1;
        let expected = 200.0 * (0.15f64.powi(2) + 0.02 / 16.0).sqrt() + grid.step() / 2.0;
        assert!((wider - expected).abs() < 0.01, "{wider} {expected}");
        // Noise alone is not taken for a difference.
        assert_eq!(shift.between(&[3000, 7000, 5000, 5000], &total(&[8000, 12_000], 0.0), 4e6).between, 0.0);
    }

    /// The interval around a mean is that of the exact law, whatever the number of values.
    #[test]
    fn intervals_of_means_follow_their_noise() {
        let grid = Grid::new(&"0..100".parse().unwrap()).coarsened(100);
        let still = Shift { by: 0.0, variance: 0.0, added: 0.0, between: 0.0 };
        let half_width = |ends: Ends| still.of_mean(&grid, &ends, 1e4, 2.0).1 - grid.step() / 2.0;
        // Far from 0: d·σ·√(m² + (1 − m)²)/n.
        let many = half_width(Ends { above_lower: 300_000, below_upper: 700_000 });
        assert!((many / (100.0 * 2.0 * 100.0 * 0.58f64.sqrt() / 1e6) - 1.0).abs() < 0.01, "{many}");
        // Ends that may both be 0.
        assert!(half_width(Ends { above_lower: 100, below_upper: 150 }) > 99.0);
    }
}
