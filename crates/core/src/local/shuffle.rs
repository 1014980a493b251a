//! Privacy amplification by shuffling.

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::numeric::beta_gamma::{beta_lower, beta_upper};
use crate::privacy::{Delta, Epsilon, Guarantee};

/// The joint guarantee of n reports after a shuffler has put them into random order, and removed everything else that
/// would reveal whose they are.
///
/// # Privacy
/// The guarantee is (ε, δ)-differential privacy in the central model, where one person's answer is replaced, against an
/// observer of the shuffled reports only. It holds if the shuffler does not collude, and for as many reports as are
/// *honest* and from *different people*, each of whom sends one:
/// - Reports that the adversary made, or whose answers and randomness it knows, hide no one and must not be counted.
/// - A person who sends a memoised response ten times hides among people, not among copies: 100 people with ten reports
///   each hide like 100, not like 1,000. If a task lets a device [report more than once](super::Task::one_report_each),
///   do not pass the number of reports here.
/// - Reports that state a period ([`TimePrecision`](super::TimePrecision)) hide only among those of the same period.
///
/// An observer of reports before they are shuffled still faces the local ε, which is never lost.
///
/// # Accuracy
/// Proved, by the hiding among clones of \[FMT21\]. Let R be the randomiser, ε₀ its ε, and x, x′ the two answers of the one person.
/// 1. By \[KOV15\] there are two laws Q, Q′ with R(x) = (e^ε₀·Q + Q′)/(e^ε₀+1) and R(x′) = (Q + e^ε₀·Q′)/(e^ε₀+1); so R(x) +
///    R(x′) = Q + Q′.
/// 2. For anybody else's answer y, R(y) ≥ e^−ε₀·max(R(x), R(x′)) ≥ e^−ε₀·(R(x) + R(x′))/2 = (e^−ε₀/2)·(Q + Q′): with probability
///    e^−ε₀ the report is drawn from Q or Q′, a fair coin deciding which, and else from some law that belongs to y.
/// 3. So the shuffled reports are made from the numbers of reports that come from Q and from Q′ without looking at the one
///    person's answer: of the others C ~ Bin(n−1, e^−ε₀) are clones, A ~ Bin(C, ½) of them from Q, and the one person's own is from Q with
///    probability e^ε₀/(e^ε₀+1) under x and 1/(e^ε₀+1) under x′. What holds for these two numbers holds for the reports.
///
/// For [two answers](Shuffled::of_bits) every report is 1 with a probability between 1/(e^ε₀+1) and e^ε₀/(e^ε₀+1), so
/// that in step 2 the clones have probability 2/(e^ε₀+1) > e^−ε₀, and there are more of them to hide among.
///
/// # Algorithm
/// Given C = c, the likelihood ratio grows with the number a of those from Q, as (e^ε₀·a + c+1−a)/(a + e^ε₀·(c+1−a)); so
/// δ_c(ε) = P(a ≥ a*) − e^ε·P′(a ≥ a*) at the best threshold a*, two tails of a fair binomial. δ_c falls with c, as one
/// more clone is post-processing; so numbers of clones are grouped into intervals, each counted as its smallest: never
/// an underestimate. Rounding errors are accounted for.
///
/// # Errors
/// If there is no honest report, or ε₀ lies outside 1e-6 to 20.
///
/// # Example
/// ```
/// use reticent::local::Shuffled;
///
/// let shuffled = Shuffled::new(100_000, &"1".parse()?)?;
/// let central = shuffled.guarantee(&"1e-6".parse()?);
/// assert!(central.epsilon().unwrap().to_f64() < 0.05); // instead of 1
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Shuffled {
    local: Epsilon,
    honest: u64,
    /// The probability that a report is a clone.
    clone: f64,
}

/// Standard deviations of the number of clones that are considered on either side, and steps in each.
const BELOW: f64 = 12.0;
const ABOVE: f64 = 4.0;
const STEPS: f64 = 16.0;
/// Tails are known to a relative 1e-10. At the best threshold the second term is no larger than the first, so that their
/// difference is off by at most twice that part of the first.
const ROUNDING: f64 = 1e-9;
/// Why tails can be computed.
const IN_RANGE: &str = "the parameters are positive and the probability lies between 0 and 1";
/// Halvings in the search for ε.
const HALVINGS: usize = 30;
/// Significant digits of the stated ε, rounded up.
const DIGITS: u32 = 6;

