//! Convolution by Fourier transform, with every rounding error accounted for.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::grid::GridPart;
use super::plan::Plan;
use crate::numeric::normal::UNIT;

/// Relative error of a transform of length N in the Euclidean norm, per log₂N and UNIT. The analysis gives about 7 for
/// radix 2 and well-computed roots of unity \[Hig02\]; other radices do no worse.
const TRANSFORM: f64 = 32.0;
/// Where the product of the spectra is certainly below this, it is treated as zero.
const NOTHING: f64 = 1e-18;
/// Covers the rounding of the error bounds themselves.
const SAFETY: f64 = 1.01;

/// Upper bounds of δ(ε) at consecutive multiples of a step.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub step: f64,
    /// The multiple of the step at which the first bound holds.
    pub first: i64,
    /// Decreasing; δ(ε) is at most the last for every larger ε.
    pub deltas: Vec<f64>,
    /// Chernoff's bound for every ε, used outside the window.
    pub bound: Chernoff,
    /// The part of these bounds that is due to errors alone.
    pub noise: Noise,
}

/// The error of every tilted bin, as a share of δ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    pub theta: f64,
    /// ln of the error of an untilted bin at loss 0.
    pub log_error: f64,
    /// What is added at every ε.
    pub base: f64,
}

/// δ(ε) ≤ infinite + e^{log_moment − θε}, because h(s) ≤ e^{θ(s − ε)}.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chernoff {
    pub theta: f64,
    pub log_moment: f64,
    pub infinite: f64,
}

impl Chernoff {
    /// Rounding changes the exponent by a few UNIT of its terms.
    fn slack(&self, epsilon: f64) -> f64 {
        8.0 * UNIT * (self.log_moment.abs() + self.theta * epsilon.abs() + 8.0)
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let exponent = self.log_moment - self.theta * epsilon + self.slack(epsilon);
        (self.infinite + libm::exp(exponent)) * (1.0 + 8.0 * UNIT)
    }

    fn epsilon(&self, delta: f64) -> Option<f64> {
        let left = (delta - self.infinite) * (1.0 - 8.0 * UNIT);
        if left <= 0.0 || self.theta <= 0.0 {
            return None;
        }
        let epsilon = (self.log_moment - libm::log(left)) / self.theta;
        Some(epsilon + self.slack(epsilon) / self.theta)
    }
}

/// Tilted masses of one part, folded onto the window: an upper bound in every bin.
fn fold(part: &GridPart, plan: &Plan, shift: f64) -> Vec<f64> {
    let mut folded = vec![0.0; plan.size];
    let size = plan.size as i64;
    let next = libm::exp(plan.theta * plan.step);
    let mut steepest = 0.0_f64;
    for pair in &part.pairs {
        let tilt = plan.theta * (pair.index as f64 * plan.step);
        steepest = steepest.max(tilt.abs());
        let weight = libm::exp(tilt - shift).max(f64::MIN_POSITIVE);
        let bin = pair.index.rem_euclid(size) as usize;
        // Underflow must not lose a mass.
        folded[bin] += (pair.here * weight).max(f64::MIN_POSITIVE);
        if pair.next > 0.0 {
            folded[(bin + 1) % plan.size] += (pair.next * weight * next).max(f64::MIN_POSITIVE);
        }
    }
    // Exponents are off by 4 UNIT of their magnitude; a bin is a sum of at most twice as many terms as there are pairs.
    let units = 4.0 * (2.0 * steepest + shift.abs() + plan.theta * plan.step) + 2.0 * part.pairs.len() as f64 + 16.0;
    folded.iter_mut().for_each(|mass| *mass *= 1.0 + units * UNIT);
    folded
}

/// The lower half of a part's spectrum, with a bound of its error in the Euclidean norm (over all bins).
struct Spectrum {
    count: f64,
    exponent: u64,
    values: Vec<Complex<f64>>,
    error: f64,
}

/// A factor's n-th power by repeated squaring.
fn power(mut base: Complex<f64>, mut exponent: u64) -> Complex<f64> {
    let mut result = Complex::new(1.0, 0.0);
    loop {
        if exponent & 1 == 1 {
            result *= base;
        }
        exponent >>= 1;
        if exponent == 0 {
            return result;
        }
        base *= base;
    }
}

