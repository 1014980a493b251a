//! The noise on one p-sum.

use super::stream::Stream;
use crate::error::{Error, Result};
use crate::exact::Rational;
pub use crate::noise::Law;
use crate::noise::{DiscreteGaussian, DiscreteLaplace};
use crate::numeric::laplace_sum::LaplaceSum;
use crate::numeric::{LEAST, discrete_gaussian};
use crate::privacy::{Guarantee, Rho};

impl Law {
    /// Noise for p-sums such that each step is in at most `sums_per_step` of them.
    ///
    /// # Privacy
    /// One unit moves at most c steps by at most r, hence the vector of all p-sums by at most c·r·α in the L1 norm,
    /// and, as each step moves α p-sums by r (L2 norm r√α), by at most c·r·√α in the L2 norm. Scale c·r·α/ε gives ε; σ²
    /// = (c·r)²·α/(2ρ) gives ρ. Both hold for inputs chosen after seeing earlier outputs: a p-sum's noise is
    /// independent of everything decided before it, and the bounds hold on every path.
    ///
    /// # Errors
    /// If noise of this scale cannot be drawn.
    pub fn new(stream: &Stream, guarantee: &Guarantee, sums_per_step: u64) -> Result<Self> {
        let reach = &Rational::from(stream.max_steps()) * &Rational::from(stream.max_change());
        let alpha = Rational::from(sums_per_step);
        match guarantee {
            Guarantee::Pure(epsilon) => {
                DiscreteLaplace::new(&(&(&reach * &alpha) / epsilon.value())).map(Self::Laplace)
            }
            Guarantee::Zcdp(_) | Guarantee::Approx(..) => {
                let twice_rho = rho(guarantee)?.value() * &Rational::from(2);
                DiscreteGaussian::with_sigma_squared(&(&(&reach.square() * &alpha) / &twice_rho)).map(Self::Gaussian)
            }
        }
    }

    /// A t that the sum of this many independent draws, each added or subtracted, exceeds in absolute value with
    /// probability at most 1 − level: from the exact law for Laplace noise of scale up to 20, and at most one more than
    /// necessary beyond.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1, or is closer to 1 than 10^−60.
    pub fn half_width_of_sum(&self, terms: u64, level: &Rational) -> Result<u64> {
        if terms <= 1 {
            return if terms == 0 { Ok(0) } else { self.half_width(level) };
        }
        if !level.is_positive() || *level >= Rational::ONE {
            return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
        }
        let outside = (Rational::ONE - level.clone()).to_f64_down();
        if outside < LEAST {
            return Err(Error::parameter("level", "closer to 1 than 1e-60", "at most 1 - 1e-60"));
        }
        let reach = match self {
            Self::Laplace(law) => LaplaceSum::new(law.approximate_scale(), terms).reach(outside),
            Self::Gaussian(law) => {
                let variance = terms as f64 * law.sigma_squared().to_f64_up();
                // The comparison with normal noise is proved from σ² = 2 on and for up to 2^20 terms, the sub-Gaussian bound
                // always.
                let sub_gaussian = libm::ceil(libm::sqrt(2.0 * variance * libm::log(2.0 / outside)) * (1.0 + 1e-9));
                if *law.sigma_squared() < Rational::from(2) || terms > 1 << 20 {
                    sub_gaussian
                } else {
                    discrete_gaussian::reach(variance, outside).min(sub_gaussian)
                }
            }
            // Rounding moves each draw by at most half a step, and a whole number t + 1 is exceeded only if normal noise
            // with all variances exceeds t + 1 − terms/2.
            Self::Rounded(law) => {
                let deviation = law.sigma().to_f64_up() * libm::sqrt(terms as f64) * (1.0 + 1e-9);
                libm::ceil(discrete_gaussian::two_sided_quantile(outside) * deviation + terms as f64 / 2.0 - 1.0)
            }
        };
        // A float's conversion saturates.
        Ok(reach as u64)
    }
}

