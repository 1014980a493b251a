//! An exact answer if it is stable, a refusal if not.

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Outcome, Refusal, Release};

/// An answer, and how far the table is from giving another one. Exact, and not private: for a [`StableRelease`] only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal<T> {
    /// The answer; `None` if the table has none, which is an answer like any other until it is shown as a refusal.
    pub answer: Option<T>,
    /// Δ: at least 0, and large where the answer would survive many changes.
    pub distance: u64,
}

/// Propose–test–release: releases an answer unchanged if it is far from changing, and refuses otherwise.
///
/// The caller supplies an answer q and a distance Δ ≥ 0 such that for all neighbours x, x′ in the chosen adjacency
/// 1. |Δ(x) − Δ(x′)| ≤ C, and
/// 2. if q(x) ≠ q(x′), then Δ(x) ≤ C and Δ(x′) ≤ C.
///
/// Having no answer (`None`) counts as an answer in (2). "How many units must change before the answer does" has both
/// properties with C = 1; a distance that is easier to compute, or several changes at once, may need a larger C.
///
/// # Privacy
/// (ε, δ). Let K be discrete Laplace noise of scale C/ε, p = e^−ε/C, and let q(x) be given if Δ(x) + K ≥ τ.
///
/// *The decision alone is ε-private*: it is computed from Δ(x) + K, and Δ moves by at most C.
///
/// *If q(x) = q(x′)*, the outcome is computed from the decision and an answer that both have: ε.
///
/// *If q(x) ≠ q(x′)*, both distances are at most C, so x gives an answer at all with probability at most
/// δ′ = P(C + K ≥ τ) = p^(τ−C)/(1+p), where τ > C. For an event S, with ⊥ for the refusal,
///
/// P(M(x) ∈ S) ≤ P(M(x) = ⊥, ⊥ ∈ S) + δ′ ≤ e^ε·P(M(x′) = ⊥, ⊥ ∈ S) + δ′ ≤ e^ε·P(M(x′) ∈ S) + δ′.
///
/// τ is the smallest whole number above C with δ′ ≤ δ; δ′ is [`DiscreteLaplace::upper_tail`], a fraction that is not below
/// the truth. One less would break the guarantee wherever neighbours with different answers have Δ = C.
///
/// Showing the answer `None` as a refusal is post-processing. A refusal is drawn with the same noise and costs as much.
///
/// # Accuracy
/// A released value is exact: the half-width of its error bar is 0. What is uncertain is whether there is one:
/// [`StableRelease::refusal_probability`]. At Δ = τ the chances are about even; from τ + (C/ε)·ln(1/β) on, a refusal has
/// probability at most β.
///
/// # Algorithm
/// \[DL09\], with the stability test of \[DR14\] and the discrete law. The noise-free version, "refuse if one
/// change would alter the answer", is not private: one dataset may be certain to be answered where its neighbour is
/// certain to be refused.
///
/// # Errors
/// If C is 0, if C/ε lies outside 0.001 to 2^50, if δ is below e^−4096, or (when releasing) if the permit does not cover
/// (ε, δ).
///
/// # Example
/// ```
/// use reticent::mechanism::stable::{Proposal, StableRelease};
/// use reticent::{Outcome, Permit};
///
/// // Which of two candidates won, and how many ballots would have to be replaced to change that?
/// let test = StableRelease::new(1, &"1".parse()?, &"1e-8".parse()?)?;
/// assert_eq!(test.threshold(), 20);
/// let mut permit = Permit::unaccounted()?;
///
/// let clear = Proposal { answer: Some("Ada"), distance: 120 };
/// assert!(test.refusal_probability(clear.distance) < 1e-40);
/// let outcome = test.release(clear, &mut permit)?;
/// assert_eq!(outcome.released().unwrap().value(), &"Ada");
///
/// let close = Proposal { answer: Some("Ada"), distance: 1 };
/// assert!(test.refusal_probability(close.distance) > 1.0 - 1e-8);
/// assert!(matches!(test.release(close, &mut permit)?, Outcome::Refused(_)));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StableRelease {
    guarantee: Guarantee,
    noise: DiscreteLaplace,
    lipschitz: u64,
    threshold: u64,
    error: ErrorBar,
}