/// The tilted masses of the sum of all losses, folded onto the window, and a bound of the error of every bin.
///
/// # Accuracy
/// Let F_i be the exact spectra of the folded parts f_i, n_i the counts and G = ΠF_i^{n_i}.
/// 1. The computed F̂_i is off by e_i with ‖e_i‖₂ ≤ η‖F_i‖₂ = η√N‖f_i‖₂, η = c·UNIT·log₂N. No bin is off by more.
/// 2. Exchanging the Σn_i factors one by one, |ΠF̂_i^{n_i} − G| ≤ Σ_i n_i·|e_i|·W_i with
///    W_i = Π_j(|F̂_j| + ‖e_j‖₂)^{n_j}/(|F̂_i| + ‖e_i‖₂). An inverse transform averages over the bins, so by Cauchy and
///    Schwarz this moves no output by more than Σ_i n_i·‖e_i‖₂·‖W_i‖₂/N.
/// 3. A complex product is off by less than 3 UNIT relatively, a product of n = Σn_i factors by 3n UNIT: no output
///    moves by more than 3n UNIT·‖W‖₁/N. Bins where W < 1e-18 are left out and counted in full.
/// 4. The inverse transform is off by η‖Ĝ‖₂/√N in the Euclidean norm, hence in every bin.
///
/// Only half of each spectrum is used, the other half being its conjugate: errors in the norm grow by √2 at most.
fn convolve(parts: &[GridPart], plan: &Plan) -> (Vec<f64>, f64) {
    let size = plan.size;
    let half = size / 2 + 1;
    let eta = TRANSFORM * UNIT * f64::from(size.ilog2());
    let mut planner = FftPlanner::new();
    let forward = planner.plan_fft_forward(size);
    let spectra: Vec<Spectrum> = parts
        .iter()
        .zip(&plan.shifts)
        .map(|(part, &shift)| {
            let folded = fold(part, plan, shift);
            let norm = folded.iter().map(|mass| mass * mass).sum::<f64>().sqrt();
            let mut values: Vec<Complex<f64>> = folded.into_iter().map(|mass| Complex::new(mass, 0.0)).collect();
            forward.process(&mut values);
            values.truncate(half);
            let error = eta * std::f64::consts::SQRT_2 * (size as f64).sqrt() * norm * SAFETY;
            Spectrum { count: part.count as f64, exponent: part.count, values, error }
        })
        .collect();

    let total: f64 = spectra.iter().map(|spectrum| spectrum.count).sum();
    let mut product = vec![Complex::new(0.0, 0.0); size];
    let mut squares = vec![0.0; spectra.len()];
    let mut magnitudes = vec![0.0; spectra.len()];
    let (mut rounding, mut left_out, mut energy) = (0.0, 0.0, 0.0);
    for bin in 0..half {
        let twice = if bin == 0 || bin == half - 1 { 1.0 } else { 2.0 };
        let mut log_bound = 0.0;
        for (spectrum, magnitude) in spectra.iter().zip(&mut magnitudes) {
            *magnitude = spectrum.values[bin].norm() + spectrum.error;
            log_bound += spectrum.count * libm::log(*magnitude);
        }
        // The logarithms are off by 8 UNIT absolutely and relatively.
        let bound = libm::exp(log_bound + 16.0 * UNIT * (total + log_bound.abs()));
        for ((spectrum, square), magnitude) in spectra.iter().zip(&mut squares).zip(&magnitudes) {
            *square += twice * (spectrum.count * bound / magnitude).powi(2);
        }
        if bound < NOTHING {
            left_out += twice * bound;
            continue;
        }
        rounding += twice * bound;
        let value = spectra
            .iter()
            .fold(Complex::new(1.0, 0.0), |value, spectrum| value * power(spectrum.values[bin], spectrum.exponent));
        energy += twice * value.norm_sqr();
        product[bin] = value;
        if twice > 1.0 {
            product[size - bin] = value.conj();
        }
    }
    planner.plan_fft_inverse(size).process(&mut product);

    let n = size as f64;
    let of_spectra: f64 =
        spectra.iter().zip(&squares).map(|(spectrum, square)| spectrum.error * f64::sqrt(*square) / n).sum();
    let of_powers = 3.0 * UNIT * total * rounding / n + left_out / n;
    let of_inverse = eta * energy.sqrt() / n.sqrt();
    let error = SAFETY * (of_spectra + of_powers + of_inverse) + f64::MIN_POSITIVE;
    // The division by N is exact: N is a power of two.
    (product.into_iter().map(|value| value.re / n).collect(), error)
}

