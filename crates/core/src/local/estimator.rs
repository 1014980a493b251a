//! From the reports of many devices to the fraction of people.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::numeric::interval::{clopper_pearson_lower, clopper_pearson_upper};
use crate::release::{ErrorBar, LEVEL};

/// The estimator for every frequency oracle that is described by two numbers: a report supports a value with
/// probability p* if it is the person's own and with probability q* < p* if it is not.
///
/// Yes/no answers are the case p* = P(yes | yes), q* = P(yes | no).
///
/// # Privacy
/// Post-processing of reports: free.
///
/// # Accuracy
/// Unbiased. With n people, a fraction f of whom hold the value, C reports that support it have mean n·(q* + f·(p*−q*)), so
/// that f̂ = (C/n − q*)/(p* − q*) has mean f and variance
///
/// > Var f̂ = \[q*(1−q*) + f·(p*−q*)·(1−p*−q*)\] / (n·(p*−q*)²).
///
/// This is about the n people who reported; if they are a sample of a population, the sampling error comes on top. The
/// fraction of supporting reports itself, C/n, is *not* an estimate of f: its mean is q* + f·(p*−q*).
///
/// The numbers p*, q* and p* − q* are rounded once from exact fractions. This moves f̂ by less than 10⁻¹⁵/(p*−q*),
/// which is negligible compared to the standard error for any realistic number of people.
///
/// # Algorithm
/// \[W65\] for yes/no answers, \[WBLJ17\] for all oracles.
///
/// # Errors
/// Unless 0 ≤ q* < p* ≤ 1.
///
/// # Example
/// Of 1,000 people who answered by two coins (¾ truth, ¼ lie), 400 said yes:
/// ```
/// use reticent::local::Estimator;
///
/// let coins = Estimator::new(&"3/4".parse()?, &"1/4".parse()?)?;
/// let estimate = coins.estimate(400, 1000)?;
/// assert!((estimate.fraction() - 0.3).abs() < 1e-12); // (0.4 − 0.25)/0.5
/// assert!((estimate.standard_error() - 0.0274).abs() < 1e-4);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimator {
    p: f64,
    q: f64,
    /// p − q, rounded from the exact difference.
    gap: f64,
}

impl Estimator {
    /// For an oracle with the pair (p*, q*).
    ///
    /// # Errors
    /// Unless 0 ≤ q* < p* ≤ 1.
    pub fn new(p: &Rational, q: &Rational) -> Result<Self> {
        if *q < Rational::ZERO || q >= p {
            return Err(Error::parameter("q*", q, "at least 0 and less than p*"));
        }
        if *p > Rational::ONE {
            return Err(Error::parameter("p*", p, "at most 1"));
        }
        Ok(Self { p: p.to_f64(), q: q.to_f64(), gap: (p - q).to_f64() })
    }

    /// p*: the probability that a report supports the person's own value, rounded.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// q*: the probability that a report supports another value, rounded.
    pub fn q(&self) -> f64 {
        self.q
    }

    /// p* − q*, rounded once from the exact difference.
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// The fraction of people who hold the value, from `supporting` of `n` reports, one from each person.
    ///
    /// # Errors
    /// If there are no reports, or more supporting ones than reports.
    pub fn estimate(&self, supporting: u64, n: u64) -> Result<Estimate> {
        if n == 0 {
            return Err(Error::parameter("number of reports", n, "at least 1"));
        }
        if supporting > n {
            return Err(Error::parameter("supporting reports", supporting, "at most the number of reports"));
        }
        let fraction = (supporting as f64 / n as f64 - self.q) / self.gap;
        let standard_error = self.variance(fraction.clamp(0.0, 1.0), n).sqrt();
        let error = ErrorBar::new(self.half_width(n, LEVEL)?, LEVEL)?;
        Ok(Estimate { n, fraction, standard_error, error })
    }

    /// The variance of the estimated fraction if the true one is `fraction`, among n people.
    pub fn variance(&self, fraction: f64, n: u64) -> f64 {
        let Self { p, q, gap } = self;
        // The formula of the type's documentation, as f·p(1−p) + (1−f)·q(1−q): a sum of non-negative terms.
        (fraction * p * (1.0 - p) + (1.0 - fraction) * q * (1.0 - q)) / (gap * gap) / n as f64
    }

    /// The largest variance over all true fractions: it is linear in f, so the larger of its values at 0 and 1.
    pub fn worst_variance(&self, n: u64) -> f64 {
        self.variance(0.0, n).max(self.variance(1.0, n))
    }

