//! The accountant against exactly known values.

use proptest::prelude::*;

use super::accountant::part;
use super::bound::curve;
use super::cell::Direction;
use super::compose::compose;
use super::grid::GridPart;
use super::plan::{Sketch, Target};
use super::{Accountant, Mechanism};
use crate::exact::Rational;

fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

fn response(epsilon: &str) -> Mechanism {
    Mechanism::randomised_response(number(epsilon), 2).unwrap()
}

fn accountant(parts: &[(&Mechanism, u64)]) -> Accountant {
    let mut accountant = Accountant::new();
    for (mechanism, count) in parts {
        accountant.add(mechanism, *count).unwrap();
    }
    accountant
}

fn delta(accountant: &Accountant, epsilon: f64) -> f64 {
    accountant.delta(&epsilon.try_into().unwrap()).unwrap().to_f64()
}

/// δ before the guard is added, so that the guard cannot hide an error.
fn bare_delta(accountant: &Accountant, epsilon: f64) -> f64 {
    accountant.bare_delta(epsilon)
}

/// δ of n mechanisms with two losses, up with probability `p` and down otherwise: a binomial sum.
fn two_losses(n: u32, p: f64, up: f64, down: f64, epsilon: f64) -> f64 {
    let n_float = f64::from(n);
    (0..=n)
        .map(f64::from)
        .map(|k| {
            let loss = k * up + (n_float - k) * down;
            let log_choose = libm::lgamma(n_float + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n_float - k + 1.0);
            let excess = if loss > epsilon { -(epsilon - loss).exp_m1() } else { 0.0 };
            (log_choose + k * p.ln() + (n_float - k) * (-p).ln_1p()).exp() * excess
        })
        .sum()
}

/// δ of any mechanisms given by their (mass, loss) lists, over all combinations of outcomes.
fn enumerated(lists: &[&[(f64, f64)]], epsilon: f64) -> f64 {
    let mut sums = vec![(1.0, 0.0)];
    for list in lists {
        sums = sums.iter().flat_map(|(p, l)| list.iter().map(move |(q, m)| (p * q, l + m))).collect();
    }
    sums.iter().map(|(mass, loss)| if *loss > epsilon { -mass * (epsilon - loss).exp_m1() } else { 0.0 }).sum()
}

/// δ of Gaussian noise with sensitivity/σ = μ.
fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    let tail = |x: f64| 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
    tail(epsilon / mu - mu / 2.0) - epsilon.exp() * tail(epsilon / mu + mu / 2.0)
}

fn binary(epsilon: f64) -> [(f64, f64); 2] {
    let truth = 1.0 / (1.0 + (-epsilon).exp());
    [(truth, epsilon), (1.0 - truth, -epsilon)]
}

#[test]
fn randomised_response_and_discrete_laplace_meet_the_binomial_sum() {
    for (n, text, epsilons) in [
        (1, "1", vec![0.2, 0.9]),
        (10, "1", vec![0.5, 5.0, 9.5]),
        (100, "0.1", vec![0.01, 1.0, 4.7745, 8.0, 9.9]),
        (1000, "0.01", vec![0.05, 1.0, 2.5, 4.0]),
    ] {
        let gap: f64 = text.parse().unwrap();
        let laplace = Mechanism::discrete_laplace(number(text)).unwrap();
        for epsilon in epsilons {
            let exact = two_losses(n, binary(gap)[0].0, gap, -gap, epsilon);
            for mechanism in [&response(text), &laplace] {
                let on_lattice = bare_delta(&accountant(&[(mechanism, u64::from(n))]), epsilon);
                let ratio = on_lattice / exact;
                assert!((1.0 - 1e-11..1.0 + 1e-6).contains(&ratio), "{n} {gap} {epsilon}: {ratio}");
            }
            // The same through the general grid.
            let parts = vec![part(&laplace, u64::from(n), Direction::Remove)];
            let ratio = curve(parts, Target::Epsilon(epsilon)).delta(epsilon) / exact;
            assert!((1.0 - 1e-11..1.0 + 2e-2).contains(&ratio), "general {n} {gap} {epsilon}: {ratio}");
        }
    }
}

