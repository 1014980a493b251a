//! Types, memory, disk and time: what is refused, what is spilled, and that nothing hostile is an error.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray, UInt64Array,
};
use reticent::statistic::Moments;
use reticent_bounding::{
    Bounding, ContributionCaps, Error, Interrupt, Job, Layout, MOST_BINS, Measure, Measured, Memory, PublicKeys,
};

use common::{BINS, Deal, all_measures, grid, job, run, run_dealt, table};

const ROWS: i64 = 120_000;

fn many_rows() -> RecordBatch {
    table(vec![
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row * row % 5003))),
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row % 17))),
        Arc::new(Float64Array::from_iter_values((0..ROWS).map(|row| (row % 1000) as f64 / 7.0))),
    ])
}

/// With too little memory for all rows, the result is the same; without a disk as well, there is none.
#[test]
fn spilling_changes_nothing() {
    /// Less than a third of what the rows take.
    const LIMIT: usize = 1_400_000;
    let rows = many_rows();
    let text_units: Vec<ArrayRef> = vec![
        Arc::new(StringViewArray::from_iter_values((0..ROWS).map(|row| format!("{:07}", row * row % 5003)))),
        Arc::clone(rows.column(1)),
        Arc::clone(rows.column(2)),
    ];
    let layout = Layout { measures: all_measures().measures[..3].to_vec(), ..all_measures() };
    for table in [rows, table(text_units)] {
        let job = job(&table, &layout, Some(ContributionCaps { groups: 3, rows: 2 }), 4);
        for workers in [1, 2, 3] {
            let deal = Deal { batch_rows: 1000, workers };
            let with = |memory: &Memory| run_dealt(&table, &job, &deal, memory);
            let expected = with(&Memory::unlimited()).unwrap();
            let little = Memory::new(LIMIT);
            assert!(matches!(with(&little), Err(Error::Memory)), "the control: it does not fit");
            assert_eq!(little.used(), 0);
            assert_eq!(with(&little.spilling_to(std::env::temp_dir())).unwrap(), expected);
            let nowhere = Memory::new(LIMIT).spilling_to("/nowhere/at/all");
            assert!(matches!(with(&nowhere), Err(Error::Disk(std::io::ErrorKind::NotFound))));
            assert!(matches!(with(&Memory::new(1000).spilling_to(std::env::temp_dir())), Err(Error::Memory)));
        }
    }
}

/// A worker that starts when others hold their share gets its own.
#[test]
fn a_late_worker_finds_memory() {
    let rows = many_rows();
    let layout = Layout { measures: Vec::new(), ..all_measures() };
    let job = job(&rows, &layout, Some(ContributionCaps { groups: 3, rows: 2 }), 4);
    let bounding = Bounding::new(&job, &Memory::new(3_000_000).spilling_to(std::env::temp_dir())).unwrap();
    let mut workers = Vec::new();
    for worker in 0..3 {
        workers.push(bounding.worker());
        workers[worker].add(&rows.slice(worker * 40_000, 40_000)).unwrap();
    }
    let expected = run_dealt(&rows, &job, &Deal { batch_rows: 9999, workers: 1 }, &Memory::unlimited()).unwrap();
    assert_eq!(bounding.finish(workers).unwrap(), expected);
}

/// Without enough memory for groups, there is an error and no result.
#[test]
fn too_many_groups_are_refused() {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0; ROWS as usize]));
    let memory = Memory::new(3_000_000).spilling_to(std::env::temp_dir());
    let deal = Deal { batch_rows: 1000, workers: 2 };
    for unit in [false, true] {
        let layout = Layout { unit, measures: all_measures().measures[..2].to_vec(), ..all_measures() };
        let columns =
            if unit { vec![keys.clone(), keys.clone(), values.clone()] } else { vec![keys.clone(), values.clone()] };
        let table = table(columns);
        let job = job(&table, &layout, unit.then_some(ContributionCaps { groups: 1, rows: 1 }), 1);
        assert!(matches!(run_dealt(&table, &job, &deal, &memory), Err(Error::Memory)));
        assert_eq!(memory.used(), 0);
    }
}

