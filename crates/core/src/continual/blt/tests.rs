//! The proofs and claims about `blt`.

use super::*;
use crate::continual::bounds::lower_bound;
use crate::noise::Entropy;

/// The ρ of the reference figures: what (1, 10⁻⁶) allows.
const RHO: &str = "0.024355934605668213";

fn blt(steps: u64, buffers: usize) -> Blt {
    Blt::with_buffers(Stream::bits().until(steps).unwrap(), zcdp(RHO), buffers).unwrap()
}

fn zcdp(rho: &str) -> Guarantee {
    Guarantee::Zcdp(rho.parse().unwrap())
}

/// c_j, from the whole numbers.
fn coefficient(blt: &Blt, lag: u64) -> f64 {
    let (decays, weights) = blt.parameters.coefficients.floats();
    match lag {
        0 => 1.0,
        _ => decays.iter().zip(&weights).map(|(kappa, weight)| weight * libm::pow(1.0 - kappa, (lag - 1) as f64)).sum(),
    }
}

/// η in lattice units, as the documentation has it.
fn eta(blt: &Blt, steps: u64) -> f64 {
    let reach = blt.parameters.coefficients.reach(steps).to_f64();
    1.0 + (blt.buffers.len() as f64 + reach) / f64::from(1 << GUARD_BITS)
}

/// Average root mean square errors with 3 and 5 buffers, as computed by other software for continuous noise.
#[test]
fn errors_are_at_most_those_of_reference() {
    let reference = [(10, 14.1075, 14.0922), (16, 20.4134, 20.1065), (20, 25.1973, 24.1767), (24, 30.8138, 28.3747)];
    for (bits, with_3, with_5) in reference {
        for (buffers, error) in [(3, with_3), (5, with_5)] {
            let found = libm::sqrt(blt(1 << bits, buffers).average_variance(1 << bits));
            assert!(found <= error, "2^{bits}, {buffers} buffers: {found} for {error}");
        }
    }
}

/// The distance from the lower bound of every factorisation, with as many buffers as it takes.
#[test]
fn errors_are_near_the_lower_bound() {
    for (bits, excess) in [(10, 1.052), (16, 1.037), (20, 1.031), (24, 1.029), (30, 1.034), (40, 1.068)] {
        let stream = Stream::bits().until(1 << bits).unwrap();
        let parameters = Blt::choose(&stream, &zcdp(RHO)).unwrap();
        let blt = Blt::new(stream, zcdp(RHO), parameters).unwrap();
        let ratio = libm::sqrt(blt.average_variance(1 << bits)) / lower_bound(1 << bits, &RHO.parse().unwrap());
        assert!(ratio > 1.0 && ratio < excess, "2^{bits}: {ratio} with {} buffers", blt.buffers.len());
    }
    assert!(libm::sqrt(blt(1 << 20, 5).average_variance(1 << 20)) < 1.05 * 23.1737);
}

/// Sensitivity and variances against the matrices written out, from the whole numbers.
#[test]
fn closed_forms_are_those_of_the_matrices() {
    for (steps, buffers) in [(1, 2), (2, 3), (50, 2), (50, 6), (1000, 5)] {
        let blt = blt(steps, buffers);
        let c: Vec<f64> = (0..steps).map(|lag| coefficient(&blt, lag)).collect();
        let squares: f64 = c.iter().map(|c| c * c).sum();
        assert!((blt.parameters.coefficients.squares(steps).to_f64() / squares - 1.0).abs() < 1e-12);
        assert!(blt.parameters.coefficients.reach(steps).to_f64() >= c[1..].iter().sum::<f64>() * (1.0 - 1e-12));
        // σ² is Σ c_j²/(2ρ) and, for the roundings, a little more.
        let twice_rho = 2.0 * RHO.parse::<f64>().unwrap();
        let surplus = blt.variance * twice_rho / squares - 1.0;
        assert!((0.0..1e-8).contains(&surplus), "{surplus}");
        let mut inverse = vec![1.0];
        for t in 1..steps as usize {
            inverse.push(-(1..=t).map(|j| c[j] * inverse[t - j]).sum::<f64>());
        }
        let (mut l, mut sum, mut total) = (0.0, 0.0, 0.0);
        for (step, entry) in (1..).zip(&inverse) {
            l += entry;
            sum += l * l;
            total += sum;
            assert!((blt.answers.squares(step) / sum - 1.0).abs() < 1e-9, "{steps} {buffers} {step}");
            assert!((blt.answers.mean_squares(step as f64) / (total / step as f64) - 1.0).abs() < 1e-9, "{step}");
        }
    }
}

