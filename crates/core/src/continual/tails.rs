//! Bounds on the tails of sums of Laplace draws.
//!
//! The thresholds that admit keys come from the same Chernoff bound: see [`Admission`](super::keyed::Admission).

use super::shape::Shape;
use crate::error::{Error, Result};
use crate::numeric::laplace_sum::LaplaceSum;
use crate::numeric::{discrete_gaussian, weighted};

/// An upper bound on P(noise ≥ at), for the noise of one step and at ≥ 1.
///
/// # Accuracy
/// Always at least the truth; one part in 10⁶ covers the rounding of floats.
/// - Sums ([`Shape::Sum`]): exact up to that part, where the law is narrow enough to be computed (scale up to 20 and fewer than
///   about 10⁶/√terms numbers to add), as for a single draw of any scale; otherwise the better of Chernoff's bound and
///   the tail of continuous draws of the same scale.
/// - Weighted sums ([`Shape::Weighted`]): Chernoff's bound from variance and largest term.
/// - Gaussian noise ([`Shape::Gaussian`]): e^(−(at−½)²/2v).
///
/// # Algorithm
/// Chernoff: P(X ≥ x) ≤ E e^(sX)·e^(−sx) for every s > 0; the code searches for a good s, and any s is valid. With p =
/// e^(−1/b) a draw
/// has E e^(sK) = 1/(1 − (sinh(s/2)/sinh(1/2b))²) for s < 1/b.
///
/// # Example
/// ```
/// use reticent::continual::{Shape, tails};
/// use reticent::noise::DiscreteLaplace;
///
/// let law = DiscreteLaplace::new(&"11".parse()?)?;
/// let five = tails::upper_tail(Shape::Sum { law: &law, terms: 5 }, 200.0);
/// assert!(1e-6 < five && five < 1e-5);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn upper_tail(shape: Shape<'_>, at: f64) -> f64 {
    if at.is_nan() || at < 1.0 {
        return 1.0;
    }
    let bound = match shape {
        Shape::Sum { law, terms } => LaplaceSum::new(law.approximate_scale(), terms).upper_tail(at),
        Shape::Weighted { variance, largest, narrowest } => {
            libm::exp(weighted::log_chernoff(variance, largest, narrowest, at)) * 1.000_001
        }
        Shape::Gaussian { variance } => discrete_gaussian::upper_tail(variance, at),
    };
    bound.min(1.0)
}

/// An upper bound on P(|Y₁ + … + Yₙ| > λ) for independent Laplace draws, continuous or discrete, of the given scales:
/// 2e^(−λ²/8ν²) with ν² = Σb², for λ < 2√2·ν²/b_max \[CSS11\].
///
/// Beyond that range ν² may be increased just enough for λ to be within it again: 2e^(−λ/(2√2·b_max)). So there is a
/// bound for every λ.
///
/// # Accuracy
/// Simple rather than sharp: ln E e^(sY) = −ln(1 − s²b²) ≤ 2s²b² for s²b² ≤ ½ (discrete draws: less, by Jensen), and s =
/// λ/4ν². [`chernoff`] with the best s and the exact moments is never larger.
///
/// # Errors
/// If a scale is not positive and finite, or λ is negative or NaN.
pub fn simple(scales: &[f64], lambda: f64) -> Result<f64> {
    check(scales, lambda)?;
    let squares: f64 = scales.iter().map(|b| b * b).sum();
    let most = scales.iter().copied().fold(0.0, f64::max);
    let widened = squares.max(lambda * most / (2.0 * std::f64::consts::SQRT_2));
    if widened.is_nan() || widened <= 0.0 {
        return Ok(if lambda > 0.0 { 0.0 } else { 1.0 });
    }
    Ok((2.0 * libm::exp(-lambda * lambda / (8.0 * widened)) * 1.000_001).min(1.0))
}

/// An upper bound on P(|Y₁ + … + Yₙ| > λ) for independent Laplace draws, continuous or discrete, of the given scales:
/// Chernoff's with the moments −ln(1 − s²b²) of continuous draws, which discrete ones do not exceed.
///
/// # Example
/// ```
/// use reticent::continual::tails;
///
/// let scales = [11.0; 6];
/// let (sharp, simple) = (tails::chernoff(&scales, 200.0)?, tails::simple(&scales, 200.0)?);
/// assert!(sharp < 1e-3 && simple > 3e-3);
/// # Ok::<(), reticent::Error>(())
/// ```
///
/// # Errors
/// As [`simple`].
pub fn chernoff(scales: &[f64], lambda: f64) -> Result<f64> {
    check(scales, lambda)?;
    let most = scales.iter().copied().fold(0.0, f64::max);
    if scales.is_empty() {
        return Ok(if lambda > 0.0 { 0.0 } else { 1.0 });
    }
    let exponent = |share: f64| {
        let moment = |b: &f64| -libm::log1p(-(share * b / most) * (share * b / most));
        scales.iter().map(moment).sum::<f64>() - share / most * lambda
    };
    let best = crate::numeric::search::valley(1e-9, 1.0 - 1e-9, 60, exponent);
    Ok((2.0 * libm::exp(exponent(best)) * 1.000_001).min(1.0))
}

