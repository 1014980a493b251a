//! Discrete Gaussian noise.
//!
//! The noise at a step is W = Σwᵢ·Xᵢ with Xᵢ discrete Gaussian of parameters σᵢ² on a lattice, v = Σwᵢ²σᵢ², rounded to the
//! nearest whole number. A whole number t + 1 is released only if W ≥ t + ½.
//!
//! **Whole weights ±1 on the whole numbers** (p-sums). One draw has P(X = k) = e^(−k²/2σ²)/Z with Z ≥ √(2π)·σ (Poisson
//! summation: Z = √(2π)σ·Σ_j e^(−2π²σ²j²)), so its mass is nowhere above the normal density φ_v. For a sum of two with
//! parameters a and b,
//!
//! > P(X + Y = k) = e^(−k²/2(a+b))/(Z_a·Z_b)·Σ_j e^(−(j − ck)²/2τ²), τ² = ab/(a+b), c = a/(a+b),
//!
//! and the last sum is at most √(2π)τ·(1 + 2.01·e^(−2π²τ²)) for τ² ≥ ½. So the mass stays below φ_(a+b) times that factor;
//! and by induction, adding n equal draws one by one (τ² = σ²k/(k+1) for the k-th), below φ_v·(1 + 6·10⁻⁹) for σ² ≥ 2
//! and n ≤ 2^20. φ_v is convex from √v on, so its sum over t + 1, t + 2, … is at most its integral from t + ½ on, if t + ½ ≥
//! √v. For smaller t the sum exceeds the integral by at most ∫|φ_v″|/24 ≤ 0.0404/v on each side.
//!
//! **Real weights on a lattice** that is fine against the noise, σ of 2^20 units or more (`toeplitz`, `blt`). Add to each Xᵢ a continuous normal draw of
//! standard deviation 2 lattice units: the density of the sum is within 1 ± 10⁻¹⁵ of the normal one, for each draw, by the
//! same formula; what was added moves W by a few 2^−f·√(v/σ²), which the margin of 10⁻⁶ covers.
//!
//! **Anything else**, such as fractional weights on the whole numbers, is proved only up to e^(−x²/2v) on each side (discrete
//! Gaussian draws are sub-Gaussian with their parameter \[CKS20\], and sums keep it), which [`upper_tail`] states. Four draws
//! with weights ¾ live on multiples of ¾, and may exceed t + ½ more often than normal noise does. So half a unit, half the
//! coarsest lattice that weights up to 1 can make, is added for all: t is the smallest whole number from x on, not from x − ½
//! on. That this suffices is **not proved**, but checked by exact convolution in the tests. For v < 2 the sub-Gaussian bound
//! is used for all.

use super::cache;

/// Covers the rounding of floats, and what is added above.
const MARGIN: f64 = 1e-6;

/// A whole number that |noise| exceeds with probability at most `outside`.
pub fn reach(variance: f64, outside: f64) -> f64 {
    let deviation = libm::sqrt(variance);
    if variance < 2.0 {
        let x = deviation * libm::sqrt(2.0 * libm::log(2.0 / outside));
        return whole(x * (1.0 + MARGIN));
    }
    let x = quantile(outside) * deviation;
    if x >= deviation {
        return libm::ceil(x);
    }
    let left = outside - 0.0808 / variance;
    libm::ceil((quantile(left) * deviation).min(deviation))
}

/// The smallest whole t with t + ½ ≥ x.
pub fn whole(x: f64) -> f64 {
    libm::ceil(x - 0.5).max(0.0)
}

/// The x that |N(0, 1)| exceeds with probability `outside`, rounded up by one part in 10⁶.
fn quantile(outside: f64) -> f64 {
    cache::get((u64::MAX, 0, outside.to_bits()), || two_sided_quantile(outside) * (1.0 + MARGIN) + 1e-9)
}

/// The x that |N(0, 1)| exceeds with probability `outside`.
pub fn two_sided_quantile(outside: f64) -> f64 {
    let (mut low, mut high) = (0.0, 64.0);
    // erfc decreases: bisect 60 times, to 2^−54.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if libm::erfc(middle * std::f64::consts::FRAC_1_SQRT_2) > outside { low = middle } else { high = middle }
    }
    high
}

/// P(noise ≥ at) cannot exceed this: e^(−x²/2v) at x = at − ½, because of the rounding.
pub fn upper_tail(variance: f64, at: f64) -> f64 {
    let x = at - 0.5;
    if x <= 0.0 { 1.0 } else { libm::exp(-x * x / (2.0 * variance)) * (1.0 + MARGIN) }
}
