//! `blt`: a few decaying buffers stand in for all past noise.

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
mod factor;
mod optimiser;
#[cfg(test)]
mod tests;

pub use coefficients::Coefficients;

/// Fewer leave too much error, more gain too little.
const FEWEST_BUFFERS: usize = 2;
const MOST_BUFFERS: usize = 6;
/// A further buffer must lower the mean square error by more than this share.
const LEAST_GAIN: f64 = 1e-6;
/// Noise is drawn on the lattice 2^−f with f at most this.
const MOST_FRACTION_BITS: u32 = 40;
/// σ is at most 2^49 lattice units, half of what the sampler allows.
const SIGMA_BITS: f64 = 49.0;
/// g: the number of additional bits after the point in buffers, compared to the noise.
const GUARD_BITS: u32 = 20;

/// A buffered linear Toeplitz counter: Gaussian noise whose past is cancelled step by step, as far as a few buffers
/// remember it.
///
/// With C the lower triangular Toeplitz matrix of c_0 = 1, c_j = Σ ω_i θ_i^(j−1), and A that of the prefix sums, the noise
/// is A·C⁻¹·z, z independent discrete Gaussian.
///
/// # Privacy
/// All numbers here are whole: z_t, x_t and N_t in units of 2^−f, buffers B_i in units of 2^−(f+g), g = 20, and κ_i = 1 − θ_i
/// and ω_i exact multiples of 2^−63. A step draws z and sets
///
/// > s = ⌊(Σ_i ⌊ω_i B_i⌋)/2^g + ½⌋, x = z − s, B_i ← B_i − ⌊κ_i B_i⌋ + 2^g·x, N ← N + x,
///
/// and releases S + ⌊N/2^f + ½⌋. That is a function of y_t = 2^f·S_t + N_t, so it is enough that y_1, …, y_n together are
/// ρ-zCDP. Fix y and two neighbouring streams. In each of them y determines x_t = y_t − y_(t−1) − 2^f·(value of step t), the
/// x before t determine s_t, and z_t = x_t + s_t. So, given what was released before, y_t is a discrete Gaussian around a
/// whole number in both streams (whose values may themselves be chosen after seeing y_1, …, y_(t−1)), and its two centres
/// differ by z'_t − z_t, where
///
/// - x' − x is −2^f·r_k at the steps t_k that the unit touches (|r_k| ≤ r, at most c of them), and 0 elsewhere.
/// - D_i = B'_i − B_i begins as 0. As ⌊a + δ⌋ − ⌊a⌋ differs from δ by less than 1, each step makes
///   D_i ← θ_i·D_i + 2^g·(x' − x) + e with |e| < 1. Hence D_i is the share of the r_k, −2^(g+f)·Σ_k r_k θ_i^(t−1−t_k), up to
///   at most Σ_(m<n) θ_i^m ≤ min(n, 1/κ_i).
/// - s' − s is Σ_i ω_i D_i/2^g up to 1 + d/2^g, by the same argument for its d + 1 floors.
///
/// So |z'_t − z_t| ≤ R·Σ_(k: t_k ≤ t) c_(t−t_k) + η with R = 2^f·r and
///
/// > η = 1 + 2^−g·(d + Σ_i ω_i·min(n, 1/κ_i)).
///
/// Let S = Σ_(j<n) c_j² and K = Σ_(j<n) c_j. By the triangle inequality for both norms the squares of these differences add
/// up to at most
///
/// > Δ² = c²R²S + 2cRηK + c·nη².
///
/// (For one counter nη² would do: there is one pair of roundings a step, however many steps were touched. With keys the c
/// events may lie in c counters, each of which rounds.)
///
/// A discrete Gaussian moved by a whole Δ_t costs Δ_t²/(2σ²) \[CKS20\]: the moment of order α of its likelihood
/// ratio, given the past, is at most e^((α−1)·α·Δ_t²/(2σ²)). Δ_t depends on the past alone and Σ Δ_t² ≤ Δ² on every path, so by
/// induction from the last step back the moment of all steps is at most e^((α−1)·α·ρ) for σ² = Δ²/(2ρ) lattice units.
/// S is computed in 256-bit integers, rounded up; η and K ≤ 1 + Σ ω_i·min(n, 1/κ_i) are exact fractions; σ² is rounded up.
///
/// *Nothing overflows.* Draws are below 2^63 in size. C⁻¹ has entries of absolute sum at most 2: as all ω_i are positive and
/// Σ ω_i/θ_i ≤ 1, the zeros θ̂_i ≥ 0 of C interlace its poles, the entries after the first are negative and their sum is
/// 1/C(1) − 1 > −1. Rounding acts like a change of z by less than η < 2^22. So |x| < 2^65, and κ ≥ 2^−42 leaves
/// |B_i| ≤ 2^20·2^65/κ_i < 2^127 in the worst case, |N| ≤ 2^105. Products of B with κ and ω are formed from halves of B.
///
/// # Accuracy
/// The variance at step t is σ²·Σ_(j<t) l_j², l the first column of A·C⁻¹ in closed form, plus 1/12 for rounding to a whole
/// number. That is exact to eight digits for σ ≥ 1, and too large by at most 0.13 below: rounding a normal variable of variance
/// v to whole numbers gives v + 1/12 + Σ_(k≥1) (−1)^k·(4v + 1/(πk)²)·e^(−2π²k²v).
/// Rounding inside moves the noise by less than 2^−18 in all, or 2^−28·σ if r is large.
///
/// With 5 buffers the average root mean square error is within 3.2 % of the lower bound of every factorisation at 2^20
/// steps, with 6 within 3 %, and within 7 % at 2^40; see [`bounds::lower_bound`](super::bounds::lower_bound).
///
/// # Algorithm
/// \[DMPST24\]. Poles and zeros of C are found by descent on the exact error for the given horizon, for 2 to 6 buffers; the
/// number of buffers is the largest that still gains.
///
/// # Errors
/// Needs a horizon, and ρ or an ε with a δ.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{Counter, CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let day = Stream::bits().until(86_400)?;
/// let mut visits = CounterKind::Blt.start(day, Guarantee::Zcdp("0.5".parse()?), Permit::unaccounted()?)?;
/// visits.step(1)?;
/// assert!(visits.variance(86_400) < 30.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Blt {
    stream: Stream,
    guarantee: Guarantee,
    parameters: Buffered,
    /// (κ_i, ω_i)·2^63.
    buffers: Vec<(u64, u64)>,
    law: DiscreteGaussian,
    answers: factor::Answers,
    /// The variance of one draw, as a multiple of 1 rather than of the lattice.
    variance: f64,
    /// The variance of rounding an answer to a whole number.
    rounding: f64,
}

