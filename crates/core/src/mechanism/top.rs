//! The candidates with the highest scores.

use std::collections::{BTreeMap, BinaryHeap};

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg_ratio};
use crate::noise::bernoulli::{Prefix, is_below};
use crate::noise::bits::{BitSource, always};
use crate::noise::uniform::below;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};

/// How one unit can move the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// All in the same direction: counts, where units are added or removed.
    OneWay,
    /// Each up or down: counts, where a unit is replaced by another.
    AnyWay,
}

/// Selects the k candidates with the highest scores, without releasing the scores.
///
/// With k = 1 this is *report noisy max* with exponential noise, also known as *permute and flip* \[MS20\].
///
/// # Privacy
/// ε-differential privacy if one unit moves each score by at most Δ, however many scores it moves: the number of groups
/// that a unit is in does not matter.
///
/// Each of the k rounds is ε/k-private and selects one of the remaining candidates; rounds add up. In a round, let every
/// candidate have independent exponential noise eᵢ of rate γ on its score qᵢ, and let the highest sum win. Fix all noise
/// but that of candidate r. It wins if e_r exceeds t = max_{s≠r}(q_s + e_s) − q_r, which has probability
/// min(1, e^(−γt)). With the scores of a neighbour, t is at most 2Δ larger: the maximum may be Δ higher and q_r lower by
/// Δ. So the probability is at least e^(−2Δγ) times as large, and γ = ε/(2kΔ) suffices. If all scores move in the same
/// direction, only one of the two can happen ([`Moves::OneWay`]), and γ = ε/(kΔ) suffices.
///
/// # Accuracy
/// A candidate whose score is t below the best of its round wins with probability at most e^(−γt). Over n candidates
/// and k rounds, with probability 95 % every selected candidate is within ln(20·k·(n − 1))/γ of the best that was left:
/// the half-width of the error bar. The exponential mechanism with the same guarantee misses the best by as much or
/// more on average, up to twice as much \[MS20\].
///
/// # Algorithm
/// The sums need not be drawn. Let q* be the best score. Candidate i exceeds q* with probability e^(−γ(q* − qᵢ)),
/// independently of the others, and the best one always does. As the exponential law has no memory, the excesses of
/// those that exceed q* have the same law, so each of them is equally likely to win. Hence: go through the candidates in
/// random order, toss a coin of that probability for each, and select the first that shows heads. Coins are exact.
/// A round tosses one coin per candidate at most, usually far fewer: k·n in all.
///
/// # Errors
/// If k or Δ is 0; (when releasing) if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::{Moves, Top};
///
/// // The two busiest of four wards; a patient is in any number of wards, once in each.
/// let busiest = Top::new(2, 1, Moves::OneWay, &"0.5".parse()?)?;
/// let wards = busiest.release(&[812, 1530, 20, 1495], &mut Permit::unaccounted()?)?;
/// let mut wards = wards.into_value();
/// wards.sort();
/// assert_eq!(wards, [1, 3]);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Top {
    guarantee: Guarantee,
    k: usize,
    /// γ.
    rate: Rational,
}

impl Top {
    /// The k best candidates, where one unit moves each score by at most `sensitivity`.
    ///
    /// # Errors
    /// If k or the sensitivity is 0.
    pub fn new(k: u32, sensitivity: u64, moves: Moves, epsilon: &Epsilon) -> Result<Self> {
        if k == 0 {
            return Err(Error::parameter("k", k, "at least 1"));
        }
        if sensitivity == 0 {
            return Err(Error::parameter("sensitivity", sensitivity, "at least 1"));
        }
        let both = match moves {
            Moves::OneWay => 1_u64,
            Moves::AnyWay => 2,
        };
        let shares = Rational::from(both) * Rational::from(u64::from(k)) * Rational::from(sensitivity);
        Ok(Self { guarantee: Guarantee::Pure(epsilon.clone()), k: k as usize, rate: epsilon.value() / &shares })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// γ.
    pub(super) fn rate(&self) -> &Rational {
        &self.rate
    }

    /// How far below the best that was left a selected candidate can be, at 95 %, with this many candidates.
    pub fn error_bar(&self, candidates: usize) -> ErrorBar {
        let others = (self.k.min(candidates) * candidates.saturating_sub(1)) as f64;
        let half_width = if others == 0.0 { 0.0 } else { libm::log(others / (1.0 - LEVEL)) / self.rate.to_f64() };
        // The logarithm is that of 20 or more, and the rate is not negative.
        ErrorBar::new(half_width, LEVEL).expect("a half-width of 0 or more, at a level between 0 and 1")
    }

    /// The probability that each candidate is selected first.
    ///
    /// Candidate r is selected with probability Σⱼ p_r·P(j of the others exceed the best score)/(j + 1).
    pub(crate) fn first_selected(&self, scores: &[i64], bits: usize) -> Vec<Enclosure> {
        let work = bits + 32;
        let (one, best) = (Enclosure::one(work), scores.iter().copied().max().unwrap_or_default());
        let exceeds: Vec<Enclosure> =
            scores.iter().map(|score| probability(&self.rate, best.abs_diff(*score), work)).collect();
        let selected = |candidate: usize| {
            // How many of the others exceed it.
            let mut law = vec![one.clone()];
            for (_, heads) in exceeds.iter().enumerate().filter(|(other, _)| *other != candidate) {
                let tails = one.minus(heads);
                let mut next: Vec<Enclosure> = law.iter().map(|mass| mass.times(&tails, work)).collect();
                next.push(Enclosure { lo: 0_u8.into(), hi: 0_u8.into() });
                for (more, mass) in next[1..].iter_mut().zip(&law) {
                    *more = more.add(&mass.times(heads, work));
                }
                law = next;
            }
            let shares = (1_u64..).zip(law).map(|(winners, mass)| {
                let share = Enclosure::rational(&(Rational::ONE / Rational::from(winners)), work);
                mass.times(&share, work)
            });
            let share = shares.reduce(|sum, more| sum.add(&more)).expect("at least one");
            share.times(&exceeds[candidate], work).coarsen(work, bits)
        };
        (0..scores.len()).map(selected).collect()
    }

    /// The best of some candidates, of which there must be one, with a draw that has already been paid for.
    pub(super) fn select_with(&self, scores: &[i64], draw: &mut PermittedDraw<'_>) -> usize {
        always(Round::new(self.rate.clone(), scores).select(draw))
    }

    /// Releases the indices of the selected candidates, the first selected first; all of them if there are at most k.
    /// The order of the scores must not depend on the data.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, scores: &[i64], permit: &mut Permit) -> Result<Release<Vec<usize>>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let mut round = Round::new(self.rate.clone(), scores);
        let selected = (0..self.k.min(scores.len())).map(|_| always(round.select(&mut draw))).collect();
        Ok(Release::new(selected, self.error_bar(scores.len()), self.guarantee.clone(), draw.accounting().clone()))
    }
}

