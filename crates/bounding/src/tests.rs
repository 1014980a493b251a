//! Comparison with a slow and obvious model, and hashes that collide.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use proptest::prelude::*;
use reticent::mechanism::range;
use reticent::noise::Entropy;
use reticent::statistic::{Grid, Moments};

use crate::choice::Chooser;
use crate::gather::Records;
use crate::keep::{Bucket, Keeper, Kept};
use crate::unit::{UnitForm, hash};
use crate::{
    Bounding, ChoiceKey, ContributionCaps, Groups, Job, Layout, Measure, Measured, Memory, PublicKeys, WeightCaps,
};

const BINS: u32 = 5;

/// A person's row: who, where (a place and a floor), how much, what.
type Row = (Option<i64>, Option<String>, Option<i64>, Option<f64>, Option<String>);

fn key(seed: u64) -> ChoiceKey {
    ChoiceKey::draw(&mut Entropy::seeded(seed).draw().unwrap())
}

fn grid() -> Grid {
    Grid::new(&"-20..100".parse().unwrap())
}

fn layout() -> Layout {
    let (grid, squares) = (grid(), true);
    let measures = vec![
        Measure::Present { column: 0 },
        Measure::Moments { column: 0, grid: grid.clone(), squares },
        Measure::Moments { column: 0, grid: grid.clone(), squares: false },
        Measure::Bins { column: 0, grid: grid.clone(), bins: BINS },
        Measure::Magnitudes { column: 0 },
        Measure::Values { column: 0, grid },
        Measure::Items { column: 1 },
        Measure::Present { column: 1 },
    ];
    Layout { unit: true, keys: 2, measures }
}

/// The form of a person's name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Named {
    Integer,
    Unsigned,
    Text,
}

fn schema(named: Named) -> SchemaRef {
    let unit = match named {
        Named::Integer => DataType::Int64,
        Named::Unsigned => DataType::UInt64,
        Named::Text => DataType::Utf8View,
    };
    Arc::new(Schema::new(vec![
        Field::new("person", unit, true),
        Field::new("place", DataType::Utf8View, true),
        Field::new("floor", DataType::Int64, true),
        Field::new("amount", DataType::Float64, true),
        Field::new("what", DataType::Utf8View, true),
    ]))
}

fn batch(rows: &[Row], named: Named) -> RecordBatch {
    let units: ArrayRef = match named {
        Named::Integer => Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0))),
        Named::Unsigned => Arc::new(UInt64Array::from_iter(rows.iter().map(|row| row.0.map(|unit| unit as u64)))),
        Named::Text => Arc::new(StringViewArray::from_iter(rows.iter().map(|row| row.0.map(name)))),
    };
    let columns: Vec<ArrayRef> = vec![
        units,
        Arc::new(StringViewArray::from_iter(rows.iter().map(|row| row.1.clone()))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.2))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.3))),
        Arc::new(StringViewArray::from_iter(rows.iter().map(|row| row.4.clone()))),
    ];
    RecordBatch::try_new(schema(named), columns).unwrap()
}

/// Names of all lengths, including the empty one, some with a zero at the end.
fn name(unit: i64) -> String {
    "ab\0".repeat(unit.unsigned_abs() as usize % 7)
}

fn job(named: Named, caps: ContributionCaps, keys: Option<PublicKeys>, seed: u64) -> Job {
    Job { schema: schema(named), layout: layout(), caps: Some(caps), keys, choice: key(seed) }
}

/// Deals batches of `batch_rows` rows to the workers in turn.
fn run(batch: &RecordBatch, job: &Job, batch_rows: usize, workers: usize) -> Groups {
    let bounding = Bounding::new(job, &Memory::unlimited()).unwrap();
    let mut workers: Vec<_> = (0..workers).map(|_| bounding.worker()).collect();
    for (number, from) in (0..batch.num_rows()).step_by(batch_rows).enumerate() {
        let place = number % workers.len();
        workers[place].add(&batch.slice(from, batch_rows.min(batch.num_rows() - from))).unwrap();
    }
    bounding.finish(workers).unwrap()
}

/// The features of a row's amount and thing, in the order in which rows are compared.
type Features5 = (Option<i32>, Option<i32>, Option<i32>, Option<String>, Option<i32>);

