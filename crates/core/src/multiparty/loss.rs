//! The privacy loss against more colluders than planned for.
//!
//! Let t′ > t parties of m collude. The noise that they do not know is K = A − B with A and B independent negative binomial
//! draws of shape r = (m−t′)/(m−t) < 1 and p = e^(−ε/Δ): with a_j = Γ(j+r)/(Γ(r)·j!), P(A = j) ∝ a_j·p^j, so that for s ≥ 0
//!
//! > P(K = s) = P(K = −s) ∝ p^s·Σ_j a_j·a_{j+s}·p^(2j).
//!
//! **The loss of one cell** that moves by s is ℓ(s) = ln P(0)/P(s), and grows with s. For a_{j+1}/a_j = (j+r)/(j+1) grows with
//! j and stays below 1, so s ↦ a_{j+s}·p^s is log-convex and falls; sums preserve both; so P is log-convex and falling
//! on 0, 1, 2, …. Hence for k ≥ 0, ln P(k)/P(k+s) ≤ ln P(0)/P(s); and if k < 0 < k+s, P(k) ≤ P(0) and k + s < s, so
//! that it is below ℓ(s), too.
//!
//! **The loss of all cells**, if one unit moves them by Δ in total: noise is independent, so it is Σᵢ ℓ(sᵢ) with Σᵢ sᵢ
//! ≤ Δ, and attained if all sums are as they were. Log-convexity means that ℓ is concave, so the loss is largest when
//! the Δ steps are spread evenly: over c = min(cells, Δ) cells, ⌊Δ/c⌋ or one more in each. With Δ cells or more that is
//! Δ·ℓ(1), with one cell ℓ(Δ). With r = 1, ℓ(s) = s·ε/Δ and the loss is ε however they are spread.
//!
//! **Upper bound.** ℓ(s) = s·ε/Δ + ln N/D with N = Σ a_j²·p^(2j) and D = Σ a_j·a_{j+s}·p^(2j); N is rounded up and D down.
//! Terms j < [`ONE_BY_ONE`] are added one by one. From there on j runs in blocks, each by one part in [`PARTS`] longer than the
//! last: terms are convex in j (x ↦ ln Γ(x+r) − ln Γ(x+1) is convex, the trigamma function falls), so a block's sum is at most
//! that of its chord and at least its length times the middle term. There a_x is known from that of x₀ = [`ONE_BY_ONE`]:
//!
//! > 1 ≤ a_x/a_{x₀}·((x + r/2)/(x₀ + r/2))^(1−r) ≤ e^(0.0161/x₀²) for x ≥ x₀.
//!
//! For let g(x) = Γ(x+r)/Γ(x+1)·(x + r/2)^(1−r), which tends to 1, and u = x + (1+r)/2. Then ln g(x+1)/g(x) =
//! 2(1−r)·artanh(1/2u) − 2·artanh((1−r)/2u) = Σ over odd k ≥ 3 of 2/k·(2u)^(−k)·\[(1−r) − (1−r)^k\], which is positive and falls with
//! u; hence so does −ln g(x), the sum of these over x, x + 1, …, and g grows. Its first term is r(1−r)(2−r)/(12u³), the others
//! add less than one part in 10⁵ to it, and the sum of 1/u³ is at most 1/(2x²): −ln g(x) ≤ r(1−r)(2−r)/(24x²)·(1 + 10^−5),
//! where r(1−r)(2−r) < 0.385.
//!
//! The rest of N, beyond where p^(2j) is e^−[`CUT`], is less than its first term over 1 − p². All terms are positive,
//! so the floats are off by less than 10^−11 of each sum; [`MARGIN`] covers this.

use crate::exact::Rational;
use crate::privacy::Epsilon;

/// The number of terms added one by one.
const ONE_BY_ONE: usize = 1024;
/// The length of a block, as a fraction 1/`PARTS` of what lies before it: the bound is then too large by less than
/// 10⁻⁶.
const PARTS: f64 = 1024.0;
/// e^(0.0161/x₀²), rounded up.
const WIDEN: f64 = 1.0 + 0.017 / (ONE_BY_ONE * ONE_BY_ONE) as f64;
/// −ln p^(2j) from where on N is bounded by a geometric series and D by 0.
const CUT: f64 = 44.0;
/// Covers the rounding of floats, as a part of N/D.
const MARGIN: f64 = 1e-9;
/// Significant digits to which a loss is rounded up.
const DIGITS: u32 = 6;

