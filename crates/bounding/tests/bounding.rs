//! The guarantees of bounding, from outside: caps, neighbours, uniform choice, and dependence on nothing but the set of
//! rows.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use proptest::prelude::*;
use reticent::privacy::Adjacency;
use reticent::statistic::{Contribution, Moments, Rows};
use reticent_bounding::{ContributionCaps, Groups, Layout, Measure, Measured, Memory};

use common::{Deal, all_measures, grid, hostile_value, job, run, run_dealt, table};

/// A person's row in a group, with a value.
type Row = (Option<i64>, Option<i64>, Option<f64>);

fn rows_table(rows: &[Row]) -> RecordBatch {
    table(vec![
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.1))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.2))),
    ])
}

/// Every number of a result, by group and kind: all of them linear in the contributions.
fn numbers(groups: &Groups) -> BTreeMap<(Option<i64>, String), i128> {
    let mut all = BTreeMap::new();
    for (key, group) in groups.keys[0].as_primitive::<Int64Type>().iter().zip(&groups.groups) {
        let mut put = |name: String, number: i128| _ = all.insert((key, name), number);
        put("units".into(), group.units.into());
        put("rows".into(), group.rows.into());
        for measured in &group.measured {
            match measured {
                Measured::Count(count) => put("present".into(), (*count).into()),
                Measured::Moments(moments) => {
                    put("count".into(), moments.count.into());
                    put("sum".into(), moments.sum.into());
                    put("squares".into(), moments.squares.into());
                }
                Measured::Bins(bins) => {
                    // Magnitudes are bins, too, but more of them.
                    let name = if bins.len() == common::BINS as usize { "bin" } else { "magnitude" };
                    bins.iter().enumerate().for_each(|(bin, &count)| put(format!("{name} {bin}"), count.into()));
                }
                Measured::Values(values) => {
                    for values in values.chunk_by(|one, other| one == other) {
                        put(format!("value {}", values[0]), values.len() as i128);
                    }
                }
                Measured::Items { values, counts } => {
                    for (item, &count) in values.as_primitive::<Float64Type>().values().iter().zip(counts) {
                        put(format!("item {item}"), count.into());
                    }
                }
            }
        }
    }
    all
}

/// one − other
fn difference(one: &Groups, other: &Groups) -> BTreeMap<(Option<i64>, String), i128> {
    let mut all = numbers(one);
    numbers(other).into_iter().for_each(|(name, number)| *all.entry(name).or_default() -= number);
    all.retain(|_, number| *number != 0);
    all
}

fn rows_of(unit: impl Strategy<Value = Option<i64>>, most: usize) -> impl Strategy<Value = Vec<Row>> {
    let group = prop_oneof![Just(None), (0i64..6).prop_map(Some), Just(Some(i64::MIN))];
    prop::collection::vec((unit, group, hostile_value()), 0..most)
}

