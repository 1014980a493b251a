//! Gaussian noise on whole numbers.

use std::f64::consts::PI;

use super::{DIGITS, MAX_SIGMA, as_delta, bisect, nudged, positive, profile, smallest_ratio, usable};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::numeric::normal::{Sum, UNIT, upper_tail};
use crate::privacy::{Delta, Epsilon};

/// Up to this σ the outcomes are summed one by one.
const MAX_SUMMED_SIGMA: f64 = 4096.0;
/// The largest sensitivity: leaves 13 of the 53 bits of an exact `f64` integer unused.
const MAX_SENSITIVITY: u64 = 1 << 40;
/// Outcomes further out than this many σ are not considered.
const REACH: f64 = 40.0;
/// The scan for the largest σ that does not fit goes down in steps of this factor.
const SCAN: f64 = 1.002;

/// The δ of discrete Gaussian noise at a given ε, never underestimated.
///
/// # Privacy
/// For noise P(k) ∝ e^{−k²/(2σ²)} on whole numbers added to a whole number that one unit moves by at most `sensitivity`
/// D: δ = Σ_k max(0, P(k) − e^ε·P(k + D)). A smaller move has a smaller δ: the law is log-concave, so the worst events are
/// half-lines {K ≤ c}, and P(K ≤ c) − e^ε·P(K ≤ c − d) grows with d.
///
/// # Algorithm
/// A term is positive for k > x* = εσ²/D − D/2 only \[CKS20\].
/// - σ ≤ 4096: the terms e^{−k²/(2σ²)}·(1 − e^{ε − D(2k + D)/(2σ²)}) are added up, all positive, each with its error.
/// - Larger σ: Euler–Maclaurin at midpoints. With f(x) = e^{−x²/(2σ²)}, F(x) = f(x) − e^ε·f(x + D) and c half a step
///   below the first positive term, ΣF(k) = ∫_c F + F′(c)/24 + R, |R| ≤ ∫|F⁗|/384. As F(x*) = 0 and |x* − c| ≤ ½, this is
///   ∫_{x*} F + F′(x*)·(1/24 − (x* − c)²/2) up to sup|F″|/24; the integral is σ√(2π) times the δ of continuous noise,
///   F′(x*) = f(x*)·D/σ², and sup|F″| ≤ 2ε·f(x*)/σ² + sup|F‴|/2. All three remainders are added.
///
/// # Errors
/// If the sensitivity is not between 1 and 2^40, σ not between 0.01·sensitivity and 1e15, or no δ below 1 holds.
///
/// # Example
/// The σ that is right for continuous noise is too small here.
/// ```
/// use reticent::privacy::calibration::discrete_gaussian_delta;
///
/// let delta = discrete_gaussian_delta(&"1".parse()?, &"4.2246788893268353".parse()?, 1)?;
/// assert!(delta.to_f64() > 1.019e-6);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn discrete_gaussian_delta(epsilon: &Epsilon, sigma: &Rational, sensitivity: u64) -> Result<Delta> {
    positive("sigma", sigma)?;
    let d = checked(sensitivity)?;
    let s = sigma.to_f64();
    if !(0.01 * d..=MAX_SIGMA).contains(&s) {
        return Err(Error::parameter("sigma", sigma, "between 0.01 times the sensitivity and 1e15"));
    }
    as_delta(discrete_profile(epsilon.value().to_f64_down(), s, d), sigma)
}

