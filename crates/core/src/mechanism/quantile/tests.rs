//! The exact law of the released point, for every small table and each of its neighbours.

use std::collections::BTreeMap;

use dashu_int::UBig;

use super::*;
use crate::audit::enumerate::enumerate;
use crate::audit::{ExpectedLaw, FALSE_ALARM, GoodnessOfFit};
use crate::exact::enclosure::Enclosure;
use crate::noise::Entropy;

const BITS: usize = 128;
const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::Replace];

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

/// All sorted tables of n values from 0 to points − 1.
fn tables(points: i64, n: usize) -> Vec<Vec<i64>> {
    (0..n).fold(vec![Vec::new()], |shorter, _| {
        let longer = shorter.iter().flat_map(|table| {
            let from = table.last().copied().unwrap_or(0);
            (from..points).map(move |value| table.iter().copied().chain([value]).collect())
        });
        longer.collect()
    })
}

/// All pairs of neighbours with up to n values.
fn neighbours(points: i64, n: usize, adjacency: Adjacency) -> Vec<(Vec<i64>, Vec<i64>)> {
    let with = |table: &[i64], value: i64| table.iter().copied().chain([value]).collect::<Vec<_>>();
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
    let table = Table::new(values, 0, points - 1);
    (0..points)
        .map(|z| {
            let (below, above) = table.ranks(z);
            target.distance(below, above, values.len())
        })
        .collect()
}

/// Are the laws on all neighbours certainly within a factor e^ε? Is some pair of laws certainly not?
fn verdict(target: &Target, epsilon: &Rational, points: i64, n: usize, adjacency: Adjacency) -> (bool, bool) {
    verdict_on(target, epsilon, points, neighbours(points, n, adjacency))
}

/// [`verdict`] on pairs of tables.
fn verdict_on(target: &Target, epsilon: &Rational, points: i64, pairs: Vec<(Vec<i64>, Vec<i64>)>) -> (bool, bool) {
    let mut verdict = (true, false);
    let mut known: BTreeMap<u128, Enclosure> = BTreeMap::new();
    let mut weigh = |values: &[i64]| -> (Vec<Enclosure>, Enclosure) {
        let weights: Vec<Enclosure> = distances(target, values, points)
            .into_iter()
            .map(|distance| {
                let exponent = &target.gamma * &Rational::from(distance as u64);
                known.entry(distance).or_insert_with(|| exp_neg(&exponent, BITS)).clone()
            })
            .collect();
        let zero = Enclosure { lo: UBig::ZERO, hi: UBig::ZERO };
        let total = weights.iter().fold(zero, |total, weight| total.add(weight));
        (weights, total)
    };
    let shrink = exp_neg(epsilon, BITS);
    for (left, right) in pairs {
        let (left, right) = (weigh(&left), weigh(&right));
        for (p, q) in [(&left, &right), (&right, &left)] {
            for (weight, other) in p.0.iter().zip(&q.0) {
                // P(z)/P′(z) ≤ e^ε, cleared of denominators.
                let ours = weight.times(&q.1, BITS).times(&shrink, BITS);
                let theirs = other.times(&p.1, BITS);
                verdict.0 &= ours.hi <= theirs.lo;
                verdict.1 |= ours.lo > theirs.hi;
            }
        }
    }
    verdict
}

#[test]
fn the_sensitivity_is_as_stated_and_reached() {
    for p in ["0", "1/4", "1/3", "1/2", "2/3", "0.9", "1"] {
        for adjacency in BOTH {
            let target = Target::new(&rational(p), &Rational::ONE, adjacency).unwrap();
            // b·Δ, from 2Δ/ε with ε = 1.
            let allowed = &target.ranks_per_nat * &Rational::new(target.b as i64, 2).unwrap();
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
                let target = Target::new(&rational(p), &epsilon, adjacency).unwrap();
                assert_eq!(verdict(&target, &epsilon, 8, 4, adjacency), (true, false), "{p} {epsilon} {adjacency}");
            }
        }
    }
}

