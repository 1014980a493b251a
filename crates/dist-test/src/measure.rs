//! Measures speed for the benchmarks: the best of several repetitions, printed as one JSON object per line.
//!
//! ```text
//! {"generator": "reticent", "law": "laplace", "scale": 10, "million_per_second": 123.4}
//! ```
//!
//! `cargo xtask bench` reads the lines and makes a table, with rows of the same law and scale side by side.

use std::time::{Duration, Instant};

use serde_json::json;

/// A repetition lasts at least this long.
const REPETITION: Duration = Duration::from_millis(250);
/// The best of this many repetitions counts: other load on the machine can only slow one down.
const REPETITIONS: usize = 5;
/// Repetitions before the first one that counts.
const WARM_UP: usize = 1;

/// Measures and prints one row: a call that processes `items` items, such as drawing that many samples.
pub fn report(generator: &str, law: &str, scale: Option<u64>, items: u64, call: &mut dyn FnMut()) {
    print(generator, law, scale, per_second(items, call));
}

/// Prints one row measured elsewhere, in items per second.
pub fn print(generator: &str, law: &str, scale: Option<u64>, per_second: f64) {
    let speed = per_second / 1e6;
    println!("{}", json!({"generator": generator, "law": law, "scale": scale, "million_per_second": speed}));
}

/// The median times of several calls that take turns on one state, so that other load on the machine slows all of them
/// down alike; `prepare` is called before each and not timed.
pub fn in_turns<S, const N: usize>(
    runs: usize,
    state: &mut S,
    mut prepare: impl FnMut(&mut S),
    mut calls: [&mut dyn FnMut(&mut S); N],
) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..runs {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            prepare(state);
            let start = Instant::now();
            call(state);
            times.push(start.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

/// The best speed over the repetitions, in items per second, of a call that processes `items` items.
pub fn per_second(items: u64, call: &mut dyn FnMut()) -> f64 {
    for _ in 0..WARM_UP {
        repetition(items, call);
    }
    (0..REPETITIONS).map(|_| repetition(items, call)).fold(0.0, f64::max)
}

fn repetition(items: u64, call: &mut dyn FnMut()) -> f64 {
    let (start, mut calls) = (Instant::now(), 0u64);
    while start.elapsed() < REPETITION {
        call();
        calls += 1;
    }
    (calls * items) as f64 / start.elapsed().as_secs_f64()
}
