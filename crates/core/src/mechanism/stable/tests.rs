//! Every small table: the distances, the exact law of the outcomes on neighbours, and mutants that must be caught.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Proposal, StableMedian, StableMode, StableRelease};
use crate::exact::Rational;
use crate::exact::enclosure::exp_neg;
use crate::privacy::{Adjacency, Delta, Epsilon};

/// A table as sorted values: neither median nor mode depends on the order.
type Table = Vec<u8>;
type Propose<'a> = &'a dyn Fn(&Table) -> Proposal<u8>;

/// All tables with at most `rows` rows over the values 0..`values`.
fn tables(rows: usize, values: u8) -> Vec<Table> {
    let (mut all, mut last) = (vec![vec![]], vec![vec![]]);
    for _ in 0..rows {
        last = last
            .iter()
            .flat_map(|table: &Table| {
                (table.last().copied().unwrap_or(0)..values).map(move |value| [&table[..], &[value]].concat())
            })
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

fn neighbours(table: &Table, values: u8, adjacency: Adjacency) -> BTreeSet<Table> {
    let without = |row: usize| [&table[..row], &table[row + 1..]].concat();
    let with = |mut table: Table, value: u8| {
        table.push(value);
        table.sort_unstable();
        table
    };
    let rows = 0..table.len();
    match adjacency {
        Adjacency::AddRemove => rows.map(without).chain((0..values).map(|value| with(table.clone(), value))).collect(),
        Adjacency::Replace => rows.flat_map(|row| (0..values).map(move |value| with(without(row), value))).collect(),
    }
}

/// What determines the law of the outcomes on two neighbours: both distances, and whether the answers agree.
type Pair = (u64, u64, bool);

/// The pairs that occur among all tables with at most `rows` rows over `values` values and their neighbours.
fn pairs(propose: Propose<'_>, rows: usize, values: u8, adjacency: Adjacency) -> BTreeSet<Pair> {
    let mut found = BTreeSet::new();
    for table in tables(rows, values) {
        let here = propose(&table);
        for neighbour in neighbours(&table, values, adjacency) {
            let there = propose(&neighbour);
            found.insert((here.distance, there.distance, here.answer == there.answer));
        }
    }
    found
}

/// The number of changes to the nearest table with another answer, by breadth-first search; rows up to `most`.
fn true_distance(table: &Table, propose: Propose<'_>, values: u8, adjacency: Adjacency, most: usize) -> Option<u64> {
    let answer = propose(table).answer;
    let mut seen = BTreeMap::from([(table.clone(), 0)]);
    let mut queue = VecDeque::from([table.clone()]);
    while let Some(table) = queue.pop_front() {
        let steps = seen[&table];
        if propose(&table).answer != answer {
            return Some(steps);
        }
        for next in neighbours(&table, values, adjacency) {
            if next.len() <= most && !seen.contains_key(&next) {
                seen.insert(next.clone(), steps + 1);
                queue.push_back(next);
            }
        }
    }
    None
}

fn parameters() -> (Epsilon, Delta) {
    ("1".parse().unwrap(), "1e-4".parse().unwrap())
}

fn median(adjacency: Adjacency) -> impl Fn(&Table) -> Proposal<u8> {
    let (epsilon, delta) = parameters();
    let median = StableMedian::new(adjacency, &epsilon, &delta).unwrap();
    move |table| {
        let proposal = median.propose(table);
        let mut reversed: Table = table.iter().rev().copied().collect();
        assert_eq!(median.propose_in_place(&mut reversed), proposal);
        proposal
    }
}

fn mode(adjacency: Adjacency) -> impl Fn(&Table) -> Proposal<u8> {
    let (epsilon, delta) = parameters();
    let mode = StableMode::new(adjacency, &epsilon, &delta).unwrap();
    move |table| mode.propose(table.iter().copied())
}

const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::Replace];

#[test]
fn distances_are_lipschitz_and_small_where_answers_differ() {
    for adjacency in BOTH {
        for (name, propose) in
            [("median", &median(adjacency) as Propose<'_>), ("mode", &mode(adjacency) as Propose<'_>)]
        {
            let pairs = pairs(propose, 6, 4, adjacency);
            assert!(pairs.iter().any(|pair| pair.0.max(pair.1) > 1) && pairs.iter().any(|pair| !pair.2));
            for (here, there, same) in pairs {
                assert!(here >= 1 && here.abs_diff(there) <= 1, "{name} {adjacency}: {here} {there}");
                assert!(same || (here <= 1 && there <= 1), "{name} {adjacency}: {here} {there}");
            }
        }
    }
}

/// Tables over the inner values only, so that there is room to move on either side.
#[test]
fn the_median_s_distance_is_the_true_one() {
    for (adjacency, rows) in [(Adjacency::Replace, 6), (Adjacency::AddRemove, 5)] {
        let propose = median(adjacency);
        for inner in tables(rows, 3) {
            let table: Table = inner.iter().map(|value| value + 1).collect();
            let proposal = propose(&table);
            // n changes suffice for any table, and none needs more than 2n rows.
            let distance = true_distance(&table, &propose, 5, adjacency, 2 * rows.max(1));
            if table.is_empty() && adjacency == Adjacency::Replace {
                assert_eq!(distance, None, "the empty table is its only neighbour");
            } else {
                assert_eq!(distance, Some(proposal.distance), "{adjacency} {table:?}");
            }
        }
    }
}

#[test]
fn the_mode_s_distance_is_never_above_the_true_one() {
    for (adjacency, rows) in [(Adjacency::Replace, 6), (Adjacency::AddRemove, 5)] {
        let propose = mode(adjacency);
        for table in tables(rows, 3).into_iter().filter(|table| !table.is_empty()) {
            let distance = true_distance(&table, &propose, 4, adjacency, 2 * rows).unwrap();
            let stated = propose(&table).distance;
            // The tie-break is ignored: this costs at most one change.
            assert!(stated <= distance && distance <= stated + 1, "{adjacency} {table:?}: {stated} {distance}");
        }
    }
}

#[test]
fn ties_go_to_the_smallest_and_empty_tables_have_no_answer() {
    let propose = mode(Adjacency::AddRemove);
    assert_eq!(propose(&vec![1, 1, 2, 2, 3]), Proposal { answer: Some(1), distance: 1 });
    // A worked example: 4 occurs three times in (1, 2, 4, 3, 4, 4, 2).
    assert_eq!(propose(&vec![1, 2, 4, 3, 4, 4, 2]), Proposal { answer: Some(4), distance: 1 });
    for adjacency in BOTH {
        assert_eq!(mode(adjacency)(&vec![]), Proposal { answer: None, distance: 1 });
        assert_eq!(median(adjacency)(&vec![]), Proposal { answer: None, distance: 1 });
    }
    let counts = StableMode::new(Adjacency::AddRemove, &parameters().0, &parameters().1).unwrap();
    let proposal = counts.propose_counts([("a", 3), ("b", 5), ("a", 4), ("c", 0)]);
    assert_eq!(proposal, Proposal { answer: Some("a"), distance: 2 });
    assert_eq!(counts.propose_counts([("a", 0)]), Proposal { answer: None, distance: 1 });
}

/// The law of outcomes at a distance, enclosed: the probabilities of an answer and of a refusal.
struct Law {
    answer: (Rational, Rational),
    refusal: (Rational, Rational),
}

impl Law {
    /// The law with distance and threshold shifted: `shift` = 1 is a threshold that is one too low.
    fn new(test: &StableRelease, distance: u64, shift: u64) -> Self {
        let refusal = test.refusal_bounds(distance + shift);
        let answer = (Rational::ONE - refusal.1.clone(), Rational::ONE - refusal.0.clone());
        Self { answer, refusal }
    }
}

/// Bounds on max over events of P(S) − e^ε·P′(S), which is Σ over outcomes of max(0, P − e^ε·P′).
fn excess(here: &Law, there: &Law, same: bool, epsilon: &Epsilon) -> (Rational, Rational) {
    const BITS: usize = 300;
    let shrink = exp_neg(epsilon.value(), BITS);
    let one = dashu_int::UBig::ONE << BITS;
    let grow = (Rational::from_big(one.clone(), shrink.hi), Rational::from_big(one, shrink.lo));
    let part = |(low, high): &(Rational, Rational), (other_low, other_high): (&Rational, &Rational)| {
        let positive = |value: Rational| value.max(Rational::ZERO);
        (positive(low - &(&grow.1 * other_high)), positive(high - &(&grow.0 * other_low)))
    };
    let none = (&Rational::ZERO, &Rational::ZERO);
    let answer = part(&here.answer, if same { (&there.answer.0, &there.answer.1) } else { none });
    let refusal = part(&here.refusal, (&there.refusal.0, &there.refusal.1));
    (answer.0 + refusal.0, answer.1 + refusal.1)
}

/// Does the guarantee certainly hold (`Some(true)`) or certainly fail (`Some(false)`) for any of the pairs? Every pair
/// is checked in both directions, as each is in the set both ways.
fn kept(test: &StableRelease, pairs: &BTreeSet<Pair>, shift: u64) -> Option<bool> {
    let (epsilon, delta) = (test.guarantee().epsilon().unwrap(), test.guarantee().delta().unwrap().value());
    let excesses: Vec<(Rational, Rational)> = pairs
        .iter()
        .map(|&(here, there, same)| excess(&Law::new(test, here, shift), &Law::new(test, there, shift), same, epsilon))
        .collect();
    if excesses.iter().all(|(_, high)| high <= delta) {
        return Some(true);
    }
    excesses.iter().any(|(low, _)| low > delta).then_some(false)
}

fn symmetric(pairs: BTreeSet<Pair>) -> BTreeSet<Pair> {
    pairs.into_iter().flat_map(|(here, there, same)| [(here, there, same), (there, here, same)]).collect()
}

#[test]
fn the_exact_law_keeps_the_promise_on_all_small_neighbours() {
    for (epsilon, delta) in [("1", "1e-4"), ("0.3", "0.05"), ("2", "0.3"), ("1", "1e-12")] {
        let test = StableRelease::new(1, &epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap();
        for adjacency in BOTH {
            for propose in [&median(adjacency) as Propose<'_>, &mode(adjacency) as Propose<'_>] {
                let pairs = symmetric(pairs(propose, 6, 4, adjacency));
                assert_eq!(kept(&test, &pairs, 0), Some(true), "{adjacency} ε = {epsilon}, δ = {delta}");
            }
        }
    }
}

#[test]
fn a_threshold_one_too_low_is_caught() {
    for (epsilon, delta) in [("1", "1e-4"), ("0.3", "0.05"), ("1", "1e-12")] {
        let test = StableRelease::new(1, &epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap();
        for adjacency in BOTH {
            for propose in [&median(adjacency) as Propose<'_>, &mode(adjacency) as Propose<'_>] {
                let pairs = symmetric(pairs(propose, 6, 4, adjacency));
                assert_eq!(kept(&test, &pairs, 1), Some(false), "{adjacency} ε = {epsilon}, δ = {delta}");
            }
        }
    }
}

/// The distances for add/remove count single additions and removals; a replacement is two of them.
#[test]
fn the_distance_of_the_other_adjacency_is_caught() {
    let (epsilon, delta) = parameters();
    let test = StableRelease::new(1, &epsilon, &delta).unwrap();
    let wrong = Adjacency::AddRemove;
    for propose in [&median(wrong) as Propose<'_>, &mode(wrong) as Propose<'_>] {
        let pairs = symmetric(pairs(propose, 6, 4, Adjacency::Replace));
        assert_eq!(kept(&test, &pairs, 0), Some(false));
        // With C = 2 it would have been right.
        let test = StableRelease::new(2, &epsilon, &delta).unwrap();
        assert_eq!(kept(&test, &pairs, 0), Some(true));
    }
}

/// "Refuse if changing one row could change the median": certain to answer here, certain to refuse next door.
#[test]
fn the_deterministic_test_is_caught() {
    let (epsilon, delta) = parameters();
    let certain = |distance: u64| {
        let answer = if distance > 1 { Rational::ONE } else { Rational::ZERO };
        let refusal = Rational::ONE - answer.clone();
        Law { answer: (answer.clone(), answer), refusal: (refusal.clone(), refusal) }
    };
    for adjacency in BOTH {
        let pairs = symmetric(pairs(&median(adjacency), 6, 4, adjacency));
        let broken = pairs
            .iter()
            .any(|&(here, there, same)| excess(&certain(here), &certain(there), same, &epsilon).0 > *delta.value());
        assert!(broken, "{adjacency}");
    }
}

/// Blocks that answer, or do not: all answers of six blocks, with one or two of them replaced.
#[test]
fn several_replaced_answers_need_a_larger_constant() {
    use std::iter::repeat_n;
    let (epsilon, delta) = parameters();
    let propose = |table: &Table| {
        let answers = table.iter().map(|answer| (answer.checked_sub(1), 1));
        let (mode, gap) = super::mode::mode_and_gap(answers);
        Proposal { answer: mode.flatten(), distance: gap.div_ceil(2) }
    };
    let mut pairs = [BTreeSet::new(), BTreeSet::new()];
    for table in tables(6, 4).into_iter().filter(|table| table.len() == 6) {
        let here = propose(&table);
        for once in neighbours(&table, 4, Adjacency::Replace) {
            let twice = neighbours(&once, 4, Adjacency::Replace);
            for (changes, other) in [(0, once)].into_iter().chain(repeat_n(1, twice.len()).zip(twice)) {
                let there = propose(&other);
                pairs[changes].insert((here.distance, there.distance, here.answer == there.answer));
            }
        }
    }
    let [one, two] = pairs.map(symmetric);
    let test = |lipschitz| StableRelease::new(lipschitz, &epsilon, &delta).unwrap();
    assert_eq!(kept(&test(1), &one, 0), Some(true));
    assert_eq!(kept(&test(2), &two, 0), Some(true));
    assert_eq!(kept(&test(1), &two, 0), Some(false), "a replaced unit with an id may touch two blocks");
    assert_eq!(kept(&test(1), &one, 1), Some(false), "a threshold that is one too low");
}
