//! Shares of geometric noise: the negative binomial law.

use dashu_int::UBig;
use rand_core::CryptoRng;

use super::bernoulli::{self, Prefix, is_below};
use super::bits::{BitSource, always};
use super::scale;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};

/// The negative binomial law P(k) ∝ p^k·Γ(k+r)/k! on 0, 1, 2, …, with p = e^−1/scale and a rational shape 0 < r ≤ 1.
///
/// # Privacy
/// m parties that each add a share with r = 1/m together add geometric noise: shapes add up. The difference of two such
/// sums is discrete Laplace noise that no single party knows.
///
/// # Accuracy
/// Exact; mean r·p/(1−p), variance r·p/(1−p)².
///
/// # Algorithm
/// The law is compound Poisson: K = Σ j·N_j over j ≥ 1 with independent N_j ~ Poisson(r·p^j/j), since
/// Σ r·p^j/j·(z^j − 1) = r·ln((1−p)/(1−pz)). The points (j with multiplicity N_j) are drawn by thinning:
/// - In each block 2^i ≤ j < 2^(i+1) below I, the first power 2^I ≥ scale, candidates of rate r/2^i per number, hence
///   Poisson(r) in number and uniform in place, are kept with probability (2^i/j)·p^j.
/// - All blocks from I on share Poisson(r) candidates; each falls in block I+g with probability 2^−(g+1), uniformly, and is
///   kept with probability (2^i/j)·p^j·2^(g+1), which is below 1 as p^j ≤ e^−2^g.
///
/// A Poisson(r) number is drawn by rejection from k with probability 2^−(k+1), accepted with 2^(k−1)·r^k/k! (½ at k = 0): a
/// product of rational coins. So everything reduces to fair bits, rational coins and e^−γ; the work grows with the
/// logarithm of the scale.
///
/// # Errors
/// [`NegativeBinomial::new`] refuses a scale outside 0.001 to 2^50 and a shape outside (0, 1] or with a denominator of more
/// than 32 bits.
///
/// # Example
/// ```
/// use reticent::noise::{Entropy, NegativeBinomial};
///
/// let share = NegativeBinomial::new(&"1/10".parse()?, &"5".parse()?)?; // a tenth of geometric noise
/// let mut entropy = Entropy::from_os()?;
/// let mut rng = entropy.draw()?;
/// let noise: i64 = (0..10).map(|_| share.sample(&mut rng)).sum();
/// assert!(noise >= 0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NegativeBinomial {
    shape: Rational,
    scale: Rational,
    /// r = numerator/denominator
    shape_parts: (u128, u128),
    /// The scale's numerator and denominator, if they are short enough for quick coins.
    short_scale: Option<(u128, u128)>,
    /// I
    shared_from: u32,
}

impl NegativeBinomial {
    /// For a shape r and a scale; nothing is tabulated.
    ///
    /// # Errors
    /// If the scale or the shape is out of range.
    pub fn new(shape: &Rational, scale: &Rational) -> Result<Self> {
        let scale = scale::checked("negative binomial scale", scale)?;
        let small = |part: &UBig| u32::try_from(part).ok().map(u128::from);
        let parts = small(&shape.numerator()).zip(small(shape.denominator()));
        let Some(shape_parts) = parts.filter(|_| shape.is_positive() && *shape <= Rational::ONE) else {
            return Err(Error::parameter(
                "shape",
                shape,
                "greater than 0 and at most 1, with a denominator below 2^32; write for example 1/10",
            ));
        };
        // e^−(j·denominator/numerator) with j < 2^52 fits in u128 when both parts have at most 64 bits.
        let medium = |part: &UBig| u64::try_from(part).ok().map(u128::from);
        let short_scale = medium(&scale.numerator()).zip(medium(scale.denominator()));
        let shared_from = (0..).find(|&i| Rational::from(1i64 << i) >= scale).expect("the scale is at most 2^50");
        Ok(Self { shape: shape.clone(), scale, shape_parts, short_scale, shared_from })
    }

    /// The shape r, exactly.
    pub fn shape(&self) -> &Rational {
        &self.shape
    }

    /// The scale, exactly.
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// r·p/(1−p)², to the accuracy of a float.
    pub fn variance(&self) -> f64 {
        let sinh = libm::sinh(0.5 / self.scale.to_f64());
        self.shape.to_f64() * 0.25 / (sinh * sinh)
    }

