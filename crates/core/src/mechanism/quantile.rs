//! Quantiles of values on a grid, each with an interval.
//!
//! | module | holds |
//! |---|---|
//! | `point` | one point of a given rank |
//! | `tree` | several points, each drawn from the part of the table that those before it leave |
//! | `reach` | the interval around a point |

mod point;
mod reach;
mod tree;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::bits::{BitSource, always};
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Adjacency, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};
use point::{Fraction, Target};
use reach::Reach;
use tree::Rows;

pub(crate) use tree::{law, targets};

/// A released quantile, and the interval that contains the exact one with probability at least 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// The quantile, off by a few ranks.
    pub value: i64,
    /// The lower end of the interval.
    pub lower: i64,
    /// The upper end of the interval.
    pub upper: i64,
}

impl Estimate {
    /// The distance from the value to the farther end.
    pub fn half_width(&self) -> u64 {
        self.value.abs_diff(self.lower).max(self.upper.abs_diff(self.value))
    }
}

/// Releases one or several quantiles of whole numbers between public bounds, each with an interval.
///
/// # Privacy
/// ε-differential privacy, where one unit is one value. Half of ε pays for the points and half for the intervals.
///
/// *One point.* Let n values be given, L(z) of them below z and G(z) above. z is a p-quantile if L(z) ≤ pn and
/// G(z) ≤ (1−p)n; if not, the number of ranks by which it is off is
///
/// > d(z) = max( 0, L(z) − pn, G(z) − (1−p)n ).
///
/// Every z of the grid lo, lo+1, …, hi is drawn with probability ∝ e^(−ε·d(z)/2Δ), where Δ bounds the change of d(z):
/// - add/remove: Δ = max(p, 1−p). One more value below z adds 1−p to the second term and takes 1−p from the third; one
///   above z takes p and adds p; one equal to z takes p and takes 1−p.
/// - replace: Δ = 1. n stays, L and G change by at most 1.
///
/// The weight of z changes by at most e^(ε/2), and so does the sum of all weights: together e^ε. The 2 cannot be
/// dropped: one more value can bring some z closer by Δ and move others away by Δ.
///
/// *Several points* are drawn level by level. The middle one comes first; it splits the range and the rows in two, and
/// each half is searched for the quantiles on its side, with p relative to that half: (p − p₁)/(p₂ − p₁) between the
/// points for p₁ and p₂. After h = ⌊log₂ m⌋ + 1 levels all m are found. Given the points of the levels above, a point
/// depends on the rows of its own segment alone, *and so does the rank it aims at*; the segments of a level are disjoint
/// and public. One more row is in one segment of each level, and the probability of all points together is a product
/// in which one factor a level changes, by e^(ε′) if a point costs ε′: with ε′ = ε/h each, ε in all, however many
/// segments there are. A row that is *replaced* may leave one segment and enter another: two factors change below the
/// first level, each by one row more or less, and Δ = 2·max(p, 1−p) ≥ 1 there pays for both, or for the two changes
/// within one segment.
///
/// *Ties.* If all rows equal to the point went to one side, the halves would have other quantiles than those sought: of
/// ten values that are equally frequent, percentiles would be off by whole values. So each row gets a random fraction,
/// and points that split something are drawn from values with fractions, on a grid as much finer. The fractions do not
/// depend on the rows: for each choice of them the probabilities on neighbouring tables differ by at most e^ε, hence on
/// average, too.
///
/// *The interval* around a point z, which is public by then, is [z − R, z + R], cut off at the bounds, with R one of
/// R₀ = 0 < R₁ < … < R_J, where the last one spans the range. Let f_j be the least distance, in ranks, of the quantile
/// from both ends:
///
/// > f_j = min( pn − L(z − R_j), (1−p)n − G(z + R_j) ),
///
/// without the term of an end that lies at a bound (f_J = ∞). f never falls with j, and changes by at most Δ as above.
/// Which radius is the first with f_j ≥ r, for a margin r? For that one, and with f₋₁ = −∞,
///
/// > d_j = max( 0, r − f_j, f_{j−1} − r )
///
/// is 0; it changes by at most Δ, too. Permute and flip ([`Top`](super::Top)) selects a j with a high score jc − d_j,
/// where c does not depend on the data: ε-private with rate γ = ε/2Δ. Each of m intervals costs a share of 1/m.
///
/// # Accuracy
/// *The interval contains the exact quantile* with probability at least 95 %: [x₍⌊pn⌋₎, x₍⌈pn⌉₊₁₎] (order statistics,
/// as far as they exist), and with it the nine usual definitions \[HF96\], which differ between these two. It does not if an end that is no
/// bound has too many values beyond it: then f_j < 1. Let j* be the first with f ≥ r ≥ 1. Such a j is smaller, and its
/// score is lower by more than (r − 1) + (j* − j)c. Exponential noise lifts it above that of j* with probability at most
/// ½·e^(−γ(r − 1) − γc(j* − j)); in all, over j < j*, less than ½·e^(−γ(r−1))/(e^(γc) − 1): 5 % with
///
/// > r = 1 + ln( 10/(e^(γc) − 1) )/γ.
///
/// Nothing is assumed of the table or of z: ties, few rows, values far from the bounds change the width, not the
/// coverage. With c = 0.2/γ, r is about 1 + 3.8/γ ([`Quantiles::margins`]), whatever the size of the grid. (For the
/// ends of an interval by the same mechanism as the points, it would have to be (ln|grid| + 3.7)/γ, and there are two
/// ends to pay for.) c = 0 would need ln J more; a larger c prefers wide intervals, which must then be outweighed by
/// more rows. If fewer than about r rows lie beyond the quantile on one side, the interval reaches the bound there; with
/// no values at all, it is the range in at least 95 % of runs: nothing was learned, and that is what it says.
///
/// *The point.* There is a z with d(z) = 0, so P(d > t) ≤ |grid|·e^(−εt/2Δ) at worst; where values are spread out it is
/// about e^(−εt/2Δ). Errors of upper levels are passed on to lower ones, as a weighted mean of both sides.
///
/// # Algorithm
/// Points: the exponential mechanism \[MT07, S11\], sampled exactly; the recursion is that of \[KSS22\]. With p = a/b the
/// whole number b·d(z) is D(z), and the weight is e^(−γD) with γ = ε/2Δb. Since 1.442695 < log₂e, the *level* k =
/// ⌊1.442695·γ·D⌋, at most 64, has e^(−γD) ≤ 2^−k.
/// 1. The points of level at most k are an interval around the quantile, and its ends are two order statistics: L(z) ≤ r if
///    and only if z is at most the (r+1)-th smallest value. So 65 intervals describe the whole grid.
/// 2. Draw z with probability ∝ 2^−k, by a uniform whole number: integer arithmetic below 2^127.
/// 3. Accept it with probability 2^k·e^(−γD) ≤ 1, enclosed as closely as the draw requires; else go back to 2.
///
/// Every point is then accepted with probability ∝ e^(−γD), exactly. A round succeeds with probability at least 0.44: the
/// weights add up to W ≥ 1; those drawn from to at most 2.00001·W below level 64 and, there, to at most 2^62·2^−64 more.
///
/// Fractions have 20 bits, or fewer on a grid of more than 2^42 points. Radii are 0, 1, 2, 3, 4, 6, 8, 12, …. Time depends
/// on the data (sorting) and on the result.
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
/// assert!(lower.value <= median.value && median.value <= upper.value);
/// println!("the median is {}, and between {} and {} with 95 % confidence", median.value, median.lower, median.upper);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantiles {
    guarantee: Guarantee,
    lo: i64,
    hi: i64,
    targets: Vec<Target>,
    reaches: Vec<Reach>,
    /// Bits of the fractions.
    bits: u32,
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
        let fractions = ps.iter().map(Fraction::new).collect::<Result<Vec<_>>>()?;
        let half = epsilon.value() / &Rational::from(2);
        let (share, level) = (&half / &Rational::from(ps.len() as u64), Rational::try_from(LEVEL)?);
        Ok(Self {
            guarantee: Guarantee::Pure(epsilon.clone()),
            lo,
            hi,
            targets: tree::targets(ps, adjacency, &half),
            reaches: fractions.into_iter().map(|p| Reach::new(p, adjacency, &share, &level)).collect(),
            bits: if ps.len() > 1 { ((points - 1).leading_zeros() - 66).min(FRACTION_BITS) } else { 0 },
        })
    }

    /// The same with intervals at another level than 95 %, for example
    /// [so that several hold at once](crate::release::joint_level).
    pub fn at_level(mut self, level: &Rational) -> Self {
        self.reaches = self.reaches.into_iter().map(|reach| reach.at_level(level)).collect();
        self
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// How many ranks beyond the exact quantile each interval is meant to reach on both sides, where the table has as
    /// many; in the order of the quantiles.
    pub fn margins(&self) -> impl Iterator<Item = f64> {
        self.reaches.iter().map(Reach::ranks)
    }

    /// Releases the quantiles, in ascending order. Each interval holds by itself; the error bar reaches to the farthest
    /// end of any.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, values: &[i64], permit: &mut Permit) -> Result<Release<Vec<Estimate>>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let estimates = self.sample_with(values, &mut draw);
        let error = error(&estimates)?;
        Ok(Release::new(estimates, error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// The quantiles of one table, with a draw that has already been paid for.
    pub(super) fn sample_with(&self, values: &[i64], draw: &mut PermittedDraw<'_>) -> Vec<Estimate> {
        always(self.sample(values, draw))
    }

    fn sample<B: BitSource + ?Sized>(&self, values: &[i64], source: &mut B) -> Result<Vec<Estimate>, B::Error> {
        let rows = Rows::new(values, (self.lo, self.hi), self.bits, || source.bits(self.bits))?;
        let mut points = Vec::with_capacity(self.targets.len());
        rows.segment(&self.targets).sample(&mut points, source)?;
        let estimate = |(z, reach): (i64, &Reach)| {
            let (lower, upper) = reach.sample(&rows.table(), z, source)?;
            let [value, lower, upper] = [z, lower, upper].map(|steps| self.lo.wrapping_add(steps));
            Ok(Estimate { value, lower, upper })
        };
        points.into_iter().zip(&self.reaches).map(estimate).collect()
    }
}

/// Enough to split a million equal rows.
const FRACTION_BITS: u32 = 20;

/// The error bar of several estimates: the farthest end.
pub(super) fn error<'a>(estimates: impl IntoIterator<Item = &'a Estimate>) -> Result<ErrorBar> {
    ErrorBar::new(estimates.into_iter().map(Estimate::half_width).max().unwrap_or_default() as f64, LEVEL)
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
/// let released = median.release(&incomes, &mut Permit::unaccounted()?)?.into_value();
/// assert!(released.lower <= released.value && released.value <= released.upper);
/// println!("half earn less than {} (between {} and {})", released.value, released.lower, released.upper);
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

    /// Releases the quantile.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, values: &[i64], permit: &mut Permit) -> Result<Release<Estimate>> {
        Ok(self.0.release(values, permit)?.map(|estimates| estimates[0], |error| error))
    }
}

#[cfg(test)]
mod tests;