/// The smallest σ of discrete Gaussian noise that is (ε, δ)-private, rounded up.
///
/// # Privacy
/// As for [`discrete_gaussian_delta`]; the δ at the returned σ itself, error included, does not exceed `delta`.
///
/// # Accuracy
/// Within 1e-9 of the smallest σ, relatively. Below σ ≈ 1 the δ of discrete noise does not fall steadily as σ grows;
/// what is returned is the edge above which, on a scan in steps of 0.2 %, every σ fits. Smaller values that happen
/// to fit in between are not used: more noise should never be less private.
///
/// # Algorithm
/// A scan downwards from well above the σ of continuous noise, then bisection.
///
/// # Errors
/// If the sensitivity is not between 1 and 2^40, δ is below 1e-290, or σ would exceed 1e15.
///
/// # Example
/// ```
/// use reticent::privacy::calibration::{analytic_gaussian_sigma, discrete_gaussian_sigma};
///
/// let (epsilon, delta) = ("1".parse()?, "1e-6".parse()?);
/// let continuous = analytic_gaussian_sigma(&epsilon, &delta, &"1".parse()?)?;
/// let discrete = discrete_gaussian_sigma(&epsilon, &delta, 1)?;
/// assert!(discrete > continuous);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn discrete_gaussian_sigma(epsilon: &Epsilon, delta: &Delta, sensitivity: u64) -> Result<Rational> {
    let d = checked(sensitivity)?;
    let (target_epsilon, target) = (epsilon.value().to_f64_down(), usable(delta)?);
    let fits = |s: f64| discrete_profile(target_epsilon, s, d) <= target;
    let too_large = || Error::parameter("epsilon", epsilon, "larger: the noise would exceed 1e15");

    let continuous = smallest_ratio(epsilon, delta)? * d;
    let mut high = if continuous < 8.0 { continuous + 1.5 } else { continuous * (SCAN * SCAN) };
    while !fits(high) {
        high *= SCAN;
        if high > MAX_SIGMA {
            return Err(too_large());
        }
    }
    let mut low = high / SCAN;
    while fits(low) {
        (high, low) = (low, low / SCAN);
    }
    let edge = bisect(low, high, fits);

    let mut sigma = Rational::from_f64_bits(edge).ok_or_else(too_large)?.round_up(DIGITS);
    // Rounding up alone is not safe where δ is not monotone in σ: the value that is returned is the one that is
    // checked.
    while !fits(sigma.to_f64()) {
        sigma = nudged(&sigma)?;
    }
    if sigma.to_f64() > MAX_SIGMA { Err(too_large()) } else { Ok(sigma) }
}

fn checked(sensitivity: u64) -> Result<f64> {
    if (1..=MAX_SENSITIVITY).contains(&sensitivity) {
        Ok(sensitivity as f64)
    } else {
        Err(Error::parameter("sensitivity", sensitivity, "a whole number from 1 to 2^40"))
    }
}

/// An upper bound of δ for every σ whose nearest float is `s`.
fn discrete_profile(epsilon: f64, s: f64, d: f64) -> f64 {
    let bound = if s <= MAX_SUMMED_SIGMA { summed(epsilon, s, d) } else { integrated(epsilon, s, d) };
    bound.clamp(f64::MIN_POSITIVE, 1.0)
}

/// Term by term. Exponents have a relative error of 6 UNIT, σ's rounding included.
fn summed(epsilon: f64, s: f64, d: f64) -> f64 {
    let double_variance = 2.0 * s * s;
    let reach = libm::ceil(REACH * s);
    let crossing = epsilon * s * s / d - d / 2.0;
    let mut k = (libm::floor(crossing) - 2.0).max(-reach);
    let mut sum = Sum::default();
    let mut looked_at = 0_u32;
    while k <= reach {
        let exponent = k * k / double_variance;
        let loss = d * (2.0 * k + d) / double_variance;
        let slack = 8.0 * UNIT * (epsilon + d * (2.0 * k.abs() + d) / double_variance);
        let excess = -libm::expm1(epsilon - loss) + slack;
        if excess > 0.0 {
            sum.add(libm::exp(-exponent) * excess * (1.0 + (8.0 * exponent + 8.0) * UNIT));
        }
        k += 1.0;
        looked_at += 1;
        // Stop once the remaining terms cannot change the sum.
        if looked_at.is_multiple_of(32) && k > 1.0 && rest(s, k) < 1e-17 * sum.value() {
            break;
        }
    }
    let total = sum.value() * (1.0 + 4.0 * UNIT) + rest(s, k);
    // The outcomes below −REACH·σ weigh less than the smallest normal number.
    total / normalizer(s) * (1.0 + 8.0 * UNIT) + f64::MIN_POSITIVE
}

/// A bound of Σ f(j) over j ≥ k: the integral from k − 1 on.
fn rest(s: f64, k: f64) -> f64 {
    s * (2.0 * PI).sqrt() * upper_tail((k - 1.0) / s * (1.0 - 4.0 * UNIT)).hi * (1.0 + 8.0 * UNIT)
}

/// A lower bound of Σ_k e^{−k²/(2σ²)}: for σ ≥ 1 by Poisson summation, σ√(2π)·(1 + 2e^{−2π²σ²} + …).
fn normalizer(s: f64) -> f64 {
    let sum = if s >= 1.0 {
        s * (2.0 * PI).sqrt() * (1.0 + 2.0 * libm::exp(-2.0 * PI * PI * s * s))
    } else {
        // An exponent of at most 800, whose terms beyond e^−40 do not count: 12·40 UNIT.
        1.0 + (1..=12).map(|k| 2.0 * libm::exp(-f64::from(k * k) / (2.0 * s * s))).sum::<f64>()
    };
    sum * (1.0 - 600.0 * UNIT)
}