fn one_unit() -> impl Strategy<Value = Vec<Row>> {
    let few = rows_of(Just(Some(7)), 40);
    // Thousands of rows, each moving a sum as far as possible.
    let many = (1000usize..4000, -1i64..3, prop::sample::select(vec![100.0, f64::NEG_INFINITY, 5.0]));
    let many = many.prop_map(|(count, group, value)| {
        (0..count as i64).map(|row| (Some(7), Some(if group < 0 { row } else { group }), Some(value))).collect()
    });
    prop_oneof![4 => few, 1 => many]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    /// With a fixed key, the result is the sum of what each unit contributes by itself; and one unit, whatever its
    /// rows, moves no statistic by more than the sensitivity that the noise is calibrated to.
    #[test]
    fn one_unit_moves_nothing_by_more_than_its_sensitivity(
        others in rows_of(prop_oneof![Just(None), (0i64..7).prop_map(Some)], 150), one in one_unit(), other in one_unit(),
        place in any::<prop::sample::Index>(), groups in 1u64..4, rows in 1u64..4, seed in any::<u64>(),
    ) {
        let caps = Some(ContributionCaps { groups, rows });
        let job = job(&rows_table(&[]), &all_measures(), caps, seed);
        let result = |unit: &[Row]| {
            let mut all = others.clone();
            // In the middle of the others, so that batches and workers differ, too.
            let place = place.index(all.len() + 1);
            all.splice(place..place, unit.iter().cloned());
            let deal = Deal { batch_rows: 37, workers: 3 };
            run_dealt(&rows_table(&all), &job, &deal, &Memory::unlimited()).unwrap()
        };
        let (without, with_one, with_other) = (result(&[]), result(&one), result(&other));
        let alone = run(&rows_table(&one), &all_measures(), caps, seed);
        let nothing = run(&rows_table(&[]), &all_measures(), caps, seed);
        prop_assert_eq!(difference(&with_one, &without), difference(&alone, &nothing));

        for (adjacency, before, after) in [
            (Adjacency::AddRemove, &without, &with_one),
            (Adjacency::AddRemove, &without, &with_other),
            (Adjacency::Replace, &with_one, &with_other),
        ] {
            let contribution = Contribution::in_groups(adjacency, groups, Rows::AtMost(rows)).unwrap();
            let moved = difference(before, after);
            for (what, claim) in [
                ("units", contribution.of_unit_count().unwrap()),
                ("rows", contribution.of_count().unwrap()),
                ("present", contribution.of_count().unwrap()),
                ("count", Moments::count_sensitivity(&contribution).unwrap()),
                ("sum", Moments::sum_sensitivity(&grid(), &contribution).unwrap()),
                ("squares", Moments::squares_sensitivity(&grid(), &contribution).unwrap()),
                ("bin", contribution.of_histogram().unwrap()),
                ("magnitude", contribution.of_histogram().unwrap()),
                ("value", contribution.of_histogram().unwrap()),
                ("item", contribution.of_histogram().unwrap()),
            ] {
                let moves = moved.iter().filter(|((_, name), _)| name.split(' ').next() == Some(what));
                let moves: Vec<u128> = moves.map(|(_, number)| number.unsigned_abs()).collect();
                let l1: u128 = moves.iter().sum();
                let l2_squared: u128 = moves.iter().map(|number| number * number).sum();
                prop_assert!(l1 <= claim.l1().unwrap().into(), "{what}: {l1} under {adjacency}");
                prop_assert!(l2_squared <= claim.l2_squared().unwrap(), "{what}: {l2_squared} under {adjacency}");
            }
        }
    }

    /// The same rows, in any order and dealt in any way, give the same statistics, even with little memory.
    #[test]
    fn nothing_but_the_set_of_rows_matters(
        rows in rows_of(prop_oneof![Just(None), (0i64..20).prop_map(Some)], 300), order in any::<u64>(), seed in any::<u64>(),
        deal in Deal::any(), by_row in any::<bool>(), groups in 1u64..4, most in 1u64..4, spilling in any::<bool>(),
    ) {
        let columns: &[usize] = if by_row { &[1, 2] } else { &[0, 1, 2] };
        let layout = Layout { unit: !by_row, ..all_measures() };
        let caps = (!by_row).then_some(ContributionCaps { groups, rows: most });
        let whole = rows_table(&rows).project(columns).unwrap();
        let expected = run(&whole, &layout, caps, seed);
        let mut turned = rows;
        common::shuffle(&mut turned, order);
        let turned = rows_table(&turned).project(columns).unwrap();
        // Groups and their statistics take about 400 kB; only about a hundred rows are held at a time.
        let memory = if spilling { Memory::new(2_000_000) } else { Memory::unlimited() };
        let memory = memory.spilling_to(std::env::temp_dir());
        let found = run_dealt(&turned, &job(&whole, &layout, caps, seed), &deal, &memory).unwrap();
        prop_assert_eq!(memory.used(), 0);
        prop_assert_eq!(found, expected);
    }
}

/// Enough units to detect a share that is off by a twentieth of itself.
const UNITS: i64 = 20_000;
/// Standard errors that a share may be off: exceeded once in ten million.
const SIGMAS: f64 = 5.4;

/// How often each pair of values occurs together in a unit; every unit has two.
fn pairs(values: impl Iterator<Item = (i64, i64)>) -> BTreeMap<(i64, i64), usize> {
    let mut units: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    values.for_each(|(unit, value)| units.entry(unit).or_default().push(value));
    let mut pairs = BTreeMap::new();
    for (_, mut values) in units {
        values.sort_unstable();
        assert_eq!(values.len(), 2);
        *pairs.entry((values[0], values[1])).or_default() += 1;
    }
    pairs
}

