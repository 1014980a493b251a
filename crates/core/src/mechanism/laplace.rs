//! Whole numbers with discrete Laplace noise.

use super::add_noise;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release, joint_level};

/// Releases whole numbers that one unit can move by at most Δ in the L1 norm.
///
/// # Privacy
/// ε-differential privacy in the adjacency that the sensitivity was derived for: independent noise of scale Δ/ε on every
/// coordinate, so that the probabilities of any result on neighbouring inputs differ by a factor of at most
/// e^(ε·‖difference‖₁/Δ) ≤ e^ε.
///
/// # Accuracy
/// 95 % of the noise lies within about 3·Δ/ε for one number; for k at once see [`Laplace::half_width`]. Both come from
/// the exact law.
///
/// # Algorithm
/// value + [`DiscreteLaplace`] noise \[DMNS06, GRS12\].
///
/// # Errors
/// If the sensitivity is 0, if Δ/ε lies outside 0.001 to 2^50, or (when releasing) if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::Laplace;
///
/// let mut permit = Permit::unaccounted()?;
/// let counts = Laplace::new(1, &"0.5".parse()?)?;
/// let visitors = counts.release(1234, &mut permit)?;
/// println!("{} ± {}", visitors.value(), visitors.error_bar().half_width());
/// assert_eq!(visitors.error_bar().half_width(), 6.0);
/// # Ok::<(), reticent::Error>(())
/// ```
///
/// How many people had each of 10,000 first names in a census? One person has one name, so Δ = 1. With ε = 1 all counts are
/// within 12.2 of the truth with probability 95 % by the bound for continuous noise, ln(10,000/0.05); exactly, within 12:
/// ```
/// use reticent::mechanism::Laplace;
///
/// let names = Laplace::new(1, &"1".parse()?)?;
/// let continuous = (10_000.0_f64 / 0.05).ln();
/// assert!((continuous - 12.2).abs() < 0.01);
/// assert_eq!(names.half_width(10_000, &"0.95".parse()?)?, 12);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Laplace {
    guarantee: Guarantee,
    noise: DiscreteLaplace,
    error: ErrorBar,
}

impl Laplace {
    /// For numbers that one unit can move by at most `sensitivity`; for several numbers, in the L1 norm.
    ///
    /// # Errors
    /// If the sensitivity is 0 or Δ/ε lies outside 0.001 to 2^50.
    pub fn new(sensitivity: u64, epsilon: &Epsilon) -> Result<Self> {
        if sensitivity == 0 {
            return Err(Error::parameter("sensitivity", 0, "at least 1: what no unit can move needs no noise"));
        }
        let noise = DiscreteLaplace::new(&(&Rational::from(sensitivity) / epsilon.value()))?;
        let half_width = noise.half_width(&Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64, LEVEL)?;
        Ok(Self { guarantee: Guarantee::Pure(epsilon.clone()), noise, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added.
    pub fn noise(&self) -> &DiscreteLaplace {
        &self.noise
    }

    /// Releases one number.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, value: i64, permit: &mut Permit) -> Result<Release<i64>> {
        let mut draw = permit.spend(&self.guarantee)?;
        // Saturation is post-processing: it depends on the noisy sum alone.
        let noisy = value.saturating_add(self.noise.sample(&mut draw));
        Ok(Release::new(noisy, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// Releases a vector whose L1 sensitivity is the mechanism's; the error bar holds for each coordinate individually.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    ///
    /// # Example
    /// ```
    /// use reticent::Permit;
    /// use reticent::mechanism::Laplace;
    ///
    /// let ages = vec![120, 80, 35, 4]; // people by age group: one person is in one group
    /// let released = Laplace::new(1, &"1".parse()?)?.release_all(ages, &mut Permit::unaccounted()?)?;
    /// assert_eq!(released.value().len(), 4);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn release_all(&self, mut values: Vec<i64>, permit: &mut Permit) -> Result<Release<Vec<i64>>> {
        let mut draw = permit.spend(&self.guarantee)?;
        add_noise(&mut values, |noise| self.noise.fill(&mut draw, noise));
        Ok(Release::new(values, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// The smallest t such that all of k coordinates are within t of the truth with probability at least `level`.
    ///
    /// Exact: P(some |K_i| > t) = 1 − (1 − 2p^(t+1)/(1+p))^k, with the tail rounded up.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or k is 0.
    pub fn half_width(&self, k: u64, level: &Rational) -> Result<u64> {
        simultaneous_half_width(&self.noise, k, level)
    }
}

/// See [`Laplace::half_width`].
fn simultaneous_half_width(noise: &DiscreteLaplace, k: u64, level: &Rational) -> Result<u64> {
    if k == 0 {
        return Err(Error::parameter("number of coordinates", k, "at least 1"));
    }
    if k == 1 {
        return noise.half_width(level);
    }
    if !level.is_positive() || *level >= Rational::ONE {
        return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
    }
    // ln(1 − 2·tail)·k ≥ ln(level), by ln1p; a margin of 10^−12 covers the rounding of floats.
    let log_level = libm::log(level.to_f64_up());
    let fits = |t: u64| {
        let outside = 2.0 * noise.upper_tail(t + 1).to_f64_up();
        outside < 1.0 && libm::log1p(-outside) * k as f64 * (1.0 + 1e-12) >= log_level
    };
    // The union bound gives a t that suffices; the exact one is not larger.
    let mut high = noise.half_width(&joint_level(level, k))?;
    let mut low = 0;
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Receipt;
    use crate::noise::Entropy;

    fn laplace(sensitivity: u64, epsilon: &str) -> Result<Laplace> {
        Laplace::new(sensitivity, &epsilon.parse().unwrap())
    }

    #[test]
    fn parameters_are_checked_before_anything_is_spent() {
        for (sensitivity, epsilon) in [(0, "1"), (u64::MAX, "1"), (1, "1001"), (1, "1e-16")] {
            assert!(laplace(sensitivity, epsilon).unwrap_err().is_parameter());
        }
        let receipt = Receipt { dataset: "d".into(), request: "r".into(), entry: 1 };
        let charged = Guarantee::Pure("1".parse().unwrap());
        let mut permit = Permit::from_durable_charge(receipt, &charged, Entropy::seeded(1));
        let laplace = laplace(1, "1").unwrap();
        assert!(laplace.release(5, &mut permit).is_ok());
        assert!(laplace.release(5, &mut permit).unwrap_err().is_not_permitted());
    }

    #[test]
    fn the_ends_of_the_range_saturate() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(2));
        let released = laplace(1 << 40, "1").unwrap().release_all(vec![i64::MAX, i64::MIN], &mut permit).unwrap();
        assert!(released.value()[0] > i64::MAX / 2 && released.value()[1] < i64::MIN / 2);
    }

    #[test]
    fn simultaneous_bounds_are_the_smallest_that_do() {
        for (epsilon, k) in [(0.1_f64, 7u64), (1.0, 2), (1.0, 10_000), (2.5, 1_000_000)] {
            let laplace = laplace(1, &epsilon.to_string()).unwrap();
            let p = (-epsilon).exp();
            let inside = |t: f64| (k as f64 * (-2.0 * p.powf(t + 1.0) / (1.0 + p)).ln_1p()).exp();
            let t = laplace.half_width(k, &"0.95".parse().unwrap()).unwrap() as f64;
            assert!(inside(t) >= 0.95 * (1.0 - 1e-9) && inside(t - 1.0) < 0.95, "{epsilon} {k} {t}");
        }
        assert!(laplace(1, "1").unwrap().half_width(0, &"0.95".parse().unwrap()).is_err());
    }
}
