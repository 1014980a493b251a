//! One draw for several numbers at once: noise that falls with the largest of them.

use rand_core::CryptoRng;

use super::bernoulli;
use super::bits::{BitSource, always};
use super::digits::{CELLS, Digits, Sides};
use super::scale;
use super::uniform::{below, scaled};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::numeric::search::smallest_near;

mod tail;

/// The most coordinates of one draw.
const MOST_COORDINATES: u32 = 256;
/// Bits of a random word.
const WORD: u32 = 64;

/// The law P(z) ∝ p^max|zᵢ| on vectors of D whole numbers, with p = e^−1/scale.
///
/// # Privacy
/// Added to a vector that one unit can move by at most Δ in the L∞ norm, noise of scale Δ/ε gives ε-differential
/// privacy: max|zᵢ| changes by at most Δ, so P(z)/P(z′) ≤ p^−Δ = e^ε \[HT10\]. Several vectors, each with a draw of its
/// own: Δ is the sum of their L∞ norms.
///
/// # Accuracy
/// Exact. Each coordinate has the variance of [`DiscreteBox::variance`], about (D+1)(D+2)/3·scale²: D numbers that a row
/// may move by 1 each have (D+1)(D+2)/3 instead of the 2D² of independent Laplace noise. Coordinates are uncorrelated,
/// but not independent.
///
/// # Algorithm
/// Draw R with P(R) ∝ (2R+1)^D·p^R, then each coordinate uniformly from −R..=R. A vector z comes from every R ≥ r =
/// max|zᵢ|, with probability (2R+1)^−D each time: P(z) ∝ Σ_{R≥r} p^R = p^r/(1−p). R is drawn by rejection: the sum of D+1
/// geometric numbers has P(R) ∝ p^R·Π(R+i) over i = 1..=D, and is accepted with probability Π(2R+1)/(2R+2i).
///
/// No floating-point arithmetic is involved. Rounds are independent and identically distributed, and an accepted one
/// reads the same number of words whatever the value, except for one draw in about 2^54: the bits read reveal nothing
/// about it.
///
/// # Errors
/// [`DiscreteBox::new`] refuses more than 256 coordinates, and a scale for which too few rounds would be accepted or a draw
/// could leave the range of an `i64`.
///
/// # Example
/// ```
/// use reticent::noise::{DiscreteBox, Entropy};
///
/// let noise = DiscreteBox::new(3, &"1000".parse()?)?;
/// let mut entropy = Entropy::from_os()?;
/// let mut point = [0; 3];
/// noise.sample(&mut entropy.draw()?, &mut point);
///
/// // One coordinate is within 5,187 with probability 95 %, all three are within 6,297.
/// assert_eq!(noise.half_width(1, &"0.95".parse()?)?, 5187);
/// assert_eq!(noise.half_width(3, &"0.95".parse()?)?, 6297);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiscreteBox {
    coordinates: u32,
    scale: Rational,
    geometric: Digits<WORD, CELLS>,
}

impl DiscreteBox {
    /// Prepares the tables (about a tenth of a millisecond).
    ///
    /// # Errors
    /// If there are no or more than 256 coordinates; if the scale is below 0.001 or an eighth of their number D, or above
    /// 2^50/(D+1).
    pub fn new(coordinates: u32, scale: &Rational) -> Result<Self> {
        if !(1..=MOST_COORDINATES).contains(&coordinates) {
            return Err(Error::parameter("number of coordinates", coordinates, "from 1 to 256"));
        }
        // The mean of R is about (D+1)·scale, and a round is accepted with probability of about e^−D/(2·scale).
        scale::checked("box scale", &(scale * &Rational::from(i64::from(coordinates) + 1)))?;
        let scale = scale::checked("box scale", scale)?;
        if &scale * &Rational::from(8) < Rational::from(i64::from(coordinates)) {
            return Err(Error::parameter("box scale", &scale, "at least an eighth of the number of coordinates"));
        }
        let geometric = Digits::new(&scale, Sides::One);
        Ok(Self { coordinates, scale, geometric })
    }

    /// D.
    pub fn coordinates(&self) -> u32 {
        self.coordinates
    }