fn features(row: &Row) -> Features5 {
    let number = row.3.filter(|value| !value.is_nan());
    (
        row.3.map(|_| 1),
        number.map(|value| grid().steps(value).unwrap() as i32),
        number.and_then(range::bin).map(|bin| bin as i32),
        row.4.clone(),
        row.4.as_ref().map(|_| 1),
    )
}

/// NULL last.
type Key = ((bool, String), (bool, i64));

fn key_of(row: &Row) -> Key {
    let place = (row.1.is_none(), row.1.clone().unwrap_or_default());
    (place, (row.2.is_none(), row.2.unwrap_or_default()))
}

/// The bytes of a key that its digest is computed from.
fn key_bytes(((no_place, place), (no_floor, floor)): &Key) -> Vec<u8> {
    let mut bytes = vec![u8::from(!no_place)];
    if !no_place {
        bytes.extend((place.len() as u64).to_le_bytes());
        bytes.extend(place.as_bytes());
    }
    bytes.push(u8::from(!no_floor));
    if !no_floor {
        bytes.extend((*floor as u64 ^ 1 << 63).to_le_bytes());
    }
    bytes
}

/// The rule, written out: per unit the groups with the smallest ranks, per group the rows with the smallest ranks.
fn model(
    rows: &[Row],
    named: Named,
    caps: ContributionCaps,
    known: Option<&[Key]>,
    seed: u64,
) -> BTreeMap<Key, Vec<Measured>> {
    let chooser = Chooser::new(&key(seed));
    let mut units: BTreeMap<Vec<u8>, BTreeMap<Key, Vec<&Row>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| known.is_none_or(|known| known.contains(&key_of(row)))) {
        let Some(unit) = row.0 else { continue };
        let identity = if named == Named::Text { name(unit).into_bytes() } else { unit.to_le_bytes().to_vec() };
        units.entry(identity).or_default().entry(key_of(row)).or_default().push(row);
    }
    let mut kept: BTreeMap<Key, (u64, Vec<Features5>)> = BTreeMap::new();
    known.into_iter().flatten().for_each(|key| drop(kept.insert(key.clone(), (0, Vec::new()))));
    for (unit, groups) in units {
        let unit = if named == Named::Text {
            let mut words = (unit.len() as u32).to_le_bytes().to_vec();
            words.extend(&unit);
            words.resize(words.len().next_multiple_of(4), 0);
            chooser.shorten(&words)
        } else {
            u128::from(u64::from_le_bytes(unit.try_into().unwrap()))
        };
        let mut places: Vec<(u64, u128, Key, Vec<&Row>)> = groups
            .into_iter()
            .map(|(key, rows)| {
                let digest = chooser.shorten(&key_bytes(&key));
                (chooser.of_unit(unit).of_group(digest), digest, key, rows)
            })
            .collect();
        places.sort_by_key(|(place, ..)| *place);
        for (_, digest, key, rows) in places.into_iter().take(caps.groups as usize) {
            let mut rows: Vec<Features5> = rows.into_iter().map(features).collect();
            rows.sort();
            let mut rows: Vec<(u64, Features5)> = rows
                .into_iter()
                .enumerate()
                .map(|(number, row)| (chooser.of_unit(unit).of_rows_in(digest).of_row(number as u64), row))
                .collect();
            // All of them are kept if there are few enough; otherwise those with the smallest ranks.
            rows.sort_by_key(|(place, _)| *place);
            let group = kept.entry(key).or_default();
            group.0 += 1;
            group.1.extend(rows.into_iter().take(caps.rows as usize).map(|(_, row)| row));
        }
    }
    kept.into_iter().map(|(key, (units, rows))| (key, measured(units, &rows))).collect()
}

fn measured(units: u64, rows: &[Features5]) -> Vec<Measured> {
    let grid = grid();
    let mut steps: Vec<i64> = rows.iter().filter_map(|row| row.1).map(i64::from).collect();
    steps.sort_unstable();
    let moments = Moments::of(&grid, steps.iter().map(|&steps| Some(grid.value(steps))));
    let width = (grid.upper() - grid.lower()) as f64 / f64::from(BINS);
    let mut bins = vec![0; BINS as usize];
    for &step in &steps {
        bins[(((step - grid.lower()) as f64 / width) as usize).min(BINS as usize - 1)] += 1;
    }
    let mut magnitudes = vec![0; range::BINS];
    rows.iter().filter_map(|row| row.2).for_each(|bin| magnitudes[bin as usize] += 1);
    let mut items: BTreeMap<&str, u64> = BTreeMap::new();
    rows.iter().filter_map(|row| row.3.as_deref()).for_each(|item| *items.entry(item).or_default() += 1);
    let values: ArrayRef = Arc::new(StringViewArray::from_iter_values(items.keys()));
    vec![
        Measured::Values(vec![units as i64, rows.len() as i64]),
        Measured::Count(rows.iter().filter(|row| row.0.is_some()).count() as i64),
        Measured::Moments(moments),
        Measured::Moments(Moments { squares: 0, ..moments }),
        Measured::Bins(bins),
        Measured::Bins(magnitudes),
        Measured::Values(steps),
        Measured::Items { values, counts: items.into_values().collect() },
        Measured::Count(rows.iter().filter(|row| row.4.is_some()).count() as i64),
    ]
}

