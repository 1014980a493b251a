//! The exact law of a sum of equal discrete Laplace draws.
//!
//! Let p = e^(−1/b), v = 2p/(1−p)² and X the sum of m draws, f its masses. m need not be whole: the noise that parties add in
//! shares is the difference of two negative binomial draws of shape m, which for whole m is the same.
//!
//! **Recurrence.** The generating function F(z) = ((1−p)²/((1−pz)(1−p/z)))^m has zF′/F = mp(z − 1/z)/((1−pz)(1−p/z)).
//! Comparing coefficients,
//!
//! > p·(k−1+m)·f(k−1) = (1+p²)·k·f(k) − p·(k+1−m)·f(k+1).
//!
//! Of the two solutions, which behave like p^k and p^(−k), f is the one that falls; so the recurrence run downwards
//! from far out forgets its starting values, as p^(2n) after n steps (Miller's algorithm), and the masses are
//! normalised by their sum. Below k = m all terms are positive; above, cancellation removes less than two thirds. The
//! relative error is a few roundings per step.
//!
//! **Domination.** An exponential variable is its whole part, which is geometric, plus an independent fraction. So the
//! continuous Laplace law of the same scale b is the discrete one plus an independent symmetric fraction, and L, the sum of
//! m continuous draws, is X + U with U symmetric and independent. X is symmetric and unimodal (a convolution of log-concave
//! laws on the whole numbers), so X + V with V uniform on (−½, ½) has a symmetric unimodal density, and adding something
//! independent and symmetric to it can only move mass outwards \[A55\]. Hence for whole t
//!
//! > P(|X| > t) = P(|X + V| > t + ½) ≤ P(|L + V| > t + ½) = ∫ P(|L| > y) dy over \[t, t + 1\].
//!
//! The density d of |L| falls by at most the factor e^(−y/b) within y, so d(t) ≤ P(|L| > t)/b, and with the convexity of
//! P(|L| > ·) the integral is at most P(|L| > t+½)·(1 + e^(1/2b)/(4b²)). From b = 20 on this is within 0.07 %, and the
//! variance of L within 0.05 %.
//!
//! **Number of terms.** By the same argument P(|X| > t) grows with m; so m may be rounded up. (For any m ≥ 1: a negative
//! binomial law of shape 1 or more is log-concave, too.)
//!
//! **Fractional m > 1, large scale.** An exponential variable's fraction cannot be divided, so the comparison above is
//! not available. But the laws of all scales are nearly one: let β = 1/(2·sinh(1/2b)), so that X has the characteristic
//! function φ(θ) =
//! (1 + 4β²·sin²(θ/2))^(−m), and L the continuous law with ψ(θ) = (1 + β²θ²)^(−m), which is β times a fixed law. Then with y =
//! t + ½
//!
//! > P(X ≤ t) − P(L ≤ y) = 1/π·∫₀^π (φ(θ)/(2·sin(θ/2)) − ψ(θ)/θ)·sin(yθ) dθ − 1/π·∫_π^∞ ψ(θ)/θ·sin(yθ) dθ.
//!
//! On (0, π], 1/(2·sin(θ/2)) − 1/θ ≤ 0.058·θ; and with 4·sin²(θ/2) = θ²(1−u), u/(1−u) ≤ θ²π²/48, by the mean value theorem φ − ψ
//! ≤ m·u/(1−u)·φ ≤ 0.206·m·θ²·φ. So the first bracket lies between 0 and (0.058 + 0.206·m)·θ·φ(θ), where φ(θ) ≤ (1 +
//! 4β²θ²/π²)^(−m), and m·∫₀^π θ·φ(θ) dθ ≤ π²/(4β²)·ln(1 + 4β²) (for m ≤ 2 from (1 − A^(1−m))/(m−1) ≤ ln A, for larger m from
//! m/(m−1) ≤ 2). The last integral is below 1/(2π²β²). Together, for both sides, |P(|X| > t) − P(|L| > t + ½)| ≤ ½·ln(1 +
//! 4β²)/β²: two in a million at scale 2048. So larger scales are derived from that one.
//!
//! **Very many terms.** |P(X ≤ y) − Φ(y/√(mv))| ≤ 0.4748·E|K|³/(v^1.5·√m) \[Sh11\], with E|K|³ =
//! 2p(1+4p+p²)/((1+p)(1−p)³); used where that is less than a hundredth of the requested probability.

