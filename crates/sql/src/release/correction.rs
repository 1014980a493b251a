//! Correction of an answer for what contribution limits left out.

use std::collections::BTreeMap;

use reticent::Permit;
use reticent::mechanism::{Batch, Part};
use reticent::privacy::{Adjacency, Guarantee};
use reticent::statistic::{Ends, Grid};
use reticent_bounding::{Activity, WEIGHT_BITS, WeightCaps, Weighted};

use super::contribution::UnitContribution;
use super::design::{Additive, Design};
use super::draw::numbers;
use super::weights::{Chosen, counts_rows};
use crate::error::Result;

/// Noise is within this many standard deviations with probability 98 %: a single Laplace noise is beyond with probability
/// e^(−3√2) = 0.014, and the more noises there are in a sum, the lighter its tails.
const FAR: f64 = 3.0;
/// What units have beyond a cap is extrapolated if no more than this share of them exceed it.
const HALF: f64 = 0.5;

/// The totals that a design needs, over all groups, with larger weight caps than those of the answer.
///
/// # Privacy
/// They are released by a [`Batch`]: a unit moves each by no more than its cap says, and the number of units that exceed a
/// cap by 1. Where all groups are released, the totals with the caps of the answer are sums of released numbers, and cost
/// nothing; otherwise they are released, too.
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
    large: Vec<Total>,
    /// Empty if all groups are released.
    small: Vec<Total>,
    /// For each part that counts, the weight that units have beyond the larger cap, if each has twice as much as it counts
    /// for; `None` if there is no telling.
    beyond: Vec<Option<Total>>,
}

/// A total of a part, and the variance of the noise on each of its numbers.
#[derive(Debug, Clone, PartialEq)]
struct Total {
    numbers: Vec<i64>,
    variance: f64,
}

impl Total {
    fn half_width(&self) -> f64 {
        FAR * self.variance.sqrt()
    }
}

/// How numbers of groups are corrected.
///
/// # Accuracy
/// Let f be the ratio of what all units have and of the total with the caps of the answer. What all units have is the total
/// with the larger caps and, for every unit that exceeds these, as much again as it counts for: in a table with a heavy
/// tail this is the average; anything from nothing to twice as much is allowed for. A count is multiplied by f: what was
/// left out is assumed to be spread over the groups as what was counted. Its bar allows for a group from which nothing was left out,
/// and for one from which twice as much was left out as from the average: with an exact weight T and n rows, n is then
/// within (f − 1)·T of f·T. That n ≥ T holds without any assumption. Likewise a mean is moved by as much as the overall
/// mean moves between the two caps, and its bar allows for a group whose own mean moves not at all, or twice as much.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Correction {
    rows: Option<Ratio>,
    units: Option<Ratio>,
    /// By part of the design.
    means: BTreeMap<usize, Shift>,
}

/// The ratio of two totals, at least 1, and what it may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The estimate.
    pub factor: f64,
    /// The largest that it may be.
    pub high: f64,
    /// The smallest that it may be.
    pub low: f64,
}

