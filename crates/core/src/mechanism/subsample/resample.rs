//! The answer that most samples give, each drawn with replacement from all rows.

use std::fmt;

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::round::check;
use super::vote::{TOO_FEW, Vote};
use super::{Counted, answer};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::mechanism::stable::StableRelease;
use crate::noise::bits::always;
use crate::noise::uniform::below;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::release::ErrorBar;

/// k samples of m rows each, drawn with replacement from a table of n rows. All three numbers are public.
///
/// # Example
/// ```
/// use reticent::mechanism::subsample::Samples;
///
/// let samples = Samples::new(10_000, 2_000, 20)?;
/// assert_eq!((samples.rows(), samples.number(), samples.size()), (10_000, 2_000, 20));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    rows: u64,
    number: u64,
    size: u64,
    together: u64,
}

impl Samples {
    /// `number` = k samples of `size` = m rows from tables of `rows` = n rows.
    ///
    /// # Errors
    /// If one of them is 0.
    pub fn new(rows: u64, number: u64, size: u64) -> Result<Self> {
        for (parameter, value) in [("number of rows", rows), ("number of samples", number), ("sample size", size)] {
            if value == 0 {
                return Err(Error::parameter(parameter, value, "at least 1"));
            }
        }
        Ok(Self { rows, number, size, together: 1 })
    }

    /// The same samples, run this many at a time, as for [`Blocks::asked_together`](super::Blocks::asked_together).
    ///
    /// # Errors
    /// If it is 0 or above 2^24.
    pub fn asked_together(self, together: u64) -> Result<Self> {
        if together == 0 || together > 1 << 24 {
            return Err(Error::parameter("number of samples at a time", together, "from 1 to 2^24"));
        }
        Ok(Self { together, ..self })
    }

    /// n: the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// k: the number of samples.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// m: the number of rows in a sample.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// Subsample and aggregate by resampling: runs any query on k independent samples of m rows each, drawn with
/// replacement from all n rows, and releases the answer that most of them give, or refuses.
///
/// Samples may overlap, so there can be many more of them than there are disjoint blocks of that size, and the
/// frequencies of the answers are more stable; in return a row is in several. Either way n/m must be at least about
/// 2·ln(1/δ)/ε for an answer; [`SubsampleMode`](super::SubsampleMode) runs the query far less often and keeps all of δ
/// for its test.
///
/// # Privacy
/// (ε, δ) under [`Adjacency::Replace`](crate::privacy::Adjacency::Replace), n being public; the unit is a row. It
/// covers the answer and the noisy number of samples without one, together.
///
/// A sample contains a given row with probability π = 1 − (1 − 1/n)^m, independently of the other samples, so that B ~
/// Bin(k, π) of them do. The choice of rows does not depend on their content; for a given choice with B ≤ L, replacing
/// the row changes at most L of the k answers (L times the number of samples that are
/// [run together](Samples::asked_together)), and the argument of `SubsampleMode` with j = L gives (ε, δ₁) with δ₁ =
/// P(2L + K ≥ τ), K of scale 2L/ε. Choices with B > L have probability δ₂ = P(B > L). Summing over the choices, P(M(x) ∈ S) ≤ e^ε·P(M(x′) ∈ S) + δ₁ + δ₂.
///
/// *The split of δ.* L is the smallest number with δ₂ ≤ δ/2, at least 1; the rest, δ − δ₂ ≥ δ/2, sets τ. (τ grows with
/// L·ln(1/δ₁): it pays to keep L small, and half of δ for δ₁ costs at most (L/ε)·ln 2.) Both are rational upper bounds.
///
/// The requirements on the query, and the treatment of panics, are those of `SubsampleMode`.
///
/// # Accuracy
/// A released answer is exactly what most of the samples that have an answer say. It is refused with probability
/// [`ResampledMode::refusal_probability`] of its lead, which is at most k. The number of samples without an answer is
/// within ± 6·L/ε in 95 % of all cases.
///
/// # Algorithm
/// \[NRS07; DR14\], with the gap instead of the mode's frequency and all
/// constants explicit. δ₂ is bounded by 1 − Σ_{i≤L} t_i with every t_i = C(k,i)·π^i·(1−π)^(k−i) rounded down and π
/// rounded up (the tail grows with π), in binary fractions wide enough for t₀ ≥ 2^(−3kπ).
///
/// # Errors
/// If n, k or m is 0, if π ≥ 1/2, if a row would be in more than 16,384 samples on average, if there are so few samples that
/// even unanimous answers would be refused more often than not, if 2L/ε lies outside 0.001 to 2^50, if δ is below e^−4000,
/// or (when releasing) if there are not n rows or the permit does not cover (ε, δ).
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::subsample::{ResampledMode, Samples};
///
/// // Is the average above 10? Asked of 2,000 samples of 20 of 10,000 rows.
/// let samples = Samples::new(10_000, 2_000, 20)?;
/// let mechanism = ResampledMode::new(samples, &"1".parse()?, &"1e-6".parse()?)?;
/// let rows: Vec<u32> = (0..10_000).map(|row| 5 + row % 20).collect();
/// let above = |sample: &[u32]| sample.iter().sum::<u32>() > 10 * sample.len() as u32;
/// let outcome = mechanism.release(&rows, above, &mut Permit::unaccounted()?)?;
/// assert_eq!(outcome.released().unwrap().value(), &true);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ResampledMode {
    samples: Samples,
    overlap: u64,
    overlap_failure: Rational,
    vote: Vote,
}

