//! The discrete Gaussian law.

use std::sync::{Arc, OnceLock};

use dashu_int::UBig;
use rand_core::CryptoRng;

use super::bits::{BitSource, always};
use super::digits::CELLS;
use super::scale;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::numeric::search::smallest_near;

mod blocks;
mod envelope;
pub(super) mod normal;
mod powers;
mod tail;
mod window;

use blocks::Blocks;
use window::Window;

/// The discrete Gaussian law P(k) ∝ e^−k²/2σ² on the whole numbers.
///
/// # Privacy
/// Added to a vector of whole numbers that one unit can move by at most Δ in the L2 norm, independent noise with σ² =
/// Δ²/(2ρ) gives ρ-zCDP \[CKS20\]. For (ε, δ) directly, use [`calibration`](crate::privacy::calibration).
///
/// # Accuracy
/// Exact. The variance is at most σ², and within 1e-8 of it from σ = 1 on.
///
/// # Algorithm
/// Up to σ = 52 a single table, as for [`DiscreteLaplace`](super::DiscreteLaplace): except for one draw in about 2^54,
/// the bits read and the operations done do not depend on the value. Beyond, rejection in blocks: a table chooses a
/// block of 2^b neighbouring numbers (at most σ/27 of them), a uniform number the place within, and a coin accepts it
/// with the ratio of its probability to the block's largest (98 to 99 %). The coin's bias is computed in 64-bit
/// integers; if that leaves the toss open, in as many bits as it takes. The number of rounds is independent of the
/// value. No floating-point arithmetic is involved.
///
/// # Errors
/// The constructors refuse a σ outside 0.001 to 2^50.
///
/// # Example
/// ```
/// use reticent::noise::{DiscreteGaussian, Entropy};
///
/// let noise = DiscreteGaussian::with_sigma(&"10".parse()?)?;
/// let mut entropy = Entropy::from_os()?;
/// let mut draws = [0; 1000];
/// noise.fill(&mut entropy.draw()?, &mut draws);
/// assert!(draws.iter().all(|k| k.abs() < 100)); // ten standard deviations
/// assert_eq!(noise.half_width(&"0.95".parse()?)?, 20);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiscreteGaussian {
    sigma_squared: Rational,
    /// Made for the first draw, of any clone: plans compare noises that are never drawn.
    sampler: Arc<OnceLock<Sampler>>,
}

#[derive(Debug, Clone)]
enum Sampler {
    Window(Window<64, CELLS>),
    Blocks(Box<Blocks<64, CELLS>>),
}

impl DiscreteGaussian {
    /// For a rational σ.
    ///
    /// # Errors
    /// If σ lies outside 0.001 to 2^50.
    pub fn with_sigma(sigma: &Rational) -> Result<Self> {
        scale::checked("sigma", sigma)?;
        Self::with_sigma_squared(&sigma.square())
    }

    /// For a rational σ²: ρ-zCDP calls for Δ²/(2ρ), which is rational even where σ is not.
    ///
    /// # Errors
    /// If σ² lies outside 10^−6 to 2^100.
    pub fn with_sigma_squared(sigma_squared: &Rational) -> Result<Self> {
        let sigma_squared = scale::checked_square("sigma squared", sigma_squared)?;
        Ok(Self { sigma_squared, sampler: Arc::default() })
    }

    #[inline]
    fn sampler(&self) -> &Sampler {
        self.sampler.get_or_init(|| match Window::new(&self.sigma_squared) {
            Some(window) => Sampler::Window(window),
            None => Sampler::Blocks(Box::new(Blocks::new(&self.sigma_squared))),
        })
    }

    /// σ², exactly.
    pub fn sigma_squared(&self) -> &Rational {
        &self.sigma_squared
    }

    /// One draw.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        always(self.sample_from(rng))
    }

    #[inline]
    pub(crate) fn sample_from<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        match self.sampler() {
            Sampler::Window(window) => window.sample(source),
            Sampler::Blocks(blocks) => blocks.sample(source),
        }
    }

    /// One draw for each element: the fastest way to draw many.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        match self.sampler() {
            Sampler::Window(window) => window.fill(rng, values),
            Sampler::Blocks(blocks) => blocks.fill(rng, values),
        }
    }

    /// P(K = k) for −reach ≤ k ≤ reach, enclosed; the normaliser is summed until less than a unit is missing.
    ///
    /// For audits and tests at small σ: it takes about as many exponentials as there are numbers within 20σ.
    pub(crate) fn masses(&self, reach: i64, bits: usize) -> Vec<Enclosure> {
        let precision = bits + 64;
        let rate = (&self.sigma_squared * &Rational::from(2)).recip().expect("σ² is positive");
        let weight = |k: i64| exp_neg(&(&rate * &Rational::from(k).square()), precision);
        let mut normaliser = weight(0);
        // Terms fall faster than a geometric series with the ratio of the last two.
        let mut k = 1;
        loop {
            let (term, next) = (weight(k), weight(k + 1));
            normaliser = normaliser.add(&term).add(&term);
            // Once a term is less than a unit and falls to less than half each step, the rest is less than four units.
            if next.hi <= UBig::from(2u8) && Rational::from(2 * k + 1) * rate.clone() >= Rational::ONE {
                normaliser.hi += UBig::from(8u8);
                break;
            }
            k += 1;
        }
        (-reach..=reach).map(|k| weight(k).over(&normaliser, precision).coarsen(precision, bits)).collect()
    }

    /// A t with P(|K| ≤ t) ≥ level: the smallest up to σ = 1000, and at most one larger beyond.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1.
    pub fn half_width(&self, level: &Rational) -> Result<u64> {
        if !level.is_positive() || *level >= Rational::ONE {
            return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
        }
        let allowed = (Rational::ONE - level.clone()).to_f64_down();
        if allowed < 1e-290 {
            return Err(Error::parameter("level", "closer to 1 than 1e-290", "at most 1 - 1e-290"));
        }
        let tail = tail::TwoSided::new(self.sigma_squared.to_f64_up());
        Ok(smallest_near(tail.near(allowed), |above| tail.beyond(above - 1) <= allowed) - 1)
    }
}
