//! Weighted sums of discrete Laplace draws, of which only the variance and that of the largest term are known.
//!
//! W = Σwᵢ·Xᵢ with Xᵢ independent discrete Laplace draws, perhaps of several laws, and |wᵢ| ≤ 1. Known are v ≥ Var W, ℓ ≥
//! max wᵢ²·Var Xᵢ, and n ≤ min Var Xᵢ, the variance of the narrowest law. The released noise is W rounded to the nearest
//! whole number, so it exceeds t in size only if |W| ≥ t + ½.
//!
//! **Continuous draws.** As in [`laplace_sum`](super::laplace_sum), wᵢ·Xᵢ + wᵢ·Uᵢ is a continuous Laplace draw Lᵢ of the same
//! scale; so Σ wᵢLᵢ = W + S with S = ΣwᵢUᵢ symmetric and independent of W. The variance of a discrete draw is
//! 1/(2·sinh²(1/2b)), that of the continuous one 2b²: larger by the factor 2b²/Var X, which falls as Var X grows; so the
//! factor F of the narrowest law bounds all of them. The continuous sum has at most F·v in all and F·ℓ in one term, and
//! reaches as [`mixture`](super::mixture) says, with m = ⌊v/ℓ⌋.
//!
//! **From the continuous sum to W.** Adding S could pull mass inwards, as W need not be unimodal. Let T(x) = 2·P(W ≥ x),
//! which falls. For every δ ≥ 0 with δ < x,
//!
//! > P(|W + S| > x − δ) ≥ E T(x − δ + S) ≥ P(S ≤ δ)·T(x),
//!
//! so P(|W| ≥ x) = T(x) is at most P(|W + S| > x − δ)/P(S ≤ δ). S is known well enough: each U is the difference of two
//! fractions of exponential variables; the second derivative of ln((e^u − 1)/u) is at most 1/12, so U is sub-Gaussian with
//! parameter 1/6, and S with τ² = Σwᵢ²/6 ≤ v/(6n). S is also symmetric and unimodal (log-concave) with variance at most
//! τ², so Gauss's inequality holds. The best of a few δ is used; in units of √v everything depends on m and n only.

use super::mixture::{Mixture, Terms};
use super::{cache, discrete_gaussian};

/// The values of δ that are tried, in units of τ.
const SHIFTS: [f64; 8] = [0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0];
/// Numbers of terms are distinguished up to this.
const TOLD_APART: u64 = 64;

/// A whole number that |noise| exceeds with probability at most `outside`.
#[inline]
pub fn reach(variance: f64, largest: f64, narrowest: f64, outside: f64) -> f64 {
    let class = Class::new(variance, largest, narrowest);
    if class.terms == 0 {
        return 0.0;
    }
    discrete_gaussian::whole(class.factor(outside) * libm::sqrt(variance))
}

/// What the factor depends on.
#[derive(Debug, Clone, Copy)]
struct Class {
    /// No term is larger than the whole over this.
    terms: u64,
    /// Four times log₂n, rounded down.
    quarter_octaves: i32,
}

impl Class {
    /// Rounded to the safe side.
    fn new(variance: f64, largest: f64, narrowest: f64) -> Self {
        if variance.is_nan() || variance <= 0.0 {
            return Self { terms: 0, quarter_octaves: 0 };
        }
        // A ratio that should be whole may be just below it; `factor` accounts for what is added here.
        let ratio = (variance / largest.min(variance) * (1.0 + 1e-9)).min(1e15);
        let terms = (ratio as u64).max(1);
        let shift = if terms <= TOLD_APART { 0 } else { terms.ilog2() - 3 };
        let terms = terms >> shift << shift;
        let octaves = libm::floor(4.0 * libm::log2(narrowest.max(1e-300)));
        Self { terms, quarter_octaves: octaves as i32 }
    }

    /// |W| ≤ factor·√v except with probability `outside`.
    #[inline]
    fn factor(self, outside: f64) -> f64 {
        // No scale is negative, so the key cannot be that of a sum.
        let key = ((-(self.terms as f64)).to_bits(), self.quarter_octaves as u64, outside.to_bits());
        cache::get(key, || self.computed(outside))
    }

    fn computed(self, outside: f64) -> f64 {
        let narrowest = libm::pow(2.0, f64::from(self.quarter_octaves) / 4.0);
        let widened = libm::sqrt(widening(narrowest));
        let tau = libm::sqrt(1.0 / (6.0 * narrowest));
        let mixture = Mixture::new(Terms::AtMost, self.terms, 0.5 * outside);
        let factor = |shift: f64| widened * mixture.reach(outside * (1.0 - beyond(shift))) + shift * tau;
        SHIFTS.iter().map(|&shift| factor(shift)).fold(f64::INFINITY, f64::min) * (1.0 + 2e-9)
    }
}

/// F: the variance of the continuous law over that of the discrete law of the same scale, which has this variance.
fn widening(variance: f64) -> f64 {
    let scale = scale(variance);
    2.0 * scale * scale / variance
}

/// b of the discrete Laplace law with a variance.
pub fn scale(variance: f64) -> f64 {
    0.5 / libm::asinh(1.0 / libm::sqrt(2.0 * variance))
}

/// P(S > y·τ) is at most this: Gauss's inequality and the sub-Gaussian one.
fn beyond(y: f64) -> f64 {
    let bend = 2.0 / libm::sqrt(3.0);
    let gauss = if y <= bend { 0.5 * (1.0 - y / libm::sqrt(3.0)) } else { 2.0 / (9.0 * y * y) };
    gauss.min(libm::exp(-0.5 * y * y))
}

/// An upper bound of ln P(noise ≥ at), by Chernoff's bound.
///
/// E e^(sX) is at most that of the continuous draw of the same scale, because that one is X plus an independent
/// variable of mean 0 (Jensen); it is *more* than that of a continuous draw of the same variance. For a continuous draw
/// of variance λ, ln E e^(sL) = −ln(1 − s²λ/2), convex in λ and 0 at 0; so the sum over draws of total variance F·v
/// with none above F·ℓ is at most v/ℓ times its value at F·ℓ.
pub fn log_chernoff(variance: f64, largest: f64, narrowest: f64, at: f64) -> f64 {
    let x = at - 0.5;
    if x <= 0.0 || variance.is_nan() || variance <= 0.0 {
        return if x > 0.0 { f64::NEG_INFINITY } else { 0.0 };
    }
    let largest = largest.min(variance);
    let b = libm::sqrt(0.5 * largest * widening(narrowest));
    // s = share/b, so s²·F·ℓ/2 = share².
    let exponent = |share: f64| -(variance / largest) * libm::log1p(-share * share) - share / b * x;
    exponent(crate::numeric::search::valley(1e-9, 1.0 - 1e-9, 60, exponent)).min(0.0)
}
