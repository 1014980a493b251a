//! Whole numbers with discrete Laplace noise.

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, Release};

/// The level of the error bars.
const LEVEL: f64 = 0.95;

/// Releases a whole number that one unit can move by at most `sensitivity`.
///
/// # Privacy
/// ε-differential privacy in the adjacency that the sensitivity was derived for: noise of scale Δ/ε, so that the
/// probabilities of any result on neighbouring inputs differ by a factor of at most e^ε.
///
/// # Accuracy
/// The error bar holds 95 % of the noise, from the exact law: about 3·Δ/ε.
///
/// # Algorithm
/// value + [`DiscreteLaplace`] noise \[GRS12\].
///
/// # Errors
/// If the sensitivity is 0, if Δ/ε lies outside 0.001 to 2^50, or if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::laplace;
///
/// let mut permit = Permit::unaccounted()?;
/// let count = laplace::release(1234, 1, &"0.5".parse()?, &mut permit)?;
/// println!("{} ± {}", count.value(), count.error().half_width());
/// assert_eq!(count.error().half_width(), 6.0);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn release(value: i64, sensitivity: u64, epsilon: &Epsilon, permit: &mut Permit) -> Result<Release<i64>> {
    let noise = noise(sensitivity, epsilon)?;
    let half_width = noise.half_width(&Rational::try_from(LEVEL)?)?;
    let error = ErrorBar::new(half_width as f64, LEVEL)?;
    let guarantee = Guarantee::Pure(epsilon.clone());
    let mut draw = permit.spend(&guarantee)?;
    // Saturation is post-processing: it depends on the noisy sum alone.
    let noisy = value.saturating_add(noise.sample(&mut draw));
    let accounting = draw.accounting().clone();
    Ok(Release::new(noisy, error, guarantee, accounting))
}

/// The noise that [`release`] adds.
///
/// # Errors
/// If the sensitivity is 0 or Δ/ε lies outside 0.001 to 2^50.
pub fn noise(sensitivity: u64, epsilon: &Epsilon) -> Result<DiscreteLaplace> {
    if sensitivity == 0 {
        return Err(Error::parameter("sensitivity", sensitivity, "at least 1: what no unit can move needs no noise"));
    }
    DiscreteLaplace::new(&(&Rational::from(sensitivity) / epsilon.value()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;

    #[test]
    fn parameters_are_checked_before_anything_is_spent() {
        let charged = Guarantee::Pure("1".parse().unwrap());
        let receipt = crate::permit::Receipt { dataset: "d".into(), request: "r".into(), entry: 1 };
        let mut permit = Permit::from_durable_charge(receipt, &charged, Entropy::seeded(1));
        assert!(release(5, 0, &"1".parse().unwrap(), &mut permit).is_err());
        assert!(release(5, u64::MAX, &"1".parse().unwrap(), &mut permit).is_err());
        assert!(release(5, 1, &"1001".parse().unwrap(), &mut permit).is_err());
        assert!(release(5, 1, &"1".parse().unwrap(), &mut permit).is_ok());
        assert!(release(5, 1, &"1".parse().unwrap(), &mut permit).unwrap_err().is_not_permitted());
    }

    #[test]
    fn the_ends_of_the_range_saturate() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(2));
        for _ in 0..50 {
            let release = release(i64::MAX, 1 << 40, &"1".parse().unwrap(), &mut permit).unwrap();
            assert!(*release.value() > i64::MAX / 2);
        }
    }
}
