//! The incomplete beta and gamma functions, and their inverses.
//!
//! Confidence bounds need I_x(a, b) with a and b up to 10⁹, and p-values need its far tails. Computed through ln Γ,
//! both would lose their digits: ln Γ(10⁹) ≈ 2·10¹⁰ leaves no digit after the sixth decimal. Here Γ is written as
//! Stirling's formula times a small correction, the large powers cancel on paper (Loader's saddle-point form), and what
//! remains is accurate to better than 10⁻¹⁰, relative to the smaller tail (the tests below compare with values computed
//! to 40 digits).
//!
//! All functions work on logarithms inside, so a tail as small as 10⁻³⁰⁰ keeps its digits. Auditors, the intervals
//! around estimates and the guarantees stated for shuffled reports rely on them. No mechanism does: nothing is drawn
//! with them. A guarantee computed with them must add more than their error.
//!
//! | function | value |
//! |---|---|
//! | [`beta_lower`], [`beta_upper`] | I_x(a, b) and 1 − I_x(a, b) |
//! | [`beta_lower_inverse`], [`beta_upper_inverse`] | the x at which a tail has a given mass |
//! | [`gamma_lower`], [`gamma_upper`] | P(a, x) and Q(a, x) |
//! | [`gamma_lower_inverse`], [`gamma_upper_inverse`] | the x at which a tail has a given mass |

use crate::error::{Error, Result};

/// ln(2π).
const LN_TAU: f64 = 1.837_877_066_409_345_5;
/// A longer continued fraction or series does not occur: for arguments of 10⁹ they need about 10⁵ terms.
const MOST_TERMS: u64 = 100_000_000;
/// Newton's steps are quadratic near the root and halve the distance far from it; bisection covers the rest.
const MOST_STEPS: usize = 300;

/// I_x(a, b): the probability that a Beta(a, b) variable is at most x.
///
/// # Errors
/// If a or b is not positive and finite, or x is outside [0, 1].
///
/// # Example
/// ```
/// use reticent::numeric::beta_gamma::beta_lower;
///
/// // Of three fair coins at least two show heads with probability 1/2.
/// assert!((beta_lower(2.0, 2.0, 0.5)? - 0.5).abs() < 1e-15);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn beta_lower(a: f64, b: f64, x: f64) -> Result<f64> {
    Ok(Beta::new(a, b)?.at_probability(x)?.lower())
}

/// 1 − I_x(a, b), without cancellation when it is small.
///
/// # Errors
/// As [`beta_lower`].
pub fn beta_upper(a: f64, b: f64, x: f64) -> Result<f64> {
    Ok(Beta::new(a, b)?.at_probability(x)?.upper())
}

/// The x with I_x(a, b) = `mass`.
///
/// # Errors
/// If a or b is not positive and finite, or `mass` is outside (0, 1).
pub fn beta_lower_inverse(a: f64, b: f64, mass: f64) -> Result<f64> {
    Ok(logistic(solve(&Beta::new(a, b)?, Side::Lower, mass)?))
}

/// The x with 1 − I_x(a, b) = `mass`.
///
/// # Errors
/// As [`beta_lower_inverse`].
pub fn beta_upper_inverse(a: f64, b: f64, mass: f64) -> Result<f64> {
    Ok(logistic(solve(&Beta::new(a, b)?, Side::Upper, mass)?))
}

/// P(a, x): the probability that a Gamma(a) variable is at most x.
///
/// # Errors
/// If a is not positive and finite, or x is negative or not finite.
///
/// # Example
/// ```
/// use reticent::numeric::beta_gamma::gamma_lower;
///
/// // With a = 1 this is the exponential law.
/// assert!((gamma_lower(1.0, 2.0)? - (1.0 - (-2.0_f64).exp())).abs() < 1e-15);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn gamma_lower(a: f64, x: f64) -> Result<f64> {
    Ok(Gamma::new(a)?.at_point(x)?.lower())
}

/// Q(a, x) = 1 − P(a, x), without cancellation when it is small.
///
/// # Errors
/// As [`gamma_lower`].
pub fn gamma_upper(a: f64, x: f64) -> Result<f64> {
    Ok(Gamma::new(a)?.at_point(x)?.upper())
}