/// Tails are computed down to e^−4096; the arithmetic behind them is proved far beyond.
const LONGEST_TAIL: i32 = 4096;

impl StableRelease {
    /// For a distance that moves by at most `lipschitz` = C between neighbours, and is at most C at both if their
    /// answers differ.
    ///
    /// # Errors
    /// If C is 0, C/ε lies outside 0.001 to 2^50 or δ is below e^−4096.
    pub fn new(lipschitz: u64, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        if lipschitz == 0 {
            return Err(Error::parameter("Lipschitz constant", 0, "at least 1: what no unit can change needs no test"));
        }
        let noise = DiscreteLaplace::new(&(&Rational::from(lipschitz) / epsilon.value()))?;
        // C ≤ 2^50·ε; a threshold that does not fit 64 bits is a distance that no table could have.
        let threshold = lipschitz.checked_add(smallest_tail_below(&noise, delta)?).ok_or_else(|| {
            Error::parameter("Lipschitz constant", lipschitz, "smaller: the threshold does not fit 64 bits")
        })?;
        Ok(Self {
            guarantee: Guarantee::Approx(epsilon.clone(), delta.clone()),
            noise,
            lipschitz,
            threshold,
            error: ErrorBar::new(0.0, LEVEL)?,
        })
    }

    /// The same test as part of a mechanism with a weaker guarantee: some of its δ is spent elsewhere.
    pub(crate) fn promising(self, guarantee: Guarantee) -> Self {
        Self { guarantee, ..self }
    }

    /// The guarantee of an outcome, and its cost, whether it is an answer or a refusal.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added to the distance.
    pub fn noise(&self) -> &DiscreteLaplace {
        &self.noise
    }

    /// C: by how much the distance may move between neighbours.
    pub fn lipschitz(&self) -> u64 {
        self.lipschitz
    }

    /// τ: an answer is given if distance + noise ≥ τ.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Releases the answer if it passes the test.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<T>(&self, proposal: Proposal<T>, permit: &mut Permit) -> Result<Outcome<T>> {
        let mut draw = permit.spend(&self.guarantee)?;
        Ok(self.decide(proposal, &mut draw))
    }

    /// [`StableRelease::release`] with a draw that has already been paid for. The noise is drawn whatever the proposal
    /// is.
    pub(crate) fn decide<T>(&self, proposal: Proposal<T>, draw: &mut PermittedDraw<'_>) -> Outcome<T> {
        let answer = self.answer(proposal, draw);
        let (guarantee, accounting) = (self.guarantee.clone(), draw.accounting().clone());
        match answer {
            Some(answer) => Outcome::Released(Release::new(answer, self.error, guarantee, accounting)),
            None => Outcome::Refused(Refusal::new(guarantee, accounting)),
        }
    }

    /// The answer if it passes the test, `None` if it is refused.
    pub(crate) fn answer<T>(&self, proposal: Proposal<T>, draw: &mut PermittedDraw<'_>) -> Option<T> {
        let noisy = i128::from(proposal.distance) + i128::from(self.noise.sample(draw));
        proposal.answer.filter(|_| noisy >= i128::from(self.threshold))
    }

    /// The probability that an answer at this distance is refused, to the accuracy of a float. (Where there is no answer it
    /// is 1.)
    ///
    /// ```
    /// # use reticent::mechanism::stable::StableRelease;
    /// let test = StableRelease::new(1, &"1".parse()?, &"1e-8".parse()?)?;
    /// let p = (-1f64).exp();
    /// assert!((test.refusal_probability(25) / (p.powi(6) / (1.0 + p)) - 1.0).abs() < 1e-12);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn refusal_probability(&self, distance: u64) -> f64 {
        self.refusal_bounds(distance).1.to_f64()
    }

    /// Two fractions that provably enclose the probability of a refusal at this distance.
    ///
    /// P(Δ + K < τ): for Δ < τ it is 1 − P(K ≥ τ − Δ), otherwise, K being symmetric, P(K ≥ Δ − τ + 1). The two differ by
    /// less than 2^−100 of the tail; tails below e^−1000 are enclosed by 0 and about e^−1000.
    pub fn refusal_bounds(&self, distance: u64) -> (Rational, Rational) {
        if distance < self.threshold {
            let (low, high) = self.tail_bounds(self.threshold - distance);
            (Rational::ONE - high, Rational::ONE - low)
        } else {
            self.tail_bounds((distance - self.threshold).saturating_add(1))
        }
    }

    /// P(K ≥ t), t ≥ 1, between two fractions.
    fn tail_bounds(&self, t: u64) -> (Rational, Rational) {
        let far = (self.noise.scale() * &Rational::from(1000)).ceil();
        let far = u64::try_from(&far).unwrap_or(u64::MAX);
        if t > far {
            return (Rational::ZERO, self.noise.upper_tail(far));
        }
        let high = self.noise.upper_tail(t);
        // The tail is rounded up by less than one part in 2^100.
        let low = &high * &(Rational::ONE - Rational::from_big(1u8.into(), dashu_int::UBig::ONE << 100));
        (low, high)
    }
}

