//! How much Gaussian noise an (ε, δ) guarantee needs.
//!
//! | function | noise |
//! |---|---|
//! | [`analytic_gaussian_sigma`], [`analytic_gaussian_delta`] | on real numbers |
//! | [`discrete_gaussian_sigma`], [`discrete_gaussian_delta`] | on whole numbers |
//!
//! They are not the same: discrete noise with the σ of continuous noise can exceed δ.

use std::f64::consts::PI;

use super::{Delta, Epsilon};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::numeric::normal::{UNIT, mills, upper_tail};

mod discrete;

pub use discrete::{discrete_gaussian_delta, discrete_gaussian_sigma};

/// Significant digits of the answers, which are rounded up.
const DIGITS: u32 = 15;
/// More noise than this is refused: `f64` does not have the digits for it.
const MAX_SIGMA: f64 = 1e15;
const MAX_SIGMA_TEXT: &str = "larger: the noise would exceed 1e15 times the sensitivity";

/// An upper bound of δ(ε) for Gaussian noise of `s` times the sensitivity.
///
/// δ = T(a) − e^ε·T(b) with T the normal tail, a = εs − 1/(2s) and b = a + 1/s \[BW18\]. Two evaluations, each
/// with its error added, and the smaller counts:
/// - as it stands, which cancels when 1/s is small;
/// - for a ≥ 0, with Mills' ratio R = T/φ and b² − a² = 2ε: δ = φ(a)·(R(a) − R(b)) = φ(a)·∫_a^b(1 − xR(x))dx. The integrand
///   is convex (it is ∫t·e^{−t²/2 − xt}dt), so the trapezoidal rule is an upper bound, tight when b − a is small.
fn profile(epsilon: f64, s: f64) -> f64 {
    let (middle, half) = (epsilon * s, 0.5 / s);
    let (a, b) = (middle - half, middle + half);
    // Absolute error of a and b; it moves the tail by no more than |x| + 1 times that, relatively.
    let shift = 4.0 * UNIT * (middle + half);
    let here = upper_tail(a).hi * (1.0 + (a.abs() + 1.0) * shift);
    let tail = upper_tail(b).lo * (1.0 - (b.abs() + 1.0) * shift).max(0.0);
    let there = if tail > 0.0 { tail * libm::exp(epsilon) * (1.0 - 4.0 * UNIT) } else { 0.0 };
    let direct = (here - there) * (1.0 + 4.0 * UNIT);
    if !(0.0..35.0).contains(&a) || b > 35.0 {
        return direct.clamp(f64::MIN_POSITIVE, 1.0);
    }
    let falls = |x: f64| {
        let (ratio, error) = mills(x);
        1.0 - x * ratio * (1.0 - error - shift - 4.0 * UNIT)
    };
    let density = libm::exp(-a * a / 2.0) / (2.0 * PI).sqrt() * (1.0 + (16.0 + 2.0 * a * a) * UNIT + a * shift);
    let trapezoid = density * half * (falls(a) + falls(b)) * (1.0 + 16.0 * UNIT);
    direct.min(trapezoid).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The δ of Gaussian noise at a given ε, never underestimated.
///
/// # Privacy
/// For *continuous* noise N(0, σ²) on an answer that one unit moves by at most `sensitivity` (in the Euclidean norm for
/// vectors). Noise on whole numbers: [`discrete_gaussian_delta`].
///
/// # Algorithm
/// The exact expression of \[BW18\], with its rounding error added.
///
/// # Errors
/// If σ or the sensitivity is not positive, or no δ below 1 holds.
///
/// # Example
/// ```
/// use reticent::privacy::calibration::analytic_gaussian_delta;
///
/// let delta = analytic_gaussian_delta(&"1".parse()?, &"4.2246788893268353".parse()?, &"1".parse()?)?;
/// assert!((delta.to_f64() / 1e-6 - 1.0).abs() < 1e-9);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn analytic_gaussian_delta(epsilon: &Epsilon, sigma: &Rational, sensitivity: &Rational) -> Result<Delta> {
    positive("sigma", sigma)?;
    positive("sensitivity", sensitivity)?;
    // Less noise and a smaller ε are on the safe side.
    let ratio = (sigma / sensitivity).to_f64_down();
    if !(1e-9..=MAX_SIGMA).contains(&ratio) {
        return Err(Error::parameter("sigma", sigma, "between 1e-9 and 1e15 times the sensitivity"));
    }
    as_delta(profile(epsilon.value().to_f64_down(), ratio), sigma)
}

