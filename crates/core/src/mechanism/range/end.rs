//! The place in which most of the rows on one side of 0 end.

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::mechanism::top::{Moves, Top};
use crate::permit::PermittedDraw;
use crate::privacy::Epsilon;

/// The weight of rows that support a place; those beyond it have weight 1.
const SUPPORT: i64 = 19;
/// How much more one row can move one score than another.
const SPREAD: u64 = SUPPORT as u64 + 1;

/// Chooses the place in which the rows on one side of 0 end, but for about t of them, or none.
///
/// # Privacy
/// Let place i have nᵢ rows up to it, Nᵢ from it on, and Bᵢ beyond it. Its score is
///
/// > qᵢ = 19·min(nᵢ, Nᵢ, t) − max(0, Bᵢ − t),
///
/// and the score of *none* is a constant. One more row moves each score by at least −1 and at most 19, as it adds 1 to
/// some of the numbers, and fewer rows do the opposite; so after r rows have changed, added or removed, the moves of
/// two scores differ by at most 20·r. Adding the same number to all scores changes no selection. Hence this is
/// [`Top`] with scores that all move the same way, by at most 20·r. If a unit changes at most S rows in all, this costs
/// ε·r/S for the r of them that are on this side, and ε for both sides together.
#[derive(Debug, Clone)]
pub(crate) struct EndChoice {
    top: Top,
    /// t.
    pub(crate) cap: i64,
    /// The score of none.
    pub(crate) none: i64,
}

impl EndChoice {
    /// One unit changes at most `changed` rows on both sides together. Any constants are private.
    pub(crate) fn new(changed: u64, epsilon: &Epsilon, cap: i64, none: i64) -> Result<Self> {
        let moved = changed.checked_mul(SPREAD);
        let moved = moved.ok_or_else(|| Error::parameter("rows of a unit", changed, "less than 2^59"))?;
        Ok(Self { top: Top::new(1, moved, Moves::OneWay, epsilon)?, cap, none })
    }

    /// With constants such that
    /// - a place without support wins against none with probability at most e^−`false_alarm`,
    /// - none wins against a place with the most support, t rows, with probability at most e^−`miss`.
    pub(crate) fn calibrated(changed: u64, epsilon: &Epsilon, false_alarm: &Rational, miss: &Rational) -> Result<Self> {
        let nat = &Rational::from(changed) * &Rational::from(SPREAD) / epsilon.value().clone();
        let whole = |scores: Rational| {
            i64::try_from(&scores.ceil())
                .map_err(|_| Error::parameter("epsilon", epsilon.value(), "larger, because a unit has many rows"))
        };
        let none = whole(false_alarm * &nat)?;
        let cap = whole((Rational::from(none) + miss * &nat) / Rational::from(SUPPORT))?;
        Self::new(changed, epsilon, cap, none)
    }

    /// The fewest rows on one side that are found with probability at least 1 − e^−`miss`.
    ///
    /// The place of the median has n ≥ m/2 and N ≥ m/2 of m rows, and if these are fewer than t, nothing is subtracted.
    /// If they are not, the place of the t-th row from the outside has n, N ≥ t and B < t. So the best score is at least
    /// 19·min(m/2, t).
    pub(crate) fn enough(&self, miss: &Rational) -> i64 {
        let needed = Rational::from(self.none) + miss / self.top.rate();
        // At most twice the cap, which is finite.
        i64::try_from(&(needed / Rational::from(SUPPORT)).ceil()).map_or(i64::MAX, |half| half.saturating_mul(2))
    }

    /// The scores of all places, and of none.
    fn scores(&self, places: &[i64]) -> Vec<i64> {
        let all = places.iter().fold(0, |sum: i64, rows| sum.saturating_add(*rows));
        let mut up_to = 0_i64;
        let score = |rows: &i64| {
            let nearer = up_to;
            up_to = up_to.saturating_add(*rows);
            let (from, beyond) = (all - nearer, all - up_to);
            SUPPORT * up_to.min(from).min(self.cap) - (beyond - self.cap).max(0)
        };
        let mut scores: Vec<i64> = places.iter().map(score).collect();
        scores.push(self.none);
        scores
    }

    /// The place, or none, for rows in places that go from 0 outwards.
    pub(crate) fn choose(&self, places: &[i64], draw: &mut PermittedDraw<'_>) -> Option<usize> {
        Some(self.top.select_with(&self.scores(places), draw)).filter(|&chosen| chosen < places.len())
    }

