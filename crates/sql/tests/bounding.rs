//! What the bounding operator promises, seen from outside: caps, neighbours, uniform choice, and that nothing but the set of
//! rows matters.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int64Array, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{Field, Float64Type, Int32Type, Int64Type, Schema};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use proptest::prelude::*;
use reticent::noise::Entropy;
use reticent::privacy::Adjacency;
use reticent::statistic::{Contribution, Grid, Moments, Rows};
use reticent_sql::bound::{Caps, ChoiceKey, Groups, Layout, Measure, Measured, aggregate};

fn key(seed: u64) -> ChoiceKey {
    ChoiceKey::draw(&mut Entropy::seeded(seed).draw().unwrap())
}

fn grid() -> Grid {
    Grid::new(&"-20..100".parse().unwrap())
}

fn table(columns: Vec<ArrayRef>) -> RecordBatch {
    let fields = columns
        .iter()
        .enumerate()
        .map(|(place, column)| Field::new(format!("column {place}"), column.data_type().clone(), true));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns).unwrap()
}

/// Rows in batches of so many, dealt out to so many partitions.
fn plan(table: &RecordBatch, batch_rows: usize, partitions: usize) -> Arc<dyn ExecutionPlan> {
    let mut parts = vec![Vec::new(); partitions];
    for (number, from) in (0..table.num_rows()).step_by(batch_rows).enumerate() {
        parts[number % partitions].push(table.slice(from, batch_rows.min(table.num_rows() - from)));
    }
    MemorySourceConfig::try_new_exec(&parts, table.schema(), None).unwrap()
}

fn context(partitions: usize) -> TaskContext {
    TaskContext::default().with_session_config(SessionConfig::new().with_target_partitions(partitions))
}

fn run_in(
    context: TaskContext,
    input: Arc<dyn ExecutionPlan>,
    layout: &Layout,
    caps: Option<Caps>,
    seed: u64,
) -> datafusion::error::Result<Groups> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(aggregate(input, layout, caps, None, key(seed), Arc::new(context)))
}

fn run(table: &RecordBatch, layout: &Layout, caps: Option<Caps>, seed: u64) -> Groups {
    run_in(context(2), plan(table, 1000, 2), layout, caps, seed).unwrap()
}

/// A row of somebody, in a group, with a value.
type Row = (Option<i64>, Option<i64>, Option<f64>);

fn rows_table(rows: &[Row]) -> RecordBatch {
    table(vec![
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.1))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.2))),
    ])
}

const BINS: u32 = 4;

fn all_measures() -> Layout {
    let grid = grid();
    let measures = vec![
        Measure::Present { column: 0 },
        Measure::Moments { column: 0, grid: grid.clone(), squares: true },
        Measure::Bins { column: 0, grid: grid.clone(), bins: BINS },
        Measure::Values { column: 0, grid },
        Measure::Items { column: 0 },
    ];
    Layout { unit: true, keys: 1, measures }
}

/// Every number of a result, by group and what it is: all of them linear in the contributions.
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
                    bins.iter().enumerate().for_each(|(bin, &count)| put(format!("bin {bin}"), count.into()));
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

fn hostile_value() -> impl Strategy<Value = Option<f64>> {
    let named = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, i64::MIN as f64, f64::MAX, -0.0, 100.0, -20.0];
    prop_oneof![Just(None), prop::sample::select(named).prop_map(Some), (-25.0f64..105.0).prop_map(Some)]
}

fn rows_of(unit: impl Strategy<Value = Option<i64>>, most: usize) -> impl Strategy<Value = Vec<Row>> {
    let group = prop_oneof![Just(None), (0i64..6).prop_map(Some), Just(Some(i64::MIN))];
    prop::collection::vec((unit, group, hostile_value()), 0..most)
}

