//! A lower bound on ε that a mechanism's own outputs prove.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Error, Result};
use crate::numeric::beta_gamma;
use crate::numeric::interval::{clopper_pearson_lower, clopper_pearson_upper, error_of};
use crate::privacy::Epsilon;

/// For a mechanism whose analysis is tight, a lower bound below this fraction of the claim means that its noise is
/// larger than necessary (given enough samples: 10⁷ per side for ε about 1).
pub const TIGHT_FRACTION: f64 = 0.95;

/// How often each output was seen.
pub type Histogram<K> = BTreeMap<K, u64>;

/// Which of the two neighbouring inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The first sampler's input.
    First,
    /// The second sampler's input.
    Second,
}

/// A set of outputs that an adversary can tell apart from the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<K> {
    /// The output is this or smaller.
    AtMost(K),
    /// The output is this.
    Equal(K),
    /// The output is this or larger.
    AtLeast(K),
}

impl<K: Ord> Event<K> {
    /// Does this output belong to the event?
    pub fn contains(&self, output: &K) -> bool {
        match self {
            Self::AtMost(threshold) => output <= threshold,
            Self::Equal(value) => output == value,
            Self::AtLeast(threshold) => output >= threshold,
        }
    }

    fn count(&self, histogram: &Histogram<K>) -> u64 {
        histogram.iter().filter(|(output, _)| self.contains(output)).map(|(_, count)| count).sum()
    }
}

impl<K: fmt::Display> fmt::Display for Event<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(threshold) => write!(formatter, "output ≤ {threshold}"),
            Self::Equal(value) => write!(formatter, "output = {value}"),
            Self::AtLeast(threshold) => write!(formatter, "output ≥ {threshold}"),
        }
    }
}

/// An event, and the input under which it is the likelier one: how an adversary would guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distinguisher<K> {
    /// What the adversary looks for.
    pub event: Event<K>,
    /// The input that it points to.
    pub likelier: Input,
}

impl<K: fmt::Display> fmt::Display for Distinguisher<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let likelier = match self.likelier {
            Input::First => "first",
            Input::Second => "second",
        };
        write!(formatter, "{}, likelier under the {likelier} input", self.event)
    }
}

/// What the samples say about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The samples do not refute the claim; this does not prove it.
    Consistent,
    /// The mechanism distinguishes these inputs better than it claims, with the stated confidence.
    Violation,
}

/// A lower bound on the ε of a mechanism, only from its outputs on two neighbouring inputs.
///
/// # Algorithm
/// Any event E with probabilities P and P′ under neighbouring inputs satisfies P ≤ e^ε·P′ + δ, so
/// ε ≥ ln((P − δ)/P′). The event is chosen on a first sample, among thresholds and single values and in both
/// directions, as the one with the largest lower confidence bound rather than the largest ratio: a rare event can have
/// any ratio by luck. P and P′ are then bounded by Clopper–Pearson on a second, independent sample, each with half of
/// the error allowed (Bonferroni), so the choice costs no confidence.
///
/// # Example
/// ```
/// use reticent::audit::{EmpiricalEpsilon, Verdict};
///
/// // Two "mechanisms" with fixed outputs: the first input always gives 1, the second 0 or 1 in turn.
/// let mut turn = 0;
/// let alternating = || { turn += 1; turn % 2 };
/// let found = EmpiricalEpsilon::measure(|| 1, alternating, 0.0, 10_000, 0.999)?;
/// assert_eq!(found.verdict(&"0.1".parse()?), Verdict::Violation);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EmpiricalEpsilon {
    /// With the stated confidence, ε is at least this; never below 0.
    pub lower_bound: f64,
    /// The confidence of the bound.
    pub confidence: f64,
    /// The event that proves it, in words.
    pub event: String,
    /// The number of outputs drawn for each input and each of the two samples.
    pub samples: u64,
}