    /// A half-width for the estimated fraction that holds with probability at least `level`, whatever the true fraction
    /// and however few people.
    ///
    /// Proved, not approximated by a normal law: C is a sum of n independent coins, so P(|C/n − mean| ≥ t) ≤
    /// 2·e^(−2nt²) \[H63\] and t = √(ln(2/(1−level))/(2n)), divided by p* − q*.
    ///
    /// # Errors
    /// If there are no people or the level lies outside 0 < level < 1.
    pub fn half_width(&self, n: u64, level: f64) -> Result<f64> {
        if n == 0 {
            return Err(Error::parameter("number of reports", n, "at least 1"));
        }
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
        }
        /// Covers the rounding of these few operations.
        const MARGIN: f64 = 1.0 + 1e-14;
        Ok((libm::log(2.0 / (1.0 - level)) / (2.0 * n as f64)).sqrt() / self.gap * MARGIN)
    }

    /// An interval that contains the true fraction with probability at least `level`, given how many of n reports
    /// support the value: narrower than ± [`half_width`](Self::half_width), above all where q* is small.
    ///
    /// Proved: C is a sum of n independent coins, and Clopper and Pearson's interval for their average probability, exact for equal
    /// coins, holds for unequal ones, too. For P(C ≥ c) is at most what it is for n equal coins with the same mean μ if c ≥ μ + 1
    /// \[H56\], and the interval goes wrong on that side only if P(C ≥ c) ≤ (1−level)/2 for equal coins: while P(C ≥ μ) > ¼ for
    /// them if μ > 1 \[GM14\], so that c ≥ μ + 1 then, as level ≥ ½. The same holds for the reports that do not support the value.
    /// That μ > 1 for both is known where n·q* > 1 and n·(1−p*) > 1; otherwise the half-width is used.
    ///
    /// # Errors
    /// If there are no reports, more supporting ones than reports, or the level lies outside ½ ≤ level < 1.
    pub fn interval(&self, supporting: u64, n: u64, level: f64) -> Result<(f64, f64)> {
        let fraction = self.estimate(supporting, n)?.fraction();
        if !(0.5..1.0).contains(&level) {
            return Err(Error::parameter("level", level, "at least 0.5 and less than 1; write for example 0.95"));
        }
        if n as f64 * self.q <= 1.0 || n as f64 * (1.0 - self.p) <= 1.0 {
            let half_width = self.half_width(n, level)?;
            return Ok((fraction - half_width, fraction + half_width));
        }
        let each = 1.0 - (1.0 - level) / 2.0;
        let lower = clopper_pearson_lower(supporting, n, each)?;
        let upper = clopper_pearson_upper(supporting, n, each)?;
        Ok(((lower - self.q) / self.gap, (upper - self.q) / self.gap))
    }
}

/// The estimated number of people who hold a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    n: u64,
    fraction: f64,
    standard_error: f64,
    error: ErrorBar,
}

impl Estimate {
    /// The number of people who reported.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The estimated fraction. It may lie outside 0 to 1: clamping it would make it biased.
    pub fn fraction(&self) -> f64 {
        self.fraction
    }

    /// The estimated number of people, n times the fraction.
    pub fn count(&self) -> f64 {
        self.fraction * self.n as f64
    }

    /// The standard error of the fraction: the exact formula at the estimated fraction.
    pub fn standard_error(&self) -> f64 {
        self.standard_error
    }

    /// The standard error of the count.
    pub fn count_standard_error(&self) -> f64 {
        self.standard_error * self.n as f64
    }