fn one_unit() -> impl Strategy<Value = Vec<Row>> {
    let few = rows_of(Just(Some(7)), 40);
    // Thousands of rows, of a kind that would move a sum as far as it can go.
    let many = (1000usize..4000, -1i64..3, prop::sample::select(vec![100.0, f64::NEG_INFINITY, 5.0]));
    let many = many.prop_map(|(count, group, value)| {
        (0..count as i64).map(|row| (Some(7), Some(if group < 0 { row } else { group }), Some(value))).collect()
    });
    prop_oneof![4 => few, 1 => many]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    /// With the key frozen, the result is the sum of what each unit contributes by itself; and one unit, whatever its rows,
    /// moves no statistic by more than the sensitivity that noise is made for.
    #[test]
    fn one_unit_moves_nothing_by_more_than_its_sensitivity(
        others in rows_of(prop_oneof![Just(None), (0i64..7).prop_map(Some)], 150), one in one_unit(), other in one_unit(),
        place in any::<prop::sample::Index>(), groups in 1u64..4, rows in 1u64..4, seed in any::<u64>(),
    ) {
        let caps = Caps { groups, rows };
        let result = |unit: &[Row]| {
            let mut all = others.clone();
            // In the middle of the others, so that batches and partitions differ, too.
            let place = place.index(all.len() + 1);
            all.splice(place..place, unit.iter().cloned());
            run_in(context(2), plan(&rows_table(&all), 37, 2), &all_measures(), Some(caps), seed).unwrap()
        };
        let (without, with_one, with_other) = (result(&[]), result(&one), result(&other));
        let alone = run(&rows_table(&one), &all_measures(), Some(caps), seed);
        let nothing = run(&rows_table(&[]), &all_measures(), Some(caps), seed);
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
                ("bin", contribution.of_count().unwrap()),
                ("value", contribution.of_count().unwrap()),
                ("item", contribution.of_count().unwrap()),
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

    /// Partitions, batches and the order of rows are nobody's business.
    #[test]
    fn nothing_but_the_set_of_rows_matters(
        rows in rows_of(prop_oneof![Just(None), (0i64..20).prop_map(Some)], 300).prop_shuffle(), seed in any::<u64>(),
        batch_rows in 1usize..100, partitions in 1usize..5, groups in 1u64..4, most in 1u64..4,
    ) {
        let caps = Some(Caps { groups, rows: most });
        let expected = run_in(context(1), plan(&rows_table(&rows), 1000, 1), &all_measures(), caps, seed).unwrap();
        let mut turned = rows;
        turned.reverse();
        let input = plan(&rows_table(&turned), batch_rows, partitions);
        let found = run_in(context(partitions), input, &all_measures(), caps, seed).unwrap();
        prop_assert_eq!(found, expected);
    }
}

/// So many units, so that a share that is off by a twentieth of itself is seen.
const UNITS: i64 = 20_000;
/// Standard errors that a share may be off: beyond them, once in ten million.
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
    let groups = run(&table(columns), &layout, Some(Caps { groups: 2, rows: 1 }), 1);
    let kept = groups.groups.iter().enumerate().flat_map(|(group, found)| match &found.measured[0] {
        Measured::Items { values, .. } => {
            let units: Vec<i64> = values.as_primitive::<Int64Type>().values().to_vec();
            units.into_iter().map(move |unit| (unit, group as i64))
        }
        other => panic!("{other:?}"),
    });
    assert_uniform(&pairs(kept), 15);
}

/// Every two of a unit's five rows are as likely to be kept as any other two, be they alike or not, first or last.
#[test]
fn rows_are_chosen_uniformly() {
    const ROWS: i64 = 5;
    let numbers = || (0..UNITS * ROWS).map(|row| (row / ROWS, row % ROWS));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(numbers().map(|(unit, _)| unit))),
        // What tells a row: its unit and its number.
        Arc::new(Int64Array::from_iter_values(numbers().map(|(unit, row)| unit * ROWS + row))),
    ];
    let layout = Layout { unit: true, keys: 0, measures: vec![Measure::Items { column: 0 }] };
    let groups = run(&table(columns), &layout, Some(Caps { groups: 1, rows: 2 }), 2);
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
    let caps = Caps { groups: 5, rows: 3 };
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