impl EmpiricalEpsilon {
    /// Draws 2·`samples` outputs for either input and bounds ε from below.
    ///
    /// The samplers must be independent from call to call. Any ordered type works as an output; refusals can be one
    /// more value of it. Memory grows only with the number of different outputs.
    ///
    /// # Errors
    /// If there are no samples, δ is not in [0, 1) or the confidence is not between 0 and 1.
    pub fn measure<K: Ord + Clone + fmt::Display>(
        mut first: impl FnMut() -> K,
        mut second: impl FnMut() -> K,
        delta: f64,
        samples: u64,
        confidence: f64,
    ) -> Result<Self> {
        check(delta, samples)?;
        error_of(confidence)?;
        let choose_on = (histogram(samples, &mut first), histogram(samples, &mut second));
        let distinguisher = choose(&choose_on.0, &choose_on.1, delta, confidence)?;
        drop(choose_on);
        let bound_on = (histogram(samples, &mut first), histogram(samples, &mut second));
        bound(&distinguisher, &bound_on.0, &bound_on.1, delta, confidence)
    }

    /// Does the bound refute the claim?
    pub fn verdict(&self, claim: &Epsilon) -> Verdict {
        if self.lower_bound > claim.to_f64() { Verdict::Violation } else { Verdict::Consistent }
    }

    /// Is the bound as close to the claim as expected for a mechanism whose analysis is tight?
    pub fn is_tight(&self, claim: &Epsilon) -> bool {
        self.lower_bound >= TIGHT_FRACTION * claim.to_f64()
    }
}

impl fmt::Display for EmpiricalEpsilon {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lower_bound, confidence, event, samples } = self;
        write!(formatter, "ε ≥ {lower_bound:.4} with confidence {confidence} ({event}; {samples} samples a side)")
    }
}

/// Counts `samples` outputs.
pub fn histogram<K: Ord>(samples: u64, sampler: &mut impl FnMut() -> K) -> Histogram<K> {
    let mut histogram = Histogram::new();
    for _ in 0..samples {
        *histogram.entry(sampler()).or_insert(0) += 1;
    }
    histogram
}

/// The event with the largest expected lower bound on ε, judged on this sample.
///
/// Candidates are compared by Wilson's approximate bounds, which are fast; the reported bound comes from [`bound`] on
/// another sample and involves no approximation.
///
/// # Errors
/// If a histogram is empty, δ is not in [0, 1) or the confidence is not between 0 and 1.
pub fn choose<K: Ord + Clone>(
    first: &Histogram<K>,
    second: &Histogram<K>,
    delta: f64,
    confidence: f64,
) -> Result<Distinguisher<K>> {
    let error = error_of(confidence)? / 2.0;
    let (first_total, second_total): (u64, u64) = (first.values().sum(), second.values().sum());
    check(delta, first_total.min(second_total))?;
    // A squared normal variable is χ² with one degree of freedom, of which either sign makes up one half.
    let deviations = libm::sqrt(2.0 * beta_gamma::gamma_upper_inverse(0.5, 2.0 * error)?);

    let outputs: BTreeMap<&K, (u64, u64)> = {
        let mut outputs = BTreeMap::new();
        for (output, &count) in first {
            outputs.entry(output).or_insert((0, 0)).0 = count;
        }
        for (output, &count) in second {
            outputs.entry(output).or_insert((0, 0)).1 = count;
        }
        outputs
    };
    let mut best: Option<(f64, Distinguisher<K>)> = None;
    let mut consider = |counts: (u64, u64), event: &dyn Fn() -> Event<K>| {
        let (one, other) = ((counts.0, first_total), (counts.1, second_total));
        for (likelier, numerator, denominator) in [(Input::First, one, other), (Input::Second, other, one)] {
            let low = wilson(numerator, -deviations);
            let score = epsilon_from(low, wilson(denominator, deviations), delta);
            if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
                best = Some((score, Distinguisher { event: event(), likelier }));
            }
        }
    };
    let mut below = (0, 0);
    for (&output, &(one, other)) in &outputs {
        consider((first_total - below.0, second_total - below.1), &|| Event::AtLeast(output.clone()));
        below = (below.0 + one, below.1 + other);
        consider(below, &|| Event::AtMost(output.clone()));
        consider((one, other), &|| Event::Equal(output.clone()));
    }
    let (_, distinguisher) = best.expect("at least one output was seen, and so at least one event was considered");
    Ok(distinguisher)
}

