//! Quantiles of values on a grid.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::exp_neg;
use crate::noise::bernoulli::{Prefix, is_below};
use crate::noise::bits::{BitSource, always};
use crate::noise::uniform::below_wide;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Adjacency, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};

/// Something chosen for its rank in the data: the release's error bar is then in *ranks*, not in values.
///
/// "31 ± 12" reads: 31 is the exact quantile of the table, or at most 12 rows away from it. How far that is in value
/// depends on the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Ranked<T>(T);

impl<T> Ranked<T> {
    /// The value alone.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Reads like the value itself.
impl<T> Deref for Ranked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Display> fmt::Display for Ranked<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Releases one or several quantiles of whole numbers between public bounds.
///
/// # Privacy
/// ε-differential privacy, where one unit is one value; m quantiles take ε/m each. For one of them, let n values be given,
/// L(z) of them below z and G(z) above. z is a p-quantile if L(z) ≤ pn and G(z) ≤ (1−p)n; if not, the number of ranks
/// by which it is off is
///
/// > d(z) = max( 0, L(z) − pn, G(z) − (1−p)n ).
///
/// Every z of the grid lo, lo+1, …, hi is released with probability ∝ e^(−ε·d(z)/2Δ), where Δ bounds the change of d(z):
/// - add/remove: Δ = max(p, 1−p). One more value below z adds 1−p to the second term and takes 1−p from the third; one
///   above z takes p and adds p; one equal to z takes p and takes 1−p.
/// - replace: Δ = 1. n stays, L and G change by at most 1.
///
/// The weight of z changes by at most e^(ε/2), and so does the sum of all weights: together e^ε. The 2 cannot be
/// dropped: one more value can bring some z closer by Δ and move others away by Δ.
///
/// # Accuracy
/// The error bar is in ranks, see [`Ranked`]. There is a z with d(z) = 0, so that P(d > t) ≤ |grid|·e^(−εt/2Δ), and each of
/// m quantiles with its ε/m is off by at most (2Δm/ε)·ln(20·m·|grid|) ranks, all of them at once, with probability at least
/// 95 %. A table without values is answered like any other: every z is equally likely.
///
/// # Algorithm
/// The exponential mechanism \[MT07, S11\], sampled exactly. With p = a/b the whole number b·d(z) is D(z), and the weight
/// is e^(−γD) with γ = ε/2Δb. Since 1.442695 < log₂e, the *level* k = ⌊1.442695·γ·D⌋, at most 64, has e^(−γD) ≤ 2^−k.
/// 1. The points of level at most k are an interval around the quantile, and its ends are two order statistics: L(z) ≤ r if
///    and only if z is at most the (r+1)-th smallest value. So 65 intervals describe the whole grid.
/// 2. Draw z with probability ∝ 2^−k, by a uniform whole number: integer arithmetic below 2^127.
/// 3. Accept it with probability 2^k·e^(−γD) ≤ 1, enclosed as closely as the draw requires; else go back to 2.
///
/// Every point is then accepted with probability ∝ e^(−γD), exactly. A round succeeds with probability at least 0.44: the
/// weights add up to W ≥ 1; those drawn from to at most 2.00001·W below level 64 and, there, to at most 2^62·2^−64 more.
/// After sorting once, a quantile takes some microseconds. Time depends on the data (sorting) and on the result.
///
/// Several quantiles are put in ascending order; that is post-processing, and makes no error larger than the largest was.
///
/// # Errors
/// If there is no p, or they do not ascend, or one lies outside 0 to 1 or has a denominator above 10^12; if lo > hi or the
/// grid has more than 2^62 points; or (when releasing) the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::Quantiles;
/// use reticent::privacy::Adjacency;
///
/// let ages: Vec<i64> = (0..10_000).map(|i| 20 + i % 50).collect();
/// let quartiles = ["1/4", "1/2", "3/4"].map(|p| p.parse().unwrap());
/// let mechanism = Quantiles::new(&quartiles, 0, 120, Adjacency::AddRemove, &"1".parse()?)?;
/// let released = mechanism.release(&ages, &mut Permit::unaccounted()?)?;
/// let [lower, median, upper] = released.value()[..] else { unreachable!() };
/// assert!(lower <= median && median <= upper);
/// println!("half are between {lower} and {upper}, give or take {} people", released.error_bar().half_width());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantiles {
    guarantee: Guarantee,
    lo: i64,
    hi: i64,
    targets: Vec<Target>,
    error: ErrorBar,
}