    /// The error bar of the fraction, by [`Estimator::half_width`]; multiply by n for the count's.
    pub fn error_bar(&self) -> ErrorBar {
        self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(p: &str, q: &str) -> Result<Estimator> {
        Estimator::new(&p.parse().unwrap(), &q.parse().unwrap())
    }

    /// The law of the number of supporting reports among n, of whom `holders` hold the value, built up one person at a
    /// time.
    fn law(p: f64, q: f64, holders: usize, n: usize) -> Vec<f64> {
        let mut law = vec![1.0];
        for person in 0..n {
            let support = if person < holders { p } else { q };
            let mut next = vec![0.0; law.len() + 1];
            for (count, mass) in law.iter().enumerate() {
                next[count] += mass * (1.0 - support);
                next[count + 1] += mass * support;
            }
            law = next;
        }
        law
    }

    fn mean(law: &[f64], value: impl Fn(u64) -> f64) -> f64 {
        law.iter().enumerate().map(|(count, mass)| mass * value(count as u64)).sum()
    }

    /// Mean, variance and coverage, summed over every outcome.
    #[test]
    fn unbiased_with_the_variance_it_states() {
        for (p, q) in [("3/4", "1/4"), ("0.5", "0.1"), ("1", "0"), ("0.6", "0.55"), ("0.2", "0.01")] {
            let estimator = estimator(p, q).unwrap();
            let n = 40;
            for holders in [0, 1, 13, 20, 40] {
                let f = holders as f64 / n as f64;
                let law = law(estimator.p, estimator.q, holders, n);
                let estimate = |count: u64| estimator.estimate(count, n as u64).unwrap();
                let average = mean(&law, |count| estimate(count).fraction());
                assert!((average - f).abs() < 1e-12, "{p} {q} {holders}: {average}");
                let variance = mean(&law, |count| (estimate(count).fraction() - f).powi(2));
                let stated = estimator.variance(f, n as u64);
                assert!((variance - stated).abs() <= 1e-12 * (1.0 + stated), "{variance} against {stated}");
                assert!(variance <= estimator.worst_variance(n as u64) * (1.0 + 1e-12));
                let covered = mean(&law, |count| {
                    let inside = (estimate(count).fraction() - f).abs() <= estimate(count).error_bar().half_width();
                    f64::from(u8::from(inside))
                });
                assert!(covered >= LEVEL, "{p} {q} {holders}: {covered}");
            }
        }
    }

    /// Coverage of the interval, summed over every outcome, for every number of holders.
    #[test]
    fn intervals_cover_and_are_narrower_where_support_is_rare() {
        for (p, q) in [("3/4", "1/4"), ("0.5", "0.1"), ("0.2", "0.05"), ("0.9", "0.03")] {
            let estimator = estimator(p, q).unwrap();
            let n = 60;
            for holders in 0..=n {
                let f = holders as f64 / n as f64;
                let law = law(estimator.p, estimator.q, holders, n);
                let covered = mean(&law, |count| {
                    let (lower, upper) = estimator.interval(count, n as u64, LEVEL).unwrap();
                    f64::from(u8::from(lower <= f && f <= upper))
                });
                assert!(covered >= LEVEL, "{p} {q} {holders}: {covered}");
            }
        }
        let rare = estimator("0.003", "0.001").unwrap();
        let (lower, upper) = rare.interval(100, 100_000, LEVEL).unwrap();
        assert!(upper - lower < 0.2 * 2.0 * rare.half_width(100_000, LEVEL).unwrap());
        // Too few reports for the proof: the half-width.
        assert_eq!(rare.interval(0, 100, LEVEL).unwrap().1, -0.5 + rare.half_width(100, LEVEL).unwrap());
        assert!(rare.interval(0, 100, 0.3).is_err() && rare.interval(0, 0, LEVEL).is_err());
    }

    /// The form in which the variance is usually printed.
    #[test]
    fn the_variance_is_the_published_formula() {
        let (p, q, n) = (0.5, 0.2, 1000);
        let estimator = estimator("0.5", "0.2").unwrap();
        for f in [0.0, 0.1, 0.5, 1.0] {
            let published = (q * (1.0 - q) + f * (p - q) * (1.0 - p - q)) / (p - q) / (p - q) / f64::from(n);
            assert!((estimator.variance(f, n as u64) / published - 1.0).abs() < 1e-12);
        }
    }

    /// The fraction of yes-answers is not the fraction of people who would say yes.
    #[test]
    fn the_raw_fraction_is_biased() {
        // No one has the property; ε = 1: p* = e/(1+e).
        let (p, q) = (0.731_058_578_630_004_9, 0.268_941_421_369_995_1);
        let law = law(p, q, 0, 100);
        let raw = mean(&law, |yes| yes as f64 / 100.0);
        assert!((raw - 0.2689).abs() < 1e-4, "{raw}");
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for (p, q) in [("0.5", "0.5"), ("0.2", "0.3"), ("1.1", "0.1"), ("0.5", "-0.1")] {
            assert!(estimator(p, q).unwrap_err().is_parameter());
        }
        let estimator = estimator("0.75", "0.25").unwrap();
        assert!(estimator.estimate(0, 0).is_err());
        assert!(estimator.estimate(2, 1).is_err());
        assert!(estimator.half_width(0, 0.95).is_err() && estimator.half_width(1, 1.0).is_err());
        assert_eq!(estimator.estimate(0, 10).unwrap().fraction(), -0.5, "not cut off");
    }
}