    /// The scale, exactly.
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// One draw.
    ///
    /// # Panics
    /// If the point does not have as many coordinates as the law.
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R, point: &mut [i64]) {
        assert_eq!(point.len(), self.coordinates as usize, "a point has as many coordinates as its law");
        while !always(round::<WORD, _>(point, rng, |rng| self.geometric.sample(rng))) {}
    }

    /// One draw for every D elements.
    ///
    /// # Panics
    /// If the number of elements is not a multiple of D.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        values.chunks_mut(self.coordinates as usize).for_each(|point| self.sample(rng, point));
    }

    /// The variance of one coordinate, to the accuracy of a float.
    pub fn variance(&self) -> f64 {
        self.radii().variance()
    }

    /// A t such that `together` coordinates of one draw are all within t with probability at least `level`: the smallest
    /// up to scale 64; beyond, larger than the smallest by less than one part in 2·scale.
    ///
    /// # Errors
    /// If `together` is 0 or above D, or the level lies outside 0 < level ≤ 1 − 10^−60.
    pub fn half_width(&self, together: u32, level: &Rational) -> Result<u64> {
        if !(1..=self.coordinates).contains(&together) {
            return Err(Error::parameter("number of coordinates", together, "from 1 to that of the law"));
        }
        let allowed = outside(level)?;
        let radii = self.radii();
        Ok(smallest_near(radii.near(together, allowed), |above| radii.beyond(together, above - 1) <= allowed) - 1)
    }

    /// A t such that Σwᵢzᵢ, over as many coordinates of one draw as there are weights, is within t with probability at least
    /// `level`: larger than the smallest by less than 0.1 % and 2·Σ|wᵢ|.
    ///
    /// # Errors
    /// If all weights are 0, more than 6 or more than D are not, one is not a number, or the level lies outside 0 < level ≤
    /// 1 − 10^−60.
    pub fn half_width_of_sum(&self, weights: &[f64], level: &Rational) -> Result<f64> {
        let sum = tail::WeightedSum::new(self.coordinates, weights)?;
        let allowed = outside(level)?;
        Ok(sum.reach(allowed) * self.scale.to_f64_up() + sum.rounding())
    }

    fn radii(&self) -> tail::Radii {
        tail::Radii::new(self.coordinates, self.scale.to_f64_up())
    }
}

/// 1 − level, rounded down.
fn outside(level: &Rational) -> Result<f64> {
    if !level.is_positive() || *level >= Rational::ONE {
        return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
    }
    let allowed = (Rational::ONE - level.clone()).to_f64_down();
    match allowed < crate::numeric::LEAST {
        true => Err(Error::parameter("level", "closer to 1 than 1e-60", "at most 1 - 1e-60")),
        false => Ok(allowed),
    }
}

/// One round of rejection, which draws a point z with probability (1−p)^(D+1)/(2^D·D!)·Σ_{R ≥ max|zᵢ|} p^R; `false` if
/// it rejects.
fn round<const W: u32, B: BitSource + ?Sized>(
    point: &mut [i64],
    source: &mut B,
    geometric: impl Fn(&mut B) -> Result<i64, B::Error>,
) -> Result<bool, B::Error> {
    let mut radius = 0i64;
    for _ in 0..=point.len() {
        radius = radius.saturating_add(geometric(source)?);
    }
    let sides = 2 * radius.unsigned_abs() + 1;
    for i in 1..=point.len() as u64 {
        if !is_kept::<W, B>(sides, sides + (2 * i - 1), source)? {
            return Ok(false);
        }
    }
    for coordinate in point {
        *coordinate = uniform::<W, B>(sides, source)?.cast_signed() - radius;
    }
    Ok(true)
}

/// True with probability numerator/denominator ≤ 1, from one word except for one toss in 2^W.
fn is_kept<const W: u32, B: BitSource + ?Sized>(
    numerator: u64,
    denominator: u64,
    source: &mut B,
) -> Result<bool, B::Error> {
    // The uniform number lies between the word and the word plus one, in units of 2^−W.
    let below = u128::from(source.bits(W)?) * u128::from(denominator);
    let threshold = u128::from(numerator) << W;
    if below >= threshold {
        return Ok(false);
    }
    if threshold - below >= denominator.into() {
        return Ok(true);
    }
    bernoulli::ratio(threshold - below, denominator.into(), source)
}

/// A number below n, from one word except for one draw in 2^W/n.
fn uniform<const W: u32, B: BitSource + ?Sized>(n: u64, source: &mut B) -> Result<u64, B::Error> {
    if u128::from(n) > 1 << W {
        return below(n, source);
    }
    loop {
        if let Some(value) = scaled(source.bits(W)?, W, n) {
            return Ok(value);
        }
    }
}

#[cfg(test)]
mod tests;