    /// The probability of each place, and of none.
    pub(crate) fn law(&self, places: &[i64], bits: usize) -> Vec<Enclosure> {
        self.top.first_selected(&self.scores(places), bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::divergence::{self, BITS, Law, hair};

    fn choice(changed: u64, epsilon: &str, cap: i64, none: i64) -> EndChoice {
        EndChoice::new(changed, &epsilon.parse().unwrap(), cap, none).unwrap()
    }

    #[test]
    fn scores_are_the_support_less_what_lies_far_beyond() {
        let choice = choice(1, "1", 10, 7);
        assert_eq!(choice.scores(&[0, 3, 20, 4, 0]), [-17, 19 * 3 - 14, 19 * 10, 19 * 4, 0, 7]);
        assert_eq!(choice.scores(&[0, 0]), [0, 0, 7]);
        assert_eq!(choice.scores(&[i64::MAX, i64::MAX])[2], 7);
    }

    /// The worst divergence between neighbours: all tables with up to three rows in each of four places, of which the
    /// first `below` are on one side of 0 and the others on the other, and a unit with this many rows, anywhere.
    fn worst(choice: &EndChoice, epsilon: &str, below: usize, rows: i64, replace: bool) -> (Rational, Rational) {
        let tables = (0..256).map(|code: i64| [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6]);
        let joint = |table: [i64; 4]| {
            let (one, other) = table.split_at(below);
            (table, divergence::product(&[choice.law(one, BITS), choice.law(other, BITS)]))
        };
        let laws: Vec<([i64; 4], Law)> = tables.map(joint).collect();
        let is_neighbour = |one: &[i64; 4], other: &[i64; 4]| {
            let by = [0, 1, 2, 3].map(|place| other[place] - one[place]);
            let more: i64 = by.iter().filter(|by| **by > 0).sum();
            let less: i64 = by.iter().filter(|by| **by < 0).sum();
            more <= rows && (0..=if replace { rows } else { 0 }).contains(&-less)
        };
        let mut pairs = Vec::new();
        for (one, law) in &laws {
            pairs.extend(laws.iter().filter(|(other, _)| is_neighbour(one, other)).map(|(_, other)| (law, other)));
        }
        divergence::worst(&epsilon.parse().unwrap(), pairs)
    }

    /// Both ends together cost ε, however one unit's rows are spread over the two sides.
    #[test]
    fn both_ends_cost_what_they_promise() {
        for (rows, replace, changed) in [(1, false, 1), (2, false, 2), (1, true, 2)] {
            assert!(worst(&choice(changed, "2", 2, 30), "2", 2, rows, replace).1 <= hair(), "{rows} {replace}");
            // Mutant: noise for one row where two change.
            if changed == 2 {
                let (least, _) = worst(&choice(1, "2", 2, 30), "2", 2, rows, replace);
                assert!(least > "0.001".parse().unwrap(), "{rows} {replace}: {}", least.to_f64());
            }
        }
    }

    /// A row may support one place and lie far beyond another, so that its weights add up: less noise does not suffice.
    #[test]
    fn the_spread_is_the_sum_of_both_weights() {
        assert!(worst(&choice(1, "2", 2, 30), "2", 4, 1, false).1 <= hair());
        assert!(worst(&choice(1, "2", 2, 30), "1.95", 4, 1, false).0 > hair(), "the bound is not reached");
        assert!(worst(&choice(1, "40/19", 2, 30), "2", 4, 1, false).0 > hair());
    }

    #[test]
    fn constants_keep_their_promises() {
        let (false_alarm, miss) = ("11.25".parse().unwrap(), "5.3".parse().unwrap());
        let choice = EndChoice::calibrated(2, &"0.5".parse().unwrap(), &false_alarm, &miss).unwrap();
        let rate = choice.top.rate().to_f64();
        assert_eq!(rate, 0.0125);
        assert!((choice.none as f64 * rate - 11.25).abs() < rate);
        assert!((SUPPORT as f64 * choice.cap as f64 - choice.none as f64) * rate >= 5.3);
        // The median of this many rows, all in one place or each in another, has a score that none rarely beats.
        let enough = choice.enough(&miss);
        assert_eq!(enough, 2 * choice.cap);
        for places in [vec![enough], vec![1; enough as usize], vec![0, enough / 2, 0, 0, enough - enough / 2]] {
            let best = *choice.scores(&places)[..places.len()].iter().max().unwrap();
            assert!((best - choice.none) as f64 * rate >= 5.3, "{best}");
        }
        assert!(EndChoice::calibrated(1 << 40, &"1e-12".parse().unwrap(), &false_alarm, &miss).is_err());
    }
}
