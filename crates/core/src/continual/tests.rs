//! Properties that hold for every counter.

use super::*;
use crate::Permit;
use crate::noise::Entropy;
use crate::privacy::Guarantee;

/// Simulated streams for each comparison of variances.
const RUNS: u64 = 4000;
/// The sum of squares of RUNS draws, over its expectation, lies within this of 1 except once in 10⁶: the normal quantile
/// 4.9 times √((κ − 1)/RUNS), with kurtosis κ at most 6 (a single Laplace draw), and room for the skewness of squares.
const TOLERANCE: f64 = 0.24;

fn permit(seed: u64) -> Permit {
    Permit::unaccounted_from(Entropy::seeded(seed))
}

fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

fn zcdp(rho: &str) -> Guarantee {
    Guarantee::Zcdp(rho.parse().unwrap())
}

/// Every supported counter, for a few horizons and both guarantees.
fn plans() -> Vec<AnyStrategy> {
    let mut plans = Vec::new();
    for horizon in [Some(1), Some(2), Some(7), Some(64), Some(100), None] {
        for guarantee in [pure("1"), zcdp("0.1")] {
            for kind in CounterKind::ALL {
                let stream = match horizon {
                    Some(steps) => Stream::bits().until(steps).unwrap(),
                    None => Stream::bits(),
                };
                plans.extend(kind.plan(stream, guarantee.clone()).ok());
            }
        }
    }
    plans
}

#[test]
fn simulated_variances_are_as_predicted() {
    for (seed, plan) in plans().into_iter().enumerate() {
        let steps = plan.stream().steps().unwrap_or(70).min(70);
        let mut squares = vec![0.0; steps as usize];
        for run in 0..RUNS {
            let mut counter = plan.clone().start(permit(seed as u64 * RUNS + run)).unwrap();
            for (step, square) in squares.iter_mut().enumerate() {
                let noise = counter.advance(1).unwrap() as f64 - (step + 1) as f64;
                *square += noise * noise / RUNS as f64;
            }
        }
        for (step, square) in (1..).zip(&squares) {
            let ratio = square / plan.variance(step);
            assert!((ratio - 1.0).abs() < TOLERANCE, "{:?} step {step}: {ratio}", plan.kind());
        }
    }
}

#[test]
fn averages_and_maxima_are_those_of_the_steps() {
    for plan in plans() {
        let (mut sum, mut worst) = (0.0, 0.0_f64);
        for step in 1..=plan.stream().steps().unwrap_or(300) {
            sum += plan.variance(step);
            worst = worst.max(plan.variance(step));
            let average = sum / step as f64;
            assert!((plan.average_variance(step) / average - 1.0).abs() < 1e-9, "{:?} {step}", plan.kind());
            assert!((plan.worst_variance(step) / worst - 1.0).abs() < 1e-9, "{:?} {step}", plan.kind());
        }
    }
}

#[test]
fn a_restored_counter_goes_on_with_the_noise_it_had() {
    for plan in plans() {
        let horizon = plan.stream().steps().unwrap_or(50);
        let kind = plan.kind();
        let mut counter = plan.start(permit(1)).unwrap();
        if kind.is_pan_private() {
            let error = counter.save().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("a {kind} counter cannot be saved: each saved state could be seized")),
                "{error}"
            );
            continue;
        }
        for step in 0..horizon {
            let text = serde_json::to_string(&counter.save().unwrap()).unwrap();
            let saved: AnySaved = serde_json::from_str(&text).unwrap();
            assert_eq!(saved.epoch(), step + 1);
            let restored = AnyCounter::restore(saved.clone(), step + 1, permit(2)).unwrap();
            assert_eq!((restored.value(), restored.steps()), (counter.value(), counter.steps()));
            // From here on the same generator gives the same releases: all noise that was drawn is in the state.
            let mut twins = [permit(3), permit(3)].map(|permit| AnyCounter::restore(saved.clone(), 0, permit).unwrap());
            let [left, right] = &mut twins;
            assert_eq!(left.advance(1).unwrap(), right.advance(1).unwrap());
            // A caller that remembers the epoch detects an older state.
            assert!(matches!(
                AnyCounter::restore(saved, step + 2, permit(2)),
                Err(crate::Error::StaleState { found, newest }) if (found, newest) == (step + 1, step + 2)
            ));
            counter = restored;
            counter.advance(1).unwrap();
        }
        if counter.stream().steps().is_some() {
            assert!(matches!(counter.advance(1), Err(crate::Error::HorizonReached { horizon: end }) if end == horizon));
        }
    }
}

#[test]
fn the_last_release_comes_again_without_new_noise() {
    let mut counter = CounterKind::Auto.start(Stream::bits().until(10).unwrap(), pure("1"), permit(1)).unwrap();
    assert!(counter.release().is_none());
    let release = counter.step(1).unwrap();
    for _ in 0..10 {
        assert_eq!(counter.release().unwrap(), release);
    }
}

#[test]
fn huge_values_saturate_instead_of_wrapping() {
    let mut counter = CounterKind::Binary.start(Stream::bits().until(10).unwrap(), pure("1"), permit(1)).unwrap();
    for _ in 0..5 {
        counter.advance(i64::MAX).unwrap();
    }
    assert_eq!(counter.value(), Some(i64::MAX));
    for _ in 0..5 {
        counter.advance(i64::MIN).unwrap();
    }
    assert!(counter.value().unwrap().abs() < 1000);
}

#[test]
fn steps_are_clamped_when_they_are_the_unit() {
    let stream = Stream::new(0..=10).unwrap().with_unit(Unit::Step).unwrap().until(4).unwrap();
    let mut counter = CounterKind::OutputNoise.start(stream, pure("900"), permit(1)).unwrap();
    assert_eq!((counter.advance(1_000_000).unwrap(), counter.advance(-5).unwrap()), (10, 10));
}

#[test]
fn names_are_read_as_they_are_written() {
    for kind in CounterKind::ALL {
        assert_eq!(kind.name().parse::<CounterKind>().unwrap(), *kind);
        assert_eq!(serde_json::to_string(kind).unwrap(), format!("\"{kind}\""));
    }
    assert!("tree".parse::<CounterKind>().is_err());
}
