//! Comparisons with laws computed in other ways.

use super::*;
use crate::noise::DiscreteLaplace;
use crate::numeric::mixture::{self, Mixture, Terms};

/// The masses of one discrete Laplace draw times `weight`, on the whole numbers −reach..=reach.
fn draw(scale: f64, weight: usize, reach: usize) -> Vec<f64> {
    let p = (-1.0 / scale).exp();
    let mut masses = vec![0.0; 2 * reach + 1];
    for k in 0..=reach / weight {
        let mass = (1.0 - p) / (1.0 + p) * p.powi(k as i32);
        masses[reach + k * weight] = mass;
        masses[reach - k * weight] = mass;
    }
    masses
}

/// Adds one such draw: a geometric kernel is two running sums.
fn add(masses: &[f64], scale: f64, weight: usize) -> Vec<f64> {
    let p = (-1.0 / scale).exp();
    let n = masses.len();
    let (mut up, mut down) = (masses.to_vec(), masses.to_vec());
    for k in weight..n {
        up[k] += p * up[k - weight];
    }
    for k in (0..n - weight).rev() {
        down[k] += p * down[k + weight];
    }
    (0..n).map(|k| (up[k] + down[k] - masses[k]) * (1.0 - p) / (1.0 + p)).collect()
}

/// P(|X| ≥ k·unit) for k = 0, 1, …
fn two_sided(masses: &[f64]) -> Vec<f64> {
    let middle = masses.len() / 2;
    let mut tails = vec![0.0; middle + 2];
    for k in (1..=middle).rev() {
        tails[k] = tails[k + 1] + masses[middle + k] + masses[middle - k];
    }
    tails[0] = 1.0;
    tails
}

fn law(scale: &str) -> DiscreteLaplace {
    DiscreteLaplace::new(&scale.parse().unwrap()).unwrap()
}

#[test]
fn sums_reach_as_far_as_convolution_says() {
    for (scale, most) in [("0.05", 12), ("0.5", 12), ("1", 40), ("3", 40), ("11", 24), ("20", 8), ("25", 8), ("60", 5)]
    {
        let law = law(scale);
        let b: f64 = scale.parse().unwrap();
        let mut masses = draw(b, 1, (60.0 * b * f64::from(most).sqrt()) as usize + 40);
        for terms in 1..=most {
            let tails = two_sided(&masses);
            for level in [0.5, 0.9, 0.95, 0.99, 0.999_999, 1.0 - 1e-12] {
                let exact = (0..).find(|&t| tails[t + 1] <= (1.0 - level) * (1.0 + 1e-9)).unwrap() as f64;
                let claimed = half_width(Shape::Sum { law: &law, terms: terms as u64 }, level).unwrap();
                let slack = if b > 20.0 { 1.0 } else { 0.0 };
                assert!(claimed >= exact && claimed <= exact + slack, "{scale}·{terms} at {level}: {claimed}, {exact}");
            }
            masses = add(&masses, b, 1);
        }
    }
}

/// Many terms: rounded up to few numbers, by powers of one convolution, and never less than the exact reach.
#[test]
fn sums_of_many_draws_are_hardly_too_wide() {
    for (scale, doublings) in [("0.5", 12), ("1", 11), ("6", 10), ("21", 9)] {
        let law = law(scale);
        let b: f64 = scale.parse().unwrap();
        let mut masses = draw(b, 1, (9.0 * 1.42 * b * f64::from(1 << doublings).sqrt()) as usize + 40);
        for terms in 1..=1_u64 << doublings {
            if terms > 250 && (terms % 509 == 0 || terms.is_power_of_two()) {
                let tails = two_sided(&masses);
                for level in [0.95, 0.9999] {
                    let exact = (0..).find(|&t| tails[t + 1] <= 1.0 - level).unwrap() as f64;
                    let claimed = half_width(Shape::Sum { law: &law, terms }, level).unwrap();
                    assert!(claimed >= exact && claimed <= exact * 1.005 + 1.0, "{scale}·{terms}: {claimed} {exact}");
                }
            }
            masses = add(&masses, b, 1);
        }
    }
}