/// The smallest σ of Gaussian noise that is (ε, δ)-private, rounded up.
///
/// # Privacy
/// For *continuous* noise N(0, σ²) on an answer that one unit moves by at most `sensitivity` (in the Euclidean norm for
/// vectors). Discrete noise of the same σ can exceed δ: use [`discrete_gaussian_sigma`] for it.
///
/// # Accuracy
/// Within 1e-10 of the smallest σ, relatively, and never below.
///
/// # Algorithm
/// Bisection on the exact expression of \[BW18\], which falls as σ grows.
///
/// # Errors
/// If the sensitivity is not positive, δ is below 1e-290, or σ would exceed 1e15 times the sensitivity.
///
/// # Example
/// ```
/// use reticent::privacy::calibration::analytic_gaussian_sigma;
///
/// let sigma = analytic_gaussian_sigma(&"1".parse()?, &"1e-6".parse()?, &"1".parse()?)?;
/// assert!((sigma.to_f64() - 4.2246788893268353).abs() < 1e-9);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn analytic_gaussian_sigma(epsilon: &Epsilon, delta: &Delta, sensitivity: &Rational) -> Result<Rational> {
    positive("sensitivity", sensitivity)?;
    let ratio = smallest_ratio(epsilon, delta)?;
    let exact = Rational::from_f64_bits(ratio).ok_or_else(|| Error::parameter("sigma", ratio, "finite"))?;
    let mut sigma = (&exact * sensitivity).round_up(DIGITS);
    // Rounding up only makes it more private; the bound computed by `analytic_gaussian_delta` has to agree, too.
    let target = usable(delta)?;
    while profile(epsilon.value().to_f64_down(), (&sigma / sensitivity).to_f64_down()) > target {
        sigma = nudged(&sigma)?;
    }
    Ok(sigma)
}

/// Slightly larger.
fn nudged(sigma: &Rational) -> Result<Rational> {
    Ok((sigma * &Rational::new(1_000_000_000_001, 1_000_000_000_000)?).round_up(DIGITS))
}

/// The smallest σ in units of the sensitivity.
fn smallest_ratio(epsilon: &Epsilon, delta: &Delta) -> Result<f64> {
    let (target_epsilon, target) = (epsilon.value().to_f64_down(), usable(delta)?);
    let fits = |s: f64| profile(target_epsilon, s) <= target;
    let mut high = 1.0;
    while !fits(high) {
        high *= 2.0;
        if high > MAX_SIGMA {
            return Err(Error::parameter("epsilon", epsilon, MAX_SIGMA_TEXT));
        }
    }
    let mut low = high / 2.0;
    while fits(low) {
        (high, low) = (low, low / 2.0);
    }
    Ok(bisect(low, high, fits))
}

/// Narrows the interval between `low`, which does not fit, and `high`, which does; returns a value that fits.
fn bisect(mut low: f64, mut high: f64, fits: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if fits(middle) { high = middle } else { low = middle }
    }
    high
}

/// δ as a float that is not larger, if a float can represent it.
fn usable(delta: &Delta) -> Result<f64> {
    let target = delta.value().to_f64_down();
    if target < 9.9e-291 {
        return Err(Error::parameter("delta", delta, "at least 1e-290"));
    }
    Ok(target)
}

fn positive(name: &'static str, value: &Rational) -> Result<()> {
    if value.is_positive() { Ok(()) } else { Err(Error::parameter(name, value, "greater than 0")) }
}

fn as_delta(bound: f64, sigma: &Rational) -> Result<Delta> {
    if bound >= 1.0 {
        return Err(Error::parameter("sigma", sigma, "larger: no delta below 1 can be promised"));
    }
    let exact = Rational::from_f64_bits(bound).ok_or_else(|| Error::parameter("delta", bound, "finite"))?;
    Delta::new(exact.round_up(DIGITS))
}

#[cfg(test)]
mod tests;
