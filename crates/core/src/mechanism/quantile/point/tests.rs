//! The exact law of the released point, for every small table and each of its neighbours.

use std::collections::BTreeMap;

use dashu_int::UBig;

use super::*;
use crate::audit::enumerate::enumerate;
use crate::audit::{ExpectedLaw, FALSE_ALARM, GoodnessOfFit};
use crate::noise::Entropy;
use crate::noise::bits::always;
use crate::privacy::Adjacency;

const BITS: usize = 128;
pub(in super::super) const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::Replace];

pub(in super::super) fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

fn target(p: &str, epsilon: &Rational, adjacency: Adjacency) -> Target {
    let p = Fraction::new(&rational(p)).unwrap();
    let sensitivity = if adjacency == Adjacency::Replace { p.b } else { p.larger() };
    Target::new(p, epsilon, sensitivity)
}

fn table(sorted: &[i64], points: i64) -> Table<'_> {
    Table { sorted, lo: 0, hi: points - 1 }
}

/// All sorted tables of n values from 0 to points − 1.
pub(in super::super) fn tables(points: i64, n: usize) -> Vec<Vec<i64>> {
    (0..n).fold(vec![Vec::new()], |shorter, _| {
        let longer = shorter.iter().flat_map(|table| {
            let from = table.last().copied().unwrap_or(0);
            (from..points).map(move |value| table.iter().copied().chain([value]).collect())
        });
        longer.collect()
    })
}

/// All pairs of neighbours with up to n values.
pub(in super::super) fn neighbours(points: i64, n: usize, adjacency: Adjacency) -> Vec<(Vec<i64>, Vec<i64>)> {
    let with = |table: &[i64], value: i64| {
        let mut longer: Vec<i64> = table.iter().copied().chain([value]).collect();
        longer.sort_unstable();
        longer
    };
    let mut pairs = Vec::new();
    for rest in (0..n).flat_map(|size| tables(points, size)) {
        for value in 0..points {
            match adjacency {
                Adjacency::AddRemove => pairs.push((rest.clone(), with(&rest, value))),
                Adjacency::Replace => {
                    pairs.extend((0..value).map(|other| (with(&rest, other), with(&rest, value))));
                }
            }
        }
    }
    pairs
}

fn distances(target: &Target, values: &[i64], points: i64) -> Vec<u128> {
    let table = table(values, points);
    (0..points)
        .map(|z| {
            let (below, above) = table.ranks(z);
            target.distance(below, above, values.len())
        })
        .collect()
}

/// Does some pair of laws of neighbours differ by more than a factor e^ε?
fn breaks(target: &Target, epsilon: &Rational, points: i64, n: usize, adjacency: Adjacency) -> bool {
    let law = |values: &Vec<i64>| target.law(&table(values, points), BITS);
    let pairs = neighbours(points, n, adjacency);
    differ(pairs.iter().map(|(left, right)| (law(left), law(right))), epsilon)
}

/// The same of any laws, enclosed to 128 bits: larger differences than that are certain.
pub(in super::super) fn differ(
    pairs: impl Iterator<Item = (Vec<Enclosure>, Vec<Enclosure>)>,
    epsilon: &Rational,
) -> bool {
    let shrink = exp_neg(epsilon, BITS);
    let exceeds = |p: &[Enclosure], q: &[Enclosure]| p.iter().zip(q).any(|(p, q)| p.times(&shrink, BITS).lo > q.hi);
    let mut pairs = pairs.inspect(|(left, right)| assert_eq!(left.len(), right.len()));
    pairs.any(|(left, right)| exceeds(&left, &right) || exceeds(&right, &left))
}

#[test]
fn the_sensitivity_is_as_stated_and_reached() {
    for p in ["0", "1/4", "1/3", "1/2", "2/3", "0.9", "1"] {
        for adjacency in BOTH {
            let target = target(p, &Rational::ONE, adjacency);
            // b·Δ, from γ = ε/2Δb with ε = 1.
            let allowed = (&target.gamma * &Rational::from(2)).recip().unwrap();
            let moved = neighbours(5, 4, adjacency)
                .iter()
                .flat_map(|(left, right)| {
                    let (left, right) = (distances(&target, left, 5), distances(&target, right, 5));
                    left.into_iter().zip(right).map(|(left, right)| left.abs_diff(right)).collect::<Vec<_>>()
                })
                .max();
            assert_eq!(Rational::from(moved.unwrap() as u64), allowed, "{p} {adjacency}");
        }
    }
}

#[test]
fn neighbours_are_within_the_promised_factor() {
    for p in ["0", "1/4", "1/2", "2/3", "1"] {
        for epsilon in ["0.5", "4"] {
            for adjacency in BOTH {
                let epsilon = rational(epsilon);
                let target = target(p, &epsilon, adjacency);
                assert!(!breaks(&target, &epsilon, 8, 4, adjacency), "{p} {epsilon} {adjacency}");
            }
        }
    }
}

/// Mutants: half the factor 2Δ, the sensitivity of the other adjacency, that of 1 − p in place of max(p, 1−p).
#[test]
fn wrong_sensitivities_break_the_promise() {
    let epsilon = rational("4");
    for (a, b, wrong, adjacency) in [
        (2, 4, 1, Adjacency::AddRemove),
        (2, 8, 3, Adjacency::AddRemove),
        (1, 2, 1, Adjacency::Replace),
        (3, 4, 1, Adjacency::AddRemove),
    ] {
        let mutant = Target::new(Fraction { a, b }, &epsilon, wrong);
        assert!(breaks(&mutant, &epsilon, 8, 4, adjacency), "{a}/{b} {wrong} {adjacency}");
    }
}

