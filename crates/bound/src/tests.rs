//! Against a slow and obvious model, and hashes that collide.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, collect_partitioned};
use datafusion::prelude::SessionConfig;
use proptest::prelude::*;
use reticent::mechanism::range;
use reticent::noise::Entropy;
use reticent::statistic::{Grid, Moments};

use super::bucket::{BUCKETS, Buckets};
use super::choice::Chooser;
use super::feature::Features;
use super::keep::{Bucket, Keeper, Kept};
use super::keys::in_order;
use super::unit::{UnitForm, hash};
use super::{BoundExec, Caps, ChoiceKey, Groups, Layout, Measure, Measured, PublicKeys, aggregate, merge};

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

fn schema(unit: DataType) -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("person", unit, true),
        Field::new("place", DataType::Utf8, true),
        Field::new("floor", DataType::Int64, true),
        Field::new("amount", DataType::Float64, true),
        Field::new("what", DataType::Utf8, true),
    ]))
}

fn batch(rows: &[Row], text_units: bool) -> RecordBatch {
    let units: ArrayRef = if text_units {
        Arc::new(StringArray::from_iter(rows.iter().map(|row| row.0.map(name))))
    } else {
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0)))
    };
    let columns: Vec<ArrayRef> = vec![
        units,
        Arc::new(StringArray::from_iter(rows.iter().map(|row| row.1.clone()))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.2))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.3))),
        Arc::new(StringArray::from_iter(rows.iter().map(|row| row.4.clone()))),
    ];
    RecordBatch::try_new(schema(if text_units { DataType::Utf8 } else { DataType::Int64 }), columns).unwrap()
}

/// Names of all lengths, the empty one among them, some with a zero at the end.
fn name(unit: i64) -> String {
    "ab\0".repeat(unit.unsigned_abs() as usize % 7)
}

fn plan(batch: &RecordBatch, batch_rows: usize, partitions: usize) -> Arc<dyn ExecutionPlan> {
    let mut parts = vec![Vec::new(); partitions];
    for (number, from) in (0..batch.num_rows()).step_by(batch_rows).enumerate() {
        parts[number % partitions].push(batch.slice(from, batch_rows.min(batch.num_rows() - from)));
    }
    MemorySourceConfig::try_new_exec(&parts, batch.schema(), None).unwrap()
}

fn context(partitions: usize) -> Arc<TaskContext> {
    Arc::new(TaskContext::default().with_session_config(SessionConfig::new().with_target_partitions(partitions)))
}

fn run(plan: Arc<dyn ExecutionPlan>, caps: Caps, known: Option<&PublicKeys>, seed: u64, partitions: usize) -> Groups {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(aggregate(plan, &layout(), Some(caps), known, key(seed), context(partitions))).unwrap()
}

/// What the operator keeps of a row's amount and thing, in the order in which it compares them.
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