#[test]
fn gaussians_meet_the_closed_form_down_to_1e_30() {
    for (sigma, n) in [("1", 1), ("10", 100), ("30", 1000)] {
        let mechanism = Mechanism::gaussian(number(sigma)).unwrap();
        let mu = (n as f64).sqrt() / mechanism_sigma(sigma);
        for z in [0.1, 4.5, 7.7, 11.2] {
            let epsilon = mu * mu / 2.0 + z * mu;
            let exact = gaussian_delta(mu, epsilon);
            let merged = bare_delta(&accountant(&[(&mechanism, n)]), epsilon) / exact;
            assert!((1.0 - 1e-11..1.0 + 1e-3).contains(&merged), "{sigma} {n} {z}: {merged}");
            let parts = vec![part(&mechanism, n, Direction::Remove)];
            let composed = curve(parts, Target::Epsilon(epsilon)).delta(epsilon) / exact;
            assert!((1.0 - 1e-11..1.0 + 1e-3).contains(&composed), "{sigma} {n} {z}: composed {composed}");
        }
    }
}

fn mechanism_sigma(text: &str) -> f64 {
    text.parse().unwrap()
}

/// Rounding losses down instead of spreading them gives a δ below the truth, so the assertions above have power.
#[test]
fn rounding_down_would_be_caught() {
    let (mechanism, n, gap) = (response("0.1"), 100_u32, 0.1);
    let epsilon = 4.0;
    let exact = two_losses(n, binary(gap)[0].0, gap, -gap, epsilon);
    let parts = vec![part(&mechanism, u64::from(n), Direction::Remove)];
    let plan = Sketch::new(&parts).plan(Target::Epsilon(epsilon), 1.0, None).unwrap();
    let honest = GridPart::split(&parts[0], plan.step);
    let mut wrong = honest.clone();
    for pair in &mut wrong.pairs {
        pair.here += pair.next;
        pair.next = 0.0;
    }
    assert!(compose(&[honest], &plan).delta(epsilon) >= exact);
    assert!(compose(&[wrong], &plan).delta(epsilon) < exact * (1.0 - 1e-6));
}

/// e^ε′ = 1 + q(e^ε − 1) has δ′ = q·δ when the unit is removed; when it is added, with c = 1 − e^ε′(1−q), δ′ is c times the
/// δ at e^ε = q·e^ε′/c.
#[test]
fn one_subsampled_gaussian_meets_both_closed_forms() {
    for (sigma, rate) in [("1", "0.01"), ("0.8", "0.6")] {
        let mechanism = Mechanism::gaussian(number(sigma)).unwrap().subsampled(number(rate)).unwrap();
        let (mu, q): (f64, f64) = (1.0 / mechanism_sigma(sigma), rate.parse().unwrap());
        for epsilon in [0.002, 0.1, 0.5, 2.0] {
            let remove = q * gaussian_delta(mu, (f64::exp_m1(epsilon) / q).ln_1p());
            let c = 1.0 - epsilon.exp() * (1.0 - q);
            let add = if c > 0.0 { c * gaussian_delta(mu, (epsilon.exp() * q / c).ln()) } else { 0.0 };
            for (direction, exact) in [(Direction::Remove, remove), (Direction::Add, add)] {
                let parts = vec![part(&mechanism, 1, direction)];
                let found = curve(parts, Target::Epsilon(epsilon)).delta(epsilon);
                assert!(found >= exact * (1.0 - 1e-11), "{sigma} {rate} {epsilon} {direction:?}: {found} {exact}");
                assert!(found <= exact * 1.001 + 1e-12, "{sigma} {rate} {epsilon} {direction:?}: {found} {exact}");
            }
            let reported = bare_delta(&accountant(&[(&mechanism, 1)]), epsilon);
            assert!(reported >= remove.max(add) * (1.0 - 1e-11) && reported <= remove.max(add) * 1.001 + 1e-12);
        }
    }
}

/// Removing and adding differ, and the larger is reported.
#[test]
fn both_directions_of_subsampled_response_are_binomial_sums() {
    let (gap, q, n): (f64, f64, u32) = (1.0, 0.3, 20);
    let mechanism = response("1").subsampled(number("0.3")).unwrap();
    let truth = binary(gap)[0].0;
    let mixed = q * truth + (1.0 - q) * (1.0 - truth);
    let (remove_up, remove_down) = ((mixed / (1.0 - truth)).ln(), ((1.0 - mixed) / truth).ln());
    for epsilon in [0.5, 2.0, 4.0] {
        let remove = two_losses(n, mixed, remove_up, remove_down, epsilon);
        let add = two_losses(n, truth, -remove_down, -remove_up, epsilon);
        assert!((remove / add - 1.0).abs() > 0.05, "{remove} {add}");
        let found = bare_delta(&accountant(&[(&mechanism, u64::from(n))]), epsilon);
        let ratio = found / remove.max(add);
        assert!((1.0 - 1e-11..1.001).contains(&ratio), "{epsilon}: {ratio}");
        for (direction, exact) in [(Direction::Remove, remove), (Direction::Add, add)] {
            let found = curve(vec![part(&mechanism, u64::from(n), direction)], Target::Epsilon(epsilon)).delta(epsilon);
            assert!((1.0 - 1e-11..1.001).contains(&(found / exact)), "{epsilon} {direction:?}: {found} {exact}");
        }
    }
}