/// By the Euler–Maclaurin formula, for σ > 4096; see [`discrete_gaussian_delta`].
fn integrated(epsilon: f64, s: f64, d: f64) -> f64 {
    let crossing = epsilon * s * s / d - d / 2.0;
    let (near, far) = (crossing / s, (crossing + d) / s);
    if near > 80.0 {
        return f64::MIN_POSITIVE;
    }
    if near < -80.0 {
        return 1.0;
    }
    // Continuous noise is monotone in σ: a σ a little too small is on the safe side.
    let continuous = profile(epsilon, s / d * (1.0 - 4.0 * UNIT));
    // Half a step either way changes f by a factor below 1.02 for these σ and at most 80 of them.
    let height = libm::exp(-near * near / 2.0) * 1.02;
    let uncertain = 8.0 * UNIT * (epsilon * s * s / d + d);
    let off = ((crossing - libm::floor(crossing) - 0.5).abs() - uncertain).max(0.0);
    // Where the bracket is positive its factor must not be too small, where it is negative not too large.
    let bracket = 1.0 / 24.0 - off * off / 2.0;
    let slope = (height / 1.02) * d / (s * s) * bracket;
    let slope = slope + slope.abs() * (64.0 + 16.0 * near * near) * UNIT * (1.0 + uncertain);
    let furthest = near.abs().max(far) + 1.0 / s;
    let bend = height * (2.0 * epsilon / (s * s) + (furthest.powi(3) + 3.0 * furthest) / s.powi(3)) / 24.0;
    // ∫_z^∞ (x⁴ + 6x² + 3)e^{−x²/2} = (z³ + 9z)e^{−z²/2} + 12√(2π)T(z), and √(2π)T(z) ≤ 1.2534·e^{−z²/2} for z ≥ 0.
    let tail = |z: f64| (z.powi(3) + 9.0 * z + 15.1) * height;
    let fourth = (if near >= 0.0 { tail(near + 1.0 / s) } else { 30.1 } + tail(far + 1.0 / s)) / (384.0 * s.powi(3));
    let total = s * (2.0 * PI).sqrt();
    continuous * (1.0 + 4.0 * UNIT) + (slope + bend + fourth) / total * (1.0 + 1e-12) + f64::MIN_POSITIVE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two evaluations agree where both are accurate.
    #[test]
    fn sum_and_integral_agree() {
        for (epsilon, s, d) in [(0.01, 500.0, 1.0), (1.0, 600.0, 150.0), (1.0, 5000.0, 1200.0), (0.3, 3000.0, 1000.0)] {
            let (by_sum, by_integral) = (summed(epsilon, s, d), integrated(epsilon, s, d));
            let ratio = by_integral / by_sum;
            // The remainders shrink with σ³: the loss where the integral is used is far below 1e-8.
            let lost = if s < MAX_SUMMED_SIGMA { 3e-6 } else { 1e-8 };
            assert!((1.0 - 1e-11..1.0 + lost).contains(&ratio), "{epsilon} {s} {d}: {by_sum} {by_integral}");
        }
    }

    /// Σ_k max(0, P(k) − e^ε·P(k + D)) with 45 digits, by an independent program.
    #[test]
    fn sums_meet_their_reference() {
        let table = [
            (1.0, "4.2246788893268353", 1, 1.019_662_596_208_095_7e-6),
            (0.1, "30.75", 1, 9.990_956_924_745_924e-6),
            (3.0, "9.7", 5, 1.049_526_672_981_437e-9),
            (10.0, "0.42", 1, 1.049_597_087_402_256_1e-5),
            (0.5, "50", 20, 0.025_631_334_555_350_59),
        ];
        for (epsilon, sigma, sensitivity, exact) in table {
            let (epsilon, sigma) = (epsilon.try_into().unwrap(), sigma.parse().unwrap());
            let delta = discrete_gaussian_delta(&epsilon, &sigma, sensitivity).unwrap().to_f64();
            assert!((exact..exact * (1.0 + 1e-11)).contains(&delta), "{epsilon} {sigma}: {delta} {exact}");
        }
    }

    /// Without the correction the integral would be below the sum: this shows that the comparison above has power.
    #[test]
    fn the_integral_alone_is_not_a_bound() {
        let (epsilon, s, d) = (1.0, 4.224_678_889_326_835, 1.0);
        assert!(profile(epsilon, s / d) < 0.99 * summed(epsilon, s, d));
    }
}
