//! Exact divergence between output laws, for tests: no simulation, every number enclosed.

use dashu_int::UBig;

use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};

/// Precision of every enclosure here.
pub(crate) const BITS: usize = 256;

/// The probabilities of a mechanism's outcomes, in a fixed order.
pub(crate) type Law = Vec<Enclosure>;

pub(crate) fn zero() -> Enclosure {
    Enclosure { lo: UBig::ZERO, hi: UBig::ZERO }
}

/// The joint law of independent outcomes.
pub(crate) fn product(laws: &[Law]) -> Law {
    laws.iter().fold(vec![Enclosure::one(BITS)], |joint, law| {
        joint.iter().flat_map(|left| law.iter().map(move |right| left.times(right, BITS))).collect()
    })
}

/// The smallest δ with P(S) ≤ e^ε·Q(S) + δ for all S, enclosed: Σ max(0, P(y) − e^ε·Q(y)).
pub(crate) fn hockey_stick(epsilon: &Rational, p: &Law, q: &Law) -> (Rational, Rational) {
    assert_eq!(p.len(), q.len());
    let factor = Enclosure::one(BITS).over(&exp_neg(epsilon, BITS), BITS);
    let total = p.iter().zip(q).fold(zero(), |total, (p, q)| total.add(&p.minus(&q.times(&factor, BITS))));
    let real = |bound: UBig| Rational::from_big(bound, UBig::ONE << BITS);
    (real(total.lo), real(total.hi))
}

/// The largest hockey-stick divergence over pairs of laws, in both directions: (certainly at least, certainly at most).
pub(crate) fn worst<'a>(
    epsilon: &Rational,
    pairs: impl IntoIterator<Item = (&'a Law, &'a Law)>,
) -> (Rational, Rational) {
    let mut worst = (Rational::ZERO, Rational::ZERO);
    for (left, right) in pairs {
        for (p, q) in [(left, right), (right, left)] {
            let (lo, hi) = hockey_stick(epsilon, p, q);
            worst = (worst.0.max(lo), worst.1.max(hi));
        }
    }
    worst
}

/// Beyond the resolution of 256-bit enclosures.
pub(crate) fn hair() -> Rational {
    Rational::from_big(UBig::ONE, UBig::ONE << 200)
}

/// All pairs of count vectors over `keys` keys that differ by one unit: every choice of the other units' counts (each
/// below `most`), of the unit's keys before (none under add/remove) and of its keys after, at most `max_groups` each.
pub(crate) fn neighbours(keys: usize, most: u64, max_groups: u32, replace: bool) -> Vec<(Vec<u64>, Vec<u64>)> {
    let sets: Vec<u32> = (0..1u32 << keys).filter(|set| set.count_ones() <= max_groups).collect();
    let before = if replace { sets.clone() } else { vec![0] };
    let mut pairs = Vec::new();
    for code in 0..most.pow(keys as u32) {
        let others: Vec<u64> = (0..keys as u32).map(|key| code / most.pow(key) % most).collect();
        let with =
            |set: u32| others.iter().enumerate().map(|(key, n)| n + u64::from(set >> key & 1)).collect::<Vec<_>>();
        for &left in &before {
            pairs
                .extend(sets.iter().filter(|&&right| !replace || left < right).map(|&right| (with(left), with(right))));
        }
    }
    pairs
}