/// An ε that holds if the honest parties' noise has only this shape, 0 < shape < 1, on numbers that one unit can move
/// by `sensitivity` steps in total.
pub(super) fn residual(epsilon: &Epsilon, sensitivity: u64, cells: u64, shape: f64) -> Epsilon {
    let rate = epsilon.value() / &Rational::from(sensitivity);
    let noise = Residual::new(rate.to_f64(), shape);
    let touched = cells.min(sensitivity);
    let (steps, one_more) = (sensitivity / touched, sensitivity % touched);
    let mut total = (touched - one_more) as f64 * noise.loss(steps as f64);
    if one_more > 0 {
        total += one_more as f64 * noise.loss((steps + 1) as f64);
    }
    let total = Rational::from_f64_bits(total * (1.0 + MARGIN)).expect("a loss is finite");
    Epsilon::new(total.round_up(DIGITS)).expect("less noise than that of ε loses more than ε, which is positive")
}

/// The noise of too few honest parties.
struct Residual {
    /// −ln p.
    rate: f64,
    /// r.
    shape: f64,
    /// a_0, a_1, …, a of [`ONE_BY_ONE`].
    first: Vec<f64>,
    /// The first indices of the blocks, and where they end.
    blocks: Vec<f64>,
    /// N, rounded up.
    numerator: f64,
}

impl Residual {
    fn new(rate: f64, shape: f64) -> Self {
        let mut first = vec![1.0];
        for j in 0..ONE_BY_ONE {
            first.push(first[j] * (j as f64 + shape) / (j as f64 + 1.0));
        }
        let end = 0.5 * CUT / rate;
        // Whole numbers: beyond 2^53 every float is one.
        let next = |&at: &f64| (at < end).then(|| at + libm::floor(at / PARTS));
        let blocks = std::iter::successors(Some(ONE_BY_ONE as f64), next).collect();
        let mut noise = Self { rate, shape, first, blocks, numerator: 0.0 };
        noise.numerator = noise.sum_of_squares();
        noise
    }

    /// p^(2x).
    fn power(&self, x: f64) -> f64 {
        libm::exp(-2.0 * self.rate * x)
    }

    /// A lower bound of a_x: itself up to [`ONE_BY_ONE`].
    fn at_least(&self, x: f64) -> f64 {
        let last = ONE_BY_ONE as f64;
        if x <= last {
            return self.first[x as usize];
        }
        self.first[ONE_BY_ONE] * libm::pow((x + 0.5 * self.shape) / (last + 0.5 * self.shape), self.shape - 1.0)
    }

    /// N, rounded up.
    fn sum_of_squares(&self) -> f64 {
        let term = |x: f64| {
            let a = self.at_least(x) * WIDEN;
            a * a * self.power(x)
        };
        let singly = (0..ONE_BY_ONE).map(|j| self.first[j] * self.first[j] * self.power(j as f64));
        let blocks = self.blocks.windows(2).map(|block| {
            let length = block[1] - block[0];
            0.5 * ((length + 1.0) * term(block[0]) + (length - 1.0) * term(block[1]))
        });
        let end = *self.blocks.last().expect("there is a first block");
        singly.sum::<f64>() + blocks.sum::<f64>() + term(end) / -libm::expm1(-2.0 * self.rate)
    }

    /// D, rounded down.
    fn sum_of_products(&self, s: f64) -> f64 {
        let singly = (0..ONE_BY_ONE).map(|j| self.first[j] * self.at_least(j as f64 + s) * self.power(j as f64));
        let blocks = self.blocks.windows(2).map(|block| {
            let length = block[1] - block[0];
            let middle = block[0] + 0.5 * (length - 1.0);
            length * self.at_least(middle) * self.at_least(middle + s) * self.power(middle)
        });
        singly.sum::<f64>() + blocks.sum::<f64>()
    }

