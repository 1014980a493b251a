//! Properties of keyed counters.

use super::*;
use crate::continual::{
    AnyKeyedCounter, AnyKeyedSaved, AnyStrategy, CounterKind, KeyedPlan, PSums, Shape, Strategy, Stream, Unit,
};
use crate::exact::Rational;
use crate::noise::{DiscreteLaplace, Entropy};
use crate::numeric::interval::{clopper_pearson_lower, clopper_pearson_upper};
use crate::permit::Permit;
use crate::privacy::{Adjacency, Guarantee};

fn permit(seed: u64) -> Permit {
    Permit::unaccounted_from(Entropy::seeded(seed))
}

fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

fn approx(epsilon: &str, delta: &str) -> Guarantee {
    Guarantee::Approx(epsilon.parse().unwrap(), delta.parse().unwrap())
}

fn bits(horizon: u64) -> Stream {
    Stream::bits().until(horizon).unwrap()
}

/// At ε = 900 a p-sum is off with probability e^(−900/7): the sums themselves can be read.
#[test]
fn totals_are_those_of_the_events() {
    let stream = Stream::new(-3..=3).unwrap().until(7).unwrap();
    let mut counter = KeyedPlan::known(CounterKind::Binary, stream, pure("900"))
        .unwrap()
        .start([30u64, 10, 20, 10], permit(1))
        .unwrap();
    assert_eq!(counter.values().count(), 0);
    let mut totals = [0; 3];
    for step in 1..=7 {
        for (index, key) in [10u64, 20, 30, 40].into_iter().enumerate() {
            for event in 0..step {
                let value = event * 2 - index as i64 * 3;
                counter.add(&key, value);
                if key < 40 {
                    totals[index] += value.clamp(-3, 3);
                }
            }
        }
        counter.close_step().unwrap();
        let values: Vec<_> = counter.values().map(|(key, value)| (*key, value)).collect();
        assert_eq!(values, [(10, totals[0]), (20, totals[1]), (30, totals[2])]);
        assert_eq!(counter.release(&20).unwrap().value(), &totals[1]);
        assert_eq!(counter.value(&40), None);
    }
    assert!(matches!(counter.close_step(), Err(crate::Error::HorizonReached { horizon: 7 })));
}

/// Many events at once, with new keys among them while the table grows, count as one by one.
#[test]
fn events_in_bulk_are_events() {
    let events: Vec<(u64, i64)> = (0..5000).map(|event| (event * event % 997, (event % 5) as i64 - 1)).collect();
    let borrowed: Vec<(&u64, i64)> = events.iter().map(|(key, value)| (key, *value)).collect();
    let pending = |bulk: bool, admits: bool| {
        let plan = if admits {
            KeyedPlan::admitting(CounterKind::Binary, bits(4), approx("1", "1e-6")).unwrap()
        } else {
            KeyedPlan::known(CounterKind::Binary, bits(4), pure("1")).unwrap()
        };
        let mut counter = plan.start([1u64, 4, 9], permit(1)).unwrap();
        if bulk {
            counter.add_all(&borrowed);
        } else {
            borrowed.iter().for_each(|(key, value)| counter.add(*key, *value));
        }
        serde_json::to_string(&counter.save()).unwrap()
    };
    assert_eq!(pending(true, true), pending(false, true));
    assert_eq!(pending(true, false), pending(false, false));
}

#[test]
fn the_size_of_an_event_follows_from_its_neighbours() {
    let reach = |stream: &Stream| {
        let one = each_key(stream).unwrap();
        assert_eq!(one.adjacency(), Adjacency::AddRemove);
        one.max_change() * one.max_steps()
    };
    let range = |low, high| Stream::new(low..=high).unwrap();
    assert_eq!(reach(&range(10, 15)), 15);
    // Moved from key to key, a 15 leaves one sum and enters another.
    assert_eq!(reach(&range(10, 15).with_adjacency(Adjacency::Replace).unwrap()), 30);
    let visits = range(0, 1).with_unit(Unit::Events(4)).unwrap();
    assert_eq!((reach(&visits), reach(&visits.clone().with_adjacency(Adjacency::Replace).unwrap())), (4, 8));
    assert!(each_key(&visits.with_unit(Unit::Step).unwrap()).is_err());
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let admitting = |kind, stream, guarantee| KeyedPlan::admitting(kind, stream, guarantee).map(|_| ());
    assert!(admitting(CounterKind::Binary, bits(8), approx("1", "1e-6")).is_ok());
    assert!(admitting(CounterKind::Auto, Stream::bits(), approx("1", "1e-6")).is_ok());
    assert!(admitting(CounterKind::Binary, bits(8), pure("1")).is_err());
    assert!(admitting(CounterKind::Binary, bits(8), Guarantee::Zcdp("1".parse().unwrap())).is_err());
    assert!(admitting(CounterKind::Binary, bits(8), approx("1", "1e-301")).is_err());
    assert!(admitting(CounterKind::Binary, Stream::bits(), approx("1", "1e-6")).is_err());
    assert!(admitting(CounterKind::Binary, bits(8).with_unit(Unit::Step).unwrap(), approx("1", "1e-6")).is_err());
    let no_keys: [u64; 0] = [];
    assert!(KeyedPlan::known(CounterKind::Binary, bits(8), pure("1")).unwrap().start(no_keys, permit(1)).is_err());
}