/// By how much a mean moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimate.
    pub by: f64,
    /// How far off it may be.
    pub half_width: f64,
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

    /// The half-width of a count with the cap 1.
    ///
    /// # Errors
    /// If the budget is too small.
    pub fn half_width_per_cap(&self) -> Result<f64> {
        const ONE: WeightCaps = WeightCaps { rows: 1, values: 1, groups: 1 };
        let batch = self.batch(Chosen { caps: ONE, overall: ONE, units: [None; 2] })?;
        let is_count = |part: &Additive| !matches!(part, Additive::Ends(..));
        let place = self.parts.iter().position(is_count).unwrap_or_default();
        let width = match &self.parts[place] {
            Additive::Ends(_, grid) => (grid.upper() - grid.lower()) as f64,
            _ => 1.0,
        };
        Ok(FAR * batch.noise(place).variance().sqrt() / width / f64::from(1 << WEIGHT_BITS))
    }

    /// The noise on the totals: first those with the larger caps.
    ///
    /// # Errors
    /// If the budget is too small for these caps.
    pub fn batch(&self, chosen: Chosen) -> Result<Batch> {
        let mut parts = Vec::new();
        for caps in std::iter::once(chosen.overall).chain(self.both.then_some(chosen.caps)) {
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
        let one = UnitContribution::new(self.adjacency, false, 1, 1)?.count()?;
        parts.extend(self.counted().map(|_| Part { sensitivity: one, weight: 1 }));
        Ok(Batch::new(&parts, &self.budget)?)
    }

    /// The parts that count rows or units.
    fn counted(&self) -> impl Iterator<Item = &Additive> {
        self.parts.iter().filter(|part| !matches!(part, Additive::Ends(..)))
    }

    /// Releases the totals.
    ///
    /// # Errors
    /// If the permit does not cover the cost.
    pub fn release(
        &self,
        chosen: Chosen,
        activity: &Activity,
        weighted: &Weighted,
        permit: &mut Permit,
    ) -> Result<ReleasedTotals> {
        let batch = self.batch(chosen)?;
        let overall = std::slice::from_ref(&weighted.overall);
        let all = std::iter::once(overall).chain(self.both.then_some(&weighted.groups.groups[..]));
        let exact = all.flat_map(|groups| self.parts.iter().map(|part| total(part, &numbers(part, groups))));
        let cap = |part: &Additive| match part {
            Additive::Units => (chosen.overall.groups, &activity.groups),
            _ => (chosen.overall.rows, &activity.rows),
        };
        let exceeding = |part: &Additive| {
            let (cap, units) = cap(part);
            let units: u64 = units.iter().skip(Activity::bin(cap) + 1).sum();
            vec![i64::try_from(units).unwrap_or(i64::MAX)]
        };
        let released = batch.release(exact.chain(self.counted().map(exceeding)).collect(), permit)?.into_value();
        let with_noise = |(place, numbers)| Total { numbers, variance: batch.noise(place).variance() };
        let mut large: Vec<Total> = released.into_iter().enumerate().map(with_noise).collect();
        let mut small = large.split_off(self.parts.len());
        let exceeding = small.split_off(small.len() - self.counted().count());
        let weight = |(part, units): (&Additive, Total)| {
            let each = (cap(part).0 << WEIGHT_BITS) as f64;
            let weight = units.numbers[0].max(0) as f64 * each;
            let all = chosen.units[usize::from(*part == Additive::Units)];
            // Where most units exceed the cap, or nobody can tell, there is no telling what they have beyond it.
            let is_tail = all.is_some_and(|all| units.numbers[0] as f64 <= HALF * all);
            is_tail.then(|| Total { numbers: vec![weight as i64], variance: units.variance * each * each })
        };
        let beyond = self.counted().zip(exceeding).map(weight).collect();
        Ok(ReleasedTotals { of: self.of.clone(), large, small, beyond })
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
    /// The correction, given the noisy numbers of all parts, in units of 2^−[`WEIGHT_BITS`].
    pub fn correction(&self, design: &Design, noisy: &[Vec<i64>]) -> Correction {
        let mut correction = Correction::default();
        let mut beyond = self.beyond.iter();
        let mut ratio = |small: &Total, large: &Total| {
            let beyond = beyond.next().expect("one for each part that counts");
            Ratio::of(small, large, beyond.as_ref())
        };
        for (index, (&place, large)) in self.of.iter().zip(&self.large).enumerate() {
            let part = &design.additive[place].part;
            let of_groups = || {
                let numbers = total(part, &noisy[place]);
                let each = noisy[place].len() / numbers.len().max(1);
                Total { numbers, variance: each as f64 * design.variance(&design.additive[place]) }
            };
            let small = self.small.get(index).cloned().unwrap_or_else(of_groups);
            match part {
                Additive::Units => correction.units = Some(ratio(&small, large)),
                Additive::Ends(_, grid) => {
                    correction.means.insert(place, Shift::of(grid, &small, large));
                }
                _ => correction.rows = Some(ratio(&small, large)),
            }
        }
        correction
    }
}

impl Correction {
    /// The ratio for counts of a part.
    pub fn ratio(&self, part: &Additive) -> Option<Ratio> {
        if *part == Additive::Units { self.units } else { self.rows.filter(|_| counts_rows(part)) }
    }

    /// The shift of the mean of a part.
    pub fn shift(&self, part: usize) -> Option<Shift> {
        self.means.get(&part).copied()
    }

    /// The share of rows, and of units' presence in groups, that was left out, each with its half-width.
    pub fn left_out(&self) -> [Option<(f64, f64)>; 2] {
        [self.rows, self.units].map(|ratio| {
            ratio.map(|Ratio { factor, low, high }| {
                let share = |ratio: f64| 1.0 - 1.0 / ratio;
                (share(factor), (share(high) - share(factor)).max(share(factor) - share(low)))
            })
        })
    }
}

impl Ratio {
    /// From the totals with smaller and larger caps, and what units have beyond the latter, if that can be told.
    fn of(small: &Total, large: &Total, beyond: Option<&Total>) -> Self {
        let (number, off) = (small.numbers[0] as f64, small.half_width());
        let counted = large.numbers[0] as f64;
        let low = ((counted - large.half_width()) / (number + off)).max(1.0);
        // As far as it is more than noise.
        let rest = beyond.map_or(0.0, |beyond| (beyond.numbers[0] as f64 - beyond.half_width()).max(0.0));
        let most = beyond.map_or(f64::INFINITY, |beyond| {
            counted + 2.0 * beyond.numbers[0] as f64 + FAR * (large.variance + 4.0 * beyond.variance).sqrt()
        });
        let high = if number > off { (most / (number - off)).max(low) } else { f64::INFINITY };
        let factor = if number > 0.0 { ((counted + rest) / number).clamp(low, high) } else { low };
        Self { factor, low, high }
    }

    /// A count and its half-width, from a noisy weight and its half-width.
    pub fn of_count(&self, weight: f64, half_width: f64) -> (f64, f64) {
        let Self { factor, low, high } = *self;
        let largest = (weight + half_width).max(0.0);
        let off = (factor - low).max(high - factor) + (factor - 1.0);
        (factor * weight, factor * half_width + off * largest)
    }
}

impl Shift {
    fn of(grid: &Grid, small: &Total, large: &Total) -> Self {
        let mean = |total: &Total| {
            let ends = Ends { above_lower: total.numbers[0], below_upper: total.numbers[1] };
            (ends.mean(grid), ends.mean_half_width(grid, total.half_width() as u64))
        };
        let ((small, of_small), (large, of_large)) = (mean(small), mean(large));
        Self { by: large - small, half_width: of_small + of_large }
    }

    /// A mean and its half-width, from those with the smaller caps.
    pub fn of_mean(&self, grid: &Grid, mean: f64, half_width: f64) -> (f64, f64) {
        let range = (grid.value(grid.lower()), grid.value(grid.upper()));
        // Values are rounded to the grid, by up to half a step.
        let half_width = half_width + self.by.abs() + 2.0 * self.half_width + grid.step() / 2.0;
        ((mean + self.by).clamp(range.0, range.1), half_width.min(range.1 - range.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(numbers: &[i64], deviation: f64) -> Total {
        Total { numbers: numbers.to_vec(), variance: deviation * deviation }
    }

    #[test]
    fn counts_are_covered_if_no_group_lost_more_than_twice_the_average() {
        let ratio = Ratio::of(&total(&[800], 0.0), &total(&[1000], 0.0), Some(&total(&[0], 0.0)));
        assert_eq!(ratio, Ratio { factor: 1.25, low: 1.25, high: 1.25 });
        let (value, half_width) = ratio.of_count(80.0, 0.0);
        // Between nothing left out, 80, and twice the average, 80 + 2·20.
        assert_eq!((value, half_width), (100.0, 20.0));
        for noise in [-7.0, 0.0, 7.0] {
            let (value, half_width) = ratio.of_count(80.0 + noise, 7.0);
            assert!(value - half_width <= 80.0 && value + half_width >= 120.0);
        }
    }

    #[test]
    fn where_the_totals_are_noise_nothing_is_claimed() {
        let of = |small: i64| {
            Ratio::of(&total(&[small], 30.0), &total(&[25], 60.0), Some(&total(&[0], 1.0))).of_count(3.0, 5.0)
        };
        assert_eq!((of(10).1, of(-10).0), (f64::INFINITY, 3.0));
        let untold = Ratio::of(&total(&[800], 0.0), &total(&[1000], 0.0), None);
        assert_eq!(untold.of_count(80.0, 1.0), (100.0, f64::INFINITY));
    }

    #[test]
    fn means_move_as_the_overall_mean_does() {
        let grid = Grid::new(&"0..100".parse().unwrap()).coarsened(100);
        // Means of 40 and 50.
        let shift = Shift::of(&grid, &total(&[400, 600], 0.0), &total(&[1000, 1000], 0.0));
        assert!((shift.by - 10.0).abs() < 1e-9);
        let (mean, half_width) = shift.of_mean(&grid, 30.0, 1.0);
        assert!((mean - 40.0).abs() < 1e-9 && (half_width - 11.5).abs() < 0.1, "{mean} {half_width}");
        assert_eq!(shift.of_mean(&grid, 95.0, 1.0).0, grid.value(grid.upper()));
    }
}
