//! Contribution limits chosen privately: how active units are, and the weight caps that suit them.

use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::{Batch, Part};
use reticent::privacy::{Adjacency, Delta, Epsilon, Guarantee, Rho};
use reticent::statistic::{Contribution, Rows};
use reticent_bounding::{Activity, WeightCaps};

use super::design::Additive;
use crate::algebra::Statistic;
use crate::answer::Share;
use crate::error::Result;

/// Below this many groups, noise on totals is a large part of the error.
const FEW_GROUPS: u64 = 32;
/// Hundredths of the budget for the histograms of activity.
fn for_activity(groups: Option<u64>) -> u64 {
    if groups.is_some_and(|groups| groups < FEW_GROUPS) { 10 } else { 5 }
}
/// Hundredths of the budget for the totals by which the answer is corrected: the fewer groups there are, the less their
/// own noise hides what is left out.
fn for_correction(groups: Option<u64>) -> u64 {
    match groups {
        Some(..FEW_GROUPS) => 20,
        Some(FEW_GROUPS..256) => 10,
        Some(_) | None => 5,
    }
}
/// Bins of a histogram: units with more than 2^15 rows share the last one.
const BINS: usize = 17;
/// The largest cap that is chosen.
pub const LARGEST: u64 = 1 << (BINS - 1);
/// Caps where values are averaged: weights are equal enough if the average unit has this share of the weight that it
/// could have.
const EQUAL_ENOUGH: f64 = 0.8;
/// Noise on a mean that matters little, as a share of the range.
const LITTLE: f64 = 0.01;
/// Noise of this many standard deviations is not taken for units.
const DOUBT: f64 = 2.0;
/// Laplace noise exceeds this many standard deviations with probability e^(−4.5·√2)/2 = 0.0009: in any of 17 bins, 0.015.
const CERTAIN: f64 = 4.5;
/// The same with probability 0.007: enough for the largest bin, since totals that may be noise are not used either.
const PROBABLE: f64 = 3.0;
/// The same with probability 0.06: enough for a bin next to one that has units.
const LIKELY: f64 = 1.5;
/// Means are compared with those that have a cap up to this many times as large: beyond, noise would hide the difference.
const WIDER: u64 = 11;

/// Where groups differ in size, most are smaller than the average one, and noise counts for more than it would if all were
/// alike. The more groups there are, the more they differ.
fn skew(groups: f64) -> f64 {
    (libm::log2(groups) / 3.0).clamp(1.0, 3.0)
}

/// How a query's weight caps are chosen.
///
/// # Privacy
/// Two noisy histograms are released: units by their number of rows, and by their number of groups. A unit is in one bin
/// of each. What is chosen from them is post-processing.
///
/// # Accuracy
/// For counts, the error of a group with cap C is what is left out of it and noise that grows with C. Raising C by 1
/// restores one row for every unit with more than C rows, and adds h to the half-width of each of G groups, where h is the
/// half-width for C = 1. So C is about right where h·G units have more rows (\[AKMV19\]), or up to 3·h·G where there are many groups,
/// most of which are small. C is a power of √2; between powers of 2, the number of units is interpolated. Bins beyond the
/// last in which noise cannot be mistaken for units are ignored: their noise would be multiplied by large caps.
///
/// For means it is not the number of rows that matters but the ratio of weight to noise, W(C)/C = Σ min(n/C, 1), which
/// falls as C grows: the largest C that keeps four fifths of it, or with which noise moves the mean of an average group by
/// less than a hundredth of the range, because larger weights are closer to the mean over rows. If keys come from the
/// data, G is not known: the largest number of groups that units are seen to have stands for it.
///
/// The wider caps of the correction are chosen in the same way, with the noise on totals in place of h·G, and then doubled:
/// they reach beyond the last bin that counts, or to where raising them further adds more noise than rows.
#[derive(Debug, Clone)]
pub struct Weights {
    /// What is left for the answer.
    pub rest: Guarantee,
    /// The budget of the correction.
    pub correction: Guarantee,
    histograms: Batch,
    needs: Needs,
    /// `None` if keys come from the data.
    groups: Option<u64>,
}

/// What must be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Needs {
    rows: bool,
    groups: bool,
}

/// The weight caps of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// In the answer.
    pub caps: WeightCaps,
    /// In the totals by which it is corrected: each is larger.
    pub wider: WeightCaps,
    /// Whether the histogram of rows, and that of groups, shows any units.
    pub known: [bool; 2],
}

impl Chosen {
    /// The smallest caps.
    pub const ONE: Self = Self::all(1);