/// The largest average number of samples that contain a given row.
const MOST_OVERLAP: u64 = 1 << 14;
/// Fractional bits of π.
const BITS: usize = 256;

impl ResampledMode {
    /// Over these samples.
    ///
    /// # Errors
    /// As listed for the type.
    pub fn new(samples: Samples, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let half = delta.value() / &Rational::from(2);
        let (overlap, overlap_failure) = overlap(samples.rows, samples.number, samples.size, &half)?;
        let left = Delta::new(delta.value() - &overlap_failure)?;
        let parts = ("number of samples", samples.number);
        let touched = overlap.saturating_mul(samples.together);
        let vote = Vote::new(parts, touched, false, (epsilon, delta), &left)?;
        Ok(Self { samples, overlap, overlap_failure, vote })
    }

    /// The guarantee of an outcome, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.vote.test().guarantee()
    }

    /// The samples.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// The test that the lead of the most frequent answer must pass.
    pub fn test(&self) -> &StableRelease {
        self.vote.test()
    }

    /// The probability of a refusal at this lead, at most, if every sample has an answer.
    pub fn refusal_probability(&self, lead: u64) -> f64 {
        self.vote.refusal_probability(lead)
    }

    /// The error bar of the number of samples without an answer.
    pub fn unanswered_error(&self) -> ErrorBar {
        self.vote.count_error()
    }

    /// L: the most samples that one row is in.
    pub fn overlap(&self) -> u64 {
        self.overlap
    }

    /// δ₂: an upper bound on the probability that one row is in more than L samples.
    pub fn overlap_failure(&self) -> &Rational {
        &self.overlap_failure
    }

    /// Pays for a round of samples and starts it, for queries that run elsewhere.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn begin<'permit>(&'permit self, permit: &'permit mut Permit) -> Result<SampleRound<'permit>> {
        Ok(SampleRound { mechanism: self, draw: permit.spend(self.guarantee())? })
    }

    /// Runs `query` on every sample. (Large rows can be sampled as references: `T` may be `&Row`.)
    ///
    /// # Errors
    /// If the number of rows is not n, which is public under replacement; if the permit does not cover (ε, δ).
    pub fn release<T: Clone, A: Ord>(
        &self,
        rows: &[T],
        query: impl Fn(&[T]) -> A,
        permit: &mut Permit,
    ) -> Result<Counted<A>> {
        if rows.len() as u64 != self.samples.rows {
            return Err(Error::parameter("number of rows", rows.len(), "the number the mechanism was made for"));
        }
        let mut round = self.begin(permit)?;
        let answers: Vec<Option<A>> = (0..self.samples.number)
            .map(|_| {
                let sample: Vec<T> = round.draws().map(|row| rows[row as usize].clone()).collect();
                answer(&query, &sample)
            })
            .collect();
        round.decide(answers.into_iter())
    }
}

/// [`ResampledMode`] step by step, as [`Round`](super::Round) is for blocks.
///
/// # Privacy
/// That of the mechanism, paid for when the round begins, provided that each answer is computed from the rows of its
/// own sample alone.
pub struct SampleRound<'permit> {
    mechanism: &'permit ResampledMode,
    draw: PermittedDraw<'permit>,
}

impl fmt::Debug for SampleRound<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SampleRound").field("mechanism", self.mechanism).finish_non_exhaustive()
    }
}

