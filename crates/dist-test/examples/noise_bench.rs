//! How many samples a second the noise generators draw on one core.
//!
//! Prints one JSON object a line; `cargo xtask bench noise` runs it beside the same measurement of NumPy and OpenDP and
//! makes a table of both.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use reticent::exact::Rational;
use reticent::noise::{DiscreteGaussian, DiscreteLaplace, Entropy};
use serde_json::json;

/// Samples asked for in one call, as an application that releases a histogram would.
const BATCH: usize = 1 << 16;
/// A repetition lasts at least this long.
const REPETITION: Duration = Duration::from_millis(250);
/// The best of so many repetitions counts: whatever else the machine does can only slow one down.
const REPETITIONS: usize = 5;
/// Repetitions before the first one that counts.
const WARM_UP: usize = 1;

fn main() -> Result<(), reticent::Error> {
    let mut bytes = ChaCha20Rng::seed_from_u64(1);
    let mut words = ChaCha20Rng::seed_from_u64(2);
    let mut buffer = vec![0u8; BATCH * size_of::<i64>()];
    // The limit: no sampler can be faster than the generator it draws 64 bits a sample from.
    report("chacha20", "uniform bytes", None, &mut |batch| {
        bytes.fill_bytes(&mut buffer);
        for (word, chunk) in batch.iter_mut().zip(buffer.as_chunks().0) {
            *word = i64::from_le_bytes(*chunk);
        }
    });
    report("chacha20", "uniform words", None, &mut |batch| {
        batch.iter_mut().for_each(|word| *word = words.next_u64().cast_signed());
    });

    let mut entropy = Entropy::from_os()?;
    let mut rng = entropy.draw()?;
    for scale in [1u64, 10, 1000, 1_000_000] {
        let exact = Rational::from(scale);
        let laplace = DiscreteLaplace::new(&exact)?;
        report("reticent", "laplace", Some(scale), &mut |batch| laplace.fill(&mut rng, batch));
        report("reticent, one by one", "laplace", Some(scale), &mut |batch| {
            batch.iter_mut().for_each(|value| *value = laplace.sample(&mut rng));
        });
    }
    for scale in [1u64, 10, 1000, 1_000_000] {
        let gaussian = DiscreteGaussian::with_sigma(&Rational::from(scale))?;
        report("reticent", "gaussian", Some(scale), &mut |batch| gaussian.fill(&mut rng, batch));
        report("reticent, one by one", "gaussian", Some(scale), &mut |batch| {
            batch.iter_mut().for_each(|value| *value = gaussian.sample(&mut rng));
        });
    }
    for scale in [1u64, 10, 1000, 1_000_000] {
        let exact = Rational::from(scale);
        let mut prepare = |_: &mut [i64]| drop(black_box(DiscreteLaplace::new(&exact)));
        report_each("reticent, tables only", "laplace", scale, &mut prepare);
        let mut prepare = |_: &mut [i64]| drop(black_box(DiscreteGaussian::with_sigma(&exact)));
        report_each("reticent, tables only", "gaussian", scale, &mut prepare);
    }
    Ok(())
}

/// Measures one row and prints it.
fn report(generator: &str, law: &str, scale: Option<u64>, fill: &mut dyn FnMut(&mut [i64])) {
    let speed = million_per_second(fill);
    println!("{}", json!({"generator": generator, "law": law, "scale": scale, "million_per_second": speed}));
}

/// The same for something that is done once a call rather than once a sample.
fn report_each(generator: &str, law: &str, scale: u64, call: &mut dyn FnMut(&mut [i64])) {
    let speed = million_per_second(call) / BATCH as f64;
    println!("{}", json!({"generator": generator, "law": law, "scale": scale, "million_per_second": speed}));
}

/// The best speed over the repetitions, in 10⁶ samples a second.
fn million_per_second(fill: &mut dyn FnMut(&mut [i64])) -> f64 {
    let mut batch = vec![0i64; BATCH];
    let repetition = |fill: &mut dyn FnMut(&mut [i64]), batch: &mut [i64]| {
        let (start, mut batches) = (Instant::now(), 0u32);
        while start.elapsed() < REPETITION {
            fill(batch);
            black_box(&mut *batch);
            batches += 1;
        }
        f64::from(batches) * BATCH as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    for _ in 0..WARM_UP {
        repetition(fill, &mut batch);
    }
    (0..REPETITIONS).map(|_| repetition(fill, &mut batch)).fold(0.0, f64::max)
}
