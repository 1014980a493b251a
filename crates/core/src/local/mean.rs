//! The mean of bounded numbers, from one bit each.

use std::ops::RangeInclusive;

use rand_core::CryptoRng;
use serde::Serialize;

use super::{Estimator, RandomisedResponse, Response};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::bits::{BitSource, always};
use crate::noise::uniform::below;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL};

/// One bit that is likelier to be 1 the larger a person's number is.
///
/// For whole numbers from L to U; for real ones, put them on a [grid](crate::statistic::Grid) and give its steps.
///
/// # Privacy
/// ε-differential privacy for one person's one number against everyone. The bit is 1 with probability q + (p−q)·(x−L)/(U−L), with p =
/// e^ε/(1+e^ε) and q = 1/(1+e^ε): between q and p for all x, so that no ratio exceeds p/q = e^ε, which L and U reach. A number
/// outside is clamped. Time and random bits do not depend on the number.
///
/// # Accuracy
/// With C ones among n, L + (U−L)·(C/n − q)/(p − q) is an unbiased estimate of the mean. Its variance is at most
/// (U−L)²·π(1−π)/(n·(p−q)²), π = q + (p−q)·(mean−L)/(U−L), and exactly that if everyone has the same number: C is a sum
/// of coins with probabilities π_i, and Σπ_i(1−π_i) ≤ nπ(1−π) as π(1−π) is concave.
///
/// # Algorithm
/// \[DJW18\]; the same channel as 1BitMean \[DKY17\]. The number is first rounded to L or U at random such that its
/// mean is preserved (a uniform number below U−L is compared with x−L), then the bit reports which by
/// [`RandomisedResponse`]. The two together have the probability above, exactly.
///
/// # Errors
/// Unless L < U, U − L < 2^63 and ε lies from 2^−50 to 1000; when responding, if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::local::OneBitMean;
///
/// let ages = OneBitMean::new(0..=120, &"1".parse()?)?;
/// let response = ages.respond(37, &mut Permit::unaccounted()?)?;
/// println!("sent: {}", response.value());
///
/// let estimate = ages.estimate(4_200, 10_000)?; // 4,200 of 10,000 bits were 1
/// assert!((estimate.mean() - 39.23).abs() < 0.01 && (estimate.standard_error() - 1.28).abs() < 0.01);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OneBitMean {
    lower: i64,
    upper: i64,
    response: RandomisedResponse,
}

impl OneBitMean {
    /// For whole numbers in a range.
    ///
    /// # Errors
    /// As described for the type.
    pub fn new(range: RangeInclusive<i64>, epsilon: &Epsilon) -> Result<Self> {
        let (lower, upper) = range.into_inner();
        if upper.checked_sub(lower).is_none_or(|width| width <= 0) {
            let bounds = format!("{lower}..{upper}");
            return Err(Error::parameter("bounds", bounds, "a lower end below the upper one, less than 2^63 apart"));
        }
        Ok(Self { lower, upper, response: RandomisedResponse::with_epsilon(epsilon)? })
    }

    /// The ends of the range.
    pub fn bounds(&self) -> RangeInclusive<i64> {
        self.lower..=self.upper
    }

    /// The guarantee of a response, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.response.guarantee()
    }

    /// The estimator of the mean's position in the range, from 0 at L to 1 at U.
    pub fn estimator(&self) -> &Estimator {
        self.response.estimator()
    }

    /// Two fractions that enclose P(1 | `number`); they agree in more than thirty digits.
    pub fn probability(&self, number: i64) -> RangeInclusive<Rational> {
        let share = Rational::from(self.offset(number)) / Rational::from(self.width());
        let [low, high] = [false, true].map(|end| self.response.probability(end, true));
        let mixed = |low: &Rational, high: &Rational| low + &(&share * &(high - low));
        mixed(low.start(), high.start())..=mixed(low.end(), high.end())
    }

    /// Randomises one number, clamped to the range.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn respond(&self, number: i64, permit: &mut Permit) -> Result<Response<bool>> {
        let mut draw = permit.spend(self.guarantee())?;
        let bit = self.sample(number, &mut draw);
        Ok(Response::new(bit, self.guarantee().clone(), draw.accounting().clone()))
    }

    /// A response from any generator, for simulations and audits: nothing is charged, and the result does not say so.
    #[inline]
    pub fn sample<R: CryptoRng + ?Sized>(&self, number: i64, rng: &mut R) -> bool {
        let end = always(self.round(number, rng));
        self.response.sample(end, rng)
    }

    /// U with probability (x−L)/(U−L), else L.
    #[inline]
    fn round<B: BitSource + ?Sized>(&self, number: i64, source: &mut B) -> Result<bool, B::Error> {
        Ok(below(self.width(), source)? < self.offset(number))
    }

    fn width(&self) -> u64 {
        self.upper.abs_diff(self.lower)
    }

    fn offset(&self, number: i64) -> u64 {
        number.clamp(self.lower, self.upper).abs_diff(self.lower)
    }

    /// The mean of n people's numbers if `ones` of their bits are 1, one bit from each person.
    ///
    /// # Errors
    /// If there are no responses, or more ones than responses.
    pub fn estimate(&self, ones: u64, n: u64) -> Result<MeanEstimate> {
        let estimate = self.estimator().estimate(ones, n)?;
        let width = self.width() as f64;
        let estimator = self.estimator();
        let bit = estimator.q() + (estimator.p() - estimator.q()) * estimate.fraction().clamp(0.0, 1.0);
        // p + q = 1, so that p − q = 1 − 2q; from the estimator's own gap it keeps its digits.
        let standard_error = (bit * (1.0 - bit) / n as f64).sqrt() / estimator.gap() * width;
        Ok(MeanEstimate {
            n,
            mean: self.lower as f64 + estimate.fraction() * width,
            standard_error,
            error: ErrorBar::new(estimator.half_width(n, LEVEL)? * width, LEVEL)?,
        })
    }
}

