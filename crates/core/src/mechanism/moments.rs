//! Sums, means, variances and standard deviations of a bounded column.

use super::Laplace;
use crate::error::Result;
use crate::exact::Rational;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release, joint_level};
use crate::statistic::{Bounds, Contribution, Divisor, Grid, Moments};

/// The results of one release of a column's mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The number of values.
    pub count: i64,
    /// Their sum.
    pub sum: f64,
    /// Their mean, within the bounds.
    pub mean: f64,
}

/// Releases count, sum and mean of a bounded column together.
///
/// # Privacy
/// ε-differential privacy: half of ε for the count N, half for the centred sum S = Σ(x − mid), both with discrete Laplace
/// noise; sum and mean are post-processing.
///
/// # Accuracy
/// The error bar is the mean's, from the two noise laws and the *released* count, at 95 %: with 97.5 % each, S and N
/// are within their half-widths, and the mean within the extremes of mid + S/N over that rectangle. It covers noise
/// only.
///
/// # Algorithm
/// AVG = mid + S/max(N, 1), clamped; SUM = S + mid·N.
///
/// # Errors
/// If Δ/ε of either part lies outside 0.001 to 2^50, or (when releasing) if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::BoundedMean;
/// use reticent::privacy::Adjacency;
/// use reticent::statistic::{Contribution, Rows};
///
/// let ages = (0..2000).map(|i| Some(f64::from(20 + i % 50)));
/// let one_row = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1))?;
/// let mechanism = BoundedMean::new(&"0..120".parse()?, &one_row, &"1".parse()?)?;
/// let age = mechanism.release(ages, &mut Permit::unaccounted()?)?;
/// println!("{:.1} ± {:.1}", age.value().mean, age.error_bar().half_width());
/// assert!((age.value().mean - 44.5).abs() < 3.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BoundedMean {
    grid: Grid,
    guarantee: Guarantee,
    count: Laplace,
    sum: Laplace,
    /// Half-widths of the count and of the sum, in steps, that hold jointly at the level of the error bars.
    half_widths: (u64, u64),
}

impl BoundedMean {
    /// For a column with public bounds, to which a unit can contribute `contribution`.
    ///
    /// # Errors
    /// If the noise would be out of range.
    pub fn new(bounds: &Bounds, contribution: &Contribution, epsilon: &Epsilon) -> Result<Self> {
        let grid = Grid::new(bounds);
        let half = share(epsilon, 2)?;
        let count = Laplace::new(Moments::count_sensitivity(contribution)?.l1()?, &half)?;
        let sum = Laplace::new(Moments::sum_sensitivity(&grid, contribution)?.l1()?, &half)?;
        let level = joint_level(&Rational::try_from(LEVEL)?, 2);
        let half_widths = (count.half_width(1, &level)?, sum.half_width(1, &level)?);
        Ok(Self { grid, guarantee: Guarantee::Pure(epsilon.clone()), count, sum, half_widths })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases the mean of a column; NaN and NULL are dropped, the rest is clamped.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, values: impl IntoIterator<Item = Option<f64>>, permit: &mut Permit) -> Result<Release<Mean>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let exact = Moments::of(&self.grid, values);
        let count = exact.count.saturating_add(self.count.noise().sample(&mut draw));
        let sum = exact.sum.saturating_add(self.sum.noise().sample(&mut draw));
        let mean =
            Mean { count, sum: Moments::total(&self.grid, count, sum), mean: Moments::mean(&self.grid, count, sum) };
        let error = ErrorBar::new(Moments::mean_half_width(&self.grid, count, sum, self.half_widths), LEVEL)?;
        Ok(Release::new(mean, error, self.guarantee.clone(), draw.accounting().clone()))
    }
}

/// The results of one release of a column's variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// The number of values.
    pub count: i64,
    /// Their mean, within the bounds.
    pub mean: f64,
    /// Their variance (divided by the count, not by one less), from 0 to a quarter of the squared range.
    pub variance: f64,
    /// Its square root.
    pub standard_deviation: f64,
}

/// Releases count, mean, variance and standard deviation of a bounded column together.
///
/// # Privacy
/// ε-differential privacy: a third of ε each for the count, the centred sum and the centred sum of squares.
///
/// # Accuracy
/// The error bar is the variance's, from the three noise laws and the released values, at 95 %: each of the three is within
/// its half-width with probability 98.3 %.
///
/// # Algorithm
/// VAR = Q/N − (S/N)², clamped; N, S and Q as in [`Moments`].
///
/// # Errors
/// As for [`BoundedMean`].
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::BoundedVariance;
/// use reticent::privacy::Adjacency;
/// use reticent::statistic::{Contribution, Rows};
///
/// let ages = (0..20_000).map(|i| Some(f64::from(20 + i % 50)));
/// let one_row = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1))?;
/// let mechanism = BoundedVariance::new(&"0..120".parse()?, &one_row, &"1".parse()?)?;
/// let age = mechanism.release(ages, &mut Permit::unaccounted()?)?;
/// assert!((age.value().standard_deviation - 14.43).abs() < 1.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BoundedVariance {
    grid: Grid,
    guarantee: Guarantee,
    count: Laplace,
    sum: Laplace,
    squares: Laplace,
    half_widths: [u64; 3],
}

