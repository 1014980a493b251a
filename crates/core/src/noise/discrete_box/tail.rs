//! How far the coordinates of [`DiscreteBox`](super::DiscreteBox) noise reach.
//!
//! P(R) ∝ (2R+1)^D·p^R, and m coordinates are uniform on −R..=R, so
//!
//! > P(some of m beyond t) = Σ_{R>t} P(R)·(1 − ((2t+1)/(2R+1))^m).
//!
//! **Small scales**: term by term.
//!
//! **Large scales s**: let G have the density ∝ x^D·e^−x/s. Rounded to the nearest whole number it has the masses v(r) =
//! ∫(r−½+u)^D·e^−(r−½+u)/s du over 0..1 (from 0 on, if r = 0). v(r)/((2r+1)^D·p^r) is an integral over (r−½+u)/(r+½) =
//! 1 − (1−u)/(r+½) to the power D with factors that do not depend on r, so it grows with r: the rounded G is larger than R
//! in the likelihood ratio order, hence stochastically. What is summed above grows with R, and R ≤ G + ½ in 2R+1 gives
//!
//! > P(some of m beyond t) ≤ E\[1 − ((2t+1)/(2G+2))^m; G > t+½\].
//!
//! With (x+1)^−m ≥ x^−m·(1 − m/x), y = (t+½)/s and the series of the incomplete gamma function, Γ(n+1, y) = n!·e^−y·Σ_{i≤n}
//! yⁱ/i!, that is at most
//!
//! > e^−y·Σ_{i≤D} yⁱ/i!·(1 − (1 − m/(t+½))·C(i, m)/C(D, m)),
//!
//! all of whose terms are positive. At D = m = 1 and without the correction it is e^−y, the tail of Laplace noise.
//!
//! **Sums** Σwᵢzᵢ of k coordinates: a coordinate is a number that is uniform within ±(R+½), rounded, and R + ½ ≤ G + 1, so
//! |Σwᵢzᵢ| is at most G·X + 3/2·Σ|wᵢ| with X = |Σwᵢuᵢ|, the uᵢ uniform within ±1 and independent of G. Their sum exceeds x ≥ 0
//! with probability Σ_σ (Πσᵢ)·(σ·w − x)₊^k/(2^k·k!·Πwᵢ), over all signs σ ∈ {−1, 1}^k, for wᵢ > 0. Given G = g the tail of G·X
//! beyond τ is twice that at x = τ/g; with n = D − k and y = τ/(s·a), a = σ·w,
//!
//! > E\[(a − τ/G)₊^k\] = a^k/D!·e^−y·∫v^k·(y + v)^n·e^−v dv = a^k·e^−y·Σ_{i≤n} C(n, i)·(D−i)!/D!·yⁱ.
//!
//! Terms of different signs cancel if some weight is small compared with the largest. Such a weight is replaced by a 64th
//! of the largest: a sum of independent, symmetric and unimodal numbers becomes less peaked if one of them is stretched
//! \[A55\], so no tail becomes smaller.

use crate::error::{Error, Result};

/// Up to this scale, tails are summed term by term.
const SUMMED_UP_TO: f64 = 64.0;
/// Relative margin for sums of positive terms in `f64`: at most 40,000 terms, each good to a few thousand units in the last
/// place (an exponent of at most 2,000).
const MARGIN: f64 = 1e-8;

/// The law of R, and of coordinates given R.
pub(super) struct Radii {
    /// D
    coordinates: f64,
    /// s, rounded up.
    scale: f64,
    /// P(R) for R = 0, 1, …; `None` where tails are not summed.
    masses: Option<Vec<f64>>,
}

impl Radii {
    pub fn new(coordinates: u32, scale: f64) -> Self {
        let coordinates = f64::from(coordinates);
        let masses = (scale <= SUMMED_UP_TO).then(|| {
            // P(G > y·s) < 10^−70 at this y: Chernoff's bound for a gamma variable of shape D + 1.
            let shape = coordinates + 1.0;
            let end = scale * (shape + libm::sqrt(2.0 * 162.0 * shape) + 162.0) + 4.0;
            // Divided by the value where the logarithm is largest, 2R + 1 = 2Ds.
            let peak = (2.0 * coordinates * scale).max(1.0);
            let weight = |r: f64| {
                let sides = 2.0 * r + 1.0;
                libm::exp(coordinates * libm::log(sides / peak) - (sides - peak) / (2.0 * scale))
            };
            let weights: Vec<f64> = (0..end as u64).map(|r| weight(r as f64)).collect();
            let all: f64 = weights.iter().rev().sum();
            weights.into_iter().map(|weight| weight / all).collect()
        });
        Self { coordinates, scale, masses }
    }

    /// An upper bound on P(one of m coordinates is beyond t).
    pub fn beyond(&self, together: u32, t: u64) -> f64 {
        let m = f64::from(together);
        let Some(masses) = &self.masses else {
            let reach = t as f64 + 0.5;
            return (self.series(m, reach / self.scale, m / reach) * (1.0 + MARGIN)).min(1.0);
        };
        let inside = 2.0 * t as f64 + 1.0;
        let from = usize::try_from(t).map_or(masses.len(), |t| masses.len().min(t.saturating_add(1)));
        let outside = |(r, mass): (usize, &f64)| mass * -libm::expm1(m * libm::log(inside / (2.0 * r as f64 + 1.0)));
        let sum: f64 = masses.iter().enumerate().skip(from).rev().map(outside).sum();
        sum * (1.0 + MARGIN) + 1e-68
    }