/// Mutants: half the factor 2Δ, the sensitivity of the other adjacency, that of 1 − p in place of max(p, 1−p).
#[test]
fn wrong_sensitivities_break_the_promise() {
    let epsilon = rational("4");
    for (a, b, wrong, adjacency) in [
        (1, 2, "1/4", Adjacency::AddRemove),
        (1, 4, "3/8", Adjacency::AddRemove),
        (1, 2, "1/2", Adjacency::Replace),
        (3, 4, "1/4", Adjacency::AddRemove),
    ] {
        let mutant = Target::with_sensitivity(a, b, &epsilon, &rational(wrong));
        assert_eq!(verdict(&mutant, &epsilon, 8, 4, adjacency), (false, true), "{a}/{b} {wrong} {adjacency}");
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
            let target = Target::new(&rational(p), &rational(epsilon), Adjacency::Replace).unwrap();
            let table = Table::new(&values, 0, POINTS - 1);
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
            let target = Target::new(&rational(p), &rational(epsilon), Adjacency::AddRemove).unwrap();
            let table = Table::new(&values, 0, 5);
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
        let target = Target::new(&rational("0.3"), &rational(epsilon), Adjacency::AddRemove).unwrap();
        let table = Table::new(&values, 0, 19);
        let mut entropy = Entropy::seeded(seed);
        let mut rng = entropy.draw().unwrap();
        let mut counts = BTreeMap::new();
        for _ in 0..DRAWS {
            *counts.entry(always(target.proposal(&table, LEVELS).sample(&mut rng))).or_default() += 1;
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

/// Log-normal values, most of them in the lowest hundredth of a grid of 2^20 points.
fn skewed(n: usize) -> Vec<i64> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    (0..n).map(|_| ((8.0 + 1.2 * normal()).exp() as i64).min((1 << 20) - 1)).collect()
}

/// 200 releases of five quantiles: each release is outside its bar with probability at most 5 %, so more than 31 are with
/// probability below 10^−6 (binomial). The bar is a union bound, and the truth far better: see the second assertion.
#[test]
fn ranks_are_as_close_as_stated_on_skewed_data() {
    const N: usize = 10_001;
    let values = skewed(N);
    let ps = ["0.05", "0.25", "0.5", "0.75", "0.95"].map(rational);
    let table = Table::new(&values, 0, (1 << 20) - 1);
    for adjacency in BOTH {
        let mechanism = Quantiles::new(&ps, 0, (1 << 20) - 1, adjacency, &"1".parse().unwrap()).unwrap();
        let mut permit = Permit::unaccounted_from(Entropy::seeded(9));
        let (mut outside, mut ranks, mut relative) = (0, Vec::new(), Vec::new());
        for _ in 0..200 {
            let released = mechanism.release(&values, &mut permit).unwrap();
            let quantiles = released.value();
            assert!(quantiles.is_sorted());
            let mut worst = 0.0f64;
            for (p, &z) in ps.iter().zip(&**quantiles) {
                let ((below, above), p, n) = (table.ranks(z), p.to_f64(), N as f64);
                let off = (below as f64 - p * n).max(above as f64 - (1.0 - p) * n).max(0.0);
                worst = worst.max(off);
                ranks.push(off);
                let exact = table.sorted[(p * (n - 1.0)).round() as usize] as f64;
                relative.push((z as f64 / exact - 1.0).abs());
            }
            outside += usize::from(worst > released.error_bar().half_width());
        }
        ranks.sort_by(f64::total_cmp);
        relative.sort_by(f64::total_cmp);
        let (half, most) = (ranks.len() / 2, ranks.len() * 95 / 100);
        println!(
            "{adjacency}: bar {:.1}, ranks {:.1} (median) {:.1} (95 %), values {:.4} (median) {:.4} (95 %), outside {outside}",
            mechanism.error.half_width(),
            ranks[half],
            ranks[most],
            relative[half],
            relative[most],
        );
        assert!(outside <= 31);
        // Fixed seeds: the measured values, with room to spare.
        assert!(ranks[half] < 40.0 && ranks[most] < 150.0 && relative[half] < 0.02 && relative[most] < 0.1);
    }
}

#[test]
fn the_widest_grids_and_the_smallest_tables_are_answered() {
    let mut permit = Permit::unaccounted_from(Entropy::seeded(3));
    let mut release = |p: &str, lo: i64, hi: i64, epsilon: &str, values: &[i64]| {
        let mechanism = Quantile::new(&rational(p), lo, hi, Adjacency::AddRemove, &epsilon.parse().unwrap()).unwrap();
        mechanism.release(values, &mut permit).unwrap().into_value().into_inner()
    };
    let wide = (1i64 << 62) - 1;
    for (lo, hi) in [(i64::MIN, i64::MIN + wide), (i64::MAX - wide, i64::MAX), (-(1 << 61), (1 << 61) - 1)] {
        for values in [vec![], vec![i64::MIN, i64::MAX], vec![0; 100], vec![hi; 1000]] {
            for (p, epsilon) in [("0", "1e-300"), ("1/2", "1"), ("0.999999999999", "1e6"), ("1", "1e300")] {
                assert!((lo..=hi).contains(&release(p, lo, hi, epsilon, &values)));
            }
        }
        // 1,000 equal values outweigh 2^62 points: 62·ln 2 < 1000/2.
        assert_eq!(release("1/2", lo, hi, "1", &[hi; 1000]), hi);
    }
    assert_eq!(release("0.3", 7, 7, "1", &[1, 2, 3]), 7);
    let empty: Vec<i64> = (0..64).map(|_| release("0.5", 0, 1, "5", &[])).collect();
    assert!(empty.contains(&0) && empty.contains(&1), "no values: every point is equally likely");
}

#[test]
fn parameters_are_checked_by_name() {
    let new = |ps: &[&str], lo, hi| {
        let ps: Vec<Rational> = ps.iter().map(|p| rational(p)).collect();
        Quantiles::new(&ps, lo, hi, Adjacency::Replace, &"1".parse().unwrap())
    };
    for (ps, lo, hi, message) in [
        (&[][..], 0, 1, "number of quantiles is 0"),
        (&["-0.1"], 0, 1, "quantile is -0.1"),
        (&["1.5"], 0, 1, "quantile is 1.5"),
        (&["0.5", "0.5"], 0, 1, "quantile is 0.5"),
        (&["0.1234567890123"], 0, 1, "quantile is 0.1234567890123"),
        (&["0.5"], 1, 0, "lower bound is 1"),
        (&["0.5"], i64::MIN, i64::MAX, "number of grid points is 18446744073709551616"),
        (&["0.5"], 0, 1 << 62, "number of grid points is"),
    ] {
        let error = new(ps, lo, hi).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    assert!(new(&["0.5"], 0, (1 << 62) - 1).is_ok());
}

#[test]
fn bars_are_the_stated_formula() {
    let ps = ["0.25", "0.5"].map(rational);
    let mechanism = Quantiles::new(&ps, 0, 999, Adjacency::AddRemove, &"0.5".parse().unwrap()).unwrap();
    let formula = 2.0 * 0.75 * 2.0 / 0.5 * (20.0 * 2.0 * 1000.0f64).ln();
    assert!((mechanism.error.half_width() / formula - 1.0).abs() < 1e-9);
    let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
    let json = serde_json::to_string(mechanism.release(&[5; 1000], &mut permit).unwrap().value()).unwrap();
    assert_eq!(json, "[5,5]");
}

/// A unit with up to two rows in each of up to three groups: each of its groups costs no more than a third, and rows in
/// one group that cost more than a row's share would be detected.
#[test]
fn units_with_several_rows_in_several_groups_pay_for_all_of_them() {
    use crate::mechanism::PerGroup;
    use crate::statistic::{Contribution, Rows};
    const POINTS: i64 = 6;
    let epsilon: Epsilon = "3".parse().unwrap();
    for (adjacency, rows, shares) in [(Adjacency::AddRemove, 2, 6), (Adjacency::Replace, 1, 6)] {
        let unit = Contribution::in_groups(adjacency, 3, Rows::AtMost(rows)).unwrap();
        let per_group = PerGroup::quantiles(&[rational("1/4")], 0, POINTS - 1, &unit, &epsilon).unwrap();
        assert_eq!(per_group.guarantee(), &Guarantee::Pure(epsilon.clone()));
        let target = &per_group.mechanism().targets[0];
        // Two rows more, or one replaced: two changes of six.
        let pairs: Vec<_> = match adjacency {
            Adjacency::AddRemove => neighbours(POINTS, 3, adjacency)
                .into_iter()
                .flat_map(|(left, right)| {
                    (0..POINTS).map(move |more| (left.clone(), right.iter().copied().chain([more]).collect()))
                })
                .collect(),
            Adjacency::Replace => neighbours(POINTS, 4, adjacency),
        };
        let share = |changes: i64| epsilon.value() * &Rational::new(changes, shares).unwrap();
        assert_eq!(verdict_on(target, &share(2), POINTS, pairs.clone()), (true, false), "{adjacency}");
        assert!(verdict_on(target, &share(1), POINTS, pairs).1, "{adjacency}: forgetting a change must be seen");
    }
}