#[test]
fn mixtures_meet_the_enumeration_of_all_outcomes() {
    let p = (-0.5_f64).exp();
    // Discrete Laplace with sensitivity 3: losses 1.5, 0.5, −0.5, −1.5.
    let steps = [(1.0, 1.5), ((1.0 - p) * p, 0.5), ((1.0 - p) * p * p, -0.5), (p.powi(3), -1.5)]
        .map(|(mass, loss)| (mass / (1.0 + p), loss));
    let truth = 2.0_f64.exp() / (2.0_f64.exp() + 4.0);
    let many = [(truth, 2.0), (truth * (-2.0_f64).exp(), -2.0), (3.0 * truth * (-2.0_f64).exp(), 0.0)];
    let laplace = Mechanism::discrete_laplace(number("0.5")).unwrap().with_sensitivity(number("3")).unwrap();
    let five = Mechanism::randomised_response(number("2"), 5).unwrap();
    let odd = response("0.7390851332");
    let lists: [&[(f64, f64)]; 6] =
        [&steps, &steps, &many, &binary(0.739_085_133_2), &binary(0.739_085_133_2), &binary(0.739_085_133_2)];
    let both = accountant(&[(&laplace, 2), (&five, 1), (&odd, 3)]);
    for epsilon in [0.1, 1.0, 2.5, 4.0, 6.0] {
        let ratio = bare_delta(&both, epsilon) / enumerated(&lists, epsilon);
        assert!((1.0 - 1e-11..1.01).contains(&ratio), "{epsilon}: {ratio}");
    }
}

/// One Laplace mechanism: δ = 1 − e^{(ε − r)/2}, up to the largest loss r.
#[test]
fn one_laplace_meets_the_closed_form() {
    for (scale, epsilons) in [("1", [0.1, 0.5, 0.99]), ("0.1", [1.0, 9.0, 9.999])] {
        let accountant = accountant(&[(&Mechanism::laplace(number(scale)).unwrap(), 1)]);
        let loss = 1.0 / scale.parse::<f64>().unwrap();
        for epsilon in epsilons {
            let ratio = bare_delta(&accountant, epsilon) / -f64::exp_m1((epsilon - loss) / 2.0);
            assert!((1.0 - 1e-11..1.01).contains(&ratio), "{scale} {epsilon}: {ratio}");
        }
    }
}

/// Three runs of discrete Gaussian noise, sensitivity 2, over all outcomes; subsampled and in either direction too.
#[test]
fn discrete_gaussians_meet_the_enumeration_of_all_outcomes() {
    let (sigma, q): (f64, f64) = (1.25, 0.4);
    let weight = |k: i32| (-f64::from(k * k) / (2.0 * sigma * sigma)).exp();
    let total: f64 = (-40..=40).map(weight).sum();
    let pairs: Vec<(f64, f64)> = (-14..=16).map(|k| (weight(k - 2) / total, weight(k) / total)).collect();
    let losses = |law: &dyn Fn(f64, f64) -> (f64, f64)| -> Vec<(f64, f64)> {
        pairs.iter().map(|&(p, q)| law(p, q)).map(|(p, q)| (p, (p / q).ln())).collect()
    };
    let plain = Mechanism::discrete_gaussian(number("1.25")).unwrap().with_sensitivity(number("2")).unwrap();
    let sampled = plain.clone().subsampled(number("0.4")).unwrap();
    let cases = [
        (&plain, Direction::Remove, losses(&|p, other| (p, other))),
        (&sampled, Direction::Remove, losses(&|p, other| (q * p + (1.0 - q) * other, other))),
        (&sampled, Direction::Add, losses(&|p, other| (p, (1.0 - q) * p + q * other))),
    ];
    for (mechanism, direction, list) in cases {
        for epsilon in [0.3, 1.5, 4.0] {
            let exact = enumerated(&[&list, &list, &list], epsilon);
            let found = curve(vec![part(mechanism, 3, direction)], Target::Epsilon(epsilon)).delta(epsilon);
            // What the enumeration leaves out is below 1e-12.
            assert!(found >= exact * (1.0 - 1e-10) - 1e-12, "{mechanism} {direction:?} {epsilon}: {found} {exact}");
            assert!(found <= exact * 1.01 + 1e-10, "{mechanism} {direction:?} {epsilon}: {found} {exact}");
        }
    }
}

