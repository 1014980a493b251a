//! Lower bounds on the error of any counter.

use crate::privacy::Rho;

const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
/// Up to this many, singular values are added one by one.
const SUMMED: u64 = 64;

/// The least average root mean square error that any factorisation L·R = A of the prefix sums over `steps` steps can
/// have under ρ-zCDP, if one step moves by 1: √(mean over the steps of the variance).
///
/// It holds a fortiori for noise on a lattice and answers rounded to whole numbers.
///
/// # Accuracy
/// With noise z of variance σ² = ‖R‖²/(2ρ), where ‖R‖ is the largest L2 norm of a column of R, the mean square error is
/// ‖L‖_F²·σ²/T. As ‖R‖_F² ≤ T·‖R‖², this is at least ‖L‖_F²·‖R‖_F²/(2ρT²) ≥ ‖A‖_*²/(2ρT²): the nuclear norm ‖A‖_* of a
/// product is at most ‖L‖_F·‖R‖_F \[HUU23\]. The singular values of A are 1/(2·sin((2k−1)π/(4T+2))), k = 1 to T. Beyond 64
/// steps their sum is taken from its expansion, with m = 2T + 1:
/// Σ_(k=1..m) 1/sin((2k−1)π/(2m)) = (2m/π)(γ + ln(8m/π)) + π/(72m) + O(m^−3), whose error is below 1e-9 of it there.
///
/// # Example
/// ```
/// use reticent::continual::bounds::lower_bound;
///
/// let bound = lower_bound(1 << 20, &"0.024355934605668213".parse()?);
/// assert!((bound - 23.1737).abs() < 1e-4);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn lower_bound(steps: u64, rho: &Rho) -> f64 {
    let steps = steps.max(1);
    let odd = (2 * steps + 1) as f64;
    let twice_the_norm = if steps <= SUMMED {
        (1..=steps).map(|k| 1.0 / libm::sin((2 * k - 1) as f64 * core::f64::consts::PI / (2.0 * odd))).sum::<f64>()
    } else {
        use core::f64::consts::PI;
        let all = 2.0 * odd / PI * (EULER_GAMMA + libm::log(8.0 * odd / PI)) + PI / (72.0 * odd);
        // All angles but π/2, where the sine is 1, occur twice.
        (all - 1.0) / 2.0
    };
    twice_the_norm / 2.0 / steps as f64 / libm::sqrt(2.0 * rho.value().to_f64())
}

/// ln n/4 − 1: a counter of n bits that is 1-differentially private errs by at least this at some step, with probability
/// at least ½ on some stream \[DNPR10\].
///
/// # Accuracy
/// Suppose all answers err by less than a with probability above ½. Cut the steps into n/(2a) blocks; let stream i be 1 in
/// block i and 0 elsewhere, and T_i the event that the answers at block ends are below a before block i and above a from its
/// end on. T_i has probability above ½ on stream i, so above e^(−4a)/2 on stream 1, from which stream i differs in 4a bits.
/// The T_i are disjoint: n/(2a)·e^(−4a)/2 < 1. But a = ln n/4 − 1 makes this e⁴/(4a) = e⁴/(ln n − 4), which is above 1 for all
/// n < 2^84. (For n below e⁴ the bound is negative and says nothing.)
///
/// # Example
/// ```
/// let bound = reticent::continual::bounds::lower_bound_pure(1 << 20);
/// assert!((2.46..2.47).contains(&bound));
/// ```
pub fn lower_bound_pure(steps: u64) -> f64 {
    libm::log(steps.max(1) as f64) / 4.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rho(text: &str) -> Rho {
        text.parse().unwrap()
    }

    #[test]
    fn reference_values_are_met() {
        let rho = rho("0.024355934605668213");
        for (steps, bound) in [(1 << 10, 13.1830), (1 << 16, 19.1751), (1 << 20, 23.1737), (1 << 24, 27.1724)] {
            assert!((lower_bound(steps, &rho) - bound).abs() < 6e-5, "{steps}");
        }
    }

    /// For one step and for two by hand: A = (1), and the norm of ((1,0),(1,1)) is √5.
    #[test]
    fn small_matrices_agree() {
        let half = rho("0.5");
        assert!((lower_bound(1, &half) - 1.0).abs() < 1e-12);
        assert!((lower_bound(2, &half) - libm::sqrt(5.0) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_expansion_continues_the_sum() {
        let half = rho("0.5");
        for steps in [SUMMED + 1, 1000] {
            let sum: f64 = (1..=steps)
                .map(|k| 0.5 / libm::sin((2 * k - 1) as f64 * core::f64::consts::PI / (4 * steps + 2) as f64))
                .sum();
            assert!((lower_bound(steps, &half) / (sum / steps as f64) - 1.0).abs() < 1e-9);
        }
    }
}
