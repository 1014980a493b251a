//! What can be composed.

use std::fmt;

use crate::error::{Error, Result};
use crate::exact::Rational;

/// A mechanism whose privacy loss is known: a noise law, a sensitivity, and optionally sampling of the rows.
///
/// Scales and parameters are exact; nothing is rounded before the privacy loss is computed.
///
/// # Privacy
/// The sensitivity is the most one unit can move the noiseless answer. With [`Mechanism::subsampled`] neighbours differ
/// by adding or removing one unit ([`Adjacency::AddRemove`](crate::privacy::Adjacency)); without it the mechanism
/// holds for whatever adjacency the sensitivity was derived from.
///
/// # Example
/// ```
/// use reticent::privacy::pld::Mechanism;
///
/// let count = Mechanism::laplace("10".parse()?)?;
/// let sum = Mechanism::discrete_gaussian("25".parse()?)?.with_sensitivity("3".parse()?)?;
/// let step = Mechanism::gaussian("1".parse()?)?.subsampled("0.01".parse()?)?;
/// assert_eq!(count.to_string(), "Laplace noise of scale 10");
/// assert_eq!(sum.to_string(), "discrete Gaussian noise of σ 25, sensitivity 3");
/// assert_eq!(step.to_string(), "Gaussian noise of σ 1, on a Poisson sample of rate 0.01");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mechanism {
    pub(super) law: Law,
    pub(super) sensitivity: Rational,
    /// 1 if every row takes part.
    pub(super) sampling: Rational,
}

/// The noise law.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Law {
    Laplace { scale: Rational },
    DiscreteLaplace { parameter: Rational },
    Gaussian { sigma: Rational },
    DiscreteGaussian { sigma: Rational },
    RandomisedResponse { epsilon: Rational, values: u64 },
}

/// The smallest and the largest ratio of sensitivity to noise: outside, `f64` would lose its digits or overflow, and
/// the result would not be called private anyway.
const RATIO: (f64, f64) = (1e-9, 500.0);
/// For Gaussian noise the loss grows with the square of the ratio.
const MAX_GAUSSIAN_RATIO: f64 = 30.0;
const MAX_INTEGER_SENSITIVITY: u64 = 1 << 40;
const MAX_DISCRETE_SIGMA: f64 = 1e12;

impl Mechanism {
    fn new(law: Law) -> Result<Self> {
        Self { law, sensitivity: Rational::ONE, sampling: Rational::ONE }.checked()
    }

    /// Laplace noise with density ∝ e^{−|x|/scale} on real numbers, sensitivity 1.
    ///
    /// # Errors
    /// If sensitivity/scale is not between 1e-9 and 500.
    pub fn laplace(scale: Rational) -> Result<Self> {
        Self::new(Law::Laplace { scale })
    }

    /// Discrete Laplace noise with P(k) ∝ e^{−parameter·|k|} on whole numbers, sensitivity 1.
    ///
    /// # Errors
    /// If parameter·sensitivity is not between 1e-9 and 500.
    pub fn discrete_laplace(parameter: Rational) -> Result<Self> {
        Self::new(Law::DiscreteLaplace { parameter })
    }

    /// Gaussian noise of standard deviation σ on real numbers, sensitivity 1.
    ///
    /// # Errors
    /// If sensitivity/σ is not between 1e-9 and 30.
    pub fn gaussian(sigma: Rational) -> Result<Self> {
        Self::new(Law::Gaussian { sigma })
    }

    /// Discrete Gaussian noise with P(k) ∝ e^{−k²/(2σ²)} on whole numbers, sensitivity 1.
    ///
    /// # Errors
    /// If sensitivity/σ is not between 1e-9 and 30, or σ is above 1e12.
    pub fn discrete_gaussian(sigma: Rational) -> Result<Self> {
        Self::new(Law::DiscreteGaussian { sigma })
    }

    /// Randomised response among `values` values: the truth with probability e^ε/(e^ε + values − 1), otherwise one of
    /// the others, evenly.
    ///
    /// # Errors
    /// If ε is not between 1e-9 and 500, or there are fewer than two values.
    pub fn randomised_response(epsilon: Rational, values: u64) -> Result<Self> {
        Self::new(Law::RandomisedResponse { epsilon, values })
    }

    /// The same noise for an answer that one unit can move by `sensitivity`.
    ///
    /// # Errors
    /// If the noise is discrete and the sensitivity is not a whole number up to 2^40, if the ratio of sensitivity to
    /// noise leaves the range stated with the constructor, or for randomised response, which has no sensitivity.
    pub fn with_sensitivity(mut self, sensitivity: Rational) -> Result<Self> {
        if matches!(self.law, Law::RandomisedResponse { .. }) && sensitivity != Rational::ONE {
            return Err(Error::parameter("sensitivity", sensitivity, "1: randomised response has no other"));
        }
        self.sensitivity = sensitivity;
        self.checked()
    }

    /// The mechanism on a Poisson sample: each unit takes part independently with this probability, and which units did
    /// is kept secret. Sampling twice multiplies the probabilities.
    ///
    /// # Errors
    /// If the probability is not above 0 and at most 1, or is below 1e-9, where `f64` would show no further gain.
    pub fn subsampled(mut self, probability: Rational) -> Result<Self> {
        self.sampling = &self.sampling * &probability;
        if !probability.is_positive() || probability > Rational::ONE || self.sampling.to_f64() < RATIO.0 {
            return Err(Error::parameter("sampling probability", probability, "at least 1e-9 and at most 1"));
        }
        self.checked()
    }

