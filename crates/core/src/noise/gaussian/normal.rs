//! Standard normal draws, exactly: as many digits as are asked for.
//!
//! # Algorithm
//! Write f(x) = e^−ax² with a = 1/2^(2s+1), the shape of a normal density with standard deviation 2^s, and cut the positive
//! numbers into cells v ≤ x < v + 1, each with a mirror image. As for [`blocks`](super::blocks), with whole-number weights
//! Q(v) ≥ κ·f(v), one round draws
//! - a cell v < n or its mirror image with probability Q(v)/2^W, a uniform real number U, of which as many bits are drawn as
//!   the round needs \[K16\], and accepts v + U with probability κ·f(v+U)/Q(v): a density of κ·f(x)/2^W;
//! - with probability Q_t/2^W for each sign, the tail from n on: g geometric with ratio r = e^−2an, a uniform real number U,
//!   and accepts n + g + U with probability κ·e^−a(n² + 2nU + (g+U)²)/(Q_t·(1−r)): with P(g) = (1−r)·e^−2ang that is the
//!   same density, since n² + 2n(g+U) + (g+U)² = (n+g+U)².
//!
//! Every real number has the same factor in front of f, whatever κ and the weights are. Divided by 2^s it is a standard normal
//! draw. Rounds are independent and identically distributed; with s = 5, 98.8 % accept.

use std::sync::LazyLock;

use dashu_int::UBig;

use super::blocks::{exp_neg_quickly, high};
use super::envelope::Envelope;
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::noise::bernoulli::Prefix;
use crate::noise::bits::BitSource;
use crate::noise::digits::{CELLS, Digits, Sides};
use crate::noise::uniform::below_wide;

/// s of [`STANDARD`].
pub(in crate::noise) const SPREAD: u32 = 5;

/// The sampler for words of 64 bits.
pub(in crate::noise) static STANDARD: LazyLock<Normal<64, CELLS>> = LazyLock::new(|| Normal::new(SPREAD));

/// Draws real numbers of standard deviation 2^s.
#[derive(Debug)]
pub(in crate::noise) struct Normal<const W: u32, const N: usize> {
    envelope: Envelope<W, N>,
    /// s
    spread: u32,
}

/// A real number cell + U, of which some bits are known, and its sign.
#[derive(Debug, Clone)]
pub(in crate::noise) struct Drawn {
    pub negative: bool,
    pub cell: u64,
    /// The first bits of U.
    pub place: Prefix,
}

impl<const W: u32, const N: usize> Normal<W, N> {
    pub fn new(spread: u32) -> Self {
        let rate = Rational::from_big(UBig::ONE, UBig::ONE << (2 * spread as usize + 1));
        // Where f is about 2^−W. (A float will do: the law is exact for any choice.)
        let deviations = (2.0 * f64::from(W) * std::f64::consts::LN_2).sqrt();
        let count = (deviations * f64::from(1 << spread)).ceil() as usize;
        Self { envelope: Envelope::new(&rate, count, 0), spread }
    }

    #[inline]
    pub fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Drawn, B::Error> {
        loop {
            if let Some(drawn) = self.round(source)? {
                return Ok(drawn);
            }
        }
    }

    /// One round; `None` if it rejects.
    #[inline]
    fn round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<Drawn>, B::Error> {
        let Some(signed) = self.envelope.alias.look_up(source.bits(W)?) else {
            return self.rare_round(source);
        };
        let sign = signed >> 31;
        let cell = (signed ^ sign).unsigned_abs();
        let mut place = first_digit::<W, B>(source)?;
        let toss = first_digit::<W, B>(source)?;
        let accepted = match self.quickly(cell as usize, &place, &toss) {
            Some(accepted) => accepted,
            None => self.accepts(&mut place, toss, source, |place, precision| {
                let over = UBig::from(self.envelope.weights[cell as usize]);
                (self.curve(cell.into(), 0, place, precision), over)
            })?,
        };
        Ok(accepted.then_some(Drawn { negative: sign != 0, cell: cell.into(), place }))
    }

    /// The toss by 64-bit arithmetic, or `None` if it is too close to call.
    ///
    /// The acceptance is height·e^−x with x = U·(2v + U)/2^(2s+1) ≤ 0.3, whose error is that of
    /// [`blocks`](super::blocks): the toss is left open within ±2^−17 of the threshold, and the bits of U beyond 64 move x by
    /// less than 2^−53.
    #[inline]
    fn quickly(&self, cell: usize, place: &Prefix, toss: &Prefix) -> Option<bool> {
        /// 2^−17 in units of 2^−64.
        const DOUBT: u64 = 1 << 47;
        if W != 64 || self.spread != SPREAD {
            return None;
        }
        let (u, toss) = (u64::try_from(&place.value).ok()?, u64::try_from(&toss.value).ok()?);
        let x = high(u, (cell as u64) << (63 - 2 * SPREAD) << 1 | u >> (2 * SPREAD + 1));
        let acceptance = high(self.envelope.heights[cell], exp_neg_quickly(x));
        if toss < acceptance.saturating_sub(DOUBT) {
            Some(true)
        } else if toss > acceptance.saturating_add(DOUBT) {
            Some(false)
        } else {
            None
        }
    }

