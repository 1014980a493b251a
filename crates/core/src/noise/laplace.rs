//! Two-sided geometric noise: the discrete Laplace law.

use std::sync::{Arc, OnceLock};

use dashu_int::UBig;
use rand_core::CryptoRng;

use super::bits::always;
use super::digits::{CELLS, Digits, Sides};
use super::scale;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::numeric::search::smallest_near;

/// The discrete Laplace law P(k) = (1−p)/(1+p)·p^|k| on the whole numbers, with p = e^−1/scale.
///
/// # Privacy
/// Added to a whole number that one unit can move by at most Δ, noise of scale Δ/ε gives ε-differential privacy:
/// P(k)/P(k+Δ) ≤ p^−Δ = e^ε. Vectors: independent noise per coordinate, Δ in the L1 norm.
///
/// # Accuracy
/// Exact. Variance 2p/(1−p)²; P(K ≥ t) = p^t/(1+p) for t ≥ 0, see [`DiscreteLaplace::upper_tail`] and
/// [`DiscreteLaplace::half_width`].
///
/// # Algorithm
/// A sign and independent base-2^b digits, each from an alias table whose last undecided units are settled by
/// arithmetic of any precision; the leading digit includes the sign. No floating-point arithmetic is involved. Except
/// for one draw in about 2^54, the bits read and the operations done do not depend on the value.
///
/// # Errors
/// [`DiscreteLaplace::new`] refuses a scale outside 0.001 to 2^50.
///
/// # Example
/// ```
/// use reticent::noise::{DiscreteLaplace, Entropy};
///
/// let noise = DiscreteLaplace::new(&"10".parse()?)?; // a count, ε = 0.1
/// let mut entropy = Entropy::from_os()?;
/// let noisy = 1234 + noise.sample(&mut entropy.draw()?);
///
/// let half_width = noise.half_width(&"0.95".parse()?)?; // 95 % of draws lie within ±30
/// assert_eq!(half_width, 30);
/// assert!((noisy - 1234).abs() < 1000);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiscreteLaplace {
    scale: Rational,
    approximate_scale: f64,
    /// Made for the first draw, of any clone: plans compare noises that are never drawn.
    digits: Arc<OnceLock<Digits<64, CELLS>>>,
}

impl DiscreteLaplace {
    /// Prepares the tables (about a tenth of a millisecond).
    ///
    /// # Errors
    /// If the scale lies outside 0.001 to 2^50.
    pub fn new(scale: &Rational) -> Result<Self> {
        let scale = scale::checked("Laplace scale", scale)?;
        let approximate_scale = scale.to_f64();
        Ok(Self { scale, approximate_scale, digits: Arc::default() })
    }

    #[inline]
    fn digits(&self) -> &Digits<64, CELLS> {
        self.digits.get_or_init(|| Digits::new(&self.scale, Sides::Two))
    }

    /// The scale, exactly.
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// The scale as a float, from which predicted errors are computed.
    #[inline]
    pub(crate) fn approximate_scale(&self) -> f64 {
        self.approximate_scale
    }

