//! Several statistics of the same groups under one guarantee.

use dashu_int::UBig;

use super::add_noise;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::{DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian};
use crate::permit::Permit;
use crate::privacy::calibration::analytic_gaussian_sigma;
use crate::privacy::{Delta, Epsilon, Guarantee, Rho};
use crate::release::{ErrorBar, LEVEL, Release};
use crate::statistic::Sensitivity;

/// One statistic of a [`Batch`]: one or several whole numbers for each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// How far one unit can move all its numbers, over all groups.
    pub sensitivity: Sensitivity,
    /// Its share of ε or ρ is this weight over the sum of all weights; at least 1.
    pub weight: u32,
}

/// Releases several additive statistics at once: counts, sums, histograms, each for every group.
///
/// # Privacy
/// The guarantee holds in the adjacency that the sensitivities were derived for. With weights w₁ … wₘ, part i has the
/// share sᵢ = wᵢ/Σw, and a unit moves its numbers, over all groups, by at most Δ₁ᵢ in the L1 norm and Δ₂ᵢ in the L2
/// norm.
/// - `Pure(ε)`: discrete Laplace noise of scale Δ₁ᵢ/(sᵢ·ε) on every number of part i, so part i is sᵢ·ε-private.
/// - `Zcdp(ρ)`: discrete Gaussian noise with σ² = Δ₂ᵢ²/(2·sᵢ·ρ), so part i is sᵢ·ρ-zCDP.
/// - `Approx(ε, δ)`: the first with ε, in which case δ is not used and [`Batch::guarantee`] is `Pure(ε)`; or the second
///   with the largest ρ that implies (ε, δ) ([`Rho::within`]); or rounded Gaussian noise with σᵢ² = Δ₂ᵢ²·s²/sᵢ, s being
///   the σ of \[BW18\] for a sensitivity of 1 ([`analytic_gaussian_sigma`]). The choice is the one with the smallest
///   product over all parts of the half-widths at 95 %, and the first of those if they are equal. It depends only on
///   the parameters, never on the data.
///
/// Shares of ε or ρ add up to one, and parts drawn independently add up ([`Guarantee::and`]). For rounded Gaussian noise
/// divide every number by its σᵢ: the noise then has a standard deviation of 1, and a unit moves all numbers together by
/// at most √(Σ Δ₂ᵢ²/σᵢ²) = √(Σ sᵢ/s²) = 1/s in the L2 norm, for which it is (ε, δ)-private; rounding, which whole numbers
/// do not notice, is post-processing. The number of groups does not matter: how many of them a unit can contribute to is
/// part of the sensitivities.
///
/// Adding up the privacy losses of Laplace noise exactly instead of its ε would gain nothing. If a unit moves every one of
/// m parts, all losses are as large as they can be with probability at least 2^−m, so scales for which Σεᵢ exceeds ε have
/// δ ≥ 2^−m·(1 − e^(ε − Σεᵢ)): for a δ of 10^−6 and eight parts, Σεᵢ could be ε + 0.0003. Gaussian noise is narrower from
/// about eight parts on (tested).
///
/// # Accuracy
/// Every number of part i has the noise [`Batch::noise`], hence [`Batch::half_width`]. The error bar of the release is
/// the largest of the parts' at 95 %: it holds for each number individually. Results computed from several parts have
/// the half-widths of [`Ends`](crate::statistic::Ends) or [`Moments`](crate::statistic::Moments). Under pure ε,
/// [`MaxNorm`](super::MaxNorm) has less noise for several statistics that are not histograms.
///
/// # Algorithm
/// Noise is drawn part by part and number by number: the draws depend on how many numbers there are, not on their
/// values.
///
/// # Errors
/// If there is no part, a weight is 0, no unit can move a part, or a part's noise would be out of range; (when
/// releasing) if the number of lists differs from the number of parts or the permit does not cover the guarantee.
///
/// # Example
/// Count and mean of every group; a person is in up to 4 groups, with up to 4 rows in each:
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::{Batch, Part};
/// use reticent::privacy::{Adjacency, Guarantee};
/// use reticent::statistic::{Bounds, Contribution, Ends, Grid, Rows};
///
/// let person = Contribution::in_groups(Adjacency::AddRemove, 4, Rows::AtMost(4))?;
/// let grid = Grid::new(&"0..100".parse::<Bounds>()?);
/// let guarantee = Guarantee::Approx("1".parse()?, "1e-8".parse()?);
/// let part = Part { sensitivity: Ends::sensitivity(&grid, &person)?, weight: 1 };
/// let batch = Batch::new(&[part], &guarantee)?;
/// assert_eq!(batch.guarantee().to_string(), "ε = 1"); // Laplace noise is narrower here, and needs no δ
///
/// // Two numbers for each of two groups.
/// let exact: Vec<Ends> = [2000, 3000].map(|rows| Ends::of(&grid, (0..rows).map(|i| Some(f64::from(i % 100))))).into();
/// let numbers = exact.iter().flat_map(|ends| [ends.above_lower, ends.below_upper]).collect();
/// let released = batch.release(vec![numbers], &mut Permit::unaccounted()?)?;
/// for group in released.value()[0].chunks(2) {
///     let ends = Ends { above_lower: group[0], below_upper: group[1] };
///     let half_width = ends.mean_half_width(&grid, batch.half_width(0, &"0.975".parse()?)?);
///     println!("{:.1} ± {:.1}", ends.mean(&grid), half_width);
/// #   assert!((ends.mean(&grid) - 49.5).abs() < 20.0);
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Batch {
    guarantee: Guarantee,
    noises: Vec<Law>,
    /// The logarithm of the product of all half-widths at 95 %. Half a step is added to each, so that noise that is
    /// almost always 0 still counts.
    log_width: f64,
    error: ErrorBar,
}