    /// Is the uniform number that begins with `toss` below κ·x/q, where `of` encloses x, which falls as U grows, for what
    /// is known of U, and gives q? If that does not decide, both numbers get more bits.
    #[cold]
    fn accepts<B: BitSource + ?Sized>(
        &self,
        place: &mut Prefix,
        mut toss: Prefix,
        source: &mut B,
        of: impl Fn(&Prefix, usize) -> (Enclosure, UBig),
    ) -> Result<bool, B::Error> {
        loop {
            let precision = toss.bits + 2 * W as usize;
            let (x, over) = of(place, precision);
            let Enclosure { lo, hi } = self.envelope.scaled(&x, &over, precision, toss.bits);
            if toss.value < lo {
                return Ok(true);
            }
            if toss.value >= hi {
                return Ok(false);
            }
            extend(&mut toss, source)?;
            extend(place, source)?;
        }
    }

    /// e^−a(v² + 2vU + (g+U)²), enclosed for all U that begin with `place`; for g = 0 it is f(v+U).
    fn curve(&self, v: u64, g: u64, place: &Prefix, precision: usize) -> Enclosure {
        let at = |u: UBig| {
            let u = Rational::from_big(u, UBig::ONE << place.bits);
            let (v, g) = (Rational::from(v), Rational::from(g));
            let exponent = v.square() + &(&v * &u) * &Rational::from(2) + (g + u).square();
            exp_neg(&(exponent / Rational::from(1i64 << (2 * self.spread + 1))), precision)
        };
        Enclosure { lo: at(&place.value + 1u8).lo, hi: at(place.value.clone()).hi }
    }

    /// A round whose word belongs to no cell: the tail of either sign, or nothing.
    #[cold]
    fn rare_round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<Drawn>, B::Error> {
        let Envelope { weights, tail_weight, rare, .. } = &self.envelope;
        let choice = below_wide(*rare, source)?;
        if choice >= 2 * u128::from(*tail_weight) {
            return Ok(None);
        }
        let negative = choice >= u128::from(*tail_weight);
        // The ratio is e^−1/scale with scale 2^2s/n.
        let n = weights.len() as u64;
        let scale = Rational::from(1i64 << (2 * self.spread)) / Rational::from(n);
        let g = Digits::<W, N>::new(&scale, Sides::One).sample(source)?.unsigned_abs();
        let step = scale.recip().expect("a scale is positive");
        let mut place = first_digit::<W, B>(source)?;
        let toss = first_digit::<W, B>(source)?;
        let accepted = self.accepts(&mut place, toss, source, |place, precision| {
            let others = Enclosure::one(precision).minus(&exp_neg(&step, precision));
            (self.curve(n, g, place, precision).over(&others, precision), UBig::from(*tail_weight))
        })?;
        Ok(accepted.then_some(Drawn { negative, cell: n + g, place }))
    }
}

/// The first digit of a uniform real number: a word, or a single bit where words are short and every branch is enumerated.
#[inline]
fn first_digit<const W: u32, B: BitSource + ?Sized>(source: &mut B) -> Result<Prefix, B::Error> {
    let bits = if W == 64 { 64 } else { 1 };
    Ok(Prefix { bits: bits as usize, value: source.bits(bits)?.into() })
}

