//! Simulated samplers for the tests of this module; no mechanism uses them.

use std::collections::BTreeMap;

use super::ExpectedLaw;

/// Steele, Lea and Flood's generator: small, fast and good enough for testing statistics.
pub(super) struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub fn bernoulli(&mut self, probability: f64) -> bool {
        self.unit() <= probability
    }
}

/// The difference of two geometric variables with ratio e^(−1/scale), which is discrete Laplace noise.
pub(super) fn discrete_laplace(scale: f64, random: &mut SplitMix64) -> i64 {
    let geometric = |unit: f64| (-unit.ln() * scale).floor() as i64;
    geometric(random.unit()) - geometric(random.unit())
}

/// The law of [`discrete_laplace`].
pub(super) fn laplace_law(scale: f64) -> ExpectedLaw {
    let ratio = (-1.0 / scale).exp();
    let reach = (30.0 * scale).ceil() as u32;
    ExpectedLaw::symmetric(reach, |k| (1.0 - ratio) / (1.0 + ratio) * (-(k as f64) / scale).exp()).unwrap()
}

pub(super) fn histogram_of<K: Ord>(samples: u64, mut sampler: impl FnMut() -> K) -> BTreeMap<K, u64> {
    super::empirical::histogram(samples, &mut sampler)
}
