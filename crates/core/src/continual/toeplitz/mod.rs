//! `toeplitz`: the square root of the prefix sums.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::kind::CounterKind;
use super::law;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteGaussian;
use crate::privacy::Guarantee;

mod coefficients;
mod ntt;
mod online;
#[cfg(test)]
mod tests;

use online::Convolver;

/// All past noise takes part in every step: beyond this many steps it would take too long and too much memory.
const LONGEST: u64 = 1 << 22;
/// Coefficients are multiples of 2^−f with f at most this.
const MOST_FRACTION_BITS: u32 = 30;
/// σ is at most 2^49 lattice units, half of what the sampler allows.
const SIGMA_BITS: f64 = 49.0;
/// Decimal digits of σ²; more would only make the sampler's tables slower to set up.
const SIGMA_DIGITS: u32 = 30;
/// No |x| reaches this power of two.
const TERM_BITS: u32 = 66;

/// The square-root counter: with R the lower triangular Toeplitz matrix whose square is the matrix A of the prefix sums,
/// the noise is R·z, z independent discrete Gaussian.
///
/// # Privacy
/// Let Ĉ_j = round(2^f·c_j), c_j = C(2j, j)/4^j, and R̂ the Toeplitz matrix of Ĉ_j/2^f. All numbers are whole: z_t, x_t and N_t
/// in units of 2^−f. A step draws z and sets
///
/// > s = ⌊(Σ_(j≥1) Ĉ_j·x_(t−j))/2^f + ½⌋, x_t = z − s, N ← N + x_t,
///
/// and releases S + ⌊N/2^f + ½⌋. That is a function of y_t = 2^f·S_t + N_t, so it is enough that y_1, …, y_n together are
/// ρ-zCDP. Fix y and two neighbouring streams. In each of them y determines x_t = y_t − y_(t−1) − 2^f·(value of step t), the
/// x before t determine s_t, and z_t = x_t + s_t. A value that differs by r_k at step t_k changes x_(t_k) by −2^f·r_k and no
/// other x, hence the sum within s_t by −2^f·r_k·Ĉ_(t−t_k): a whole multiple of 2^f, which the floor passes on exactly. So
/// z'_t − z_t = −Σ_(k: t_k ≤ t) r_k·Ĉ_(t−t_k) with no rounding error at all (Ĉ_0 = 2^f), and by the triangle inequality the
/// squares add up to at most
///
/// > Δ² = c²r²·Σ_(j<n) Ĉ_j²,
///
/// a whole number. Given what was released before, y_t is a discrete Gaussian around a whole number, and z'_t − z_t is the
/// distance of its two centres, known from the past: σ² = Δ²/(2ρ) gives ρ-zCDP as for [`Blt`](super::Blt), for streams chosen
/// after seeing earlier answers too, as the squares add up to no more on any path.
///
/// Integer noise with real coefficients would not do: there z'_t − z_t is c_j rounded up or down, by chance, and the squares
/// add up to about Σ c_j instead of Σ c_j².
///
/// *Sums are exact.* R⁻¹ has entries of absolute sum 2, and R̂ − R of at most n·2^−(f+1) ≤ ⅛ since 2^f ≥ 4n, so R̂⁻¹ of at most
/// 2/(1 − 2·⅛) < 2.7. With |z| < 2^63 therefore |x| < 2^65, and the sums stay below 2^65·2^30·Σ c_j < 2^107, where two primes
/// of 62 bits determine them. How long a step takes depends on the noise alone, not on the data.
///
/// # Accuracy
/// The variance at step t is σ²·Σ_(j<t) c_j², plus 1/12 for rounding to a whole number: what the ideal R gives, as A·R⁻¹ = R.
/// With R̂ = R + E it is A·R̂⁻¹ = R − E to first order, and as |E_j| ≤ 2^−(f+1), the variance differs by at most
/// 2^−f·Σ c_j/Σ c_j² of it: 3e-5 at 2^22 steps with f = 24, and less than 1e-7 with f = 30 up to 2^16 steps.
///
/// The average root mean square error is within 4 % of the lower bound of every factorisation at 2^20 steps. [`Blt`](super::Blt)
/// does better in the mean, because its coefficients are chosen for that; this counter is the simplest that is near.
///
/// # Algorithm
/// \[FHU23\], with the convolution done online in blocks of doubling length: O(T·log²T) for the whole stream, 16 bytes a step
/// remembered and as much for sums to come; transforms of up to 64 bytes a step are shared by all counters made from one plan.
///
/// # Errors
/// Needs a horizon of at most 2^22 steps, and ρ or an ε with a δ. Where σ is so large that the lattice has less than ⌈log₂T⌉ + 2
/// bits after the point (σ beyond 2^25 at 2^22 steps), it refuses.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{Counter, CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let day = Stream::bits().until(1440)?;
/// let mut visits = CounterKind::Toeplitz.start(day, Guarantee::Zcdp("0.5".parse()?), Permit::unaccounted()?)?;
/// visits.step(1)?;
/// assert!(visits.variance(1440) < 13.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Toeplitz {
    stream: Stream,
    guarantee: Guarantee,
    fraction_bits: u32,
    convolver: Convolver,
    law: DiscreteGaussian,
    /// The variance of one draw, as a multiple of 1 rather than of the lattice.
    variance: f64,
    /// The variance of rounding an answer to a whole number.
    rounding: f64,
}

