//! How fast something is, for the benchmarks: the best of several repetitions, printed as one JSON object a line.
//!
//! ```text
//! {"generator": "reticent", "law": "laplace", "scale": 10, "million_per_second": 123.4}
//! ```
//!
//! `cargo xtask bench` reads the lines, puts those with the same law and scale side by side and makes a table of them.

use std::time::{Duration, Instant};

use serde_json::json;

/// A repetition lasts at least this long.
const REPETITION: Duration = Duration::from_millis(250);
/// The best of so many repetitions counts: whatever else the machine does can only slow one down.
const REPETITIONS: usize = 5;
/// Repetitions before the first one that counts.
const WARM_UP: usize = 1;

/// Measures one row and prints it: a call that does `items` things, such as drawing so many samples.
pub fn report(generator: &str, law: &str, scale: Option<u64>, items: u64, call: &mut dyn FnMut()) {
    let speed = per_second(items, call) / 1e6;
    println!("{}", json!({"generator": generator, "law": law, "scale": scale, "million_per_second": speed}));
}

/// The best speed over the repetitions, in things a second, of a call that does `items` of them.
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