/// The parameters that a `blt` counter computes with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffered {
    /// f: noise is drawn in multiples of 2^−f.
    fraction_bits: u32,
    coefficients: Coefficients,
}

/// The buffers in units of 2^−(f+20) and the current noise in units of 2^−f.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    buffers: Vec<i128>,
    noise: i128,
}

impl Blt {
    /// With a given number of buffers, from 2 to 6, instead of the best.
    ///
    /// # Errors
    /// If the number lies outside 2 to 6, or the stream or the guarantee is not supported.
    pub fn with_buffers(stream: Stream, guarantee: Guarantee, buffers: usize) -> Result<Self> {
        if !(FEWEST_BUFFERS..=MOST_BUFFERS).contains(&buffers) {
            return Err(Error::parameter("buffers", buffers, "from 2 to 6"));
        }
        let optimum = optimiser::optimise(buffers, horizon(&stream)?);
        let parameters = Buffered::new(&stream, &guarantee, Coefficients::quantise(&optimum)?)?;
        Self::new(stream, guarantee, parameters)
    }

    /// σ² in lattice units: Δ²/(2ρ), rounded up.
    fn sigma_squared(stream: &Stream, guarantee: &Guarantee, parameters: &Buffered) -> Result<Rational> {
        let n = horizon(stream)?;
        let coefficients = &parameters.coefficients;
        let reach = coefficients.reach(n);
        let guard = Rational::from(1u64 << GUARD_BITS);
        let eta = Rational::ONE + (Rational::from(coefficients.buffers() as u64) + reach.clone()) / guard;
        let unit = [stream.max_steps(), stream.max_change(), 1 << parameters.fraction_bits].map(Rational::from);
        let [touched, size, lattice] = &unit;
        let moved = &(touched * size) * lattice;
        let cross = &(&(&moved * &eta) * &(&Rational::ONE + &reach)) * &Rational::from(2);
        let squares = &moved.square() * &coefficients.squares(n);
        let rounding = &(&eta.square() * &Rational::from(n)) * touched;
        let delta_squared = &(&squares + &cross) + &rounding;
        let twice_rho = law::rho(guarantee)?.value() * &Rational::from(2);
        Ok((&delta_squared / &twice_rho).round_up(SIGMA_DIGITS))
    }
}

/// Decimal digits of σ²; more would only make the sampler's tables slower to set up.
const SIGMA_DIGITS: u32 = 30;

/// The number of steps.
fn horizon(stream: &Stream) -> Result<u64> {
    let allowed = "a number of steps for this counter; without one use input-noise, hybrid or bridged";
    stream.steps().ok_or_else(|| Error::parameter("horizon", "unbounded", allowed))
}

