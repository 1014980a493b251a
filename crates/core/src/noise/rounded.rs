//! Normal noise, rounded to whole numbers.

use dashu_int::UBig;
use dashu_int::ops::SquareRootRem;
use rand_core::CryptoRng;

use super::bits::{BitSource, always};
use super::gaussian::normal::{Drawn, SPREAD, STANDARD, extend};
use super::scale;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::numeric::normal::{Bounds, normal_mass, upper_tail};
use crate::numeric::search::smallest_near;

/// σ is a multiple of 2^−58, or has 54 significant bits if it is larger than 1/16.
const MOST_PLACES: u32 = 58;
const SIGNIFICANT: usize = 54;

/// The law of normal noise with standard deviation σ, rounded to the nearest whole number: P(k) = P(k−½ < N ≤ k+½).
///
/// # Privacy
/// x + round(N) = round(x + N) for whole x: what is released is a function of the real number x + N alone. So whatever
/// holds for continuous noise on vectors of any length holds here, in particular the σ of \[BW18\]
/// ([`analytic_gaussian_sigma`](crate::privacy::calibration::analytic_gaussian_sigma)), which is smaller than what
/// ρ-zCDP asks for: at ε = 1 and δ = 10^−8, 5.100 instead of 5.391. ([`DiscreteGaussian`](super::DiscreteGaussian) noise
/// of the same σ is another law, and may exceed δ.)
///
/// # Accuracy
/// Exact for a σ that is rounded up by less than one part in 2^48 ([`RoundedGaussian::sigma`]). Rounding adds 1/12 to the
/// variance σ².
///
/// # Algorithm
/// A normal draw of which as many bits are known as rounding needs \[K16\]: three 64-bit words and rejection, with rounds
/// that are independent and identically distributed. Where 64 bits of the draw do not decide, at most once in 2^19 draws,
/// more are drawn; except for these, the bits read say nothing about the value. No floating-point arithmetic is involved.
///
/// # Errors
/// The constructors refuse a σ outside 0.001 to 2^50.
///
/// # Example
/// ```
/// use reticent::noise::{Entropy, RoundedGaussian};
///
/// let noise = RoundedGaussian::with_sigma(&"10".parse()?)?;
/// let mut entropy = Entropy::from_os()?;
/// let noisy = 1234 + noise.sample(&mut entropy.draw()?);
/// assert!((noisy - 1234).abs() < 100); // ten standard deviations
/// assert_eq!(noise.half_width(&"0.95".parse()?)?, 20);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RoundedGaussian {
    /// σ·2^places
    multiplier: u64,
    places: u32,
}

impl RoundedGaussian {
    /// For a σ not below this one.
    ///
    /// # Errors
    /// If σ lies outside 0.001 to 2^50.
    pub fn with_sigma(sigma: &Rational) -> Result<Self> {
        scale::checked("sigma", sigma)?;
        Self::with_sigma_squared(&sigma.square())
    }

    /// For a σ not below the square root of this number.
    ///
    /// # Errors
    /// If σ lies outside 0.001 to 2^50.
    pub fn with_sigma_squared(sigma_squared: &Rational) -> Result<Self> {
        scale::checked_square("sigma squared", sigma_squared)?;
        // The smallest whole number that is at least σ·2^places.
        let multiplier = |places: u32| {
            let scaled = sigma_squared * &Rational::from_big(UBig::ONE << (2 * places as usize), UBig::ONE);
            let whole = UBig::try_from(scaled.ceil()).expect("σ² is positive");
            let (root, rest) = whole.sqrt_rem();
            if rest.is_zero() { root } else { root + 1u8 }
        };
        let fits = |places: &u32| multiplier(*places) < UBig::ONE << SIGNIFICANT;
        // About where to look; any answer that fits is a valid one.
        let near = (SIGNIFICANT as f64 - 0.5 * libm::log2(sigma_squared.to_f64())).ceil();
        let near = (near as u32).min(MOST_PLACES);
        let places = (0..=near).rev().find(fits).expect("2^50 has fewer significant bits");
        Ok(Self { multiplier: u64::try_from(&multiplier(places)).expect("it fits in 54 bits"), places })
    }

    /// σ, exactly: what was asked for, rounded up.
    pub fn sigma(&self) -> Rational {
        Rational::from_big(self.multiplier.into(), UBig::ONE << self.places as usize)
    }

