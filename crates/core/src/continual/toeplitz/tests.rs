//! The proofs and claims about `toeplitz`, and a mutant that must be caught.

use std::collections::BTreeMap;

use super::*;
use crate::noise::Entropy;

fn toeplitz(steps: u64, rho: &str, fraction_bits: u32) -> Toeplitz {
    let stream = Stream::bits().until(steps).unwrap();
    Toeplitz::new(stream, Guarantee::Zcdp(rho.parse().unwrap()), Lattice { fraction_bits }).unwrap()
}

/// The proof, carried out: draws moved by exactly −r·Ĉ_j give the same answers to a stream that has r more in one step.
#[test]
fn draws_moved_as_in_the_proof_give_the_same_answers() {
    const STEPS: u64 = 700; // several blocks, the last one cut off
    let toeplitz = toeplitz(STEPS, "0.01", 25);
    let mut entropy = Entropy::seeded(5);
    let mut rng = entropy.draw().unwrap();
    for (changed, r) in [(0, 1), (3, -7), (63, 1), (64, 1), (500, 1 << 20), (699, 1)] {
        let (mut state, mut neighbour) = (toeplitz.begin(), toeplitz.begin());
        for step in 0..STEPS as usize {
            let draw = toeplitz.law.sample(&mut rng);
            let lag = step.checked_sub(changed);
            let moved = lag.map_or(0, |lag| r * toeplitz.convolver.coefficient(lag) as i64);
            let answer = toeplitz.step(&mut state, draw);
            let other = toeplitz.step(&mut neighbour, draw - moved);
            assert_eq!(answer, other + i128::from(if lag.is_some() { r } else { 0 }), "step {step}, changed {changed}");
        }
    }
}

/// Sums computed in blocks equal those written out, also after everything that is not saved was lost.
#[test]
fn sums_are_those_written_out() {
    const STEPS: usize = 500;
    let toeplitz = toeplitz(STEPS as u64, "0.01", 30);
    let mut entropy = Entropy::seeded(6);
    let mut rng = entropy.draw().unwrap();
    let mut state = toeplitz.begin();
    for step in 0..STEPS {
        if step % 37 == 5 {
            let text = serde_json::to_string(&state).unwrap();
            state = serde_json::from_str(&text).unwrap();
        }
        let draw = toeplitz.law.sample(&mut rng);
        let written_out: i128 = (1..=step).map(|j| toeplitz.convolver.coefficient(j) * state.terms[step - j]).sum();
        toeplitz.step(&mut state, draw);
        let expected = i128::from(draw) - ((written_out + (1 << 29)) >> 30);
        assert_eq!(state.terms[step], expected, "{step}");
    }
    assert!(toeplitz.fits(&state, STEPS as u64) && !toeplitz.fits(&state, STEPS as u64 - 1));
}

/// The variance of A·R̂⁻¹, for the coefficients that are used, written out.
#[test]
fn the_ideal_variance_is_that_of_quantised_coefficients() {
    const STEPS: usize = 300;
    for bits in [11, 30] {
        let toeplitz = toeplitz(STEPS as u64, "0.1", bits);
        let c = |j: usize| toeplitz.convolver.coefficient(j) as f64 / libm::ldexp(1.0, bits as i32);
        let mut inverse = vec![1.0];
        for t in 1..STEPS {
            inverse.push(-(1..=t).map(|j| c(j) * inverse[t - j]).sum::<f64>());
        }
        let (mut l, mut squares) = (0.0, 0.0);
        for (step, entry) in (1..).zip(&inverse) {
            l += entry;
            squares += l * l;
            let variance = toeplitz.variance * squares + toeplitz.rounding;
            let ratio = variance / toeplitz.variance(step);
            // The bound of the documentation, with room for second-order terms.
            let (sum, squares) =
                (0..step as usize).fold((0.0, 0.0), |(sum, squares), j| (sum + c(j), squares + c(j) * c(j)));
            let allowed = 1.1 * libm::ldexp(sum / squares, -(bits as i32)) + 1e-12;
            assert!((ratio - 1.0).abs() <= allowed, "{bits} {step}: {ratio}");
        }
        // Σ Ĉ_j²/(2ρ), in units of the lattice.
        let sensitivity: f64 = (0..STEPS).map(|j| c(j) * c(j)).sum();
        assert!((toeplitz.variance * 0.2 / sensitivity - 1.0).abs() < 1e-12);
    }
}