/// With too little memory for all rows, the same comes out; with no disk either, nothing does.
#[test]
fn spilling_changes_nothing() {
    const ROWS: i64 = 120_000;
    /// Less than a third of what the rows take.
    const LIMIT: usize = 600_000;
    let rows: Vec<Row> =
        (0..ROWS).map(|row| (Some(row * row % 5003), Some(row % 17), Some((row % 1000) as f64 / 7.0))).collect();
    let table = rows_table(&rows);
    let layout = Layout { measures: all_measures().measures[..3].to_vec(), ..all_measures() };
    let caps = Some(Caps { groups: 3, rows: 2 });
    let with = |limit: usize, mode: DiskManagerMode| {
        let disk = DiskManagerBuilder::default().with_mode(mode);
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(limit, 1.0).with_disk_manager_builder(disk);
        let context = context(1).with_runtime(runtime.build_arc().unwrap());
        run_in(context, plan(&table, 1000, 1), &layout, caps, 4)
    };
    let expected = with(usize::MAX, DiskManagerMode::Disabled).unwrap();
    assert_eq!(with(LIMIT, DiskManagerMode::OsTmpDirectory).unwrap(), expected);
    assert!(with(LIMIT, DiskManagerMode::Disabled).is_err(), "the control: it does not fit");
}

/// The same eight people under names of every type are the same people.
#[test]
fn units_and_keys_may_be_of_any_type() {
    let people: Vec<Option<i64>> = (0..4000).map(|row| (row % 9 > 0).then_some(row * row % 9 % 8 % 2)).collect();
    let number = |person: &Option<i64>| *person;
    let text =
        |person: &Option<i64>| person.map(|person| format!("person number {person}, of whom more could be said"));
    let texts: Vec<Option<String>> = people.iter().map(text).collect();
    let dictionary: DictionaryArray<Int32Type> = texts.iter().map(Option::as_deref).collect();
    let forms: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter(people.iter().map(number))),
        Arc::new(UInt64Array::from_iter(people.iter().map(|person| person.map(|person| u64::MAX - person as u64)))),
        Arc::new(Float64Array::from_iter(people.iter().map(|person| person.map(|person| person as f64 / 3.0)))),
        Arc::new(BooleanArray::from_iter(people.iter().map(|person| person.map(|person| person == 1)))),
        Arc::new(Date32Array::from_iter(people.iter().map(|person| person.map(|person| person as i32)))),
        Arc::new(TimestampMicrosecondArray::from_iter(people.iter().map(number))),
        Arc::new(Decimal128Array::from_iter(people.iter().map(|person| person.map(i128::from)))),
        Arc::new(StringArray::from_iter(texts.iter())),
        Arc::new(StringViewArray::from_iter(texts.iter())),
        Arc::new(BinaryArray::from_iter(texts.iter())),
        Arc::new(dictionary),
    ];
    let ones: ArrayRef = Arc::new(Float64Array::from(vec![1.0; people.len()]));
    let measures = vec![Measure::Moments { column: 0, grid: grid(), squares: false }];
    for form in &forms {
        let kind = form.data_type();
        // As units, they have 5 rows each, whatever they are called.
        let layout = Layout { unit: true, keys: 0, measures: measures.clone() };
        let found = run(&table(vec![form.clone(), ones.clone()]), &layout, Some(Caps { groups: 1, rows: 5 }), 5);
        let [group] = &found.groups[..] else { panic!("{kind}: {found:?}") };
        assert_eq!((group.units, group.rows), (2, 10), "{kind}");
        // As keys, they have all their rows, and so has nobody.
        let layout = Layout { unit: false, keys: 1, measures: measures.clone() };
        let found = run(&table(vec![form.clone(), ones.clone()]), &layout, None, 5);
        let mut counts: Vec<u64> = found.groups.iter().map(|group| group.rows).collect();
        let nobody = counts.pop();
        counts.sort_unstable();
        let of = |person: Option<i64>| people.iter().filter(|other| **other == person).count() as u64;
        assert_eq!(nobody, Some(of(None)), "{kind}: NULL is last");
        let mut expected = vec![of(Some(0)), of(Some(1))];
        expected.sort_unstable();
        assert_eq!(counts, expected, "{kind}");
    }
}

