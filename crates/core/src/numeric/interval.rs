//! Clopper–Pearson bounds: what an observed number of successes proves about a probability.

use super::beta_gamma;
use crate::error::{Error, Result};

/// Bounds are moved outwards by this much in log-odds, ten times the accuracy of the functions they are computed with,
/// so that rounding cannot make a bound claim more than it proves.
const OUTWARDS: f64 = 1e-9;

/// A number that lies below the unknown probability with the given confidence.
///
/// # Accuracy
/// Exact one-sided coverage: whatever the probability p is, at least a fraction `confidence` of all experiments of this
/// size gives a bound that is at most p. No normal approximation is involved.
///
/// # Algorithm
/// Clopper and Pearson: the p at which seeing `successes` or more has probability 1 − `confidence`.
///
/// # Errors
/// If there are no trials, more successes than trials, or the confidence is not between 0 and 1.
///
/// # Example
/// ```
/// use reticent::numeric::interval::clopper_pearson_lower;
///
/// assert_eq!(clopper_pearson_lower(0, 100, 0.95)?, 0.0);
/// assert!((clopper_pearson_lower(60, 100, 0.95)? - 0.5129).abs() < 1e-4);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn clopper_pearson_lower(successes: u64, trials: u64, confidence: f64) -> Result<f64> {
    let error = check(successes, trials, confidence)?;
    if successes == 0 {
        return Ok(0.0);
    }
    let bound = beta_gamma::beta_lower_inverse(successes as f64, (trials - successes) as f64 + 1.0, error)?;
    Ok(bound - OUTWARDS * bound * (1.0 - bound))
}

/// A number that lies above the unknown probability with the given confidence.
///
/// # Accuracy
/// Exact one-sided coverage, as for [`clopper_pearson_lower`].
///
/// # Algorithm
/// Clopper and Pearson: the p at which seeing `successes` or fewer has probability 1 − `confidence`.
///
/// # Errors
/// As [`clopper_pearson_lower`].
///
/// # Example
/// ```
/// use reticent::numeric::interval::clopper_pearson_upper;
///
/// // The rule of three: nothing seen in n trials, so at most about 3/n.
/// assert!((clopper_pearson_upper(0, 1000, 0.95)? - 0.0030).abs() < 1e-4);
/// assert_eq!(clopper_pearson_upper(100, 100, 0.95)?, 1.0);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn clopper_pearson_upper(successes: u64, trials: u64, confidence: f64) -> Result<f64> {
    let error = check(successes, trials, confidence)?;
    if successes == trials {
        return Ok(1.0);
    }
    let bound = beta_gamma::beta_upper_inverse(successes as f64 + 1.0, (trials - successes) as f64, error)?;
    Ok(bound + OUTWARDS * bound * (1.0 - bound))
}

/// Checks the parameters and returns the allowed probability of error.
fn check(successes: u64, trials: u64, confidence: f64) -> Result<f64> {
    if trials == 0 {
        return Err(Error::parameter("trials", trials, "at least 1"));
    }
    if successes > trials {
        return Err(Error::parameter("successes", successes, "at most the number of trials"));
    }
    error_of(confidence)
}