/// The lower bound on ε that this event proves on a sample independent of the one it was chosen on.
///
/// # Errors
/// If a histogram is empty, δ is not in [0, 1) or the confidence is not between 0 and 1.
pub fn bound<K: Ord + fmt::Display>(
    distinguisher: &Distinguisher<K>,
    first: &Histogram<K>,
    second: &Histogram<K>,
    delta: f64,
    confidence: f64,
) -> Result<EmpiricalEpsilon> {
    let (likelier, rarer) = match distinguisher.likelier {
        Input::First => (first, second),
        Input::Second => (second, first),
    };
    let (likelier_total, rarer_total): (u64, u64) = (likelier.values().sum(), rarer.values().sum());
    check(delta, likelier_total.min(rarer_total))?;
    let each = 1.0 - error_of(confidence)? / 2.0;
    let low = clopper_pearson_lower(distinguisher.event.count(likelier), likelier_total, each)?;
    let high = clopper_pearson_upper(distinguisher.event.count(rarer), rarer_total, each)?;
    Ok(EmpiricalEpsilon {
        lower_bound: epsilon_from(low, high, delta).max(0.0),
        confidence,
        event: distinguisher.to_string(),
        samples: likelier_total.min(rarer_total),
    })
}

/// ln((P − δ)/P′), or −∞ where the event proves nothing.
fn epsilon_from(likelier_low: f64, rarer_high: f64, delta: f64) -> f64 {
    if likelier_low > delta { libm::log((likelier_low - delta) / rarer_high) } else { f64::NEG_INFINITY }
}

/// Wilson's bound on a probability: above it for positive `deviations`, below it for negative ones.
fn wilson((successes, trials): (u64, u64), deviations: f64) -> f64 {
    let (n, square) = (trials as f64, deviations * deviations);
    let p = successes as f64 / n;
    let half_width = deviations * libm::sqrt(p * (1.0 - p) / n + square / (4.0 * n * n));
    ((p + square / (2.0 * n) + half_width) / (1.0 + square / n)).clamp(0.0, 1.0)
}