    /// One draw.
    pub fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        always(self.sample_from(rng))
    }

    /// One draw for each element.
    pub fn fill<R: CryptoRng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        values.iter_mut().for_each(|value| *value = self.sample(rng));
    }

    pub(crate) fn sample_from<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        let mut total = 0i64;
        for i in 0..self.shared_from {
            for _ in 0..self.poisson(source)? {
                total = total.saturating_add(self.candidate(i, source)?.unwrap_or(0));
            }
        }
        for _ in 0..self.poisson(source)? {
            total = total.saturating_add(self.shared_candidate(source)?.unwrap_or(0));
        }
        Ok(total)
    }

    /// A candidate from block i < I: j with probability 2^−i·(2^i/j)·p^j = p^j/j; `None` if it is not kept.
    fn candidate<B: BitSource + ?Sized>(&self, i: u32, source: &mut B) -> Result<Option<i64>, B::Error> {
        let first = 1u64 << i;
        let j = if i == 0 { first } else { first + source.bits(i)? };
        let kept = bernoulli::ratio(first.into(), j.into(), source)? && self.survives(j, source)?;
        Ok(kept.then_some(j as i64))
    }

    /// A candidate from block I on: j with probability 2^−(g+1)·2^−i·(2^i/j)·p^j·2^(g+1) = p^j/j; `None` if it is not kept.
    fn shared_candidate<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<i64>, B::Error> {
        let mut g = 0u32;
        while source.bits(1)? == 1 {
            g += 1;
        }
        let i = (self.shared_from + g) as usize;
        let first = UBig::ONE << i;
        let mut j = UBig::ONE;
        for _ in 0..i {
            j = (j << 1) + source.bits(1)?;
        }
        let place = Rational::from_big(first, j.clone());
        if !is_below(Prefix::empty(), source, |bits| Enclosure::rational(&place, bits))? {
            return Ok(None);
        }
        let exponent = Rational::from_big(j.clone(), UBig::ONE) / self.scale.clone();
        // 2^(g+1)·e^−x at precision b is e^−x at precision b + g + 1.
        let kept = is_below(Prefix::empty(), source, |bits| exp_neg(&exponent, bits + g as usize + 1))?;
        // Beyond an i64 a candidate survives with probability e^−2^13 at the largest scale.
        Ok(kept.then(|| i64::try_from(&j).unwrap_or(i64::MAX)))
    }

    /// True with probability p^j = e^−j/scale.
    fn survives<B: BitSource + ?Sized>(&self, j: u64, source: &mut B) -> Result<bool, B::Error> {
        match self.short_scale {
            Some((numerator, denominator)) => bernoulli::exp_neg_once(u128::from(j) * denominator, numerator, source),
            None => {
                let exponent = &Rational::from(j) / &self.scale;
                is_below(Prefix::empty(), source, |bits| exp_neg(&exponent, bits))
            }
        }
    }

    /// Poisson(r).
    fn poisson<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<u32, B::Error> {
        loop {
            if let Some(k) = self.poisson_round(source)? {
                return Ok(k);
            }
        }
    }

    /// k with probability r^k/(4·k!); `None` if nothing is accepted.
    fn poisson_round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<u32>, B::Error> {
        let (numerator, denominator) = self.shape_parts;
        let mut k = 0u32;
        while source.bits(1)? == 1 {
            k += 1;
        }
        if k == 0 {
            return Ok((source.bits(1)? == 1).then_some(0));
        }
        // r · (2r/2) · (2r/3) · … · (2r/k)
        for i in 1..=u128::from(k) {
            let twice = if i == 1 { 1 } else { 2 };
            if !bernoulli::ratio(twice * numerator, i * denominator, source)? {
                return Ok(None);
            }
        }
        Ok(Some(k))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::noise::Entropy;

    fn law(shape: &str, scale: &str) -> NegativeBinomial {
        NegativeBinomial::new(&shape.parse().unwrap(), &scale.parse().unwrap()).unwrap()
    }

    /// P(k) = (1−p)^r·p^k·Π_{j≤k}(j−1+r)/j
    fn mass(shape: f64, scale: f64, k: u32) -> f64 {
        let p = (-1.0 / scale).exp();
        (1..=k).fold((1.0 - p).powf(shape), |mass, j| mass * p * (f64::from(j) - 1.0 + shape) / f64::from(j))
    }

    #[test]
    fn a_poisson_round_is_exact() {
        for (text, r) in [("1", 1.0_f64), ("1/2", 0.5), ("2/7", 2.0 / 7.0)] {
            let law = enumerate(20, |tape| law(text, "1").poisson_round(tape));
            let open = law.unresolved().to_f64();
            assert!(open < 1e-3, "{open}");
            let mut factorial = 1.0;
            for k in 0..5 {
                factorial *= f64::from(k.max(1));
                let (exact, found) = (r.powi(k) / (4.0 * factorial), law.mass(&Some(k as u32)).to_f64());
                assert!(found <= exact * (1.0 + 1e-12) && exact <= found + open, "r = {r}, {k}: {found} for {exact}");
            }
        }
    }

    /// Every j comes out of its block with probability p^j/j: with Poisson(r) candidates, that is the law.
    #[test]
    fn candidates_are_exact() {
        for (text, scale, blocks) in [("0.5", 0.5_f64, 0), ("1", 1.0, 0), ("2", 2.0, 1), ("5.5", 5.5, 3)] {
            let sampler = law("1/2", text);
            assert_eq!(sampler.shared_from, blocks);
            for i in 0..=blocks {
                let (law, range) = if i < blocks {
                    (enumerate(20, |tape| sampler.candidate(i, tape)), 1i64 << i..2i64 << i)
                } else {
                    (enumerate(20, |tape| sampler.shared_candidate(tape)), 1 << i..4 << i)
                };
                let open = law.unresolved().to_f64();
                assert!(open < 0.02, "scale {text}, block {i}: {open}");
                for j in range {
                    let (exact, found) = ((-(j as f64) / scale).exp() / j as f64, law.mass(&Some(j)).to_f64());
                    assert!(
                        found <= exact * (1.0 + 1e-12) && exact <= found + open,
                        "{text}, {j}: {found} for {exact}"
                    );
                }
            }
        }
    }

    /// Frequencies of small values and the mean, at scales with several blocks; 5.5 standard errors.
    #[test]
    fn draws_follow_the_law() {
        const DRAWS: usize = 40_000;
        let mut entropy = Entropy::seeded(21);
        for (shape, r, scale, s) in [("1", 1.0, "10", 10.0), ("1/10", 0.1, "100", 100.0), ("3/4", 0.75, "3.7", 3.7)] {
            let sampler = law(shape, scale);
            let mut draws = vec![0; DRAWS];
            sampler.fill(&mut entropy.draw().unwrap(), &mut draws);
            for k in 0..4 {
                let exact = mass(r, s, k);
                let found = draws.iter().filter(|&&value| value == i64::from(k)).count() as f64 / DRAWS as f64;
                let spread = (exact * (1.0 - exact) / DRAWS as f64).sqrt();
                assert!((found - exact).abs() < 5.5 * spread, "{shape} {scale} {k}: {found} for {exact}");
            }
            let p = (-1.0 / s).exp();
            let mean = draws.iter().sum::<i64>() as f64 / DRAWS as f64;
            let spread = (sampler.variance() / DRAWS as f64).sqrt();
            assert!((mean - r * p / (1.0 - p)).abs() < 5.5 * spread, "{shape} {scale}: mean {mean}");
        }
    }

    #[test]
    fn wide_and_awkward_scales_work() {
        let mut entropy = Entropy::seeded(22);
        let mut rng = entropy.draw().unwrap();
        for scale in ["0.001", "1125899906842624", "1e9", "123456789.123456789012345678901234567890"] {
            let sampler = law("1/7", scale);
            let draws: Vec<i64> = (0..200).map(|_| sampler.sample(&mut rng)).collect();
            let limit = 200.0 * scale.parse::<f64>().unwrap() + 1.0;
            assert!(draws.iter().all(|&value| value >= 0 && (value as f64) < limit), "{scale}");
        }
    }

    #[test]
    fn shapes_outside_the_range_are_refused() {
        for shape in ["0", "-1/2", "3/2", "1/4294967296"] {
            let error = NegativeBinomial::new(&shape.parse().unwrap(), &Rational::ONE).unwrap_err();
            assert!(error.to_string().starts_with("shape is "), "{error}");
        }
        assert!(NegativeBinomial::new(&Rational::ONE, &Rational::ZERO).is_err());
    }
}
