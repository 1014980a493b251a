//! The poles and zeros with the least error.

use super::factor::{Answers, sensitivity_squared, weights};

/// κ may not be smaller: the fixed point of the buffers would not hold what accumulates over 1/κ steps.
pub(super) const LEAST_KAPPA: f64 = 1.0 / (1u64 << 42) as f64;
/// The maximum number of steps of the descent; it ends much sooner.
const MOST_ROUNDS: usize = 200;
/// A round that gains less than this, twice in a row, is the last.
const LEAST_GAIN: f64 = 1e-9;
/// The largest change of a logarithm in one step.
const FARTHEST: f64 = 0.3;
/// For central differences: the error of the gradient is about 1e-8 of the curvature, and 1e-11 from rounding.
const DIFFERENCE: f64 = 1e-4;

/// Poles and zeros of a factorisation, and its mean square error for unit sensitivity and ρ = ½.
#[derive(Debug, Clone)]
pub(super) struct Optimum {
    pub poles: Vec<f64>,
    pub weights: Vec<f64>,
    pub error: f64,
}

/// The factorisation with this many buffers that minimises sensitivity² × mean square of the answers' noise over n
/// steps.
///
/// # Algorithm
/// ln(κ/(1−κ)) of poles and zeros in turn form an increasing sequence; its first element and the logarithms of its
/// differences are free of constraints. Quasi-Newton descent (BFGS) on the logarithm of the error, with gradients by central
/// differences, from equally spaced logarithms between 3/n and about 1. Deterministic.
pub(super) fn optimise(buffers: usize, n: u64) -> Optimum {
    let n = n as f64;
    let size = 2 * buffers;
    let spread = libm::log(n) + 0.5;
    let mut at = vec![libm::log(spread / size as f64); size];
    at[0] = 1.0 - libm::log(n);
    let mut value = error(&at, n);
    let mut slope = gradient(&at, n);
    let mut inverse = identity(size);
    let mut idle = 0;
    for _ in 0..MOST_ROUNDS {
        let mut direction = times(&inverse, &slope);
        direction.iter_mut().for_each(|d| *d = -*d);
        if dot(&direction, &slope) >= 0.0 {
            inverse = identity(size);
            direction = slope.iter().map(|s| -s).collect();
        }
        // Nothing moves further than this at once: a pole that runs into a zero would stay there.
        let longest = direction.iter().fold(FARTHEST, |longest, d| longest.max(d.abs()));
        direction.iter_mut().for_each(|d| *d *= FARTHEST / longest);
        let descent = dot(&direction, &slope);
        let mut length = 1.0;
        let next = loop {
            let trial: Vec<f64> = at.iter().zip(&direction).map(|(a, d)| a + length * d).collect();
            let trial_value = error(&trial, n);
            if trial_value <= value + 1e-4 * length * descent {
                break Some((trial, trial_value));
            }
            length /= 2.0;
            if length < 1e-9 {
                break None;
            }
        };
        let Some((next, next_value)) = next else { break };
        idle = if value - next_value < LEAST_GAIN { idle + 1 } else { 0 };
        let next_slope = gradient(&next, n);
        let moved: Vec<f64> = next.iter().zip(&at).map(|(new, old)| new - old).collect();
        let turned: Vec<f64> = next_slope.iter().zip(&slope).map(|(new, old)| new - old).collect();
        update(&mut inverse, &moved, &turned);
        (at, value, slope) = (next, next_value, next_slope);
        if idle >= 2 {
            break;
        }
    }
    let (poles, zeros) = places(&at);
    let weights = weights(&poles, &zeros);
    Optimum { poles, weights, error: libm::exp(value) }
}

/// κ of poles and zeros.
fn places(at: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut poles, mut zeros) = (Vec::with_capacity(at.len() / 2), Vec::with_capacity(at.len() / 2));
    let least = libm::log(LEAST_KAPPA * 1.01);
    let mut place = 0.0;
    for (index, value) in at.iter().enumerate() {
        // Bounds that only a flat valley reaches: poles and zeros stay apart, and distinguishable in fixed point.
        place = if index == 0 { value.max(least) } else { place + libm::exp(value.clamp(-7.0, 4.0)) };
        let kappa = 1.0 / (1.0 + libm::exp(-place));
        if index % 2 == 0 { poles.push(kappa) } else { zeros.push(kappa) }
    }
    (poles, zeros)
}

/// ln(sensitivity² × mean square).
fn error(at: &[f64], n: f64) -> f64 {
    let (poles, zeros) = places(at);
    if poles.iter().zip(&zeros).any(|(pole, zero)| zero <= pole) || zeros.last().is_some_and(|&zero| zero > 1.0 - 1e-9)
    {
        return f64::INFINITY;
    }
    let sensitivity = sensitivity_squared(&poles, &weights(&poles, &zeros), n);
    let value = libm::log(sensitivity * Answers::new(&poles, &zeros).mean_squares(n));
    if value.is_nan() { f64::INFINITY } else { value }
}

fn gradient(at: &[f64], n: f64) -> Vec<f64> {
    let mut shifted = at.to_vec();
    let mut slope = |index: usize| {
        shifted[index] = at[index] + DIFFERENCE;
        let above = error(&shifted, n);
        shifted[index] = at[index] - DIFFERENCE;
        let below = error(&shifted, n);
        shifted[index] = at[index];
        let slope = (above - below) / (2.0 * DIFFERENCE);
        // At the edge of the allowed range the slope is 0.
        if slope.is_finite() { slope } else { 0.0 }
    };
    (0..at.len()).map(&mut slope).collect()
}

fn identity(size: usize) -> Vec<Vec<f64>> {
    (0..size).map(|i| (0..size).map(|k| if i == k { 1.0 } else { 0.0 }).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, vector)).collect()
}

/// BFGS: the symmetric matrix nearest to the old one that explains the change of the slope.
fn update(inverse: &mut [Vec<f64>], moved: &[f64], turned: &[f64]) {
    let curvature = dot(moved, turned);
    if curvature <= 1e-14 {
        return;
    }
    let mapped = times(inverse, turned);
    let scale = (1.0 + dot(turned, &mapped) / curvature) / curvature;
    for (i, row) in inverse.iter_mut().enumerate() {
        for (k, entry) in row.iter_mut().enumerate() {
            *entry += scale * moved[i] * moved[k] - (mapped[i] * moved[k] + moved[i] * mapped[k]) / curvature;
        }
    }
}