/// One more bit.
pub(in crate::noise) fn extend<B: BitSource + ?Sized>(prefix: &mut Prefix, source: &mut B) -> Result<(), B::Error> {
    prefix.value = (&prefix.value << 1) + source.bits(1)?;
    prefix.bits += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::noise::Entropy;
    use crate::noise::bits::always;
    use crate::numeric::normal::normal_mass;
    use rand_core::Rng;

    const W: u32 = 6;

    /// κ·∫f/2^W between two numbers, in floats.
    fn density_between(normal: &Normal<W, 16>, from: f64, to: f64) -> f64 {
        let deviation = f64::from(1 << normal.spread);
        let mass = normal_mass(from / deviation, to / deviation);
        let area = mass.lo * deviation * (2.0 * std::f64::consts::PI).sqrt();
        area * normal.envelope.kappa as f64 / 2f64.powi(W as i32)
    }

    /// One round ends in each half of each cell, in the mirror images and in both tails, with the probability of the
    /// density. Short words bring the tail within reach.
    #[test]
    fn a_round_is_exact() {
        for spread in [0, 1] {
            let normal = Normal::<W, 16>::new(spread);
            let law = enumerate(18, |tape| {
                let half = |drawn: Drawn| {
                    let first = (&drawn.place.value >> (drawn.place.bits - 1)) == UBig::ONE;
                    (drawn.negative, 2 * drawn.cell + u64::from(first))
                };
                Ok(normal.round(tape)?.map(half))
            });
            let open = law.unresolved().to_f64();
            assert!(open < 0.12, "unresolved: {open}");
            for half in 0..2 * normal.envelope.weights.len() as u64 + 4 {
                let exact = density_between(&normal, half as f64 / 2.0, (half + 1) as f64 / 2.0);
                for negative in [false, true] {
                    let mass = law.mass(&Some((negative, half))).to_f64();
                    assert!(mass <= exact * (1.0 + 1e-9) && exact <= mass + open, "{half}: {mass} for {exact}");
                }
            }
        }
    }

    /// The same for a cell and for the tail alone, where nothing is spent on choosing them.
    #[test]
    fn acceptance_is_exact() {
        let normal = Normal::<W, 16>::new(0);
        for (v, g) in [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1)] {
            let law = enumerate(18, |tape| {
                let (mut place, toss) = (first_digit::<W, _>(tape)?, first_digit::<W, _>(tape)?);
                let over = UBig::from(normal.envelope.kappa);
                let of = |place: &Prefix, precision| (normal.curve(v, g, place, precision), over.clone());
                let accepted = normal.accepts(&mut place, toss, tape, of)?;
                Ok((accepted, (&place.value >> (place.bits - 1)) == UBig::ONE))
            });
            let open = law.unresolved().to_f64();
            assert!(open < 0.01, "{v} {g}: {open}");
            for first in [false, true] {
                // e^−(v² + 2vU + (g+U)²)/2, by Simpson's rule over half a cell.
                let f = |u: f64| {
                    let (v, g) = (v as f64, g as f64);
                    (-(v * v + 2.0 * v * u + (g + u) * (g + u)) / 2.0).exp()
                };
                let start = if first { 0.5 } else { 0.0 };
                let simpson = |k: u32| {
                    let at = |part: f64| f(start + (f64::from(k) + part) / 128.0);
                    (at(0.0) + 4.0 * at(0.5) + at(1.0)) / 768.0
                };
                let exact: f64 = (0..64).map(simpson).sum();
                let mass = law.mass(&(true, first)).to_f64();
                assert!(mass <= exact * (1.0 + 1e-9) && exact <= mass + open, "{v} {g}: {mass} for {exact}");
            }
        }
    }

    /// The quick comparison must agree with the exact one wherever it decides, in particular next to the threshold.
    #[test]
    fn the_quick_toss_agrees_with_the_exact_one() {
        const TRIES: usize = 400;
        let mut entropy = Entropy::seeded(6);
        let mut rng = entropy.draw().unwrap();
        let normal = &*STANDARD;
        let mut undecided = 0;
        for _ in 0..TRIES {
            let cell = rng.next_u64() as usize % normal.envelope.weights.len();
            let place = Prefix { bits: 64, value: rng.next_u64().into() };
            let exact = normal.envelope.scaled(
                &normal.curve(cell as u64, 0, &place, 192),
                &normal.envelope.weights[cell].into(),
                192,
                64,
            );
            let threshold = u64::try_from(&exact.lo).unwrap_or(u64::MAX).min(u64::MAX - (1 << 50));
            for known in [rng.next_u64(), threshold / 2, threshold - (1 << 48), threshold + (1 << 48)] {
                let toss = Prefix { bits: 64, value: known.into() };
                match normal.quickly(cell, &place, &toss) {
                    Some(accepted) => assert_eq!(accepted, UBig::from(known) < exact.lo, "cell {cell}"),
                    None => undecided += 1,
                }
            }
        }
        assert!(undecided <= TRIES / 50, "{undecided} of {TRIES} undecided");
    }

    #[test]
    fn rounds_are_mostly_accepted() {
        let mut entropy = Entropy::seeded(7);
        let mut rng = entropy.draw().unwrap();
        let accepted = (0..10_000).filter(|_| always(STANDARD.round(&mut rng)).is_some()).count();
        // A cell's curve falls by x/2^2s, on average half of which is rejected: √(2/π)/2^(s+1) = 1.25 %. 5.5 standard errors
        // are 0.6 %.
        assert!((9_810..9_940).contains(&accepted), "{accepted}");
    }
}