/// The rule in as many words: per unit the groups with the smallest places, per group the rows with the smallest places.
fn model(rows: &[Row], text_units: bool, caps: Caps, known: Option<&[Key]>, seed: u64) -> BTreeMap<Key, Vec<Measured>> {
    let chooser = Chooser::new(&key(seed));
    let mut units: BTreeMap<Vec<u8>, BTreeMap<Key, Vec<&Row>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| known.is_none_or(|known| known.contains(&key_of(row)))) {
        let Some(unit) = row.0 else { continue };
        let identity = if text_units { name(unit).into_bytes() } else { unit.to_le_bytes().to_vec() };
        units.entry(identity).or_default().entry(key_of(row)).or_default().push(row);
    }
    let mut kept: BTreeMap<Key, (u64, Vec<Features5>)> = BTreeMap::new();
    known.into_iter().flatten().for_each(|key| drop(kept.insert(key.clone(), (0, Vec::new()))));
    for (unit, groups) in units {
        let unit = if text_units {
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
                let columns: Vec<ArrayRef> = batch(&[rows[0].clone()], text_units).columns()[1..3].to_vec();
                let bytes = in_order(&[DataType::Utf8, DataType::Int64]).unwrap().convert_columns(&columns).unwrap();
                let digest = chooser.shorten(bytes.row(0).data());
                (chooser.place_of_group(unit, digest), digest, key, rows)
            })
            .collect();
        places.sort_by_key(|(place, ..)| *place);
        for (_, digest, key, rows) in places.into_iter().take(caps.groups as usize) {
            let mut rows: Vec<Features5> = rows.into_iter().map(features).collect();
            rows.sort();
            let mut rows: Vec<(u64, Features5)> = rows
                .into_iter()
                .enumerate()
                .map(|(number, row)| (chooser.place_of_row(unit, digest, number as u64), row))
                .collect();
            // All of them count if there are no more than may; else those with the smallest places.
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
    let values: ArrayRef = Arc::new(StringArray::from_iter_values(items.keys()));
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

/// The operator's result in the model's form; fails if keys are not in order.
fn by_key(groups: &Groups) -> BTreeMap<Key, Vec<Measured>> {
    let places = groups.keys[0].as_string::<i32>();
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

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let unit = prop::option::weighted(0.9, prop_oneof![0i64..5, Just(i64::MIN), Just(i64::MAX)]);
    let place =
        prop::option::weighted(0.8, prop::sample::select(vec!["", "a", "ab", "b", "a\0"]).prop_map(String::from));
    let floor = prop::option::weighted(0.8, prop::sample::select(vec![0, 1, -1, i64::MIN]));
    let what = prop::option::weighted(0.8, prop::sample::select(vec!["", "x", "y", "yy"]).prop_map(String::from));
    prop::collection::vec((unit, place, floor, amounts(), what), 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_operator_does_what_the_rule_says(
        rows in rows(), text_units in any::<bool>(), groups in 1u64..5, most in 1u64..4, seed in any::<u64>(),
        batch_rows in 1usize..50, partitions in 1usize..4,
    ) {
        let caps = Caps { groups, rows: most };
        let input = plan(&batch(&rows, text_units), batch_rows, partitions);
        let found = run(input, caps, None, seed, partitions);
        prop_assert_eq!(by_key(&found), model(&rows, text_units, caps, None, seed));
    }

    #[test]
    fn an_operator_that_was_bytes_does_the_same(
        rows in rows(), groups in 1u64..5, most in 1u64..4, seed in any::<u64>(), partitions in 1usize..4, public in any::<bool>(),
    ) {
        let caps = Caps { groups, rows: most };
        let columns: [ArrayRef; 2] = [
            Arc::new(StringArray::from(vec![Some("b"), None, Some("a")])),
            Arc::new(Int64Array::from(vec![Some(0), None, Some(i64::MIN)])),
        ];
        let known = public.then(|| PublicKeys { columns: columns.to_vec() });
        let input = || plan(&batch(&rows, true), 20, partitions);
        let here = super::plan(input(), &layout(), Some(caps), known.as_ref(), key(seed), partitions).unwrap();
        let repartitioned = Arc::clone(here.children()[0]);
        let copy: Arc<dyn ExecutionPlan> =
            Arc::new(BoundExec::from_bytes(repartitioned, &here.to_bytes().unwrap()).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let output = runtime.block_on(collect_partitioned(copy, context(partitions))).unwrap();
        let found = merge(&here, output.into_iter().flatten()).unwrap();
        prop_assert_eq!(found, run(input(), caps, known.as_ref(), seed, partitions));
    }

    #[test]
    fn public_keys_all_appear_and_strangers_are_gone_before_anything_is_chosen(
        rows in rows(), groups in 1u64..3, most in 1u64..3, seed in any::<u64>(), batch_rows in 1usize..50,
    ) {
        let caps = Caps { groups, rows: most };
        let columns: [ArrayRef; 2] = [
            Arc::new(StringArray::from(vec![Some("b"), None, Some("a"), Some("nowhere"), Some("b")])),
            Arc::new(Int64Array::from(vec![Some(0), None, Some(i64::MIN), Some(7), Some(0)])),
        ];
        let known = PublicKeys { columns: columns.to_vec() };
        let last = |text: Option<&str>| (text.is_none(), text.unwrap_or_default().to_owned());
        let keys = [
            (last(Some("b")), (false, 0)), (last(None), (true, 0)), (last(Some("a")), (false, i64::MIN)),
            (last(Some("nowhere")), (false, 7)),
        ];
        let found = run(plan(&batch(&rows, false), batch_rows, 2), caps, Some(&known), seed, 2);
        prop_assert_eq!(by_key(&found), model(&rows, false, caps, Some(&keys), seed));
    }
}

/// Two units with the same 64-bit hash, made by whoever knows the seed, are still two.
#[test]
fn units_are_compared_and_not_only_hashed() {
    let chooser = Chooser::new(&key(9));
    let seed = chooser.table_seed();
    // Units of 12 bytes are the words 12, a, b, c. Any change of a is undone by a change of b and c.
    let first_half = |a: u32| {
        let state = u128::from(seed ^ (12 | u64::from(a) << 32)) * 0x9e37_79b9_7f4a_7c15;
        (state >> 64) as u64 ^ state as u64
    };
    let change = first_half(1) ^ first_half(2);
    let units = [[12, 1, 0, 0], [12, 2, change as u32, (change >> 32) as u32]];
    assert_eq!(hash(seed, &units[0]), hash(seed, &units[1]), "the control: these hashes collide");

    let one_group = 0;
    let records: Vec<u32> = units.iter().flat_map(|unit| unit.iter().copied().chain([one_group])).collect();
    let layout = Layout { unit: true, keys: 0, measures: Vec::new() };
    let (features, _) = Features::of(&layout, &schema(DataType::Utf8)).unwrap();
    let mut keeper = Keeper::new(UnitForm::Bytes, Caps { groups: 1, rows: 1 }, chooser);
    let mut kept = Kept::default();
    keeper.keep(&Bucket { records: &records, digests: &[0], features: &features }, &mut kept).unwrap();
    assert_eq!((kept.units, kept.groups), (vec![one_group; 2], vec![one_group; 2]));
}

#[test]
fn buckets_give_back_what_was_put_in_from_memory_and_from_disk() {
    const RECORDS: u32 = 40_000;
    let record = |number: u32| [number, number ^ 0xffff, number.wrapping_mul(77)];
    let of_bucket = |bucket: u32| (0..RECORDS).filter(move |number| number % 250 == bucket).flat_map(record);
    for limit in [usize::MAX, 600_000] {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(limit, 1.0).build_arc().unwrap();
        let context = TaskContext::default().with_runtime(runtime);
        let mut buckets = Buckets::new(0, &context);
        for number in 0..RECORDS {
            buckets.push(number as usize % 250, &record(number)).unwrap();
        }
        assert_eq!(buckets.has_spilled(), limit != usize::MAX);
        let mut records = Vec::new();
        for bucket in 0..BUCKETS {
            buckets.take(bucket, &mut records).unwrap();
            assert!(records.iter().copied().eq(of_bucket(bucket as u32)), "bucket {bucket}, limit {limit}");
        }
    }
}
