//! Keys that are not known in advance.

use crate::continual::keyed::{Crowd, each_key};
use crate::continual::kind::CounterKind;
use crate::continual::shape::Shape;
use crate::continual::stream::{Horizon, Stream};
use crate::error::{Error, Result};
use crate::numeric::laplace_sum::LaplaceSum;
use crate::privacy::Guarantee;

/// When a key found in the data is released: from the first step at which its noisy sum reaches a threshold, and then
/// forever.
///
/// A key that only one person has must not appear: its mere presence would reveal the person. Nor may the time
/// at which a key appears reveal when its first event came.
///
/// # Privacy
/// (ε, δ)-differential privacy for all releases of all keys at all steps. Imagine a counter for every possible key,
/// each running since step 1: y_t = S_t + N_t, with noise that is ε-private for all keys together ([`each_key`]). A key
/// is *examined* from the step of its first event on and *admitted* at the first examined step with y_t ≥ τ_t; its
/// output is F_a(y): nothing before admission, y_t from then on, where a is the step of its first event. Let c be the
/// number of events of a unit, k how many keys they can touch (c under add/remove, 2c under replace), and m =
/// c·max(high, 0). The thresholds are such that
///
/// > P(m + N_t ≥ τ_t) ≤ δ_t with Σ δ_t ≤ δ/k: δ_t = δ/(k·T) with a horizon T, and δ_t = 6δ/(π²t²k) without one.
///
/// *Proof.* Let D and D′ be neighbours, y and y′ their noisy sums, a and a′ the first steps of a key. Where a = a′ the same
/// function F_a is applied to both. They differ for at most k keys, those that the unit touches. If a < a′, all events of
/// the key in \[a, a′) under D belong to the unit (others would be in D′, too), so S_t ≤ m there, and F_a(y) = F_a′(y) unless
/// m + N_t ≥ τ_t at one of these steps. If a > a′, the key has no event before a under D, so S_t = 0 ≤ m in \[a′, a), and
/// again F_a(y) = F_a′(y) unless m + N_t ≥ τ_t at one of these steps. So F_a(y) = F_a′(y) for all keys at once but with
/// probability k·Σδ_t ≤ δ, and for any set O of outputs
///
/// > P(F_a(y) ∈ O) ≤ δ + P(F_a′(y) ∈ O) ≤ δ + e^ε·P(F_a′(y′) ∈ O),
///
/// the second step because F_a′ is one fixed function of the noisy sums, which are ε-private. Inputs chosen after
/// seeing earlier releases change nothing: a key's noise is independent of everything released before the key was
/// examined, and "m + N_t ≥ τ_t at some step" is an event of that noise alone. ∎
///
/// The proof requires that the noise of a late key has the law it would have had if the counter had run since step 1:
/// otherwise the variance of later releases would reveal the step of the first event. [`Strategy::skip`] ensures that.
///
/// The number of keys waiting for admission is bounded, and part of ε pays for that: see [`Crowd`].
///
/// *Not* covered: memory use, the time that closing a step takes, and the saved state, all of which depend on how
/// many keys came, admitted or not.
///
/// # Accuracy
/// A key is admitted once its sum exceeds τ_t − N_t. Among keys with small sums those with large noise are admitted, so
/// values tend to be too high when they first appear. The error bars cover the noise alone.
///
/// # Algorithm
/// N_t is a sum of j independent discrete Laplace draws of scale b. For 0 < x < 1 and s = x/b, E e^(sK) = 1/(1 − u) with
/// u = (sinh(x/2b)/sinh(1/2b))², so by Chernoff's bound P(N_t ≥ λ) ≤ δ_t for
///
/// > λ = (ln(1/δ_t) − j·ln(1 − u))·b/x.
///
/// *Every* x gives a valid λ, so the search for the smallest needs no proof; it is the one used for error bars. λ is
/// enlarged by one part in 10^8 for floating-point rounding (x ≤ 1 − 10^−6 keeps the error of ln(1 − u) below 10^−9 of
/// it) and rounded up: τ_t = m + ⌈λ⌉. For a single draw P(K ≥ λ) = p^λ/(1+p), p = e^(−1/b), is used instead. For
/// thresholds on a single release see [`Threshold`](crate::mechanism::Threshold).
///
/// [`Strategy::skip`]: crate::continual::Strategy::skip
#[derive(Debug, Clone)]
pub struct Admission {
    /// m: how much one unit can contribute to a sum.
    reach: i128,
    /// ln(k/δ), rounded up.
    log_keys_over_delta: f64,
    horizon: Horizon,
    /// When keys that were not admitted are forgotten.
    pub(super) crowd: Crowd,
}

