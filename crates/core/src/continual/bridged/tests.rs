use super::state::rounded;
use super::*;
use crate::exact::Rational;
use crate::noise::Entropy;
use rand_core::Rng;

/// Errors at ε = 1 of equal blocks of equal fan-outs with equal parts, and of the last and the worst step: T, k,
/// levels inside, blocks, last, average, worst.
///
/// For the worst of 2^24 steps the table that these are from has 45.4772, less than the error at step 16,224,964.
const REFERENCE: [(u64, u16, usize, u64, f64, f64, f64); 4] = [
    (1 << 10, 16, 2, 4, 8.4461, 11.1669, 14.0169),
    (1 << 16, 19, 3, 10, 26.4412, 20.9429, 27.0531),
    (1 << 20, 20, 4, 7, 31.7591, 28.1909, 35.6411),
    (1 << 24, 19, 5, 7, 39.2922, 36.3783, 45.6341),
];

fn epsilon(text: &str) -> Guarantee {
    Guarantee::Pure(text.parse().unwrap())
}

fn equal(fan_outs: &[u16]) -> BlockPlan {
    BlockPlan { fan_outs: fan_outs.to_vec(), whole: 1, inside: 1 }
}

fn chosen(steps: Option<u64>) -> Bridged {
    let stream = steps.map_or_else(Stream::bits, |steps| Stream::bits().until(steps).unwrap());
    let plans = Bridged::choose(&stream, &epsilon("1")).unwrap();
    Bridged::new(stream, epsilon("1"), plans).unwrap()
}

fn given(steps: u64, plans: Vec<BlockPlan>) -> Bridged {
    Bridged::new(Stream::bits().until(steps).unwrap(), epsilon("1"), BlockPlans(plans)).unwrap()
}

fn small() -> Vec<(u64, Bridged)> {
    let odd = vec![
        BlockPlan { fan_outs: vec![3, 2, 5], whole: 7, inside: 3 },
        BlockPlan { fan_outs: vec![], whole: 1, inside: 1 },
        BlockPlan { fan_outs: vec![2, 4], whole: 1, inside: 9 },
    ];
    vec![
        (64, given(64, vec![equal(&[4, 4])])),
        (75, given(75, odd)),
        (300, chosen(Some(300))),
        (50, chosen(Some(50))),
        (1, chosen(Some(1))),
        (310, chosen(None)),
    ]
}

/// Every node in the order in which its noise is drawn: a block, or the children of a node, as it is entered. Written
/// without the code's state machine.
fn nodes(strategy: &Bridged, steps: u64) -> Vec<(u64, u64, Rational)> {
    fn inside(
        fan_outs: &[u16],
        from: u64,
        length: u64,
        steps: u64,
        scale: &Rational,
        found: &mut Vec<(u64, u64, Rational)>,
    ) {
        let Some((&k, deeper)) = fan_outs.split_first() else { return };
        let child = length / u64::from(k);
        let children = (0..u64::from(k)).map(|index| from + index * child);
        found.extend(children.clone().map(|from| (from, from + child, scale.clone())));
        children.filter(|&from| from < steps).for_each(|from| inside(deeper, from, child, steps, scale, found));
    }
    let (mut from, mut index, mut found) = (0, 0, Vec::new());
    while from < steps {
        let block = strategy.block(index);
        let plan = &strategy.plan.0[(index as usize).min(strategy.plan.0.len() - 1)];
        found.push((from, from + block.length, block.whole.scale().clone()));
        inside(&plan.fan_outs, from, block.length, steps, block.inside.scale(), &mut found);
        from += block.length;
        index += 1;
    }
    found
}

/// The noise of all steps, in fixed point, from given draws.
fn replay(strategy: &Bridged, steps: u64, draws: &[i64]) -> Vec<i128> {
    let mut state = strategy.begin();
    let mut rest = draws.iter();
    let noise = (0..steps)
        .map(|_| {
            strategy.draw_next(&mut state, |_, slots| slots.iter_mut().for_each(|slot| *slot = *rest.next().unwrap()))
        })
        .collect();
    assert!(rest.next().is_none());
    noise
}

#[test]
fn reference_errors_are_met_with_the_reference_parameters() {
    for (steps, k, inside, blocks, last, average, worst) in REFERENCE {
        let strategy = given(steps, vec![equal(&vec![k; inside]); blocks as usize]);
        let close = |variance: f64, rmse: f64| (variance.sqrt() / rmse - 1.0).abs() < 0.002;
        assert!(close(strategy.variance(steps), last), "{}", strategy.variance(steps).sqrt());
        assert!(close(strategy.average_variance(steps), average), "{}", strategy.average_variance(steps).sqrt());
        assert!(close(strategy.worst_variance(steps), worst), "{}", strategy.worst_variance(steps).sqrt());
    }
}