    /// One draw.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        always(self.digits().sample(rng))
    }

    /// One draw for each element: the fastest way to draw many.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        self.digits().fill(rng, values);
    }

    /// 2p/(1−p)², to the accuracy of a float.
    pub fn variance(&self) -> f64 {
        // 2p/(1−p)² = 1/(2·sinh²(1/2s)) keeps its digits at large scales.
        let half_rate = 0.5 / self.approximate_scale;
        let sinh = libm::sinh(half_rate);
        0.5 / (sinh * sinh)
    }

    /// P(K = k), enclosed.
    pub(crate) fn mass(&self, k: i64, bits: usize) -> Enclosure {
        let precision = bits + 64;
        let rate = self.scale.recip().expect("a scale is positive");
        let p = exp_neg(&rate, precision);
        let one = Enclosure::one(precision);
        let power = exp_neg(&(rate * Rational::from(k.unsigned_abs())), precision);
        let first = one.minus(&p).over(&one.add(&p), precision);
        first.times(&power, precision).coarsen(precision, bits)
    }

    /// P(K ≥ t), rounded up by less than one part in 2^100; beyond 8192 scales the bound stays at e^−8192.
    ///
    /// The only tail function of this law: thresholds and the δ stated for them both come from it.
    ///
    /// ```
    /// # use reticent::noise::DiscreteLaplace;
    /// let noise = DiscreteLaplace::new(&"1".parse()?)?;
    /// let tail = noise.upper_tail(3).to_f64();
    /// let p = (-1f64).exp();
    /// assert!((tail / (p.powi(3) / (1.0 + p)) - 1.0).abs() < 1e-15);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn upper_tail(&self, t: u64) -> Rational {
        // The tail falls with t, so the tail at a smaller t is an upper bound, too.
        let t = t.min(self.farthest());
        let rate = self.scale.recip().expect("a scale is positive");
        let exponent = &rate * &Rational::from(t);
        // e^−x needs about 1.4427·x leading zeros; keep 128 bits beyond them.
        let zeros = usize::try_from(&(&exponent * &Rational::new(1443, 1000).expect("1000 is not 0")).ceil());
        let bits = zeros.unwrap_or(usize::MAX / 4) + 128;
        let below = Enclosure::one(bits).add(&exp_neg(&rate, bits));
        let tail = exp_neg(&exponent, bits).over(&below, bits);
        Rational::from_big(tail.hi, UBig::ONE << bits)
    }

    /// Where the tail is cut: at 8192 scales, since no use needs less than e^−8192.
    fn farthest(&self) -> u64 {
        u64::try_from(&(&self.scale * &Rational::from(8192)).ceil()).unwrap_or(u64::MAX)
    }

    /// The smallest t with P(|K| ≤ t) ≥ level.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1, or too close to 1 for where the tail is cut: at most 1 − 10^−3557 is
    /// allowed.
    pub fn half_width(&self, level: &Rational) -> Result<u64> {
        if !level.is_positive() || *level >= Rational::ONE {
            return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
        }
        // P(|K| > t) = 2·P(K ≥ t+1) is decreasing.
        let allowed = Rational::ONE - level.clone();
        let fits = |above: u64| &self.upper_tail(above) * &Rational::from(2) <= allowed;
        let (farthest, near) = (self.farthest(), self.approximate_tail(allowed.to_f64()));
        if near >= farthest as f64 && !fits(farthest) {
            return Err(Error::parameter("level", "closer to 1 than 1e-3557", "at most 1 - 1e-3557"));
        }
        Ok(smallest_near(near, fits) - 1)
    }

    /// Where 2·P(K ≥ t) falls to `allowed`, in floats: infinity if `allowed` is too small for a float.
    pub(crate) fn approximate_tail(&self, allowed: f64) -> f64 {
        let scale = self.approximate_scale();
        (scale * (libm::log(2.0 / allowed) - libm::log1p(libm::exp(-1.0 / scale)))).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;

    fn noise(scale: &str) -> DiscreteLaplace {
        DiscreteLaplace::new(&scale.parse().unwrap()).unwrap()
    }

    #[test]
    fn half_widths_are_the_smallest_that_do() {
        for scale in [0.001_f64, 0.3, 1.0, 7.5, 10.0, 1000.0, 1e6] {
            let noise = noise(&scale.to_string());
            let p = (-1.0 / scale).exp();
            let outside = |t: f64| 2.0 * (-(t + 1.0) / scale).exp() / (1.0 + p);
            for level in ["0.5", "0.95", "0.999999"] {
                let t = noise.half_width(&level.parse().unwrap()).unwrap() as f64;
                let allowed = 1.0 - level.parse::<f64>().unwrap();
                assert!(outside(t) <= allowed * (1.0 + 1e-9), "{scale} {level} {t}");
                assert!(t == 0.0 || outside(t - 1.0) > allowed * (1.0 - 1e-9), "{scale} {level} {t}");
            }
        }
        assert!(noise("1").half_width(&Rational::ONE).is_err());
        assert!(noise("1").half_width(&Rational::ZERO).is_err());
    }

    #[test]
    fn levels_next_to_1_are_answered_or_refused() {
        for scale in ["0.001", "1", "1125899906842624"] {
            let noise = noise(scale);
            let beyond = |exponent: usize| {
                let outside = Rational::from_big(UBig::ONE, UBig::from(10u8).pow(exponent));
                noise.half_width(&(Rational::ONE - outside))
            };
            // ln(2/(1+p)) is between 0 and ln 2.
            let scales = beyond(3557).unwrap() as f64 / noise.approximate_scale();
            assert!(scales <= 3557.0 * std::f64::consts::LN_10 + 1.0, "{scale}: {scales}");
            let error = beyond(5000).unwrap_err().to_string();
            assert!(error.starts_with("level is closer to 1 than 1e-3557"), "{error}");
        }
    }

    #[test]
    fn the_tail_holds_from_0_on() {
        for scale in ["0.001", "1", "7.5"] {
            let noise = noise(scale);
            let at_least_0 = noise.upper_tail(0);
            // P(K ≥ 0) = P(K = 0) + P(K ≥ 1), and each half of the law is P(K ≥ 0) less half of P(K = 0).
            let zero = Rational::from_big(noise.mass(0, 200).hi, UBig::ONE << 200);
            let sum = &zero + &noise.upper_tail(1);
            assert!((&at_least_0 - &sum).to_f64().abs() < 1e-30, "{scale}");
            assert!((at_least_0.to_f64() - f64::midpoint(1.0, zero.to_f64())).abs() < 1e-15, "{scale}");
        }
    }

    #[test]
    fn scales_outside_the_range_are_refused_by_name() {
        for scale in ["0", "-1", "0.0009", "1125899906842625"] {
            let error = DiscreteLaplace::new(&scale.parse().unwrap()).unwrap_err();
            assert!(error.to_string().starts_with(&format!("Laplace scale is {scale}, but it must be from 0.001")));
        }
        for scale in ["0.001", "1125899906842624"] {
            assert!(DiscreteLaplace::new(&scale.parse().unwrap()).is_ok());
        }
    }

    /// Mean and variance over 40,000 draws, 5.5 standard errors; scalar and bulk, at every number of digits.
    #[test]
    fn draws_have_the_stated_variance_at_every_scale() {
        const DRAWS: usize = 40_000;
        let mut entropy = Entropy::seeded(11);
        for scale in ["0.5", "1", "10", "1000", "1000000", "1e12", "1125899906842624"] {
            let noise = noise(scale);
            let mut rng = entropy.draw().unwrap();
            let mut bulk = vec![0; DRAWS];
            noise.fill(&mut rng, &mut bulk);
            let scalar: Vec<i64> = (0..DRAWS).map(|_| noise.sample(&mut rng)).collect();
            let variance = noise.variance();
            for draws in [bulk, scalar] {
                let mean = draws.iter().map(|&k| k as f64).sum::<f64>() / DRAWS as f64;
                let second = draws.iter().map(|&k| (k as f64).powi(2)).sum::<f64>() / DRAWS as f64;
                assert!(mean.abs() < 5.5 * (variance / DRAWS as f64).sqrt(), "{scale}: mean {mean}");
                // The fourth moment of Laplace-like noise is about 6 variances squared, more at small scales.
                let spread = ((6.0 * variance * variance + variance) / DRAWS as f64).sqrt();
                assert!((second - variance).abs() < 5.5 * spread, "{scale}: {second} against {variance}");
            }
        }
    }
}
