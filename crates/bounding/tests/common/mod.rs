//! Tables, jobs and ways to deal rows.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use proptest::prelude::*;
use reticent::noise::Entropy;
use reticent::statistic::Grid;
use reticent_bounding::{Bounding, ChoiceKey, ContributionCaps, Groups, Job, Layout, Measure, Memory, Result};

pub const BINS: u32 = 4;

pub fn grid() -> Grid {
    Grid::new(&"-20..100".parse().unwrap())
}

/// A unit, a key, and every measure of one column of numbers.
pub fn all_measures() -> Layout {
    let grid = grid();
    let measures = vec![
        Measure::Present { column: 0 },
        Measure::Moments { column: 0, grid: grid.clone(), squares: true },
        Measure::Bins { column: 0, grid: grid.clone(), bins: BINS },
        Measure::Values { column: 0, grid },
        Measure::Items { column: 0 },
        Measure::Magnitudes { column: 0 },
    ];
    Layout { unit: true, keys: 1, measures }
}

pub fn table(columns: Vec<ArrayRef>) -> RecordBatch {
    let fields = columns
        .iter()
        .enumerate()
        .map(|(place, column)| Field::new(format!("column {place}"), column.data_type().clone(), true));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns).unwrap()
}

/// A job for rows of such a table.
pub fn job(table: &RecordBatch, layout: &Layout, caps: Option<ContributionCaps>, seed: u64) -> Job {
    let choice = ChoiceKey::draw(&mut Entropy::seeded(seed).draw().unwrap());
    Job { schema: table.schema(), layout: layout.clone(), caps, keys: None, choice }
}

/// Deals batches of this many rows to this many workers in turn.
#[derive(Debug, Clone)]
pub struct Deal {
    pub batch_rows: usize,
    pub workers: usize,
}

impl Deal {
    pub fn any() -> impl Strategy<Value = Self> {
        (1usize..100, 1usize..5).prop_map(|(batch_rows, workers)| Self { batch_rows, workers })
    }
}

pub fn run_dealt(table: &RecordBatch, job: &Job, deal: &Deal, memory: &Memory) -> Result<Groups> {
    let bounding = Bounding::new(job, memory)?;
    let mut workers: Vec<_> = (0..deal.workers).map(|_| bounding.worker()).collect();
    for (number, from) in (0..table.num_rows()).step_by(deal.batch_rows).enumerate() {
        workers[number % deal.workers].add(&table.slice(from, deal.batch_rows.min(table.num_rows() - from)))?;
    }
    bounding.finish(workers)
}

pub fn run(table: &RecordBatch, layout: &Layout, caps: Option<ContributionCaps>, seed: u64) -> Groups {
    let deal = Deal { batch_rows: 1000, workers: 2 };
    run_dealt(table, &job(table, layout, caps, seed), &deal, &Memory::unlimited()).unwrap()
}

pub fn hostile_value() -> impl Strategy<Value = Option<f64>> {
    let named = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, i64::MIN as f64, f64::MAX, -0.0, 100.0, -20.0];
    prop_oneof![Just(None), prop::sample::select(named).prop_map(Some), (-25.0f64..105.0).prop_map(Some)]
}

/// A pseudorandom order that depends on the number.
pub fn shuffle<T>(items: &mut [T], mut number: u64) {
    for place in (1..items.len()).rev() {
        number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        items.swap(place, (number >> 33) as usize % (place + 1));
    }
}