impl Shuffled {
    /// For `honest` reports from as many people, of any mechanism with this local ε.
    ///
    /// # Errors
    /// As described for the type.
    pub fn new(honest: u64, local: &Epsilon) -> Result<Self> {
        Self::with_clones(honest, local, |epsilon| libm::exp(-epsilon))
    }

    /// For `honest` reports from as many people, of one bit each: yes/no answers, and
    /// [`OneBitMean`](super::OneBitMean).
    ///
    /// # Errors
    /// As described for the type.
    pub fn of_bits(honest: u64, local: &Epsilon) -> Result<Self> {
        Self::with_clones(honest, local, |epsilon| 2.0 / (libm::exp(epsilon) + 1.0))
    }

    fn with_clones(honest: u64, local: &Epsilon, clone: impl Fn(f64) -> f64) -> Result<Self> {
        let epsilon = local.to_f64();
        if !(1e-6..=20.0).contains(&epsilon) {
            return Err(Error::parameter("epsilon", local, "from 1e-6 to 20 for a statement about shuffling"));
        }
        if honest == 0 {
            return Err(Error::parameter("honest reports", honest, "at least 1"));
        }
        // Rounded down: fewer clones hide less.
        Ok(Self { local: local.clone(), honest, clone: clone(epsilon) * (1.0 - 1e-15) })
    }

