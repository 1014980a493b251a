//! What most parts of the data say, and how many say nothing.

use super::unanswered::{Count, Counted};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::mechanism::stable::mode::mode_and_gap;
use crate::mechanism::stable::{Proposal, StableRelease};
use crate::permit::PermittedDraw;
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::release::ErrorBar;

/// The share of ε, 1/N, for the number of parts without an answer where they count as a default.
const SHARE: u64 = 10;

/// Why a number of blocks, or of samples, is too small.
pub(super) const TOO_FEW: &str =
    "larger: with so few, even unanimous answers would be refused more often than not at this epsilon and delta";

/// The most frequent of k answers, of which one unit changes at most j, or a refusal; and the number of parts without
/// an answer.
///
/// # Privacy
/// Derived for [`SubsampleMode`](super::SubsampleMode).
#[derive(Debug, Clone)]
pub(super) struct Vote {
    test: StableRelease,
    count: Count,
    takes_default: bool,
}

impl Vote {
    /// Of `parts` = k answers, of which one unit changes at most `touched` = j. `test_delta` is what is left of the
    /// guarantee's δ for the test.
    ///
    /// # Errors
    /// If 2j/ε lies outside 0.001 to 2^50, δ is below e^−4096, or the parts are too few for any answer to be likely.
    pub(super) fn new(
        (parameter, parts): (&'static str, u64),
        touched: u64,
        takes_default: bool,
        (epsilon, delta): (&Epsilon, &Delta),
        test_delta: &Delta,
    ) -> Result<Self> {
        // Where it saturates, no threshold fits 64 bits.
        let double = touched.saturating_mul(2);
        let (test_epsilon, scale) = if takes_default {
            let share = epsilon.value() / &Rational::from(SHARE);
            (Epsilon::new(epsilon.value() - &share)?, &Rational::from(touched) / &share)
        } else {
            (epsilon.clone(), &Rational::from(double) / epsilon.value())
        };
        let guarantee = Guarantee::Approx(epsilon.clone(), delta.clone());
        let test = StableRelease::new(double, &test_epsilon, test_delta)?.promising(guarantee);
        if test.threshold() > parts {
            return Err(Error::parameter(parameter, parts, TOO_FEW));
        }
        Ok(Self { test, count: Count::new(parts, scale)?, takes_default })
    }

    pub(super) fn test(&self) -> &StableRelease {
        &self.test
    }

    pub(super) fn takes_default(&self) -> bool {
        self.takes_default
    }

    pub(super) fn count_error(&self) -> ErrorBar {
        self.count.error_bar()
    }

    /// The probability of a refusal at this lead, if every part has an answer: of either reason, by the union bound.
    pub(super) fn refusal_probability(&self, lead: u64) -> f64 {
        let silence = if self.takes_default { 0.0 } else { self.count.false_alarm() };
        (self.test.refusal_probability(lead) + silence).min(1.0)
    }

    /// The outcome, and the number of parts without an answer, which count as the default if there is one. (A vote
    /// that takes none must not be given one.)
    pub(super) fn decide<A: Ord>(
        &self,
        answers: impl Iterator<Item = Option<A>>,
        default: Option<A>,
        draw: &mut PermittedDraw<'_>,
    ) -> Counted<A> {
        let mut silent = 0;
        let mut given: Vec<(A, u64)> = Vec::new();
        answers.for_each(|answer| match answer {
            Some(answer) => given.push((answer, 1)),
            None => silent += 1,
        });
        given.extend(default.map(|default| (default, silent)));
        let (answer, distance) = mode_and_gap(given);
        let unanswered = self.count.draw(silent, draw);
        let answer = answer.filter(|_| self.takes_default || !unanswered.is_most());
        Counted::new(self.test.decide(Proposal { answer, distance }, draw), unanswered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use crate::permit::Permit;

    fn vote(parts: u64, touched: u64, takes_default: bool, epsilon: &str, delta: &str) -> Vote {
        let (epsilon, delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        Vote::new(("number of parts", parts), touched, takes_default, (&epsilon, &delta), &delta).unwrap()
    }

    /// The most frequent answer, its lead, and the number of parts without an answer.
    fn tally(answers: &[Option<u8>], default: Option<u8>) -> (Option<u8>, u64, u64) {
        let silent = answers.iter().filter(|answer| answer.is_none()).count() as u64;
        let (mode, lead) =
            mode_and_gap(answers.iter().filter_map(|answer| answer.or(default)).map(|answer| (answer, 1)));
        (mode, lead, silent)
    }

    /// All answers of five parts, of three kinds or none, with one or two of them replaced: lead and count together lose
    /// at most ε, and exactly ε in the worst case without a default; where the winner changes, the lead is at most C.
    #[test]
    fn lead_and_count_move_by_no_more_than_the_noise_is_made_for() {
        const PARTS: u32 = 5;
        let of = |code: u32| -> Vec<Option<u8>> {
            (0..PARTS).map(|part| Some((code / 4u32.pow(part) % 4) as u8).filter(|answer| *answer < 3)).collect()
        };
        let all: Vec<Vec<Option<u8>>> = (0..4u32.pow(PARTS)).map(of).collect();
        for (touched, default) in [(1, None), (1, Some(0)), (2, None), (2, Some(0))] {
            let vote = vote(200, touched, default.is_some(), "1", "1e-8");
            let (lead_scale, count_scale) = (vote.test.noise().scale(), vote.count.noise().scale());
            let mut most = Rational::ZERO;
            for one in &all {
                for other in &all {
                    if one.iter().zip(other).filter(|(one, other)| one != other).count() as u64 > touched {
                        continue;
                    }
                    let (one, other) = (tally(one, default), tally(other, default));
                    let lead = Rational::from(one.1.abs_diff(other.1));
                    let count = Rational::from(one.2.abs_diff(other.2));
                    most = most.max(&lead / lead_scale + &count / count_scale);
                    assert!(one.0 == other.0 || one.1.max(other.1) <= vote.test.lipschitz());
                }
            }
            assert_eq!(most, Rational::ONE, "{touched} {default:?}");
        }
    }

    /// At ε = 1000 there is no noise, and the threshold is 3.
    #[test]
    fn parts_without_an_answer_are_counted_and_do_not_vote() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let mut decide = |answers: [(Option<u8>, usize); 3], default: Option<u8>| {
            let vote = vote(10, 1, default.is_some(), "1000", "1e-3");
            assert_eq!(vote.test.threshold(), 3);
            let mut draw = permit.spend(vote.test.guarantee()).unwrap();
            let answers = answers.into_iter().flat_map(|(answer, times)| vec![answer; times]);
            let counted = vote.decide(answers, default, &mut draw);
            (counted.unanswered().number(), counted.released().map(|release| release.into_value()))
        };
        assert_eq!(decide([(Some(1), 10), (None, 0), (Some(2), 0)], None), (0, Some(1)));
        assert_eq!(decide([(Some(1), 4), (None, 5), (Some(2), 1)], None), (5, Some(1)));
        assert_eq!(decide([(Some(1), 4), (None, 4), (Some(2), 2)], None), (4, None));
        // More than half.
        assert_eq!(decide([(Some(1), 4), (None, 6), (Some(2), 0)], None), (6, None));
        assert_eq!(decide([(Some(1), 0), (None, 10), (Some(2), 0)], None), (10, None));
        // The default votes, and may win.
        assert_eq!(decide([(Some(1), 4), (None, 6), (Some(2), 0)], Some(1)), (6, Some(1)));
        assert_eq!(decide([(Some(1), 3), (None, 7), (Some(2), 0)], Some(2)), (7, Some(2)));
        assert_eq!(decide([(Some(1), 5), (None, 5), (Some(2), 0)], Some(2)), (5, None));
    }

    /// The count shares ε with the test where there is a default, and is free otherwise.
    #[test]
    fn a_default_costs_a_tenth() {
        let (free, shared) = (vote(200, 1, false, "1", "1e-8"), vote(200, 1, true, "1", "1e-8"));
        assert_eq!((free.count.noise().scale(), shared.count.noise().scale()), (&2.into(), &10.into()));
        assert_eq!((free.test.noise().scale(), shared.test.noise().scale()), (&2.into(), &"20/9".parse().unwrap()));
        assert_eq!((free.test.threshold(), shared.test.threshold()), (38, 42));
        assert_eq!(free.test.guarantee(), shared.test.guarantee());
        assert_eq!((free.count_error().half_width(), shared.count_error().half_width()), (6.0, 30.0));
        let expected = free.test.refusal_probability(60) + free.count.false_alarm();
        assert_eq!(free.refusal_probability(60), expected);
    }
}
