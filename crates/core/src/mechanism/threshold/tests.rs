use super::*;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::mechanism::divergence::{self, BITS, Law, neighbours, product, zero};
use crate::noise::Entropy;
use crate::noise::Law as Noise;
use crate::numeric::normal::{Bounds, upper_tail};

fn threshold(max_groups: u64, epsilon: &str, delta: &str, adjacency: Adjacency) -> Threshold {
    Threshold::laplace(max_groups, adjacency, &epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap()
}

fn gaussian(max_groups: u64, epsilon: &str, delta: &str, adjacency: Adjacency) -> Threshold {
    Threshold::gaussian(max_groups, adjacency, &epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap()
}

fn laplace_noise(mechanism: &Threshold) -> &DiscreteLaplace {
    match &mechanism.noise {
        Noise::Laplace(noise) => noise,
        other => panic!("{other}"),
    }
}

/// P(K = k) from the formula alone.
fn mass(noise: &Noise, k: i64) -> Enclosure {
    match noise {
        Noise::Laplace(noise) => {
            let power = |k: u64| exp_neg(&(&Rational::from(k) / noise.scale()), BITS);
            let (one, p) = (Enclosure::one(BITS), power(1));
            one.minus(&p).over(&one.add(&p), BITS).times(&power(k.unsigned_abs()), BITS)
        }
        Noise::Rounded(noise) => enclosure(noise.mass(k)),
        Noise::Gaussian(noise) => panic!("{noise:?}"),
    }
}

/// P(K > m) for m ≥ 0.
fn beyond(noise: &Noise, m: i64) -> Enclosure {
    match noise {
        Noise::Laplace(law) => {
            let p = exp_neg(&law.scale().recip().unwrap(), BITS);
            mass(noise, m).times(&p, BITS).over(&Enclosure::one(BITS).minus(&p), BITS)
        }
        Noise::Rounded(noise) => enclosure(upper_tail((m as f64 + 0.5) / noise.sigma().to_f64())),
        Noise::Gaussian(noise) => panic!("{noise:?}"),
    }
}

fn enclosure(bounds: Bounds) -> Enclosure {
    let end = |end: f64| Enclosure::rational(&Rational::from_f64_bits(end).unwrap(), BITS);
    Enclosure { lo: end(bounds.lo).lo, hi: end(bounds.hi).hi }
}

/// The law of what is shown of one key: nothing, or a noisy count from 0 to `reach`, or one beyond. For counts up to
/// `reach` the last is exact for Laplace noise: beyond both counts the ratio of two such laws no longer changes. For Gaussian
/// noise, `reach` is so far that next to nothing lies beyond.
fn law(mechanism: &Threshold, count: u64, reach: u64) -> Law {
    let mut law = vec![zero(); reach as usize + 3];
    let mut hidden = Enclosure::one(BITS);
    if count > 0 {
        // Shown values are positive, so noise from −count on is all that can appear.
        let last = (reach - count) as i64;
        for noise in -(count as i64)..=last {
            if let Some(shown) = mechanism.shown(count, noise) {
                let mass = mass(&mechanism.noise, noise);
                hidden = hidden.minus(&mass);
                law[shown as usize] = mass;
            }
        }
        assert!(mechanism.shown(count, last + 1).is_some());
        let beyond = beyond(&mechanism.noise, last);
        hidden = hidden.minus(&beyond);
        law[reach as usize + 1] = beyond;
    }
    law[reach as usize + 2] = hidden;
    law
}

/// The exact δ of a mechanism over all neighbours with a few keys, where the other units' counts are `base` to `base`
/// + 2.
fn exact_delta(
    mechanism: &Threshold,
    base: u64,
    keys: usize,
    max_groups: u64,
    adjacency: Adjacency,
) -> (Rational, Rational) {
    const MOST: u64 = 3;
    let far = match &mechanism.noise {
        Noise::Rounded(noise) => (5.0 * noise.sigma().to_f64()) as u64,
        _ => 0,
    };
    let reach = mechanism.threshold() + base + MOST + far;
    let laws: Vec<Law> = (0..=MOST).map(|count| compact(law(mechanism, base + count, reach))).collect();
    let joint = |counts: &[u64]| product(&counts.iter().map(|&n| laws[n as usize].clone()).collect::<Vec<_>>());
    let pairs: Vec<(Law, Law)> = neighbours(keys, MOST, max_groups as u32, adjacency == Adjacency::Replace)
        .iter()
        .map(|(left, right)| (joint(left), joint(right)))
        .collect();
    let epsilon = mechanism.guarantee.epsilon().unwrap().value();
    divergence::worst(epsilon, pairs.iter().map(|(left, right)| (left, right)))
}

/// Shown values below 2 never occur: leave them out of the products.
fn compact(law: Law) -> Law {
    law.into_iter().skip(2).collect()
}

const CASES: [(u64, &str, &str, Adjacency, usize); 9] = [
    (1, "1", "0.01", Adjacency::AddRemove, 1),
    (1, "0.5", "0.2", Adjacency::AddRemove, 2),
    (1, "1", "1e-6", Adjacency::AddRemove, 2),
    (2, "2", "0.01", Adjacency::AddRemove, 2),
    (2, "3", "0.05", Adjacency::AddRemove, 3),
    (1, "1", "0.1", Adjacency::Replace, 2),
    (1, "3", "0.01", Adjacency::Replace, 2),
    (1, "3", "1e-4", Adjacency::Replace, 3),
    (2, "9", "0.1", Adjacency::Replace, 3),
];

#[test]
fn the_threshold_is_the_smallest_that_keeps_the_promise() {
    for (g, epsilon, delta, adjacency, keys) in CASES {
        let mut mechanism = threshold(g, epsilon, delta, adjacency);
        let delta: Rational = delta.parse().unwrap();
        let (_, most) = exact_delta(&mechanism, 0, keys, g, adjacency);
        assert!(most <= delta, "{g} {epsilon} {delta} {adjacency}: {}", most.to_f64());
        // One less breaks it: so would `>` in the tail that sets τ against `≥` in the comparison with it.
        mechanism.threshold -= 1;
        let (least, _) = exact_delta(&mechanism, 0, keys, g, adjacency);
        assert!(least > delta, "{g} {epsilon} {delta} {adjacency}: {}", least.to_f64());
    }
}

#[test]
fn the_formula_is_the_exact_delta() {
    for (g, epsilon, delta, adjacency, keys) in CASES {
        let mechanism = threshold(g, epsilon, delta, adjacency);
        let formula = some_of(&laplace_noise(&mechanism).upper_tail(mechanism.threshold() - 1), g);
        let (least, most) = exact_delta(&mechanism, 0, keys, g, adjacency);
        assert!(least <= formula && formula <= &most + &"1e-30".parse().unwrap());
    }
}

/// Mutants: the tail with `>`, the scale of the other adjacency, a unit's keys ignored in δ or in the scale.
#[test]
fn wrong_mechanisms_break_their_promise() {
    // Thresholds are tested by rare keys, scales by common ones.
    let broken = |mutant: &Threshold, base, keys, g, adjacency| {
        let (least, _) = exact_delta(mutant, base, keys, g, adjacency);
        least > *mutant.guarantee.delta().unwrap().value()
    };
    for (g, epsilon, delta, adjacency, keys) in CASES {
        let right = threshold(g, epsilon, delta, adjacency);
        let strict =
            (1..).find(|&t| some_of(&laplace_noise(&right).upper_tail(t), g) <= delta.parse().unwrap()).unwrap();
        let mutant = Threshold { threshold: strict as i64, ..right.clone() };
        assert!(broken(&mutant, 0, keys, g, adjacency), "P(1 + K > τ) for P(1 + K ≥ τ)");
        if g == 1 && adjacency == Adjacency::Replace {
            let mutant = threshold(g, epsilon, delta, Adjacency::AddRemove);
            assert!(broken(&mutant, mutant.threshold(), 2, g, adjacency), "scale g/ε for 2g/ε");
        }
        if g > 1 && adjacency == Adjacency::AddRemove {
            let mutant = threshold(1, epsilon, delta, adjacency);
            assert!(broken(&mutant, mutant.threshold(), 2, g, adjacency), "scale 1/ε for g/ε");
        }
    }
    for (g, epsilon, delta, adjacency, _) in CASES.into_iter().take(7) {
        let right = threshold(g, epsilon, delta, adjacency);
        assert!(!broken(&right, right.threshold(), 2, g, adjacency), "the right one is not broken there");
    }
    let right = threshold(2, "2", "0.04", Adjacency::AddRemove);
    let forgotten = smallest_threshold(laplace_noise(&right), 1, &"0.04".parse().unwrap());
    assert!(broken(&Threshold { threshold: forgotten, ..right }, 0, 2, 2, Adjacency::AddRemove), "q ≤ δ");
}

/// The exact δ over all ways in which one unit can spread a total weight over two keys, beside others with weights up
/// to `base` + 1, or alone.
fn exact_delta_of_weights(
    mechanism: &Threshold,
    base: u64,
    total: u64,
    keys: usize,
    replace: bool,
) -> (Rational, Rational) {
    let most = base + total + 1;
    let reach = mechanism.threshold() + most;
    let laws: Vec<Law> = (0..=most).map(|count| law(mechanism, count, reach)).collect();
    let spread: Vec<[u64; 2]> = (0..=total).flat_map(|one| (0..=total - one).map(move |other| [one, other])).collect();
    let spread: Vec<[u64; 2]> = spread.into_iter().filter(|weights| keys == 2 || weights[1] == 0).collect();
    let mut pairs = Vec::new();
    for others in [[0, 0], [0, base], [base, base], [base + 1, 0]] {
        let joint =
            |weights: &[u64; 2]| product(&[0, 1].map(|key| laws[(others[key] + weights[key]) as usize].clone()));
        let before = if replace { spread.clone() } else { vec![[0, 0]] };
        pairs.extend(
            before.iter().flat_map(|left| spread.iter().map(|right| (joint(left), joint(right))).collect::<Vec<_>>()),
        );
    }
    let epsilon = mechanism.guarantee.epsilon().unwrap().value();
    divergence::worst(epsilon, pairs.iter().map(|(left, right)| (left, right)))
}

#[test]
fn weights_keep_the_promise_too() {
    for (total, g, epsilon, delta, adjacency) in [
        (3u64, 1, "2", "0.01", Adjacency::AddRemove),
        (3, 2, "2", "0.02", Adjacency::AddRemove),
        (2, 2, "3", "1e-3", Adjacency::Replace),
    ] {
        let of = |total: u64| {
            let (epsilon, delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
            Threshold::of_weights(total, g, adjacency, &epsilon, &delta).unwrap()
        };
        let exact = |mechanism: &Threshold, base: u64| {
            exact_delta_of_weights(mechanism, base, total, g as usize, adjacency == Adjacency::Replace)
        };
        let (mechanism, delta) = (of(total), delta.parse::<Rational>().unwrap());
        for base in [0, mechanism.threshold()] {
            let (_, most) = exact(&mechanism, base);
            assert!(most <= delta, "{total} {g} {epsilon} {adjacency}: {}", most.to_f64());
        }
        // Mutants: less noise than the total needs, and a threshold for units that add 1.
        assert!(exact(&of(total - 1), mechanism.threshold()).0 > delta, "noise for {total} − 1");
        let low = Threshold { threshold: mechanism.threshold - (total as i64 - 1), ..mechanism.clone() };
        assert!(exact(&low, 0).0 > delta, "a threshold for weights of 1");
        if g == 1 {
            let lower = Threshold { threshold: mechanism.threshold - 1, ..mechanism };
            assert!(exact(&lower, 0).0 > delta, "no smaller threshold would do");
        }
    }
    let plain = threshold(1, "1", "1e-6", Adjacency::AddRemove);
    let weighed = Threshold::of_weights(1, 1, Adjacency::AddRemove, &"1".parse().unwrap(), &"1e-6".parse().unwrap());
    assert_eq!(weighed.unwrap().threshold(), plain.threshold());
}

#[test]
fn powers_are_rounded_up_and_hardly() {
    for (q, g) in [("0.3", 1u64), ("0.3", 7), ("1e-9", 1000), ("1/3", 64)] {
        let q: Rational = q.parse().unwrap();
        let none = Rational::ONE - q.clone();
        let exact = Rational::ONE - (0..g).fold(Rational::ONE, |power, _| &power * &none);
        let bound = some_of(&q, g);
        assert!(bound >= exact && bound <= &exact + &(&q * &"1e-30".parse().unwrap()), "{q} {g}");
    }
}

#[test]
fn keys_come_in_their_own_order_and_rare_ones_not_at_all() {
    let counts: BTreeMap<String, u64> =
        (0..500).map(|i| (format!("key {:03}", i * 7 % 500), [0, 1, 1000, u64::MAX][i % 4])).collect();
    let mechanism = threshold(1, "1", "1e-30", Adjacency::AddRemove);
    let mut permit = Permit::unaccounted_from(Entropy::seeded(5));
    let released = mechanism.release(counts.clone(), &mut permit).unwrap();
    let common: Vec<&String> = counts.iter().filter(|(_, n)| **n >= 1000).map(|(key, _)| key).collect();
    assert_eq!(released.value().keys().collect::<Vec<_>>(), common);
    assert!(released.value().values().all(|&count| (900..1100).contains(&count) || count > i64::MAX - 100));
    assert!(mechanism.release(BTreeMap::<u8, u64>::new(), &mut permit).unwrap().value().is_empty());
}

/// Why the level of the error bar holds before selection only: a key three units below the threshold is shown if its noise is 3 or more,
/// and then exceeds the half-width, which is 3, with probability e^−1.
#[test]
fn keys_that_noise_alone_shows_are_often_outside_their_bar() {
    let threshold = threshold(1, "1", "1e-6", Adjacency::AddRemove);
    let (count, half_width) = (threshold.threshold() - 3, threshold.error.half_width());
    let mut entropy = Entropy::seeded(3);
    let mut draw = entropy.draw().unwrap();
    let noise: Vec<i64> = (0..20_000).map(|_| threshold.noise.sample(&mut draw)).collect();
    let covered = |among: &[i64]| {
        among.iter().filter(|noise| noise.unsigned_abs() as f64 <= half_width).count() as f64 / among.len() as f64
    };
    let shown: Vec<i64> = noise.iter().copied().filter(|noise| threshold.shown(count, *noise).is_some()).collect();
    assert!(covered(&noise) > 0.95 && covered(&shown) < 0.7, "{} {}", covered(&noise), covered(&shown));
}

#[test]
fn parameters_are_checked() {
    let new = |g, epsilon: &str, delta: &str| {
        Threshold::laplace(g, Adjacency::Replace, &epsilon.parse().unwrap(), &delta.parse().unwrap())
    };
    for (g, epsilon, delta) in [(0, "1", "1e-6"), (1, "1", "1e-301"), (1, "1e-16", "1e-6"), (u64::MAX, "1", "0.1")] {
        assert!(new(g, epsilon, delta).unwrap_err().is_parameter(), "{g} {epsilon} {delta}");
    }
    assert!(new(1 << 49, "1", "1e-300").unwrap().threshold() > 1 << 59, "the widest of all");
    assert_eq!(new(1, "1", "0.99").unwrap().threshold(), 2, "never below 2");
}

const GAUSSIAN_CASES: [(u64, &str, &str, Adjacency, usize); 6] = [
    (1, "1", "1e-3", Adjacency::AddRemove, 2),
    (2, "2", "1e-3", Adjacency::AddRemove, 2),
    (2, "3", "1e-6", Adjacency::AddRemove, 2),
    (3, "4", "1e-4", Adjacency::AddRemove, 3),
    (1, "3", "1e-4", Adjacency::Replace, 2),
    (2, "5", "1e-3", Adjacency::Replace, 2),
];

/// Over all neighbours with two or three keys, δ is kept: by keys that the unit alone has, which the threshold hides, and by
/// common ones, which σ hides. Mutants: a threshold one lower; δ for each key of the unit instead of all; σ for one key.
#[test]
fn gaussian_noise_keeps_the_promise_and_its_threshold_is_the_smallest() {
    for (g, epsilon, delta, adjacency, keys) in GAUSSIAN_CASES {
        let case = format!("{g} {epsilon} {delta} {adjacency}");
        let (right, allowed) = (gaussian(g, epsilon, delta, adjacency), delta.parse::<Rational>().unwrap());
        let exact = |mechanism: &Threshold, base: u64, keys: usize| exact_delta(mechanism, base, keys, g, adjacency);
        let (_, most) = exact(&right, 0, keys);
        assert!(most <= allowed, "{case}: {}", most.to_f64());
        let (_, most) = exact(&right, right.threshold(), 2);
        assert!(most <= allowed, "{case}, common keys: {}", most.to_f64());
        let lower = Threshold { threshold: right.threshold - 1, ..right.clone() };
        let (least, _) = exact(&lower, 0, keys);
        assert!(least > allowed, "{case}, one lower: {}", least.to_f64());
        if g > 1 {
            let of_one = (1..).find(|&t| right.tail(t) <= allowed.to_f64()).unwrap() + 1;
            let (least, _) = exact(&Threshold { threshold: of_one, ..right.clone() }, 0, keys);
            assert!(least > allowed, "{case}, δ for each key: {}", least.to_f64());
        }
        if g > 1 && adjacency == Adjacency::AddRemove {
            let narrow = Threshold { noise: gaussian(1, epsilon, delta, adjacency).noise, ..right };
            let (least, _) = exact(&narrow, narrow.threshold() + 4, 2);
            assert!(least > allowed, "{case}, σ for one key: {}", least.to_f64());
        }
    }
}

impl Threshold {
    /// P(K ≥ t), for rounded Gaussian noise.
    fn tail(&self, t: i64) -> f64 {
        match &self.noise {
            Noise::Rounded(noise) => upper_tail((t as f64 - 0.5) / noise.sigma().to_f64()).hi,
            other => panic!("{other}"),
        }
    }
}

/// With few keys for each unit Laplace noise is better, with many Gaussian noise is.
#[test]
fn the_better_noise_is_taken() {
    let of = |g: u64, delta: &str| {
        let threshold =
            Threshold::new(g, Adjacency::AddRemove, &"1".parse().unwrap(), &delta.parse().unwrap()).unwrap();
        (matches!(threshold.noise, Noise::Rounded(_)), threshold.threshold(), threshold.error.half_width() as u64)
    };
    assert_eq!([1, 5, 6, 20].map(|g| of(g, "1e-8").0), [false, false, true, true]);
    assert_eq!(of(20, "1e-8"), (true, 141, 45));
    assert!(!of(20, "1e-295").0, "beyond the floats of σ");
    assert!(Threshold::gaussian(1 << 20, Adjacency::Replace, &"1".parse().unwrap(), &"1e-8".parse().unwrap()).is_ok());
}
