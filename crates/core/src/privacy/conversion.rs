//! From one kind of promise to another, always rounded to the safe side.

use super::{Delta, Epsilon, Guarantee, Rho};
use crate::error::{Error, Result};
use crate::exact::Rational;

/// Relative margin for everything computed here in `f64`. The expressions below take fewer than twenty operations and
/// library functions, each good to two units in the last place, on exponents below 700: their relative error is below
/// 700·40·2^−53 < 4e-12 and is paid for with this.
const MARGIN: f64 = 1e-11;
/// Digits of a converted parameter; rounding up costs less than the margin.
const DIGITS: u32 = 15;

/// ln δ(ε) at order α for a ρ-zCDP mechanism \[CKS20, Proposition 12\]:
/// (α−1)(αρ−ε) − ln(α−1) + α·ln(1−1/α). Written with a = α−1 so that orders next to 1 keep their digits.
/// The excess is ε − ρ, taken exactly: near it the two cancel.
fn log_delta(rho: f64, excess: f64, a: f64) -> f64 {
    a * (a * rho - excess) - libm::log(a) + (1.0 + a) * (libm::log(a) - libm::log1p(a))
}

/// ε(δ) at order α = 1 + a: the same line solved for ε.
fn epsilon_at(rho: f64, log_delta: f64, a: f64) -> f64 {
    (1.0 + a) * rho + (-log_delta - libm::log(a) + (1.0 + a) * (libm::log(a) - libm::log1p(a))) / a
}

/// The smallest value of a function with one valley on (0, ∞), searched over ln a. Any point gives a valid bound, so the
/// search need not be exact.
fn minimum(function: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let at = |log_a: f64| function(libm::exp(log_a));
    let (mut left, mut right) = (-40.0, 40.0);
    let (mut low, mut high) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
    let (mut at_low, mut at_high) = (at(low), at(high));
    for _ in 0..120 {
        if at_low < at_high {
            (right, high, at_high) = (high, low, at_low);
            low = right - GOLDEN * (right - left);
            at_low = at(low);
        } else {
            (left, low, at_low) = (low, high, at_high);
            high = left + GOLDEN * (right - left);
            at_high = at(high);
        }
    }
    at_low.min(at_high)
}

fn rounded_up(value: f64) -> Result<Rational> {
    let exact = Rational::from_f64_bits(value).ok_or_else(|| Error::parameter("result", value, "finite"))?;
    Ok(exact.round_up(DIGITS))
}

impl Epsilon {
    /// The ρ that a pure promise implies: ε²/2, exactly \[BS16, Proposition 1.4\].
    ///
    /// ```
    /// # use reticent::privacy::Epsilon;
    /// assert_eq!("0.1".parse::<Epsilon>()?.to_rho().to_string(), "0.005");
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn to_rho(&self) -> Rho {
        let rho = self.value().square() / Rational::from(2);
        Rho::new(rho).expect("half a positive square is positive")
    }
}

impl Rho {
    /// A δ for which ρ-zCDP implies (ε, δ)-privacy; never too small.
    ///
    /// # Errors
    /// If no δ below 1 can be promised at this ε, or ρ exceeds a million.
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::Rho;
    ///
    /// let rho: Rho = "0.024355934605668213".parse()?;
    /// let delta = rho.to_delta(&"1".parse()?)?;
    /// assert!((delta.to_f64() - 9.99984e-7).abs() < 1e-12);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn to_delta(&self, epsilon: &Epsilon) -> Result<Delta> {
        self.check_convertible()?;
        let excess = (epsilon.value() - self.value()).to_f64_down();
        let rho = self.value().to_f64_up();
        let log = minimum(|a| log_delta(rho, excess, a));
        let delta = libm::exp(log) * (1.0 + MARGIN);
        // A δ that underflows is still not zero.
        Delta::new(rounded_up(delta.max(f64::MIN_POSITIVE))?)
    }

    /// An ε for which ρ-zCDP implies (ε, δ)-privacy; never too small.
    ///
    /// # Errors
    /// If ρ exceeds a million.
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::Rho;
    ///
    /// let epsilon = "0.5".parse::<Rho>()?.to_epsilon(&"1e-6".parse()?)?;
    /// assert!((epsilon.to_f64() - 5.2).abs() < 0.1);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn to_epsilon(&self, delta: &Delta) -> Result<Epsilon> {
        self.check_convertible()?;
        let rho = self.value().to_f64_up();
        let log_delta = libm::log(delta.value().to_f64_down().max(f64::MIN_POSITIVE));
        let epsilon = minimum(|a| epsilon_at(rho, log_delta, a));
        // A bound at or below zero is met by every positive ε.
        Epsilon::new(rounded_up((epsilon * (1.0 + MARGIN)).max(MARGIN))?)
    }
}