/// By the gamma laws of the time that is left when one of two equal queues is served: P(L > x) = Σ_j
/// C(2m−j−1, m−1)·2^−(2m−j)·P(Gamma(j) > x).
#[test]
fn continuous_sums_agree_with_their_finite_formula() {
    for m in [1_u64, 2, 3, 8, 30] {
        for x in [0.3, 1.0, 2.0, 4.5, 12.0, 30.0] {
            let y = x * (2.0 * m as f64).sqrt(); // in units of b: the variance is 2m
            let mut tail = 0.0;
            for j in 1..=m {
                let ways = (1..m).map(|i| (m - j + i) as f64 / i as f64).product::<f64>();
                let gamma: f64 = (0..j)
                    .scan(1.0, |term, i| {
                        let now = *term;
                        *term *= y / (i + 1) as f64;
                        Some(now)
                    })
                    .sum::<f64>()
                    * (-y).exp();
                tail += ways * 0.5_f64.powi((2 * m - j) as i32) * gamma;
            }
            let mixture = Mixture::new(Terms::Equal, m, tail).outside(x);
            assert!((mixture / (2.0 * tail) - 1.0).abs() < 1e-9, "{m} {x}: {mixture} {}", 2.0 * tail);
        }
    }
}

#[test]
fn quadrature_is_right_to_its_margin() {
    for m in [1, 2, 3, 8, 64, 1 << 20] {
        for x in [0.5, 1.0, 1.96, 3.0, 6.0] {
            for kind in [Terms::Equal, Terms::AtMost] {
                let (few, many) = (Mixture::new(kind, m, 1e-12), Mixture::with_points(kind, m, 1e-12, 50_000));
                let error = few.outside(x) / many.outside(x) - 1.0;
                assert!(error.abs() < 0.5 * mixture::MARGIN, "{kind:?} {m} {x}: {error}");
            }
        }
    }
}

#[test]
fn the_table_in_the_documentation() {
    let reach = |kind, m, outside| Mixture::new(kind, m, outside).reach(outside);
    for (m, any, equal, rare) in [
        (1, 2.161, 2.118, 3.261),
        (2, 2.072, 2.057, 2.996),
        (4, 2.018, 2.013, 2.818),
        (8, 1.988, 1.987, 2.708),
        (16, 1.974, 1.973, 2.645),
        (64, 1.963, 1.963, 2.594),
        (1 << 40, 1.960, 1.960, 2.576),
    ] {
        for (claimed, value) in [
            (any, reach(Terms::AtMost, m, 0.05)),
            (equal, reach(Terms::Equal, m, 0.05)),
            (rare, reach(Terms::AtMost, m, 0.01)),
        ] {
            assert!((value - claimed).abs() < 6e-4, "{m}: {value} {claimed}");
        }
    }
}

