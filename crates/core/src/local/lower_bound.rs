//! A lower bound on the error of every local protocol.

use crate::error::{Error, Result};
use crate::privacy::Epsilon;

/// No ε-private local protocol counts n people's bits with a smaller root mean square error on every input:
/// √n·e^(ε/2)/(1+e^ε), at ε = 1 0.44·√n.
///
/// # Accuracy
/// Proved like the lower bound for the local model in \[V17\], with the constant kept. Let every bit be a fair coin, and
/// T everything that is seen by others than the people themselves, in however many rounds. Given T = t the bits are
/// still independent, and by Bayes and the guarantee the odds of each are from e^−ε to e^ε: its variance is p(1−p) with p from 1/(1+e^ε) to
/// e^ε/(1+e^ε), at least e^ε/(1+e^ε)². Whatever number is output, its mean square error given t is at least the
/// variance of the sum, n·e^ε/(1+e^ε)². This holds on average over t and over inputs; so on some input, too.
///
/// [`RandomisedResponse`](super::RandomisedResponse) has √n·e^(ε/2)/(e^ε−1): (e^ε+1)/(e^ε−1) times as much, at ε = 1 2.2 times. A trusted
/// curator's error is about √2/ε, whatever n.
///
/// # Errors
/// If there are no people.
///
/// # Example
/// ```
/// let error = reticent::local::lower_bound(1_000_000, &"1".parse()?)?;
/// assert_eq!(error.round(), 443.0);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn lower_bound(people: u64, epsilon: &Epsilon) -> Result<f64> {
    if people == 0 {
        return Err(Error::parameter("people", people, "at least 1"));
    }
    let half = epsilon.to_f64() / 2.0;
    // e^(ε/2)/(1+e^ε) = 1/(e^(ε/2) + e^(−ε/2)).
    Ok((people as f64).sqrt() / (libm::exp(half) + libm::exp(-half)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::RandomisedResponse;

    /// Randomised response under fair coins, decoded optimally (the mean given the responses), meets the bound exactly:
    /// every input and every transcript of a few people, one by one.
    #[test]
    fn the_best_decoding_of_fair_coins_meets_it() {
        const PEOPLE: u32 = 4;
        for epsilon in ["0.1", "1", "3"] {
            let epsilon: Epsilon = epsilon.parse().unwrap();
            let truth = RandomisedResponse::with_epsilon(&epsilon).unwrap().estimator().p();
            let mass = |said: u32, bits: u32| -> f64 {
                let one = |place: u32| if (said ^ bits) >> place & 1 == 0 { truth } else { 1.0 - truth };
                (0..PEOPLE).map(one).product::<f64>() / f64::from(1 << PEOPLE)
            };
            let error: f64 = (0..1u32 << PEOPLE)
                .map(|said| {
                    let over = |value: &dyn Fn(f64) -> f64| -> f64 {
                        (0..1u32 << PEOPLE).map(|bits| mass(said, bits) * value(bits.count_ones().into())).sum()
                    };
                    let best = over(&|sum| sum) / over(&|_| 1.0);
                    over(&|sum| (sum - best).powi(2))
                })
                .sum();
            let bound = lower_bound(PEOPLE.into(), &epsilon).unwrap();
            assert!((error.sqrt() / bound - 1.0).abs() < 1e-12, "{epsilon}: {} against {bound}", error.sqrt());
        }
    }

    #[test]
    fn the_unbiased_estimate_is_above_it_by_the_factor_that_is_stated() {
        for epsilon in ["0.01", "1", "5"] {
            let epsilon: Epsilon = epsilon.parse().unwrap();
            let question = RandomisedResponse::with_epsilon(&epsilon).unwrap();
            let error = question.estimator().worst_variance(1000).sqrt() * 1000.0;
            let growth = epsilon.to_f64().exp();
            let factor = error / lower_bound(1000, &epsilon).unwrap();
            assert!((factor * (growth - 1.0) / (growth + 1.0) - 1.0).abs() < 1e-9, "{epsilon}: {factor}");
        }
        assert!(lower_bound(0, &"1".parse().unwrap()).is_err());
    }
}