/// One run of discrete Gaussian noise is what the calibration sums up directly, for listed and for grouped outcomes.
#[test]
fn one_discrete_gaussian_meets_the_calibration() {
    use crate::privacy::calibration::discrete_gaussian_delta;
    for (sigma, sensitivity, epsilon) in [("0.6", 1, "2"), ("4.25", 1, "1"), ("1000.5", 240, "1")] {
        let mechanism = Mechanism::discrete_gaussian(number(sigma)).unwrap();
        let mechanism = mechanism.with_sensitivity(Rational::from(sensitivity)).unwrap();
        let direct = discrete_gaussian_delta(&epsilon.parse().unwrap(), &number(sigma), sensitivity).unwrap().to_f64();
        let ratio = bare_delta(&accountant(&[(&mechanism, 1)]), epsilon.parse().unwrap()) / direct;
        assert!((1.0 - 1e-10..1.01).contains(&ratio), "{sigma} {sensitivity}: {ratio}");
    }
}

#[test]
fn answers_do_not_depend_on_the_order_and_grow_with_the_count() {
    let kinds = [
        Mechanism::laplace(number("20")).unwrap(),
        Mechanism::discrete_gaussian(number("15")).unwrap(),
        response("0.05"),
    ];
    let (mut forward, mut backward) = (Accountant::new(), Accountant::new());
    for kind in &kinds {
        forward.add(kind, 10).unwrap();
    }
    for kind in kinds.iter().rev() {
        backward.add(kind, 4).unwrap().add(kind, 6).unwrap();
    }
    let target = "1e-7".parse().unwrap();
    assert_eq!(forward.epsilon(&target).unwrap(), backward.epsilon(&target).unwrap());
    let mut last = 0.0;
    for text in ["1e-2", "1e-4", "1e-8", "1e-16", "1e-32"] {
        let epsilon = forward.epsilon(&text.parse().unwrap()).unwrap().to_f64();
        assert!(epsilon > last, "{text}: {epsilon}");
        last = epsilon;
    }
    let before = forward.epsilon(&target).unwrap();
    forward.add(&kinds[0], 1).unwrap();
    assert!(forward.epsilon(&target).unwrap() > before);
}

#[test]
fn epsilon_and_delta_are_each_others_inverse() {
    let mechanism = Mechanism::discrete_gaussian(number("700")).unwrap().with_sensitivity(number("100")).unwrap();
    let accountant = accountant(&[(&mechanism, 30)]);
    for text in ["0.01", "1e-6", "1e-12"] {
        let epsilon = accountant.epsilon(&text.parse().unwrap()).unwrap();
        let back = accountant.delta(&epsilon).unwrap().to_f64() / text.parse::<f64>().unwrap();
        assert!((back - 1.0).abs() < 1e-3, "{text}: {back}");
    }
}

/// A few mechanisms with small losses: δ is far below the probability of exceeding ε, and the answer lies far below the
/// largest loss. By the binomial sum, δ(0.0690) < 1e-5 < δ(0.0689) for thirteen responses with ε = 0.00680401.
#[test]
fn small_losses_are_not_overrated() {
    let (gap, n) = (0.006_804_01, 13);
    let exact = |epsilon: f64| two_losses(n, binary(gap)[0].0, gap, -gap, epsilon);
    let mut edge = (0.0, 13.0 * gap);
    for _ in 0..50 {
        let middle = 0.5 * (edge.0 + edge.1);
        if exact(middle) > 1e-5 { edge.0 = middle } else { edge.1 = middle }
    }
    let responses = accountant(&[(&response("0.00680401"), u64::from(n))]);
    let ratio = responses.epsilon(&"1e-5".parse().unwrap()).unwrap().to_f64() / edge.1;
    assert!((1.0 - 1e-11..1.0 + 1e-6).contains(&ratio), "{ratio}");
    let laplace = Mechanism::laplace(number("43")).unwrap();
    let ratio = accountant(&[(&laplace, 1)]).epsilon(&"1e-2".parse().unwrap()).unwrap().to_f64()
        / (1.0 / 43.0 + 2.0 * f64::ln_1p(-1e-2));
    assert!((1.0 - 1e-11..1.01).contains(&ratio), "{ratio}");
}

