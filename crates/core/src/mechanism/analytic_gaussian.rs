//! Whole numbers with rounded Gaussian noise.

use dashu_int::UBig;

use super::add_noise;
use super::gaussian::positive;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::RoundedGaussian;
use crate::permit::Permit;
use crate::privacy::calibration::analytic_gaussian_sigma;
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release, joint_level};

/// Releases vectors of whole numbers that one unit can move by at most Δ in the L2 norm, under (ε, δ).
///
/// # Privacy
/// (ε, δ)-differential privacy in the adjacency that the sensitivity was derived for. The smallest σ for which continuous
/// noise is (ε, δ)-private \[BW18\], rounded up, on vectors of any length; rounding to whole numbers is post-processing,
/// because x + round(N) = round(x + N) for whole x.
///
/// # Accuracy
/// 95 % of the noise lies within 1.96σ. At ε = 1 and δ = 10^−8, σ is 5.100·Δ; [`Gaussian`](super::Gaussian) noise for the
/// ρ that implies them would have 5.391·Δ. For a single number, [`Gaussian::with_delta`](super::Gaussian::with_delta) has
/// the exact σ of discrete noise.
///
/// # Algorithm
/// value + [`RoundedGaussian`] noise.
///
/// # Errors
/// If the sensitivity is 0, δ is below 10^−290, σ lies outside 0.001 to 2^50, or (when releasing) the permit does not
/// cover (ε, δ).
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::AnalyticGaussian;
///
/// // Visits per city: a person is in up to 3 cities once each, so Δ² = 3.
/// let visits = AnalyticGaussian::new(3, &"1".parse()?, &"1e-8".parse()?)?;
/// let released = visits.release_all(vec![120, 80, 35, 4], &mut Permit::unaccounted()?)?;
/// assert_eq!(released.guarantee().to_string(), "ε = 1, δ = 1e-8");
/// assert_eq!(released.error_bar().half_width(), 17.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AnalyticGaussian {
    guarantee: Guarantee,
    noise: RoundedGaussian,
    error: ErrorBar,
}

impl AnalyticGaussian {
    /// For vectors whose squared L2 sensitivity is `sensitivity_squared`.
    ///
    /// # Errors
    /// If the sensitivity is 0, δ is below 10^−290 or σ lies outside 0.001 to 2^50.
    pub fn new(sensitivity_squared: u128, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        positive(sensitivity_squared)?;
        let sensitivity_squared = Rational::from_big(UBig::from(sensitivity_squared), UBig::ONE);
        // σ is proportional to the sensitivity, whose square is known exactly.
        let sigma_squared = analytic_gaussian_sigma(epsilon, delta, &Rational::ONE)?.square();
        let noise = RoundedGaussian::with_sigma_squared(&(&sensitivity_squared * &sigma_squared))?;
        let half_width = noise.half_width(&Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64, LEVEL)?;
        Ok(Self { guarantee: Guarantee::Approx(epsilon.clone(), delta.clone()), noise, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added.
    pub fn noise(&self) -> &RoundedGaussian {
        &self.noise
    }

    /// Releases a vector; the error bar holds for each coordinate individually.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release_all(&self, mut values: Vec<i64>, permit: &mut Permit) -> Result<Release<Vec<i64>>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use crate::privacy::Rho;

    fn analytic(sensitivity_squared: u128, epsilon: &str, delta: &str) -> AnalyticGaussian {
        AnalyticGaussian::new(sensitivity_squared, &epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap()
    }

    /// σ is not below that of continuous noise, and below what zCDP asks for.
    #[test]
    fn sigma_is_that_of_continuous_noise() {
        for (epsilon, delta, continuous) in [("1", "1e-6", 4.224_678_889_326_835), ("1", "1e-8", 5.100_308_787_529_939)]
        {
            for sensitivity_squared in [1, 3, 1 << 60] {
                let mechanism = analytic(sensitivity_squared, epsilon, delta);
                let sigma = mechanism.noise().sigma().to_f64() / (sensitivity_squared as f64).sqrt();
                assert!(sigma >= continuous * (1.0 - 1e-12) && sigma < continuous * (1.0 + 1e-9), "{sigma}");
                let rho = Rho::within(&epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap();
                assert!(sigma < 0.96 * (0.5 / rho.value().to_f64()).sqrt(), "{sigma}");
            }
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let (epsilon, delta): (Epsilon, Delta) = ("1".parse().unwrap(), "1e-6".parse().unwrap());
        assert!(AnalyticGaussian::new(0, &epsilon, &delta).is_err());
        assert!(AnalyticGaussian::new(u128::MAX, &epsilon, &delta).is_err());
        assert!(analytic(1, "1", "1e-6").half_width(0, &"0.95".parse().unwrap()).is_err());
    }

    #[test]
    fn a_release_costs_its_guarantee_and_has_its_error() {
        let mechanism = analytic(4, "1", "1e-6");
        let released =
            mechanism.release_all(vec![i64::MAX, 0, i64::MIN], &mut Permit::unaccounted_from(Entropy::seeded(1)));
        let released = released.unwrap();
        assert!(released.value()[0] > i64::MAX - 100 && released.value()[2] < i64::MIN + 100);
        assert_eq!(
            released.error_bar().half_width() as u64,
            mechanism.half_width(1, &"0.95".parse().unwrap()).unwrap()
        );
        assert!(mechanism.half_width(10, &"0.95".parse().unwrap()).unwrap() > 20);
    }
}
