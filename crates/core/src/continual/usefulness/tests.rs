use super::*;
use crate::Permit;
use crate::continual::bridged::{BlockPlan, BlockPlans};
use crate::continual::strategy::Strategy;
use crate::continual::{Bridged, Counter, Stream};
use crate::privacy::Guarantee;

fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

fn zcdp() -> Guarantee {
    Guarantee::Zcdp("0.024355934605668213".parse().unwrap())
}

fn plan(kind: CounterKind, steps: u64, guarantee: Guarantee) -> AnyStrategy {
    kind.plan(Stream::bits().until(steps).unwrap(), guarantee).unwrap()
}

/// Every supported counter.
fn plans(steps: u64) -> Vec<AnyStrategy> {
    let plan = |kind: &CounterKind, guarantee| kind.plan(Stream::bits().until(steps).unwrap(), guarantee).ok();
    CounterKind::ALL.iter().flat_map(|kind| [plan(kind, pure("1")), plan(kind, zcdp())]).flatten().collect()
}

/// Maxima of 1024 steps from long simulations with other programs; 2000 runs place the 95 % quantile to about 1 %.
#[test]
fn simulated_maxima_match_the_reference() {
    const RUNS: u64 = 2000;
    let mut entropy = Entropy::seeded(5);
    for (kind, guarantee, reference) in [
        (CounterKind::OutputNoise, pure("1"), 10_139.332_3),
        (CounterKind::InputNoise, pure("1"), 97.328),
        (CounterKind::TwoLevel, pure("1"), 64.210_8),
        (CounterKind::Binary, pure("1"), 171.372_4),
        (CounterKind::Binary, zcdp(), 145.828_5),
    ] {
        let plan = plan(kind, 1024, guarantee);
        let simulated = simulated_max_error(&plan, 1024, 0.95, RUNS, &mut entropy).unwrap();
        assert_eq!(simulated.is, Basis::Simulated { runs: RUNS });
        let quick = max_error(&plan, 1024, 0.95, &mut entropy).unwrap();
        for value in [simulated.value, quick.value] {
            assert!((value / reference - 1.0).abs() < 0.05, "{kind:?}: {value} against {reference}");
        }
    }
}

/// Long simulations with other programs, accurate to a few per cent, against the bounds proved here.
#[test]
fn bounds_of_long_streams_are_not_far_from_the_reference() {
    for (kind, power, reference) in [
        (CounterKind::TwoLevel, 16, 214.275_8),
        (CounterKind::TwoLevel, 20, 468.106_7),
        (CounterKind::TwoLevel, 24, 1_025.427_4),
        (CounterKind::Binary, 16, 410.928_4),
        (CounterKind::Binary, 20, 629.861_6),
        (CounterKind::Binary, 24, 896.633_1),
    ] {
        let plan = plan(kind, 1 << power, pure("1"));
        let found = max_error(&plan, 1 << power, 0.95, &mut Entropy::seeded(1)).unwrap();
        assert_eq!(found.is, Basis::Bound);
        let ratio = found.value / reference;
        assert!(ratio > 0.97 && ratio < 1.3, "{kind:?} 2^{power}: {ratio}");
    }
}

#[test]
fn what_is_exact_is_exact() {
    let plan = plan(CounterKind::OutputNoise, 1000, pure("10"));
    let found = max_error(&plan, 1000, 0.95, &mut Entropy::seeded(1)).unwrap();
    assert_eq!(found.is, Basis::Exact);
    // Scale 100: the smallest t with (1 − 2p^(t+1)/(1+p))^1000 ≥ 0.95.
    let p = (-0.01_f64).exp();
    let within = |t: f64| (1.0 - 2.0 * p.powf(t + 1.0) / (1.0 + p)).powi(1000);
    assert!(within(found.value) >= 0.95 && within(found.value - 1.0) < 0.95);
}