/// The proof, carried out: the draws that give a neighbouring stream the same answers are found step by step, and lie
/// within r·c_j + η of the given ones.
#[test]
fn draws_moved_as_in_the_proof_give_the_same_answers() {
    const STEPS: u64 = 3000;
    for buffers in [2, 6] {
        let blt = blt(STEPS, buffers);
        let lattice = libm::ldexp(1.0, blt.parameters.fraction_bits as i32);
        let eta = eta(&blt, STEPS);
        let mut entropy = Entropy::seeded(11);
        let mut rng = entropy.draw().unwrap();
        for (changed, r) in [(0, 1i64), (17, -3), (2990, 1000)] {
            let (mut state, mut neighbour) = (blt.begin(), blt.begin());
            let mut squares = 0.0;
            for step in 0..STEPS {
                let draw = blt.law.sample(&mut rng);
                // x must be the same in both, but r less at one step: what the neighbour cancels must be compensated.
                let taken_back = |state: &Buffers| {
                    let mut next = state.clone();
                    blt.step(&mut next, 0);
                    (state.noise - next.noise) as i64
                };
                let share = if step == changed { r << blt.parameters.fraction_bits } else { 0 };
                let moved = taken_back(&neighbour) - taken_back(&state) - share;
                let answer = blt.step(&mut state, draw);
                let other = blt.step(&mut neighbour, draw + moved);
                assert_eq!(answer, other + i128::from(if step >= changed { r } else { 0 }), "step {step}");
                let allowed = match step.checked_sub(changed) {
                    None => 0.0,
                    Some(0) => r.unsigned_abs() as f64 * lattice,
                    Some(lag) => r.unsigned_abs() as f64 * lattice * coefficient(&blt, lag) + eta,
                };
                assert!(moved.unsigned_abs() as f64 <= allowed * (1.0 + 1e-12), "step {step}: {moved} for {allowed}");
                squares += (moved as f64) * (moved as f64);
            }
            let r_squared = (r * r) as f64;
            let paid_for = r_squared * blt.law.sigma_squared().to_f64() * 2.0 * RHO.parse::<f64>().unwrap();
            assert!(squares <= paid_for, "{squares} {paid_for}");
            // And not much more is paid than necessary, if the change is early enough to matter.
            assert!(changed > 100 || squares > 0.99 * paid_for, "{squares} {paid_for}");
        }
    }
}

/// Half products against whole ones.
#[test]
fn scaling_is_exact() {
    for value in [0, 1, -1, (1 << 64) - 1, -(1 << 64), (1 << 100) + 12345, -(1 << 100) - 54321] {
        for factor in [1u64, 1 << 21, (1 << 63) - 1, 0x0123_4567_89ab_cdef] {
            let product = dashu_int::IBig::from(value) * dashu_int::IBig::from(factor);
            assert_eq!(dashu_int::IBig::from(scaled(value, factor)), product >> 63, "{value} {factor}");
        }
    }
}

/// Draws of any size that the sampler's type can hold, all of one sign, at the longest horizon.
#[test]
fn nothing_overflows() {
    let blt = blt(1 << 40, 6);
    for pattern in [[i64::MAX, i64::MAX], [i64::MIN, i64::MIN], [i64::MAX, i64::MIN]] {
        let mut state = blt.begin();
        for step in 0..100_000 {
            blt.step(&mut state, pattern[step % 2]);
            assert!(state.buffers.iter().all(|buffer| buffer.unsigned_abs() < 1 << 126));
        }
    }
}

#[test]
fn wide_ranges_use_coarser_lattices() {
    let choose = |high: i64, rho: &str| {
        let stream = Stream::new(0..=high).unwrap().until(1000).unwrap();
        Blt::with_buffers(stream, zcdp(rho), 3).map(|blt| (blt.parameters.fraction_bits, blt.average_variance(1000)))
    };
    let (bits, unit) = choose(1, "1").unwrap();
    assert_eq!(bits, 40);
    let (bits, wide) = choose(1 << 30, "1").unwrap();
    assert!(bits < 20 && (wide / unit / 2f64.powi(60) - 1.0).abs() < 0.05);
    assert!(choose(1 << 45, "1").unwrap().0 < 5);
    assert!(choose(1 << 60, "0.0001").is_err());
}

#[test]
fn what_cannot_be_served_is_refused() {
    let stream = Stream::bits().until(10).unwrap();
    assert!(Blt::choose(&stream, &Guarantee::Pure("1".parse().unwrap())).is_err());
    assert!(Blt::choose(&Stream::bits(), &zcdp("1")).is_err());
    for buffers in [0, 1, 7] {
        assert!(Blt::with_buffers(stream.clone(), zcdp("1"), buffers).is_err());
    }
    let text = serde_json::to_string(&blt(10, 2).parameters).unwrap();
    let read: Buffered = serde_json::from_str(&text).unwrap();
    assert_eq!(read, blt(10, 2).parameters);
    for (decays, weights) in
        [("[]", "[]"), ("[5,4]", "[1,1]"), ("[0]", "[1]"), ("[4611686018427387904]", "[6917529027641081856]")]
    {
        let text = format!("{{\"fraction_bits\":40,\"coefficients\":{{\"decays\":{decays},\"weights\":{weights}}}}}");
        assert!(serde_json::from_str::<Buffered>(&text).is_err(), "{text}");
    }
}