impl Rho {
    /// The largest ρ, to nine digits, that implies (ε, δ)-privacy.
    ///
    /// # Errors
    /// If ε exceeds 100000.
    ///
    /// # Example
    /// ```
    /// use reticent::privacy::Rho;
    ///
    /// let rho = Rho::within(&"1".parse()?, &"1e-6".parse()?)?;
    /// assert!((rho.to_f64() - 0.024356).abs() < 1e-6);
    /// assert!(rho.to_epsilon(&"1e-6".parse()?)? <= "1".parse()?);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn within(epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        if *epsilon.value() > Rational::from(100_000) {
            return Err(Error::parameter("epsilon", epsilon, "at most 100000 to be converted into rho"));
        }
        // ρ itself is below ε whatever δ < 1; the answer is at least the ρ that pure ε²/2 would be for a much smaller ε.
        let fits = |log_rho: f64| -> Option<Self> {
            let rho = Self::try_from(libm::exp(log_rho)).ok()?;
            (rho.to_epsilon(delta).ok()? <= *epsilon).then_some(rho)
        };
        let (mut low, mut high) = (-700.0, libm::log(epsilon.to_f64()) + 1.0);
        let mut best = None;
        for _ in 0..64 {
            let middle = f64::midpoint(low, high);
            match fits(middle) {
                Some(rho) => (best, low) = (Some(rho), middle),
                None => high = middle,
            }
        }
        best.ok_or_else(|| Error::parameter("epsilon", epsilon, "large enough for some rho to fit"))
    }

    /// Beyond a million ρ promises nothing, and floats lose the digits that the margin counts on.
    fn check_convertible(&self) -> Result<()> {
        if *self.value() > Rational::from(1_000_000) {
            return Err(Error::parameter("rho", self, "at most 1000000 to be converted"));
        }
        Ok(())
    }
}

impl Guarantee {
    /// The promise in zCDP: exact from pure, unchanged from zCDP.
    ///
    /// # Errors
    /// An (ε, δ) promise implies no zCDP.
    pub fn to_zcdp(&self) -> Result<Self> {
        match self {
            Self::Pure(epsilon) => Ok(Self::Zcdp(epsilon.to_rho())),
            Self::Zcdp(_) => Ok(self.clone()),
            Self::Approx(_, delta) => {
                Err(Error::parameter("delta", delta, "absent: a promise with a delta implies no zCDP"))
            }
        }
    }

    /// The promise as (ε, δ) with the given δ.
    ///
    /// A pure promise keeps its ε; an approximate one keeps both numbers if its δ fits.
    ///
    /// # Errors
    /// If an approximate promise already leaves out more than `delta`.
    pub fn to_approx(&self, delta: &Delta) -> Result<Self> {
        match self {
            Self::Pure(epsilon) => Ok(Self::Approx(epsilon.clone(), delta.clone())),
            Self::Approx(_, own) if own > delta => {
                Err(Error::parameter("delta", delta, "at least the delta that was already promised"))
            }
            Self::Approx(..) => Ok(self.clone()),
            Self::Zcdp(rho) => Ok(Self::Approx(rho.to_epsilon(delta)?, delta.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values computed with a 50-digit program, see the reference table of the accounting tests.
    #[test]
    fn reference_values_are_met_and_never_undercut() {
        let table = [
            ("0.024355934605668213", "1", 9.99983505588842e-7),
            ("0.1", "2", 4.32521086909256e-6),
            ("0.5", "5", 2.8961228093848e-6),
            ("0.001", "0.2", 1.80188775844616e-7),
        ];
        for (rho, epsilon, expected) in table {
            let rho: Rho = rho.parse().unwrap();
            let delta = rho.to_delta(&epsilon.parse().unwrap()).unwrap();
            let ratio = delta.to_f64() / expected;
            assert!((1.0..1.0 + 1e-9).contains(&ratio), "{rho}: {ratio}");
            let back = rho.to_epsilon(&delta).unwrap().to_f64();
            let epsilon: f64 = epsilon.parse().unwrap();
            assert!((back / epsilon - 1.0).abs() < 1e-9, "{back} against {epsilon}");
        }
    }

    #[test]
    fn extremes_stay_on_the_safe_side() {
        let tiny: Rho = "1e-12".parse().unwrap();
        assert!(tiny.to_delta(&"1".parse().unwrap()).unwrap().to_f64() > 0.0);
        assert!(tiny.to_epsilon(&"0.5".parse().unwrap()).unwrap().to_f64() > 0.0);
        let huge: Rho = "100".parse().unwrap();
        assert!(huge.to_epsilon(&"1e-9".parse().unwrap()).unwrap().to_f64() > 100.0);
    }

    #[test]
    fn what_floats_cannot_hold_is_refused() {
        let huge: Rho = "1e400".parse().unwrap();
        assert!(huge.to_delta(&"1e400".parse().unwrap()).is_err());
        assert!(huge.to_epsilon(&"1e-6".parse().unwrap()).is_err());
        let rho: Rho = "1e6".parse().unwrap();
        let (near, far) = ("1010000".parse().unwrap(), "1020000".parse().unwrap());
        let (near, far) = (rho.to_delta(&near).unwrap().to_f64(), rho.to_delta(&far).unwrap().to_f64());
        assert!(far < near && near < 1.0 && far > 0.0);
    }

    #[test]
    fn pure_becomes_half_its_square() {
        let pure = Guarantee::Pure("2".parse().unwrap());
        assert_eq!(pure.to_zcdp().unwrap(), Guarantee::Zcdp("2".parse().unwrap()));
        let approx = Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap());
        assert!(approx.to_zcdp().is_err());
        assert!(approx.to_approx(&"1e-7".parse().unwrap()).is_err());
        assert_eq!(approx.to_approx(&"1e-5".parse().unwrap()).unwrap(), approx);
    }
}