/// An estimated mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanEstimate {
    n: u64,
    mean: f64,
    standard_error: f64,
    error: ErrorBar,
}

impl MeanEstimate {
    /// The number of people who reported.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The estimated mean. It may lie outside the bounds: clamping it would make it biased.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard error: its largest value for this mean, attained if everyone has the same number.
    pub fn standard_error(&self) -> f64 {
        self.standard_error
    }

    /// The error bar, by [`Estimator::half_width`]: proved for any numbers and however few people.
    pub fn error_bar(&self) -> ErrorBar {
        self.error
    }

    /// The same in other units: every number was `number × factor`.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let standard_error = self.standard_error * factor;
        Self { mean: self.mean * factor, standard_error, error: self.error.scaled(factor), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::local::evidence::{Law, assert_tight, largest_ratio_holds};

    /// P(bit | number) for every number of the range.
    fn law(mechanism: &OneBitMean) -> Law {
        Law::of(mechanism.width() as usize + 1, 2, |number, bit| {
            let one = mechanism.probability(mechanism.lower + number as i64);
            if bit == 1 { one } else { Rational::ONE - one.end().clone()..=Rational::ONE - one.start().clone() }
        })
    }

    #[test]
    fn the_largest_ratio_is_exactly_what_is_promised() {
        for (lower, upper) in [(0, 1), (-3, 4), (0, 120)] {
            for epsilon in ["0.001", "1", "5", "100"] {
                let epsilon = epsilon.parse().unwrap();
                let law = law(&OneBitMean::new(lower..=upper, &epsilon).unwrap());
                assert!(law.adds_up());
                assert_tight(&law, &epsilon);
            }
        }
    }

    /// The mutant uses ε as the bias of the bit, as if (1 + ε·x)/2 were ε-private.
    #[test]
    fn a_bias_is_not_an_epsilon() {
        let response = RandomisedResponse::with_bias(&"0.5".parse().unwrap()).unwrap();
        let mutant = OneBitMean { lower: -1, upper: 1, response };
        assert!(!largest_ratio_holds(&law(&mutant), &"0.5".parse().unwrap()), "the mutant was not caught");
    }

    #[test]
    fn numbers_are_rounded_to_the_ends_without_bias() {
        for (lower, upper) in [(0, 4), (-2, 1), (5, 12)] {
            let mechanism = OneBitMean::new(lower..=upper, &"1".parse().unwrap()).unwrap();
            for number in lower - 2..=upper + 2 {
                let law = enumerate(18, |tape| mechanism.round(number, tape));
                let clamped = number.clamp(lower, upper);
                let share = Rational::new(clamped - lower, (upper - lower) as u64).unwrap();
                assert!(law.admits(&true, &share), "{number} in {lower}..{upper}");
                assert!(law.unresolved().to_f64() < 0.01);
            }
        }
    }

    /// Mean and variance over the law of the number of ones, built up one person at a time.
    #[test]
    fn unbiased_with_at_most_the_variance_it_states() {
        let mechanism = OneBitMean::new(-10..=30, &"1".parse().unwrap()).unwrap();
        for numbers in [vec![7; 30], (-10..20).collect::<Vec<i64>>(), [vec![-10; 20], vec![30; 10]].concat()] {
            let n = numbers.len() as u64;
            let truth = numbers.iter().sum::<i64>() as f64 / n as f64;
            let mut law = vec![1.0];
            for &number in &numbers {
                let one = mechanism.probability(number).end().to_f64();
                let mut next = vec![0.0; law.len() + 1];
                for (ones, mass) in law.iter().enumerate() {
                    next[ones] += mass * (1.0 - one);
                    next[ones + 1] += mass * one;
                }
                law = next;
            }
            let estimate = |ones: usize| mechanism.estimate(ones as u64, n).unwrap();
            let sum = |value: &dyn Fn(usize) -> f64| {
                law.iter().enumerate().map(|(ones, mass)| mass * value(ones)).sum::<f64>()
            };
            let mean = sum(&|ones| estimate(ones).mean());
            assert!((mean - truth).abs() < 1e-10, "{mean} against {truth}");
            let variance = sum(&|ones| (estimate(ones).mean() - truth).powi(2));
            let (q, gap) = (mechanism.estimator().q(), mechanism.estimator().gap());
            let bit = q + gap * (truth + 10.0) / 40.0;
            let stated = 40f64.powi(2) * bit * (1.0 - bit) / n as f64 / gap / gap;
            assert!(variance <= stated * (1.0 + 1e-12), "{variance} against {stated}");
            if numbers.iter().all(|number| number == &numbers[0]) {
                assert!(variance >= stated * (1.0 - 1e-12), "{variance} against {stated}");
            }
            let covered = sum(&|ones| {
                f64::from(u8::from((estimate(ones).mean() - truth).abs() <= estimate(ones).error_bar().half_width()))
            });
            assert!(covered >= LEVEL);
        }
    }

    #[test]
    fn bounds_are_checked() {
        let one = "1".parse().unwrap();
        for (lower, upper) in [(0, 0), (3, 1), (i64::MIN, i64::MAX)] {
            assert!(OneBitMean::new(lower..=upper, &one).unwrap_err().to_string().starts_with("bounds is "));
        }
        assert!(OneBitMean::new((i64::MIN / 2)..=(i64::MAX / 2), &one).is_ok());
    }
}
