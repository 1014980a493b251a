//! The exact joint law of the outcomes of all groups, on every small table and everything that one unit can change.

use std::collections::BTreeSet;

use super::*;
use crate::exact::enclosure::Enclosure;
use crate::ledger::Receipt;
use crate::mechanism::divergence::{self, BITS, Law, hair, product, zero};
use crate::mechanism::stable::Proposal;
use crate::noise::Entropy;
use crate::statistic::Rows;

type Table = Vec<u8>;
/// A group before and after: both distances, and whether the answers agree.
type Change = (u64, u64, bool);

const VALUES: u8 = 3;

/// All tables of up to five rows.
fn tables() -> BTreeSet<Table> {
    let mut all = BTreeSet::from([vec![]]);
    for _ in 0..5 {
        all = all.iter().flat_map(|table| with(table, 1)).collect();
    }
    all
}

/// The table itself and with up to `rows` more rows.
fn with(table: &Table, rows: u64) -> BTreeSet<Table> {
    let mut all = BTreeSet::from([table.clone()]);
    for _ in 0..rows {
        let longer = |table: &Table| -> Vec<Table> {
            let one_more = |value: u8| {
                let mut longer = table.clone();
                longer.push(value);
                longer.sort_unstable();
                longer
            };
            (0..VALUES).map(one_more).collect()
        };
        let more: Vec<Table> = all.iter().flat_map(longer).collect();
        all.extend(more);
    }
    all
}

/// What a unit can do to one group: enter with up to `entered` rows where it had up to `left`.
fn changes(propose: &dyn Fn(&Table) -> Proposal<u8>, left: u64, entered: u64) -> BTreeSet<Change> {
    let mut changes = BTreeSet::new();
    for others in tables() {
        for before in with(&others, left) {
            let before = propose(&before);
            for after in with(&others, entered) {
                let after = propose(&after);
                changes.insert((before.distance, after.distance, before.answer == after.answer));
            }
        }
    }
    changes
}

/// The laws before and after: the answer before, the answer after if it is another, a refusal.
fn laws(test: &StableRelease, (before, after, same): Change) -> (Law, Law) {
    let refused = |distance: u64| {
        let (low, high) = test.refusal_bounds(distance);
        Enclosure { lo: Enclosure::rational(&low, BITS).lo, hi: Enclosure::rational(&high, BITS).hi }
    };
    let (before, after) = (refused(before), refused(after));
    let answered = |refused: &Enclosure| Enclosure::one(BITS).minus(refused);
    let (first, second) = (answered(&before), answered(&after));
    if same {
        (vec![first, zero(), before], vec![second, zero(), after])
    } else {
        (vec![first, zero(), before], vec![zero(), second, after])
    }
}

/// The exact δ at ε over all combinations of changes, one for each group.
fn exact_delta(test: &StableRelease, epsilon: &Rational, groups: &[BTreeSet<Change>]) -> (Rational, Rational) {
    let mut joint: BTreeSet<Vec<Change>> = BTreeSet::from([vec![]]);
    for group in groups {
        let with_group =
            |changes: &Vec<Change>| group.iter().map(|change| [&changes[..], &[*change]].concat()).collect::<Vec<_>>();
        joint = joint.iter().flat_map(with_group).collect();
    }
    let pairs: Vec<(Law, Law)> = joint
        .iter()
        .map(|changes| {
            let (before, after): (Vec<Law>, Vec<Law>) = changes.iter().map(|change| laws(test, *change)).unzip();
            (product(&before), product(&after))
        })
        .collect();
    divergence::worst(epsilon, pairs.iter().map(|(before, after)| (before, after)))
}

fn contribution(adjacency: Adjacency, groups: Option<u64>, rows: u64) -> Contribution {
    match groups {
        Some(groups) => Contribution::in_groups(adjacency, groups, Rows::AtMost(rows)).unwrap(),
        None => Contribution::overall(adjacency, Rows::AtMost(rows)).unwrap(),
    }
}