/// The x with P(a, x) = `mass`.
///
/// # Errors
/// If a is not positive and finite, or `mass` is outside (0, 1).
pub fn gamma_lower_inverse(a: f64, mass: f64) -> Result<f64> {
    Ok(solve(&Gamma::new(a)?, Side::Lower, mass)?.exp())
}

/// The x with Q(a, x) = `mass`.
///
/// # Errors
/// As [`gamma_lower_inverse`].
pub fn gamma_upper_inverse(a: f64, mass: f64) -> Result<f64> {
    Ok(solve(&Gamma::new(a)?, Side::Upper, mass)?.exp())
}

/// Which tail of a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// Both tails at a point, as logarithms; the one that was computed directly keeps all its digits.
#[derive(Debug, Clone, Copy)]
struct Tails {
    computed: Side,
    ln_mass: f64,
    /// ln of the density with respect to the solver's coordinate.
    ln_density: f64,
}

impl Tails {
    fn ln(&self, side: Side) -> f64 {
        let ln_mass = self.ln_mass.min(0.0);
        if side == self.computed { ln_mass } else { libm::log(-libm::expm1(ln_mass)) }
    }

    fn lower(&self) -> f64 {
        self.mass(Side::Lower)
    }

    fn upper(&self) -> f64 {
        self.mass(Side::Upper)
    }

    fn mass(&self, side: Side) -> f64 {
        let ln_mass = self.ln_mass.min(0.0);
        if side == self.computed { libm::exp(ln_mass) } else { -libm::expm1(ln_mass) }
    }
}

/// A law in the coordinate in which its density is log-concave, so that the logarithms of both tails are concave and
/// Newton's method cannot oscillate.
trait Law {
    fn tails(&self, coordinate: f64) -> Tails;
    /// A coordinate in the bulk, and a step of about one standard deviation.
    fn centre(&self) -> (f64, f64);
}

/// Beta(a, b), in the coordinate ln(x/(1 − x)), whose density is x^a (1 − x)^b / B(a, b).
struct Beta {
    a: f64,
    b: f64,
}

impl Beta {
    fn new(a: f64, b: f64) -> Result<Self> {
        Ok(Self { a: positive("a", a)?, b: positive("b", b)? })
    }

    fn at_probability(&self, x: f64) -> Result<Tails> {
        if !(0.0..=1.0).contains(&x) {
            return Err(Error::parameter("x", x, "between 0 and 1"));
        }
        Ok(self.at(x, 1.0 - x))
    }

    /// The tails at x, given y = 1 − x as well because either may be too small to be computed as a difference.
    fn at(&self, x: f64, y: f64) -> Tails {
        let Self { a, b } = *self;
        let sum = a + b;
        let ln_density = 0.5 * (libm::log(a / sum * b) - LN_TAU) + stirling_error(sum)
            - stirling_error(a)
            - stirling_error(b)
            - deviance(a, sum * x)
            - deviance(b, sum * y);
        // Left of the mean the fraction converges for the lower tail, right of it for the upper one.
        if b * x <= a * y {
            Tails { computed: Side::Lower, ln_mass: ln_density - libm::log(beta_fraction(a, b, x, y)), ln_density }
        } else {
            Tails { computed: Side::Upper, ln_mass: ln_density - libm::log(beta_fraction(b, a, y, x)), ln_density }
        }
    }
}

impl Law for Beta {
    fn tails(&self, coordinate: f64) -> Tails {
        self.at(logistic(coordinate), logistic(-coordinate))
    }

    fn centre(&self) -> (f64, f64) {
        (libm::log(self.a) - libm::log(self.b), libm::sqrt(1.0 / self.a + 1.0 / self.b))
    }
}

/// Gamma(a), in the coordinate ln x, whose density is x^a e^−x / Γ(a).
struct Gamma {
    a: f64,
}

impl Gamma {
    fn new(a: f64) -> Result<Self> {
        Ok(Self { a: positive("a", a)? })
    }

    fn at_point(&self, x: f64) -> Result<Tails> {
        if !(x >= 0.0 && x.is_finite()) {
            return Err(Error::parameter("x", x, "at least 0 and finite"));
        }
        Ok(self.at(x))
    }

    fn at(&self, x: f64) -> Tails {
        let a = self.a;
        let ln_density = 0.5 * (libm::log(a) - LN_TAU) - stirling_error(a) - deviance(a, x);
        if x < a + 1.0 {
            Tails { computed: Side::Lower, ln_mass: ln_density + libm::log(gamma_series(a, x)), ln_density }
        } else {
            Tails { computed: Side::Upper, ln_mass: ln_density - libm::log(gamma_fraction(a, x)), ln_density }
        }
    }
}