/// A hostile table: one person with a row in each of very many groups with very many bins each. Only groups with kept
/// rows have bins.
#[test]
fn bins_are_for_groups_that_are_kept() {
    const GROUPS: i64 = 1 << 18;
    let bins =
        |unit| Layout { unit, keys: 1, measures: vec![Measure::Bins { column: 0, grid: grid(), bins: MOST_BINS }] };
    let units: ArrayRef = Arc::new(Int64Array::from(vec![7; GROUPS as usize]));
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..GROUPS));
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0; GROUPS as usize]));
    let hostile = table(vec![units, keys.clone(), values.clone()]);
    let memory = Memory::new(256 << 20);
    for workers in [1, 3] {
        let deal = Deal { batch_rows: 10_000, workers };
        let few = job(&hostile, &bins(true), Some(ContributionCaps { groups: 2, rows: 1 }), 3);
        let found = run_dealt(&hostile, &few, &deal, &memory).unwrap();
        assert_eq!(found.groups.len(), 2);
        for group in found.groups {
            let [Measured::Bins(counts)] = &group.measured[..] else { panic!("{group:?}") };
            assert_eq!((counts.len(), counts.iter().sum::<i64>()), (MOST_BINS as usize, 1));
        }
        // Where all of them are kept there is not enough memory, which is an error and not the end of the process.
        let many = job(&hostile, &bins(true), Some(ContributionCaps { groups: GROUPS as u64, rows: 1 }), 3);
        assert!(matches!(run_dealt(&hostile, &many, &deal, &memory), Err(Error::Memory)));
        let rows = table(vec![keys.clone(), values.clone()]);
        let each_row = job(&rows, &bins(false), None, 3);
        assert!(matches!(run_dealt(&rows, &each_row, &deal, &memory), Err(Error::Memory)));
        assert_eq!(memory.used(), 0);
    }
    // Public keys are all shown, whatever the rows: there must be room for all of them.
    let public = Job {
        keys: Some(PublicKeys { columns: vec![keys] }),
        ..job(&hostile, &bins(true), Some(ContributionCaps { groups: 1, rows: 1 }), 3)
    };
    let deal = Deal { batch_rows: 10_000, workers: 1 };
    assert!(matches!(run_dealt(&hostile.slice(0, 1), &public, &deal, &memory), Err(Error::Memory)));
    assert_eq!(memory.used(), 0);
}

#[test]
fn the_work_can_be_interrupted() {
    let rows = many_rows();
    let job = job(&rows, &all_measures(), Some(ContributionCaps { groups: 3, rows: 2 }), 4);
    let bounding = || Bounding::new(&job, &Memory::unlimited()).unwrap();
    let interrupt = Interrupt::new();
    let stoppable = bounding().with_interrupt(interrupt.clone());
    let mut worker = stoppable.worker();
    worker.add(&rows).unwrap();
    interrupt.stop();
    assert!(matches!(worker.add(&rows), Err(Error::Interrupted)));
    assert!(matches!(stoppable.finish(vec![worker]), Err(Error::Interrupted)));

    let late = bounding().with_interrupt(Interrupt::at(Instant::now()));
    assert!(matches!(late.worker().add(&rows), Err(Error::Interrupted)));
    let early = bounding().with_interrupt(Interrupt::at(Instant::now() + Duration::from_secs(3600)));
    early.worker().add(&rows).unwrap();
}