impl Buffered {
    /// On the finest lattice that keeps σ within the sampler's range.
    fn new(stream: &Stream, guarantee: &Guarantee, coefficients: Coefficients) -> Result<Self> {
        // Ignores η, for which the factor of 2 below the sampler's limit leaves room.
        let moved = (&Rational::from(stream.max_steps()) * &Rational::from(stream.max_change())).square();
        let squares = (&moved * &coefficients.squares(horizon(stream)?)).to_f64();
        let bits = libm::log2(squares / (2.0 * law::rho(guarantee)?.value().to_f64())) / 2.0;
        let fraction_bits = (SIGMA_BITS - bits).clamp(0.0, f64::from(MOST_FRACTION_BITS)) as u32;
        Ok(Self { fraction_bits, coefficients })
    }
}

/// ⌊value·factor/2^63⌋ for factor ≤ 2^63; exact, as the upper half's product is a whole number.
#[inline]
fn scaled(value: i128, factor: u64) -> i128 {
    let (high, low) = ((value >> 64) as i64, value as u64);
    let low = (u128::from(low) * u128::from(factor)) >> coefficients::BITS;
    ((i128::from(high) * i128::from(factor)) << 1) + low as i128
}

impl Strategy for Blt {
    type Parameters = Buffered;
    type State = Buffers;

    fn choose(stream: &Stream, guarantee: &Guarantee) -> Result<Buffered> {
        law::rho(guarantee)?;
        let steps = horizon(stream)?;
        let mut best = optimiser::optimise(FEWEST_BUFFERS, steps);
        for buffers in FEWEST_BUFFERS + 1..=MOST_BUFFERS {
            let next = optimiser::optimise(buffers, steps);
            if next.error >= best.error * (1.0 - LEAST_GAIN) {
                break;
            }
            best = next;
        }
        Buffered::new(stream, guarantee, Coefficients::quantise(&best)?)
    }

    fn new(stream: Stream, guarantee: Guarantee, parameters: Buffered) -> Result<Self> {
        let bits = parameters.fraction_bits;
        if bits > MOST_FRACTION_BITS {
            return Err(Error::parameter("fraction bits", bits, "at most 40"));
        }
        let law = DiscreteGaussian::with_sigma_squared(&Self::sigma_squared(&stream, &guarantee, &parameters)?)?;
        let answers = coefficients::answers(&parameters.coefficients);
        let buffers = parameters.coefficients.pairs().collect();
        let cell = libm::ldexp(1.0, -2 * bits as i32);
        let (variance, rounding) = (law.sigma_squared().to_f64() * cell, (1.0 - cell) / 12.0);
        Ok(Self { stream, guarantee, parameters, buffers, law, answers, variance, rounding })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::Blt
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn parameters(&self) -> Buffered {
        self.parameters.clone()
    }

    fn begin(&self) -> Buffers {
        Buffers { buffers: vec![0; self.buffers.len()], noise: 0 }
    }

    fn fits(&self, state: &Buffers, steps: u64) -> bool {
        // σ is below 2^50 lattice units, a buffer's deviation a few times that: noise reaches a thousand deviations less
        // than once in 10^100000 streams, and from within these bounds nothing overflows later.
        let within = |value: &i128, bits: u32| value.unsigned_abs() < 1 << bits;
        state.buffers.len() == self.buffers.len()
            && state.buffers.iter().all(|buffer| within(buffer, 82))
            && within(&state.noise, 110)
            && (steps > 0 || *state == self.begin())
    }

    #[inline]
    fn next<R: CryptoRng + ?Sized>(&self, state: &mut Buffers, _: u64, rng: &mut R) -> i128 {
        self.step(state, self.law.sample(rng))
    }

    fn variance(&self, step: u64) -> f64 {
        self.variance * self.answers.squares(step) + self.rounding
    }

    fn average_variance(&self, steps: u64) -> f64 {
        self.variance * self.answers.mean_squares(steps as f64) + self.rounding
    }

    fn worst_variance(&self, steps: u64) -> f64 {
        self.variance(steps)
    }

    fn shape(&self, step: u64) -> Shape<'_> {
        Shape::Gaussian { variance: self.variance(step) }
    }

    fn state_bytes(&self) -> usize {
        (self.buffers.len() + 1) * size_of::<i128>()
    }
}

impl Blt {
    /// One step with a given draw.
    #[inline]
    fn step(&self, state: &mut Buffers, draw: i64) -> i128 {
        let weighted = state.buffers.iter().zip(&self.buffers).map(|(&buffer, &(_, weight))| scaled(buffer, weight));
        let taken_back = (weighted.sum::<i128>() + (1 << (GUARD_BITS - 1))) >> GUARD_BITS;
        let x = i128::from(draw) - taken_back;
        let fine = x << GUARD_BITS;
        for (buffer, &(decay, _)) in state.buffers.iter_mut().zip(&self.buffers) {
            *buffer += fine - scaled(*buffer, decay);
        }
        state.noise += x;
        let bits = self.parameters.fraction_bits;
        (state.noise + ((1 << bits) >> 1)) >> bits
    }
}