/// The δ of all parts together, at every multiple of the step in the window.
///
/// # Algorithm
/// The masses p(s) of the sum of all losses, s = jΔ, are p̃(s)·e^{C − θs}, where p̃ is the convolution of the tilted parts
/// and C = Σn_i·shift_i. Folding p̃ onto the window only adds to what is inside; what lies above it weighs at most
/// e^{−λB}·ΠM_i(λ)^{n_i} (Chernoff), and what lies below has no part in δ(ε) for an ε in the window.
/// With S_j = Σ_{s > jΔ} p(s) and D_j = Σ_{s > jΔ} p(s)(1 − e^{jΔ − s}), one multiple down is
/// D_{j−1} = e^{−Δ}·D_j + (1 − e^{−Δ})·(S_j + p_j): sums of positive terms only, whose rounding stays below 8N UNIT.
pub(super) fn compose(parts: &[GridPart], plan: &Plan) -> Curve {
    let (folded, error) = convolve(parts, plan);
    let size = plan.size as i64;
    let infinite: f64 = parts.iter().map(|part| part.count as f64 * part.infinite).sum();
    let infinite = infinite * (1.0 + 64.0 * UNIT);
    let base = (infinite + above_window(parts, plan)) * (1.0 + 8.0 * UNIT);
    let log_moment = total_moment(parts, plan.step, plan.theta);

    let shifts = parts.iter().zip(&plan.shifts).map(|(part, shift)| part.count as f64 * shift);
    let (log_factor, magnitude) = shifts.fold((0.0, 0.0), |(sum, size), shift| (sum + shift, size + shift.abs()));
    let steepest = plan.theta * plan.step * (plan.start.abs() + size) as f64;
    let units = 8.0 * (magnitude * (1.0 + parts.len() as f64) + steepest) + 8.0 * size as f64 + 64.0;
    let safety = 1.0 + units * UNIT;

    let (keep, take) = (libm::exp(-plan.step), -libm::expm1(-plan.step));
    let (mut beyond, mut delta) = (0.0, 0.0);
    let mut deltas = Vec::with_capacity(plan.size + 1);
    deltas.push(base.min(1.0));
    for index in (plan.start..plan.start + size).rev() {
        let tilted = folded[index.rem_euclid(size) as usize].max(0.0) + error;
        let mass = tilted * libm::exp(log_factor - plan.theta * (index as f64 * plan.step)).max(f64::MIN_POSITIVE);
        beyond += mass;
        delta = keep * delta + take * beyond;
        deltas.push((delta * safety + base).min(1.0));
    }
    deltas.reverse();
    let bound = Chernoff { theta: plan.theta, log_moment, infinite };
    let noise = Noise { theta: plan.theta, log_error: libm::log(error) + log_factor, base };
    Curve { step: plan.step, first: plan.start - 1, deltas, bound, noise }
}

/// An upper bound of ln of the moment of the sum of all losses.
fn total_moment(parts: &[GridPart], step: f64, order: f64) -> f64 {
    let (sum, size) = parts.iter().fold((0.0, 0.0), |(sum, size), part| {
        let moment = part.count as f64 * part.log_moment(step, order);
        (sum + moment, size + moment.abs())
    });
    sum + 4.0 * UNIT * size * (1.0 + parts.len() as f64)
}

/// A bound of the probability of the losses above the window.
fn above_window(parts: &[GridPart], plan: &Plan) -> f64 {
    let beyond = plan.start + plan.size as i64;
    let highest: i128 = parts.iter().map(|part| i128::from(part.count) * i128::from(part.top())).sum();
    if highest < i128::from(beyond) {
        return 0.0;
    }
    let level = plan.order * (beyond as f64 * plan.step);
    let moment = total_moment(parts, plan.step, plan.order);
    libm::exp(moment - level + 8.0 * UNIT * (moment.abs() + level.abs() + 1.0)) * (1.0 + 8.0 * UNIT)
}

impl Curve {
    /// An upper bound of δ at ε, for ε not below the first multiple.
    ///
    /// δ is a convex function of e^ε, so it lies below the chord between two upper bounds.
    pub fn delta(&self, epsilon: f64) -> f64 {
        self.chord(epsilon).min(self.bound.delta(epsilon))
    }

    /// Roughly how much of δ at ε is due to errors alone: Σ e^{−θjΔ}(1 − e^{−jΔ}) over j > 0, times the error of one
    /// bin.
    pub fn noise(&self, epsilon: f64) -> f64 {
        let Noise { theta, log_error, base } = self.noise;
        let bins = 1.0 / libm::expm1(theta * self.step) - 1.0 / libm::expm1((theta + 1.0) * self.step);
        base + libm::exp(log_error - theta * epsilon) * bins
    }