/// Many kinds of weights in units of 1/60: the bound holds for the exact law of every rounded sum, and is not much too
/// wide.
#[test]
fn weighted_sums_stay_within_their_bounds() {
    const UNIT: usize = 60;
    let vectors: Vec<Vec<usize>> = vec![
        vec![60],
        vec![30],
        vec![60, 30],
        vec![60, 1],
        vec![42, 42],
        vec![60, 60, 60],
        vec![60, 40, 20, 20, 40, 60],
        vec![45; 4],
        vec![60, 57, 54, 51, 48, 45, 42, 39, 36, 33, 30, 27, 24, 21, 18, 15, 12, 9, 6, 3],
        vec![60; 8],
        vec![37; 9],
        [vec![60; 6], vec![30; 12], vec![20; 9]].concat(),
        [vec![60; 3], vec![5; 40]].concat(),
        [vec![60; 20], vec![11; 30]].concat(),
        vec![30; 40],
    ];
    for scale in [0.2, 0.6, 1.0, 3.0, 6.0] {
        let p: f64 = (-1.0_f64 / scale).exp();
        let one = 2.0 * p / (1.0 - p).powi(2);
        for weights in &vectors {
            let squares: f64 = weights.iter().map(|&w| (w as f64 / UNIT as f64).powi(2)).sum();
            let most = *weights.iter().max().unwrap() as f64 / UNIT as f64;
            let shape = Shape::Weighted { variance: squares * one, largest: most * most * one, narrowest: one };
            let reach = (UNIT as f64 * (45.0 * scale + 12.0 * (squares * one).sqrt() + 2.0)) as usize;
            let mut masses = draw(scale, weights[0], reach);
            for &weight in &weights[1..] {
                masses = add(&masses, scale, weight);
            }
            let tails = two_sided(&masses);
            for level in [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.999_99] {
                let outside = (1.0 - level) * (1.0 + 1e-9);
                // ⌊W + ½⌋ leaves −t..=t where W ≥ t + ½ or W < −t − ½.
                let beyond = |t: usize| tails[t * UNIT + UNIT / 2];
                let exact = (0..).find(|&t| beyond(t) <= outside).unwrap() as f64;
                let claimed = half_width(shape, level).unwrap();
                assert!(claimed >= exact, "{scale}·{weights:?} at {level}: {claimed} < {exact}");
                if level >= 0.95 && most > 0.99 && squares >= 8.0 && scale >= 3.0 {
                    assert!(
                        claimed <= exact * (1.02 + 0.35 / scale) + 1.0,
                        "{scale}·{weights:?} at {level}: {claimed} {exact}"
                    );
                }
            }
        }
    }
}

/// Adds a discrete Gaussian draw times `weight`.
fn add_gaussian(masses: &[f64], sigma_squared: f64, weight: usize) -> Vec<f64> {
    let farthest = (9.0 * sigma_squared.sqrt()).ceil() as usize + 1;
    let height = |k: usize| (-((k * k) as f64) / (2.0 * sigma_squared)).exp();
    let total = 1.0 + 2.0 * (1..=farthest).map(height).sum::<f64>();
    let mut sum: Vec<f64> = masses.iter().map(|mass| mass / total).collect();
    for k in 1..=farthest {
        let share = height(k) / total;
        for at in k * weight..masses.len() {
            sum[at] += share * masses[at - k * weight];
            sum[at - k * weight] += share * masses[at];
        }
    }
    sum
}

/// Whole weights, for which it is proved, and fractional ones, for which this is the evidence.
#[test]
fn gaussian_sums_stay_within_their_bounds() {
    const UNIT: usize = 12;
    let vectors: [&[usize]; 9] = [
        &[12],
        &[12, 12],
        &[12; 5],
        &[6],
        &[12, 6],
        &[12, 8, 4],
        &[12, 6, 3],
        &[9, 9, 9, 9],
        &[12, 12, 10, 8, 8, 6, 4, 3, 2, 1],
    ];
    for sigma_squared in [0.1, 0.7, 2.0, 5.0, 30.0] {
        for weights in vectors {
            let squares: f64 = weights.iter().map(|&w| (w as f64 / UNIT as f64).powi(2)).sum();
            let variance = sigma_squared * squares;
            let reach = (UNIT as f64 * (9.0 * variance.sqrt() + 12.0)) as usize;
            let mut masses = vec![0.0; 2 * reach + 1];
            masses[reach] = 1.0;
            for &weight in weights {
                masses = add_gaussian(&masses, sigma_squared, weight);
            }
            let tails = two_sided(&masses);
            for level in [0.3, 0.5, 0.68, 0.9, 0.95, 0.99, 0.999, 0.999_99] {
                let beyond = |t: usize| tails[t * UNIT + UNIT / 2];
                let exact = (0..).find(|&t| beyond(t) <= (1.0 - level) * (1.0 + 1e-9)).unwrap() as f64;
                let claimed = half_width(Shape::Gaussian { variance }, level).unwrap();
                assert!(claimed >= exact, "{sigma_squared}·{weights:?} at {level}: {claimed} < {exact}");
                // Below 2 it is the sub-Gaussian bound.
                if variance >= 2.0 && sigma_squared >= 2.0 {
                    assert!(claimed <= exact + 1.0, "{sigma_squared}·{weights:?} at {level}: {claimed} {exact}");
                }
            }
        }
    }
}
