//! The speed of counters on one core, and the size of their state.
//!
//! Prints one JSON object per line; `cargo xtask bench continual` compares it with jax-privacy in a table. The limit
//! is one draw of noise per step: no counter here can do with less.

use std::hint::black_box;

use dist_test::measure;
use reticent::continual::{CounterKind, KeyedPlan, Stream};
use reticent::noise::{DiscreteGaussian, DiscreteLaplace, Entropy};
use reticent::privacy::Guarantee;
use reticent::{Error, Permit};

/// The horizon of the counters.
const HORIZON: u64 = 1 << 30;
/// Steps per call.
const BATCH: usize = 4096;
/// Counters that run in parallel.
const KEYS: u64 = 1_000_000;
/// Keyed events between two closings of a step.
const EVENTS: usize = 10_000_000;

fn main() -> Result<(), Error> {
    let pure = Guarantee::Pure("1".parse()?);
    let zcdp = Guarantee::Zcdp("0.5".parse()?);
    for (kind, guarantee) in [(CounterKind::Binary, &pure), (CounterKind::Bridged, &pure), (CounterKind::Blt, &zcdp)] {
        steps(kind, guarantee)?;
    }
    keyed(&pure)
}

fn steps(kind: CounterKind, guarantee: &Guarantee) -> Result<(), Error> {
    let stream = Stream::bits().until(HORIZON)?;
    let plan = kind.plan(stream.clone(), guarantee.clone())?;
    let ones = [1; BATCH];

    let what = format!("{kind}, steps");
    let mut counter = plan.clone().start(Permit::unaccounted()?)?;
    let seen = |value| {
        black_box(value);
    };
    report("reticent", &what, || counter.advance_all(&ones, seen).unwrap());
    one_draw_a_step(&what, guarantee)?;

    let what = format!("{kind}, steps with variance");
    let (mut counter, mut step) = (plan.clone().start(Permit::unaccounted()?)?, 0);
    report("reticent", &what, || {
        let with_variance = |value| {
            step += 1;
            black_box((value, plan.variance(step)));
        };
        counter.advance_all(&ones, with_variance).unwrap();
    });
    one_draw_a_step(&what, guarantee)?;
    eprintln!("{kind} remembers {} bytes at most at a horizon of {HORIZON} steps", plan.state_bytes());
    Ok(())
}

/// The limit: noise of the same kind, drawn and discarded.
fn one_draw_a_step(what: &str, guarantee: &Guarantee) -> Result<(), Error> {
    let mut entropy = Entropy::from_os()?;
    let mut noise = [0; BATCH];
    let limit = "one draw a step";
    match guarantee {
        Guarantee::Pure(_) => {
            let law = DiscreteLaplace::new(&"31".parse()?)?;
            report(limit, what, || law.fill(&mut entropy.draw().unwrap(), black_box(&mut noise)));
        }
        _ => {
            let law = DiscreteGaussian::with_sigma(&"1099511627776".parse()?)?;
            report(limit, what, || law.fill(&mut entropy.draw().unwrap(), black_box(&mut noise)));
        }
    }
    Ok(())
}

/// A million binary counters in one.
fn keyed(guarantee: &Guarantee) -> Result<(), Error> {
    let stream = Stream::bits().until(HORIZON)?;
    let mut counters =
        KeyedPlan::known(CounterKind::Binary, stream, guarantee.clone())?.start(0..KEYS, Permit::unaccounted()?)?;
    // A fixed permutation: every event meets another key far away in memory.
    let keys: Vec<u64> = (0..EVENTS as u64).map(|event| event.wrapping_mul(0x9e37_79b9_7f4a_7c15) % KEYS).collect();
    let what = "keyed events, a million keys";
    measure::report("reticent", what, None, EVENTS as u64, &mut || {
        keys.iter().for_each(|key| counters.add(key, 1));
    });
    let mut sums = vec![0i64; KEYS as usize];
    measure::report("sums in an array", what, None, EVENTS as u64, &mut || {
        keys.iter().for_each(|&key| sums[key as usize] += 1);
        black_box(&mut sums);
    });
    let what = "keyed releases, a million keys";
    measure::report("reticent", what, None, KEYS, &mut || {
        counters.close_step().unwrap();
        black_box(counters.values().map(|(_, value)| value).max());
    });
    let (law, mut entropy) = (DiscreteLaplace::new(&"31".parse()?)?, Entropy::from_os()?);
    let mut noise = vec![0; KEYS as usize];
    measure::report("one draw a step", what, None, KEYS, &mut || {
        law.fill(&mut entropy.draw().unwrap(), black_box(&mut noise));
    });
    eprintln!("a million keyed binary counters and all else in this process: {} MiB", resident_mib());
    Ok(())
}

/// The process's resident memory, as Linux reports it; 0 elsewhere.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Measures one row of steps and prints it.
fn report(who: &str, what: &str, mut batch: impl FnMut()) {
    measure::report(who, what, None, BATCH as u64, &mut batch);
}