use super::discrete_gaussian;
use super::mixture::{MARGIN, Mixture, Terms};
use crate::numeric::search::valley;

/// Scales up to this use the exact law, larger ones the continuous one.
const FINE: f64 = 20.0;
/// The same for more terms than are distinguished, where the continuous law is within 0.2 % from this scale on.
const FINE_FOR_MANY: f64 = 5.0;
/// Below this scale a draw is 0 except with probability 4·10⁻²².
const NARROW: f64 = 0.02;
/// The maximum number of masses computed for one law.
const MOST_MASSES: f64 = 2_097_152.0;

/// The scale from which the laws of fractional numbers of terms are derived, if theirs is larger.
const COARSE: f64 = 2048.0;

/// Numbers of terms are distinguished up to this, and to one part in this beyond.
const TOLD_APART: u64 = 256;

/// Rounds up a number of terms to one of few values.
#[inline]
pub fn at_least(terms: u64) -> u64 {
    if terms <= TOLD_APART {
        return terms;
    }
    let shift = terms.ilog2() - TOLD_APART.ilog2();
    terms.div_ceil(1 << shift).saturating_mul(1 << shift)
}

/// The sum of independent discrete Laplace draws of one scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaplaceSum {
    /// b.
    scale: f64,
    /// m: a whole number, or a fraction above 1.
    terms: f64,
}

impl LaplaceSum {
    /// The sum of `terms` draws of this scale.
    pub fn new(scale: f64, terms: u64) -> Self {
        Self { scale, terms: terms as f64 }
    }

    /// The noise of parties whose shares add up to those of m/(m−t) curators: `all` over `honest`, at least 1.
    pub fn of_shares(scale: f64, all: u32, honest: u32) -> Self {
        debug_assert!(all >= honest && honest > 0);
        Self { scale, terms: f64::from(all) / f64::from(honest) }
    }

    fn is_whole(self) -> bool {
        libm::floor(self.terms) == self.terms
    }

    fn p(self) -> f64 {
        libm::exp(-1.0 / self.scale)
    }

    /// The variance of the sum.
    pub fn variance(self) -> f64 {
        self.terms * self.variance_of_one()
    }

    fn variance_of_one(self) -> f64 {
        let sinh = libm::sinh(0.5 / self.scale);
        0.5 / (sinh * sinh)
    }

    /// A whole number that |sum| exceeds with probability at most `outside`.
    pub fn reach(self, outside: f64) -> f64 {
        let (b, m) = (self.scale, self.terms);
        let allowed = outside * (1.0 - MARGIN);
        let p = self.p();
        if m == 0.0 {
            return 0.0;
        }
        if m == 1.0 {
            // P(|K| > t) = 2p^(t+1)/(1+p).
            return libm::ceil(b * libm::log(2.0 / (allowed * (1.0 + p))) - 1.0).max(0.0);
        }
        // If no draw differs from 0, neither does the sum.
        if 2.0 * p / (1.0 + p) * libm::ceil(m) <= allowed {
            return 0.0;
        }
        let deviation = libm::sqrt(self.variance());
        let uneven = self.uneven();
        if 2.0 * uneven <= 0.01 * outside {
            return discrete_gaussian::whole(discrete_gaussian::two_sided_quantile(allowed - 2.0 * uneven) * deviation);
        }
        let chernoff = libm::floor(self.chernoff_reach(-libm::log(allowed / 2.0)));
        if b < NARROW {
            return chernoff;
        }
        let fine = match self.is_whole() {
            false => COARSE,
            true if m <= TOLD_APART as f64 => FINE,
            true => FINE_FOR_MANY,
        };
        if b <= fine && self.length(allowed) <= MOST_MASSES {
            return self.masses(allowed).reach(allowed);
        }
        if !self.is_whole() {
            return self.read_off(allowed).unwrap_or(f64::INFINITY).min(chernoff);
        }
        let widen = 1.0 + libm::exp(0.5 / b) / (4.0 * b * b);
        let x = Mixture::new(Terms::Equal, self.terms as u64, outside / widen).reach(outside / widen)
            * b
            * libm::sqrt(2.0 * m);
        discrete_gaussian::whole(x).min(chernoff)
    }