    /// The same cap everywhere, and one twice as large.
    pub const fn all(cap: u64) -> Self {
        let wide = 2 * cap;
        let wider = WeightCaps { rows: wide, values: wide, groups: wide };
        Self { caps: WeightCaps { rows: cap, values: cap, groups: cap }, wider, known: [false; 2] }
    }
}

/// The half-width of a count, where a unit's total weight is 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PerCap {
    /// Of rows, in the answer.
    pub rows: f64,
    /// Of units, in the answer.
    pub units: f64,
    /// Of sums of values, in the answer, as a multiple of their range.
    pub values: f64,
    /// Of what larger caps add to the totals, where they exceed those of the answer by 1.
    pub totals: f64,
}

impl Weights {
    /// For these aggregates, in this many groups.
    ///
    /// # Errors
    /// If the budget is too small.
    pub fn new(
        statistics: &[Statistic],
        groups: Option<u64>,
        adjacency: Adjacency,
        budget: &Guarantee,
    ) -> Result<Self> {
        let counts_units = |statistic: &Statistic| *statistic == Statistic::Units;
        let needs = Needs {
            rows: !statistics.iter().all(counts_units),
            groups: groups.is_none() || statistics.iter().any(counts_units),
        };
        let one_bin = Contribution::in_groups(adjacency, 1, Rows::AtMost(1))?.of_count()?;
        // Units have at most as many groups as rows, and often far fewer: less noise is needed where they have more.
        let weights = [(needs.rows, 2), (needs.groups, 1)].into_iter().filter(|(needed, _)| *needed);
        let parts: Vec<Part> = weights.map(|(_, weight)| Part { sensitivity: one_bin, weight }).collect();
        let histograms = Batch::new(&parts, &without_delta(&part(budget, for_activity(groups))?))?;
        let (for_activity, for_correction) = (for_activity(groups), for_correction(groups));
        let correction = without_delta(&part(budget, for_correction)?);
        Ok(Self { rest: part(budget, 100 - for_activity - for_correction)?, correction, histograms, needs, groups })
    }

    /// The cost of the choice and the correction.
    pub fn costs(&self) -> [Guarantee; 2] {
        [self.histograms.guarantee().clone(), self.correction.clone()]
    }

    /// Chooses the caps: those of the answer are at most `most`, and wider ones exceed them by at most `most`.
    ///
    /// # Errors
    /// If the permit does not cover the cost.
    pub fn choose(&self, activity: &Activity, per_cap: PerCap, most: u64, permit: &mut Permit) -> Result<Chosen> {
        let wanted = [(self.needs.rows, &activity.rows), (self.needs.groups, &activity.groups)];
        let exact = wanted.iter().filter(|(needed, _)| *needed).map(|(_, bins)| clamped(bins)).collect();
        let mut released = self.histograms.release(exact, permit)?.into_value().into_iter();
        let deviation = |place: usize| self.histograms.noise(place).variance().sqrt();
        let mut next = |needed: bool, place: usize| match needed {
            true => released.next().map(|units| Histogram { units, deviation: deviation(place) }),
            false => None,
        };
        let rows = next(self.needs.rows, 0);
        let groups = next(self.needs.groups, usize::from(self.needs.rows));
        let number = match (self.groups, &groups) {
            (Some(number), _) => number,
            (None, Some(groups)) => groups.largest(),
            (None, None) => 1,
        } as f64;
        let exceeded_by = |histogram: &Option<Histogram>, units: f64| {
            histogram.as_ref().map_or(0, |histogram| histogram.exceeded_by(units))
        };
        let both = |histogram: &Option<Histogram>, half_width: f64| {
            let cap = exceeded_by(histogram, skew(number) * half_width * number);
            // Each step is a factor of √2.
            let wider = (exceeded_by(histogram, per_cap.totals) + 2).max(cap + 2);
            let cap = power(cap).min(most);
            (cap, power(wider).min(cap + most))
        };
        let ((rows_cap, rows_wider), (groups_cap, groups_wider)) =
            (both(&rows, per_cap.rows), both(&groups, per_cap.units));
        let values_cap = rows.as_ref().map_or(1, |rows| rows.equal_enough(per_cap.values * number).min(most));
        let values_wider = rows_wider.min(WIDER * values_cap).max(2 * values_cap).min(values_cap + most);
        let caps = WeightCaps { rows: rows_cap, values: values_cap, groups: groups_cap };
        let wider = WeightCaps { rows: rows_wider, values: values_wider, groups: groups_wider };
        let known = [&rows, &groups].map(|histogram| histogram.as_ref().is_some_and(|one| one.last().is_some()));
        Ok(Chosen { caps, wider, known })
    }

