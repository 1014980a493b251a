//! The speed of one-time releases on one core, from the call to the finished release.
//!
//! Prints one JSON object per line; `cargo xtask bench once` compares it with the same measurement of OpenDP in a
//! table. A row is one call of [`report`]: who, what, how many items, and the release itself. Two rows with the same
//! *what* are compared with each other, so the limit for one of ours (the plain computation without privacy) is a
//! separate row with another *who*.

use std::hint::black_box;

use chacha20::ChaCha20Rng;
use dist_test::measure;
use rand_core::{Rng, SeedableRng};
use reticent::exact::Rational;
use reticent::mechanism::stable::StableMedian;
use reticent::mechanism::{Laplace, Quantiles};
use reticent::privacy::Adjacency;
use reticent::{Error, Permit};

/// Cells of the histogram.
const CELLS: u64 = 1_000_000;
/// Values whose stable median is released.
const VALUES: usize = 10_000_000;
/// Values whose quantiles are released.
const RANKED: usize = 1_000_000;
/// Interleaved runs of each way to compute a median.
const RUNS: usize = 15;

fn main() -> Result<(), Error> {
    histogram()?;
    stable_median()?;
    quantiles()
}

fn histogram() -> Result<(), Error> {
    let mut permit = Permit::unaccounted()?;
    // The input is copied each time, as the release consumes it.
    let laplace = Laplace::new(1, &"1".parse()?)?;
    let histogram: Vec<i64> = (0..CELLS as i64).collect();
    report("reticent", "laplace histogram, cells", CELLS, || {
        laplace.release_all(histogram.clone(), &mut permit).unwrap()
    });
    report("a copy", "laplace histogram, cells", CELLS, || histogram.clone());
    Ok(())
}

/// Compared with selection alone, each on a fresh copy of the values that is not timed.
fn stable_median() -> Result<(), Error> {
    let mechanism = StableMedian::new(Adjacency::AddRemove, &"1".parse()?, &"1e-8".parse()?)?;
    let mut permit = Permit::unaccounted()?;
    let spread = random_values(VALUES);
    let repeated: Vec<i64> = spread.iter().map(|value| value.rem_euclid(1000)).collect();
    let halves: Vec<i64> = spread.iter().map(|value| value & 1).collect();
    let mut sorted = spread.clone();
    sorted.sort_unstable();
    let kinds =
        [("all different", &spread), ("1000 different", &repeated), ("2 different", &halves), ("sorted", &sorted)];
    for (kind, values) in kinds {
        let [ours, selection] = measure::in_turns(
            RUNS,
            &mut values.clone(),
            |copy| copy.copy_from_slice(values),
            [&mut |copy| drop(black_box(mechanism.release_in_place(copy, &mut permit))), &mut |copy| {
                black_box(*copy.select_nth_unstable((VALUES - 1) / 2).1);
            }],
        );
        let what = format!("stable median, {kind}, values");
        for (who, time) in [("reticent", ours), ("select_nth_unstable", selection)] {
            measure::print(who, &what, None, VALUES as f64 / time.as_secs_f64());
        }
    }
    Ok(())
}

/// Compared with the sort that they share: one, however many quantiles.
fn quantiles() -> Result<(), Error> {
    let mut permit = Permit::unaccounted()?;
    let (low, high) = (0, (1 << 40) - 1);
    let values: Vec<i64> = random_values(RANKED).iter().map(|value| value & high).collect();
    let every_hundredth: Vec<Rational> = (1..100).map(|p| Rational::new(p, 100)).collect::<Result<_, _>>()?;
    for (what, ps) in [("median, values", &[Rational::new(1, 2)?][..]), ("99 quantiles, values", &every_hundredth)] {
        let mechanism = Quantiles::new(ps, low, high, Adjacency::AddRemove, &"1".parse()?)?;
        report("reticent", what, RANKED as u64, || mechanism.release(&values, &mut permit).unwrap());
        report("sort_unstable", what, RANKED as u64, || {
            let mut values = values.clone();
            values.sort_unstable();
            values
        });
    }
    Ok(())
}

fn random_values(count: usize) -> Vec<i64> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    (0..count).map(|_| rng.next_u64().cast_signed()).collect()
}

/// Measures one row and prints it.
fn report<T>(who: &str, what: &str, things: u64, mut release: impl FnMut() -> T) {
    measure::report(who, what, None, things, &mut || drop(black_box(release())));
}