    /// e^−y·Σ_{i≤D} yⁱ/i!·(1 − (1 − correction)·C(i, m)/C(D, m)).
    fn series(&self, m: f64, y: f64, correction: f64) -> f64 {
        let kept = (1.0 - correction).max(0.0);
        let (mut power, mut sum) = (libm::exp(-y), 0.0);
        for i in 0..=self.coordinates as u32 {
            let i = f64::from(i);
            // C(i, m)/C(D, m) = Π (i−j)/(D−j) over j < m.
            let share: f64 =
                (0..m as u32).map(|j| (i - f64::from(j)).max(0.0) / (self.coordinates - f64::from(j))).product();
            sum += power * (1.0 - kept * share);
            power *= y / (i + 1.0);
        }
        sum
    }

    /// About 1 + the t beyond which this much lies.
    pub fn near(&self, together: u32, allowed: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1000.0);
        for _ in 0..52 {
            let middle = f64::midpoint(low, high);
            if self.series(f64::from(together), middle, 0.0) <= allowed { high = middle } else { low = middle }
        }
        1.0 + libm::ceil(high * self.scale - 0.5)
    }

    /// E z² = E R(R+1)/3 = (E(2R+1)² − 1)/12.
    ///
    /// Σ(2r+1)^k·e^−(2r+1)θ over r ≥ 0, with θ = 1/2s, is the k-th derivative of 1/(2·sinh θ) = 1/2θ − θ/12 + …, up to its
    /// sign: k!/(2θ^(k+1)) up to a relative error of θ^(k+1). So E(2R+1)² is 4s²(D+1)(D+2) where the scale is large.
    pub fn variance(&self) -> f64 {
        let of_sides = match &self.masses {
            Some(masses) => {
                masses.iter().enumerate().rev().map(|(r, mass)| mass * libm::pow(2.0 * r as f64 + 1.0, 2.0)).sum()
            }
            None => 4.0 * self.scale * self.scale * (self.coordinates + 1.0) * (self.coordinates + 2.0),
        };
        (of_sides - 1.0) / 12.0
    }
}

/// A weighted sum of some coordinates, in units of the scale.
pub(super) struct WeightedSum {
    /// D
    coordinates: u32,
    /// Positive; none is small compared with the largest.
    weights: Vec<f64>,
}

/// The most weights: every combination of their signs is looked at.
const MOST_WEIGHTS: usize = 6;

impl WeightedSum {
    pub fn new(coordinates: u32, weights: &[f64]) -> Result<Self> {
        let is_sound = weights.iter().all(|weight| weight.is_finite());
        let largest = weights.iter().fold(0.0, |most: f64, weight| most.max(weight.abs()));
        let used = weights.iter().map(|weight| weight.abs()).filter(|weight| *weight > 0.0);
        let weights: Vec<f64> = used.map(|weight| weight.max(largest / 64.0)).collect();
        let most = MOST_WEIGHTS.min(coordinates as usize);
        match is_sound && (1..=most).contains(&weights.len()) {
            true => Ok(Self { coordinates, weights }),
            false => {
                Err(Error::parameter("number of weights", weights.len(), "from 1 to 6, and at most that of the law"))
            }
        }
    }

    /// What rounding to whole numbers adds: less than 3/2 for each coordinate.
    pub fn rounding(&self) -> f64 {
        1.5 * self.weights.iter().sum::<f64>()
    }

    /// The τ beyond which at most `allowed` lies, rounded up.
    pub fn reach(&self, allowed: f64) -> f64 {
        let (mut low, mut high) = (0.0, 2000.0 * self.weights.iter().sum::<f64>());
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if self.beyond(middle) * (1.0 + MARGIN) <= allowed { high = middle } else { low = middle }
        }
        high
    }

    /// P(G·X > τ)
    fn beyond(&self, tau: f64) -> f64 {
        let k = self.weights.len();
        let signed = |signs: usize| {
            let sign = |place: usize| if signs >> place & 1 == 1 { -1.0 } else { 1.0 };
            let reach: f64 = self.weights.iter().enumerate().map(|(place, weight)| sign(place) * weight).sum();
            let parity = (0..k).map(sign).product::<f64>();
            if reach <= 0.0 { 0.0 } else { parity * self.term(tau / reach) * libm::pow(reach, k as f64) }
        };
        let divisor: f64 =
            self.weights.iter().enumerate().map(|(place, weight)| 2.0 * weight * (place + 1) as f64).product();
        2.0 * (0..1usize << k).map(signed).sum::<f64>() / divisor
    }

    /// e^−y·Σ_{i≤n} C(n, i)·(D−i)!/D!·yⁱ
    fn term(&self, y: f64) -> f64 {
        let n = self.coordinates - self.weights.len() as u32;
        let (mut power, mut sum) = (libm::exp(-y), 0.0);
        for i in 0..=n {
            sum += power;
            power *= y * f64::from(n - i) / (f64::from(i + 1) * f64::from(self.coordinates - i));
        }
        sum
    }
}
