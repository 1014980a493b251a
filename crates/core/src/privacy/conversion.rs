//! Conversions between kinds of guarantee, always rounded to the safe side.

use dashu_int::UBig;

use super::{Delta, Epsilon, Guarantee, Rho};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::logarithm::neg_ln;

/// A bound on the rounding error of a sum in `f64`, relative to the magnitudes of its terms: each term below takes
/// fewer than ten operations and library functions, each good to two units in the last place, and their sums three
/// more.
const ROUNDING: f64 = 32.0 * f64::EPSILON;
/// Significant digits of a converted parameter, rounded up.
const DIGITS: u32 = 15;
/// The smallest ε that is ever stated.
const LEAST_EPSILON: f64 = 1e-300;

/// The sum of the terms plus a bound on its rounding error: never too small, however much they cancel.
fn upper_sum(terms: [f64; 4]) -> f64 {
    let magnitude: f64 = terms.iter().map(|term| term.abs()).sum();
    terms.iter().sum::<f64>() + ROUNDING * magnitude
}

/// ln δ(ε) at order α for a ρ-zCDP mechanism \[CKS20\]:
/// (α−1)(αρ−ε) − ln(α−1) + α·ln(1−1/α). Written with a = α−1 so that orders next to 1 keep their digits, and with α·ln(1−1/α) =
/// −(1+a)·ln(1+1/a), so that large orders do. The excess is ε − ρ, taken exactly: near it the two cancel.
fn log_delta(rho: f64, excess: f64, a: f64) -> f64 {
    upper_sum([a * a * rho, -a * excess, -libm::log(a), -(1.0 + a) * libm::log1p(1.0 / a)])
}

/// ε(δ) at order α = 1 + a: the same line solved for ε.
fn epsilon_at(rho: f64, neg_log_delta: f64, a: f64) -> f64 {
    upper_sum([(1.0 + a) * rho, neg_log_delta / a, -libm::log(a) / a, -(1.0 + a) * libm::log1p(1.0 / a) / a])
}

/// The smallest ε(δ) of all orders.
fn least_epsilon(rho: f64, neg_log_delta: f64) -> f64 {
    minimum(|a| epsilon_at(rho, neg_log_delta, a))
}

