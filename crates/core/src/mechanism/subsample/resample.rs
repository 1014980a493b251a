//! The answer that most samples give, each drawn with replacement from all rows.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::answer;
use super::mode::{TOO_FEW, propose};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::mechanism::stable::StableRelease;
use crate::noise::bits::always;
use crate::noise::uniform::below;
use crate::permit::Permit;
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::release::Outcome;

/// Subsample and aggregate by resampling: runs any query on k independent samples of m rows each, drawn with
/// replacement from all n rows, and releases the answer that most of them give, or refuses.
///
/// Samples may overlap, so there can be many more of them than there are disjoint blocks of that size, and the
/// frequencies of the answers are more stable; in return a row is in several. Either way n/m must be at least about
/// 2·ln(1/δ)/ε for an answer; [`SubsampleMode`](super::SubsampleMode) runs the query far less often and keeps all of δ
/// for its test.
///
/// # Privacy
/// (ε, δ) under [`Adjacency::Replace`](crate::privacy::Adjacency::Replace), n being public; the unit is a row.
///
/// A sample contains a given row with probability π = 1 − (1 − 1/n)^m, independently of the other samples, so that B ~
/// Bin(k, π) of them do. The choice of rows does not depend on their content; for a given choice with B ≤ L, replacing
/// the row replaces at most L of the k answers, and the test of [`StableRelease`] with C = L on Δ = ⌈gap/2⌉ gives (ε,
/// δ₁) with δ₁ = P(L + K ≥ τ), K of scale L/ε (the argument is that of `SubsampleMode` with j = L). Choices with B > L
/// have probability δ₂ = P(B > L). Summing over the choices, P(M(x) ∈ S) ≤ e^ε·P(M(x′) ∈ S) + δ₁ + δ₂.
///
/// *The split of δ.* L is the smallest number with δ₂ ≤ δ/2, at least 1; the rest, δ − δ₂ ≥ δ/2, sets τ. (τ grows with
/// L·ln(1/δ₁): it pays to keep L small, and half of δ for δ₁ costs at most (L/ε)·ln 2.) Both are rational upper bounds.
///
/// The requirements on the query, and the treatment of panics, are those of `SubsampleMode`.
///
/// # Accuracy
/// A released answer is exactly what most samples say. It is refused with probability
/// [`StableRelease::refusal_probability`] of Δ ≤ ⌈k/2⌉.
///
/// # Algorithm
/// \[NRS07; DR14\], with the gap instead of the mode's frequency and all
/// constants explicit. δ₂ is bounded by 1 − Σ_{i≤L} t_i with every t_i = C(k,i)·π^i·(1−π)^(k−i) rounded down and π
/// rounded up (the tail grows with π), in binary fractions wide enough for t₀ ≥ 2^(−3kπ).
///
/// # Errors
/// If n, k or m is 0, if π ≥ 1/2, if a row would be in more than 16,384 samples on average, if there are so few samples that
/// even unanimous answers would be refused more often than not, if L/ε lies outside 0.001 to 2^50, if δ is below e^−4000,
/// or (when releasing) if there are not n rows or the permit does not cover (ε, δ).
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::subsample::ResampledMode;
///
/// // Is the average above 10? Asked of 2,000 samples of 20 of 10,000 rows.
/// let mechanism = ResampledMode::new(10_000, 2_000, 20, &"1".parse()?, &"1e-6".parse()?)?;
/// let rows: Vec<u32> = (0..10_000).map(|row| 5 + row % 20).collect();
/// let above = |sample: &[u32]| sample.iter().sum::<u32>() > 10 * sample.len() as u32;
/// let outcome = mechanism.release(&rows, above, &mut Permit::unaccounted()?)?;
/// assert_eq!(outcome.released().unwrap().value(), &true);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ResampledMode {
    rows: u64,
    samples: u64,
    size: u64,
    overlap_failure: Rational,
    test: StableRelease,
}

/// The largest average number of samples that contain a given row.
const MOST_OVERLAP: u64 = 1 << 14;
/// Fractional bits of π.
const BITS: usize = 256;

impl ResampledMode {
    /// `samples` = k samples of `size` = m rows from tables of `rows` = n rows.
    ///
    /// # Errors
    /// As listed for the type.
    pub fn new(rows: u64, samples: u64, size: u64, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        for (parameter, value) in [("number of rows", rows), ("number of samples", samples), ("sample size", size)] {
            if value == 0 {
                return Err(Error::parameter(parameter, value, "at least 1"));
            }
        }
        let half = delta.value() / &Rational::from(2);
        let (overlap, overlap_failure) = overlap(rows, samples, size, &half)?;
        let left = Delta::new(delta.value() - &overlap_failure)?;
        let guarantee = Guarantee::Approx(epsilon.clone(), delta.clone());
        let test = StableRelease::new(overlap, epsilon, &left)?.promising(guarantee);
        if test.threshold() > samples.div_ceil(2) {
            return Err(Error::parameter("number of samples", samples, TOO_FEW));
        }
        Ok(Self { rows, samples, size, overlap_failure, test })
    }

    /// The guarantee of an outcome, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.test.guarantee()
    }

    /// The test that the most frequent answer must pass; its Lipschitz constant is L.
    pub fn test(&self) -> &StableRelease {
        &self.test
    }

    /// δ₂: an upper bound on the probability that one row is in more than L samples.
    pub fn overlap_failure(&self) -> &Rational {
        &self.overlap_failure
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
    ) -> Result<Outcome<A>> {
        if rows.len() as u64 != self.rows {
            return Err(Error::parameter("number of rows", rows.len(), "the number the mechanism was made for"));
        }
        let mut draw = permit.spend(self.guarantee())?;
        let mut sample = Vec::with_capacity(self.size as usize);
        let answers: Vec<Option<A>> = (0..self.samples)
            .map(|_| {
                sample.clear();
                sample.extend((0..self.size).map(|_| rows[always(below(self.rows, &mut draw)) as usize].clone()));
                answer(&query, &sample)
            })
            .collect();
        Ok(self.test.decide(propose(answers.into_iter()), &mut draw))
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
        ResampledMode::new(n, k, m, &epsilon.parse().unwrap(), &delta.parse().unwrap())
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
        let overlap = mechanism.test().lipschitz();
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
                let refused = mechanism.test().refusal_probability(gap.div_ceil(2));
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