impl SampleRound<'_> {
    /// The rows of the next sample, by their positions from 0 to n − 1.
    pub fn sample(&mut self) -> Vec<u64> {
        self.draws().collect()
    }

    fn draws(&mut self) -> impl Iterator<Item = u64> {
        let Samples { size, rows, .. } = self.mechanism.samples;
        (0..size).map(move |_| always(below(rows, &mut self.draw)))
    }

    /// Releases the most frequent answer, or refuses.
    ///
    /// # Errors
    /// If the number of answers is not the number of samples.
    pub fn decide<A: Ord>(mut self, answers: impl ExactSizeIterator<Item = Option<A>>) -> Result<Counted<A>> {
        check(answers.len(), self.mechanism.samples.number)?;
        Ok(self.mechanism.vote.decide(answers, None, &mut self.draw))
    }
}

/// The smallest L ≥ 1 for which P(Bin(k, 1 − (1 − 1/n)^m) > L) is proved to be at most `allowed`, and the bound.
fn overlap(n: u64, k: u64, m: u64, allowed: &Rational) -> Result<(u64, Rational)> {
    // (1 − 1/n)^m rounded down and π rounded up, both times 2^BITS.
    let absent = power_down(&(((UBig::ONE << BITS) * (n - 1)) / n), m, BITS);
    let present = (UBig::ONE << BITS) - &absent;
    if &present << 1 >= UBig::ONE << BITS {
        return Err(Error::parameter("sample size", m, "smaller: a row must be in fewer than half of all samples"));
    }
    let mean = ((&present * k) >> BITS) + 1u8;
    if mean > UBig::from(MOST_OVERLAP) {
        return Err(Error::parameter("number of samples", k, "smaller: a row would be in more than 16,384 of them"));
    }
    // −log₂ t₀ = k·log₂(1/(1−π)) ≤ k·2π/ln 2 < 3kπ; the other bits are for `allowed` and for rounding.
    let mean = usize::try_from(&mean).expect("at most 2^14");
    let bits = 3 * mean + allowed.denominator().bit_len() + 256;
    let mut term = power_down(&(&absent << (bits - BITS)), k, bits);
    let mut rest = (UBig::ONE << bits) - &term;
    let allowed = (allowed.numerator() << bits) / allowed.denominator();
    let mut overlap = 0;
    while overlap == 0 || rest > allowed {
        if overlap >= k / 2 {
            return Err(Error::parameter("number of samples", k, TOO_FEW));
        }
        term = term * &present * (k - overlap) / (&absent * (overlap + 1));
        overlap += 1;
        rest -= &term;
    }
    // Rounding up to 20 digits must not exceed the allowed value: half of δ is left for the test whatever δ is.
    let bound = Rational::from_big(rest.clone(), UBig::ONE << bits).round_up(20);
    let allowed = Rational::from_big(allowed, UBig::ONE << bits);
    Ok((overlap, bound.min(allowed)))
}