impl Law for Gamma {
    fn tails(&self, coordinate: f64) -> Tails {
        self.at(libm::exp(coordinate))
    }

    fn centre(&self) -> (f64, f64) {
        (libm::log(self.a), libm::sqrt(1.0 / self.a))
    }
}

/// The coordinate at which a tail of the law has the given mass.
///
/// # Algorithm
/// A bracket grown from the centre in doubling steps, then Newton's method on the logarithm of the tail, which is
/// concave and so monotone from one side of the root; a step that leaves the bracket is replaced by bisection.
fn solve(law: &impl Law, side: Side, mass: f64) -> Result<f64> {
    if !(mass > 0.0 && mass < 1.0) {
        return Err(Error::parameter("mass", mass, "greater than 0 and less than 1"));
    }
    let ln_mass = libm::log(mass);
    // Positive where the point lies above the root, for either tail.
    let excess = |tails: &Tails| match side {
        Side::Lower => tails.ln(side) - ln_mass,
        Side::Upper => ln_mass - tails.ln(side),
    };
    let (centre, deviation) = law.centre();
    let (mut low, mut high) = (centre, centre);
    let mut step = deviation;
    while excess(&law.tails(low)) > 0.0 {
        high = low;
        low -= step;
        step *= 2.0;
    }
    while excess(&law.tails(high)) < 0.0 {
        low = high;
        high += step;
        step *= 2.0;
    }
    let mut point = 0.5 * (low + high);
    for _ in 0..MOST_STEPS {
        let tails = law.tails(point);
        let excess = excess(&tails);
        if excess > 0.0 {
            high = point;
        } else {
            low = point;
        }
        let newton = point - excess * libm::exp(tails.ln(side) - tails.ln_density);
        let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
        if (next - point).abs() <= 2.0 * f64::EPSILON * point.abs().max(deviation) {
            return Ok(next);
        }
        point = next;
    }
    Ok(point)
}

fn positive(name: &'static str, value: f64) -> Result<f64> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(Error::parameter(name, value, "a finite number greater than 0"))
    }
}

fn logistic(t: f64) -> f64 {
    // The exponential of a negative number, so that it cannot overflow.
    if t < 0.0 {
        let e = libm::exp(t);
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + libm::exp(-t))
    }
}

/// ln Γ(z) less Stirling's ½ ln(2π/z) + z ln z − z; about 1/(12z).
fn stirling_error(z: f64) -> f64 {
    if z < 10.0 {
        return libm::lgamma(z) - (0.5 * (LN_TAU - libm::log(z)) + z * libm::log(z) - z);
    }
    // The first term left out, 691/360360·z^−11, is below 2·10⁻¹⁴ at z = 10.
    const COEFFICIENTS: [f64; 5] = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0];
    let inverse_square = 1.0 / (z * z);
    COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| sum * inverse_square + coefficient) / z
}

/// x ln(x/m) + m − x ≥ 0, without cancellation when x is near m.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * libm::log(x / m) + m - x;
    }
    // With v = (x − m)/(x + m): ln(x/m) = 2·artanh(v), whose first term is taken together with m − x.
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut power = 2.0 * x * v;
    for odd in (3u32..).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// The continued fraction f with I_x(a, b) = x^a y^b / (B(a, b)·f), for x at most the mean (DiDonato and Morris).
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let bias = a * y - b * x + 1.0;
    continued_fraction(|m| {
        let twice = a + 2.0 * m;
        let numerator = (m * (a + m - 1.0) / (twice - 1.0)) * ((a + b + m - 1.0) / (twice - 1.0)) * (b - m) * x * x;
        let mut denominator = m + (a + m) * (bias + m * (1.0 + y)) / (twice + 1.0);
        if m > 0.0 {
            denominator += m * (b - m) * x / (twice - 1.0);
        }
        (numerator, denominator)
    })
}

/// The continued fraction f with Q(a, x) = x^a e^−x / (Γ(a)·f), for x above a.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    continued_fraction(|m| (-m * (m - a), x - a + 1.0 + 2.0 * m))
}