fn assert_uniform(pairs: &BTreeMap<(i64, i64), usize>, number: usize) {
    let expected = UNITS as f64 / number as f64;
    let most = SIGMAS * expected.sqrt();
    assert_eq!(pairs.len(), number);
    assert!(pairs.values().all(|&count| (count as f64 - expected).abs() < most), "{pairs:?}, not {expected} ± {most}");
}

/// Every two of a unit's six groups are as likely to be kept as any other two.
#[test]
fn groups_are_chosen_uniformly() {
    const GROUPS: i64 = 6;
    let rows: Vec<Row> = (0..UNITS * GROUPS).map(|row| (Some(row / GROUPS), Some(row % GROUPS), Some(0.0))).collect();
    let owners: ArrayRef = Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0)));
    let mut columns = rows_table(&rows).columns().to_vec();
    columns[2] = owners;
    let layout = Layout { unit: true, keys: 1, measures: vec![Measure::Items { column: 0 }] };
    let groups = run(&table(columns), &layout, Some(ContributionCaps { groups: 2, rows: 1 }), 1);
    let kept = groups.groups.iter().enumerate().flat_map(|(group, found)| match &found.measured[0] {
        Measured::Items { values, .. } => {
            let units: Vec<i64> = values.as_primitive::<Int64Type>().values().to_vec();
            units.into_iter().map(move |unit| (unit, group as i64))
        }
        other => panic!("{other:?}"),
    });
    assert_uniform(&pairs(kept), 15);
}

/// Every two of a unit's five rows are as likely to be kept as any other two, whether alike or not, first or last.
#[test]
fn rows_are_chosen_uniformly() {
    const ROWS: i64 = 5;
    let numbers = || (0..UNITS * ROWS).map(|row| (row / ROWS, row % ROWS));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(numbers().map(|(unit, _)| unit))),
        // A row is identified by its unit and its number.
        Arc::new(Int64Array::from_iter_values(numbers().map(|(unit, row)| unit * ROWS + row))),
    ];
    let layout = Layout { unit: true, keys: 0, measures: vec![Measure::Items { column: 0 }] };
    let groups = run(&table(columns), &layout, Some(ContributionCaps { groups: 1, rows: 2 }), 2);
    let Measured::Items { values, counts } = &groups.groups[0].measured[0] else { panic!("{groups:?}") };
    assert!(counts.iter().all(|&count| count == 1));
    let kept = values.as_primitive::<Int64Type>().values().iter().map(|number| (number / ROWS, number % ROWS));
    assert_uniform(&pairs(kept), 10);
}

#[test]
fn every_unit_keeps_what_it_may_and_no_more() {
    const ROWS: i64 = 50_000;
    let rows: Vec<Row> = (0..ROWS)
        .map(|row| (Some(row * row % 101), Some(row % 13 * (row % 7)), Some((row * row % 101) as f64)))
        .collect();
    let mut has: BTreeMap<i64, BTreeMap<i64, u64>> = BTreeMap::new();
    for (unit, group, _) in &rows {
        *has.entry(unit.unwrap()).or_default().entry(group.unwrap()).or_default() += 1;
    }
    let caps = ContributionCaps { groups: 5, rows: 3 };
    let layout = Layout { unit: true, keys: 1, measures: vec![Measure::Items { column: 0 }] };
    let found = run(&rows_table(&rows), &layout, Some(caps), 3);
    let mut kept: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    for (group, found) in found.keys[0].as_primitive::<Int64Type>().values().iter().zip(&found.groups) {
        let Measured::Items { values, counts } = &found.measured[0] else { panic!("{found:?}") };
        for (&unit, &count) in values.as_primitive::<Float64Type>().values().iter().zip(counts) {
            assert_eq!(count, has[&(unit as i64)][group].min(caps.rows));
            kept.entry(unit as i64).or_default().push(count);
        }
        assert_eq!(found.units, counts.len() as u64);
        assert_eq!(found.rows, counts.iter().sum::<u64>());
    }
    assert!(has.iter().all(|(unit, groups)| kept[unit].len() == groups.len().min(caps.groups as usize)));
    assert!(has.values().any(|groups| groups.len() > caps.groups as usize), "the control: there is something to cap");
}