fn check(delta: f64, samples: u64) -> Result<()> {
    if !(0.0..1.0).contains(&delta) {
        return Err(Error::parameter("delta", delta, "at least 0 and less than 1"));
    }
    if samples == 0 {
        return Err(Error::parameter("samples", samples, "at least 1"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::FALSE_ALARM;
    use crate::audit::simulation::{SplitMix64, discrete_laplace};

    const CONFIDENCE: f64 = 1.0 - FALSE_ALARM;
    const SAMPLES: u64 = 300_000;

    /// Randomised response: true to its input with probability e^ε/(1 + e^ε), and so tight.
    fn randomised_response(epsilon: f64, samples: u64, delta: f64, seed: u64) -> EmpiricalEpsilon {
        let truth = epsilon.exp() / (1.0 + epsilon.exp());
        let (mut one, mut two) = (SplitMix64(seed), SplitMix64(!seed));
        let first = || u8::from(one.bernoulli(truth));
        let second = || u8::from(two.bernoulli(1.0 - truth));
        EmpiricalEpsilon::measure(first, second, delta, samples, CONFIDENCE).unwrap()
    }

    fn laplace(true_epsilon: f64, seed: u64) -> EmpiricalEpsilon {
        let (mut one, mut two) = (SplitMix64(seed), SplitMix64(!seed));
        let first = || 41 + discrete_laplace(1.0 / true_epsilon, &mut one);
        let second = || 42 + discrete_laplace(1.0 / true_epsilon, &mut two);
        EmpiricalEpsilon::measure(first, second, 0.0, SAMPLES, CONFIDENCE).unwrap()
    }

    #[test]
    fn a_tight_mechanism_is_seen_to_be_tight_and_no_worse_than_it_claims() {
        let claim: Epsilon = "1".parse().unwrap();
        for found in [randomised_response(1.0, SAMPLES, 0.0, 1), laplace(1.0, 2)] {
            assert_eq!(found.verdict(&claim), Verdict::Consistent, "{found}");
            assert!(found.is_tight(&claim), "{found}");
        }
    }

    #[test]
    fn a_noise_scale_of_nine_tenths_is_a_violation() {
        let claim: Epsilon = "1".parse().unwrap();
        for found in [randomised_response(1.0 / 0.9, SAMPLES, 0.0, 3), laplace(1.0 / 0.9, 4)] {
            assert_eq!(found.verdict(&claim), Verdict::Violation, "{found}");
        }
    }

    #[test]
    fn too_much_noise_is_not_tight() {
        let claim: Epsilon = "1".parse().unwrap();
        let found = laplace(1.0 / 1.1, 5);
        assert_eq!(found.verdict(&claim), Verdict::Consistent);
        assert!(!found.is_tight(&claim), "{found}");
    }

    /// With δ = P − e^0.5·P′ the same outputs prove no more than ε = 0.5.
    #[test]
    fn delta_is_taken_off_before_the_ratio() {
        let (truth, lie) = (1.0_f64.exp() / (1.0 + 1.0_f64.exp()), 1.0 / (1.0 + 1.0_f64.exp()));
        let delta = truth - 0.5_f64.exp() * lie;
        let found = randomised_response(1.0, SAMPLES, delta, 6);
        assert!(found.lower_bound < 0.5 && found.lower_bound > 0.45, "{found}");
    }

    #[test]
    fn equal_inputs_prove_nothing() {
        let (mut one, mut two) = (SplitMix64(7), SplitMix64(8));
        let first = || discrete_laplace(3.0, &mut one);
        let second = || discrete_laplace(3.0, &mut two);
        let found = EmpiricalEpsilon::measure(first, second, 0.0, 20_000, CONFIDENCE).unwrap();
        assert!(found.lower_bound <= 0.0, "{found}");
    }

    /// The raw ratio of the rare output is infinite; a common event with a modest ratio proves far more.
    #[test]
    fn a_rare_event_is_not_chosen_for_its_luck() {
        let first = Histogram::from([("common", 700_000), ("other", 299_990), ("rare", 10)]);
        let second = Histogram::from([("common", 300_000), ("other", 700_000)]);
        let chosen = choose(&first, &second, 0.0, CONFIDENCE).unwrap();
        assert_ne!(chosen.event, Event::Equal("rare"));
        assert!(bound(&chosen, &first, &second, 0.0, CONFIDENCE).unwrap().lower_bound > 0.8);
    }

    #[test]
    fn both_directions_and_every_kind_of_event_are_tried() {
        let low = Histogram::from([(0, 900), (1, 100), (2, 1000)]);
        let high = Histogram::from([(0, 100), (1, 900), (2, 1000)]);
        let forth = choose(&low, &high, 0.0, 0.99).unwrap();
        assert_eq!(forth.to_string(), "output ≤ 0, likelier under the first input");
        let back = choose(&high, &low, 0.0, 0.99).unwrap();
        assert_eq!(back, Distinguisher { event: Event::AtMost(0), likelier: Input::Second });
        let middle = Histogram::from([(0, 950), (1, 100), (2, 950)]);
        let around = Histogram::from([(0, 1000), (1, 1), (2, 999)]);
        let single = choose(&middle, &around, 0.0, 0.99).unwrap();
        assert_eq!(single, Distinguisher { event: Event::Equal(1), likelier: Input::First });
    }

    /// If the bound exceeded the truth more often than the confidence allows, this would show it.
    #[test]
    fn the_confidence_is_kept() {
        let (experiments, confidence) = (400, 0.9);
        let truth = 1.0_f64.exp() / (1.0 + 1.0_f64.exp());
        let (mut one, mut two) = (SplitMix64(9), SplitMix64(10));
        let too_high = (0..experiments)
            .filter(|_| {
                let first = || u8::from(one.bernoulli(truth));
                let second = || u8::from(two.bernoulli(1.0 - truth));
                let found = EmpiricalEpsilon::measure(first, second, 0.0, 500, confidence).unwrap();
                found.lower_bound > 1.0
            })
            .count();
        // At most 40 are expected; 70 is five standard deviations above.
        assert!(too_high <= 70, "{too_high} of {experiments} bounds lie above the true value");
    }

    #[test]
    fn errors_name_the_parameter() {
        let measure = |delta, samples, confidence| {
            let result = EmpiricalEpsilon::measure(|| 0, || 1, delta, samples, confidence);
            result.unwrap_err().to_string()
        };
        for bad in [-0.1, 1.0, f64::NAN] {
            assert!(measure(bad, 10, 0.9).starts_with("delta is "));
        }
        assert!(measure(0.0, 0, 0.9).starts_with("samples is 0"));
        assert!(measure(0.0, 10, 1.0).starts_with("confidence is 1"));
    }
}