/// The series s with P(a, x) = x^a e^−x / Γ(a) · s: Σ x^j / (a(a+1)…(a+j)).
fn gamma_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    let mut divisor = a;
    for _ in 0..MOST_TERMS {
        divisor += 1.0;
        term *= x / divisor;
        sum += term;
        if term <= sum * (0.1 * f64::EPSILON) {
            break;
        }
    }
    sum
}

/// d₀ + n₁/(d₁ + n₂/(d₂ + …)) by the modified Lentz algorithm; `part(m)` gives (n_m, d_m).
fn continued_fraction(part: impl Fn(f64) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut fraction = away_from_zero(part(0.0).1);
    let (mut c, mut d) = (fraction, 0.0);
    for m in 1..MOST_TERMS {
        let (numerator, denominator) = part(m as f64);
        d = 1.0 / away_from_zero(denominator + numerator * d);
        c = away_from_zero(denominator + numerator / c);
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The accuracy that the module claims, relative to each tail.
    const ACCURACY: f64 = 1e-10;

    /// (a, b, x, I_x(a, b), 1 − I_x(a, b)), by quadrature of the density with 50 digits; the two tails were computed
    /// separately and added up to 1 within 10⁻²⁹.
    #[allow(clippy::excessive_precision, reason = "the digits are kept as the other program printed them")]
    const BETA: [(f64, f64, f64, f64, f64); 12] = [
        (2.0, 3.0, 0.25, 0.26171875, 0.73828125),
        (0.5, 0.5, 0.1, 0.20483276469913345754, 0.79516723530086654246),
        (10.0, 1.0, 0.5, 0.0009765625, 0.9990234375),
        (1.0, 1000000.0, 2e-05, 0.99999999793925857256, 2.0607414274389982147e-9),
        (15.0, 999986.0, 1e-06, 2.999736387215393933e-13, 0.99999999999970002636),
        (500000.0, 500001.0, 0.4975, 2.8809345987461644797e-7, 0.99999971190654012538),
        (731058.0, 268943.0, 0.7285, 4.3024775355161699026e-9, 0.99999999569752246448),
        (1000000.0, 9000001.0, 0.1005, 0.99999992916324763616, 7.083675236384249762e-8),
        (500000000.0, 500000001.0, 0.49992, 2.1005449349728140508e-7, 0.99999978994550650272),
        (100000000.0, 900000001.0, 0.10005, 0.99999993168430452376, 6.831569547624491041e-8),
        (3.0, 999999998.0, 2e-08, 0.9999995444851236426, 4.5551487635739570967e-7),
        (999999.0, 10.0, 0.99996, 3.923048340242675718e-9, 0.99999999607695165976),
    ];

    /// (a, x, P(a, x), Q(a, x)), computed in the same way.
    #[allow(clippy::excessive_precision, reason = "the digits are kept as the other program printed them")]
    const GAMMA: [(f64, f64, f64, f64); 11] = [
        (0.5, 11.96, 0.99999899576963766893, 1.0042303623310650691e-6),
        (0.5, 0.1, 0.34527915398142297956, 0.65472084601857702044),
        (1.0, 2.0, 0.86466471676338730811, 0.13533528323661269189),
        (5.0, 30.0, 0.99999999637569904794, 3.6243009520614880262e-9),
        (50.0, 20.0, 1.2458926079719379235e-8, 0.99999998754107392028),
        (50.0, 110.0, 0.99999999994722531415, 5.2774685848268013635e-11),
        (127.5, 210.0, 0.99999999966471125479, 3.35288745214486971e-10),
        (5000.0, 5400.0, 0.99999998279336803676, 1.7206631963239867885e-8),
        (500000.0, 496500.0, 3.5088606554394275235e-7, 0.99999964911393445606),
        (500000000.0, 500100000.0, 0.99999612275921680303, 3.8772407831969731588e-6),
        (500000000.0, 499900000.0, 3.8669808947895061074e-6, 0.99999613301910521049),
    ];

    fn assert_near(value: f64, reference: f64, what: &str) {
        let error = (value / reference - 1.0).abs();
        assert!(error < ACCURACY, "{what}: {value:e} instead of {reference:e}, off by {error:e}");
    }

    #[test]
    fn beta_tails_agree_with_known_values() {
        for (a, b, x, lower, upper) in BETA {
            assert_near(beta_lower(a, b, x).unwrap(), lower, &format!("I_{x}({a}, {b})"));
            assert_near(beta_upper(a, b, x).unwrap(), upper, &format!("1 − I_{x}({a}, {b})"));
        }
        assert_near(beta_upper(30.0, 70.0, 0.9).unwrap(), 4.347_272_539_472_874e-47, "a far tail");
    }

    #[test]
    fn gamma_tails_agree_with_known_values() {
        for (a, x, lower, upper) in GAMMA {
            assert_near(gamma_lower(a, x).unwrap(), lower, &format!("P({a}, {x})"));
            assert_near(gamma_upper(a, x).unwrap(), upper, &format!("Q({a}, {x})"));
        }
    }

    /// The inverse of a known tail is the known point; only the smaller tail determines it well.
    #[test]
    fn inverses_find_the_known_points() {
        for (a, b, x, lower, upper) in BETA {
            let found = if lower < upper { beta_lower_inverse(a, b, lower) } else { beta_upper_inverse(a, b, upper) };
            assert_near(found.unwrap(), x, &format!("inverse for a = {a}, b = {b}"));
        }
        for (a, x, lower, upper) in GAMMA {
            let found = if lower < upper { gamma_lower_inverse(a, lower) } else { gamma_upper_inverse(a, upper) };
            assert_near(found.unwrap(), x, &format!("inverse for a = {a}"));
        }
    }

    #[test]
    fn inverses_invert() {
        for mass in [1e-300, 1e-12, 1e-6, 0.025, 0.5, 0.9, 0.999_999] {
            for (a, b) in [(1.0, 1.0), (0.3, 7.0), (1.0, 1e6), (1e6, 1.0), (37.0, 1e4), (5e5, 5e5)] {
                let x = beta_lower_inverse(a, b, mass).unwrap();
                assert!((0.0..=1.0).contains(&x));
                // Next to 0 or 1 the rounding of x alone moves the tail.
                if x > f64::MIN_POSITIVE && x < 0.9 {
                    assert_near(beta_lower(a, b, x).unwrap(), mass, &format!("a = {a}, b = {b}, mass = {mass:e}"));
                }
                let x = beta_upper_inverse(a, b, mass).unwrap();
                if x > f64::MIN_POSITIVE && x < 0.9 {
                    assert_near(beta_upper(a, b, x).unwrap(), mass, &format!("a = {a}, b = {b}, mass = {mass:e}"));
                }
            }
            for a in [0.5, 1.0, 12.5, 3e4] {
                let x = gamma_lower_inverse(a, mass).unwrap();
                if x > f64::MIN_POSITIVE {
                    assert_near(gamma_lower(a, x).unwrap(), mass, &format!("a = {a}, mass = {mass:e}"));
                }
                let x = gamma_upper_inverse(a, mass).unwrap();
                assert_near(gamma_upper(a, x).unwrap(), mass, &format!("a = {a}, mass = {mass:e}"));
            }
        }
    }

    #[test]
    fn the_ends_are_exact() {
        for (a, b) in [(1.0, 1.0), (3.5, 1e9), (0.2, 0.9)] {
            assert_eq!((beta_lower(a, b, 0.0).unwrap(), beta_upper(a, b, 0.0).unwrap()), (0.0, 1.0));
            assert_eq!((beta_lower(a, b, 1.0).unwrap(), beta_upper(a, b, 1.0).unwrap()), (1.0, 0.0));
            assert_eq!((gamma_lower(a, 0.0).unwrap(), gamma_upper(a, 0.0).unwrap()), (0.0, 1.0));
        }
    }

    #[test]
    fn what_means_nothing_is_refused_with_its_name() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(beta_lower(bad, 1.0, 0.5).unwrap_err().to_string().starts_with("a is "));
            assert!(beta_upper(1.0, bad, 0.5).unwrap_err().to_string().starts_with("b is "));
            assert!(gamma_lower(bad, 1.0).unwrap_err().to_string().starts_with("a is "));
            assert!(gamma_upper_inverse(1.0, bad).unwrap_err().to_string().starts_with("mass is "));
        }
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(beta_lower(1.0, 1.0, bad).unwrap_err().to_string().starts_with("x is "));
        }
        assert!(gamma_lower(1.0, -1.0).is_err() && gamma_lower(1.0, f64::INFINITY).is_err());
        assert!(beta_lower_inverse(1.0, 1.0, 1.0).is_err());
    }
}
