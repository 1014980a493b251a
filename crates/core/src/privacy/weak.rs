//! Guarantees that protect little.

use super::{Delta, Guarantee};
use crate::error::{Error, Result};
use crate::exact::Rational;

/// The largest ε accepted without confirmation.
pub const LARGEST_EPSILON: u64 = 10;

/// ρ is converted to ε at δ = 1/`CONVERSION_DELTA_INVERSE`, that is 10⁻⁶.
const CONVERSION_DELTA_INVERSE: u64 = 1_000_000;

/// The largest δ accepted without confirmation is 1/`LARGEST_DELTA_INVERSE`, that is 0.001. A mechanism that publishes
/// each row unchanged with probability δ, and nothing otherwise, satisfies it: it exposes one person in a thousand.
const LARGEST_DELTA_INVERSE: u64 = 1000;

/// The explanation in errors about a larger ε.
pub(crate) const LARGE_EPSILON: &str =
    "above that, an observer of the releases may become all but certain about any one person";

/// The explanation in errors about a larger δ.
const LARGE_DELTA: &str = "delta is the probability that anything at all may be revealed: publishing each row unchanged with \
                           probability 1/1000 satisfies a delta of 0.001";

impl Guarantee {
    /// Whether ε is above [`LARGEST_EPSILON`], or δ above 1/1000. For ρ it is the implied ε at δ = 10^−6.
    ///
    /// An observer's odds about any one unit may change by a factor of e^ε: at ε = 10 by 22,000, so that a probability
    /// of 1/1000 may become 95 %. Above that, there is hardly anything left to protect. With probability δ anything at
    /// all may be revealed: publishing each row unchanged with probability 1/1000 satisfies a δ of 1/1000.
    ///
    /// ```
    /// use reticent::privacy::Guarantee;
    ///
    /// assert!(!Guarantee::Pure("10".parse()?).is_weak());
    /// assert!(Guarantee::Approx("10.1".parse()?, "1e-6".parse()?).is_weak());
    /// assert!(Guarantee::Approx("1".parse()?, "0.01".parse()?).is_weak());
    /// assert!(Guarantee::Zcdp("2".parse()?).is_weak());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn is_weak(&self) -> bool {
        let most = Rational::from(LARGEST_EPSILON);
        match self {
            Self::Pure(epsilon) => *epsilon.value() > most,
            Self::Approx(epsilon, delta) => *epsilon.value() > most || is_large(delta),
            Self::Zcdp(rho) => {
                let delta = Rational::new(1, CONVERSION_DELTA_INVERSE).and_then(Delta::new);
                let implied = delta.and_then(|delta| rho.to_epsilon(&delta));
                // What cannot be converted is too large to be.
                implied.map_or(true, |epsilon| *epsilon.value() > most)
            }
        }
    }

    /// The same guarantee, unless it is weak and not confirmed: the one rule for all callers.
    ///
    /// # Errors
    /// A parameter error that names the guarantee, and how to confirm it.
    pub fn confirmed(self, allow_large_epsilon: bool) -> Result<Self> {
        if allow_large_epsilon || !self.is_weak() {
            return Ok(self);
        }
        let (parameter, value, allowed, why) = match &self {
            Self::Approx(epsilon, delta) if *epsilon.value() <= Rational::from(LARGEST_EPSILON) => {
                ("delta", delta.to_string(), "at most 0.001", LARGE_DELTA)
            }
            Self::Pure(epsilon) | Self::Approx(epsilon, _) => {
                ("epsilon", epsilon.to_string(), "at most 10", LARGE_EPSILON)
            }
            Self::Zcdp(rho) => {
                ("rho", rho.to_string(), "such that epsilon is at most 10 at a delta of 1e-6", LARGE_EPSILON)
            }
        };
        Err(Error::Unconfirmed { parameter, value, allowed, why })
    }

    /// A caveat to add wherever a text says that something is protected; empty unless the guarantee is weak.
    pub fn caveat(&self) -> String {
        match self {
            _ if !self.is_weak() => String::new(),
            Self::Approx(_, delta) if is_large(delta) => {
                format!("; but {self} gives little protection: with probability δ anything at all may be revealed")
            }
            _ => format!(
                "; but {self} gives almost no protection: an observer of the releases may become all but certain about a person"
            ),
        }
    }
}

fn is_large(delta: &Delta) -> bool {
    delta.value() * &Rational::from(LARGEST_DELTA_INVERSE) > Rational::ONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_ten_a_promise_must_be_meant() {
        let pure = |epsilon: &str| Guarantee::Pure(epsilon.parse().unwrap());
        let rho = |rho: &str| Guarantee::Zcdp(rho.parse().unwrap());
        let approx = |epsilon: &str, delta: &str| Guarantee::Approx(epsilon.parse().unwrap(), delta.parse().unwrap());
        for strong in [pure("10"), pure("1e-9"), rho("1"), rho("1e-9"), approx("10", "0.001")] {
            assert_eq!(strong.clone().confirmed(false), Ok(strong.clone()));
            assert_eq!(strong.caveat(), "");
        }
        let weak_deltas = [approx("1", "0.0010001"), approx("0.1", "0.999"), approx("11", "0.5")];
        for weak in [pure("10.000001"), pure("1e400"), rho("2"), rho("1e30")].into_iter().chain(weak_deltas) {
            let error = weak.clone().confirmed(false).unwrap_err();
            assert!(error.is_parameter() && error.to_string().contains("`allow-large-epsilon`"), "{error}");
            assert!(weak.caveat().contains(&weak.to_string()));
            assert_eq!(weak.clone().confirmed(true), Ok(weak));
        }
        let error = approx("1", "0.5").confirmed(false).unwrap_err().to_string();
        assert!(error.starts_with("delta is 0.5, but it must be at most 0.001"), "{error}");
    }
}
