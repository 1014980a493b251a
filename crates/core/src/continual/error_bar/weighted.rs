//! Weighted sums of discrete Laplace draws, of which only the variance and that of the largest term are known.
//!
//! W = Σwᵢ·Xᵢ with Xᵢ independent discrete Laplace draws; v its variance, ℓ = max wᵢ²·Var Xᵢ. Either the draws are of **one
//! law with all |wᵢ| ≤ 1**; or all weights are ±1, the laws may differ, and v and ℓ are given as those of continuous draws of
//! the same scales (2b² each). The released noise is W rounded to the nearest whole number, so it exceeds t in size only if
//! |W| ≥ t + ½.
//!
//! **Continuous draws.** As in [`laplace_sum`](super::laplace_sum), wᵢ·Xᵢ + wᵢ·Uᵢ is a continuous Laplace draw Lᵢ of the same
//! scale; so Σ wᵢLᵢ = W + S with S = ΣwᵢUᵢ symmetric and independent of W. The variance of a discrete draw is
//! 1/(2·sinh²(1/2b)), that of the continuous one 2b²: larger by the factor 2b²/Var X, which falls as Var X grows. Var X ≥
//! ℓ, because the largest weight is at most 1; so the factor at Var X = ℓ bounds it. The continuous sum reaches as
//! [`mixture`](super::mixture) says, with m = ⌊v/ℓ⌋.
//!
//! **Weights ±1**: W is a unimodal whole number, and P(|W| > t) is at most P(|ΣLᵢ| > t + ½)·(1 + e^(1/2b)/(4b²)), b the
//! largest scale, as for equal draws. The factor is at least what this asks for.
//!
//! **From the continuous sum to W.** Adding S could pull mass inwards, as W need not be unimodal. Let T(x) = 2·P(W ≥ x),
//! which falls. Moving the draw with the largest weight w by one unit changes its mass by at most the factor e^(1/b), so
//! T(x + kw) ≥ e^(−k/b)·T(x) for whole k ≥ 0, and T(x + s) ≥ ρ(s)·T(x) with ρ(s) = 1 for s ≤ 0 and ρ(s) = e^(−1/b − s/bw)
//! for s > 0. Therefore, for every δ ≥ 0 with δ < x,
//!
//! > P(|W + S| > x − δ) ≥ E T(x − δ + S) ≥ κ·T(x), κ = E ρ(S − δ),
//!
//! and P(|W| ≥ x) = T(x) is at most P(|W + S| > x − δ)/κ. Here bw ≥ √(ℓ/2), and S is known well enough: each U is the
//! difference of two fractions of exponential variables; the second derivative of ln((e^u − 1)/u) is at most 1/12, so
//! U is sub-Gaussian with parameter 1/6, and S with τ² = Σwᵢ²/6 ≤ v/(6ℓ). S is also symmetric and unimodal (log-concave)
//! with variance at most τ², so Gauss's inequality holds. κ is bounded from below by sums over steps. The best of a few δ is
//! taken; in units of √v all depends on m and ℓ only.

use super::mixture::{Mixture, Terms};
use super::{cache, normal};

/// δ in units of τ that are tried.
const SHIFTS: [f64; 8] = [0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0];
/// Steps in the sum that bounds κ.
const STEPS: usize = 64;
/// Numbers of terms are told apart up to this.
const TOLD_APART: u64 = 64;

/// A whole number that |noise| exceeds with probability at most `outside`.
#[inline]
pub fn reach(variance: f64, largest: f64, outside: f64) -> f64 {
    let class = Class::new(variance, largest);
    if class.terms == 0 {
        return 0.0;
    }
    normal::whole(class.factor(outside) * libm::sqrt(variance))
}

/// As [`reach`], for any sum of draws of one law with variance `largest`, |weights| ≤ 1 and a variance of at most
/// `variance`, whatever its largest weight.
pub fn reach_of_all(variance: f64, largest: f64, outside: f64) -> f64 {
    let class = Class::new(variance, largest);
    if class.terms == 0 {
        return 0.0;
    }
    normal::whole(class.computed(outside, f64::INFINITY) * libm::sqrt(variance))
}

/// What the factor depends on.
#[derive(Debug, Clone, Copy)]
struct Class {
    /// No term is larger than the whole over this.
    terms: u64,
    /// v/ℓ is less than this.
    fewer_than: u64,
    /// Four times log₂ℓ, rounded down.
    quarter_octaves: i32,
}