/// The 99.9 % quantile of simulated maxima, less what chance allows, never exceeds the proved bound; nor is the bound
/// absurd.
#[test]
fn bounds_are_never_below_simulated_maxima() {
    const RUNS: u64 = 3000;
    for steps in [1, 2, 100, 256] {
        for plan in plans(steps) {
            for delta in [0.3, 0.05] {
                let bound = usefulness_throughout(&plan, steps, delta).unwrap();
                // P(more than this many failures) < 10⁻⁶ if each has probability δ: 4.9 standard deviations.
                let allowed = delta * RUNS as f64 + 4.9 * (delta * (1.0 - delta) * RUNS as f64).sqrt();
                let mut entropy = Entropy::seeded(steps);
                let level = 1.0 - allowed / RUNS as f64;
                let low = simulated_max_error(&plan, steps, level, RUNS, &mut entropy).unwrap().value;
                assert!(bound >= low, "{:?} {steps} {delta}: {bound} {low}", plan.kind());
                assert!(bound <= 2.0 * low + 2.0, "{:?} {steps} {delta}: {bound} {low}", plan.kind());
            }
        }
    }
}

/// Through real counters: |noise| exceeds the half-width about as often as it may.
#[test]
fn half_widths_cover_the_noise_of_real_counters() {
    const RUNS: u64 = 4000;
    const STEPS: u64 = 100;
    const LEVEL: f64 = 0.95;
    // 4.9 standard deviations of a binomial fraction: once in 10⁶ for each comparison.
    let tolerance = 4.9 * (LEVEL * (1.0 - LEVEL) / RUNS as f64).sqrt();
    for plan in plans(STEPS) {
        let mut outside = [0_u64; STEPS as usize];
        for run in 0..RUNS {
            let permit = Permit::unaccounted_from(Entropy::seeded(run));
            let mut counter = plan.clone().start(permit).unwrap();
            for step in 1..=STEPS {
                let noise = counter.advance(1).unwrap() - step as i64;
                let half_width = counter.half_width(step, LEVEL).unwrap();
                outside[step as usize - 1] += u64::from(noise.unsigned_abs() as f64 > half_width);
            }
        }
        for (step, &outside) in (1..).zip(&outside) {
            let fraction = outside as f64 / RUNS as f64;
            assert!(fraction <= 1.0 - LEVEL + tolerance, "{:?} step {step}: {fraction}", plan.kind());
            if matches!(plan.shape(step), Shape::Sum { .. }) && plan.variance(step) > 100.0 {
                // The next smaller whole number would not do: at scale 7 a unit is worth a tenth of the 5 %.
                assert!(fraction >= 0.042 - tolerance, "{:?} step {step}: {fraction}", plan.kind());
            }
        }
    }
}

#[test]
fn the_closed_form_holds_and_the_computed_bound_is_smaller() {
    for power in [1, 4, 6, 10, 20, 30, 40] {
        let n = 1_u64 << power;
        let plan = plan(CounterKind::Binary, n, pure("0.5"));
        let closed = binary_closed_form(2.0, n);
        let computed = usefulness_throughout(&plan, n, 1.0 / n as f64).unwrap();
        assert!(computed <= closed, "{n}: {computed} {closed}");
        let log = f64::from(power) + 1.0;
        assert!(closed <= 2.0 * 8.0_f64.sqrt() * 2.0 * std::f64::consts::LN_2 * log * log + 3.0, "{n}: {closed}");
    }
    // 1/64 of 2000 runs may fail; a bound this loose is not expected to fail at all.
    let plan = plan(CounterKind::Binary, 64, pure("1"));
    let mut entropy = Entropy::seeded(3);
    let worst = simulated_max_error(&plan, 64, 0.9999, 2000, &mut entropy).unwrap();
    assert!(worst.value <= binary_closed_form(1.0, 64));
}