impl Batch {
    /// For parts that are released together under one guarantee.
    ///
    /// # Errors
    /// If there is no part, a weight is 0, no unit can move a part, or a part's noise would be out of range.
    pub fn new(parts: &[Part], guarantee: &Guarantee) -> Result<Self> {
        let shares = shares(parts)?;
        match guarantee {
            Guarantee::Pure(epsilon) => Self::laplace(parts, &shares, epsilon),
            Guarantee::Zcdp(rho) => Self::gaussian(parts, &shares, rho, guarantee.clone()),
            Guarantee::Approx(epsilon, delta) => Self::narrowest(parts, &shares, epsilon, delta),
        }
    }

    fn laplace(parts: &[Part], shares: &[Rational], epsilon: &Epsilon) -> Result<Self> {
        let noise = |(part, share): (&Part, &Rational)| {
            let sensitivity = Rational::from(part.sensitivity.l1()?);
            DiscreteLaplace::new(&(&sensitivity / &(share * epsilon.value()))).map(Law::Laplace)
        };
        let noises = parts.iter().zip(shares).map(noise).collect::<Result<_>>()?;
        Self::with_noises(Guarantee::Pure(epsilon.clone()), noises)
    }

    fn gaussian(parts: &[Part], shares: &[Rational], rho: &Rho, guarantee: Guarantee) -> Result<Self> {
        let for_one = (rho.value() * &Rational::from(2)).recip()?;
        let noises = variances(parts, shares, &for_one)?
            .into_iter()
            .map(|variance| DiscreteGaussian::with_sigma_squared(&variance).map(Law::Gaussian));
        Self::with_noises(guarantee, noises.collect::<Result<_>>()?)
    }

    fn rounded(parts: &[Part], shares: &[Rational], epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let for_one = analytic_gaussian_sigma(epsilon, delta, &Rational::ONE)?.square();
        let noises = variances(parts, shares, &for_one)?
            .into_iter()
            .map(|variance| RoundedGaussian::with_sigma_squared(&variance).map(Law::Rounded));
        Self::with_noises(Guarantee::Approx(epsilon.clone(), delta.clone()), noises.collect::<Result<_>>()?)
    }

    /// The one with the smallest product of half-widths; one that is out of range is not considered.
    fn narrowest(parts: &[Part], shares: &[Rational], epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let laplace = Self::laplace(parts, shares, epsilon);
        let gaussian = Rho::within(epsilon, delta)
            .and_then(|rho| Self::gaussian(parts, shares, &rho, Guarantee::Approx(epsilon.clone(), delta.clone())));
        let narrower = |one: Result<Self>, other: Result<Self>| match (one, other) {
            (Ok(one), Ok(other)) => Ok(if one.log_width <= other.log_width { one } else { other }),
            (one, other) => one.or(other),
        };
        narrower(narrower(laplace, gaussian), Self::rounded(parts, shares, epsilon, delta))
    }

    fn with_noises(guarantee: Guarantee, noises: Vec<Law>) -> Result<Self> {
        let level = Rational::try_from(LEVEL)?;
        let widths = noises.iter().map(|noise| noise.half_width(&level)).collect::<Result<Vec<_>>>()?;
        let log_width = widths.iter().map(|&width| libm::log(width as f64 + 0.5)).sum();
        let widest = widths.into_iter().max().unwrap_or(0);
        Ok(Self { guarantee, noises, log_width, error: ErrorBar::new(widest as f64, LEVEL)? })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.noises.len()
    }

    /// The noise on every number of a part.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn noise(&self, part: usize) -> &Law {
        &self.noises[part]
    }

    /// A t such that a number of the part is within t of the truth with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn half_width(&self, part: usize, level: &Rational) -> Result<u64> {
        self.noises[part].half_width(level)
    }

    /// Releases all parts: for each part the numbers of all groups. Which groups appear, and in which order, must not
    /// depend on the rows, except through a separate release.
    ///
    /// # Errors
    /// If the number of lists differs from the number of parts, or the permit does not cover the guarantee.
    pub fn release(&self, mut values: Vec<Vec<i64>>, permit: &mut Permit) -> Result<Release<Vec<Vec<i64>>>> {
        if values.len() != self.noises.len() {
            return Err(Error::parameter("number of statistics", values.len(), "that of the batch's parts"));
        }
        let mut draw = permit.spend(&self.guarantee)?;
        for (numbers, noise) in values.iter_mut().zip(&self.noises) {
            add_noise(numbers, |block| noise.fill(&mut draw, block));
        }
        Ok(Release::new(values, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }
}

/// Every part's σ², if all of the budget asks for `for_one` at an L2 sensitivity of 1.
fn variances(parts: &[Part], shares: &[Rational], for_one: &Rational) -> Result<Vec<Rational>> {
    let variance = |(part, share): (&Part, &Rational)| {
        let squared = Rational::from_big(UBig::from(part.sensitivity.l2_squared()?), UBig::ONE);
        Ok(&(&squared * for_one) / share)
    };
    parts.iter().zip(shares).map(variance).collect()
}

/// Every part's share of the budget, adding up to one.
fn shares(parts: &[Part]) -> Result<Vec<Rational>> {
    if parts.is_empty() {
        return Err(Error::parameter("number of statistics", 0, "at least 1"));
    }
    if parts.iter().any(|part| part.weight == 0) {
        return Err(Error::parameter(
            "weight",
            0,
            "at least 1: a statistic without a share of the budget has no noise",
        ));
    }
    let total: u64 = parts.iter().map(|part| u64::from(part.weight)).sum();
    Ok(parts.iter().map(|part| Rational::from(u64::from(part.weight)) / Rational::from(total)).collect())
}

#[cfg(test)]
mod tests;