/// With few levels, every number that a round may start from, and every branch of what follows, can be enumerated: over
/// all numbers below the total, each point is accepted with mass 2^levels·e^(−γD). The uniform number is tested
/// separately.
#[test]
fn rounds_accept_in_proportion_to_the_weights() {
    const POINTS: i64 = 8;
    let tables =
        [("1/2", vec![]), ("1/2", vec![3]), ("1/3", vec![1, 1, 6]), ("1", vec![0, 2, 2, 7]), ("0", vec![7; 4])];
    for (p, values) in tables {
        for (epsilon, levels) in [("1", 2), ("3", 3), ("12", 1), ("5", 6)] {
            let target = target(p, &rational(epsilon), Adjacency::Replace);
            let table = table(&values, POINTS);
            let proposal = target.proposal(&table, levels);
            let mut accepted = vec![Rational::ZERO; POINTS as usize];
            let mut unresolved = Rational::ZERO;
            for number in 0..proposal.total() {
                let law = enumerate(12, |tape| proposal.settle(number, tape));
                for outcome in law.outcomes().flatten() {
                    accepted[*outcome as usize] = &accepted[*outcome as usize] + &law.mass(&Some(*outcome));
                }
                unresolved = &unresolved + law.unresolved();
            }
            let total = Rational::from(proposal.total() as u64);
            assert!(&unresolved / &total < rational("0.001"));
            for (mass, distance) in accepted.into_iter().zip(distances(&target, &values, POINTS)) {
                let weight = exp_neg(&(&target.gamma * &Rational::from(distance as u64)), BITS);
                let scaled = |bound: UBig| Rational::from_big(bound << levels as usize, UBig::ONE << BITS);
                assert!(
                    mass <= scaled(weight.hi) && scaled(weight.lo) <= &mass + &unresolved,
                    "{p} {values:?} {epsilon}"
                );
            }
        }
    }
}

/// The intervals against their definition: level by level, point by point.
#[test]
fn levels_are_what_they_are_defined_to_be() {
    for values in (0..4).flat_map(|n| tables(6, n)) {
        for (p, epsilon) in [("0", "1"), ("1/3", "7"), ("1/2", "0.1"), ("1", "30")] {
            let target = target(p, &rational(epsilon), Adjacency::AddRemove);
            let table = table(&values, 6);
            let proposal = target.proposal(&table, LEVELS);
            let rate = &target.gamma * &rational("1.442695");
            let mut seen: Vec<(usize, i64)> = Vec::new();
            for (level, size) in proposal.sizes().enumerate() {
                seen.extend((0..size).map(|offset| (level, proposal.point(level, offset))));
            }
            let mut expected: Vec<(usize, i64)> = distances(&target, &values, 6)
                .into_iter()
                .zip(0..)
                .map(|(distance, z)| {
                    let level = (&rate * &Rational::from(distance as u64)).floor();
                    (usize::try_from(&level).unwrap().min(LEVELS as usize), z)
                })
                .collect();
            expected.sort_unstable();
            assert_eq!(seen, expected, "{values:?} {p} {epsilon}");
        }
    }
}

/// χ² over 100,000 draws of the whole sampler detects an error of 5 % in ε here; a mutant shows it.
#[test]
fn draws_follow_the_exponential_law() {
    const DRAWS: u64 = 100_000;
    let values = [2, 3, 3, 9, 9, 9, 14, 15, 15, 19];
    let draw = |epsilon: &str, seed: u64| {
        let target = target("0.3", &rational(epsilon), Adjacency::AddRemove);
        let table = table(&values, 20);
        let mut entropy = Entropy::seeded(seed);
        let mut rng = entropy.draw().unwrap();
        let mut counts = BTreeMap::new();
        for _ in 0..DRAWS {
            *counts.entry(always(target.sample(&table, &mut rng))).or_default() += 1;
        }
        counts
    };
    let off = |z: i64| {
        let (below, above) = (values.iter().filter(|&&x| x < z).count(), values.iter().filter(|&&x| x > z).count());
        (below as f64 - 3.0).max(above as f64 - 7.0).max(0.0)
    };
    let weights: Vec<f64> = (0..20).map(|z| (-off(z) / (2.0 * 0.7)).exp()).collect();
    let total: f64 = weights.iter().sum();
    let law = ExpectedLaw::new(0, 0.0, weights.iter().map(|weight| weight / total).collect(), 0.0).unwrap();
    assert!(GoodnessOfFit::test(&law, &draw("1", 1)).unwrap().passes(FALSE_ALARM));
    assert!(!GoodnessOfFit::test(&law, &draw("1.05", 1)).unwrap().passes(FALSE_ALARM));
}

#[test]
fn places_between_two_fractions_are_exact_or_rounded_down() {
    let between = |p: &str, from: &str, to: &str| {
        let Fraction { a, b } = Fraction::between(&rational(p), &rational(from), &rational(to));
        Rational::new(a as i64, b).unwrap()
    };
    assert_eq!(between("0.25", "0", "0.5"), rational("1/2"));
    assert_eq!(between("0.99", "0.9", "1"), rational("0.9"));
    let fine = between("0.5", "0.000000000001", "0.999999999998");
    let exact = rational("0.499999999999/0.999999999997");
    assert!(
        fine <= exact
            && exact.clone() - fine.clone() < rational("1e-12")
            && fine.denominator() <= &1_000_000_000_000u64.into()
    );
}