#[test]
fn answers_are_counted_by_their_p_sums() {
    for steps in [1, 2, 3, 17, 100, 255, 256, 1000] {
        for schedule in [
            Schedule::binary(steps),
            Schedule::two_level(steps),
            Schedule::steps(),
            Schedule::prefixes(steps),
            Schedule::blocks(vec![1, 3, 12, 60]).unwrap(),
        ] {
            if schedule.most_sums(steps) > 128 {
                continue; // taken together
            }
            let mut counts = std::collections::BTreeMap::new();
            (1..=steps).for_each(|step| *counts.entry(schedule.sums_per_answer(step)).or_insert(0.0) += 1.0);
            assert_eq!(answers_by_sums(&schedule, steps), counts.into_iter().collect::<Vec<_>>(), "{schedule:?}");
        }
    }
}

/// A block that no power of two is near, and whose inside is the noisiest of all.
fn hidden_block() -> AnyStrategy {
    let block = |fan_outs: &[u16], whole, inside| BlockPlan { fan_outs: fan_outs.to_vec(), whole, inside };
    let blocks = BlockPlans(vec![block(&[40, 40], 1, 1), block(&[10, 10], 50, 1), block(&[60, 60], 1, 1)]);
    Bridged::new(Stream::bits(), pure("1"), blocks).unwrap().into()
}

/// The largest term and the narrowest law, against all steps one by one.
#[test]
fn extremes_of_weighted_sums_are_those_of_all_steps() {
    for steps in [1, 2, 3, 100, 1500, 1600, 1601, 1700, 3000, 5000] {
        let plans = plans(steps).into_iter().filter(|plan| !matches!(plan.shape(1), Shape::Gaussian { .. }));
        for plan in plans.chain([hidden_block()]) {
            let Some((narrowest, largest)) = weighted_extremes(&plan, steps) else { continue };
            let terms = (1..=steps).map(|step| match plan.shape(step) {
                Shape::Weighted { largest, narrowest, .. } => (narrowest, largest),
                Shape::Sum { law, .. } => (law.variance(), law.variance()),
                Shape::Gaussian { .. } => panic!("pure"),
            });
            let all = terms.fold((f64::INFINITY, 0.0_f64), |all, one| (all.0.min(one.0), all.1.max(one.1)));
            assert_eq!((narrowest, largest), all, "{:?} {steps}", plan.kind());
        }
    }
}

/// A hybrid's noise at a power of two is a sum of equal draws, and at the steps before it is not.
#[test]
fn one_step_more_never_has_a_much_smaller_bound() {
    for power in [4, 10, 16, 20] {
        let plan = plan(CounterKind::Hybrid, 1 << 24, pure("1"));
        let [before, at, after] = [(1 << power) - 1, 1 << power, (1 << power) + 1]
            .map(|steps| usefulness_throughout(&plan, steps, 0.05).unwrap());
        assert!(before <= at * 1.001 && at <= after * 1.001, "2^{power}: {before} {at} {after}");
    }
}

#[test]
fn the_longest_streams_have_their_bounds_too() {
    for plan in plans(1 << 40) {
        let found = max_error(&plan, 1 << 40, 0.95, &mut Entropy::seeded(1)).unwrap();
        let deviation = plan.worst_variance(1 << 40).sqrt();
        assert!(found.value > 2.0 * deviation && found.value < 30.0 * deviation, "{:?}: {found:?}", plan.kind());
    }
}

#[test]
fn what_means_nothing_is_refused() {
    let plan = plan(CounterKind::Binary, 10, pure("1"));
    assert!(usefulness(&plan, 0, 0.1).unwrap_err().is_parameter());
    assert!(usefulness(&plan, 1, 0.0).unwrap_err().is_parameter());
    assert!(max_error(&plan, 10, 1.0, &mut Entropy::seeded(1)).unwrap_err().is_parameter());
    assert!(!is_useful(&plan, 7, 1.0, 0.01).unwrap());
}