    /// The cost, in words.
    pub fn shares(&self) -> Vec<Share> {
        let share = |what: &str, cost: &Guarantee, noise: &str| Share {
            what: what.into(),
            cost: cost.to_string(),
            noise: noise.into(),
            half_width: None,
        };
        let [choice, correction] = self.costs();
        vec![
            share("contribution limits", &choice, "how many units have how many rows, in powers of two"),
            share("correction for contribution limits", &correction, "totals over all groups, with wider limits"),
        ]
    }
}

/// Whether a statistic can be computed from weighed rows.
pub fn has_weights(statistic: &Statistic) -> bool {
    !matches!(statistic, Statistic::Quantile { .. } | Statistic::StableMedian(_) | Statistic::StableMode(_))
}

/// Whether a part counts rows, whose weights are capped for counts.
pub fn counts_rows(part: &Additive) -> bool {
    matches!(part, Additive::Rows | Additive::Present(_) | Additive::Presence(_) | Additive::Bins(..))
}

/// This many hundredths of a budget; all of its δ.
fn part(budget: &Guarantee, hundredths: u64) -> Result<Guarantee> {
    let of = |value: &Rational| value * &(&Rational::from(hundredths) / &Rational::from(100));
    Ok(match budget {
        Guarantee::Pure(epsilon) => Guarantee::Pure(Epsilon::new(of(epsilon.value()))?),
        Guarantee::Approx(epsilon, delta) => {
            Guarantee::Approx(Epsilon::new(of(epsilon.value()))?, Delta::new(delta.value().clone())?)
        }
        Guarantee::Zcdp(rho) => Guarantee::Zcdp(Rho::new(of(rho.value()))?),
    })
}

/// Pure ε where there is a δ: few numbers need none.
fn without_delta(guarantee: &Guarantee) -> Guarantee {
    match guarantee {
        Guarantee::Approx(epsilon, _) => Guarantee::Pure(epsilon.clone()),
        other => other.clone(),
    }
}

/// The counts of all bins; those beyond the last are in it.
fn clamped(bins: &[u64]) -> Vec<i64> {
    let mut counts = vec![0i64; BINS];
    for (bin, &units) in bins.iter().enumerate() {
        let count = &mut counts[bin.min(BINS - 1)];
        *count = count.saturating_add(i64::try_from(units).unwrap_or(i64::MAX));
    }
    counts
}

/// A noisy number of units for each power of two.
struct Histogram {
    units: Vec<i64>,
    /// Of the noise on each.
    deviation: f64,
}

impl Histogram {
    /// The last bin in which noise is not mistaken for units: it is next to others that have some, or has very many.
    fn last(&self) -> Option<usize> {
        let has = |bin: usize, deviations: f64| self.units[bin] as f64 > deviations * self.deviation;
        let largest = (0..BINS).max_by_key(|&bin| self.units[bin]).filter(|&bin| has(bin, PROBABLE))?;
        let next_to_it = (largest + 1..BINS).take_while(|&bin| has(bin, LIKELY)).last();
        (largest..BINS).rev().find(|&bin| has(bin, CERTAIN)).max(next_to_it).or(Some(largest))
    }

    /// The smallest power of √2 that this many units exceed, or fewer; 0 if there are none.
    fn exceeded_by(&self, units: f64) -> u32 {
        let Some(last) = self.last() else { return 0 };
        let above = |bin: usize| sum(&self.units[(bin + 1).min(last + 1)..=last]);
        let exceeding = |power: usize| f64::midpoint(above(power / 2), above(power.div_ceil(2)));
        (0..2 * last).find(|&power| exceeding(power) <= units).unwrap_or(2 * last) as u32
    }

    /// The largest power of two for which weights are equal enough, or noise matters little: its half-width is `noise` times
    /// the power of two, in all groups together.
    fn equal_enough(&self, noise: f64) -> u64 {
        let Some(all) = self.known() else { return 1 };
        let doubt = self.doubt();
        // On average, a unit in bin b > 1 has three quarters of the 2^b rows that it can have.
        let rows = |bin: usize| if bin < 2 { (1u64 << bin) as f64 } else { 0.75 * (1u64 << bin) as f64 };
        let weight = |cap: f64| {
            self.units.iter().enumerate().map(|(bin, &units)| units as f64 * (rows(bin) / cap).min(1.0)).sum::<f64>()
        };
        let is_enough = |bin: &usize| {
            let weight = weight((1u64 << bin) as f64);
            weight >= EQUAL_ENOUGH * all || noise <= LITTLE * (weight - doubt)
        };
        1 << (0..BINS).rev().find(is_enough).unwrap_or(0)
    }

    fn doubt(&self) -> f64 {
        DOUBT * self.deviation * (BINS as f64).sqrt()
    }