    /// A δ for which the shuffled reports are (ε, δ)-differentially private; an upper bound.
    ///
    /// # Errors
    /// If ε is negative or not a number.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        if epsilon.is_nan() || epsilon < 0.0 {
            return Err(Error::parameter("epsilon", epsilon, "at least 0"));
        }
        Ok(self.delta_at(epsilon))
    }

    fn delta_at(&self, epsilon: f64) -> f64 {
        if epsilon >= self.local.to_f64() {
            return 0.0;
        }
        let others = (self.honest - 1) as f64;
        let mean = others * self.clone;
        let deviation = (mean * (1.0 - self.clone)).sqrt();
        let step = (deviation / STEPS).ceil().max(1.0);
        let last = (mean + ABOVE * deviation).ceil().min(others);
        let mut clones = 0.0;
        let mut missing = self.delta_with(clones, epsilon);
        let mut sum = 0.0;
        let mut next = (mean - BELOW * deviation).floor().max(1.0);
        // Σ P(C in the interval)·δ(its start) = Σ P(C < next)·(δ(start) − δ(next)) + δ(last start).
        while next <= last {
            let fewer = self.delta_with(next, epsilon);
            sum += self.fewer_clones_than(next) * (missing - fewer).max(0.0);
            missing = missing.min(fewer);
            clones = next;
            next += step;
        }
        debug_assert!(clones <= others);
        ((sum + missing) * (1.0 + ROUNDING)).min(1.0)
    }

    /// P(C < c) for c from 1 to n − 1.
    fn fewer_clones_than(&self, c: f64) -> f64 {
        beta_upper(c, (self.honest - 1) as f64 - c + 1.0, self.clone).expect(IN_RANGE)
    }

    /// δ with exactly c clones.
    fn delta_with(&self, c: f64, epsilon: f64) -> f64 {
        let (local, growth) = (libm::exp(self.local.to_f64()), libm::exp(epsilon));
        // P(Bin(c, ½) ≥ a).
        let tail = |a: f64| {
            if a <= 0.0 {
                1.0
            } else if a > c {
                0.0
            } else {
                beta_lower(a, c - a + 1.0, 0.5).expect(IN_RANGE)
            }
        };
        // The point from which on the likelihood ratio exceeds e^ε.
        let odds = (growth * local - 1.0) / (local - growth);
        let threshold = ((c + 1.0) * odds / (1.0 + odds)).floor();
        let mut largest = 0f64;
        let mut upper = tail(threshold - 1.0);
        for a in [threshold, threshold + 1.0, threshold + 2.0] {
            let lower = tail(a);
            let excess = (local - growth) * upper - (local * growth - 1.0) * lower;
            largest = largest.max(excess + ROUNDING * (local - growth) * upper);
            upper = lower;
        }
        largest / (local + 1.0)
    }

    /// The central guarantee at a given δ: never more than the local ε.
    pub fn guarantee(&self, delta: &Delta) -> Guarantee {
        let most = delta.value().to_f64_down();
        let (mut low, mut high) = (0.0, self.local.to_f64());
        if self.delta_at(low) <= most {
            high = low;
        }
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if self.delta_at(middle) <= most { high = middle } else { low = middle }
        }
        // ε = 0 is not a valid `Epsilon`; the least that is stated is 1e-12.
        let stated = Rational::try_from(high.max(1e-12)).expect("it is finite").round_up(DIGITS);
        if stated >= *self.local.value() {
            return Guarantee::Pure(self.local.clone());
        }
        Guarantee::Approx(Epsilon::new(stated).expect("it is positive"), delta.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epsilon(text: &str) -> Epsilon {
        text.parse().unwrap()
    }

    fn binomial(n: u64, p: f64) -> Vec<f64> {
        let mut law = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; law.len() + 1];
            for (k, mass) in law.iter().enumerate() {
                next[k] += mass * (1.0 - p);
                next[k + 1] += mass * p;
            }
            law = next;
        }
        law
    }

    /// Σ max(0, P − e^ε·P′).
    fn divergence(first: &[f64], second: &[f64], epsilon: f64) -> f64 {
        first.iter().zip(second).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    /// δ of the pair of step 3, summed over all C and A.
    fn clones(local: f64, honest: u64, clone: f64, epsilon: f64) -> f64 {
        let growth = local.exp();
        let (truth, lie) = (growth / (growth + 1.0), 1.0 / (growth + 1.0));
        let number_of_clones = binomial(honest - 1, clone);
        let given = |c: usize| {
            let fair = binomial(c as u64, 0.5);
            let law = |own: f64| -> Vec<f64> {
                (0..c + 2)
                    .map(|a| {
                        let from = |a: Option<usize>| a.and_then(|a| fair.get(a)).copied().unwrap_or(0.0);
                        own * from(a.checked_sub(1)) + (1.0 - own) * from(Some(a))
                    })
                    .collect()
            };
            divergence(&law(truth), &law(lie), epsilon)
        };
        number_of_clones.iter().enumerate().map(|(c, mass)| mass * given(c)).sum()
    }

    #[test]
    fn small_crowds_are_exact() {
        for local in ["0.1", "1", "3"] {
            for honest in [1, 2, 3, 10, 60] {
                let shuffled = Shuffled::new(honest, &epsilon(local)).unwrap();
                for share in [0.0, 0.1, 0.5, 0.9] {
                    let at = share * shuffled.local.to_f64();
                    let exact = clones(shuffled.local.to_f64(), honest, shuffled.clone, at);
                    let found = shuffled.delta(at).unwrap();
                    assert!(found >= exact * (1.0 - 1e-12), "ε₀ = {local}, n = {honest}, ε = {at}: {found} < {exact}");
                    assert!(
                        found <= exact * (1.0 + 1e-4) + 1e-18,
                        "ε₀ = {local}, n = {honest}, ε = {at}: {found} > {exact}"
                    );
                }
            }
        }
    }

    /// The largest δ that the number of ones among the yes/no answers of this many people shows, whatever the others
    /// answer.
    fn strongest(local: f64, people: u64, at: f64) -> f64 {
        let truth = local.exp() / (local.exp() + 1.0);
        (0..people).fold(0f64, |worst, yes| {
            let law = |own: f64| {
                let mut law = vec![1.0];
                let others = (0..people - 1).map(|person| if person < yes { truth } else { 1.0 - truth });
                for one in others.chain([own]) {
                    let mut next = vec![0.0; law.len() + 1];
                    for (k, mass) in law.iter().enumerate() {
                        next[k] += mass * (1.0 - one);
                        next[k + 1] += mass * one;
                    }
                    law = next;
                }
                law
            };
            let (first, second) = (law(truth), law(1.0 - truth));
            worst.max(divergence(&first, &second, at)).max(divergence(&second, &first, at))
        })
    }

    /// 100 people who each send their one response ten times: the number of ones is ten times that of the 100, so the
    /// guarantee for 1,000 people does not hold for these 1,000 reports.
    #[test]
    fn copies_of_a_report_hide_nobody() {
        let delta: Delta = "1e-6".parse().unwrap();
        let stated = |people| {
            let guarantee = Shuffled::of_bits(people, &epsilon("1")).unwrap().guarantee(&delta);
            guarantee.epsilon().unwrap().to_f64()
        };
        assert!(strongest(1.0, 100, stated(100)) <= 1e-6);
        assert!(strongest(1.0, 100, stated(1_000)) > 1e-3, "the mutant was not caught");
    }

    /// An attack on n shuffled answers is never stronger than stated.
    #[test]
    fn shuffled_bits_are_as_private_as_stated() {
        for local in ["0.5", "1", "2"] {
            for honest in [2, 5, 30] {
                for share in [0.0, 0.3, 0.7] {
                    let at = share * local.parse::<f64>().unwrap();
                    let attack = strongest(local.parse().unwrap(), honest, at);
                    for stated in [Shuffled::new(honest, &epsilon(local)), Shuffled::of_bits(honest, &epsilon(local))] {
                        let stated = stated.unwrap().delta(at).unwrap();
                        assert!(attack <= stated * (1.0 + 1e-9), "{local} {honest} {at}: {attack} > {stated}");
                    }
                    // The mutant: counts reports that are not honest, or are copies.
                    let mutant = Shuffled::of_bits(20 * honest, &epsilon(local)).unwrap().delta(at).unwrap();
                    assert!(attack > mutant, "{local} {honest} {at}: the mutant was not caught");
                }
            }
        }
    }

    /// \[FMT21\] in closed form, as published; the numbers must be better, and by the factor that the paper shows.
    #[test]
    fn the_published_bound_is_beaten() {
        for (local, honest, delta) in [("0.5", 10_000, "1e-6"), ("1", 100_000, "1e-6"), ("2", 1_000_000, "1e-8")] {
            let (e, d): (f64, f64) = (local.parse::<f64>().unwrap().exp(), delta.parse().unwrap());
            let n = honest as f64;
            assert!(e.ln() <= (n / (16.0 * (2.0 / d).ln())).ln(), "where the theorem holds");
            let published =
                (1.0 + (e - 1.0) / (e + 1.0) * (8.0 * (e * (4.0 / d).ln()).sqrt() / n.sqrt() + 8.0 * e / n)).ln();
            let found = Shuffled::new(honest, &epsilon(local)).unwrap().guarantee(&delta.parse().unwrap());
            let found = found.epsilon().unwrap().to_f64();
            assert!(found < published && found > published / 20.0, "{found} against {published}");
        }
    }

    #[test]
    fn more_people_hide_better_and_one_alone_not_at_all() {
        let delta = "1e-6".parse().unwrap();
        let at = |honest| Shuffled::new(honest, &epsilon("1")).unwrap().guarantee(&delta);
        assert!(at(1).epsilon().unwrap().to_f64() > 0.99999);
        let stated = [100, 1000, 10_000, 1_000_000].map(|honest| at(honest).epsilon().unwrap().to_f64());
        assert!(stated.is_sorted_by(|fewer, more| fewer > more), "{stated:?}");
        // √n: a hundred times the people, a tenth of ε; and a little less, as less of it is needed for the same δ.
        assert!((10.0..14.0).contains(&(stated[2] / stated[3])), "{stated:?}");
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert!(Shuffled::new(10, &epsilon("21")).is_err() && Shuffled::new(0, &epsilon("1")).is_err());
        assert!(Shuffled::new(10, &epsilon("1")).unwrap().delta(f64::NAN).is_err());
    }
}
