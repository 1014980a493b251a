//! Sums of continuous Laplace draws as scale mixtures of normals.
//!
//! A Laplace draw of variance λ is a normal one of variance λ·E, with E exponential of mean 1. So a sum of independent
//! draws of variances λᵢ is a normal one of variance Q = Σλᵢ·Eᵢ, and with g(q) = P(|N(0, q)| > x) = erfc(x/√(2q))
//!
//! > P(|sum| > x) = E g(Q).
//!
//! **m equal terms** of total variance 1: Q is Gamma(m) over m, one integral.
//!
//! **Any terms, none larger than 1/m of the whole.** g′(q) ∝ q^(−3/2)·e^(−x²/2q) grows up to q = x²/3 and falls from
//! there, so g is convex and then concave. Let h be g up to x²/3 and its tangent beyond: h is convex, increasing and
//! nowhere below g, so E g(Q) ≤ E h(Q). A vector of λs with sum 1 and no entry above 1/m is majorised by m entries 1/m, and
//! the expectation of a convex function of a weighted sum of exchangeable variables grows in the order of majorisation
//! \[MOA11\]; so E h(Q) is at most its value for m equal terms. If the sum of the λs is less than 1, terms
//! can be added: h increases. What the tangent costs, as the factor c in |sum| ≤ c·standard deviation:
//!
//! | m | 1 | 2 | 4 | 8 | 16 | 64 | ∞ |
//! |---|---|---|---|---|---|---|---|
//! | 95 %, any terms | 2.161 | 2.072 | 2.018 | 1.988 | 1.974 | 1.963 | 1.960 |
//! | 95 %, m equal terms | 2.118 | 2.057 | 2.013 | 1.987 | 1.973 | 1.963 | 1.960 |
//! | 99 %, any terms | 3.261 | 2.996 | 2.818 | 2.708 | 2.645 | 2.594 | 2.576 |

use std::f64::consts::PI;

/// The error of floats and quadrature, as a part of the probability.
pub const MARGIN: f64 = 1e-6;

/// Points of the quadrature: the trapezoidal rule in ln q. The integrand is analytic and falls faster than exponentially on
/// the right and as q^m on the left; at this number the rule is right to 10⁻⁹ for g. With h, whose third derivative jumps,
/// it is right to 5·10⁻⁷ (tests compare with many more points).
const POINTS: usize = 512;
/// Points for g and 64 terms or more, where the integrand is almost a normal density: a third of its deviation apart.
const FEWER_POINTS: usize = 64;
/// What is cut off at either end, as −ln of its share of the smallest requested probability.
const CUT: f64 = 35.0;
/// Probabilities from e^−10 on need no more points than these.
const MODERATE: f64 = 10.0;

/// The function of Q that is averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Terms {
    /// g: exactly m equal terms.
    Equal,
    /// h: terms of any size, none larger than 1/m of the whole.
    AtMost,
}

/// The sum of Laplace draws with variance 1.
pub struct Mixture {
    kind: Terms,
    /// Values of Q with their probabilities.
    nodes: Vec<(f64, f64)>,
}

impl Mixture {
    /// m equal terms, or none larger than 1/m of the whole; for probabilities from `least` on.
    pub fn new(kind: Terms, m: u64, least: f64) -> Self {
        let points = if kind == Terms::Equal && m >= 64 { FEWER_POINTS } else { POINTS };
        let wider = 1.0 + (-libm::log(least) / MODERATE - 1.0).max(0.0) * MODERATE / (CUT + MODERATE);
        Self::with_points(kind, m, least, libm::ceil(points as f64 * wider) as usize)
    }

    /// [`Mixture::new`] with another number of points.
    pub fn with_points(kind: Terms, m: u64, least: f64, points: usize) -> Self {
        let m = m as f64;
        // P(Q > q) ≤ e^(−m(q − 1 − ln q)): beyond 1 + √(2c/m) + c/m it is less than e^(−c), c = `cut`. On the left only
        // normalisation is lost, as g falls there.
        let cut = CUT + (-libm::log(least)).max(MODERATE);
        let around = libm::sqrt(2.0 * cut / m);
        let (left, right) = (-(around + cut / m), libm::log1p(around + cut / m));
        let step = (right - left) / points as f64;
        // The density of ln Q is proportional to e^(m(u + 1 − e^u)).
        let weight = |u: f64| libm::exp(-m * (libm::expm1(u) - u));
        let at = (0..=points).map(|index| left + index as f64 * step);
        let mut nodes: Vec<(f64, f64)> = at.map(|u| (libm::exp(u), weight(u))).collect();
        let whole: f64 = nodes.iter().map(|node| node.1).sum();
        nodes.iter_mut().for_each(|node| node.1 /= whole);
        Self { kind, nodes }
    }

    /// P(|sum| > x), or an upper bound of it.
    pub fn outside(&self, x: f64) -> f64 {
        let turn = x * x / 3.0;
        // g at the turn, where x/√q = √3, and g′ = x·q^(−3/2)·φ(x/√q) there.
        let at_turn = libm::erfc(libm::sqrt(1.5));
        let slope = x / (turn * libm::sqrt(turn)) * libm::exp(-1.5) / libm::sqrt(2.0 * PI);
        let value = |q: f64| match self.kind {
            Terms::AtMost if q > turn => at_turn + slope * (q - turn),
            _ => libm::erfc(x / libm::sqrt(2.0 * q)),
        };
        self.nodes.iter().map(|&(q, probability)| probability * value(q)).sum()
    }

    /// An x with P(|sum| > x) ≤ outside, too large by less than one part in 10⁶.
    pub fn reach(&self, outside: f64) -> f64 {
        let allowed = outside * (1.0 - MARGIN);
        let excess = |x: f64| libm::log(self.outside(x).max(f64::MIN_POSITIVE) / allowed);
        let (mut low, mut high) = (1e-3, 1.0);
        if self.outside(low) <= allowed {
            return low;
        }
        while excess(high) > 0.0 {
            low = high;
            high *= 2.0;
        }
        let (mut at_low, mut at_high) = (excess(low), excess(high));
        // False position with halving (Illinois): `low` never fits, `high` always does.
        let mut last_moved_high = false;
        while high - low > 5e-7 * high {
            let guess = (low * at_high - high * at_low) / (at_high - at_low);
            // Stay inside, and far enough from the ends to make progress.
            let middle = guess.clamp(low + 1e-7 * (high - low), high - 1e-7 * (high - low)).max(low + 2e-7 * high);
            let middle = if middle < high { middle } else { 0.5 * (low + high) };
            let value = excess(middle);
            if value <= 0.0 {
                (high, at_high) = (middle, value);
                if last_moved_high {
                    at_low *= 0.5;
                }
                last_moved_high = true;
            } else {
                (low, at_low) = (middle, value);
                if !last_moved_high {
                    at_high *= 0.5;
                }
                last_moved_high = false;
            }
        }
        high
    }
}