/// P(N ≥ λ) for a sum of discrete Laplace draws, by convolution (the mass beyond `REACH` is less than e^−100).
fn exact_tail(scale: f64, terms: u64, from: i128) -> f64 {
    const REACH: i128 = 1500;
    let p = (-1.0 / scale).exp();
    let side = 2 * REACH as usize + 1;
    let mut law = vec![0.0; side];
    law[REACH as usize] = 1.0;
    // K = G − G′ with geometric G: multiply the generating function by (1−p)/(1−pz) and (1−p)/(1−p/z).
    for _ in 0..terms {
        for place in 1..side {
            law[place] = p * law[place - 1] + (1.0 - p) * law[place];
        }
        law[0] *= 1.0 - p;
        for place in (0..side - 1).rev() {
            law[place] = p * law[place + 1] + (1.0 - p) * law[place];
        }
    }
    // The first place of each recursion is one factor off, far out in the tail where nothing is left.
    law[(from + REACH) as usize..].iter().sum()
}

#[test]
fn thresholds_hold_exactly_and_are_not_far_too_high() {
    for (horizon, delta, adjacency, unit) in [
        (8, 1e-6, Adjacency::AddRemove, Unit::Event),
        (100, 1e-3, Adjacency::AddRemove, Unit::Events(3)),
        (64, 0.05, Adjacency::Replace, Unit::Event),
        (1, 1e-9, Adjacency::Replace, Unit::Events(2)),
    ] {
        let stream = bits(horizon).with_unit(unit).unwrap().with_adjacency(adjacency).unwrap();
        let (events, keys) = match (unit, adjacency) {
            (Unit::Events(count), Adjacency::AddRemove) => (count, count),
            (Unit::Events(count), Adjacency::Replace) => (count, 2 * count),
            (_, Adjacency::AddRemove) => (1, 1),
            (_, Adjacency::Replace) => (1, 2),
        };
        let guarantee = approx("2", &delta.to_string());
        let plan = KeyedPlan::admitting(CounterKind::Binary, stream.clone(), guarantee).unwrap();
        let mut shown = 0.0;
        for step in 1..=horizon {
            let Shape::Sum { law, terms } = plan.strategy().shape(step) else { panic!("a sum of draws") };
            let threshold = plan.admission().unwrap().threshold(step, plan.strategy().shape(step)).unwrap();
            let tail = exact_tail(law.scale().to_f64(), terms, threshold - i128::from(events));
            shown += tail * keys as f64;
            // Chernoff's bound loses a factor, not an order of magnitude more.
            assert!(tail > delta / (keys * horizon) as f64 / 50.0, "{horizon} {step}: {tail}");
        }
        assert!(shown <= delta, "{horizon}: {shown}");
    }
}

#[test]
fn thresholds_of_a_stream_without_end_spend_delta_once() {
    let delta = 1e-3;
    let plan = KeyedPlan::admitting(CounterKind::InputNoise, Stream::bits(), approx("1", "1e-3")).unwrap();
    let mut shown = 0.0;
    for step in 1..=200 {
        let threshold = plan.admission().unwrap().threshold(step, plan.strategy().shape(step)).unwrap();
        shown += exact_tail(1.0, step, threshold - 1);
    }
    assert!(shown < delta && shown > delta / 50.0, "{shown}");
}

