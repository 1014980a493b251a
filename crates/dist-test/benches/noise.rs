//! Samples per second that the noise generators draw on one core.
//!
//! Prints one JSON object per line; `cargo xtask bench noise` compares it with the same measurement of NumPy and OpenDP
//! in a table.

use std::hint::black_box;

use chacha20::ChaCha20Rng;
use dist_test::measure;
use rand_core::{Rng, SeedableRng};
use reticent::exact::Rational;
use reticent::noise::{DiscreteBox, DiscreteGaussian, DiscreteLaplace, Entropy, RoundedGaussian};

/// Samples per call, as an application that releases a histogram would draw.
const BATCH: usize = 1 << 16;

fn main() -> Result<(), reticent::Error> {
    let mut bytes = ChaCha20Rng::seed_from_u64(1);
    let mut words = ChaCha20Rng::seed_from_u64(2);
    let mut buffer = vec![0u8; BATCH * size_of::<i64>()];
    // The limit: no sampler can be faster than the generator that supplies 64 bits per sample.
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
        let rounded = RoundedGaussian::with_sigma(&Rational::from(scale))?;
        report("reticent", "gaussian, rounded", Some(scale), &mut |batch| rounded.fill(&mut rng, batch));
        // Four numbers for each draw.
        let four = DiscreteBox::new(4, &Rational::from(scale))?;
        report("reticent", "box of 4", Some(scale), &mut |batch| four.fill(&mut rng, batch));
    }
    for scale in [1u64, 10, 1000, 1_000_000] {
        let exact = Rational::from(scale);
        let mut prepare = || drop(black_box(DiscreteLaplace::new(&exact)));
        measure::report("reticent", "laplace, tables", Some(scale), 1, &mut prepare);
        let mut prepare = || drop(black_box(DiscreteGaussian::with_sigma(&exact)));
        measure::report("reticent", "gaussian, tables", Some(scale), 1, &mut prepare);
    }
    Ok(())
}

/// Measures one row and prints it.
fn report(generator: &str, law: &str, scale: Option<u64>, fill: &mut dyn FnMut(&mut [i64])) {
    let mut batch = vec![0i64; BATCH];
    measure::report(generator, law, scale, BATCH as u64, &mut || {
        fill(&mut batch);
        black_box(&mut batch);
    });
}