    /// [`LaplaceSum::reach`] from the law of a coarser scale; `None` if that is too far from this one for such a small
    /// probability, or too long itself.
    fn read_off(self, allowed: f64) -> Option<f64> {
        let coarse = Self { scale: COARSE, ..self };
        let beta = |law: Self| 0.5 / libm::sinh(0.5 / law.scale);
        let off = |law: Self| 0.5 * libm::log1p(4.0 * beta(law) * beta(law)) / (beta(law) * beta(law));
        let left = allowed - off(self) - off(coarse);
        if self.scale <= COARSE || left < 0.99 * allowed || coarse.length(left) > MOST_MASSES {
            return None;
        }
        let t = coarse.masses(left).reach(left);
        Some(discrete_gaussian::whole((t + 0.5) * (beta(self) / beta(coarse)) * (1.0 + 1e-12)))
    }

    /// A bound on the distance between the law of the sum and the normal one.
    fn uneven(self) -> f64 {
        if !self.is_whole() {
            return f64::INFINITY;
        }
        let p = self.p();
        let third = 2.0 * p * (1.0 + 4.0 * p + p * p) / ((1.0 + p) * libm::pow(1.0 - p, 3.0));
        0.4748 * third / (libm::pow(self.variance_of_one(), 1.5) * libm::sqrt(self.terms))
    }

    /// ln E e^(sX) = −m·ln(1 − (sinh(s/2)/sinh(1/2b))²), for s = share/b.
    fn log_moment(self, share: f64) -> f64 {
        let ratio = libm::sinh(0.5 * share / self.scale) / libm::sinh(0.5 / self.scale);
        -self.terms * libm::log1p(-ratio * ratio)
    }

    /// An upper bound of ln P(X ≥ at), by Chernoff's bound with the exact moments; any share is valid, and the code
    /// searches for the best.
    pub fn log_chernoff(self, at: f64) -> f64 {
        let exponent = |share: f64| self.log_moment(share) - share / self.scale * at;
        exponent(valley(1e-9, 1.0 - 1e-9, 40, exponent)).min(0.0)
    }

    /// An x with P(X ≥ x) ≤ e^(−`log_odds`), by Chernoff's bound. Every share gives a valid x, so the search for the
    /// smallest needs no proof. Shares up to 1 − 10^−6 keep the float error of ln(1 − …) below 10^−9 of it.
    pub fn chernoff_reach(self, log_odds: f64) -> f64 {
        let x = |share: f64| (log_odds + self.log_moment(share)) * self.scale / share;
        x(valley(1e-9, 1.0 - 1e-6, 24, x))
    }

    /// P(X ≥ at) for at ≥ 1, rounded up; where the exact law would take too long, the better of Chernoff's bound and that of
    /// the continuous law.
    pub fn upper_tail(self, at: f64) -> f64 {
        let (b, m) = (self.scale, self.terms);
        let at = libm::ceil(at);
        if m == 0.0 {
            return 0.0;
        }
        if m == 1.0 {
            return libm::exp(-at / b) / (1.0 + self.p()) * (1.0 + MARGIN);
        }
        let chernoff = libm::exp(self.log_chernoff(at)) * (1.0 + MARGIN);
        let least = chernoff * 1e-16;
        let exact = (NARROW..=FINE).contains(&b) && least > super::LEAST;
        if exact && self.chernoff_reach(-libm::log(least)) + 20.0 * b + 4.0 <= MOST_MASSES.min(1e6 / libm::sqrt(m)) {
            return (self.masses(least * 1e13).upper_tail(at) * (1.0 + MARGIN) + least).min(chernoff);
        }
        // Far below Chernoff's bound there is nothing, and floats would underflow.
        if least < super::LEAST || !self.is_whole() {
            return chernoff;
        }
        // Half of the continuous law's bound on P(|X| > at − 1).
        let widen = 1.0 + libm::exp(0.5 / b) / (4.0 * b * b);
        let x = (at - 0.5) / (b * libm::sqrt(2.0 * m));
        let continuous = 0.5 * Mixture::new(Terms::Equal, self.terms as u64, least).outside(x) * widen * (1.0 + MARGIN);
        chernoff.min(continuous)
    }

    /// The number of masses needed.
    fn length(self, outside: f64) -> f64 {
        self.chernoff_reach(-libm::log(outside * 1e-13)) + 20.0 * self.scale + 4.0
    }