    /// One draw.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        let drawn = always(STANDARD.sample(rng));
        always(self.rounded(drawn, SPREAD, rng))
    }

    /// One draw for each element.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        values.iter_mut().for_each(|value| *value = self.sample(rng));
    }

    /// σ/2^spread times a real number, rounded; more of its bits are drawn until they decide.
    #[inline]
    fn rounded<B: BitSource + ?Sized>(&self, mut drawn: Drawn, spread: u32, source: &mut B) -> Result<i64, B::Error> {
        let signed = |magnitude: i64| if drawn.negative { -magnitude } else { magnitude };
        if let (64, cell @ 0..512, Ok(place)) = (drawn.place.bits, drawn.cell, u64::try_from(&drawn.place.value)) {
            // 54 + 9 + 64 bits, and a shift of at most 58 + 5 + 64.
            let product = u128::from(self.multiplier) * (u128::from(cell) << 64 | u128::from(place));
            let shift = self.places + spread + 64;
            let nearest = |product: u128| (product + (1 << (shift - 1))) >> shift;
            // What is unknown of the place adds less than one unit of it.
            let (least, most) = (nearest(product), nearest(product + u128::from(self.multiplier) - 1));
            if least == most {
                return Ok(signed(least as i64));
            }
        }
        loop {
            let shift = (self.places + spread) as usize + drawn.place.bits;
            let known = (UBig::from(drawn.cell) << drawn.place.bits) + &drawn.place.value;
            let nearest = |product: UBig| (product + (UBig::ONE << (shift - 1))) >> shift;
            let product = known * self.multiplier;
            let most = nearest(&product + (self.multiplier - 1));
            let least = nearest(product);
            if least == most {
                // Beyond an i64 only from 2^12 standard deviations on.
                return Ok(signed(i64::try_from(&least).unwrap_or(i64::MAX)));
            }
            extend(&mut drawn.place, source)?;
        }
    }

    fn sigma_up(&self) -> f64 {
        self.sigma().to_f64_up()
    }

    /// Its variance: σ² + 1/12, to the accuracy of a float; at σ < 1, where rounding may keep all of it or nothing, summed.
    pub fn variance(&self) -> f64 {
        let sigma = self.sigma_up();
        if sigma >= 1.0 {
            // Off by less than 16·σ²·e^(−2π²σ²), 4·10^−8 at σ = 1.
            return sigma * sigma + 1.0 / 12.0;
        }
        2.0 * (1..20).map(|k| f64::from(k * k) * self.mass(k.into()).hi).sum::<f64>()
    }

    /// P(K = k), enclosed in floats.
    pub(crate) fn mass(&self, k: i64) -> Bounds {
        let (sigma, k) = (self.sigma().to_f64(), k as f64);
        normal_mass((k - 0.5) / sigma, (k + 0.5) / sigma)
    }

    /// An upper bound on P(|K| > t) = P(|N| > t + ½).
    pub(crate) fn two_sided_tail(&self, t: u64) -> f64 {
        2.0 * upper_tail((t as f64 + 0.5) / self.sigma_up()).hi
    }

    /// The smallest t with P(|K| ≤ t) ≥ level, up to the rounding of floats.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1, or is closer to 1 than 10^−290.
    pub fn half_width(&self, level: &Rational) -> Result<u64> {
        if !level.is_positive() || *level >= Rational::ONE {
            return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
        }
        let allowed = (Rational::ONE - level.clone()).to_f64_down();
        if allowed < 1e-290 {
            return Err(Error::parameter("level", "closer to 1 than 1e-290", "at most 1 - 1e-290"));
        }
        let near = crate::numeric::discrete_gaussian::two_sided_quantile(allowed) * self.sigma_up() + 0.5;
        Ok(smallest_near(near.ceil(), |above| self.two_sided_tail(above - 1) <= allowed) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::noise::Entropy;
    use crate::noise::bernoulli::Prefix;

    fn noise(sigma: &str) -> RoundedGaussian {
        RoundedGaussian::with_sigma(&sigma.parse().unwrap()).unwrap()
    }

    #[test]
    fn sigma_is_rounded_up_by_a_hair() {
        for sigma in ["0.001", "1/3", "1", "5.1", "4.2246788893268353", "1000000.1", "1125899906842624"] {
            let (asked, drawn) = (sigma.parse::<Rational>().unwrap(), noise(sigma).sigma());
            let hair = Rational::from_big(UBig::ONE, UBig::ONE << 48);
            assert!(drawn >= asked && drawn <= &asked * &(Rational::ONE + hair), "{sigma}: {drawn}");
        }
        assert_eq!(noise("1").sigma(), Rational::ONE);
        let two = RoundedGaussian::with_sigma_squared(&"2".parse().unwrap()).unwrap();
        assert!(two.sigma().square() > Rational::from(2) && (two.sigma().to_f64() - 2f64.sqrt()).abs() < 1e-15);
        for sigma in ["0", "0.0009", "1125899906842625"] {
            assert!(RoundedGaussian::with_sigma(&sigma.parse().unwrap()).is_err(), "{sigma}");
        }
    }

    /// A uniform number U in the cell 2 ≤ x < 3: σ·x is rounded to k for U from (k − ½)/σ − 2 to (k + ½)/σ − 2.
    #[test]
    fn digits_are_drawn_until_they_decide() {
        for (sigma, spread) in [("1", 0), ("1.7", 0), ("13/3", 1), ("0.3", 0)] {
            let noise = noise(sigma);
            let scale = noise.sigma() / Rational::from(1i64 << spread);
            for negative in [false, true] {
                let law = enumerate(12, |tape| {
                    let drawn = Drawn { negative, cell: 2, place: Prefix { bits: 1, value: tape.bits(1)?.into() } };
                    noise.rounded(drawn, spread, tape)
                });
                for k in 0..16i64 {
                    let end = |twice: i64| Rational::from(twice) / (&scale * &Rational::from(2)) - Rational::from(2);
                    let clamped = |end: Rational| end.max(Rational::ZERO).min(Rational::ONE);
                    let exact = clamped(end(2 * k + 1)) - clamped(end(2 * k - 1));
                    assert!(law.admits(&if negative { -k } else { k }, &exact), "{sigma} {k}: {exact}");
                }
                assert!(law.unresolved().to_f64() < 0.01);
            }
        }
    }

    /// The quick decision is that of arithmetic of any length (where 64 bits decide, as they do for this seed).
    #[test]
    fn words_decide_like_numbers_of_any_length() {
        let mut entropy = Entropy::seeded(41);
        for sigma in ["0.001", "0.7", "5.1", "1e6", "1125899906842624"] {
            let noise = noise(sigma);
            let mut rng = entropy.draw().unwrap();
            for _ in 0..300 {
                let drawn = always(STANDARD.sample(&mut rng));
                let quick = always(noise.rounded(drawn.clone(), SPREAD, &mut rng));
                let value = Rational::from_big(
                    (UBig::from(drawn.cell) << drawn.place.bits) + &drawn.place.value,
                    UBig::ONE << (drawn.place.bits + SPREAD as usize),
                ) * noise.sigma();
                let nearest = i64::try_from(&(value + Rational::new(1, 2).unwrap()).floor()).unwrap();
                assert_eq!(quick, if drawn.negative { -nearest } else { nearest }, "{sigma}");
            }
        }
    }

    #[test]
    fn half_widths_are_the_smallest_that_do() {
        for sigma in [0.001, 0.3, 1.0, 5.1, 1000.0, 1e9] {
            let noise = noise(&sigma.to_string());
            for level in ["0.5", "0.95", "0.999999"] {
                let allowed = 1.0 - level.parse::<f64>().unwrap();
                let t = noise.half_width(&level.parse().unwrap()).unwrap() as f64;
                let outside = |t: f64| libm::erfc((t + 0.5) / (sigma * 2f64.sqrt()));
                assert!(outside(t) <= allowed * (1.0 + 1e-9), "{sigma} {level} {t}");
                assert!(t == 0.0 || outside(t - 1.0) > allowed * (1.0 - 1e-6), "{sigma} {level} {t}");
            }
        }
        assert!(noise("1").half_width(&Rational::ONE).is_err());
        assert!(noise("1").half_width(&Rational::ZERO).is_err());
    }

    /// Mean and variance over 40,000 draws, 5.5 standard errors.
    #[test]
    fn draws_have_the_stated_variance() {
        const DRAWS: usize = 40_000;
        let mut entropy = Entropy::seeded(42);
        for sigma in ["0.4", "1", "5.1", "1000", "1125899906842624"] {
            let noise = noise(sigma);
            let mut draws = vec![0; DRAWS];
            noise.fill(&mut entropy.draw().unwrap(), &mut draws);
            let mean_of = |of: &dyn Fn(f64) -> f64| draws.iter().map(|&k| of(k as f64)).sum::<f64>() / DRAWS as f64;
            let variance = noise.variance();
            assert!(mean_of(&|k| k).abs() < 5.5 * (variance / DRAWS as f64).sqrt(), "{sigma}");
            let spread = ((2.0 * variance * variance + variance) / DRAWS as f64).sqrt();
            assert!((mean_of(&|k| k * k) - variance).abs() < 5.5 * spread, "{sigma}: {variance}");
        }
    }
}
