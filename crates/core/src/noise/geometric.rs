//! Geometric noise: 0, 1, 2, …

use rand_core::CryptoRng;

use super::bits::always;
use super::digits::{CELLS, Digits, Sides};
use super::scale;
use crate::error::Result;
use crate::exact::Rational;

/// The geometric law P(k) = (1−p)·p^k, k ≥ 0, with p = e^−1/scale.
///
/// # Accuracy
/// Exact; mean p/(1−p), variance p/(1−p)².
///
/// # Algorithm
/// Independent base-2^b digits, each from an alias table whose last undecided units are settled by arithmetic of any
/// precision: one 64-bit word per digit. Except for one draw in about 2^54, the bits read and the operations done do
/// not depend on the value.
///
/// # Errors
/// [`Geometric::new`] refuses a scale outside 0.001 to 2^50.
///
/// # Example
/// ```
/// use reticent::noise::{Entropy, Geometric};
///
/// let waiting = Geometric::new(&"10".parse()?)?;
/// let mut entropy = Entropy::from_os()?;
/// assert!(waiting.sample(&mut entropy.draw()?) >= 0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Geometric {
    scale: Rational,
    digits: Digits<64, CELLS>,
}

impl Geometric {
    /// Prepares the tables (about a tenth of a millisecond).
    ///
    /// # Errors
    /// If the scale lies outside 0.001 to 2^50.
    pub fn new(scale: &Rational) -> Result<Self> {
        let scale = scale::checked("geometric scale", scale)?;
        let digits = Digits::new(&scale, Sides::One);
        Ok(Self { scale, digits })
    }

    /// The scale, exactly.
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// One draw.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        always(self.digits.sample(rng))
    }

    /// One draw for each element.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        self.digits.fill(rng, values);
    }
}
