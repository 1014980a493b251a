//! Additive noise on single numbers, of any kind.

use std::fmt;

use rand_core::CryptoRng;

use super::{DiscreteGaussian, DiscreteLaplace, RoundedGaussian};
use crate::error::Result;
use crate::exact::Rational;

/// Discrete Laplace noise for pure ε, discrete Gaussian noise for ρ (or for an ε and δ that a ρ implies), rounded Gaussian
/// noise for ε and δ.
///
/// # Example
/// ```
/// use reticent::noise::{DiscreteLaplace, Law};
///
/// let law = Law::Laplace(DiscreteLaplace::new(&"32".parse()?)?);
/// assert_eq!(law.to_string(), "discrete Laplace, scale 32");
/// assert_eq!(law.half_width(&"0.95".parse()?)?, 96);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Law {
    /// For pure ε.
    Laplace(DiscreteLaplace),
    /// For ρ-zCDP, and for (ε, δ) through it.
    Gaussian(DiscreteGaussian),
    /// For (ε, δ); counters do not use it.
    Rounded(RoundedGaussian),
}

impl Law {
    /// One draw.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        match self {
            Self::Laplace(law) => law.sample(rng),
            Self::Gaussian(law) => law.sample(rng),
            Self::Rounded(law) => law.sample(rng),
        }
    }

    /// One draw for each element.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        match self {
            Self::Laplace(law) => law.fill(rng, values),
            Self::Gaussian(law) => law.fill(rng, values),
            Self::Rounded(law) => law.fill(rng, values),
        }
    }

    /// Its variance.
    pub fn variance(&self) -> f64 {
        match self {
            Self::Laplace(law) => law.variance(),
            // Below σ² at small σ (by e^(−2π²σ²) of it), so never too small.
            Self::Gaussian(law) => law.sigma_squared().to_f64(),
            Self::Rounded(law) => law.variance(),
        }
    }

    /// The scale of Laplace noise, σ of Gaussian noise: for printing.
    pub fn scale(&self) -> f64 {
        match self {
            Self::Laplace(law) => law.scale().to_f64(),
            Self::Gaussian(law) => libm::sqrt(law.sigma_squared().to_f64()),
            Self::Rounded(law) => law.sigma().to_f64(),
        }
    }

    /// A t with P(|K| ≤ t) ≥ level: see [`DiscreteLaplace::half_width`], [`DiscreteGaussian::half_width`] and
    /// [`RoundedGaussian::half_width`].
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1.
    pub fn half_width(&self, level: &Rational) -> Result<u64> {
        match self {
            Self::Laplace(law) => law.half_width(level),
            Self::Gaussian(law) => law.half_width(level),
            Self::Rounded(law) => law.half_width(level),
        }
    }
}

/// The kind of noise and its width, in grid steps of the statistic it is added to.
impl fmt::Display for Law {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, width) = match self {
            Self::Laplace(_) => ("discrete Laplace, scale", self.scale()),
            Self::Gaussian(_) => ("discrete Gaussian, σ", self.scale()),
            Self::Rounded(_) => ("rounded Gaussian, σ", self.scale()),
        };
        // Two digits after the point, none if they are zero.
        let digits = if width < 1.0 { 4 } else { 2 };
        let text = format!("{width:.digits$}");
        write!(formatter, "{kind} {}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_read_well() {
        let laplace = |scale: &str| Law::Laplace(DiscreteLaplace::new(&scale.parse().unwrap()).unwrap()).to_string();
        assert_eq!(laplace("100"), "discrete Laplace, scale 100");
        assert_eq!(laplace("16/3"), "discrete Laplace, scale 5.33");
        assert_eq!(laplace("0.0125"), "discrete Laplace, scale 0.0125");
        let gaussian = DiscreteGaussian::with_sigma_squared(&"2".parse().unwrap()).unwrap();
        assert_eq!(Law::Gaussian(gaussian).to_string(), "discrete Gaussian, σ 1.41");
    }
}