/// 1 − `confidence`, checked.
pub(crate) fn error_of(confidence: f64) -> Result<f64> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok(1.0 - confidence)
    } else {
        Err(Error::parameter("confidence", confidence, "greater than 0 and less than 1; write for example 0.95"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X = k) for a binomial X, multiplied out term by term: independent of the functions under test.
    fn binomial_mass(trials: u64, k: u64, p: f64) -> f64 {
        let choose: f64 = (0..k).map(|i| (trials - i) as f64 / (k - i) as f64).product();
        choose * p.powi(k as i32) * (1.0 - p).powi((trials - k) as i32)
    }

    fn at_least(trials: u64, k: u64, p: f64) -> f64 {
        (k..=trials).map(|i| binomial_mass(trials, i, p)).sum()
    }

    fn at_most(trials: u64, k: u64, p: f64) -> f64 {
        (0..=k).map(|i| binomial_mass(trials, i, p)).sum()
    }

    #[test]
    fn bounds_solve_their_defining_equations() {
        for trials in [1, 2, 7, 30] {
            for confidence in [0.5, 0.95, 0.999_999] {
                let error = 1.0 - confidence;
                for k in 0..=trials {
                    let lower = clopper_pearson_lower(k, trials, confidence).unwrap();
                    let upper = clopper_pearson_upper(k, trials, confidence).unwrap();
                    assert!(0.0 <= lower && lower < upper && upper <= 1.0);
                    if k > 0 {
                        let tail = at_least(trials, k, lower) / error;
                        assert!(tail <= 1.0 + 1e-12 && tail > 1.0 - 1e-6, "{k} of {trials}: {tail}");
                    }
                    if k < trials {
                        let tail = at_most(trials, k, upper) / error;
                        assert!(tail <= 1.0 + 1e-12 && tail > 1.0 - 1e-6, "{k} of {trials}: {tail}");
                    }
                }
            }
        }
    }

    /// The coverage itself, summed over every outcome of the experiment.
    #[test]
    fn coverage_is_never_below_the_confidence() {
        let (trials, confidence) = (25, 0.9);
        let bounds: Vec<(f64, f64)> = (0..=trials)
            .map(|k| {
                let lower = clopper_pearson_lower(k, trials, confidence).unwrap();
                (lower, clopper_pearson_upper(k, trials, confidence).unwrap())
            })
            .collect();
        for step in 1..400 {
            let p = f64::from(step) / 400.0;
            let mass_where = |holds: &dyn Fn(&(f64, f64)) -> bool| -> f64 {
                (0..=trials).filter(|&k| holds(&bounds[k as usize])).map(|k| binomial_mass(trials, k, p)).sum()
            };
            assert!(mass_where(&|bound| bound.0 <= p) >= confidence - 1e-12, "lower bound at p = {p}");
            assert!(mass_where(&|bound| bound.1 >= p) >= confidence - 1e-12, "upper bound at p = {p}");
        }
    }

    /// With no success the upper bound is 1 − α^(1/n), and with successes only the lower bound is α^(1/n).
    #[test]
    fn the_edges_have_their_closed_forms() {
        let confidence = 1.0 - 1e-6;
        for trials in [1, 10, 1_000_000, 1_000_000_000] {
            assert_eq!(clopper_pearson_lower(0, trials, confidence).unwrap(), 0.0);
            assert_eq!(clopper_pearson_upper(trials, trials, confidence).unwrap(), 1.0);
            let exponent = (1.0_f64 - confidence).ln() / trials as f64;
            let upper = clopper_pearson_upper(0, trials, confidence).unwrap();
            assert!((upper / -exponent.exp_m1() - 1.0).abs() < 2e-9, "{trials}: {upper}");
            let lower = clopper_pearson_lower(trials, trials, confidence).unwrap();
            assert!((lower / exponent.exp() - 1.0).abs() < 2e-9, "{trials}: {lower}");
        }
    }

    #[test]
    fn a_billion_trials_are_no_problem() {
        let (trials, half) = (1_000_000_000, 500_000_000);
        let lower = clopper_pearson_lower(half, trials, 1.0 - 1e-6).unwrap();
        // 4.753 standard deviations of a fraction.
        let normal = 0.5 - 4.753_424 * (0.25 / trials as f64).sqrt();
        assert!((lower - normal).abs() < 1e-8, "{lower} against {normal}");
    }

    #[test]
    fn errors_name_the_parameter() {
        let message = |result: Result<f64>| result.unwrap_err().to_string();
        assert!(message(clopper_pearson_lower(0, 0, 0.9)).starts_with("trials is 0"));
        assert!(message(clopper_pearson_upper(5, 4, 0.9)).starts_with("successes is 5"));
        for bad in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(message(clopper_pearson_lower(1, 2, bad)).starts_with("confidence is "));
            assert!(message(clopper_pearson_upper(1, 2, bad)).starts_with("confidence is "));
        }
    }
}
