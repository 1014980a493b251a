//! Exact evidence: laws that can be computed in full.

use dashu_int::UBig;

use crate::audit::Verdict;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::privacy::Guarantee;

/// Precision of probabilities: tails down to 2^−200 keep dozens of digits.
pub(crate) const BITS: usize = 320;

/// One output, with its probability under either of two neighbouring inputs.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub label: String,
    pub first: Enclosure,
    pub second: Enclosure,
}

/// The outputs of a mechanism on two neighbouring inputs.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    /// The neighbours, in words.
    pub inputs: String,
    pub outputs: Vec<Output>,
}

/// The verdict of the laws on a claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExactFinding {
    /// The smallest ε for which the claim's δ holds on all pairs, to the accuracy of a float.
    pub epsilon: f64,
    /// The pair and the output or event behind it, in words.
    pub event: String,
    pub verdict: Verdict,
}

/// Tests all pairs, in both directions, against the claim.
///
/// The verdict is proved: `Violation` only if Σ max(0, P − e^ε·P′) exceeds δ (or, without a δ, if P > e^ε·P′ for some
/// output) with every probability replaced by the end of its enclosure that favours the mechanism.
///
/// # Errors
/// If ε exceeds 200, where the precision no longer suffices.
pub(crate) fn weigh(pairs: &[Pair], claim: &Guarantee) -> Result<ExactFinding> {
    let epsilon = claim.epsilon().expect("exact audits are of claims in ε");
    if *epsilon.value() > Rational::from(200) {
        return Err(Error::parameter("epsilon", epsilon, "at most 200 for an exact audit"));
    }
    let delta = claim.delta().map_or(Rational::ZERO, |delta| delta.value().clone());
    // e^ε ≤ hi/2^BITS
    let growth = Enclosure::one(BITS).over(&exp_neg(epsilon.value(), BITS), BITS).hi;
    let mut worst = ExactFinding { epsilon: 0.0, event: String::from("none"), verdict: Verdict::Consistent };
    for pair in pairs {
        for backwards in [false, true] {
            let sides = |output: &Output| {
                let (p, q) = (output.first.clone(), output.second.clone());
                if backwards { (q, p) } else { (p, q) }
            };
            let mut excess = UBig::ZERO;
            for output in &pair.outputs {
                let (p, q) = sides(output);
                let most: UBig = ((&q.hi * &growth) >> BITS) + 1u8;
                if p.lo > most {
                    excess += p.lo - most;
                }
            }
            if Rational::from_big(excess, UBig::ONE << BITS) > delta {
                worst.verdict = Verdict::Violation;
            }
            let floats: Vec<(f64, f64)> =
                pair.outputs.iter().map(sides).map(|(p, q)| (to_f64(&p), to_f64(&q))).collect();
            let (found, place) = smallest_epsilon(&floats, delta.to_f64());
            if found > worst.epsilon {
                worst.epsilon = found;
                let label = place.map_or("a set of outputs", |place| &pair.outputs[place].label);
                let likelier = if backwards { "second" } else { "first" };
                worst.event = format!("{label}, likelier under the {likelier} of {}", pair.inputs);
            }
        }
    }
    Ok(worst)
}

fn to_f64(probability: &Enclosure) -> f64 {
    Rational::from_big(&probability.lo + &probability.hi, UBig::ONE << (BITS + 1)).to_f64()
}

/// The smallest ε with Σ max(0, p − e^ε·q) ≤ δ, and the output that decides it, if there is one.
fn smallest_epsilon(outputs: &[(f64, f64)], delta: f64) -> (f64, Option<usize>) {
    let ratios = outputs.iter().map(|&(p, q)| if p > 0.0 { libm::log(p / q) } else { f64::NEG_INFINITY });
    let largest = ratios.enumerate().fold(
        (0.0, None),
        |best: (f64, Option<usize>), (place, ratio)| {
            if ratio > best.0 { (ratio, Some(place)) } else { best }
        },
    );
    let missing = |epsilon: f64| outputs.iter().map(|&(p, q)| (p - libm::exp(epsilon) * q).max(0.0)).sum::<f64>();
    if delta == 0.0 || largest.0 == 0.0 {
        return largest;
    }
    if missing(0.0) <= delta {
        return (0.0, None);
    }
    let (mut low, mut high) = (0.0, if largest.0.is_finite() { largest.0 } else { 700.0 });
    if missing(high) > delta {
        return (f64::INFINITY, largest.1);
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if missing(middle) > delta { low = middle } else { high = middle }
    }
    (high, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(label: &str, first: &str, second: &str) -> Output {
        let enclosure = |text: &str| Enclosure::rational(&text.parse().unwrap(), BITS);
        Output { label: label.into(), first: enclosure(first), second: enclosure(second) }
    }

    fn pair(outputs: Vec<Output>) -> [Pair; 1] {
        [Pair { inputs: "yes and no".into(), outputs }]
    }

    #[test]
    fn randomised_response_by_hand() {
        let coins = pair(vec![output("yes", "3/4", "1/4"), output("no", "1/4", "3/4")]);
        let claim = |epsilon: &str| Guarantee::Pure(epsilon.parse().unwrap());
        let found = weigh(&coins, &claim("1.0986122886681099")).unwrap(); // ln 3 = 1.09861228866810969…
        assert_eq!(found.verdict, Verdict::Consistent);
        assert!((found.epsilon - 3f64.ln()).abs() < 1e-15);
        assert_eq!(weigh(&coins, &claim("1.0986122886681096")).unwrap().verdict, Verdict::Violation);
    }

    #[test]
    fn a_delta_is_taken_into_account() {
        // Reveals everything with probability 1/100, else nothing.
        let leak =
            pair(vec![output("nothing", "99/100", "99/100"), output("a", "1/100", "0"), output("b", "0", "1/100")]);
        let claim = |delta: &str| Guarantee::Approx("1".parse().unwrap(), delta.parse().unwrap());
        assert_eq!(weigh(&leak, &claim("0.01")).unwrap().verdict, Verdict::Consistent);
        assert_eq!(weigh(&leak, &claim("0.01")).unwrap().epsilon, 0.0);
        let found = weigh(&leak, &claim("0.009999")).unwrap();
        assert_eq!((found.verdict, found.epsilon), (Verdict::Violation, f64::INFINITY));
    }
}