/// f: coefficients and noise are multiples of 2^−f.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lattice {
    fraction_bits: u32,
}

/// All x so far and their sum, in units of 2^−f.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Terms {
    terms: Vec<i128>,
    noise: i128,
    /// What the terms contribute to future sums: derived from the terms.
    #[serde(skip)]
    pending: Vec<i128>,
}

/// The number of steps, if it is supported.
fn horizon(stream: &Stream) -> Result<u64> {
    match stream.steps() {
        Some(steps) if steps <= LONGEST => Ok(steps),
        Some(steps) => Err(Error::parameter("horizon", steps, "at most 4194304 (2^22) for toeplitz; beyond, use blt")),
        None => Err(Error::parameter(
            "horizon",
            "unbounded",
            "a number of steps for this counter; without one use input-noise, hybrid or bridged",
        )),
    }
}

/// The fewest bits after the point that the proof needs: 2^f ≥ 4n.
fn fewest_bits(steps: u64) -> u32 {
    steps.next_power_of_two().ilog2() + 2
}

impl Strategy for Toeplitz {
    type Parameters = Lattice;
    type State = Terms;

    fn choose(stream: &Stream, guarantee: &Guarantee) -> Result<Lattice> {
        let twice_rho = 2.0 * law::rho(guarantee)?.value().to_f64();
        let steps = horizon(stream)?;
        let moved = stream.max_steps() as f64 * stream.max_change() as f64;
        let sigma = moved * libm::sqrt(coefficients::squares(steps) / twice_rho);
        let bits = (SIGMA_BITS - libm::log2(sigma)).min(f64::from(MOST_FRACTION_BITS));
        if bits < f64::from(fewest_bits(steps)) {
            let allowed = "small enough for toeplitz's fixed point; use blt, or a narrower range";
            return Err(Error::parameter("sigma", sigma, allowed));
        }
        Ok(Lattice { fraction_bits: bits as u32 })
    }

    fn new(stream: Stream, guarantee: Guarantee, parameters: Lattice) -> Result<Self> {
        let steps = horizon(&stream)?;
        let fraction_bits = parameters.fraction_bits;
        if !(fewest_bits(steps)..=MOST_FRACTION_BITS).contains(&fraction_bits) {
            return Err(Error::parameter("fraction bits", fraction_bits, "from log2 of the horizon, plus 2, to 30"));
        }
        let coefficients = coefficients::quantised(steps, fraction_bits);
        let squares: u128 = coefficients.iter().map(|&c| u128::from(c) * u128::from(c)).sum();
        let squares = Rational::from_big(squares.into(), 1u8.into());
        let moved = &Rational::from(stream.max_steps()) * &Rational::from(stream.max_change());
        let twice_rho = law::rho(&guarantee)?.value() * &Rational::from(2);
        let sigma_squared = &(&moved.square() * &squares) / &twice_rho;
        let law = DiscreteGaussian::with_sigma_squared(&sigma_squared.round_up(SIGMA_DIGITS))?;
        let cell = libm::ldexp(1.0, -2 * fraction_bits as i32);
        let (variance, rounding) = (law.sigma_squared().to_f64() * cell, (1.0 - cell) / 12.0);
        let convolver = Convolver::new(coefficients);
        Ok(Self { stream, guarantee, fraction_bits, convolver, law, variance, rounding })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::Toeplitz
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn parameters(&self) -> Lattice {
        Lattice { fraction_bits: self.fraction_bits }
    }

    fn begin(&self) -> Terms {
        Terms { terms: Vec::new(), noise: 0, pending: Vec::new() }
    }

    fn fits(&self, state: &Terms, steps: u64) -> bool {
        // From terms within these bounds, no later sum reaches 2^122.
        state.terms.len() as u64 == steps
            && state.terms.iter().all(|term| term.unsigned_abs() < 1 << TERM_BITS)
            && state.terms.iter().sum::<i128>() == state.noise
    }

    fn next<R: CryptoRng + ?Sized>(&self, state: &mut Terms, _: u64, rng: &mut R) -> i128 {
        self.step(state, self.law.sample(rng))
    }

    fn variance(&self, step: u64) -> f64 {
        self.variance * coefficients::squares(step) + self.rounding
    }

    fn average_variance(&self, steps: u64) -> f64 {
        self.variance * coefficients::mean_squares(steps) + self.rounding
    }

    fn worst_variance(&self, steps: u64) -> f64 {
        self.variance(steps)
    }

    fn shape(&self, step: u64) -> Shape<'_> {
        Shape::Gaussian { variance: self.variance(step) }
    }

    fn state_bytes(&self) -> usize {
        2 * self.convolver.len() * size_of::<i128>()
    }
}

impl Toeplitz {
    /// One step with a given draw.
    fn step(&self, state: &mut Terms, draw: i64) -> i128 {
        let half = (1 << self.fraction_bits) >> 1;
        let sum = self.convolver.next_sum(&state.terms, &mut state.pending);
        let term = i128::from(draw) - ((sum + half) >> self.fraction_bits);
        state.terms.push(term);
        state.noise += term;
        (state.noise + half) >> self.fraction_bits
    }
}
