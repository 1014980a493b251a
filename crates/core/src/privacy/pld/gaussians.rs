//! Dominating pairs of Gaussian and discrete Gaussian noise.

use std::f64::consts::PI;

use super::cell::Cell;
use crate::exact::Rational;
use crate::numeric::normal::{Bounds, Sum, UNIT, normal_mass, upper_tail};

/// Tails are cut this many standard deviations out, where 6e-300 of the probability is left.
const REACH: f64 = 37.0;
/// Cells per standard deviation: a power of two, so that the cuts are exact.
const FINENESS: f64 = 256.0;
/// Up to this σ every outcome of discrete Gaussian noise gets its own cell.
const MAX_LISTED_SIGMA: f64 = 256.0;

/// Gaussian noise, `mu` ≥ sensitivity/σ. In units of σ, y is the distance from P's centre and Q is centred μ below:
/// the loss is μy + μ²/2. More noise is less noise plus more noise, so a larger μ is on the safe side.
pub(super) fn gaussian(mu: f64) -> Vec<Cell> {
    let loss = |y: f64| mu * y + mu * mu / 2.0;
    let slack = |y: f64| 4.0 * UNIT * (mu * y.abs() + mu * mu);
    let mut cells = tails(mu, loss(-REACH) - slack(REACH), loss(REACH) + slack(REACH));
    for index in 0..(2.0 * REACH * FINENESS) as u32 {
        let (from, to) = (-REACH + f64::from(index) / FINENESS, -REACH + f64::from(index + 1) / FINENESS);
        let (p, q) = (normal_mass(from, to), normal_mass(from + mu, to + mu));
        cells.push(Cell { p, q, low: loss(from) - slack(from), high: loss(to) + slack(to) });
    }
    cells
}

/// The mass beyond ±`REACH` around P's centre, with Q centred `mu` below.
///
/// The bounds hold for discrete noise too: terms of a falling function sum to less than its integral one step
/// earlier, and the normalising sum is at least σ√(2π) (Poisson summation).
fn tails(mu: f64, lowest: f64, highest: f64) -> Vec<Cell> {
    let p = Bounds::up_to(upper_tail(REACH).hi);
    let q_below = if mu < REACH { upper_tail((REACH - mu) * (1.0 - 1e-12)).hi } else { 1.0 };
    vec![
        Cell { p, q: Bounds::up_to(q_below), low: f64::NEG_INFINITY, high: lowest },
        Cell { p, q: p, low: highest, high: f64::INFINITY },
    ]
}

/// Discrete Gaussian noise P(k) ∝ e^{−k²/(2σ²)} of sensitivity D: with j the distance from P's centre and Q centred D
/// below, the loss is D(2j + D)/(2σ²).
///
/// The law is not monotone in σ, so σ is not rounded to a safe side; its rounding is part of each cell's error.
pub(super) fn discrete_gaussian(sigma: &Rational, sensitivity: u64) -> Vec<Cell> {
    let (s, d) = (sigma.to_f64(), sensitivity as f64);
    let loss = |j: f64| d * (2.0 * j + d) / (2.0 * s * s);
    let slack = |j: f64| 10.0 * UNIT * d * (2.0 * j.abs() + d) / (2.0 * s * s);
    let last = libm::ceil(REACH * s * (1.0 + 1e-12)) as i64;
    let reach = last as f64;
    let mut cells = tails(d / s * (1.0 + 1e-12), loss(-reach) - slack(reach), loss(reach) + slack(reach));
    if s <= MAX_LISTED_SIGMA {
        let density = Density::new(s);
        for j in -last..=last {
            let j = j as f64;
            let (p, q) = (density.at(j), density.at(j + d));
            cells.push(Cell { p, q, low: loss(j) - slack(j), high: loss(j) + slack(j) });
        }
    } else {
        let group = (s / FINENESS) as i64 + 1;
        let mut first = -last;
        while first <= last {
            let end = (first + group - 1).min(last);
            let (from, to) = (first as f64, end as f64);
            let (p, q) = (run(s, from, to), run(s, from + d, to + d));
            cells.push(Cell { p, q, low: loss(from) - slack(from), high: loss(to) + slack(to) });
            first = end + 1;
        }
    }
    cells
}

/// The discrete Gaussian law, outcome by outcome.
struct Density {
    sigma: f64,
    normalizer: f64,
}

impl Density {
    fn new(sigma: f64) -> Self {
        let mut sum = Sum::default();
        for k in (1..=libm::ceil(39.0 * sigma) as u32).rev() {
            let x = f64::from(k) / sigma;
            sum.add(2.0 * libm::exp(-x * x / 2.0));
        }
        sum.add(1.0);
        Self { sigma, normalizer: sum.value() }
    }