    /// The masses at 0, 1, … up to where all the rest is below `outside`·10⁻¹³.
    fn masses(self, outside: f64) -> Masses {
        let (p, m) = (self.p(), self.terms);
        let farthest = libm::ceil(self.length(outside));
        let mut masses = vec![0.0; farthest as usize + 2];
        // Grows to less than 10^150 times this: by 1/outside, and e^60 or so.
        let (mut beyond, mut here) = (0.0, 1e-200);
        let mut total = 0.0;
        for k in (0..=farthest as usize).rev() {
            masses[k] = here;
            total += if k == 0 { here } else { 2.0 * here };
            let k = k as f64;
            let below = ((1.0 + p * p) * k * here - p * (k + 1.0 - m) * beyond) / (p * (k - 1.0 + m));
            (beyond, here) = (here, below);
        }
        Masses { masses, total }
    }
}

/// f(0), f(1), …, and the sum over all whole numbers by which they are divided.
struct Masses {
    masses: Vec<f64>,
    total: f64,
}

impl Masses {
    /// The smallest t with P(|X| > t) ≤ outside.
    fn reach(&self, outside: f64) -> f64 {
        let allowed = outside * self.total;
        let mut tail = 0.0;
        for (k, mass) in self.masses.iter().enumerate().rev() {
            tail += 2.0 * mass;
            if tail > allowed {
                return k as f64;
            }
        }
        0.0
    }

    /// P(X ≥ at), at ≥ 1, except for what was cut off.
    fn upper_tail(&self, at: f64) -> f64 {
        let from = (at as usize).min(self.masses.len());
        self.masses[from..].iter().rev().sum::<f64>() / self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(|A − B| ≥ t) for t = 0, 1, …, with A and B negative binomial of this shape: every pair of values added up.
    fn tails(scale: f64, shape: f64, reach: usize) -> Vec<f64> {
        let p = (-1.0 / scale).exp();
        let mut one = vec![(1.0 - p).powf(shape)];
        for k in 1..=reach {
            one.push(one[k - 1] * p * (k as f64 - 1.0 + shape) / k as f64);
        }
        let mass = |t: usize| (0..=reach - t).map(|j| one[j] * one[j + t]).sum::<f64>();
        let mut tails = vec![0.0; reach + 2];
        for t in (0..=reach).rev() {
            tails[t] = tails[t + 1] + if t == 0 { mass(0) } else { 2.0 * mass(t) };
        }
        tails
    }

    #[test]
    fn shares_reach_as_far_as_their_law_says() {
        for (scale, all, honest) in [(0.05, 4, 3), (0.5, 7, 2), (1.0, 4, 3), (3.0, 5, 2), (11.0, 10, 9), (25.0, 3, 2)] {
            let law = LaplaceSum::of_shares(scale, all, honest);
            let tails = tails(scale, f64::from(all) / f64::from(honest), (60.0 * scale) as usize + 60);
            for outside in [0.5, 0.05, 1e-3, 1e-6] {
                let exact = (0..).find(|&t| tails[t + 1] <= outside).unwrap() as f64;
                assert_eq!(law.reach(outside), exact, "{scale}·{all}/{honest} at {outside}");
            }
            assert!(law.chernoff_reach(-libm::log(1e-6)) >= law.reach(2e-6));
        }
    }

    /// The reach derived from a coarser law is not less than the exact one, and hardly more.
    #[test]
    fn large_scales_are_read_off() {
        for (scale, all, honest) in [(3000.0, 4, 3), (5000.0, 50, 3), (9000.0, 11, 10)] {
            let law = LaplaceSum::of_shares(scale, all, honest);
            for outside in [0.5, 0.05, 0.01] {
                let (claimed, exact) = (law.reach(outside), law.masses(outside).reach(outside));
                assert!(claimed >= exact && claimed <= exact * 1.0005 + 2.0, "{scale} {outside}: {claimed}, {exact}");
            }
        }
        // Where the laws are too far apart for the probability, another bound is used.
        let law = LaplaceSum::of_shares(3000.0, 4, 3);
        assert!(law.reach(1e-9) >= law.masses(1e-9).reach(1e-9));
        // The largest allowed scales.
        assert!((LaplaceSum::of_shares(1e15, 4, 3).reach(0.05) / 1e15 - law.reach(0.05) / 3000.0).abs() < 1e-3);
    }

    #[test]
    fn whole_numbers_of_shares_are_draws() {
        for (scale, terms) in [(1.0, 1), (4.0, 3), (70.0, 2)] {
            let (shares, draws) = (LaplaceSum::of_shares(scale, 2 * terms, 2), LaplaceSum::new(scale, terms.into()));
            assert_eq!((shares.reach(0.05), shares.variance()), (draws.reach(0.05), draws.variance()));
        }
    }
}