/// The result in the model's form; fails if keys are not in order.
fn by_key(groups: &Groups) -> BTreeMap<Key, Vec<Measured>> {
    let places = groups.keys[0].as_string_view();
    let floors = groups.keys[1].as_primitive::<Int64Type>();
    let keys = places.iter().zip(floors).map(|(place, floor)| {
        ((place.is_none(), place.unwrap_or_default().to_owned()), (floor.is_none(), floor.unwrap_or_default()))
    });
    let keys: Vec<Key> = keys.collect();
    assert!(keys.is_sorted(), "{keys:?}");
    let all = groups.groups.iter().map(|group| {
        let mut measured = vec![Measured::Values(vec![group.units as i64, group.rows as i64])];
        measured.extend(group.measured.iter().cloned());
        measured
    });
    keys.into_iter().zip(all).collect()
}

fn amounts() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        Just(None),
        prop::sample::select(vec![
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            1e300,
            f64::MIN_POSITIVE
        ])
        .prop_map(Some),
        (-30.0f64..120.0).prop_map(Some),
        (-3i8..3).prop_map(|small| Some(small.into())),
    ]
}

fn text(of: &[&str]) -> impl Strategy<Value = Option<String>> + use<> {
    let mut all: Vec<String> = of.iter().map(|text| (*text).to_owned()).collect();
    all.push("not so long".repeat(2));
    // Rarely, or the test would spend all its time comparing them.
    let text = prop_oneof![50 => prop::sample::select(all), 1 => Just("long ".repeat(1 << 14))];
    prop::option::weighted(0.8, text)
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let unit = prop::option::weighted(0.9, prop_oneof![0i64..5, Just(i64::MIN), Just(i64::MAX)]);
    let floor = prop::option::weighted(0.8, prop::sample::select(vec![0, 1, -1, i64::MIN]));
    let (place, what) = (text(&["", "a", "ab", "b", "a\0"]), text(&["", "x", "y", "yy"]));
    prop::collection::vec((unit, place, floor, amounts(), what), 0..120)
}

fn named() -> impl Strategy<Value = Named> {
    prop::sample::select(vec![Named::Integer, Named::Unsigned, Named::Text])
}