/// Runs of each simulated audit.
const RUNS: u64 = 10_000;
/// One minus the probability of a false alarm.
const LEVEL: f64 = 1.0 - 1e-6;

/// How often a key with events in these steps is admitted at some step.
fn admitted(delta: &str, horizon: u64, events: &[u64], admit: impl Fn(&AnyKeyedCounter<u64>, u64) -> bool) -> u64 {
    let plan = KeyedPlan::admitting(CounterKind::Binary, bits(horizon), approx("1", delta)).unwrap();
    let mut admitted = 0;
    for seed in 0..RUNS {
        let mut counter = plan.clone().start([], permit(seed)).unwrap();
        admitted += u64::from((1..=horizon).any(|step| {
            for _ in events.iter().filter(|&&event| event == step) {
                counter.add(&1, 1);
            }
            counter.close_step().unwrap();
            admit(&counter, step)
        }));
    }
    admitted
}

/// δ = 0.05 over 64 steps. Detected: a threshold that spends δ at each step shows the key in far more than 5 % of the
/// runs.
#[test]
fn one_event_does_not_show_a_key() {
    const HORIZON: u64 = 64;
    let shown = admitted("0.05", HORIZON, &[1], |counter, _| counter.value(&1).is_some());
    assert!(clopper_pearson_upper(shown, RUNS, LEVEL).unwrap() <= 0.05, "{shown}");
    // The mutant: δ at each step. With a horizon of 1 the same tail gets all of it; the noise is that of 64 steps.
    let (whole, _) = Admission::new(&bits(1), &approx("1", "0.05")).unwrap();
    let laws = KeyedPlan::admitting(CounterKind::Binary, bits(HORIZON), approx("1", "0.05")).unwrap();
    let mutant = |step| whole.threshold(step, laws.strategy().shape(step)).unwrap();
    let thresholds: Vec<i64> = (1..=HORIZON).map(|step| i64::try_from(mutant(step)).unwrap()).collect();
    let known = KeyedPlan::known(CounterKind::Binary, bits(HORIZON), pure("1")).unwrap();
    let mut shown = 0;
    for seed in 0..RUNS {
        let mut counter = known.clone().start([1u64], permit(seed)).unwrap();
        counter.add(&1, 1);
        shown += u64::from(thresholds.iter().any(|&threshold| {
            counter.close_step().unwrap();
            counter.value(&1).unwrap() >= threshold
        }));
    }
    assert!(clopper_pearson_lower(shown, RUNS, LEVEL).unwrap() > 0.05, "{shown}");
}

/// The noise of a late key has the variance it would have had: otherwise releases would reveal when it came. A
/// counter whose noise starts with the key has 1 or 2 of the 3 draws at step 7.
#[test]
fn noise_does_not_tell_when_a_key_came() {
    const FEWER: u64 = 5000;
    /// 4.9·√((6 − 1)/FEWER) = 0.155, with a margin for the skewness of squares.
    const TOLERANCE: f64 = 0.22;
    /// Far above any threshold.
    const EVENTS: i64 = 300;
    for kind in [CounterKind::Binary, CounterKind::TwoLevel, CounterKind::InputNoise, CounterKind::OutputNoise] {
        let plan = KeyedPlan::admitting(kind, bits(7), approx("1", "0.5")).unwrap();
        let variance = plan.strategy().variance(7);
        for first in [1, 5, 7] {
            let mut squares = 0.0;
            for seed in 0..FEWER {
                let mut counter = plan.clone().start([], permit(seed)).unwrap();
                for step in 1..=7 {
                    if step == first {
                        (0..EVENTS).for_each(|_| counter.add(&1u64, 1));
                    }
                    counter.close_step().unwrap();
                }
                squares += (counter.value(&1).unwrap() - EVENTS).pow(2) as f64 / FEWER as f64;
            }
            assert!((squares / variance - 1.0).abs() < TOLERANCE, "{kind} {first}: {}", squares / variance);
        }
    }
    // The mutant is detected: noise that starts with the key.
    let parameters = PSums::named(CounterKind::Binary, &bits(7)).unwrap();
    let strategy = PSums::new(bits(7), pure("1"), parameters).unwrap();
    let mut entropy = Entropy::seeded(1);
    let mut draw = entropy.draw().unwrap();
    let squares: i128 = (0..FEWER).map(|_| strategy.next(&mut strategy.begin(), 7, &mut draw).pow(2)).sum();
    assert!(squares as f64 / FEWER as f64 / strategy.variance(7) < 1.0 - TOLERANCE);
}

