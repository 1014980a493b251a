//! The number of random bits that a draw reads must not depend on the result: an observer who can count them, or time
//! them, learns nothing about the noise.

use std::collections::BTreeMap;
use std::convert::Infallible;

use dist_test::{FALSE_ALARM, seed};
use rand_core::{CryptoRng, Rng, TryCryptoRng, TryRng};
use reticent::audit::chi_squared_quantile;
use reticent::noise::{Coin, DiscreteBox, DiscreteGaussian, DiscreteLaplace, Entropy, RoundedGaussian};

/// Detects a dependence that affects one draw in a thousand.
const DRAWS: usize = 1_000_000;

/// Counts the bits drawn from a generator.
struct Counting<R> {
    inner: R,
    bits: u64,
}

impl<R: Rng> TryRng for Counting<R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.bits += 32;
        Ok(self.inner.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.bits += 64;
        Ok(self.inner.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.bits += 8 * bytes.len() as u64;
        self.inner.fill_bytes(bytes);
        Ok(())
    }
}

impl<R: CryptoRng> TryCryptoRng for Counting<R> {}

/// (|value|, bits) of many draws.
fn draws(name: &str, mut sample: impl FnMut(&mut Counting<reticent::noise::Draw<'_>>) -> i64) -> Vec<(u64, u64)> {
    let mut entropy = Entropy::seeded(seed(name));
    let mut rng = Counting { inner: entropy.draw().unwrap(), bits: 0 };
    (0..DRAWS)
        .map(|_| {
            let before = rng.bits;
            let value = sample(&mut rng);
            (value.unsigned_abs(), rng.bits - before)
        })
        .collect()
}

/// χ² test of independence between the size of the noise (eight classes, equally filled) and the bits read: `true` if
/// independence is not rejected at the level of these tests.
fn independent(draws: &[(u64, u64)]) -> bool {
    let mut sizes: Vec<u64> = draws.iter().map(|&(size, _)| size).collect();
    sizes.sort_unstable();
    let bounds: Vec<u64> = (1..8).map(|part| sizes[part * sizes.len() / 8]).collect();
    let class = |size: u64| bounds.iter().filter(|&&bound| size >= bound).count();
    let mut table: BTreeMap<(usize, u64), f64> = BTreeMap::new();
    let (mut rows, mut columns): (BTreeMap<usize, f64>, BTreeMap<u64, f64>) = Default::default();
    for &(size, bits) in draws {
        *table.entry((class(size), bits)).or_default() += 1.0;
        *rows.entry(class(size)).or_default() += 1.0;
        *columns.entry(bits).or_default() += 1.0;
    }
    // Rare numbers of bits are pooled, so that a cell is expected to contain at least ten.
    let most: Vec<u64> = columns.iter().filter(|&(_, &count)| count >= 200.0).map(|(&bits, _)| bits).collect();
    let column = |bits: u64| most.iter().position(|&other| other == bits).unwrap_or(most.len());
    let mut joined = vec![0.0; most.len() + 1];
    columns.iter().for_each(|(&bits, count)| joined[column(bits)] += count);
    let mut cells: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    table.iter().for_each(|(&(class, bits), count)| *cells.entry((class, column(bits))).or_default() += count);
    let (mut statistic, mut kept) = (0.0, 0u64);
    for (index, total) in joined.iter().enumerate().filter(|&(_, &total)| total >= 200.0) {
        kept += 1;
        for (&class, row) in &rows {
            let expected = row * total / draws.len() as f64;
            let observed = cells.get(&(class, index)).copied().unwrap_or(0.0);
            statistic += (observed - expected).powi(2) / expected;
        }
    }
    let freedom = (rows.len() as u64 - 1) * kept.saturating_sub(1);
    freedom == 0 || statistic <= chi_squared_quantile(freedom, FALSE_ALARM).unwrap()
}

#[test]
fn table_samplers_read_the_same_number_of_bits_every_time() {
    for (scale, words) in [("1", 1), ("10", 1), ("1000", 2), ("1000000", 3)] {
        let laplace = DiscreteLaplace::new(&scale.parse().unwrap()).unwrap();
        let all = draws(&format!("bits Laplace {scale}"), |rng| laplace.sample(rng));
        assert!(all.iter().all(|&(_, bits)| bits == 64 * words), "scale {scale}");
    }
    for sigma in ["1", "10", "50"] {
        let gaussian = DiscreteGaussian::with_sigma(&sigma.parse().unwrap()).unwrap();
        let all = draws(&format!("bits Gaussian {sigma}"), |rng| gaussian.sample(rng));
        assert!(all.iter().all(|&(_, bits)| bits == 64), "σ = {sigma}");
    }
}

#[test]
fn rejection_takes_rounds_that_do_not_depend_on_the_value() {
    for sigma in ["100", "1000", "100000000", "1000000000000"] {
        let gaussian = DiscreteGaussian::with_sigma(&sigma.parse().unwrap()).unwrap();
        let all = draws(&format!("bits Gaussian {sigma}"), |rng| gaussian.sample(rng));
        assert!(all.iter().any(|&(_, bits)| bits > 128), "some rounds are rejected, or there is nothing to test");
        assert!(independent(&all), "σ = {sigma}");
    }
}

#[test]
fn rounded_and_box_noise_take_rounds_that_do_not_depend_on_the_value() {
    for sigma in ["1", "5.1", "100000000"] {
        let noise = RoundedGaussian::with_sigma(&sigma.parse().unwrap()).unwrap();
        let all = draws(&format!("bits rounded {sigma}"), |rng| noise.sample(rng));
        assert!(all.iter().any(|&(_, bits)| bits > 192), "some rounds are rejected, or there is nothing to test");
        assert!(independent(&all), "σ = {sigma}");
    }
    for (coordinates, scale) in [(2, "1"), (4, "1000")] {
        let noise = DiscreteBox::new(coordinates, &scale.parse().unwrap()).unwrap();
        let mut point = vec![0; coordinates as usize];
        let all = draws(&format!("bits box {scale}"), |rng| {
            noise.sample(rng, &mut point);
            point.iter().map(|k| k.abs()).max().unwrap()
        });
        assert!(independent(&all), "{coordinates} coordinates, scale {scale}");
    }
}

/// The control: counting tosses until the first tail reads more bits for larger numbers.
#[test]
fn a_sampler_that_counts_tosses_is_caught() {
    let coin = Coin::exp_neg(&"0.1".parse().unwrap()).unwrap();
    let all = draws("counting tosses", |rng| (0..).take_while(|_| coin.toss(rng)).count() as i64);
    assert!(!independent(&all));
}

/// The control for a weak dependence: one draw in a hundred, and only of large numbers, reads one word more.
#[test]
fn a_faint_dependence_is_caught() {
    let laplace = DiscreteLaplace::new(&"10".parse().unwrap()).unwrap();
    let mut turn = 0;
    let all = draws("faint", |rng| {
        let value = laplace.sample(rng);
        turn += 1;
        if value.abs() > 12 && turn % 100 == 0 {
            rng.next_u64();
        }
        value
    });
    assert!(!independent(&all));
}