fn check(scales: &[f64], lambda: f64) -> Result<()> {
    if let Some(scale) = scales.iter().find(|scale| !(scale.is_finite() && **scale > 0.0)) {
        return Err(Error::parameter("Laplace scale", scale, "positive and finite"));
    }
    if lambda.is_nan() || lambda < 0.0 {
        return Err(Error::parameter("lambda", lambda, "at least 0"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::DiscreteLaplace;

    fn law(scale: &str) -> DiscreteLaplace {
        DiscreteLaplace::new(&scale.parse().unwrap()).unwrap()
    }

    /// P(X ≥ k) for the sum of `terms` draws, by repeated convolution with a geometric kernel.
    fn tails_by_convolution(scale: f64, terms: u64, reach: usize) -> Vec<f64> {
        let p = (-1.0 / scale).exp();
        let mut masses = vec![0.0; 2 * reach + 1];
        masses[reach] = 1.0;
        for _ in 0..terms {
            let (mut up, mut down) = (masses.clone(), masses.clone());
            for k in 1..=2 * reach {
                up[k] += p * up[k - 1];
                down[2 * reach - k] += p * down[2 * reach - k + 1];
            }
            for k in 0..=2 * reach {
                masses[k] = (up[k] + down[k] - masses[k]) * (1.0 - p) / (1.0 + p);
            }
        }
        let mut tails: Vec<f64> = masses[reach..].to_vec();
        for k in (0..reach).rev() {
            tails[k] += tails[k + 1];
        }
        tails
    }

    #[test]
    fn bounds_are_never_below_the_truth() {
        for (scale, terms) in [("0.5", 1_u64), ("0.5", 7), ("1", 2), ("3", 20), ("11", 6), ("20", 3), ("30", 4)] {
            let b: f64 = scale.parse().unwrap();
            let reach = (60.0 * b * (terms as f64).sqrt()) as usize + 40;
            let exact = tails_by_convolution(b, terms, reach);
            let law = law(scale);
            let variance = law.variance() * terms as f64;
            for at in [1, 2, 5, 10, 40, 100, 300].into_iter().filter(|&at| at < reach && exact[at] > 1e-14) {
                let truth = exact[at];
                let sum = upper_tail(Shape::Sum { law: &law, terms }, at as f64);
                assert!(sum >= truth, "{scale}·{terms} ≥ {at}: {sum} {truth}");
                if b <= 20.0 {
                    assert!(sum <= truth * (1.0 + 1e-4), "{scale}·{terms} ≥ {at}: {sum} {truth}");
                } else {
                    assert!(sum <= truth * 1.02, "{scale}·{terms} ≥ {at}: {sum} {truth}");
                }
                // A rounded weighted sum reaches `at` half a unit before; a sum of whole draws does not, so this is loose.
                let (largest, narrowest) = (law.variance(), law.variance());
                let weighted = upper_tail(Shape::Weighted { variance, largest, narrowest }, at as f64);
                assert!(weighted >= truth, "{scale}·{terms} ≥ {at}: {weighted} {truth}");
                // |Y| > at − 1 is |Y| ≥ at.
                let scales = vec![b; terms as usize];
                let (sharp, simple) =
                    (chernoff(&scales, at as f64 - 1.0).unwrap(), simple(&scales, at as f64 - 1.0).unwrap());
                assert!(
                    sharp >= 2.0 * truth && simple >= sharp * 0.999_999,
                    "{scale}·{terms} ≥ {at}: {sharp} {simple}"
                );
            }
        }
    }

    #[test]
    fn the_simple_bound_is_that_of_the_notes_within_its_range() {
        let scales = [2.0, 1.0, 1.0];
        let range = 2.0 * 2.0_f64.sqrt() * 6.0 / 2.0;
        for lambda in [4.5, 6.0, range * 0.999] {
            let notes = 2.0 * (-lambda * lambda / 48.0).exp();
            assert!((simple(&scales, lambda).unwrap() / notes.min(1.0) - 1.0).abs() < 2e-6);
        }
        // Outside its range the formula would claim too much: a Laplace draw does not fall off like a normal one.
        let far = 200.0;
        assert!(2.0 * (-far * far / 8.0_f64).exp() < (-far).exp() && simple(&[1.0], far).unwrap() > (-far).exp());
    }

    #[test]
    fn what_is_no_scale_is_refused() {
        assert!(simple(&[1.0, 0.0], 1.0).unwrap_err().is_parameter());
        assert!(chernoff(&[f64::NAN], 1.0).unwrap_err().is_parameter());
        assert!(chernoff(&[1.0], -1.0).unwrap_err().is_parameter());
    }
}