/// e^(−γd): how likely a candidate d below the best one is to exceed it.
fn probability(rate: &Rational, below_best: u64, bits: usize) -> Enclosure {
    exp_neg_ratio(&(rate.numerator() * below_best), rate.denominator(), bits)
}

/// The candidates that are left.
pub(super) struct Round<'a> {
    rate: Rational,
    scores: &'a [i64],
    left: Vec<usize>,
    /// Scores with their candidates, the best on top; candidates that were selected stay until they are there.
    best: BinaryHeap<(i64, usize)>,
    is_selected: Vec<bool>,
    /// 64 bits of the probability of heads, from below and from above, by how far a score is below the best one:
    /// differences repeat.
    words: BTreeMap<u64, [u128; 2]>,
}

/// Bits of a probability that are precomputed.
const WORD: usize = 64;
/// The most probabilities that are remembered: some 4 MB.
const MOST_WORDS: usize = 1 << 16;

impl<'a> Round<'a> {
    pub fn new(rate: Rational, scores: &'a [i64]) -> Self {
        let best = scores.iter().copied().zip(0..).collect();
        let is_selected = vec![false; scores.len()];
        Self { rate, scores, left: (0..scores.len()).collect(), best, is_selected, words: BTreeMap::new() }
    }

    /// Selects and removes one of those that are left, of which there must be one.
    pub fn select<B: BitSource + ?Sized>(&mut self, source: &mut B) -> Result<usize, B::Error> {
        while self.best.peek().is_some_and(|&(_, one)| self.is_selected[one]) {
            self.best.pop();
        }
        let best = self.best.peek().map_or(0, |&(score, _)| score);
        let mut place = 0;
        loop {
            // The order is drawn as far as it is needed. The best one ends it: its coin always shows heads.
            let next = place as u64 + below((self.left.len() - place) as u64, source)?;
            self.left.swap(place, next as usize);
            let below_best = best.abs_diff(self.scores[self.left[place]]);
            if below_best == 0 || self.exceeds(below_best, source)? {
                let selected = self.left.swap_remove(place);
                self.is_selected[selected] = true;
                return Ok(selected);
            }
            place += 1;
        }
    }