    /// The exponent x²/2 is off by 5 UNIT relatively (σ itself included), each summand of the normaliser likewise, on
    /// average over the law by 5 UNIT·1/2.
    fn at(&self, k: f64) -> Bounds {
        let x = k / self.sigma;
        Bounds::around(libm::exp(-x * x / 2.0) / self.normalizer, 24.0 + 3.0 * x * x)
    }
}

/// P(from ≤ K ≤ to) for discrete Gaussian K with large σ, by the Euler–Maclaurin formula at midpoints:
/// with f(x) = e^{−x²/(2σ²)}, A = from − ½ and B = to + ½,
/// Σf(k) = ∫_A^B f − (f′(B) − f′(A))/24 + R, |R| ≤ (|B₄(½)| + max|B₄|)/4!·∫|f⁗| = ∫|f⁗|/384, and
/// |f⁗| ≤ (x⁴ + 6x² + 3)/σ⁴·f in units of σ. The normalising sum is σ√(2π)·(1 + 2e^{−2π²σ²} + …), for these σ equal to
/// its first factor far below the last digit.
fn run(sigma: f64, from: f64, to: f64) -> Bounds {
    let (a, b) = ((from - 0.5) / sigma, (to + 0.5) / sigma);
    let mass = normal_mass(a, b);
    // f′/(σ√(2π)) = −x·φ(x)/σ² in units of σ.
    let slope = |x: f64| -x * libm::exp(-x * x / 2.0) / (2.0 * PI).sqrt() / (sigma * sigma);
    let correction = (slope(a) - slope(b)) / 24.0;
    let x = a.abs().max(b.abs());
    // The last term covers the rounding of the correction, whose parts may cancel.
    let remainder = mass.hi * ((x * x + 6.0) * x * x + 3.0) / (384.0 * sigma.powi(4))
        + (slope(a).abs() + slope(b).abs()) * (8.0 + 4.0 * x * x) * UNIT;
    // σ is off by up to one rounding, which moves either end by x·UNIT.
    let end = (2.0 * PI).sqrt().recip() * x * 2.0 * UNIT * 2.0 * libm::exp(-a.abs().min(b.abs()).powi(2) / 2.0);
    Bounds {
        lo: ((mass.lo + correction - remainder - end) * (1.0 - 4.0 * UNIT)).max(0.0),
        hi: (mass.hi + correction + remainder + end) * (1.0 + 4.0 * UNIT) + f64::MIN_POSITIVE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(cells: &[Cell], side: impl Fn(&Cell) -> Bounds) -> (f64, f64) {
        cells.iter().map(side).fold((0.0, 0.0), |(lo, hi), mass| (lo + mass.lo, hi + mass.hi))
    }

    #[test]
    fn every_pair_is_two_probability_laws() {
        let number = |text: &str| text.parse::<Rational>().unwrap();
        let pairs = [
            gaussian(0.001),
            gaussian(3.0),
            discrete_gaussian(&number("0.3"), 1),
            discrete_gaussian(&number("17.5"), 40),
            discrete_gaussian(&number("300.7"), 10),
            discrete_gaussian(&number("123456789.25"), 100_000_000),
        ];
        for (index, cells) in pairs.into_iter().enumerate() {
            for (lo, hi) in [total(&cells, |cell| cell.p), total(&cells, |cell| cell.q)] {
                assert!(lo <= 1.0 + 1e-12 && hi >= 1.0 - 1e-12 && hi - lo < 1e-9, "{index}: {lo} {hi}");
            }
        }
    }

    #[test]
    fn runs_agree_with_sums_over_outcomes() {
        let sigma = 300.7;
        let density = Density::new(sigma);
        for (from, to) in [(-3000, -2900), (-5, 5), (0, 0), (10, 11), (299, 302), (1500, 1700), (6000, 6004)] {
            let exact = (from..=to).map(|k| density.at(f64::from(k)));
            let (lo, hi) = exact.fold((0.0, 0.0), |(lo, hi), mass| (lo + mass.lo, hi + mass.hi));
            let bounds = run(sigma, f64::from(from), f64::from(to));
            assert!(bounds.lo <= hi && lo <= bounds.hi, "{from}..{to}: {bounds:?} against {lo}..{hi}");
            assert!(bounds.hi / bounds.lo - 1.0 < 1e-6, "{from}..{to}: {bounds:?}");
        }
    }
}