/// Once shown, a key stays; new ones follow in sorted order, whatever the order of their events.
#[test]
fn keys_come_by_admission_and_then_in_their_own_order() {
    let plan = KeyedPlan::admitting(CounterKind::Binary, bits(4), approx("900", "1e-6")).unwrap();
    let mut counter = plan.start(["m".to_string()], permit(1)).unwrap();
    for keys in ["zax", "cyb", "a", ""] {
        for key in keys.chars() {
            for _ in 0..10 {
                counter.add(key.to_string().as_str(), 1);
            }
        }
        counter.close_step().unwrap();
        let shown: String = counter.values().map(|(key, _)| key.as_str()).collect();
        assert!("maxzbcy".starts_with(&shown) && shown.len() >= 4, "{shown}");
        assert_eq!(counter.value("zz"), None);
    }
    assert_eq!(counter.value("a"), Some(20));
}

#[test]
fn a_restored_counter_goes_on_with_the_noise_it_had() {
    let known = KeyedPlan::known(CounterKind::Binary, bits(20), pure("1")).unwrap();
    let admitting = KeyedPlan::admitting(CounterKind::TwoLevel, bits(20), approx("1", "0.5")).unwrap();
    for plan in [known, admitting] {
        let mut counter = plan.start([3u64, 1, 2], permit(1)).unwrap();
        for step in 0..20u64 {
            // Saved in the middle of a step.
            (0..20).for_each(|_| counter.add(&(step % 7), 1));
            let text = serde_json::to_string(&counter.save()).unwrap();
            let saved: AnyKeyedSaved<u64> = serde_json::from_str(&text).unwrap();
            assert_eq!(saved.epoch(), step + 1);
            assert!(AnyKeyedCounter::restore(saved.clone(), step + 2, permit(2)).is_err());
            let twins = [permit(3), permit(3)].map(|permit| {
                let mut twin = AnyKeyedCounter::restore(saved.clone(), 0, permit).unwrap();
                assert!(twin.values().eq(counter.values()));
                (0..5).for_each(|_| twin.add(&(step % 5), 1));
                twin.close_step().unwrap();
                twin
            });
            assert!(twins[0].values().eq(twins[1].values()));
            let [twin, _] = twins;
            counter = twin;
        }
        assert!(counter.close_step().is_err());
    }
}

/// Whatever `auto` chose, including ε alone where ε and δ were given.
#[test]
fn every_plan_goes_on_under_the_law_and_the_promise_it_began_with() {
    type Plan = fn(CounterKind, Stream, Guarantee) -> crate::Result<KeyedPlan<AnyStrategy>>;
    let plans: [Plan; 2] = [KeyedPlan::known, KeyedPlan::admitting];
    let guarantees = ["0.1", "1", "8"].map(pure).into_iter();
    let guarantees = guarantees.chain([approx("0.1", "1e-9"), approx("1", "1e-6"), approx("8", "1e-3")]);
    let guarantees = guarantees.chain(["0.01", "2"].map(|rho| Guarantee::Zcdp(rho.parse().unwrap())));
    let (mut restored, mut pure_for_approx) = (0, 0);
    for guarantee in guarantees {
        for horizon in [Some(1), Some(3), Some(16), Some(1000), None] {
            for adjacency in [Adjacency::AddRemove, Adjacency::Replace] {
                let stream = horizon.map_or_else(Stream::bits, bits).with_adjacency(adjacency).unwrap();
                for kind in
                    [CounterKind::Auto].iter().chain(CounterKind::ALL).copied().filter(|kind| !kind.is_pan_private())
                {
                    for plan in plans.iter().filter_map(|plan| plan(kind, stream.clone(), guarantee.clone()).ok()) {
                        let mut before = plan.start([1u64, 2], permit(1)).unwrap();
                        before.close_step().unwrap();
                        let text = serde_json::to_string(&before.save()).unwrap();
                        let saved: AnyKeyedSaved<u64> = serde_json::from_str(&text).unwrap();
                        let what = format!("{kind} {guarantee} {horizon:?} {adjacency}");
                        let after = AnyKeyedCounter::restore(saved, 0, permit(2)).expect(&what);
                        let law = |counter: &AnyKeyedCounter<u64>| {
                            let widths =
                                [1, horizon.unwrap_or(5000)].map(|step| counter.half_width(step, 0.95).unwrap());
                            (counter.kind(), counter.guarantee().clone(), widths, counter.threshold(1))
                        };
                        assert_eq!(law(&after), law(&before), "{what}");
                        restored += 1;
                        pure_for_approx +=
                            u32::from(guarantee.delta().is_some() && after.guarantee().delta().is_none());
                    }
                }
            }
        }
    }
    assert!(restored > 200 && pure_for_approx > 10, "{restored} {pure_for_approx}");
}