impl Quantiles {
    /// The p-quantiles, in ascending order of p, of values that are assumed to lie in lo..=hi (and clamped to it).
    ///
    /// # Errors
    /// As above: p, bounds.
    pub fn new(ps: &[Rational], lo: i64, hi: i64, adjacency: Adjacency, epsilon: &Epsilon) -> Result<Self> {
        if ps.is_empty() {
            return Err(Error::parameter("number of quantiles", 0, "at least 1"));
        }
        if let Some(pair) = ps.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::parameter("quantile", &pair[1], "larger than the one before it: ascending, no p twice"));
        }
        if lo > hi {
            return Err(Error::parameter("lower bound", lo, "at most the upper bound"));
        }
        let points = i128::from(hi) - i128::from(lo) + 1;
        if points > 1 << 62 {
            return Err(Error::parameter("number of grid points", points, "at most 2^62; use a coarser grid"));
        }
        let count = ps.len() as u64;
        let share = epsilon.value() / &Rational::from(count);
        let targets = ps.iter().map(|p| Target::new(p, &share, adjacency)).collect::<Result<Vec<_>>>()?;
        // ln(20·m·|grid|), up to a float's rounding, which one part in 10^12 covers.
        let log = libm::log(count as f64 / (1.0 - LEVEL) * points as f64) * (1.0 + 1e-12);
        let ranks = targets.iter().map(|target| target.ranks_per_nat.to_f64() * log).fold(0.0, f64::max);
        let error = ErrorBar::new(ranks, LEVEL)?;
        Ok(Self { guarantee: Guarantee::Pure(epsilon.clone()), lo, hi, targets, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases the quantiles, in ascending order; the error bar, in ranks, holds for all of them at once.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, values: &[i64], permit: &mut Permit) -> Result<Release<Ranked<Vec<i64>>>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let quantiles = self.sample_with(values, &mut draw);
        Ok(Release::new(quantiles, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// The quantiles of one table, with a draw that has already been paid for.
    pub(super) fn sample_with(&self, values: &[i64], draw: &mut PermittedDraw<'_>) -> Ranked<Vec<i64>> {
        let table = Table::new(values, self.lo, self.hi);
        let mut quantiles: Vec<i64> =
            self.targets.iter().map(|target| always(target.proposal(&table, LEVELS).sample(draw))).collect();
        quantiles.sort_unstable();
        Ranked(quantiles)
    }

    /// The number of ranks that each quantile may be off, all at once with probability 95 %.
    pub fn error_bar(&self) -> ErrorBar {
        self.error
    }
}

/// Releases one quantile: [`Quantiles`] with a single p, where privacy, accuracy and algorithm are explained.
///
/// # Errors
/// As for [`Quantiles`].
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::Quantile;
/// use reticent::privacy::Adjacency;
///
/// let incomes: Vec<i64> = (0..5_001).map(|i| 1_000 + i * i / 100).collect();
/// let median = Quantile::new(&"0.5".parse()?, 0, 1 << 20, Adjacency::AddRemove, &"1".parse()?)?;
/// let released = median.release(&incomes, &mut Permit::unaccounted()?)?;
/// // Off by at most ln(20·2^20) ≈ 17 ranks of 5,001.
/// assert!(released.error_bar().half_width() < 17.0);
/// println!("half earn less than {}", released.value());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantile(Quantiles);

impl Quantile {
    /// The p-quantile of values that are assumed to lie in lo..=hi (and clamped to it).
    ///
    /// # Errors
    /// As for [`Quantiles::new`].
    pub fn new(p: &Rational, lo: i64, hi: i64, adjacency: Adjacency, epsilon: &Epsilon) -> Result<Self> {
        Quantiles::new(std::slice::from_ref(p), lo, hi, adjacency, epsilon).map(Self)
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.0.guarantee()
    }

    /// Releases the quantile; the error bar is in ranks.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, values: &[i64], permit: &mut Permit) -> Result<Release<Ranked<i64>>> {
        let released = self.0.release(values, permit)?;
        Ok(released.map(|Ranked(values)| Ranked(values[0]), |error| error))
    }
}

/// Levels beyond 0: deeper points are proposed as if at this one. Fewer than 2^62 points each weigh at most 2^64.
const LEVELS: u32 = 64;

/// One p with its share of ε.
#[derive(Debug, Clone)]
struct Target {
    /// p = a/b.
    a: u64,
    b: u64,
    /// γ: the weight of a point is e^(−γD).
    gamma: Rational,
    /// 2Δ/ε.
    ranks_per_nat: Rational,
    /// By level k: the largest D of that level.
    farthest: Vec<u128>,
}

impl Target {
    fn new(p: &Rational, epsilon: &Rational, adjacency: Adjacency) -> Result<Self> {
        const DENOMINATOR: u64 = 1_000_000_000_000;
        if *p < Rational::ZERO || *p > Rational::ONE {
            return Err(Error::parameter("quantile", p, "from 0 to 1; write for example 0.5"));
        }
        let sensitivity = match adjacency {
            Adjacency::AddRemove => p.clone().max(Rational::ONE - p.clone()),
            Adjacency::Replace => Rational::ONE,
        };
        match (u64::try_from(&p.numerator()), u64::try_from(p.denominator())) {
            (Ok(a), Ok(b)) if b <= DENOMINATOR => Ok(Self::with_sensitivity(a, b, epsilon, &sensitivity)),
            _ => Err(Error::parameter("quantile", p, "a fraction with a denominator of at most 10^12")),
        }
    }

    fn with_sensitivity(a: u64, b: u64, epsilon: &Rational, sensitivity: &Rational) -> Self {
        let ranks_per_nat = &(sensitivity * &Rational::from(2)) / epsilon;
        let gamma = Rational::ONE / (&ranks_per_nat * &Rational::from(b));
        // ⌊rate·D⌋ ≤ k if and only if D < (k+1)/rate.
        let rate = &gamma * &Rational::new(1_442_695, 1_000_000).expect("10^6 is not 0");
        let farthest = |level: u32| {
            let end = (&Rational::from(u64::from(level) + 1) / &rate).ceil();
            // D is below 2^104, so a larger bound covers everything.
            u128::try_from(&end).map_or(u128::MAX, |end| end - 1).min(1 << 120)
        };
        let farthest = (0..LEVELS).map(farthest).collect();
        Self { a, b, gamma, ranks_per_nat, farthest }
    }

    /// D(z) = b·d(z), from L(z), G(z) and n.
    fn distance(&self, below: usize, above: usize, n: usize) -> u128 {
        let (a, b) = (u128::from(self.a), u128::from(self.b));
        let (below, above, n) = (below as u128, above as u128, n as u128);
        (b * below).saturating_sub(a * n).max((b * above).saturating_sub((b - a) * n))
    }

    /// The points of each level.
    fn proposal<'a>(&'a self, table: &'a Table, levels: u32) -> Proposal<'a> {
        let (a, b, n) = (u128::from(self.a), u128::from(self.b), table.sorted.len() as u128);
        let levels = self.farthest.iter().take(levels as usize);
        let mut intervals: Vec<(i64, i64)> =
            levels.map(|most| table.between(((b - a) * n + most) / b, (a * n + most) / b)).collect();
        intervals.push((table.lo, table.hi));
        Proposal { target: self, table, intervals }
    }
}

/// Sorted values and the bounds of the grid.
#[derive(Debug)]
struct Table {
    sorted: Vec<i64>,
    lo: i64,
    hi: i64,
}

impl Table {
    fn new(values: &[i64], lo: i64, hi: i64) -> Self {
        let mut sorted: Vec<i64> = values.iter().map(|value| (*value).clamp(lo, hi)).collect();
        sorted.sort_unstable();
        Self { sorted, lo, hi }
    }

    /// The points with at most `above` values above and at most `below` values below them: ends included.
    fn between(&self, above: u128, below: u128) -> (i64, i64) {
        let n = self.sorted.len();
        let place = |count: u128| usize::try_from(count).ok().filter(|&count| count < n);
        let first = place(above).map_or(self.lo, |above| self.sorted[n - 1 - above]);
        let last = place(below).map_or(self.hi, |below| self.sorted[below]);
        (first, last)
    }

    /// L(z) and G(z).
    fn ranks(&self, z: i64) -> (usize, usize) {
        let below = self.sorted.partition_point(|&value| value < z);
        let up_to = self.sorted.partition_point(|&value| value <= z);
        (below, self.sorted.len() - up_to)
    }
}

/// The law ∝ 2^−level that points are drawn from before they are accepted or not.
#[derive(Debug)]
struct Proposal<'a> {
    target: &'a Target,
    table: &'a Table,
    /// By level k: the points of level at most k; each contains the one before, the last is the grid.
    intervals: Vec<(i64, i64)>,
}

