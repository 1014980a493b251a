//! The samplers as `rand` distributions.
//!
//! # Privacy
//! `rand`'s trait accepts every generator, even one with predictable output. Noise from such a generator hides nothing.
//! Nothing in this crate samples this way: it is for simulations, and for code that is generic over distributions and
//! brings a cryptographic generator.

use std::convert::Infallible;

use rand::Rng;
use rand::distr::Distribution;
use rand_core::{TryCryptoRng, TryRng};

use super::{DiscreteGaussian, DiscreteLaplace, Geometric, Law, NegativeBinomial, RoundedGaussian};

/// A generator that the caller asserts to be cryptographic.
struct Assumed<'rng, R: ?Sized>(&'rng mut R);

impl<R: Rng + ?Sized> TryRng for Assumed<'_, R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl<R: Rng + ?Sized> TryCryptoRng for Assumed<'_, R> {}

macro_rules! distributions {
    ($($law:ident),+ $(,)?) => {$(
        impl Distribution<i64> for $law {
            fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
                $law::sample(self, &mut Assumed(rng))
            }
        }
    )+};
}

distributions!(DiscreteGaussian, DiscreteLaplace, Geometric, Law, NegativeBinomial, RoundedGaussian);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;

    #[test]
    fn the_same_generator_gives_the_same_draws() {
        let law = DiscreteLaplace::new(&"7".parse().unwrap()).unwrap();
        let (mut own, mut through_rand) = (Entropy::seeded(5), Entropy::seeded(5));
        let drawn: Vec<i64> = (0..100).map(|_| law.sample(&mut own.draw().unwrap())).collect();
        let distributed: Vec<i64> = (&law).sample_iter(through_rand.draw().unwrap()).take(100).collect();
        assert_eq!(drawn, distributed);
        assert!(drawn.iter().any(|&value| value != drawn[0]));
    }
}