/// base^exponent, both as multiples of 2^−bits, rounded down.
fn power_down(base: &UBig, exponent: u64, bits: usize) -> UBig {
    let mut power = UBig::ONE << bits;
    for position in (0..u64::BITS - exponent.leading_zeros()).rev() {
        power = (&power * &power) >> bits;
        if exponent >> position & 1 == 1 {
            power = (power * base) >> bits;
        }
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;

    fn resampled(n: u64, k: u64, m: u64, epsilon: &str, delta: &str) -> Result<ResampledMode> {
        ResampledMode::new(Samples::new(n, k, m)?, &epsilon.parse().unwrap(), &delta.parse().unwrap())
    }

    /// P(Bin(k, π) > L) in fractions.
    fn exact_tail(n: u64, k: u64, m: u64, overlap: u64) -> Rational {
        let power = |base: &Rational, exponent: u64| (0..exponent).fold(Rational::ONE, |power, _| &power * base);
        let absent = power(&Rational::new(n as i64 - 1, n).unwrap(), m);
        let present = Rational::ONE - absent.clone();
        let mut choose = Rational::ONE;
        let mut tail = Rational::ZERO;
        for hits in 0..=k {
            if hits > overlap {
                tail = tail + &choose * &(&power(&present, hits) * &power(&absent, k - hits));
            }
            choose = &choose * &(&Rational::from(k - hits) / &Rational::from(hits + 1));
        }
        tail
    }

    #[test]
    fn the_overlap_is_the_smallest_that_is_rare_enough() {
        for (n, k, m) in [(10, 40, 1), (10, 60, 3), (100, 200, 5), (7, 30, 2), (1000, 50, 1)] {
            for allowed in ["0.2", "0.01", "1e-6"] {
                let allowed: Rational = allowed.parse().unwrap();
                let Ok((chosen, bound)) = overlap(n, k, m, &allowed) else { continue };
                let exact = exact_tail(n, k, m, chosen);
                assert!(exact <= bound && bound <= allowed, "{n} {k} {m} {chosen}");
                assert!(bound.to_f64() <= exact.to_f64() * (1.0 + 1e-12), "{n} {k} {m} {chosen}");
                assert!(chosen == 1 || exact_tail(n, k, m, chosen - 1) > allowed, "{n} {k} {m} {chosen}");
            }
        }
    }

    #[test]
    fn parameters_are_checked() {
        for (n, k, m) in [(0, 10, 1), (10, 0, 1), (10, 10, 0), (1, 100, 1), (10, 100, 7), (100, 20, 5)] {
            assert!(resampled(n, k, m, "1", "1e-6").unwrap_err().is_parameter(), "{n} {k} {m}");
        }
        assert!(resampled(100, 10_000_000, 20, "1", "1e-6").unwrap_err().is_parameter());
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let mechanism = resampled(1000, 200, 5, "5", "0.001").unwrap();
        assert!(mechanism.release(&[1u8; 999], |_| 0, &mut permit).unwrap_err().is_parameter());
        assert_eq!(mechanism.guarantee().to_string(), "ε = 5, δ = 0.001");
    }

    /// The largest allowed overlap takes well under a minute unoptimised.
    #[test]
    fn the_size_of_the_notes_can_be_had() {
        // k = ε·(n/m)³ with n/m = 100.
        let mechanism = resampled(100_000, 1_000_000, 1000, "1", "1e-8").unwrap();
        let overlap = mechanism.overlap();
        assert_eq!(mechanism.test().lipschitz(), 2 * overlap);
        assert!((10_500..10_600).contains(&overlap), "{overlap}: the mean, 9952, and nearly six standard deviations");
        assert!(mechanism.overlap_failure() <= &"5e-9".parse().unwrap());
    }

    #[test]
    fn stable_answers_are_released_and_others_refused() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(2));
        let mechanism = resampled(1000, 400, 5, "2", "1e-6").unwrap();
        let rows: Vec<u32> = (0..1000).collect();
        let constant = mechanism.release(&rows, |_| "same", &mut permit).unwrap();
        assert_eq!(constant.released().unwrap().into_value(), "same");
        let parity = mechanism.release(&rows, |sample: &[u32]| sample.iter().sum::<u32>() % 2, &mut permit).unwrap();
        assert_eq!(parity.guarantee(), mechanism.guarantee());
        assert!(parity.released().is_none());
        let panicking = mechanism.release(&rows, |_| -> u8 { panic!("as the test asks") }, &mut permit).unwrap();
        assert!(panicking.released().is_none());
    }

    /// The exact law where it can be summed: n = 10 rows of two kinds, samples of one row, the query returns the row.
    /// The number of samples that say "a" is Bin(k, share of a), and the outcome depends on it alone. In floats,
    /// accurate to 10⁻¹².
    #[test]
    fn the_exact_law_keeps_the_promise() {
        let (epsilon, delta, k) = (8.0_f64, 0.1, 200u64);
        let mechanism = resampled(10, k, 1, "8", "0.1").unwrap();
        let law = |a: f64| {
            let (share, mut outcome) = (a / 10.0, [0.0; 3]); // "a", "b", refused
            let mut log_choose = 0.0_f64;
            for count in 0..=k {
                let weight = (log_choose + count as f64 * share.ln() + (k - count) as f64 * (1.0 - share).ln()).exp();
                log_choose += ((k - count) as f64 / (count + 1) as f64).ln();
                let gap = count.abs_diff(k - count);
                let refused = mechanism.test().refusal_probability(gap);
                outcome[usize::from(2 * count < k)] += weight * (1.0 - refused);
                outcome[2] += weight * refused;
            }
            outcome
        };
        for a in 1..9 {
            let (one, other) = (law(f64::from(a)), law(f64::from(a + 1)));
            for (here, there) in [(one, other), (other, one)] {
                let excess: f64 = here.iter().zip(there).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum();
                assert!(excess <= delta, "{a}: {excess}");
            }
        }
    }
}