impl Proposal<'_> {
    fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        loop {
            if let Some(z) = self.round(source)? {
                return Ok(z);
            }
        }
    }

    /// The number of points of each level.
    fn sizes(&self) -> impl Iterator<Item = u128> {
        let size = |(first, last): &(i64, i64)| (i128::from(*last) - i128::from(*first) + 1).unsigned_abs();
        let before = std::iter::once(0).chain(self.intervals.iter().map(size));
        self.intervals.iter().map(size).zip(before).map(|(with, without)| with - without)
    }

    /// The sum of all 2^(levels − level).
    fn total(&self) -> u128 {
        let levels = self.intervals.len() - 1;
        self.sizes().enumerate().map(|(level, size)| size << (levels - level)).sum()
    }

    /// Steps 2 and 3: a point, or `None` if it was not accepted.
    fn round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<i64>, B::Error> {
        let number = below_wide(self.total(), source)?;
        self.settle(number, source)
    }

    /// The point that a number below the total denotes, if it is accepted.
    fn settle<B: BitSource + ?Sized>(&self, number: u128, source: &mut B) -> Result<Option<i64>, B::Error> {
        let levels = self.intervals.len() - 1;
        let mut rest = number;
        let (mut level, mut offset) = (levels, 0);
        for (candidate, size) in self.sizes().enumerate() {
            let weight = size << (levels - candidate);
            if rest < weight {
                (level, offset) = (candidate, rest >> (levels - candidate));
                break;
            }
            rest -= weight;
        }
        let z = self.point(level, offset);
        let (below, above) = self.table.ranks(z);
        let distance =
            Rational::from_big(self.target.distance(below, above, self.table.sorted.len()).into(), 1u8.into());
        let exponent = &self.target.gamma * &distance;
        // 2^k·e^(−γD) at precision b is e^(−γD) at precision b + k.
        let accepted = is_below(Prefix::empty(), source, |bits| exp_neg(&exponent, bits + level))?;
        Ok(accepted.then_some(z))
    }

    /// The point with this offset among those of a level: first those left of the previous interval, then those right.
    fn point(&self, level: usize, offset: u128) -> i64 {
        let (first, _) = self.intervals[level];
        let z = i128::from(first) + offset as i128;
        let inner = level.checked_sub(1).map(|before| self.intervals[before]);
        let z = match inner {
            Some((inner_first, inner_last)) if z >= i128::from(inner_first) => {
                z + i128::from(inner_last) - i128::from(inner_first) + 1
            }
            _ => z,
        };
        i64::try_from(z).expect("a point of the grid")
    }
}

#[cfg(test)]
mod tests;
