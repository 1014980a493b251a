//! A buffered linear Toeplitz factorisation in closed form: its sensitivity and its error.
//!
//! C(q) = Σ c_j q^j = Π(1 − θ̂_i q)/Π(1 − θ_i q) = 1 + Σ ω_i q/(1 − θ_i q), so that c_0 = 1 and c_j = Σ ω_i θ_i^(j−1).
//! The noise of an answer is L·z with L(q) = 1/((1 − q)·C(q)), whose coefficients are l_j = a_0 + Σ a_i θ̂_i^j. If poles and
//! zeros interlace, 1 > θ_1 > θ̂_1 > θ_2 > … ≥ 0, all ω_i and all a_i are positive.
//!
//! Everything is computed from κ = 1 − θ, which may be as small as 2^−42: every difference of two θ is a difference of two
//! κ, and every sum below has positive terms only, so that no precision is lost.

use super::MOST_BUFFERS;

/// Π_k (zeros_k − at) / Π_{k≠skipped} (poles_k − at).
fn residue(zeros: &[f64], poles: &[f64], skipped: usize, at: f64) -> f64 {
    let mut product = 1.0;
    for (k, (zero, pole)) in zeros.iter().zip(poles).enumerate() {
        product *= zero - at;
        if k != skipped {
            product /= pole - at;
        }
    }
    product
}

/// ω_i, from κ_i and κ̂_i.
pub(super) fn weights(poles: &[f64], zeros: &[f64]) -> Vec<f64> {
    poles.iter().enumerate().map(|(i, &pole)| residue(zeros, poles, i, pole)).collect()
}

/// The zeros κ̂ of 1 + Σ ω_i/(κ_i − y): one between every two poles and one beyond the last, at most 1.
pub(super) fn zeros(poles: &[f64], weights: &[f64]) -> Vec<f64> {
    let value = |y: f64| 1.0 + poles.iter().zip(weights).map(|(pole, weight)| weight / (pole - y)).sum::<f64>();
    let zero = |(i, &pole): (usize, &f64)| {
        // Between poles the function increases from −∞ to ∞: bisect until no float is left in between.
        let (mut low, mut high) = (pole, poles.get(i + 1).copied().unwrap_or(1.0));
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || middle >= high {
                return middle;
            }
            if value(middle) < 0.0 { low = middle } else { high = middle }
        }
    };
    poles.iter().enumerate().map(zero).collect()
}

/// −ln θ from κ = 1 − θ.
fn rate(kappa: f64) -> f64 {
    -libm::log1p(-kappa)
}

/// Σ_{j<n} e^(−rate·j).
fn geometric(rate: f64, n: f64) -> f64 {
    if n > 0.0 { libm::expm1(-rate * n) / libm::expm1(-rate) } else { 0.0 }
}

/// The mean of [`geometric`] over 1 to n.
fn mean_geometric(rate: f64, n: f64) -> f64 {
    if rate * n < 1e-3 {
        // Σ_{j<n} (1 − j/n)·e^(−rate·j), by powers of the rate; the next term is below 2e-11 of the first.
        return (n + 1.0) / 2.0 - rate * (n * n - 1.0) / 6.0 + rate * rate * n * (n * n - 1.0) / 24.0;
    }
    let rest = geometric(rate, n) / n * libm::exp(-rate);
    (1.0 - rest) / -libm::expm1(-rate)
}

/// Σ_{j<n} c_j².
pub(super) fn sensitivity_squared(poles: &[f64], weights: &[f64], n: f64) -> f64 {
    let mut sum = 1.0;
    for (pole, weight) in poles.iter().zip(weights) {
        for (other_pole, other_weight) in poles.iter().zip(weights) {
            sum += weight * other_weight * geometric(rate(*pole) + rate(*other_pole), n - 1.0);
        }
    }
    sum
}

/// Σ_{j<t} l_j² for any t, and its mean.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    /// a_0 and a_i, the rate of the first being 0.
    amplitudes: Vec<f64>,
    rates: Vec<f64>,
    fast: Box<Fast>,
}

/// How Σ_{j<t} l_j² depends on E_i = 1 − θ̂_i^t: constant·t + Σ linear_i·E_i − Σ quadratic_ik·E_i·E_k. Buffers that do not
/// exist have rate 0, so E = 0: loops of fixed length are several times as fast.
#[derive(Debug, Clone, Default)]
struct Fast {
    constant: f64,
    rates: [f64; MOST_BUFFERS],
    linear: [f64; MOST_BUFFERS],
    quadratic: [[f64; MOST_BUFFERS]; MOST_BUFFERS],
}

impl Answers {
    pub(super) fn new(poles: &[f64], zeros: &[f64]) -> Self {
        let constant = poles.iter().zip(zeros).map(|(pole, zero)| pole / zero).product();
        let amplitude = |(i, &zero): (usize, &f64)| -residue(poles, zeros, i, zero) / zero;
        let amplitudes: Vec<f64> = [constant].into_iter().chain(zeros.iter().enumerate().map(amplitude)).collect();
        let rates: Vec<f64> = [0.0].into_iter().chain(zeros.iter().map(|&zero| rate(zero))).collect();
        Self { amplitudes, rates, fast: Box::default() }
    }

    /// Prepared for [`Answers::squares`].
    pub(super) fn prepared(mut self) -> Self {
        self.fast.constant = self.amplitudes[0] * self.amplitudes[0];
        // 1 − p^t = E_i + E_k − E_i·E_k for p = θ̂_i·θ̂_k: no less than the larger of both.
        let pair = |i: usize, k: usize| {
            self.amplitudes[i] * self.amplitudes[k] / -libm::expm1(-(self.rates[i] + self.rates[k]))
        };
        for i in 1..self.rates.len() {
            self.fast.rates[i - 1] = self.rates[i];
            self.fast.linear[i - 1] = 2.0 * (0..self.rates.len()).map(|k| pair(i, k)).sum::<f64>();
            for k in 1..self.rates.len() {
                self.fast.quadratic[i - 1][k - 1] = pair(i, k);
            }
        }
        self
    }

    /// Σ_{j<t} l_j².
    pub(super) fn squares(&self, t: u64) -> f64 {
        let t = t as f64;
        let Fast { constant, rates, linear, quadratic } = &*self.fast;
        let gone = rates.map(|rate| one_minus_exp(rate * t));
        let mut sum = constant * t;
        for i in 0..MOST_BUFFERS {
            let mut row = linear[i];
            for k in 0..MOST_BUFFERS {
                row -= quadratic[i][k] * gone[k];
            }
            sum += gone[i] * row;
        }
        sum
    }

    /// The mean of [`Answers::squares`] over 1 to n.
    pub(super) fn mean_squares(&self, n: f64) -> f64 {
        let mut sum = 0.0;
        for (amplitude, rate) in self.amplitudes.iter().zip(&self.rates) {
            for (other_amplitude, other_rate) in self.amplitudes.iter().zip(&self.rates) {
                sum += amplitude * other_amplitude * mean_geometric(rate + other_rate, n);
            }
        }
        sum
    }
}

/// 1 − e^(−u), with shortcuts: most buffers of a long stream are either full or still empty.
#[inline]
fn one_minus_exp(u: f64) -> f64 {
    if u > 40.0 {
        1.0
    } else if u < 0.02 {
        // The next term is below 1e-15 of the first.
        u * (1.0 - u / 2.0 * (1.0 - u / 3.0 * (1.0 - u / 4.0 * (1.0 - u / 5.0 * (1.0 - u / 6.0 * (1.0 - u / 7.0))))))
    } else {
        1.0 - libm::exp(-u)
    }
}