/// The smallest value of a function with one minimum on (0, ∞), searched over ln a. Any point gives a valid bound, so
/// the search need not be exact: 60 rounds leave 2·10⁻¹¹ of ln a, and the value misses the smallest by the square of that.
fn minimum(function: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let at = |log_a: f64| function(libm::exp(log_a));
    let (mut left, mut right) = (-40.0, 40.0);
    let (mut low, mut high) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
    let (mut at_low, mut at_high) = (at(low), at(high));
    for _ in 0..60 {
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

/// −ln δ, rounded up. Computed from the fraction itself, since δ may be too small for a float.
fn neg_log(delta: &Delta) -> f64 {
    const BITS: usize = 80;
    Rational::from_big(neg_ln(delta.value(), BITS).hi, UBig::ONE << BITS).to_f64_up()
}

fn rounded_up(value: f64) -> Result<Rational> {
    let exact = Rational::from_f64_bits(value).ok_or_else(|| Error::parameter("result", value, "finite"))?;
    Ok(exact.round_up(DIGITS))
}

impl Epsilon {
    /// The ρ that a pure guarantee implies: ε²/2, exactly \[BS16\].
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
    /// A δ for which ρ-zCDP implies (ε, δ)-privacy, never underestimated.
    ///
    /// # Errors
    /// If no δ below 1 holds at this ε, or ρ exceeds a million.
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
        let delta = libm::exp(log) * (1.0 + ROUNDING);
        // A δ that underflows is still not zero.
        Delta::new(rounded_up(delta.max(f64::MIN_POSITIVE))?)
    }

    /// An ε for which ρ-zCDP implies (ε, δ)-privacy, never underestimated.
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
        self.to_epsilon_at(neg_log(delta))
    }

    /// The same, given −ln δ rounded up.
    fn to_epsilon_at(&self, neg_log_delta: f64) -> Result<Epsilon> {
        self.check_convertible()?;
        let rho = self.value().to_f64_up();
        let epsilon = least_epsilon(rho, neg_log_delta);
        // A bound at or below zero is met by every positive ε.
        Epsilon::new(rounded_up(epsilon.max(LEAST_EPSILON))?)
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
        let neg_log_delta = neg_log(delta);
        // ρ itself is below ε whatever δ < 1; the answer is at least the ρ that pure ε²/2 would be for a much smaller ε.
        let (least, target) = (-700.0, epsilon.value().to_f64_down());
        let (mut low, mut high) = (least, libm::log(epsilon.to_f64()) + 1.0);
        while high - low > 1e-11 {
            let middle = f64::midpoint(low, high);
            if least_epsilon(libm::exp(middle), neg_log_delta) <= target { low = middle } else { high = middle }
        }
        // Floats have found it, give or take their rounding; what is returned is checked with the numbers themselves.
        let mut step = 1e-12;
        while low >= least {
            let rho = Self::try_from(libm::exp(low))?;
            if rho.to_epsilon_at(neg_log_delta)? <= *epsilon {
                return Ok(rho);
            }
            (low, step) = (low - step, 2.0 * step);
        }
        Err(Error::parameter("epsilon", epsilon, "large enough for some rho to fit"))
    }

    /// Above a million, ρ gives no meaningful guarantee, and floats lose the digits that the margin relies on.
    fn check_convertible(&self) -> Result<()> {
        if *self.value() > Rational::from(1_000_000) {
            return Err(Error::parameter("rho", self, "at most 1000000 to be converted"));
        }
        Ok(())
    }
}

impl Guarantee {
    /// The guarantee in zCDP: exact from pure, unchanged from zCDP.
    ///
    /// # Errors
    /// An (ε, δ) guarantee implies no zCDP guarantee.
    pub fn to_zcdp(&self) -> Result<Self> {
        match self {
            Self::Pure(epsilon) => Ok(Self::Zcdp(epsilon.to_rho())),
            Self::Zcdp(_) => Ok(self.clone()),
            Self::Approx(_, delta) => {
                Err(Error::parameter("delta", delta, "absent: a promise with a delta implies no zCDP"))
            }
        }
    }

    /// The guarantee as (ε, δ) with the given δ.
    ///
    /// A pure guarantee keeps its ε; an approximate one keeps both numbers if its δ fits.
    ///
    /// # Errors
    /// If an approximate guarantee already has a larger δ than `delta`.
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

    /// By the formula of [`log_delta`], minimised over a to 50 digits; ε is ρ and 0.01, 1, 5 or 15 times √(2ρ).
    #[test]
    fn deltas_are_met_and_never_undercut() {
        let table = [
            ("1e-30", "1.41421356237e-17", "8.4920772585847297981e-16"),
            ("1e-30", "7.07106781187e-15", "3.8037297021160144625e-22"),
            ("1e-30", "2.12132034356e-14", "4.7977675389596441265e-66"),
            ("1e-20", "1.41421357237e-12", "8.4920772579872440933e-11"),
            ("1e-20", "1.41421356247e-10", "2.3606331425526104461e-11"),
            ("1e-20", "2.12132034357e-9", "4.7977675389370759812e-61"),
            ("1e-12", "1.41431356237e-8", "8.4920712837321400401e-7"),
            ("1e-12", "2.12132044356e-5", "4.7977673137870330259e-57"),
            ("1e-6", "0.00141521356237", "0.00023596019716115964294"),
            ("1e-6", "0.00707206781187", "3.8032118052069296331e-10"),
            ("0.001", "0.0014472135955", "0.026268792210247861393"),
            ("0.001", "0.67182039325", "1.5149394691680930401e-52"),
            ("0.1", "0.104472135955", "0.21901350275574876955"),
            ("0.1", "2.3360679775", "1.1534790952144175363e-7"),
            ("1", "1.01414213562", "0.48979317563966893584"),
            ("1", "22.2132034356", "4.5842056519095201608e-51"),
            ("40", "48.94427191", "0.40943717603965055244"),
            ("40", "174.16407865", "2.3604545461493737521e-50"),
            ("1e4", "10001.4142136", "0.99747355199266777672"),
            ("1e4", "12121.3203436", "9.773118260998842984e-50"),
        ];
        for (rho, epsilon, exact) in table {
            let rho: Rho = rho.parse().unwrap();
            let delta = rho.to_delta(&epsilon.parse().unwrap()).unwrap();
            assert_just_above(delta.value(), exact, &format!("{rho} {epsilon}"));
        }
    }