/// The smallest t ≥ 1 with P(K ≥ t) ≤ δ.
fn smallest_tail_below(noise: &DiscreteLaplace, delta: &Delta) -> Result<u64> {
    let fits = |t: u64| noise.upper_tail(t) <= *delta.value();
    let longest = noise.scale() * &Rational::from(LONGEST_TAIL);
    let too_small = || Error::parameter("delta", delta, "at least e^-4096; write for example 1e-8");
    let mut high = 1u64;
    while !fits(high) {
        if Rational::from(high) > longest {
            return Err(too_small());
        }
        high *= 2; // at most 2·4096·2^50 = 2^63
    }
    let mut low = high / 2;
    // Invariant: `high` fits, `low` does not (or is 0).
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    // A tail of one is never too long, however small the scale.
    if high > 1 && Rational::from(high) > longest { Err(too_small()) } else { Ok(high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::FALSE_ALARM;
    use crate::ledger::Receipt;
    use crate::noise::Entropy;
    use crate::numeric::interval::{clopper_pearson_lower, clopper_pearson_upper};

    fn test(lipschitz: u64, epsilon: &str, delta: &str) -> Result<StableRelease> {
        StableRelease::new(lipschitz, &epsilon.parse().unwrap(), &delta.parse().unwrap())
    }

    #[test]
    fn parameters_are_checked() {
        for (lipschitz, epsilon, delta) in [(0, "1", "1e-8"), (u64::MAX, "1", "1e-8"), (1, "1001", "1e-8")] {
            assert!(test(lipschitz, epsilon, delta).unwrap_err().is_parameter());
        }
        let tiny = format!("1e-400/{}", "1e400");
        assert!(test(1, "1", &tiny).is_ok());
        let least = Delta::new(&tiny.parse::<Rational>().unwrap().square() * &"1e-400".parse().unwrap()).unwrap();
        assert!(StableRelease::new(1, &"1".parse().unwrap(), &least).unwrap_err().is_parameter());
        assert!(test(u64::MAX, "1e5", "1e-8").unwrap_err().is_parameter());
    }

    #[test]
    fn the_threshold_is_the_smallest_that_keeps_delta() {
        for lipschitz in [1u64, 2, 7, 1000] {
            for epsilon in ["0.1", "1", "3"] {
                for delta in ["0.4", "0.01", "1e-8", "1e-30"] {
                    let test = test(lipschitz, epsilon, delta).unwrap();
                    let delta: Rational = delta.parse().unwrap();
                    let t = test.threshold() - lipschitz;
                    assert!(t >= 1 && test.noise.upper_tail(t) <= delta);
                    assert!(t == 1 || test.noise.upper_tail(t - 1) > delta);
                }
            }
        }
        // p^t/(1+p) ≤ 0.9 at t = 1 already; a threshold of C itself would leave the proof.
        assert_eq!(test(3, "1", "0.9").unwrap().threshold(), 4);
    }

    #[test]
    fn refusals_cost_what_answers_cost() {
        let receipt = Receipt { dataset: "d".into(), request: "r".into(), entry: 1 };
        let test = test(1, "1", "1e-8").unwrap();
        let mut permit = Permit::from_durable_charge(receipt, test.guarantee(), Entropy::seeded(1));
        let refused = test.release(Proposal { answer: Some(1), distance: 1 }, &mut permit).unwrap();
        assert_eq!((refused.guarantee(), refused.clone().released()), (test.guarantee(), None));
        let again = test.release(Proposal { answer: Some(1), distance: 1 }, &mut permit);
        assert!(again.unwrap_err().is_not_permitted());
    }

    #[test]
    fn no_answer_is_a_refusal_at_any_distance() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(2));
        let none: Proposal<u8> = Proposal { answer: None, distance: u64::MAX };
        assert!(test(1, "1", "1e-8").unwrap().release(none, &mut permit).unwrap().released().is_none());
        let some = Proposal { answer: Some(1), distance: u64::MAX };
        let released = test(1, "1", "1e-8").unwrap().release(some, &mut permit).unwrap().released().unwrap();
        assert_eq!((*released.value(), released.error_bar().half_width()), (1, 0.0));
    }

    #[test]
    fn refusal_bounds_enclose_and_are_monotone() {
        let test = test(2, "0.5", "1e-6").unwrap();
        let mut before = Rational::ONE;
        for distance in 0..200 {
            let (low, high) = test.refusal_bounds(distance);
            assert!(low < high && high < before, "{distance}");
            let p = (-0.25f64).exp();
            let t = test.threshold() as f64 - distance as f64;
            let truth = if t > 0.0 { 1.0 - p.powf(t) / (1.0 + p) } else { p.powf(1.0 - t) / (1.0 + p) };
            assert!((test.refusal_probability(distance) / truth - 1.0).abs() < 1e-12, "{distance}");
            before = low;
        }
        assert_eq!(test.refusal_bounds(u64::MAX).0, Rational::ZERO);
        assert!(test.refusal_probability(u64::MAX) < 1e-300);
    }

    /// 100,000 outcomes per distance: a probability that is wrong by 0.01 is detected.
    #[test]
    fn refusals_are_as_frequent_as_stated() {
        const OUTCOMES: u64 = 100_000;
        let mut permit = Permit::unaccounted_from(Entropy::seeded(3));
        for (lipschitz, epsilon, delta) in [(1, "1", "0.01"), (3, "0.7", "1e-6")] {
            let test = test(lipschitz, epsilon, delta).unwrap();
            for distance in [lipschitz, test.threshold() - 1, test.threshold(), test.threshold() + 3] {
                let mut refused = 0;
                for _ in 0..OUTCOMES {
                    let proposal = Proposal { answer: Some(()), distance };
                    refused += u64::from(test.release(proposal, &mut permit).unwrap().released().is_none());
                }
                let stated = test.refusal_probability(distance);
                let confidence = 1.0 - FALSE_ALARM / 2.0;
                assert!(clopper_pearson_lower(refused, OUTCOMES, confidence).unwrap() <= stated, "{distance}");
                assert!(clopper_pearson_upper(refused, OUTCOMES, confidence).unwrap() >= stated, "{distance}");
            }
        }
    }
}