/// Covers all floating-point rounding.
const MARGIN: f64 = 1.0 + 1e-8;

impl Admission {
    /// The caveat for the error bars of admitted keys.
    pub const SELECTED: &str = "a key appears once its noisy sum reaches a threshold, so sums just above it tend to be too high; the \
                                level holds before this selection";

    /// The counters with which keys can be admitted: those whose noise is a sum of draws of one discrete Laplace law.
    pub const KINDS: &[CounterKind] =
        &[CounterKind::OutputNoise, CounterKind::InputNoise, CounterKind::TwoLevel, CounterKind::Binary];

    /// For a stream and a guarantee of ε and δ; also returns the pure guarantee left for the noise, which is a little
    /// less than ε: see [`Crowd`].
    ///
    /// # Errors
    /// If the guarantee is of another kind, δ is below 10^−300, or the unit is a whole step.
    pub fn new(stream: &Stream, guarantee: &Guarantee) -> Result<(Self, Guarantee)> {
        let Guarantee::Approx(epsilon, delta) = guarantee else {
            let problem =
                "keys that are not known in advance need epsilon and delta: a key may appear with probability delta";
            return Err(Error::invalid("delta", problem));
        };
        let down = delta.value().to_f64_down();
        if down < 1e-300 {
            return Err(Error::parameter("delta", delta, "at least 1e-300"));
        }
        let keys = each_key(stream)?.max_steps();
        let highest = i128::from(stream.range().1.max(0));
        let reach = i128::from(stream.max_steps()).saturating_mul(highest);
        let log_keys_over_delta = libm::log(keys as f64) - libm::log(down);
        let (crowd, rest) = Crowd::new(keys, epsilon)?;
        Ok((Self { reach, log_keys_over_delta, horizon: stream.horizon(), crowd }, Guarantee::Pure(rest)))
    }

    /// When keys that were not admitted are forgotten.
    pub fn crowd(&self) -> &Crowd {
        &self.crowd
    }

    /// τ_t: the smallest noisy sum with which a key is admitted at a step, for noise of this shape.
    ///
    /// # Errors
    /// If the noise is not a sum of discrete Laplace draws.
    pub fn threshold(&self, step: u64, shape: Shape<'_>) -> Result<i128> {
        let Shape::Sum { law, terms } = shape else {
            return Err(Error::invalid(
                "noise",
                "keys are admitted only with noise that is a sum of discrete Laplace draws",
            ));
        };
        let log_steps = match self.horizon {
            Horizon::Steps(steps) => libm::log(steps as f64),
            Horizon::Unbounded => {
                let pi = std::f64::consts::PI;
                2.0 * libm::log(step as f64) + libm::log(pi * pi / 6.0)
            }
        };
        let reaches = self.reaches(law.scale().to_f64(), terms, self.log_keys_over_delta + log_steps);
        Ok(self.reach.saturating_add(libm::ceil(reaches * MARGIN) as i128))
    }

    /// λ with P(N ≥ λ) ≤ e^(−`log_odds`) for a sum of `terms` draws.
    fn reaches(&self, scale: f64, terms: u64, log_odds: f64) -> f64 {
        if terms == 1 {
            let p = libm::exp(-1.0 / scale);
            return ((log_odds - libm::log1p(p)) * scale).max(1.0);
        }
        LaplaceSum::new(scale, terms).chernoff_reach(log_odds)
    }
}