/// Losses of very different sizes and a very small δ.
#[test]
fn lopsided_mixtures_have_an_answer() {
    let kinds = [
        Mechanism::discrete_gaussian(number("768")).unwrap().subsampled(number("0.1")).unwrap(),
        Mechanism::discrete_laplace(number("2")).unwrap().with_sensitivity(number("9")).unwrap(),
        Mechanism::laplace(number("0.5")).unwrap().subsampled(number("0.7")).unwrap(),
    ];
    let mixture =
        accountant(&[(&kinds[0], 73), (&kinds[1].clone().subsampled(number("0.4")).unwrap(), 7), (&kinds[2], 300)]);
    let (small, smaller) = ("1e-30".parse().unwrap(), "1e-150".parse().unwrap());
    assert!(mixture.epsilon(&small).unwrap() < mixture.epsilon(&smaller).unwrap());
}

/// A great many rarely sampled mechanisms: when a unit is added, losses are at most 1e-6 each and, rarely, far below zero. The span of
/// all together made the grid too coarse, and δ was refused. The bracket is that of `tests/data/rare_sampling.py` with 65,536
/// steps.
#[test]
fn a_great_many_rarely_sampled_mechanisms_are_not_refused() {
    let gaussian = Mechanism::gaussian(number("0.5")).unwrap().subsampled(number("1e-6")).unwrap();
    let many = accountant(&[(&gaussian, 100_000)]);
    let found = delta(&many, 0.01);
    assert!((4.6e-8..6.71e-6).contains(&found), "{found}");
    let epsilon = many.epsilon(&found.try_into().unwrap()).unwrap().to_f64();
    assert!((epsilon / 0.01 - 1.0).abs() < 1e-2, "{epsilon}");
}

#[test]
fn pure_promises_never_exceed_their_sum() {
    let laplace = Mechanism::laplace(number("3")).unwrap();
    let target = "1e-200".parse().unwrap();
    let epsilon = accountant(&[(&laplace, 7), (&response("0.1"), 1)]).epsilon(&target).unwrap();
    assert_eq!(*epsilon.value(), number("7/3") + number("0.1"));
    let tiny = "1e-300".parse().unwrap();
    assert_eq!(*accountant(&[(&laplace, 3)]).epsilon(&tiny).unwrap().value(), number("1"));
    assert!(accountant(&[(&Mechanism::gaussian(number("1")).unwrap(), 1)]).epsilon(&tiny).is_err());
    let sampled = laplace.clone().subsampled(number("0.25")).unwrap();
    let epsilon = accountant(&[(&sampled, 1)]).epsilon(&target).unwrap().to_f64();
    let amplified = (0.25 * (1.0_f64 / 3.0).exp_m1()).ln_1p();
    assert!((epsilon / amplified - 1.0).abs() < 1e-9 && epsilon >= amplified * (1.0 - 1e-14), "{epsilon} {amplified}");
    assert!(delta(&accountant(&[(&laplace, 3)]), 1.0) < 1e-300, "a pure promise leaves nothing out");
}

#[test]
fn nothing_composed_promises_everything() {
    let nothing = Accountant::new();
    assert!(nothing.epsilon(&"1e-9".parse().unwrap()).unwrap().to_f64() < 1e-11);
    assert!(delta(&nothing, 0.1) < 1e-300);
    let mut full = Accountant::new();
    full.add(&response("1"), 1 << 30).unwrap();
    assert!(full.add(&response("1"), 1).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Two kinds of randomised response with arbitrary parameters: never below the truth, and close to it.
    #[test]
    fn arbitrary_pairs_of_responses_are_never_undercut(
        first in 1u64..3000, second in 1u64..3000, n in 1usize..6, m in 1usize..6, share in 0.05..0.95_f64,
    ) {
        let (first, second) = (Rational::new(first as i64, 1000).unwrap(), Rational::new(second as i64, 997).unwrap());
        let (left, right) = (binary(first.to_f64()), binary(second.to_f64()));
        let lists: Vec<&[(f64, f64)]> =
            std::iter::repeat_n(&left[..], n).chain(std::iter::repeat_n(&right[..], m)).collect();
        let epsilon = share * (n as f64 * first.to_f64() + m as f64 * second.to_f64());
        let exact = enumerated(&lists, epsilon);
        let kinds = [first, second].map(|epsilon| Mechanism::randomised_response(epsilon, 2).unwrap());
        let found = bare_delta(&accountant(&[(&kinds[0], n as u64), (&kinds[1], m as u64)]), epsilon);
        prop_assert!(found >= exact * (1.0 - 1e-10), "{found} {exact}");
        prop_assert!(found <= exact * 1.05 + 1e-9, "{found} {exact}");
    }
}
