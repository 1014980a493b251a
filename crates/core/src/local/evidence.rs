//! Complete laws P(response | answer), and what they prove; for the tests of this folder.

use std::ops::RangeInclusive;

use dashu_int::UBig;

use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::privacy::Epsilon;

/// Precision of e^−ε in the comparisons: enough for ε = 200.
const BITS: usize = 700;

/// P(response | answer) for all answers and responses, each between two fractions.
pub(crate) struct Law {
    rows: Vec<Vec<RangeInclusive<Rational>>>,
}

impl Law {
    pub fn of(answers: usize, responses: usize, mass: impl Fn(usize, usize) -> RangeInclusive<Rational>) -> Self {
        let row = |answer| (0..responses).map(|response| mass(answer, response)).collect();
        Self { rows: (0..answers).map(row).collect() }
    }

    /// An enclosure as two fractions.
    pub fn range(enclosure: &Enclosure, bits: usize) -> RangeInclusive<Rational> {
        let real = |end: &UBig| Rational::from_big(end.clone(), UBig::ONE << bits);
        real(&enclosure.lo)..=real(&enclosure.hi)
    }

    /// Can the true mass be what `exact` says?
    pub fn admits(&self, answer: u32, response: u32, exact: &RangeInclusive<Rational>) -> bool {
        let mass = &self.rows[answer as usize][response as usize];
        mass.start() <= exact.end() && exact.start() <= mass.end()
    }

    /// Does each answer's row add up to 1, as far as the bounds can tell?
    pub fn adds_up(&self) -> bool {
        self.rows.iter().all(|row| {
            let sum = |end: fn(&RangeInclusive<Rational>) -> &Rational| row.iter().map(end).cloned().sum::<Rational>();
            sum(RangeInclusive::start) <= Rational::ONE && sum(RangeInclusive::end) >= Rational::ONE
        })
    }

    /// For each response the likeliest and the unlikeliest answer: bounds of the largest ratio of their probabilities.
    fn largest_ratios(&self) -> impl Iterator<Item = (Rational, Option<Rational>)> + '_ {
        (0..self.rows[0].len()).map(|response| {
            let column = || self.rows.iter().map(move |row| &row[response]);
            let lower =
                column().map(|mass| mass.start()).max().unwrap() / column().map(|mass| mass.end()).min().unwrap();
            let least = column().map(|mass| mass.start()).min().unwrap();
            let upper = least.recip().ok().map(|inverse| column().map(|mass| mass.end()).max().unwrap() * &inverse);
            (lower, upper)
        })
    }
}

fn shrink(epsilon: &Rational) -> RangeInclusive<Rational> {
    Law::range(&exp_neg(epsilon, BITS), BITS)
}

/// Is no ratio proved to exceed e^ε?
pub(crate) fn largest_ratio_holds(law: &Law, epsilon: &Epsilon) -> bool {
    let shrink = shrink(epsilon.value());
    law.largest_ratios().all(|(lower, _)| &lower * shrink.start() <= Rational::ONE)
}

/// No ratio exceeds e^ε, the bounds leave no room for it, and some ratio reaches it to 18 digits.
pub(crate) fn assert_tight(law: &Law, epsilon: &Epsilon) {
    assert!(largest_ratio_holds(law, epsilon), "more than e^ε");
    let hair: Rational = "1e-18".parse().unwrap();
    let grown = shrink(&(epsilon.value() * &(Rational::ONE + hair.clone())));
    let less = shrink(&(epsilon.value() * &(Rational::ONE - hair)));
    let ratios: Option<Vec<_>> = law.largest_ratios().map(|(_, upper)| upper).collect();
    let ratios = ratios.expect("no probability is 0");
    assert!(ratios.iter().all(|upper| upper * grown.start() <= Rational::ONE), "the bounds are loose");
    assert!(ratios.iter().any(|upper| upper * less.start() > Rational::ONE), "promises less than it keeps");
}
