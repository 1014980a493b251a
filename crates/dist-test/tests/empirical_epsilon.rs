//! What the outputs reveal about ε.

use dist_test::{FALSE_ALARM, long, samples, seed};
use reticent::audit::{EmpiricalEpsilon, Verdict};
use reticent::mechanism::{Laplace, MaxNorm};
use reticent::noise::Entropy;
use reticent::privacy::Epsilon;

/// Samples per side; a long run also checks that the noise is no larger than necessary.
const SAMPLES: u64 = 1_000_000;
const LONG_SAMPLES: u64 = 10_000_000;

#[test]
fn laplace_keeps_its_promise_and_wastes_nothing() {
    for (epsilon, sensitivity) in [("0.5", 1), ("1", 1), ("1", 5), ("2", 3)] {
        let claim: Epsilon = epsilon.parse().unwrap();
        let mechanism = Laplace::new(sensitivity, &claim).unwrap();
        let noise = mechanism.noise();
        let mut entropy = Entropy::seeded(seed(&format!("empirical {epsilon} {sensitivity}")));
        let mut other = Entropy::seeded(seed(&format!("empirical′ {epsilon} {sensitivity}")));
        let (mut rng, mut other) = (entropy.draw().unwrap(), other.draw().unwrap());
        let found = EmpiricalEpsilon::measure(
            || noise.sample(&mut rng),
            || sensitivity as i64 + noise.sample(&mut other),
            0.0,
            samples(SAMPLES, LONG_SAMPLES),
            1.0 - FALSE_ALARM,
        )
        .unwrap();
        assert_eq!(found.verdict(&claim), Verdict::Consistent, "{found:?}");
        // At 10⁶ samples the bound reaches nine tenths of the claim; at 10⁷ it must reach 0.95.
        let least = if long() { 0.95 } else { 0.9 };
        assert!(found.lower_bound > least * claim.to_f64(), "noise larger than it need be: {found:?}");
    }
}

/// The corners of the box are the worst neighbours: the largest coordinate then tells most about them.
#[test]
fn box_noise_keeps_its_promise_and_wastes_nothing() {
    for (epsilon, coordinates) in [("0.5", 2), ("1", 5)] {
        const UNIT: i64 = 100;
        let claim: Epsilon = epsilon.parse().unwrap();
        let mechanism = MaxNorm::new(coordinates, UNIT as u64, &claim).unwrap();
        let noise = mechanism.noise();
        let draw = |name: &str, from: i64| {
            let mut entropy = Entropy::seeded(seed(&format!("box {name} {epsilon} {coordinates}")));
            let mut point = vec![0; coordinates as usize];
            move || {
                noise.sample(&mut entropy.draw().unwrap(), &mut point);
                let largest = |of: i64| point.iter().map(|k| (k + from - of).abs()).max().unwrap();
                largest(0) - largest(UNIT)
            }
        };
        let found = EmpiricalEpsilon::measure(
            draw("first", 0),
            draw("second", UNIT),
            0.0,
            samples(SAMPLES / 4, LONG_SAMPLES),
            1.0 - FALSE_ALARM,
        )
        .unwrap();
        assert_eq!(found.verdict(&claim), Verdict::Consistent, "{found:?}");
        let least = if long() { 0.95 } else { 0.9 };
        assert!(found.lower_bound > least * claim.to_f64(), "noise larger than it need be: {found:?}");
    }
}

/// The smallest error that the sample size detects: a tenth too little noise.
#[test]
fn a_tenth_too_little_noise_is_caught() {
    let claim: Epsilon = "1".parse().unwrap();
    let noise = reticent::noise::DiscreteLaplace::new(&"0.9".parse().unwrap()).unwrap();
    let mut entropy = Entropy::seeded(seed("too little"));
    let mut other = Entropy::seeded(seed("too little′"));
    let (mut rng, mut other) = (entropy.draw().unwrap(), other.draw().unwrap());
    let found = EmpiricalEpsilon::measure(
        || noise.sample(&mut rng),
        || 1 + noise.sample(&mut other),
        0.0,
        SAMPLES,
        1.0 - FALSE_ALARM,
    );
    assert_eq!(found.unwrap().verdict(&claim), Verdict::Violation);
}