#[test]
fn a_strategy_for_another_promise_or_stream_is_refused() {
    let made = |stream: Stream, guarantee: Guarantee| {
        PSums::new(stream.clone(), guarantee, PSums::named(CounterKind::Binary, &stream).unwrap())
    };
    let known = |strategy: &dyn Fn(Stream, Guarantee) -> crate::Result<PSums>, guarantee: Guarantee| {
        KeyedPlan::known_with(bits(8), guarantee, strategy).map(|plan| plan.guarantee().clone())
    };
    assert_eq!(known(&made, pure("1")).unwrap(), pure("1"));
    // The guarantee may be stronger than the one given, and is then what is stated and charged.
    assert_eq!(known(&|stream, _| made(stream, pure("1")), approx("1", "1e-6")).unwrap(), pure("1"));
    assert!(known(&|stream, _| made(stream, pure("2")), pure("1")).is_err());
    assert!(known(&|_, guarantee| made(bits(4), guarantee), pure("1")).is_err());
    let admitting = |promised: Option<&str>| {
        let strategy = |stream, asked| made(stream, promised.map_or(asked, pure));
        KeyedPlan::admitting_with(bits(8), approx("1", "1e-6"), strategy).is_ok()
    };
    assert!(admitting(None) && !admitting(Some("2")) && !admitting(Some("0.5")));
}

#[test]
fn damaged_states_are_refused() {
    let mut counter =
        KeyedPlan::known(CounterKind::Binary, bits(4), pure("1")).unwrap().start([10u64, 11], permit(1)).unwrap();
    counter.close_step().unwrap();
    let text = serde_json::to_string(&counter.save()).unwrap();
    let read = |text: &str| AnyKeyedCounter::<u64>::restore(serde_json::from_str(text).unwrap(), 0, permit(1));
    assert!(read(&text).is_ok());
    for (from, to) in [
        ("\"key\":11", "\"key\":10"),
        ("\"steps\":1", "\"steps\":5"),
        ("\"shown\":[0,1]", "\"shown\":[0,0]"),
        ("\"shown\":[0,1]", "\"shown\":[0,2]"),
        ("\"shown\":[0,1]", "\"shown\":[0]"),
        ("\"by_length\":[", "\"by_length\":[0,"),
    ] {
        assert!(text.contains(from), "{text}");
        assert!(matches!(read(&text.replacen(from, to, 1)), Err(crate::Error::DamagedState)), "{from}");
    }
}