    /// Tosses the coin of a candidate: is a uniform real number, drawn bit by bit, below the probability?
    fn exceeds<B: BitSource + ?Sized>(&mut self, below_best: u64, source: &mut B) -> Result<bool, B::Error> {
        let probability = |bits: usize| probability(&self.rate, below_best, bits);
        let word = || {
            let Enclosure { lo, hi } = probability(WORD);
            // At most 2^64.
            [lo, hi].map(|end| u128::try_from(&end).unwrap_or(1 << WORD))
        };
        if self.words.len() >= MOST_WORDS {
            self.words.clear();
        }
        let [lo, hi] = *self.words.entry(below_best).or_insert_with(word);
        let mut value = 0_u128;
        for left in (0..WORD).rev() {
            value |= u128::from(source.bits(1)?) << left;
            // It is at least this, and less than one step of the last bit more.
            if value + (1 << left) <= lo {
                return Ok(true);
            }
            if value >= hi {
                return Ok(false);
            }
        }
        is_below(Prefix { bits: WORD, value: value.into() }, source, probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::mechanism::divergence::{self, BITS, hair};

    fn top(k: u32, sensitivity: u64, moves: Moves, epsilon: &str) -> Top {
        Top::new(k, sensitivity, moves, &epsilon.parse().unwrap()).unwrap()
    }

    /// Every branch of the sampler, against the law.
    #[test]
    fn the_sampler_follows_the_law() {
        for scores in [&[0, 0][..], &[3, 1], &[0, 2, 1], &[5, 5, 4, 1]] {
            let top = top(1, 1, Moves::OneWay, "2/3");
            let law = enumerate(18, |tape| Round::new(top.rate.clone(), scores).select(tape));
            assert!(*law.unresolved() < "0.03".parse().unwrap(), "{}", law.unresolved().to_f64());
            for (candidate, mass) in top.first_selected(scores, 64).iter().enumerate() {
                assert!(law.admits_enclosure(&candidate, mass, 64), "{scores:?}: {candidate}");
            }
        }
    }

    #[test]
    fn the_law_is_one_in_all() {
        let scores = [9, 4, 4, -7, 8, 0];
        let masses = top(2, 3, Moves::AnyWay, "1.5").first_selected(&scores, BITS);
        let sum = masses.into_iter().reduce(|sum, more| sum.add(&more)).unwrap();
        let one = Enclosure::one(BITS);
        assert!(sum.lo <= one.hi && one.lo <= sum.hi);
    }

    /// All tables of three small scores against all that one unit can make of them.
    fn worst(top: &Top, epsilon: &Rational, moves: Moves) -> (Rational, Rational) {
        let tables: Vec<[i64; 3]> = (0..64).map(|code| [code % 4, code / 4 % 4, code / 16]).collect();
        let is_neighbour = |one: &[i64; 3], other: &[i64; 3]| {
            let by: Vec<i64> = one.iter().zip(other).map(|(one, other)| other - one).collect();
            let up = by.iter().all(|by| (0..=1).contains(by));
            let down = by.iter().all(|by| (-1..=0).contains(by));
            up || down || moves == Moves::AnyWay && by.iter().all(|by| by.abs() <= 1)
        };
        let laws: Vec<Vec<Enclosure>> = tables.iter().map(|table| top.first_selected(table, BITS)).collect();
        let mut pairs = Vec::new();
        for (one, law) in tables.iter().zip(&laws) {
            pairs.extend(
                tables.iter().zip(&laws).filter(|(other, _)| is_neighbour(one, other)).map(|(_, other)| (law, other)),
            );
        }
        divergence::worst(epsilon, pairs)
    }

    /// The exact δ of the promised ε is 0, and that of a slightly smaller one is not.
    #[test]
    fn it_costs_what_it_promises() {
        for moves in [Moves::OneWay, Moves::AnyWay] {
            let epsilon: Rational = "3/2".parse().unwrap();
            let top = top(1, 1, moves, "3/2");
            assert!(worst(&top, &epsilon, moves).1 <= hair(), "{moves:?}");
            assert!(worst(&top, &"1.3".parse().unwrap(), moves).0 > hair(), "{moves:?}: the bound is not reached");
        }
        // Mutant: the rate of scores that all move the same way, where they do not.
        let (least, _) = worst(&top(1, 1, Moves::OneWay, "3/2"), &"3/2".parse().unwrap(), Moves::AnyWay);
        assert!(least > "0.01".parse().unwrap(), "{}", least.to_f64());
    }

    #[test]
    fn rounds_share_the_budget() {
        assert_eq!(top(4, 3, Moves::AnyWay, "12").rate, "1/2".parse().unwrap());
        assert_eq!(top(4, 3, Moves::OneWay, "12").rate, Rational::ONE);
        let epsilon = "1".parse().unwrap();
        assert!(Top::new(0, 1, Moves::OneWay, &epsilon).is_err() && Top::new(1, 0, Moves::OneWay, &epsilon).is_err());
    }

    #[test]
    fn everything_is_selected_if_there_is_no_more() {
        let mut permit = Permit::unaccounted().unwrap();
        let few = top(5, 1, Moves::OneWay, "1").release(&[2, 9, 4], &mut permit).unwrap();
        let mut all = few.value().clone();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert!(top(5, 1, Moves::OneWay, "1").release(&[], &mut permit).unwrap().value().is_empty());
        let extreme = top(1, 1, Moves::AnyWay, "1").release(&[i64::MIN, i64::MAX], &mut permit).unwrap();
        assert_eq!(extreme.value(), &[1]);
    }

    #[test]
    fn the_error_bar_holds() {
        let scores: Vec<i64> = (0..200).map(|score| score % 50).collect();
        let top = top(5, 1, Moves::OneWay, "2");
        let (mut permit, mut held) = (Permit::unaccounted().unwrap(), 0);
        for _ in 0..400 {
            let released = top.release(&scores, &mut permit).unwrap();
            let mut left = scores.clone();
            let within = released.value().iter().all(|&one| {
                let best = *left.iter().max().unwrap();
                let score = std::mem::replace(&mut left[one], i64::MIN);
                (best - score) as f64 <= released.error_bar().half_width()
            });
            held += usize::from(within);
        }
        assert!(held >= 376, "{held} of 400");
    }
}
