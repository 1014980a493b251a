//! The stable median beside the selection that it cannot do without, on one core.
//!
//! Prints one JSON object a line: the median time of several runs, in milliseconds, each on a fresh copy of the values.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use reticent::Permit;
use reticent::mechanism::stable::StableMedian;
use reticent::noise::Entropy;
use reticent::privacy::Adjacency;
use serde_json::json;

const ROWS: usize = 10_000_000;
const RUNS: usize = 15;

fn main() -> Result<(), reticent::Error> {
    let mechanism = StableMedian::new(Adjacency::AddRemove, &"1".parse()?, &"1e-8".parse()?)?;
    let mut permit = Permit::unaccounted_from(Entropy::from_os()?);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let spread: Vec<i64> = (0..ROWS).map(|_| rng.next_u64().cast_signed()).collect();
    let repeated: Vec<i64> = spread.iter().map(|value| value.rem_euclid(1000)).collect();
    let halves: Vec<i64> = spread.iter().map(|value| value & 1).collect();
    let mut sorted = spread.clone();
    sorted.sort_unstable();
    let kinds =
        [("all different", &spread), ("1000 different", &repeated), ("2 different", &halves), ("sorted", &sorted)];
    for (name, values) in kinds {
        let (mut selection, mut in_place, mut not_in_place) = (Vec::new(), Vec::new(), Vec::new());
        // The three take turns, so that whatever else the machine does slows all of them down alike.
        for _ in 0..RUNS {
            let mut copy = values.clone();
            selection.push(time(|| {
                black_box(*copy.select_nth_unstable((ROWS - 1) / 2).1);
            }));
            copy.copy_from_slice(values);
            in_place.push(time(|| {
                black_box(mechanism.release_in_place(&mut copy, &mut permit).is_ok());
            }));
            not_in_place.push(time(|| {
                black_box(mechanism.release(values, &mut permit).is_ok());
            }));
        }
        let [selection, in_place, not_in_place] = [selection, in_place, not_in_place].map(milliseconds);
        let line = json!({
            "values": name,
            "rows": ROWS,
            "select_nth_unstable": selection,
            "release_in_place": in_place,
            "release": not_in_place,
            "ratio_in_place": in_place / selection,
            "ratio_release": not_in_place / selection,
        });
        println!("{line}");
    }
    Ok(())
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// The median of the runs.
fn milliseconds(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}