impl Class {
    /// Rounded to the safe side.
    fn new(variance: f64, largest: f64) -> Self {
        if variance.is_nan() || variance <= 0.0 {
            return Self { terms: 0, fewer_than: 0, quarter_octaves: 0 };
        }
        // A ratio that should be whole may be just below it; `factor` pays for what is added here.
        let ratio = (variance / largest.min(variance) * (1.0 + 1e-9)).min(1e15);
        let terms = (ratio as u64).max(1);
        let shift = if terms <= TOLD_APART { 0 } else { terms.ilog2() - 3 };
        let terms = terms >> shift << shift;
        let octaves = libm::floor(4.0 * libm::log2(largest.min(variance).max(1e-300)));
        Self { terms, fewer_than: terms + (1 << shift), quarter_octaves: octaves as i32 }
    }

    /// |W| ≤ factor·√v but for `outside`.
    #[inline]
    fn factor(self, outside: f64) -> f64 {
        // No scale is negative, so the key is no sum's.
        let key = ((-(self.terms as f64)).to_bits(), self.quarter_octaves as u64, outside.to_bits());
        cache::get(key, || self.computed(outside, libm::sqrt(2.0 * self.fewer_than as f64)))
    }

    /// With ρ(s) = e^(−1/b − fall·s), s in units of √v.
    fn computed(self, outside: f64, fall: f64) -> f64 {
        let largest = libm::pow(2.0, f64::from(self.quarter_octaves) / 4.0);
        let scale = scale(largest);
        let widened = libm::sqrt(2.0 * scale * scale / largest);
        let tau = libm::sqrt(1.0 / (6.0 * largest));
        let mixture = Mixture::new(Terms::AtMost, self.terms, 0.5 * outside);
        let factor = |shift: f64| {
            let kept = kept(shift, fall * tau, libm::exp(-1.0 / scale));
            widened * mixture.reach(outside * kept) + shift * tau
        };
        let unimodal = mixture.reach(outside / (1.0 + libm::exp(0.5 / scale) / (4.0 * scale * scale)));
        SHIFTS.iter().map(|&shift| factor(shift)).fold(f64::INFINITY, f64::min).max(unimodal) * (1.0 + 2e-9)
    }
}

/// b of the discrete Laplace law with a variance.
pub fn scale(variance: f64) -> f64 {
    0.5 / libm::asinh(1.0 / libm::sqrt(2.0 * variance))
}

/// Less than E ρ(S − δ), in units of τ: 1 − (1−first)·P(S > δ) − first·∫ fall·e^(−fall·s)·P(S > δ + s) ds.
fn kept(shift: f64, fall: f64, first: f64) -> f64 {
    if fall == f64::INFINITY {
        return 1.0 - beyond(shift);
    }
    // With s = −ln(1 − u)/fall the integral is over u from 0 to 1; left ends, because P(S > ·) falls.
    let step = |index: usize| beyond(shift - libm::log1p(-(index as f64) / STEPS as f64) / fall);
    let integral = (0..STEPS).map(step).sum::<f64>() / STEPS as f64;
    1.0 - (1.0 - first) * beyond(shift) - first * integral
}

/// P(S > y·τ) is at most this: Gauss's inequality and the sub-Gaussian one.
fn beyond(y: f64) -> f64 {
    let bend = 2.0 / libm::sqrt(3.0);
    let gauss = if y <= bend { 0.5 * (1.0 - y / libm::sqrt(3.0)) } else { 2.0 / (9.0 * y * y) };
    gauss.min(libm::exp(-0.5 * y * y))
}

/// ln P(noise ≥ at) cannot exceed this, by Chernoff's bound.
///
/// E e^(sX) is at most that of the continuous draw of the same scale, because that one is X plus something independent of
/// mean 0 (Jensen); it is *more* than that of a continuous draw of the same variance. For a continuous draw of variance λ, ln
/// E e^(sL) = −ln(1 − s²λ/2), convex in λ and 0 at 0; so the sum over draws of total variance v with none above ℓ is at most
/// v/ℓ times its value at ℓ.
pub fn log_chernoff(variance: f64, largest: f64, at: f64) -> f64 {
    let x = at - 0.5;
    if x <= 0.0 || variance.is_nan() || variance <= 0.0 {
        return if x > 0.0 { f64::NEG_INFINITY } else { 0.0 };
    }
    let largest = largest.min(variance);
    let b = scale(largest);
    // s = share/b, so s²·2b²/2 = share².
    let exponent = |share: f64| -(variance / largest) * libm::log1p(-share * share) - share / b * x;
    exponent(crate::privacy::special::valley(1e-9, 1.0 - 1e-9, 60, exponent)).min(0.0)
}