/// The same people under names of every type are the same people.
#[test]
fn units_and_keys_of_every_type() {
    let people: Vec<Option<i64>> = (0..4000).map(|row| (row % 9 > 0).then_some(row * row % 9 % 8 % 2)).collect();
    let text =
        |person: &Option<i64>| person.map(|person| format!("person number {person}, of whom more could be said"));
    let ones: ArrayRef = Arc::new(Float64Array::from(vec![1.0; people.len()]));
    let measures = vec![Measure::Moments { column: 0, grid: grid(), squares: false }];
    let integers: ArrayRef = Arc::new(Int64Array::from(people.clone()));
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter(people.iter().map(text)));
    let unsigned: ArrayRef =
        Arc::new(UInt64Array::from_iter(people.iter().map(|person| person.map(|person| u64::MAX - person as u64))));
    for unit in [integers.clone(), texts.clone(), unsigned] {
        // As units, they have 5 rows each, whatever their names.
        let layout = Layout { unit: true, keys: 0, measures: measures.clone() };
        let found =
            run(&table(vec![unit.clone(), ones.clone()]), &layout, Some(ContributionCaps { groups: 1, rows: 5 }), 5);
        let [group] = &found.groups[..] else { panic!("{found:?}") };
        assert_eq!((group.units, group.rows), (2, 10), "{}", unit.data_type());
    }
    let keys: Vec<ArrayRef> = vec![
        integers,
        texts,
        Arc::new(Float64Array::from_iter(people.iter().map(|person| person.map(|person| person as f64 / 3.0)))),
        Arc::new(BooleanArray::from_iter(people.iter().map(|person| person.map(|person| person == 1)))),
        Arc::new(Date32Array::from_iter(people.iter().map(|person| person.map(|person| person as i32)))),
        Arc::new(TimestampMicrosecondArray::from(people.clone())),
    ];
    let of = |person: Option<i64>| people.iter().filter(|other| **other == person).count() as u64;
    for key in &keys {
        let kind = key.data_type();
        // As keys, they have all their rows, and so does NULL, which is last.
        let layout = Layout { unit: false, keys: 1, measures: measures.clone() };
        let found = run(&table(vec![key.clone(), ones.clone()]), &layout, None, 5);
        let counts: Vec<u64> = found.groups.iter().map(|group| group.rows).collect();
        assert_eq!(counts, [of(Some(0)), of(Some(1)), of(None)], "{kind}");
        assert!(found.keys[0].is_null(2) && found.keys[0].data_type() == kind);
        // As values, they are items and, except for texts, numbers.
        let mut measures = vec![Measure::Items { column: 0 }, Measure::Present { column: 0 }];
        if !matches!(kind, arrow_schema::DataType::Utf8View) {
            measures.push(Measure::Moments { column: 0, grid: grid(), squares: false });
        }
        let found = run(&table(vec![key.clone()]), &Layout { unit: false, keys: 0, measures }, None, 5);
        let Measured::Items { values, counts } = &found.groups[0].measured[0] else { panic!("{found:?}") };
        assert_eq!((values.data_type(), &counts[..]), (kind, &[of(Some(0)), of(Some(1))][..]));
        assert_eq!(found.groups[0].measured[1], Measured::Count((of(Some(0)) + of(Some(1))) as i64));
    }
}