/// The case where a reference error is exceeded.
#[test]
fn the_worst_of_sixteen_million_steps_is_a_step() {
    let strategy = given(1 << 24, vec![equal(&[19; 5]); 7]);
    let ratio = strategy.variance(16_224_964) / strategy.worst_variance(1 << 24);
    assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn the_chosen_parameters_do_better_than_the_reference() {
    for ((steps, _, _, _, _, average, worst), claimed) in REFERENCE.into_iter().zip([10.88, 20.40, 27.78, 35.91]) {
        let strategy = chosen(Some(steps));
        assert!(strategy.average_variance(steps).sqrt() < claimed, "{}", strategy.average_variance(steps).sqrt());
        assert!(claimed < 0.99 * average);
        assert!(strategy.worst_variance(steps).sqrt() < 1.01 * worst);
    }
}

#[test]
fn without_a_horizon_errors_are_a_third_of_the_hybrid_counters() {
    let strategy = chosen(None);
    for (exponent, hybrid, claimed) in
        [(10, 35.6655, 13.6), (16, 71.5745, 24.2), (20, 99.4579, 32.6), (24, 130.0554, 41.8)]
    {
        let rmse = strategy.average_variance(1 << exponent).sqrt();
        assert!(rmse < claimed && claimed < 0.4 * hybrid, "{exponent}: {rmse}");
    }
}

/// The parts of ε of all nodes that a step is in add up to ε, exactly.
#[test]
fn every_step_spends_exactly_epsilon() {
    for (steps, strategy) in small() {
        let nodes = nodes(&strategy, steps);
        for step in 0..steps {
            let around = nodes.iter().filter(|(from, to, _)| (*from..*to).contains(&step));
            let spent: Rational = around.map(|(_, _, scale)| scale.recip().unwrap()).sum();
            assert_eq!(spent, Rational::ONE, "step {step}");
        }
    }
}

/// L from single draws: the variances of the closed form.
#[test]
fn variances_are_those_of_all_weights_written_out() {
    const LARGE: i64 = 1 << 30;
    for (steps, strategy) in small() {
        let nodes = nodes(&strategy, steps);
        let mut variances = vec![0.0; steps as usize];
        for (index, (_, _, scale)) in nodes.iter().enumerate() {
            let mut draws = vec![0; nodes.len()];
            draws[index] = LARGE;
            let variance = DiscreteLaplace::new(scale).unwrap().variance();
            for (sum, noise) in variances.iter_mut().zip(replay(&strategy, steps, &draws)) {
                let weight = noise as f64 / LARGE as f64 / f64::from(1 << state::FRACTION_BITS);
                assert!(weight.abs() < 1.0 + 1e-6);
                *sum += weight * weight * variance;
            }
        }
        for (step, expected) in (1..).zip(variances) {
            let place = strategy.place(step);
            // Where a block ends, noise is whole.
            let rounding = if place.offset == place.block.length { 0.0 } else { ROUNDING };
            assert!((strategy.variance(step) - rounding - expected).abs() < 2e-5 * expected, "{step}: {expected}");
        }
    }
}

/// Moves one step's value by 1 and the noise against it: does every answer stay the same with this rounding?
fn answers_depend_on_noisy_sums_alone(rounding: impl Fn(i128) -> i128) -> bool {
    let mut entropy = Entropy::seeded(5);
    let mut rng = entropy.draw().unwrap();
    small().into_iter().all(|(steps, strategy)| {
        let nodes = nodes(&strategy, steps);
        // Small noise, so that sums close to 0 and of both signs, and halves, are common.
        let draws: Vec<i64> = nodes.iter().map(|_| (rng.next_u64() % 5) as i64 - 2).collect();
        let noise = replay(&strategy, steps, &draws);
        (0..steps).all(|moved| {
            let against =
                nodes.iter().zip(&draws).map(|((from, to, _), draw)| draw - i64::from((*from..*to).contains(&moved)));
            let other = replay(&strategy, steps, &against.collect::<Vec<_>>());
            let same = |(step, (noise, other)): (u64, (&i128, &i128))| {
                rounding(*other) - rounding(*noise) == -i128::from(step >= moved)
            };
            (0..).zip(noise.iter().zip(&other)).all(same)
        })
    })
}

#[test]
fn answers_are_a_function_of_the_noisy_sums() {
    assert!(answers_depend_on_noisy_sums_alone(rounded));
    // Rounding halves towards 0 would reveal more than the noisy sums.
    let half = 1i128 << (state::FRACTION_BITS - 1);
    let towards_zero = |noise: i128| noise.signum() * ((noise.abs() + half - 1) >> state::FRACTION_BITS);
    assert!(!answers_depend_on_noisy_sums_alone(towards_zero));
}

#[test]
fn worst_steps_are_found_at_any_number_of_steps() {
    for (steps, strategy) in small().into_iter().chain([(5000, chosen(Some(5000)))]) {
        let mut worst = 0.0_f64;
        for step in 1..=steps {
            worst = worst.max(strategy.variance(step));
            assert!((strategy.worst_variance(step) / worst - 1.0).abs() < 1e-12, "{step} of {steps}");
        }
    }
}

#[test]
fn state_stays_small() {
    assert!(chosen(Some(1 << 30)).state_bytes() <= 4096);
    assert!(chosen(Some(1 << 40)).state_bytes() <= 4096);
}

#[test]
fn damaged_states_and_unsound_plans_are_refused() {
    let strategy = chosen(Some(1000));
    let mut entropy = Entropy::seeded(1);
    let mut state = strategy.begin();
    for step in 1..=700 {
        assert!(strategy.fits(&state, step - 1));
        strategy.next(&mut state, step, &mut entropy.draw().unwrap());
        assert!(!strategy.fits(&state, step - 1) && !strategy.fits(&state, step + 1));
    }
    let stream = || Stream::bits().until(10).unwrap();
    for fan_outs in [vec![1], vec![65], vec![64; 11]] {
        assert!(Bridged::new(stream(), epsilon("1"), BlockPlans(vec![equal(&fan_outs)])).is_err());
    }
    for (whole, inside) in [(0, 1), (1, 0), (1, u32::MAX)] {
        let plan = BlockPlan { fan_outs: vec![4], whole, inside };
        assert!(Bridged::new(stream(), epsilon("1"), BlockPlans(vec![plan])).is_err());
    }
    assert!(Bridged::new(stream(), epsilon("1"), BlockPlans(vec![])).is_err());
    assert!(Bridged::choose(&stream(), &Guarantee::Zcdp("1".parse().unwrap())).is_err());
}