    /// The number of all units, if there are more than noise could make.
    fn known(&self) -> Option<f64> {
        Some(sum(&self.units)).filter(|all| *all > self.doubt())
    }

    /// The largest power of two that units are seen to have reached.
    fn largest(&self) -> u64 {
        1 << self.last().unwrap_or(0)
    }
}

/// A power of √2, as a whole number.
fn power(exponent: u32) -> u64 {
    libm::round(libm::exp2(f64::from(exponent) / 2.0)) as u64
}

fn sum(units: &[i64]) -> f64 {
    units.iter().map(|&units| units as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::noise::Entropy;

    /// Units of a table like a shop's: most have few rows, some have thousands.
    fn skewed(units: u64) -> Activity {
        let mut activity = Activity { rows: vec![0; 20], groups: vec![0; 20] };
        for unit in 1..=units {
            let rows = (6.0 * (units as f64 / unit as f64).powf(0.6)).ceil() as u64;
            activity.rows[Activity::bin(rows)] += 1;
            activity.groups[Activity::bin(rows.min(300))] += 1;
        }
        activity
    }

    fn chosen(activity: &Activity, groups: Option<u64>, epsilon: &str) -> Chosen {
        let budget = Guarantee::Pure(epsilon.parse().unwrap());
        let weights =
            Weights::new(&[Statistic::Rows, Statistic::Units], groups, Adjacency::AddRemove, &budget).unwrap();
        let epsilon: f64 = epsilon.parse().unwrap();
        let each = 3.0 / (0.45 * epsilon);
        let per_cap = PerCap { rows: each, units: each, values: each, totals: 3.0 / (0.03 * epsilon) };
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        weights.choose(activity, per_cap, LARGEST, &mut permit).unwrap()
    }

    #[test]
    fn limits_grow_with_the_budget_and_shrink_with_the_number_of_groups() {
        let table = skewed(1_000_000);
        let cap = |groups, epsilon| chosen(&table, Some(groups), epsilon).caps.rows;
        let caps = [cap(10_000, "1"), cap(1000, "1"), cap(10, "1"), cap(10, "10")];
        assert!(caps.is_sorted() && caps[0] >= 16 && caps[3] <= 1 << 14 && caps[0] < caps[3], "{caps:?}");
        let many = chosen(&table, Some(1000), "1");
        assert!(many.caps.values <= 16 && many.caps.values < many.caps.rows, "{many:?}");
        assert!(many.wider.rows >= 4 * many.caps.rows && many.wider.values > many.caps.values, "{many:?}");
        // The number of groups is guessed from the most active units.
        let unknown = chosen(&table, None, "1");
        assert!((64..=512).contains(&unknown.caps.rows), "{unknown:?}");
    }

    #[test]
    fn where_nothing_is_learned_limits_are_small() {
        let few = skewed(3);
        let chosen = chosen(&few, Some(2), "0.1");
        assert_eq!((chosen.caps.rows, chosen.caps.values, chosen.caps.groups), (1, 1, 1));
        assert_eq!((chosen.wider.rows, chosen.wider.values, chosen.known), (2, 2, [false; 2]));
    }

    #[test]
    fn noise_is_not_taken_for_units() {
        let of = |units: &[i64]| Histogram { units: [units, &[0; BINS]].concat()[..BINS].to_vec(), deviation: 10.0 };
        assert_eq!((of(&[28, -12, 17]).last(), of(&[-3, 32, 14]).last()), (None, Some(1)));
        // Few are enough next to many; further off, many are needed.
        assert_eq!(of(&[900, 300, 16, 14, 30]).last(), Some(2));
        assert_eq!(of(&[900, 300, 16, 14, 46]).last(), Some(4));
        // 316 units have more than 1 row, 16 more than 2, and about 166 more than √2.
        let units = of(&[900, 300, 16]);
        assert_eq!([500.0, 200.0, 100.0, 5.0].map(|number| units.exceeded_by(number)), [0, 1, 2, 4]);
        assert_eq!([0, 1, 2, 3, 4, 17].map(power), [1, 1, 2, 3, 4, 362]);
    }

    #[test]
    fn a_unit_is_in_one_bin_of_each_histogram() {
        assert_eq!(clamped(&[1, 2]), [&[1, 2][..], &[0; BINS - 2]].concat());
        let mut many = vec![0; 40];
        (many[16], many[39]) = (5, 7);
        assert_eq!(clamped(&many)[BINS - 1], 12);
        assert_eq!(clamped(&many).iter().sum::<i64>(), 12);
        assert_eq!(clamped(&[u64::MAX])[0], i64::MAX);
    }
}
