//! The square root of the prefix sums: c_j = C(2j, j)/4^j, the coefficients of (1 − q)^(−½).

use core::f64::consts::{LN_2, PI};

const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
/// Up to this many steps, sums are added up.
const SUMMED: u64 = 128;

/// The nearest multiples of 2^−bits, as whole numbers, for bits ≤ 30.
///
/// c_j = c_(j−1) − c_(j−1)/(2j) in units of 2^−63: an error of half a unit a step, hence below 2^−41 in all up to 2^22 steps.
pub(super) fn quantised(steps: u64, bits: u32) -> Vec<u32> {
    let mut exact = 1u64 << 63;
    let next = |j: u64| {
        if j > 0 {
            exact -= (exact + j) / (2 * j);
        }
        (((exact >> (62 - bits)) + 1) >> 1) as u32
    };
    (0..steps).map(next).collect()
}

/// Σ_{j<t} c_j²: Landau's constants.
///
/// Beyond 128 steps by their expansion, (ln N + γ + 4·ln 2)/π + 11/(192πN²) − 1541/(122880πN⁴) with N = t − ¼, whose next term
/// is below 1e-14 there.
pub(super) fn squares(t: u64) -> f64 {
    if t <= SUMMED {
        let (mut term, mut sum) = (1.0, 0.0);
        for j in 1..=t {
            sum += term;
            let ratio = (2 * j - 1) as f64 / (2 * j) as f64;
            term *= ratio * ratio;
        }
        return sum;
    }
    let n = t as f64 - 0.25;
    let square = n * n;
    (libm::log(n) + EULER_GAMMA + 4.0 * LN_2 + (11.0 / 192.0 - 1541.0 / 122_880.0 / square) / square) / PI
}

/// The mean of [`squares`] over 1 to n, in closed form.
///
/// Σ_{t≤n} Σ_{j<t} c_j² = Σ_{j<n} (n − j)·c_j², and as c_(j+1) = c_j·(2j+1)/(2j+2), the differences of 4j²c_j² are (4j + 1)·c_j²:
/// Σ_{j<n} j·c_j² = n²c_n² − ¼·Σ_{j<n} c_j².
pub(super) fn mean_squares(n: u64) -> f64 {
    let steps = n as f64;
    squares(n) * (1.0 + 0.25 / steps) - steps * square(n)
}

/// c_n².
fn square(n: u64) -> f64 {
    if n <= SUMMED {
        return (1..=n).fold(1.0, |product, j| {
            let ratio = (2 * j - 1) as f64 / (2 * j) as f64;
            product * ratio * ratio
        });
    }
    // c_n = (1 − 1/8n + 1/128n² + 5/1024n³ − 21/32768n⁴ − …)/√(πn); the next term is below 1e-13.
    let inverse = 1.0 / n as f64;
    let series =
        1.0 - inverse / 8.0 * (1.0 - inverse / 16.0 * (1.0 + inverse * 5.0 / 8.0 * (1.0 - inverse * 21.0 / 160.0)));
    series * series * inverse / PI
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sums of squares in floats, across the step where expansions take over.
    #[test]
    fn expansions_continue_the_sums() {
        let (mut c, mut sum, mut total) = (1.0_f64, 0.0, 0.0);
        for t in 1..=5000u64 {
            sum += c * c;
            total += sum;
            c *= (2 * t - 1) as f64 / (2 * t) as f64;
            assert!((squares(t) / sum - 1.0).abs() < 1e-12, "{t}");
            assert!((mean_squares(t) / (total / t as f64) - 1.0).abs() < 1e-11, "{t}");
        }
    }

    #[test]
    fn quantised_coefficients_are_the_nearest() {
        let mut c = 1.0_f64;
        for (j, &found) in (1u64..).zip(&quantised(100_000, 30)) {
            assert!((f64::from(found) - c * f64::from(1u32 << 30)).abs() < 0.501, "{j}");
            c *= (2 * j - 1) as f64 / (2 * j) as f64;
        }
    }
}