    fn checked(self) -> Result<Self> {
        let sensitivity = &self.sensitivity;
        if !sensitivity.is_positive() {
            return Err(Error::parameter("sensitivity", sensitivity, "greater than 0"));
        }
        if matches!(self.law, Law::DiscreteLaplace { .. } | Law::DiscreteGaussian { .. }) {
            let whole = *sensitivity.denominator() == dashu_int::UBig::ONE;
            if !whole || *sensitivity > Rational::from(MAX_INTEGER_SENSITIVITY) {
                let allowed = "a whole number up to 2^40, because the noise is made of whole numbers";
                return Err(Error::parameter("sensitivity", sensitivity, allowed));
            }
        }
        let within = |ratio: &Rational, max: f64| (RATIO.0..=max).contains(&ratio.to_f64());
        match &self.law {
            Law::Laplace { scale } => {
                if !scale.is_positive() || !within(&(sensitivity / scale), RATIO.1) {
                    let allowed = "positive, and the sensitivity between 1e-9 and 500 times the scale";
                    return Err(Error::parameter("scale", scale, allowed));
                }
            }
            Law::DiscreteLaplace { parameter } => {
                if !parameter.is_positive() || !within(&(parameter * sensitivity), RATIO.1) {
                    let allowed = "positive, and its product with the sensitivity between 1e-9 and 500";
                    return Err(Error::parameter("parameter", parameter, allowed));
                }
            }
            Law::Gaussian { sigma } | Law::DiscreteGaussian { sigma } => {
                if !sigma.is_positive() || !within(&(sensitivity / sigma), MAX_GAUSSIAN_RATIO) {
                    let allowed = "positive, and the sensitivity between 1e-9 and 30 times sigma";
                    return Err(Error::parameter("sigma", sigma, allowed));
                }
                if matches!(self.law, Law::DiscreteGaussian { .. }) && sigma.to_f64() > MAX_DISCRETE_SIGMA {
                    return Err(Error::parameter("sigma", sigma, "at most 1e12 for discrete Gaussian noise"));
                }
            }
            Law::RandomisedResponse { epsilon, values } => {
                if !within(epsilon, RATIO.1) {
                    return Err(Error::parameter("epsilon", epsilon, "between 1e-9 and 500"));
                }
                if *values < 2 {
                    return Err(Error::parameter("values", values, "at least 2"));
                }
            }
        }
        Ok(self)
    }

    /// Is the mechanism applied to a sample of the rows?
    pub(super) fn is_subsampled(&self) -> bool {
        self.sampling != Rational::ONE
    }

    /// The largest loss of the mechanism on all rows, if it is bounded.
    pub(super) fn largest_loss(&self) -> Option<Rational> {
        match &self.law {
            Law::Laplace { scale } => Some(&self.sensitivity / scale),
            Law::DiscreteLaplace { parameter } => Some(&self.sensitivity * parameter),
            Law::RandomisedResponse { epsilon, .. } => Some(epsilon.clone()),
            Law::Gaussian { .. } | Law::DiscreteGaussian { .. } => None,
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.law {
            Law::Laplace { scale } => write!(formatter, "Laplace noise of scale {scale}")?,
            Law::DiscreteLaplace { parameter } => write!(formatter, "discrete Laplace noise of parameter {parameter}")?,
            Law::Gaussian { sigma } => write!(formatter, "Gaussian noise of σ {sigma}")?,
            Law::DiscreteGaussian { sigma } => write!(formatter, "discrete Gaussian noise of σ {sigma}")?,
            Law::RandomisedResponse { epsilon, values } => {
                write!(formatter, "randomised response of ε {epsilon} among {values} values")?;
            }
        }
        if self.sensitivity != Rational::ONE {
            write!(formatter, ", sensitivity {}", self.sensitivity)?;
        }
        if self.is_subsampled() {
            write!(formatter, ", on a Poisson sample of rate {}", self.sampling)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for bad in ["0", "-1", "1e-12", "1e12"] {
            assert!(Mechanism::laplace(number(bad)).is_err(), "{bad}");
            assert!(Mechanism::discrete_laplace(number(bad)).is_err(), "{bad}");
            assert!(Mechanism::gaussian(number(bad)).is_err(), "{bad}");
            assert!(Mechanism::discrete_gaussian(number(bad)).is_err(), "{bad}");
            assert!(Mechanism::randomised_response(number(bad), 2).is_err(), "{bad}");
        }
        assert!(Mechanism::randomised_response(number("1"), 1).is_err());
        let laplace = Mechanism::laplace(number("1")).unwrap();
        for bad in ["0", "-0.5", "1.5", "1e-10"] {
            assert!(laplace.clone().subsampled(number(bad)).is_err(), "{bad}");
        }
        assert!(laplace.with_sensitivity(number("0")).is_err());
        let discrete = Mechanism::discrete_gaussian(number("2")).unwrap();
        let message = discrete.with_sensitivity(number("1.5")).unwrap_err().to_string();
        assert!(message.starts_with("sensitivity is 1.5, but it must be a whole number"), "{message}");
        assert!(Mechanism::randomised_response(number("1"), 2).unwrap().with_sensitivity(number("2")).is_err());
    }

    #[test]
    fn sampling_twice_multiplies() {
        let gaussian = || Mechanism::gaussian(number("1")).unwrap();
        let twice = gaussian().subsampled(number("0.5")).unwrap().subsampled(number("0.2")).unwrap();
        assert_eq!(twice, gaussian().subsampled(number("0.1")).unwrap());
        assert_eq!(gaussian().subsampled(number("1")).unwrap(), gaussian());
    }
}