    fn chord(&self, epsilon: f64) -> f64 {
        let mut index = libm::floor(epsilon / self.step) as i64 - self.first;
        if index >= self.deltas.len() as i64 - 1 {
            return self.deltas[self.deltas.len() - 1];
        }
        if index < 0 {
            return 1.0;
        }
        let mut rest = epsilon - (index + self.first) as f64 * self.step;
        if rest < 0.0 {
            if index == 0 {
                return 1.0;
            }
            index -= 1;
            rest += self.step;
        }
        let (left, right) = (self.deltas[index as usize], self.deltas[index as usize + 1]);
        let margin = 16.0 * UNIT * (1.0 + epsilon.abs() / self.step);
        let share = (libm::expm1(rest) / libm::expm1(self.step) - margin).clamp(0.0, 1.0);
        (left - share * (left - right)) * (1.0 + 8.0 * UNIT)
    }

    /// An upper bound of the smallest ε whose δ does not exceed `delta`; `None` if more than `delta` lies at
    /// infinity.
    pub fn epsilon(&self, delta: f64) -> Option<f64> {
        let fits = self.deltas.partition_point(|&bound| bound > delta);
        let Some(&right) = self.deltas.get(fits) else { return self.bound.epsilon(delta) };
        let multiple = (fits as i64 + self.first) as f64 * self.step;
        let Some(left) = fits.checked_sub(1).map(|index| self.deltas[index]) else { return Some(multiple) };
        let share = ((delta - right) / (left - right) * (1.0 - 16.0 * UNIT)).clamp(0.0, 1.0);
        let down = libm::log1p(share * libm::expm1(-self.step));
        Some(multiple + down + 16.0 * UNIT * (multiple.abs() + self.step))
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::Pair;
    use super::*;

    /// Two parts, three times and twice, against plain convolution; the claimed error must cover the difference and be
    /// small.
    #[test]
    fn the_transform_agrees_with_plain_convolution_within_its_claimed_error() {
        let part = |count, masses: &[f64]| GridPart {
            count,
            pairs: masses.iter().zip(-2..).map(|(&here, index)| Pair { index, here, next: 0.0 }).collect(),
            infinite: 0.0,
        };
        let parts = [part(3, &[0.1, 0.2, 0.3, 0.15, 0.25]), part(2, &[0.5, 0.0, 0.0, 0.0, 0.125, 0.375])];
        let plan = Plan { theta: 0.0, shifts: vec![0.0; 2], order: 1.0, step: 1.0, start: -128, size: 256 };
        let (folded, error) = convolve(&parts, &plan);
        let mut plain = vec![0.0; 256];
        plain[0] = 1.0;
        for part in &parts {
            for _ in 0..part.count {
                let mut next = vec![0.0; 256];
                for (bin, mass) in plain.iter().enumerate() {
                    for pair in &part.pairs {
                        next[(bin as i64 + pair.index).rem_euclid(256) as usize] += mass * pair.here;
                    }
                }
                plain = next;
            }
        }
        assert!(error < 1e-11, "{error:e}");
        for (bin, (fast, slow)) in folded.iter().zip(&plain).enumerate() {
            assert!((fast - slow).abs() <= error + 1e-15, "{bin}: {fast} {slow} {error:e}");
        }
    }

    #[test]
    fn chords_lie_between_their_ends() {
        let bound = Chernoff { theta: 1.0, log_moment: 9.0, infinite: 0.0625 };
        let noise = Noise { theta: 1.0, log_error: -40.0, base: 0.0 };
        let curve = Curve { step: 0.5, first: -1, deltas: vec![0.9, 0.5, 0.2, 0.1], bound, noise };
        assert!((curve.delta(0.5) - 0.2).abs() < 1e-12 && (curve.delta(0.0) - 0.5).abs() < 1e-12);
        assert!(curve.delta(0.25) > 0.2 && curve.delta(0.25) < 0.5);
        assert!(curve.chord(-0.6) == 1.0 && curve.chord(77.0) == 0.1 && curve.delta(77.0) < 0.07);
        for delta in [0.85, 0.5, 0.3, 0.2, 0.15] {
            let epsilon = curve.epsilon(delta).unwrap();
            assert!((curve.delta(epsilon) / delta - 1.0).abs() < 1e-9, "{delta}: {epsilon}");
        }
        // Below the window Chernoff's bound takes over, until δ vanishes.
        let far = curve.epsilon(0.0725).unwrap();
        assert!((far - (9.0 - 0.01_f64.ln())).abs() < 1e-12 && (curve.delta(far) - 0.0725).abs() < 1e-12);
        assert_eq!(curve.epsilon(0.05), None);
        assert!((curve.epsilon(0.95).unwrap() + 0.5).abs() < 1e-12);
    }
}
