//! Whole numbers with discrete Gaussian noise.

use dashu_int::UBig;

use super::add_noise;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteGaussian;
use crate::permit::Permit;
use crate::privacy::calibration::discrete_gaussian_sigma;
use crate::privacy::{Delta, Epsilon, Guarantee, Rho};
use crate::release::{ErrorBar, LEVEL, Release, joint_level};

/// Releases whole numbers that one unit can move by at most Δ in the L2 norm.
///
/// # Privacy
/// - [`Gaussian::with_rho`]: ρ-zCDP for vectors of any length, with σ² = Δ²/(2ρ) on every coordinate \[CKS20\].
/// - [`Gaussian::with_delta`]: (ε, δ)-differential privacy for a single number, with the smallest σ for which
///   Σ_k max(0, P(k) − e^ε·P(k+Δ)) ≤ δ holds for the discrete law itself. (The σ of continuous noise is slightly too
///   small, and the textbook's σ² = (Δ/ε)²·ln(1/δ) is far too small.)
///
/// # Accuracy
/// 95 % of the noise lies within 1.96σ; see [`Gaussian::half_width`] for several numbers at once.
///
/// # Algorithm
/// value + [`DiscreteGaussian`] noise.
///
/// # Errors
/// If the sensitivity is 0, if σ lies outside 0.001 to 2^50, or (when releasing) if the permit does not cover the cost.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::Gaussian;
///
/// // Visits per city: a person is in up to 3 cities once each, so Δ² = 3.
/// let visits = Gaussian::with_rho(3, &"0.1".parse()?)?;
/// let released = visits.release_all(vec![120, 80, 35, 4], &mut Permit::unaccounted()?)?;
/// assert_eq!(released.guarantee().to_string(), "ρ = 0.1");
/// assert_eq!(released.error_bar().half_width(), 8.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gaussian {
    guarantee: Guarantee,
    noise: DiscreteGaussian,
    error: ErrorBar,
}

impl Gaussian {
    /// For vectors whose squared L2 sensitivity is `sensitivity_squared`, under ρ-zCDP.
    ///
    /// # Errors
    /// If the sensitivity is 0 or σ lies outside 0.001 to 2^50.
    pub fn with_rho(sensitivity_squared: u128, rho: &Rho) -> Result<Self> {
        positive(sensitivity_squared)?;
        let sensitivity_squared = Rational::from_big(UBig::from(sensitivity_squared), UBig::ONE);
        let sigma_squared = sensitivity_squared / (rho.value() * &Rational::from(2));
        Self::with_noise(Guarantee::Zcdp(rho.clone()), DiscreteGaussian::with_sigma_squared(&sigma_squared)?)
    }

    /// For a single number that one unit can move by at most `sensitivity`, under (ε, δ).
    ///
    /// # Errors
    /// If the sensitivity is 0, or if there is no σ from 0.001 to 2^50 for these parameters.
    pub fn with_delta(sensitivity: u64, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        positive(sensitivity.into())?;
        let sigma = discrete_gaussian_sigma(epsilon, delta, sensitivity)?;
        let guarantee = Guarantee::Approx(epsilon.clone(), delta.clone());
        Self::with_noise(guarantee, DiscreteGaussian::with_sigma(&sigma)?)
    }

    fn with_noise(guarantee: Guarantee, noise: DiscreteGaussian) -> Result<Self> {
        let half_width = noise.half_width(&Rational::try_from(LEVEL)?)?;
        Ok(Self { guarantee, noise, error: ErrorBar::new(half_width as f64, LEVEL)? })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added.
    pub fn noise(&self) -> &DiscreteGaussian {
        &self.noise
    }

    /// Releases one number.
    ///
    /// # Errors
    /// If the permit does not cover the cost.
    pub fn release(&self, value: i64, permit: &mut Permit) -> Result<Release<i64>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let noisy = value.saturating_add(self.noise.sample(&mut draw));
        Ok(Release::new(noisy, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// Releases a vector; the error bar holds for each coordinate individually.
    ///
    /// # Errors
    /// If the mechanism was calibrated for a single number and the vector has more, or if the permit does not cover the cost.
    pub fn release_all(&self, mut values: Vec<i64>, permit: &mut Permit) -> Result<Release<Vec<i64>>> {
        if matches!(self.guarantee, Guarantee::Approx(..)) && values.len() > 1 {
            return Err(Error::parameter(
                "number of coordinates",
                values.len(),
                "1 for noise calibrated to (epsilon, delta); use Gaussian::with_rho for vectors",
            ));
        }
        let mut draw = permit.spend(&self.guarantee)?;
        add_noise(&mut values, |noise| self.noise.fill(&mut draw, noise));
        Ok(Release::new(values, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// A t such that all of k coordinates are within t of the truth with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or k is 0.
    pub fn half_width(&self, k: u64, level: &Rational) -> Result<u64> {
        if k == 0 {
            return Err(Error::parameter("number of coordinates", k, "at least 1"));
        }
        self.noise.half_width(&joint_level(level, k))
    }
}

pub(super) fn positive(sensitivity: u128) -> Result<()> {
    if sensitivity == 0 {
        return Err(Error::parameter("sensitivity", 0, "at least 1: what no unit can move needs no noise"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;

    #[test]
    fn sigma_follows_from_rho() {
        let gaussian = Gaussian::with_rho(8, &"0.25".parse().unwrap()).unwrap();
        assert_eq!(gaussian.noise().sigma_squared(), &Rational::from(16));
    }

    /// The σ of continuous noise at (1, 10^−6) is 4.2246788893…; the discrete law needs more.
    #[test]
    fn the_discrete_law_needs_a_little_more_than_the_continuous_one() {
        let gaussian = Gaussian::with_delta(1, &"1".parse().unwrap(), &"1e-6".parse().unwrap()).unwrap();
        let sigma = gaussian.noise().sigma_squared().to_f64().sqrt();
        assert!(sigma > 4.224_678_889_326_835 && sigma < 4.26, "{sigma}");
        // The guarantee, summed from the definition.
        let weight = |k: f64| (-(k * k) / (2.0 * sigma * sigma)).exp();
        let total: f64 = (-200..=200).map(|k| weight(f64::from(k))).sum();
        let e = 1f64.exp();
        let delta: f64 =
            (-200..=200).map(|k| (weight(f64::from(k)) - e * weight(f64::from(k + 1))).max(0.0)).sum::<f64>() / total;
        assert!(delta <= 1e-6 * (1.0 + 1e-9) && delta > 0.98e-6, "{delta}");
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert!(Gaussian::with_rho(0, &"1".parse().unwrap()).is_err());
        assert!(Gaussian::with_delta(0, &"1".parse().unwrap(), &"1e-6".parse().unwrap()).is_err());
        assert!(Gaussian::with_rho(u128::MAX, &"1".parse().unwrap()).is_err());
        let single = Gaussian::with_delta(1, &"1".parse().unwrap(), &"1e-6".parse().unwrap()).unwrap();
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        assert!(single.release_all(vec![1, 2], &mut permit).is_err());
        assert!(single.release_all(vec![1], &mut permit).is_ok());
        assert!(single.half_width(0, &"0.95".parse().unwrap()).is_err());
    }
}
