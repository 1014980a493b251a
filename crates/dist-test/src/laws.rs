//! The distributions that samples are compared with, computed from their formulas alone.

use std::collections::BTreeMap;

use reticent::audit::{ExpectedLaw, GoodnessOfFit};

/// How often each value was drawn.
pub type Counts = BTreeMap<i64, u64>;

/// Draws and counts.
pub fn count(samples: u64, mut draw: impl FnMut() -> i64) -> Counts {
    let mut counts = Counts::new();
    for _ in 0..samples {
        *counts.entry(draw()).or_default() += 1;
    }
    counts
}

/// Discrete Laplace noise in blocks of 2^`shift`, K = ⌊K/2^shift⌋: the sum of P(k) over a block, by geometric series.
pub fn laplace(scale: f64, shift: u32) -> ExpectedLaw {
    let width = 2f64.powi(shift as i32);
    let p = (-1.0 / scale).exp();
    // P(v) for v ≥ 0 is P(K ≥ 0)·(1−p^B)·p^(Bv), and the mirror image starts at −1.
    let (up, down) = (1.0 / (1.0 + p), p / (1.0 + p));
    let block = |side: f64, v: f64| side * -(-width / scale).exp_m1() * (-width * v / scale).exp();
    window(scale / width, |v| if v >= 0 { block(up, v as f64) } else { block(down, (-v - 1) as f64) })
}

/// Discrete Gaussian noise in blocks of 2^`shift`: term by term up to σ = 10,000.
pub fn gaussian(sigma: f64, shift: u32) -> ExpectedLaw {
    let width = 1i64 << shift;
    let weight = |k: i64| (-(k as f64 / sigma).powi(2) / 2.0).exp();
    let reach = (9.0 * sigma) as i64 + 9;
    let total = 1.0 + 2.0 * (1..=reach).rev().map(weight).sum::<f64>();
    window(sigma / width as f64, |v| (v * width..(v + 1) * width).map(weight).sum::<f64>() / total)
}

/// Rounded Gaussian noise in blocks of 2^`shift`: differences of the normal distribution function.
pub fn rounded_gaussian(sigma: f64, shift: u32) -> ExpectedLaw {
    let width = 2f64.powi(shift as i32);
    // Both tails are small where they are subtracted.
    let beyond = |x: f64| 0.5 * libm::erfc(x / (sigma * std::f64::consts::SQRT_2));
    let between =
        |from: f64, to: f64| if from >= 0.0 { beyond(from) - beyond(to) } else { beyond(-to) - beyond(-from) };
    window(sigma / width, |v| between(v as f64 * width - 0.5, (v as f64 + 1.0) * width - 0.5))
}

/// One of D coordinates of box noise in blocks of 2^`shift`, from the definition P(z) ∝ p^max|zᵢ|: a coordinate k comes
/// with others up to |k|, or with a largest one of r > |k| among the others.
pub fn box_coordinate(coordinates: i32, scale: f64, shift: u32) -> ExpectedLaw {
    let (p, others) = ((-1.0 / scale).exp(), coordinates - 1);
    let within = |r: i64| (2.0 * r as f64 + 1.0).powi(others);
    let reach = (60.0 * scale) as i64 + 60;
    // Σ over r > |k|, from the far end on.
    let mut farther = vec![0.0; reach as usize + 2];
    for r in (1..=reach).rev() {
        farther[r as usize - 1] = farther[r as usize] + (within(r) - within(r - 1)) * p.powf(r as f64);
    }
    let weight = |k: i64| {
        let k = k.abs();
        if k > reach { 0.0 } else { within(k) * p.powf(k as f64) + farther[k as usize] }
    };
    let total = weight(0) + 2.0 * (1..=reach).rev().map(weight).sum::<f64>();
    let width = 1i64 << shift;
    window(scale / width as f64, |v| (v * width..(v + 1) * width).map(weight).sum::<f64>() / total)
}

/// The largest of D coordinates of box noise, of either sign: (2r+1)^D − (2r−1)^D points have the weight p^r.
pub fn box_radius(coordinates: i32, scale: f64) -> ExpectedLaw {
    let sides = |r: i64| (2.0 * r as f64 + 1.0).powi(coordinates);
    let points = |r: i64| if r == 0 { 1.0 } else { sides(r) - sides(r - 1) };
    let weights: Vec<f64> = (0..(60.0 * scale) as i64 + 60).map(|r| points(r) * (-(r as f64) / scale).exp()).collect();
    let total: f64 = weights.iter().rev().sum();
    let masses: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
    let above = (1.0 - masses.iter().sum::<f64>()).max(0.0);
    ExpectedLaw::new(0, 0.0, masses, above).expect("the masses add up")
}

/// Negative binomial noise.
pub fn negative_binomial(shape: f64, scale: f64) -> ExpectedLaw {
    let p = (-1.0 / scale).exp();
    let mut mass = (1.0 - p).powf(shape);
    let mut masses = vec![mass];
    for k in 1..=(40.0 * scale) as u64 + 40 {
        mass *= p * (k as f64 - 1.0 + shape) / k as f64;
        masses.push(mass);
    }
    let above = (1.0 - masses.iter().sum::<f64>()).max(0.0);
    ExpectedLaw::new(0, 0.0, masses, above).expect("the masses add up")
}

/// The difference of two negative binomial numbers: the sum of parties' noise shares.
pub fn shares(shape: f64, scale: f64) -> ExpectedLaw {
    let p = (-1.0 / scale).exp();
    let reach = (60.0 * scale) as usize + 200;
    let mut one = vec![(1.0 - p).powf(shape)];
    for k in 1..=2 * reach {
        one.push(one[k - 1] * p * (k as f64 - 1.0 + shape) / k as f64);
    }
    let mass = |k: i64| (0..=reach).map(|j| one[j] * one[j + k.unsigned_abs() as usize]).sum::<f64>();
    window(scale, mass)
}

/// Values within 30 scales of 0, and the mass on either side.
fn window(scale: f64, mass: impl Fn(i64) -> f64) -> ExpectedLaw {
    let reach = (30.0 * scale) as i64 + 30;
    let masses: Vec<f64> = (-reach..=reach).map(mass).collect();
    let outside = (1.0 - masses.iter().sum::<f64>()).max(0.0) / 2.0;
    ExpectedLaw::new(-reach, outside, masses, outside).expect("the masses add up")
}

/// The χ² test, or a panic that shows its table.
pub fn fit(law: &ExpectedLaw, counts: &Counts) -> GoodnessOfFit {
    GoodnessOfFit::test(law, counts).expect("enough samples for two cells")
}