/// Four keys, one of them twice.
fn public() -> (PublicKeys, [Key; 4]) {
    let places = [Some("b"), None, Some("a"), Some("nowhere"), Some("b")];
    let floors = [Some(0), None, Some(i64::MIN), Some(7), Some(0)];
    let key = |number: usize| {
        let (place, floor): (Option<&str>, Option<i64>) = (places[number], floors[number]);
        ((place.is_none(), place.unwrap_or_default().to_owned()), (floor.is_none(), floor.unwrap_or_default()))
    };
    let columns: Vec<ArrayRef> =
        vec![Arc::new(StringViewArray::from(places.to_vec())), Arc::new(Int64Array::from(floors.to_vec()))];
    (PublicKeys { columns }, [key(0), key(1), key(2), key(3)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_done_is_what_the_rule_says(
        rows in rows(), named in named(), groups in 1u64..5, most in 1u64..4, seed in any::<u64>(),
        batch_rows in 1usize..50, workers in 1usize..4,
    ) {
        let caps = ContributionCaps { groups, rows: most };
        let found = run(&batch(&rows, named), &job(named, caps, None, seed), batch_rows, workers);
        prop_assert_eq!(by_key(&found), model(&rows, named, caps, None, seed));
    }

    #[test]
    fn public_keys_all_appear_and_strangers_are_gone_before_anything_is_chosen(
        rows in rows(), groups in 1u64..3, most in 1u64..3, seed in any::<u64>(), batch_rows in 1usize..50,
    ) {
        let caps = ContributionCaps { groups, rows: most };
        let (known, keys) = public();
        let job = job(Named::Integer, caps, Some(known), seed);
        let found = run(&batch(&rows, Named::Integer), &job, batch_rows, 2);
        prop_assert_eq!(by_key(&found), model(&rows, Named::Integer, caps, Some(&keys), seed));
    }

    /// Also for a single key column, of numbers or texts.
    #[test]
    fn parts_of_one_key_merge_to_the_same(rows in rows(), text in any::<bool>()) {
        let columns = [if text { 1 } else { 2 }, 3, 4];
        let all = batch(&rows, Named::Integer).project(&columns).unwrap();
        let layout = Layout { unit: false, keys: 1, ..layout() };
        let job = Job { schema: all.schema(), layout, caps: None, keys: None, choice: key(1) };
        let bounding = Bounding::new(&job, &Memory::unlimited()).unwrap();
        let mut parts = Vec::new();
        for (from, to) in [(0, rows.len() / 2), (rows.len() / 2, rows.len())] {
            let mut worker = bounding.worker();
            worker.add(&all.slice(from, to - from)).unwrap();
            let part = bounding.part(vec![worker]).unwrap();
            parts.push(bounding.read_part(&part.to_bytes().unwrap()).unwrap());
        }
        prop_assert_eq!(bounding.merge(parts).unwrap(), run(&all, &job, 10, 2));
    }

    /// Jobs and parts are serialised, and each part has all rows of its units.
    #[test]
    fn parts_of_different_units_merge_to_the_same(
        rows in rows(), named in named(), groups in 1u64..5, most in 1u64..4, seed in any::<u64>(), known in any::<bool>(),
        by_row in any::<bool>(), processes in 0i64..4,
    ) {
        let mut job = job(named, ContributionCaps { groups, rows: most }, known.then(|| public().0), seed);
        let mut all = batch(&rows, named);
        if by_row {
            all = all.project(&[1, 2, 3, 4]).unwrap();
            job = Job { schema: all.schema(), layout: Layout { unit: false, ..layout() }, caps: None, ..job };
        }
        let here = Bounding::new(&job, &Memory::unlimited()).unwrap();
        let mut parts = Vec::new();
        for process in 0..processes {
            let there = Bounding::new(&Job::from_bytes(&job.to_bytes().unwrap()).unwrap(), &Memory::unlimited()).unwrap();
            let is_here = |row: &Row| match (row.0, named) {
                (None, _) => process == 0,
                (Some(unit), Named::Text) => name(unit).len() as i64 % processes == process,
                (Some(unit), _) => unit.rem_euclid(processes) == process,
            };
            let some: Vec<Row> = rows.iter().filter(|row| is_here(row)).cloned().collect();
            let some = batch(&some, named);
            let mut worker = there.worker();
            worker.add(&if by_row { some.project(&[1, 2, 3, 4]).unwrap() } else { some }).unwrap();
            parts.push(here.read_part(&there.part(vec![worker]).unwrap().to_bytes().unwrap()).unwrap());
        }
        let expected = if processes == 0 { all.slice(0, 0) } else { all };
        prop_assert_eq!(here.merge(parts).unwrap(), run(&expected, &job, 10, 2));
    }

    /// Broken bytes are an error, or another value: never a panic.
    #[test]
    fn broken_bytes_are_refused(place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let row = |unit| (Some(unit), Some("a".to_owned()), Some(1), Some(2.0), Some("x".to_owned()));
        let rows: Vec<Row> = (0..5).map(row).collect();
        let job = job(Named::Integer, ContributionCaps { groups: 2, rows: 1 }, Some(public().0), 1);
        let bounding = Bounding::new(&job, &Memory::unlimited()).unwrap();
        let mut worker = bounding.worker();
        worker.add(&batch(&rows, Named::Integer)).unwrap();
        let part = bounding.part(vec![worker]).unwrap().to_bytes().unwrap();
        for mut bytes in [job.to_bytes().unwrap(), part] {
            prop_assert!(Job::from_bytes(&bytes[..cut.index(bytes.len())]).is_err());
            prop_assert!(bounding.read_part(&bytes[..cut.index(bytes.len())]).is_err());
            let place = place.index(bytes.len());
            bytes[place] ^= byte;
            _ = Job::from_bytes(&bytes).map(|job| Bounding::new(&job, &Memory::unlimited()));
            _ = bounding.read_part(&bytes);
        }
    }
}

/// Two units with the same 64-bit hash, crafted with knowledge of the seed, remain distinct.
#[test]
fn units_are_compared_and_not_only_hashed() {
    let chooser = Chooser::new(&key(9));
    let seed = chooser.table_seed();
    // A unit of 12 bytes is the words 12, a, b, c. Any change of a can be undone by a change of b and c.
    let first_half = |a: u32| {
        let state = u128::from(seed ^ (12 | u64::from(a) << 32)) * 0x9e37_79b9_7f4a_7c15;
        (state >> 64) as u64 ^ state as u64
    };
    let change = first_half(1) ^ first_half(2);
    let units = [[12, 1, 0, 0], [12, 2, change as u32, (change >> 32) as u32]];
    assert_eq!(hash(seed, &units[0]), hash(seed, &units[1]), "the control: these hashes collide");

    let one_group = 0;
    // Their rows alternate.
    let records: Vec<u32> =
        units.iter().cycle().take(6).flat_map(|unit| unit.iter().copied().chain([one_group])).collect();
    let mut keeper = Keeper::new(ContributionCaps { groups: 1, rows: 1 }, chooser);
    let mut kept = Kept::default();
    let records = Records { words: &records, form: UnitForm::Bytes, features: 0 };
    keeper.keep(Bucket { records, digests: &[0], items: &Vec::new() }, &mut kept).unwrap();
    assert_eq!((kept.units, kept.groups), (vec![one_group; 2], vec![one_group; 2]));
}

/// Weighted units, rows and steps of each group.
type WeighedGroups = BTreeMap<(Option<String>, Option<i64>), (u64, u64, i128)>;

/// What weights must give, slowly: by unit and group, then added up; with `wider` caps, what these add.
fn weighed(rows: &[Row], caps: WeightCaps, wider: Option<WeightCaps>) -> WeighedGroups {
    let weight = |number: usize, of: fn(WeightCaps) -> u64| {
        let (number, small) = (number as u64, of(caps).min(number as u64));
        let weight = wider.map_or(small, |wider| of(wider).min(number) - small);
        (weight << 16) / number
    };
    let mut by_unit: BTreeMap<i64, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_unit.entry(row.0.unwrap_or_default()).or_default().extend(row.0.map(|_| row));
    }
    let mut groups = WeighedGroups::new();
    for rows in by_unit.values() {
        if rows.is_empty() {
            continue;
        }
        let (counted, added) = (weight(rows.len(), |caps| caps.rows), weight(rows.len(), |caps| caps.values));
        let of_unit: std::collections::BTreeSet<_> = rows.iter().map(|row| (row.1.clone(), row.2)).collect();
        for row in rows {
            let group = groups.entry((row.1.clone(), row.2)).or_default();
            group.1 += counted;
            let steps = row.3.and_then(|value| coarse().steps(value)).map(|steps| steps - coarse().middle());
            group.2 += i128::from(steps.unwrap_or_default()) * i128::from(added);
        }
        for group in &of_unit {
            groups.get_mut(group).unwrap().0 += weight(of_unit.len(), |caps| caps.groups);
        }
    }
    groups
}

/// A grid of few steps.
fn coarse() -> Grid {
    Grid::new(&"-20..100".parse().unwrap()).coarsened(1 << 16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Weighted statistics are those of the model, whatever the batches and workers; and no unit weighs more than its
    /// caps, since the model's do not.
    #[test]
    fn weights_are_those_of_the_model(
        rows in rows(),
        caps in (1u64..9, 1u64..4, 1u64..20),
        named in prop::sample::select(vec![Named::Integer, Named::Unsigned]),
        (batch_rows, workers) in (1usize..40, 1usize..4),
    ) {
        let caps = WeightCaps { rows: caps.0, values: caps.2, groups: caps.1 };
        let wide = WeightCaps { rows: caps.rows + 3, values: caps.values + 5, groups: caps.groups + 1 };
        let measures = vec![Measure::Moments { column: 0, grid: coarse(), squares: false }];
        let layout = Layout { unit: true, keys: 2, measures };
        let job = Job { schema: schema(named), layout, caps: None, keys: None, choice: key(1) };
        let bounding = Bounding::new(&job, &Memory::unlimited()).unwrap();
        let mut crew: Vec<_> = (0..workers).map(|_| bounding.worker()).collect();
        let batch = batch(&rows, named);
        for (number, from) in (0..rows.len()).step_by(batch_rows).enumerate() {
            crew[number % workers].add(&batch.slice(from, batch_rows.min(rows.len() - from))).unwrap();
        }
        let weighing = bounding.weigh(crew, None).unwrap();
        let activity = weighing.activity().unwrap();
        let with_unit: std::collections::BTreeSet<i64> = rows.iter().filter_map(|row| row.0).collect();
        prop_assert_eq!(activity.rows.iter().sum::<u64>(), with_unit.len() as u64);
        prop_assert_eq!(activity.groups.iter().sum::<u64>(), with_unit.len() as u64);
        let found = weighing.finish(caps, wide).unwrap();
        let expected = weighed(&rows, caps, None);
        let sum = |sum: (u64, u64, i128), one: (u64, u64, i128)| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2);
        let added = weighed(&rows, caps, Some(wide)).into_values().fold((0, 0, 0), sum);
        let Measured::Moments(moments) = &found.added.measured[0] else { panic!("{found:?}") };
        prop_assert_eq!((found.added.units, found.added.rows, i128::from(moments.sum)), added);
        prop_assert_eq!(found.groups.groups.len(), expected.len());
        let (places, floors) = (found.groups.keys[0].as_string_view(), found.groups.keys[1].as_primitive::<Int64Type>());
        for (number, group) in found.groups.groups.iter().enumerate() {
            let place = (!arrow_array::Array::is_null(places, number)).then(|| places.value(number).to_owned());
            let floor = (!arrow_array::Array::is_null(floors, number)).then(|| floors.value(number));
            let Measured::Moments(moments) = &group.measured[0] else { panic!("{group:?}") };
            prop_assert_eq!((group.units, group.rows, i128::from(moments.sum)), expected[&(place, floor)]);
        }
    }
}

/// A unit counts in no more groups than the limit, chosen by the key, and its weight is spread over these alone.
#[test]
fn weighed_units_count_in_a_limited_number_of_groups() {
    let row = |unit: i64, floor: i64| (Some(unit), None, Some(floor), Some(1.0), None);
    let rows: Vec<Row> = (0..20).flat_map(|floor| [row(1, floor), row(1, floor)]).chain([row(2, 0)]).collect();
    let caps = WeightCaps { rows: 6, values: 6, groups: 2 };
    let groups = |secret: u64, limit: Option<u64>| {
        let layout = Layout { unit: true, keys: 2, measures: Vec::new() };
        let job = Job { schema: schema(Named::Integer), layout, caps: None, keys: None, choice: key(secret) };
        let bounding = Bounding::new(&job, &Memory::unlimited()).unwrap();
        let mut worker = bounding.worker();
        worker.add(&batch(&rows, Named::Integer)).unwrap();
        let weighing = bounding.weigh(vec![worker], limit).unwrap();
        let activity = weighing.activity().unwrap();
        let found = weighing.finish(caps, caps).unwrap().groups;
        let floors = found.keys[1].as_primitive::<Int64Type>().values().to_vec();
        (activity.groups, floors, found.groups)
    };
    let (activity, floors, all) = groups(1, None);
    assert_eq!((activity, floors.len()), (vec![1, 0, 0, 0, 0, 1], 20));
    // 40 rows of unit 1, and one of unit 2.
    assert_eq!(all[1].rows, 2 * ((6 << 16) / 40));
    let (activity, floors, some) = groups(1, Some(4));
    assert_eq!(activity, [1, 0, 1]);
    let of_first = |group: &crate::Group, floor: i64| group.rows - if floor == 0 { 1 << 16 } else { 0 };
    let weights: Vec<u64> = some.iter().zip(&floors).map(|(group, &floor)| of_first(group, floor)).collect();
    assert_eq!(weights.iter().filter(|&&weight| weight == 2 * ((6 << 16) / 8)).count(), 4);
    assert_ne!(floors, groups(2, Some(4)).1);
}

/// What wider caps add is rounded down for each row of a unit: the difference of two rounded weights would exceed the
/// difference of the caps, by up to a step for every row.
#[test]
fn what_wider_caps_add_is_limited_by_their_difference() {
    let row = |unit: i64| (Some(unit), None, Some(0), Some(1.0), None);
    let (caps, wider) = (WeightCaps { rows: 3, values: 3, groups: 1 }, WeightCaps { rows: 5, values: 5, groups: 2 });
    for number in [1, 3, 4, 5, 6, 7, 1000, 40_009] {
        let layout = Layout { unit: true, keys: 2, measures: Vec::new() };
        let job = Job { schema: schema(Named::Integer), layout, caps: None, keys: None, choice: key(1) };
        let bounding = Bounding::new(&job, &Memory::unlimited()).unwrap();
        let mut worker = bounding.worker();
        worker.add(&batch(&vec![row(1); number], Named::Integer)).unwrap();
        let added = bounding.weigh(vec![worker], None).unwrap().finish(caps, wider).unwrap().added;
        assert!(added.rows <= 2 << 16, "{number}: {}", added.rows);
        assert!(
            added.rows + number as u64 > (number as u64).clamp(3, 5).saturating_sub(3) << 16,
            "{number}: {added:?}"
        );
    }
}

/// A unit with more than 2^16 rows, each of which weighs nothing, is still in its group: if it were not, the group's number
/// of units would jump from 0 to 2 when a second unit joins.
#[test]
fn a_group_of_weightless_rows_is_there() {
    let row = |unit: i64, floor: i64| (Some(unit), None, Some(floor), Some(1.0), None);
    let many: Vec<Row> = (0..(1 << 16) + 1).map(|_| row(1, 7)).collect();
    let units = |rows: &[Row]| {
        let layout = Layout { unit: true, keys: 2, measures: Vec::new() };
        let job = Job { schema: schema(Named::Integer), layout, caps: None, keys: None, choice: key(1) };
        let bounding = Bounding::new(&job, &Memory::unlimited()).unwrap();
        let mut worker = bounding.worker();
        worker.add(&batch(rows, Named::Integer)).unwrap();
        let caps = WeightCaps { rows: 1, values: 1, groups: 1 };
        let found = bounding.weigh(vec![worker], None).unwrap().finish(caps, caps).unwrap();
        found.groups.groups.iter().map(|group| (group.units, group.rows)).collect::<Vec<_>>()
    };
    assert_eq!(units(&many), [(1 << 16, 0)]);
    let both: Vec<Row> = many.into_iter().chain([row(2, 7)]).collect();
    assert_eq!(units(&both), [(2 << 16, 1 << 16)]);
}

#[test]
fn bins_of_activity_are_powers_of_two() {
    let bins: Vec<usize> = [1, 2, 3, 4, 5, 8, 9, u64::MAX].into_iter().map(crate::Activity::bin).collect();
    assert_eq!(bins, [0, 1, 2, 2, 3, 3, 4, 64]);
}

#[test]
fn a_job_is_capped_or_weighed() {
    let capped = job(Named::Integer, ContributionCaps { groups: 1, rows: 1 }, None, 1);
    let bounding = Bounding::new(&capped, &Memory::unlimited()).unwrap();
    assert!(bounding.weigh(vec![bounding.worker()], None).is_err());
    // Values, items and fine grids have no weights.
    assert!(Bounding::new(&Job { caps: None, ..capped.clone() }, &Memory::unlimited()).is_err());
    let plain = Job { layout: Layout { measures: Vec::new(), ..capped.layout.clone() }, caps: None, ..capped };
    let bounding = Bounding::new(&plain, &Memory::unlimited()).unwrap();
    assert!(bounding.finish(vec![bounding.worker()]).is_err());
}

/// A long text that many groups have in their keys is in the result once for each of them.
#[test]
fn texts_of_the_result_count_against_the_memory_limit() {
    let long = "x".repeat(10_000);
    let rows: Vec<Row> = (0..1000).map(|floor| (Some(1), Some(long.clone()), Some(floor), None, None)).collect();
    let outcome = |limit: usize| {
        let layout = Layout { unit: true, keys: 2, measures: Vec::new() };
        let job = Job { layout, ..job(Named::Integer, ContributionCaps { groups: 5000, rows: 1 }, None, 1) };
        let bounding = Bounding::new(&job, &Memory::new(limit)).unwrap();
        let mut worker = bounding.worker();
        worker.add(&batch(&rows, Named::Integer)).unwrap();
        bounding.finish(vec![worker]).map(|groups| groups.groups.len())
    };
    assert!(matches!(outcome(20 << 20), Err(crate::Error::Memory)));
    assert_eq!(outcome(60 << 20).unwrap(), 1000);
}