/// Keys are not compared by their bits: all NaN are equal, and −0 is 0.
#[test]
fn equal_floats_are_equal() {
    let quiet = |payload: u64| f64::from_bits(0x7ff8_0000_0000_0000 | payload);
    let keys = [0.0, -0.0, quiet(0), quiet(1), -quiet(2), f64::from_bits(0xfff0_0000_0000_0001)];
    let column: ArrayRef = Arc::new(Float64Array::from_iter_values((0..600).map(|row| keys[row % keys.len()])));
    let units: ArrayRef = Arc::new(Int64Array::from(vec![1; 600]));
    let layout = Layout { unit: true, keys: 1, measures: vec![Measure::Items { column: 0 }] };
    let table = table(vec![units, column.clone(), column]);
    for workers in [1, 4] {
        let job = job(&table, &layout, Some(ContributionCaps { groups: 2, rows: 1 }), 6);
        let found = run_dealt(&table, &job, &Deal { batch_rows: 7, workers }, &Memory::unlimited()).unwrap();
        let rows: Vec<u64> = found.groups.iter().map(|group| group.rows).collect();
        assert_eq!(rows, [1, 1]);
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
    let caps = ContributionCaps { groups: 1, rows: 1 };
    for (layout, caps, columns) in
        [(layout.clone(), Some(caps), [0, 1].as_slice()), (Layout { unit: false, ..layout }, None, &[1])]
    {
        let empty = empty.project(columns).unwrap();
        let job = job(&empty, &layout, caps, 7);
        let without_workers = Bounding::new(&job, &Memory::unlimited()).unwrap().finish(Vec::new()).unwrap();
        let found = run(&empty, &layout, caps, 7);
        assert_eq!(found, without_workers);
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
    let rows = || (0..3000i64).map(|row| (row % 3, values[row as usize % values.len()]));
    let layout = Layout { unit: false, ..all_measures() };
    let table = table(vec![
        Arc::new(Int64Array::from_iter_values(rows().map(|row| row.0))),
        Arc::new(Float64Array::from_iter(rows().map(|row| row.1))),
    ]);
    let found = run(&table, &layout, None, 8);
    assert_eq!(found.groups.len(), 3);
    for (key, group) in found.groups.iter().enumerate() {
        let of_group = || rows().filter(|row| row.0 == key as i64).map(|row| row.1);
        assert_eq!((group.units, group.rows), (1000, 1000));
        assert_eq!(group.measured[0], Measured::Count(of_group().flatten().count() as i64));
        assert_eq!(group.measured[1], Measured::Moments(Moments::of(&grid(), of_group())));
    }
}

/// Public keys when the unit is the row: rows with other keys are dropped and take no memory.
#[test]
fn strangers_take_no_memory() {
    let table = table(vec![
        Arc::new(Int64Array::from_iter_values(0..ROWS)),
        Arc::new(Float64Array::from(vec![2.0; ROWS as usize])),
    ]);
    let layout = Layout { unit: false, ..all_measures() };
    let keys = PublicKeys { columns: vec![Arc::new(Int64Array::from(vec![Some(-1), Some(5), None]))] };
    assert_eq!(keys.order(&layout, &table.schema()).unwrap(), Some(vec![0, 1, 2]));
    let twice = PublicKeys { columns: vec![Arc::new(Int64Array::from(vec![1, 1]))] };
    assert_eq!(twice.order(&layout, &table.schema()).unwrap(), None);
    let job = reticent_bounding::Job { keys: Some(keys), ..job(&table, &layout, None, 1) };
    let found = run_dealt(&table, &job, &Deal { batch_rows: 999, workers: 2 }, &Memory::new(400_000)).unwrap();
    assert_eq!(found.groups.iter().map(|group| group.rows).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn what_does_not_suit_is_refused_before_a_row_is_read() {
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["secret"]));
    let other_texts: ArrayRef = Arc::new(StringArray::from(vec!["secret"]));
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
    let two_texts = || vec![texts.clone(), texts.clone()];
    let sum = |column| Layout {
        unit: false,
        keys: 1,
        measures: vec![Measure::Moments { column, grid: grid(), squares: false }],
    };
    let nothing = |unit| Layout { unit, measures: Vec::new(), ..sum(0) };
    let bins = |bins| Layout { measures: vec![Measure::Bins { column: 0, grid: grid(), bins }], ..sum(0) };
    let numbers = || vec![texts.clone(), Arc::new(Int64Array::from(vec![1])) as ArrayRef];
    let caps = |groups, rows| Some(ContributionCaps { groups, rows });
    for (columns, layout, caps) in [
        (two_texts(), sum(0), None),
        (two_texts(), sum(9), None),
        (two_texts(), Layout { keys: 3, ..sum(0) }, None),
        (two_texts(), Layout { keys: usize::MAX, unit: true, ..sum(0) }, caps(1, 1)),
        (two_texts(), nothing(true), caps(0, 1)),
        (two_texts(), nothing(true), caps(1, 0)),
        (two_texts(), nothing(false), caps(1, 1)),
        (vec![other_texts, texts.clone()], nothing(false), None),
        (vec![unsigned.clone(), texts.clone()], nothing(false), None),
        (vec![Arc::new(Float64Array::from(vec![1.0])), texts.clone()], nothing(true), caps(1, 1)),
        (numbers(), bins(0), None),
        (numbers(), bins(u32::MAX), None),
    ] {
        let job = job(&table(columns), &layout, caps, 9);
        let error = Bounding::new(&job, &Memory::unlimited()).unwrap_err();
        assert!(matches!(error, Error::Job(_)) && !error.to_string().contains("secret"), "{error}");
    }
    let job = job(&table(two_texts()), &nothing(true), caps(1, 1), 9);
    for columns in [vec![unsigned], vec![texts.clone(); 3]] {
        let keys = Some(PublicKeys { columns });
        let wrong = reticent_bounding::Job { keys, ..job.clone() };
        assert!(matches!(Bounding::new(&wrong, &Memory::unlimited()), Err(Error::Job(_))));
    }
    let bounding = Bounding::new(&job, &Memory::unlimited()).unwrap();
    let other = Bounding::new(&job, &Memory::unlimited()).unwrap();
    assert!(matches!(bounding.worker().add(&table(numbers())), Err(Error::Job(_))));
    assert!(matches!(bounding.finish(vec![other.worker()]), Err(Error::Job(_))));
    assert!(matches!(bounding.merge([other.part(vec![]).unwrap()]), Err(Error::Job(_))));
}
