//! How far apart neighbours may be.

use std::collections::{BTreeMap, BTreeSet};

use reticent_sql::answer::Entry;
use reticent_sql::{Answer, Exact};

/// The largest fraction of its sensitivity that a statistic moved by.
#[derive(Debug, Default)]
pub struct Moved {
    pub largest: f64,
}

/// The keys of an answer, in order.
pub fn keys(answer: &Answer) -> Vec<String> {
    let plain = |row: &Vec<Entry>| {
        let keys = row.iter().filter(|entry| matches!(entry, Entry::Plain(_)));
        keys.map(|entry| entry.to_json()).collect::<Vec<_>>().join("|")
    };
    answer.rows.iter().map(plain).collect()
}

/// Every statistic is within its sensitivity, and keys are in order.
pub fn exact(one: &Exact, other: &Exact, case: &str, moved: &mut BTreeMap<String, Moved>) {
    let all: BTreeSet<&String> = one.keys.iter().chain(&other.keys).collect();
    let place = |exact: &Exact, key: &String| exact.keys.iter().position(|one| one == key);
    let mut note = |words: &str, share: f64| {
        let moved = moved.entry(words.to_owned()).or_default();
        moved.largest = moved.largest.max(share);
    };
    assert_eq!(one.parts.len(), other.parts.len(), "{case}");
    for (part, neighbour) in one.parts.iter().zip(&other.parts) {
        let size = |exact: &Exact, numbers: &[i64]| numbers.len().checked_div(exact.keys.len()).unwrap_or(0);
        let width = size(one, &part.numbers).max(size(other, &neighbour.numbers));
        let (mut l1, mut l2_squared) = (0u128, 0u128);
        for key in &all {
            let numbers = |exact: &Exact, numbers: &[i64], number: usize| {
                place(exact, key).map_or(0, |place| i128::from(numbers[place * width + number]))
            };
            for number in 0..width {
                let difference =
                    numbers(one, &part.numbers, number).abs_diff(numbers(other, &neighbour.numbers, number));
                l1 += difference;
                l2_squared += difference * difference;
            }
        }
        assert!(l1 <= part.l1.into(), "{case}: {} moves by {l1}, not {}", part.words, part.l1);
        assert!(l2_squared <= part.l2_squared, "{case}: {} moves by {l2_squared}", part.words);
        note(&part.words, l1 as f64 / part.l1 as f64);
    }
    let (_, width, most) = one.boxed;
    let apart = |key: &&String| {
        let numbers = |exact: &Exact, number: usize| {
            place(exact, key).map_or(0, |place| i128::from(exact.boxed.0[place * width + number]))
        };
        (0..width).map(|number| numbers(one, number).abs_diff(numbers(other, number))).max().unwrap_or(0)
    };
    let largest: u128 = all.iter().map(apart).sum();
    assert!(largest <= most.into(), "{case}: vectors move by {largest}, not {most}");
    if width > 0 {
        note("box", largest as f64 / most as f64);
    }
    let units: u64 = all
        .iter()
        .map(|key| {
            let units = |exact: &Exact| place(exact, key).map_or(0, |place| exact.units.0[place]);
            units(one).abs_diff(units(other))
        })
        .sum();
    assert!(units <= one.units.1, "{case}: {units} units of keys, not {}", one.units.1);
    note("keys", units as f64 / one.units.1 as f64);
    for (measure, neighbour) in one.values.0.iter().zip(&other.values.0) {
        let mut changed = 0;
        for key in &all {
            let values = |exact: &Exact, measure: &[Vec<String>]| {
                let mut counts: BTreeMap<String, i64> = BTreeMap::new();
                for value in place(exact, key).into_iter().flat_map(|place| measure[place].clone()) {
                    *counts.entry(value).or_default() += 1;
                }
                counts
            };
            let (ours, theirs) = (values(one, measure), values(other, neighbour));
            let both: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            let count = |counts: &BTreeMap<String, i64>, value: &String| counts.get(value).copied().unwrap_or(0);
            changed += both.iter().map(|value| count(&ours, value).abs_diff(count(&theirs, value))).sum::<u64>();
        }
        assert!(changed <= one.values.1, "{case}: {changed} ranked values change, not {}", one.values.1);
        if measure.iter().chain(neighbour).any(|group| !group.is_empty()) {
            note("ranks", changed as f64 / one.values.1 as f64);
        }
    }
}