/// Adjacency, g, r, and what the worst unit does: (rows left, rows entered) for each group it touches.
type Case = (Adjacency, Option<u64>, u64, &'static [(u64, u64)]);
const CASES: [Case; 8] = [
    (Adjacency::AddRemove, None, 1, &[(0, 1)]),
    (Adjacency::AddRemove, Some(1), 2, &[(0, 2)]),
    (Adjacency::AddRemove, Some(2), 1, &[(0, 1), (0, 1)]),
    (Adjacency::AddRemove, Some(2), 2, &[(0, 2), (0, 2)]),
    (Adjacency::Replace, None, 1, &[(1, 1)]),
    (Adjacency::Replace, Some(1), 1, &[(1, 1)]),
    (Adjacency::Replace, Some(1), 1, &[(1, 0), (0, 1)]),
    (Adjacency::Replace, Some(1), 2, &[(2, 0), (0, 2)]),
];

#[test]
fn all_groups_together_cost_no_more_than_is_promised() {
    let (epsilon, delta): (Epsilon, Delta) = ("1".parse().unwrap(), "1e-3".parse().unwrap());
    for (adjacency, groups, rows, touched) in CASES {
        let unit = contribution(adjacency, groups, rows);
        let median = PerGroup::stable_median(&unit, &epsilon, &delta).unwrap();
        let mode = PerGroup::stable_mode(&unit, &epsilon, &delta).unwrap();
        let median_of = |table: &Table| median.mechanism().propose(table);
        let mode_of = |table: &Table| mode.mechanism().propose(table.iter().copied());
        for propose in [&median_of as &dyn Fn(&Table) -> Proposal<u8>, &mode_of] {
            let groups_touched: Vec<_> =
                touched.iter().map(|&(left, entered)| changes(propose, left, entered)).collect();
            let (_, most) = exact_delta(median.mechanism().test(), epsilon.value(), &groups_touched);
            assert!(most <= delta.value() + &hair(), "{unit:?}: {}", most.to_f64());
            if unit.changed_rows().unwrap() > 1 {
                // Mutant: using the guarantee for one row as one for the unit.
                let one_row = StableRelease::new(1, &epsilon, &delta).unwrap();
                let (least, _) = exact_delta(&one_row, epsilon.value(), &groups_touched);
                assert!(least > *delta.value(), "{unit:?}: {}", least.to_f64());
            }
        }
    }
}

/// With one group the threshold is tight: a threshold one lower breaks the guarantee. (One lower is a distance one
/// larger.)
#[test]
fn no_smaller_threshold_would_do_in_one_group() {
    let (epsilon, delta): (Epsilon, Delta) = ("1".parse().unwrap(), "1e-3".parse().unwrap());
    for (adjacency, groups, rows, left, entered) in [
        (Adjacency::AddRemove, Some(1), 2, 0, 2),
        (Adjacency::AddRemove, None, 1, 0, 1),
        (Adjacency::Replace, None, 1, 1, 1),
    ] {
        let unit = contribution(adjacency, groups, rows);
        let mode = PerGroup::stable_mode(&unit, &epsilon, &delta).unwrap();
        let lower = |table: &Table| {
            let proposal = mode.mechanism().propose(table.iter().copied());
            Proposal { distance: proposal.distance + 1, ..proposal }
        };
        let (least, _) = exact_delta(mode.mechanism().test(), epsilon.value(), &[changes(&lower, left, entered)]);
        assert!(least > *delta.value(), "{unit:?}: {}", least.to_f64());
    }
}

#[test]
fn noise_and_threshold_are_those_of_the_worst_case() {
    let (epsilon, delta): (Epsilon, Delta) = ("2".parse().unwrap(), "1e-6".parse().unwrap());
    for (adjacency, changed) in [(Adjacency::AddRemove, 12), (Adjacency::Replace, 24)] {
        let unit = contribution(adjacency, Some(4), 3);
        assert_eq!(unit.changed_rows().unwrap(), changed);
        let test = stable_test(&unit, &epsilon, &delta).unwrap();
        assert_eq!(test.noise().scale(), &Rational::new(changed as i64, 2).unwrap());
        assert_eq!(test.guarantee(), &Guarantee::Approx(epsilon.clone(), delta.clone()));
        // g·δ(r), and under replace 2g·δ(r) and g·δ(2r), are at most δ; one less and one of them is not.
        let sums = |tau: u64| -> Rational {
            let part = |groups: u64, rows: u64| &test.noise().upper_tail(tau - rows) * &Rational::from(groups);
            match adjacency {
                Adjacency::AddRemove => part(4, 3),
                Adjacency::Replace => part(8, 3).max(part(4, 6)),
            }
        };
        assert!(sums(test.threshold()) <= *delta.value() && sums(test.threshold() - 1) > *delta.value(), "{adjacency}");
    }
}

#[test]
fn every_group_is_answered_in_its_place_and_paid_for_once() {
    let unit = contribution(Adjacency::AddRemove, Some(2), 2);
    let (epsilon, delta): (Epsilon, Delta) = ("1".parse().unwrap(), "1e-6".parse().unwrap());
    let charged = Guarantee::Approx(epsilon.clone(), delta.clone());
    let permit = || {
        let receipt = Receipt { dataset: "d".into(), request: "r".into(), entry: 1 };
        Permit::from_durable_charge(receipt, &charged, Entropy::seeded(5))
    };
    let groups: Vec<Vec<i64>> = vec![vec![7; 1000], vec![], vec![3, 4], vec![9; 1000]];

    let median = PerGroup::stable_median(&unit, &epsilon, &delta).unwrap();
    let mut once = permit();
    let released = median.release(&groups, &mut once).unwrap();
    assert_eq!(released.value(), &[Some(7), None, None, Some(9)]);
    assert_eq!((released.error_bar().half_width(), released.guarantee()), (0.0, &charged));
    assert!(median.release(&groups, &mut once).unwrap_err().is_not_permitted());

    let mode = PerGroup::stable_mode(&unit, &epsilon, &delta).unwrap();
    let counted = groups.iter().map(|group| group.iter().map(|value| (*value, 1)));
    assert_eq!(mode.release(counted, &mut permit()).unwrap().value(), &[Some(7), None, None, Some(9)]);

    let quantiles = ["1/4", "3/4"].map(|p| p.parse().unwrap());
    let quantiles = PerGroup::quantiles(&quantiles, 0, 10, &unit, &epsilon).unwrap();
    let mut once = permit();
    let released = quantiles.release(&groups, &mut once).unwrap();
    assert_eq!(released.value().len(), 4);
    let values = |group: usize| released.value()[group].iter().map(|one| one.value).collect::<Vec<_>>();
    assert_eq!((values(0), values(3)), (vec![7, 7], vec![9, 9]));
    // ε is spent, δ is not.
    assert!(quantiles.release(&groups, &mut once).unwrap_err().is_not_permitted());
}