    /// ℓ(s) for whole s ≥ 1, rounded up.
    fn loss(&self, s: f64) -> f64 {
        s * self.rate + libm::log(self.numerator / self.sum_of_products(s)) + MARGIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(epsilon: &str, sensitivity: u64, cells: u64, shape: f64) -> f64 {
        residual(&epsilon.parse().unwrap(), sensitivity, cells, shape).to_f64()
    }

    /// ln P(0)/P(s), every term added.
    fn exact(rate: f64, shape: f64, s: usize) -> f64 {
        let terms = (40.0 / rate) as usize + 100;
        let mut a = vec![1.0_f64];
        for j in 0..terms + s {
            a.push(a[j] * (j as f64 + shape) / (j as f64 + 1.0));
        }
        let sum = |s: usize| (0..terms).rev().map(|j| a[j] * a[j + s] * (-2.0 * rate * j as f64).exp()).sum::<f64>();
        rate * s as f64 + (sum(0) / sum(s)).ln()
    }

    #[test]
    fn known_figures() {
        // By hypergeometric series: ln of ₂F₁(r,r;1;p²)/(r·p·₂F₁(r,r+1;2;p²)).
        assert!((loss("1", 1, 1, 0.5) - 1.675).abs() < 5e-4);
        assert!((loss("1", 1, 1, 0.1) - 3.296).abs() < 5e-4);
        // With almost all of the noise, almost ε: rounded up to six digits.
        assert_eq!(loss("1", 1, 1, 1.0 - 1e-9), 1.00001);
    }

    /// Never below the sum of all terms, and hardly above it, whatever lies in blocks.
    #[test]
    fn never_below_the_exact_loss_and_hardly_above() {
        for rate in [5.0, 1.0, 0.1, 1e-3, 1e-4] {
            for shape in [0.02, 1.0 / 3.0, 0.5, 0.75, 0.98] {
                let noise = Residual::new(rate, shape);
                for s in [1usize, 2, 10, 1000, 2500] {
                    let (bound, exact) = (noise.loss(s as f64), exact(rate, shape, s));
                    assert!(bound >= exact && bound <= exact + 1e-6, "{rate} {shape} {s}: {bound} {exact}");
                }
            }
        }
    }

    /// However the steps are spread over the cells, the loss is not larger than claimed; and the claim is attained.
    #[test]
    fn spreading_evenly_is_the_worst() {
        fn worst(steps: usize, cells: usize, loss: &dyn Fn(usize) -> f64) -> f64 {
            if cells == 0 {
                return 0.0;
            }
            (0..=steps).map(|s| loss(s) + worst(steps - s, cells - 1, loss)).fold(0.0, f64::max)
        }
        for shape in [0.1, 0.5, 0.9] {
            for (steps, cells) in [(1, 1), (2, 1), (2, 2), (5, 2), (7, 3), (3, 5), (6, 3)] {
                let rate = 1.0 / steps as f64;
                let exact = worst(steps, cells, &|s| if s == 0 { 0.0 } else { exact(rate, shape, s) });
                let bound = loss("1", steps as u64, cells as u64, shape);
                assert!(bound >= exact && bound < exact + 2e-4, "{shape} {steps} {cells}: {bound} {exact}");
            }
        }
    }

    /// The proof's first step, on the law itself: P(k)/P(k+s) is largest at k = 0.
    #[test]
    fn the_worst_output_is_the_old_sum() {
        for shape in [0.05, 0.5, 0.95] {
            let ln = |s: i64| if s == 0 { 0.0 } else { -exact(0.3, shape, s.unsigned_abs() as usize) };
            for s in [1, 3] {
                let at = |k: i64| ln(k) - ln(k + s);
                let largest = (-20..=20).map(at).fold(f64::MIN, f64::max);
                assert!((largest - at(0)).abs() < 1e-12, "{shape} {s}");
            }
        }
    }

    #[test]
    fn extreme_parameters_have_a_loss() {
        for (epsilon, sensitivity, cells) in
            [("1000", 1, 1), ("1e-3", 1 << 40, 1), ("1", 1 << 50, 1), ("1", 1 << 50, 1 << 24), ("1e-12", 1, 5)]
        {
            for shape in [1e-6, 0.5, 0.999] {
                let loss = loss(epsilon, sensitivity, cells, shape);
                assert!(
                    loss.is_finite() && loss >= epsilon.parse().unwrap(),
                    "{epsilon} {sensitivity} {shape}: {loss}"
                );
            }
        }
    }
}