    /// The same line solved for ε.
    #[test]
    fn epsilons_are_met_and_never_undercut() {
        let table = [
            ("1e-30", "1e-390", "5.8620514549238824883e-14"),
            ("1e-30", "1e-20", "6.1217173535281088567e-15"),
            ("1e-20", "1e-60", "2.1144153948119846789e-9"),
            ("1e-20", "1e-12", "3.4557945369299921198e-10"),
            ("1e-12", "1e-390", "0.000059322932247533312123"),
            ("1e-12", "1e-12", "6.8031016177028397974e-6"),
            ("1e-6", "1e-390", "0.059556230684652367555"),
            ("1e-6", "1e-6", "0.0044964939806486116907"),
            ("0.001", "1e-390", "1.8879634857031568342"),
            ("0.001", "0.01", "0.036837737707357106104"),
            ("0.1", "1e-390", "18.993960462335027532"),
            ("0.1", "0.01", "0.97875475762559406454"),
            ("1", "1e-390", "60.786076882570506674"),
            ("1", "0.3", "1.7590943987257426915"),
            ("40", "1e-390", "418.49276884368680655"),
            ("40", "0.3", "51.014799958940745201"),
            ("1e4", "1e-390", "15991.015026054385615"),
            ("1e4", "0.3", "10213.931312244967588"),
            ("1e6", "1e-390", "1059929.0469240414466"),
            ("1e6", "0.3", "1002186.6981729700979"),
        ];
        for (rho, delta, exact) in table {
            let rho: Rho = rho.parse().unwrap();
            let epsilon = rho.to_epsilon(&delta.parse().unwrap()).unwrap();
            assert_just_above(epsilon.value(), exact, &format!("{rho} {delta}"));
        }
    }

    /// Not below the exact number, whose digits are rounded; and not far above it.
    fn assert_just_above(found: &Rational, exact: &str, what: &str) {
        let exact: Rational = exact.parse().unwrap();
        let excess = (&(found - &exact) / &exact).to_f64();
        assert!((-1e-19..1e-10).contains(&excess), "{what}: {excess:e}");
    }

    /// δ too small for a float: its logarithm is computed from the fraction. The largest ρ by bisection, to 50 digits.
    #[test]
    fn the_largest_rho_is_found_for_every_delta() {
        for (epsilon, zeros, exact) in [
            ("40", 390, 0.438_078_998_622_210_9),
            ("1", 390, 0.000_280_891_478_435_055_4),
            ("1", 6, 0.024_355_970_359_538_373),
            ("0.001", 1000, 1.093_493_753_999_867_3e-10),
        ] {
            let delta = Delta::new(Rational::from_big(UBig::ONE, UBig::from(10u8).pow(zeros))).unwrap();
            let rho = Rho::within(&epsilon.parse().unwrap(), &delta).unwrap();
            let ratio = rho.to_f64() / exact;
            assert!((1.0 - 1e-9..=1.0 + 1e-15).contains(&ratio), "{epsilon} 1e-{zeros}: {ratio}");
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