impl BoundedVariance {
    /// For a column with public bounds, to which a unit can contribute `contribution`.
    ///
    /// # Errors
    /// If the noise would be out of range.
    pub fn new(bounds: &Bounds, contribution: &Contribution, epsilon: &Epsilon) -> Result<Self> {
        let grid = Grid::new(bounds);
        let third = share(epsilon, 3)?;
        let count = Laplace::new(Moments::count_sensitivity(contribution)?.l1()?, &third)?;
        let sum = Laplace::new(Moments::sum_sensitivity(&grid, contribution)?.l1()?, &third)?;
        let squares = Laplace::new(Moments::squares_sensitivity(&grid, contribution)?.l1()?, &third)?;
        let level = joint_level(&Rational::try_from(LEVEL)?, 3);
        let half_widths = [count.half_width(1, &level)?, sum.half_width(1, &level)?, squares.half_width(1, &level)?];
        Ok(Self { grid, guarantee: Guarantee::Pure(epsilon.clone()), count, sum, squares, half_widths })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Releases the variance of a column; NaN and NULL are dropped, the rest is clamped.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(
        &self,
        values: impl IntoIterator<Item = Option<f64>>,
        permit: &mut Permit,
    ) -> Result<Release<Variance>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let exact = Moments::of(&self.grid, values);
        let count = exact.count.saturating_add(self.count.noise().sample(&mut draw));
        let sum = exact.sum.saturating_add(self.sum.noise().sample(&mut draw));
        let squares = exact.squares.saturating_add(self.squares.noise().sample(&mut draw));
        let moments = [count, sum, squares];
        let variance = Moments::variance(&self.grid, Divisor::Count, moments);
        let released = Variance {
            count,
            mean: Moments::mean(&self.grid, count, sum),
            variance,
            standard_deviation: variance.sqrt(),
        };
        let half_width = Moments::variance_half_width(&self.grid, Divisor::Count, moments, self.half_widths);
        let error = ErrorBar::new(half_width, LEVEL)?;
        Ok(Release::new(released, error, self.guarantee.clone(), draw.accounting().clone()))
    }
}

/// ε divided by `parts`, exactly.
fn share(epsilon: &Epsilon, parts: u64) -> Result<Epsilon> {
    Epsilon::new(epsilon.value() / &Rational::from(parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use crate::privacy::Adjacency;
    use crate::statistic::Rows;

    fn contribution(adjacency: Adjacency) -> Contribution {
        Contribution::overall(adjacency, Rows::AtMost(1)).unwrap()
    }

    fn column() -> impl Iterator<Item = Option<f64>> + Clone {
        (0..500).map(|i| Some(f64::from(i * 7919 % 100)))
    }

    /// 95 % error bars must hold at least 95 % of the time: over 2,000 releases, at least 92.3 % (5.5 standard errors).
    #[test]
    fn error_bars_hold_as_often_as_they_say() {
        const RELEASES: usize = 2000;
        let mut permit = Permit::unaccounted_from(Entropy::seeded(7));
        let values: Vec<f64> = column().flatten().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        for adjacency in [Adjacency::AddRemove, Adjacency::Replace] {
            let (bounds, epsilon) = ("0..150".parse().unwrap(), "0.5".parse().unwrap());
            let means = BoundedMean::new(&bounds, &contribution(adjacency), &epsilon).unwrap();
            let variances = BoundedVariance::new(&bounds, &contribution(adjacency), &epsilon).unwrap();
            let (mut means_held, mut variances_held) = (0, 0);
            for _ in 0..RELEASES {
                let released = means.release(column(), &mut permit).unwrap();
                means_held += usize::from((released.value().mean - mean).abs() <= released.error_bar().half_width());
                let released = variances.release(column(), &mut permit).unwrap();
                let error = (released.value().variance - variance).abs();
                variances_held += usize::from(error <= released.error_bar().half_width());
            }
            for held in [means_held, variances_held] {
                assert!(held as f64 >= 0.923 * RELEASES as f64, "{adjacency}: {held} of {RELEASES}");
            }
        }
    }

    #[test]
    fn bad_rows_and_empty_tables_are_answered_like_any_other() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(8));
        let mechanism =
            BoundedMean::new(&"10..20".parse().unwrap(), &contribution(Adjacency::AddRemove), &"1".parse().unwrap())
                .unwrap();
        for rows in [vec![], vec![None], vec![Some(f64::NAN); 5], vec![Some(f64::INFINITY), Some(-1e308)]] {
            let released = mechanism.release(rows, &mut permit).unwrap();
            assert!((10.0..=20.0).contains(&released.value().mean));
            assert!(released.error_bar().half_width() <= 10.0);
        }
    }

    #[test]
    fn the_cost_is_one_epsilon_in_all() {
        let mechanism =
            BoundedVariance::new(&"0..1".parse().unwrap(), &contribution(Adjacency::Replace), &"0.1".parse().unwrap())
                .unwrap();
        let parts = [&mechanism.count, &mechanism.sum, &mechanism.squares].map(|part| part.guarantee().clone());
        assert_eq!(Guarantee::sequential(parts).unwrap().as_ref(), Some(mechanism.guarantee()));
    }
}
