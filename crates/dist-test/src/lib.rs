//! Statistical tests of the samplers and mechanisms, and their benchmarks.
//!
//! They draw millions of samples, so they live apart from the unit tests:
//!
//! ```text
//! cargo test --workspace                               # with all other tests, as `cargo xtask test` runs them
//! RETICENT_LONG=1 cargo test --release -p dist-test    # more samples, fresh seeds (`cargo xtask test --long`)
//! RETICENT_SEED=0x1f2e… cargo test --release -p dist-test NAME    # replays a test of a long run with its printed seed
//! ```
//!
//! # The level
//! Every test uses [`FALSE_ALARM`] = 10⁻⁶: correct code fails one run in a million, so a failure means a defect. Sample
//! size, level and the smallest error that a test can detect are named constants next to the test, and a deliberately
//! wrong mutant next to it shows that the error is indeed detected.
//!
//! # The seeds
//! Ordinary runs use a [`seed`] derived from the test's name, so that they always give the same result. Long runs,
//! where [`long`] is true, use fresh seeds and print them; a failure can be replayed with `RETICENT_SEED`.
//!
//! ```
//! use dist_test::{samples, seed};
//!
//! const SAMPLES: u64 = 1_000_000;
//! let draws = samples(SAMPLES, 100 * SAMPLES);
//! let seed = seed("discrete Laplace, scale 10");
//! # let _ = (draws, seed);
//! ```

pub mod laws;
pub mod measure;

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::BuildHasher;

pub use reticent::audit::FALSE_ALARM;

/// Set (to anything but the empty string or 0) for more samples and fresh seeds.
const LONG: &str = "RETICENT_LONG";
/// Replaces every seed, to replay a failure.
const SEED: &str = "RETICENT_SEED";

/// Whether this is a long run.
pub fn long() -> bool {
    env::var_os(LONG).is_some_and(|value| !value.is_empty() && value != "0")
}

/// How many samples to draw: `short` ordinarily, `long_run` in a long run.
pub fn samples(short: u64, long_run: u64) -> u64 {
    if long() { long_run } else { short }
}

/// The seed of the test called `name`: `RETICENT_SEED` if set; otherwise fixed in ordinary runs, fresh and printed in
/// long runs.
///
/// # Panics
/// If `RETICENT_SEED` is not a 64-bit number, decimal or hexadecimal with `0x`.
pub fn seed(name: &str) -> u64 {
    let seed = match env::var(SEED) {
        Ok(text) => parse_seed(&text).unwrap_or_else(|| panic!("{SEED} is {text}, but it must be a 64-bit number")),
        // The standard library keys each hasher with random bits from the system.
        Err(_) if long() => RandomState::new().hash_one(name),
        Err(_) => return fixed_seed(name),
    };
    println!("seed of {name}: {SEED}={seed:#018x}");
    seed
}

fn parse_seed(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// FNV-1a: the same on every machine and in every version, unlike the standard library's hasher.
fn fixed_seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_seeds_depend_on_the_name_alone() {
        assert_eq!(fixed_seed(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fixed_seed("a"), 0xaf63_dc4c_8601_ec8c, "the published value of FNV-1a");
        assert_ne!(fixed_seed("laplace 1"), fixed_seed("laplace 2"));
    }

    #[test]
    fn printed_seeds_can_be_read_back() {
        for seed in [0, 1, 0x1234_5678_9abc_def0, u64::MAX] {
            assert_eq!(parse_seed(&format!("{seed:#018x}")), Some(seed));
            assert_eq!(parse_seed(&seed.to_string()), Some(seed));
        }
        assert_eq!(parse_seed("today"), None);
    }
}