/// The ρ available for Gaussian noise under a guarantee.
///
/// # Errors
/// If the guarantee is pure: no Gaussian noise satisfies it.
pub(crate) fn rho(guarantee: &Guarantee) -> Result<Rho> {
    match guarantee {
        Guarantee::Zcdp(rho) => Ok(rho.clone()),
        Guarantee::Approx(epsilon, delta) => Rho::within(epsilon, delta),
        Guarantee::Pure(_) => Err(Error::invalid("rho", "counters with Gaussian noise need rho, or epsilon and delta")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::RoundedGaussian;

    /// P(|X| > t) of a sum of draws with these masses at −reach..=reach, by convolution.
    fn outside(masses: &[f64], terms: u64, t: u64) -> f64 {
        let mut sum = vec![1.0];
        for _ in 0..terms {
            let mut next = vec![0.0; sum.len() + masses.len() - 1];
            for (i, left) in sum.iter().enumerate() {
                masses.iter().enumerate().for_each(|(j, right)| next[i + j] += left * right);
            }
            sum = next;
        }
        let middle = sum.len() / 2;
        sum.iter().enumerate().filter(|(k, _)| k.abs_diff(middle) as u64 > t).map(|(_, mass)| mass).sum()
    }

    /// Sums of two and three draws: never outside more often than said, and two less would be.
    #[test]
    fn sums_are_within_their_half_widths() {
        const REACH: i32 = 400;
        let normalised = |weight: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let weights: Vec<f64> = (-REACH..=REACH).map(|k| weight(f64::from(k))).collect();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / total).collect()
        };
        let laplace = |scale: f64| {
            let law = DiscreteLaplace::new(&Rational::try_from(scale).unwrap()).unwrap();
            (Law::Laplace(law), normalised(&|k: f64| (-k.abs() / scale).exp()))
        };
        let gaussian = |variance: f64| {
            let law = DiscreteGaussian::with_sigma_squared(&Rational::try_from(variance).unwrap()).unwrap();
            (Law::Gaussian(law), normalised(&|k: f64| (-k * k / (2.0 * variance)).exp()))
        };
        for (law, masses) in [laplace(1.0), laplace(7.5), laplace(24.0), gaussian(2.5), gaussian(400.0)] {
            for terms in [2, 3] {
                for level in ["0.5", "0.95", "0.999"] {
                    let allowed = 1.0 - level.parse::<f64>().unwrap();
                    let t = law.half_width_of_sum(terms, &level.parse().unwrap()).unwrap();
                    assert!(outside(&masses, terms, t) <= allowed * (1.0 + 1e-9), "{law} {terms} {level}: {t}");
                    assert!(t < 2 || outside(&masses, terms, t - 2) > allowed, "{law} {terms} {level}: {t}");
                }
            }
        }
        for (sigma, terms) in [(0.4, 2), (5.1, 2), (5.1, 3), (20.0, 2)] {
            let law = RoundedGaussian::with_sigma(&Rational::try_from(sigma).unwrap()).unwrap();
            let masses: Vec<f64> = (-i64::from(REACH)..=i64::from(REACH)).map(|k| law.mass(k).hi).collect();
            let t = Law::Rounded(law).half_width_of_sum(terms, &"0.95".parse().unwrap()).unwrap();
            assert!(outside(&masses, terms, t) <= 0.05 + 1e-9, "rounded {sigma} {terms}: {t}");
            assert!(t < 3 || outside(&masses, terms, t - 2) > 0.05, "rounded {sigma} {terms}: {t}");
        }
        let (narrow, masses) = gaussian(0.4);
        let t = narrow.half_width_of_sum(2, &"0.95".parse().unwrap()).unwrap();
        assert!(outside(&masses, 2, t) <= 0.05 && t <= 4, "{t}");
        assert!(narrow.half_width_of_sum(2, &Rational::ONE).is_err());
        assert_eq!(narrow.half_width_of_sum(0, &"0.95".parse().unwrap()).unwrap(), 0);
    }
}