#[test]
fn what_cannot_be_served_is_refused() {
    let zcdp = Guarantee::Zcdp("1".parse().unwrap());
    let stream = Stream::bits().until((1 << 22) + 1).unwrap();
    let error = Toeplitz::choose(&stream, &zcdp).unwrap_err().to_string();
    assert_eq!(error, "horizon is 4194305, but it must be at most 4194304 (2^22) for toeplitz; beyond, use blt");
    assert!(Toeplitz::choose(&Stream::bits(), &zcdp).is_err());
    let pure = Guarantee::Pure("1".parse().unwrap());
    assert!(Toeplitz::choose(&Stream::bits().until(10).unwrap(), &pure).is_err());
    let wide = Stream::new(0..=i64::MAX).unwrap().until(10).unwrap();
    assert!(Toeplitz::choose(&wide, &zcdp).is_err());
    for fraction_bits in [5, 31] {
        let stream = Stream::bits().until(10).unwrap();
        assert!(Toeplitz::new(stream, zcdp.clone(), Lattice { fraction_bits }).is_err());
    }
}

/// Answers to a stream of `STEPS` values, as a function of the draws.
type Answers<'a> = &'a dyn Fn([i64; STEPS], [i64; STEPS]) -> [i64; STEPS];
const STEPS: usize = 2;

/// The law of all answers together, by listing all draws up to `reach`.
fn law_of(answers: Answers<'_>, values: [i64; STEPS], sigma_squared: f64, reach: i64) -> BTreeMap<[i64; STEPS], f64> {
    let weight = |k: i64| libm::exp(-((k * k) as f64) / (2.0 * sigma_squared));
    let total: f64 = (-reach..=reach).map(weight).sum();
    let mut law = BTreeMap::new();
    for first in -reach..=reach {
        for second in -reach..=reach {
            *law.entry(answers([first, second], values)).or_insert(0.0) +=
                weight(first) * weight(second) / (total * total);
        }
    }
    law
}

/// The largest Rényi divergence between neighbours, over orders up to 3, as a multiple of what ρ-zCDP allows.
fn excess(answers: Answers<'_>, sigma_squared: f64, reach: i64, rho: f64) -> f64 {
    let mut worst = 0.0_f64;
    let zero = law_of(answers, [0, 0], sigma_squared, reach);
    for neighbour in [[1, 0], [0, 1]] {
        let one = law_of(answers, neighbour, sigma_squared, reach);
        for alpha in [1.25, 2.0, 3.0] {
            for (p, q) in [(&zero, &one), (&one, &zero)] {
                // Answers that only one list holds, or whose mass is too small for a float, are beyond the reach of the
                // draws.
                let both = p.iter().filter_map(|(answer, p)| q.get(answer).map(|q| (libm::log(*p), libm::log(*q))));
                let seen = both.filter(|(p, q)| p.is_finite() && q.is_finite());
                let moment: f64 = seen.map(|(p, q)| libm::exp(alpha * p + (1.0 - alpha) * q)).sum();
                worst = worst.max(libm::log(moment) / (alpha - 1.0) / (alpha * rho));
            }
        }
    }
    worst
}

/// Integer noise with real coefficients: σ as if the sensitivity were Σ c_j².
fn mutant(draws: [i64; STEPS], values: [i64; STEPS]) -> [i64; STEPS] {
    let [first, second] = draws.map(|draw| draw as f64);
    let x = second - 0.5 * first;
    let round = |noise: f64| libm::floor(noise + 0.5) as i64;
    [values[0] + round(first), values[0] + values[1] + round(first + x)]
}

/// At σ² = 1/20 the mutant's second draw moves by 0 or by 1 instead of by ½.
#[test]
fn integer_noise_with_real_coefficients_is_caught() {
    let sigma_squared = 0.05;
    let claimed = 1.25 / (2.0 * sigma_squared);
    let found = excess(&mutant, sigma_squared, 5, claimed);
    assert!(found > 1.3, "{found}");

    let rho = "12.5";
    let toeplitz = toeplitz(STEPS as u64, rho, 3);
    let answers = |draws: [i64; STEPS], values: [i64; STEPS]| {
        let mut state = toeplitz.begin();
        let mut sum = 0;
        let mut step = |index: usize| {
            sum += values[index];
            sum + toeplitz.step(&mut state, draws[index]) as i64
        };
        [step(0), step(1)]
    };
    let lattice = toeplitz.law.sigma_squared().to_f64();
    let ours = excess(&answers, lattice, 40, 12.5);
    assert!(ours < 1.0 + 1e-9, "{ours}");
    // The check does not pass everything else: half the noise variance is caught, too.
    let halved = excess(&answers, lattice / 2.0, 40, 12.5);
    assert!(halved > 1.3, "{halved}");
}