/// Bits do not make a person: any NaN is the same one, and −0 is 0.
#[test]
fn equal_floats_are_equal() {
    let quiet = |payload: u64| f64::from_bits(0x7ff8_0000_0000_0000 | payload);
    let units = [0.0, -0.0, quiet(0), quiet(1), -quiet(2), f64::from_bits(0xfff0_0000_0000_0001)];
    let rows: Vec<f64> = (0..600).map(|row| units[row % units.len()]).collect();
    let column: ArrayRef = Arc::new(Float64Array::from(rows));
    let layout = Layout { unit: true, keys: 1, measures: vec![Measure::Items { column: 0 }] };
    for partitions in [1, 4] {
        let table = table(vec![column.clone(), column.clone(), column.clone()]);
        let caps = Some(Caps { groups: 1, rows: 1 });
        let found = run_in(context(partitions), plan(&table, 7, partitions), &layout, caps, 6).unwrap();
        let units: Vec<u64> = found.groups.iter().map(|group| group.units).collect();
        assert_eq!(units, [1, 1]);
        assert_eq!(found.keys[0].as_primitive::<Float64Type>().value(0).to_bits(), 0);
        assert!(found.keys[0].as_primitive::<Float64Type>().value(1).is_nan());
    }
}

#[test]
fn without_keys_there_is_one_group_even_without_rows() {
    let layout = Layout { keys: 0, ..all_measures() };
    let empty = table(vec![
        Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef,
        Arc::new(Float64Array::from(Vec::<f64>::new())),
    ]);
    let caps = Caps { groups: 1, rows: 1 };
    for (layout, caps, columns) in
        [(layout.clone(), Some(caps), [0, 1].as_slice()), (Layout { unit: false, ..layout }, None, &[1])]
    {
        let found = run(&empty.project(columns).unwrap(), &layout, caps, 7);
        assert_eq!((found.keys.len(), found.groups.len()), (0, 1));
        let group = &found.groups[0];
        assert_eq!((group.units, group.rows), (0, 0));
        assert_eq!(group.measured[..2], [Measured::Count(0), Measured::Moments(Moments::default())]);
        assert_eq!(group.measured[2], Measured::Bins(vec![0; BINS as usize]));
        assert_eq!(group.measured[3], Measured::Values(vec![]));
    }
}

/// When the unit is the row, every row counts, and is on the grid.
#[test]
fn every_row_counts_when_it_is_the_unit() {
    let values = [Some(1.0), None, Some(f64::NAN), Some(1e9), Some(-0.5), Some(f64::NEG_INFINITY)];
    let rows: Vec<Row> = (0..3000).map(|row| (None, Some(row % 3), values[row as usize % values.len()])).collect();
    let layout = Layout { unit: false, ..all_measures() };
    let found = run(&rows_table(&rows).project(&[1, 2]).unwrap(), &layout, None, 8);
    assert_eq!(found.groups.len(), 3);
    for (key, group) in found.groups.iter().enumerate() {
        let of_group = || rows.iter().filter(|row| row.1 == Some(key as i64)).map(|row| row.2);
        assert_eq!((group.units, group.rows), (1000, 1000));
        assert_eq!(group.measured[0], Measured::Count(of_group().flatten().count() as i64));
        assert_eq!(group.measured[1], Measured::Moments(Moments::of(&grid(), of_group())));
    }
}

#[test]
fn what_does_not_fit_the_plan_is_refused_before_a_row_is_read() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["secret"]));
    let sum = |column| Layout {
        unit: false,
        keys: 1,
        measures: vec![Measure::Moments { column, grid: grid(), squares: false }],
    };
    for (layout, caps) in [
        (sum(0), None),
        (sum(9), None),
        (Layout { keys: 3, ..sum(0) }, None),
        (Layout { unit: true, keys: 1, measures: Vec::new() }, None),
        (Layout { measures: Vec::new(), ..sum(0) }, Some(Caps { groups: 1, rows: 1 })),
    ] {
        let table = table(vec![texts.clone(), texts.clone()]);
        let error = run_in(context(1), plan(&table, 1, 1), &layout, caps, 9).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
