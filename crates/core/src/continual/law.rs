//! The noise on one p-sum.

use rand_core::CryptoRng;

use super::stream::Stream;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::{DiscreteGaussian, DiscreteLaplace};
use crate::privacy::{Guarantee, Rho};

/// Discrete Laplace noise for pure ε, discrete Gaussian noise for ρ (or an ε and δ that a ρ implies).
#[derive(Debug, Clone)]
pub enum Law {
    /// For pure ε.
    Laplace(DiscreteLaplace),
    /// For ρ-zCDP, and for (ε, δ) by way of it.
    Gaussian(DiscreteGaussian),
}

impl Law {
    /// For p-sums of which each step is in at most `sums_per_step`.
    ///
    /// # Privacy
    /// One unit moves at most c steps by at most r, hence the vector of all p-sums by at most c·r·α in the L1 norm, and, as
    /// each step moves α p-sums by r (L2 norm r√α), by at most c·r·√α in the L2 norm. Scale c·r·α/ε gives ε; σ² =
    /// (c·r)²·α/(2ρ) gives ρ. Both hold for inputs that are chosen after seeing earlier outputs: a p-sum's noise is
    /// independent of all that was decided before it, and the bounds hold on every path.
    ///
    /// # Errors
    /// If the scale is outside what can be drawn.
    pub fn new(stream: &Stream, guarantee: &Guarantee, sums_per_step: u64) -> Result<Self> {
        let reach = &Rational::from(stream.touched()) * &Rational::from(stream.size());
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

    /// One draw.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        match self {
            Self::Laplace(law) => law.sample(rng),
            Self::Gaussian(law) => law.sample(rng),
        }
    }

    /// One draw for each element.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        match self {
            Self::Laplace(law) => law.fill(rng, values),
            Self::Gaussian(law) => law.fill(rng, values),
        }
    }

    /// Its variance.
    pub fn variance(&self) -> f64 {
        match self {
            Self::Laplace(law) => law.variance(),
            // Below σ² at small σ (by e^(−2π²σ²) of it), so never too small.
            Self::Gaussian(law) => law.sigma_squared().to_f64(),
        }
    }
}

/// The ρ that a guarantee leaves for Gaussian noise.
///
/// # Errors
/// If the guarantee is pure: no Gaussian noise keeps it.
pub(crate) fn rho(guarantee: &Guarantee) -> Result<Rho> {
    match guarantee {
        Guarantee::Zcdp(rho) => Ok(rho.clone()),
        Guarantee::Approx(epsilon, delta) => Rho::within(epsilon, delta),
        Guarantee::Pure(_) => Err(Error::parameter(
            "guarantee",
            guarantee,
            "given as rho, or as epsilon and delta, for a counter with Gaussian noise",
        )),
    }
}