/// Keys that many others crowd out are forgotten, and releases are unaffected.
#[test]
fn keys_that_are_not_admitted_are_forgotten_when_too_many_have_come() {
    let plan = KeyedPlan::admitting(CounterKind::InputNoise, bits(8), approx("8", "1e-6")).unwrap();
    assert_eq!(plan.admission().unwrap().crowd().most(), Crowd::MOST);
    let mut counter = plan.start([7u64, 3], permit(1)).unwrap();
    let kept = |counter: &mut AnyKeyedCounter<u64>| {
        let text = serde_json::to_string(&counter.save()).unwrap();
        let saved = serde_json::from_str::<serde_json::Value>(&text).unwrap();
        (saved["p-sums"]["keys"].as_array().unwrap().len(), saved["p-sums"]["era"]["known"].as_u64().unwrap(), text)
    };
    (0..500).for_each(|_| counter.add(&5, 1));
    counter.add(&1, 1);
    counter.close_step().unwrap();
    let before: Vec<_> = counter.values().map(|(key, _)| *key).collect();
    assert_eq!((before, kept(&mut counter).0), (vec![3, 7, 5], 4));
    // A second of an attack: they are not kept even until the step closes, and released keys go on counting.
    (0..2 * Crowd::MOST).for_each(|key| counter.add(&(1000 + key), 1));
    assert!(counter.is_crowded() && counter.counts(&5) && !counter.counts(&1));
    (0..300).for_each(|_| counter.add(&5, 1));
    let (keys, _, text) = kept(&mut counter);
    assert_eq!(keys, 3);
    // Nor are they if the counter was saved and restored in between.
    let mut counter = AnyKeyedCounter::<u64>::restore(serde_json::from_str(&text).unwrap(), 0, permit(4)).unwrap();
    counter.add_all(&[(&1u64, 500); 3]);
    counter.close_step().unwrap();
    assert!(!counter.is_crowded() && counter.value(&1).is_none());
    assert!((counter.value(&5).unwrap() - 800).abs() < 100);
    let (keys, known, text) = kept(&mut counter);
    assert_eq!((keys, known), (3, 3));
    let mut counter = AnyKeyedCounter::<u64>::restore(serde_json::from_str(&text).unwrap(), 0, permit(2)).unwrap();
    counter.add(&7, 1);
    (0..500).for_each(|_| counter.add(&1, 1));
    counter.close_step().unwrap();
    let keys: Vec<_> = counter.values().map(|(key, _)| *key).collect();
    assert_eq!((keys, kept(&mut counter).0), (vec![3, 7, 5, 1], 4));
    assert!((counter.value(&5).unwrap() - 800).abs() < 100 && (counter.value(&1).unwrap() - 500).abs() < 100);
    let damaged = text.replace("\"known\":3", "\"known\":4");
    assert!(AnyKeyedCounter::<u64>::restore(serde_json::from_str(&damaged).unwrap(), 0, permit(2)).is_err());
}

/// Whether keys are forgotten does not depend on one key: near the limit it is random, and one key more hardly changes
/// it.
#[test]
fn one_key_hardly_decides_whether_others_are_forgotten() {
    let (admission, rest) = Admission::new(&bits(8), &approx("1", "1e-6")).unwrap();
    // k/256 for one key, of ε = 1.
    assert_eq!(rest, pure("0.99609375"));
    let mut entropy = Entropy::seeded(1);
    let mut draw = entropy.draw().unwrap();
    let crowd = admission.crowd();
    let mut ended = |keys: u64| (0..RUNS).filter(|_| crowd.era(10, &mut draw).ends(10 + keys as usize)).count() as u64;
    for keys in [Crowd::MOST - 1, Crowd::MOST, Crowd::MOST + 1] {
        let times = ended(keys);
        let sure = clopper_pearson_upper(times, RUNS, LEVEL).unwrap() < 0.45
            || clopper_pearson_lower(times, RUNS, LEVEL).unwrap() > 0.55;
        assert!(!sure, "{keys}: {times}");
    }
    assert_eq!((ended(Crowd::MOST / 2), ended(Crowd::MOST * 3 / 2)), (0, RUNS));
    // Where ε is small, the limit is larger than the noise.
    let (small, _) = Admission::new(&bits(8), &approx("0.001", "1e-6")).unwrap();
    assert_eq!(small.crowd().most(), 20 * 64 * 1000);
}

/// A million keys and 2^30 steps in less than 1 GiB, by arithmetic.
#[test]
fn a_million_counters_fit_in_a_gibibyte() {
    const KEYS: usize = 1_000_000;
    /// The overhead of an allocation, generously.
    const OVERHEAD: usize = 32;
    let plan = KeyedPlan::known(CounterKind::Binary, bits(1 << 30), pure("1")).unwrap();
    // A table of a power of two entries, at least 7/16 full, with a control byte each; the key; its place in the order.
    let table = (size_of::<table::Entry<u64>>() + 1) * 16 / 7 + size_of::<u64>() + size_of::<u32>();
    let one = table + size_of::<counter::Running<crate::continual::p_sums::Accumulators>>();
    let bytes = KEYS * (one + plan.strategy().state_bytes() + OVERHEAD);
    assert!(bytes < 1 << 30, "{bytes}");
}

#[test]
fn one_draw_is_judged_by_its_own_tail() {
    let law = DiscreteLaplace::new(&"3".parse().unwrap()).unwrap();
    let (admission, _) = Admission::new(&bits(1), &approx("1", "1e-6")).unwrap();
    let threshold = admission.threshold(1, Shape::Sum { law: &law, terms: 1 }).unwrap() as u64;
    let allowed: Rational = "1e-6".parse().unwrap();
    assert!(law.upper_tail(threshold - 1) <= allowed && law.upper_tail(threshold - 2) > allowed);
}
