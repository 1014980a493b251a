//! Runs the algebra over private rows: from files to exact statistics.
//!
//! Rows are pushed, batch by batch, from the files through the operators into `reticent-bounding`. Operators that
//! process one row at a time run as rows are read. Those that combine a unit's rows
//! ([`Join`](crate::algebra::Operator::Join), [`Within`](crate::algebra::Operator::Within)) need all of them: rows are
//! first partitioned by a hash of their unit into buckets, in memory or on disk, and each bucket, which has all rows of
//! its units, then passes through these operators.
//!
//! | module | contents |
//! |---|---|
//! | `mod` | [`Engine`]: threads, and which of the two strategies a query uses |
//! | [`chunk`] | a batch of rows with their units |
//! | [`mod@push`] | execution of each operator |
//! | [`buckets`] | rows partitioned by unit |
//! | [`gathered`] | rows held in memory, and how many a unit may have |
//!
//! # Privacy
//! The results are exact. Any failure on the way is reported as the same error without details.
//!
//! # Memory
//! One private row can meet a million public rows, each with a text of 64 KiB that is in memory once. If anything copied
//! these texts for all rows at once, that one row would decide whether the process survives. So nothing does. Rows that
//! pass from operator to operator share their texts, however many they are; whatever copies texts works on few rows at a
//! time, or reserves memory first:
//!
//! - *Computed texts and encoded join keys*: at most 32 MiB per thread, in all operators together ([`TextWork`]). Other
//!   values: at most 64 MiB (`VALUES`).
//! - *Rows that wait for others of their unit* are encoded, decoded and gathered in pieces of 16 MiB, and memory is
//!   reserved for each, twice: for the rows, and for one encoded copy of all columns, by which they are grouped or
//!   ordered. The texts in keys and arguments of [`Within`](crate::algebra::Operator::Within) are columns of its input,
//!   so that this covers them.
//! - *Keys and items* are stored by `reticent-bounding`, which reserves memory before it copies them.
//!
//! A single row is no exception: it has at most 512 texts of 64 KiB that are computed, encoded or held.

pub mod buckets;
pub mod chunk;
pub mod gathered;
pub mod push;

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use reticent_bounding::{Bounding, Groups, Interrupt, Memory, Weighing, Worker};
use reticent_table::Scan;

use crate::algebra::expr::TextWork;
use crate::algebra::stop::until;
use crate::algebra::{Aggregate, Expr, Operator, Rows};
use crate::query::Input;
use buckets::Buckets;
use chunk::Chunk;
use gathered::Gathered;
use push::{Run, Source};

/// Something failed after the charge: a truncated file, a full disk, a limit. The cause may depend on rows, so it is
/// not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl From<reticent_bounding::Error> for Stopped {
    fn from(_: reticent_bounding::Error) -> Self {
        Self
    }
}

impl From<reticent_table::Broken> for Stopped {
    fn from(_: reticent_table::Broken) -> Self {
        Self
    }
}

/// The resources of a run.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The number of threads.
    pub threads: usize,
    /// The number of buckets for rows that must be combined by unit; each thread holds one at a time in memory.
    pub buckets: usize,
    /// The memory limit, and where to spill rows beyond it.
    pub memory: Memory,
    /// Stops the run.
    pub interrupt: Interrupt,
}

/// The default number of buckets; tests use fewer so that units share one.
pub const BUCKETS: usize = 64;

/// The default memory limit of a query.
pub(crate) const MEMORY: usize = 4 << 30;

impl Default for Engine {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            buckets: BUCKETS,
            memory: Memory::new(MEMORY).spilling_to(std::env::temp_dir()),
            interrupt: Interrupt::new(),
        }
    }
}

/// Bytes of stack of each thread. A row passes through all operators of a query, nested on the stack, a few kilobytes
/// each; there are at most a few hundred ([`Limits::operators`](crate::algebra::Limits)). Memory is only taken from the
/// machine as it is used.
const STACK: usize = 64 << 20;

/// The most rows that are passed on together.
const ROWS: usize = 8192;

/// The most values that one thread computes at a time, in all operators together. Most take 16 bytes, so this is
/// 64 MiB; texts are counted separately ([`TextWork`]), as another 32 MiB.
const VALUES: usize = 1 << 22;

/// How many parts of a table each thread reads: many, so that none waits long for the last one.
const PARTS: usize = 16;

/// The GNU C library returns the end of a thread's heap to the system whenever 128 KiB of it are free, unless a larger block
/// was freed once: then only from twice its size on. The columns of every page of a Parquet file would be mapped and cleared
/// anew, a quarter of the time of a query without units.
const LARGE_BLOCK: usize = 4 << 20;

/// Identifies a relation within a query.
pub type Id = usize;

/// The identity of a relation.
pub fn id(rows: &Arc<Rows>) -> Id {
    Arc::as_ptr(rows) as usize
}

/// The columns for computing statistics of a relation's rows: the unit if there is one, then these expressions.
pub fn schema(rows: &Rows, columns: &[Expr]) -> SchemaRef {
    let unit = rows.unit().map(|unit| Field::new("u", unit.data_type(), true));
    let columns = columns.iter().enumerate();
    let columns = columns.map(|(place, one)| Field::new(place.to_string(), one.kind().data_type(), true));
    Arc::new(Schema::new(unit.into_iter().chain(columns).collect::<Vec<_>>()))
}

impl Engine {
    /// Computes exact statistics of the rows of a relation. **Not private.**
    pub fn measure(
        &self,
        rows: &Arc<Rows>,
        columns: &[Expr],
        inputs: &[Input],
        bounding: &Bounding,
    ) -> Result<Groups, Stopped> {
        Ok(bounding.finish(self.read(rows, columns, inputs, bounding)?)?)
    }

    /// Reads the rows of a relation, to be weighed. **Not private.**
    pub fn weigh(
        &self,
        rows: &Arc<Rows>,
        columns: &[Expr],
        inputs: &[Input],
        bounding: &Bounding,
        most_groups: Option<u64>,
    ) -> Result<Weighing, Stopped> {
        Ok(bounding.weigh(self.read(rows, columns, inputs, bounding)?, most_groups)?)
    }

    /// Lets workers add the rows of a relation.
    fn read(
        &self,
        rows: &Arc<Rows>,
        columns: &[Expr],
        inputs: &[Input],
        bounding: &Bounding,
    ) -> Result<Vec<Worker>, Stopped> {
        drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
        let stages = Stages::of(rows);
        let mut scans = HashMap::new();
        for stage in &stages.roots {
            let scan = self.scan(stage, inputs)?;
            scans.insert(id(stage), scan);
        }
        let parts = |stage: &Arc<Rows>| scans.get(&id(stage)).map_or(0, |(_, scan)| scan.parts());
        let tasks: Vec<(usize, usize)> = stages
            .roots
            .iter()
            .enumerate()
            .flat_map(|(place, stage)| (0..parts(stage)).map(move |part| (place, part)))
            .collect();
        let schema = schema(rows, columns);
        let (most, texts) = (stages.rows_at_once(columns), texts(rows, columns));
        let run = |source| Run { source, engine: self, rows: most, texts };
        let work = TextWork::of(columns).among(texts);
        let deliver = |worker: &mut Worker, chunk: &Chunk| -> Result<(), Stopped> {
            let size = work.rows_at_once(chunk.columns(), most);
            chunk.pieces(size).try_for_each(|piece| Ok(worker.add(&computed(&piece, columns, &schema)?)?))
        };
        if stages.is_direct {
            return self.in_parallel(tasks.len(), |next| {
                let mut worker = bounding.worker();
                while let Some((place, part)) = next().map(|task| tasks[task]) {
                    let stage = &stages.roots[place];
                    let (leaf, scan) = &scans[&id(stage)];
                    let run = run(Source::file(*leaf, scan, part));
                    run.push(rows, &mut |chunk| deliver(&mut worker, &chunk))?;
                }
                Ok(worker)
            });
        }
        let buckets = self.buckets.max(1);
        let scattered = self.in_parallel(tasks.len(), |next| {
            let mut buckets: Vec<Buckets> =
                stages.roots.iter().map(|stage| Buckets::new(stage, buckets, &self.memory)).collect();
            while let Some((place, part)) = next().map(|task| tasks[task]) {
                let stage = &stages.roots[place];
                let (leaf, scan) = &scans[&id(stage)];
                let run = run(Source::file(*leaf, scan, part));
                run.push(stage, &mut |chunk| buckets[place].scatter(&chunk))?;
            }
            Ok(buckets)
        })?;
        self.in_parallel(buckets, |next| {
            let mut worker = bounding.worker();
            while let Some(bucket) = next() {
                // No operator creates rows without input rows.
                if scattered.iter().flatten().all(|buckets| buckets.is_empty(bucket)) {
                    continue;
                }
                let mut held = HashMap::new();
                for (place, stage) in stages.roots.iter().enumerate() {
                    let mut gathered = Gathered::new(stage, &self.memory);
                    for buckets in &scattered {
                        buckets[place].take(bucket, &mut |chunk| gathered.add(chunk))?;
                    }
                    held.insert(id(stage), gathered.finish());
                }
                let run = run(Source::bucket(held, &stages.shared));
                run.push(rows, &mut |chunk| deliver(&mut worker, &chunk))?;
            }
            Ok(worker)
        })
    }

    /// The scan below a stage, opened for reading.
    fn scan(&self, stage: &Arc<Rows>, inputs: &[Input]) -> Result<(Id, Scan), Stopped> {
        let mut leaf = stage;
        while let [input] = leaf.inputs()[..] {
            leaf = input;
        }
        let Operator::Scan { table, request } = leaf.operator() else { return Err(Stopped) };
        let input = inputs.get(*table).ok_or(Stopped)?;
        let scan = input.table.scan(request, PARTS * self.threads).map_err(|_| Stopped)?;
        Ok((id(leaf), scan))
    }

    /// Runs tasks on several threads and returns each thread's result.
    fn in_parallel<T: Send>(
        &self,
        tasks: usize,
        work: impl Fn(&dyn Fn() -> Option<usize>) -> Result<T, Stopped> + Sync,
    ) -> Result<Vec<T>, Stopped> {
        let taken = AtomicUsize::new(0);
        let next = || Some(taken.fetch_add(1, Ordering::Relaxed)).filter(|&task| task < tasks);
        std::thread::scope(|scope| {
            let work = || {
                let done = until(&self.interrupt, || work(&next));
                if self.interrupt.is_stopped() { Err(Stopped) } else { done }
            };
            let thread = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            let threads: Vec<_> = (0..self.threads.clamp(1, tasks.max(1))).map(|_| thread()).collect();
            let end = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or(Err(Stopped));
            threads.into_iter().map(|thread| thread.map_or(Err(Stopped), end)).collect()
        })
    }
}

/// How many texts are computed or encoded for each row, for statistics of these columns: at most
/// [`MOST_TEXTS`](crate::algebra::expr::MOST_TEXTS).
pub fn texts(rows: &Rows, columns: &[Expr]) -> usize {
    rows.texts() + TextWork::of(columns).texts()
}

/// Computes expressions for each row, in the form that the bounding expects.
fn computed(chunk: &Chunk, columns: &[Expr], schema: &SchemaRef) -> Result<RecordBatch, Stopped> {
    let rows = chunk.rows();
    let values = columns.iter().map(|one| one.evaluate(chunk.columns(), rows).into_array(one.kind(), rows));
    let all = chunk.unit().cloned().into_iter().chain(values).collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), all, &options).map_err(|_| Stopped)
}

/// How a relation is computed: the parts through which rows stream as they are read, and whether they are combined
/// afterwards.
struct Stages {
    roots: Vec<Arc<Rows>>,
    /// Relations with several users.
    shared: Vec<Id>,
    /// Whether every operator processes one row at a time.
    is_direct: bool,
    /// The values computed for each row, in all operators together.
    values: usize,
}

impl Stages {
    fn of(rows: &Arc<Rows>) -> Self {
        let mut users: HashMap<Id, usize> = HashMap::new();
        let (mut is_direct, mut values) = (true, 0);
        count(rows, &mut users, &mut |one| {
            values += values_per_row(one);
            is_direct &= !matches!(one.operator(), Operator::Join { .. } | Operator::Within { .. });
        });
        let shared: Vec<Id> = users.iter().filter(|(_, users)| **users > 1).map(|(one, _)| *one).collect();
        // Without units rows cannot be partitioned, and none needs another: shared relations are recomputed.
        is_direct &= shared.is_empty() || rows.unit().is_none();
        let mut roots = Vec::new();
        collect(rows, is_direct, &mut HashSet::new(), &mut roots);
        Self { roots, shared, is_direct, values }
    }

    /// How many rows are passed on together, for statistics of these columns: at most [`ROWS`], and so few that
    /// everything computed for them fits in [`VALUES`].
    fn rows_at_once(&self, columns: &[Expr]) -> usize {
        let values = self.values + columns.iter().map(Expr::size).sum::<usize>();
        (VALUES / values.max(1)).clamp(1, ROWS)
    }
}

/// The values that an operator computes or copies for each of its rows: one per column and per node of an expression.
fn values_per_row(rows: &Rows) -> usize {
    let sizes = |of: &[Expr]| of.iter().map(Expr::size).sum::<usize>();
    let expressions = match rows.operator() {
        Operator::Scan { .. } | Operator::Union { .. } => 0,
        Operator::Filter { condition, .. } => condition.size(),
        Operator::Project { columns, .. } => sizes(columns),
        Operator::Lookup { lookup, .. } => lookup.size(),
        Operator::Join { condition, .. } => condition.as_ref().map_or(0, Expr::size),
        Operator::Within { keys, aggregates, .. } => {
            sizes(keys) + aggregates.iter().flat_map(Aggregate::expressions).map(Expr::size).sum::<usize>()
        }
    };
    rows.columns().len() + expressions
}

fn count(rows: &Arc<Rows>, users: &mut HashMap<Id, usize>, look: &mut dyn FnMut(&Rows)) {
    let users_of_this = users.entry(id(rows)).or_default();
    *users_of_this += 1;
    if *users_of_this > 1 {
        return;
    }
    look(rows);
    rows.inputs().into_iter().for_each(|input| count(input, users, look));
}

/// The topmost relations made of one scan, row by row; for direct ones, the scans themselves.
fn collect(rows: &Arc<Rows>, is_direct: bool, seen: &mut HashSet<Id>, into: &mut Vec<Arc<Rows>>) {
    if !seen.insert(id(rows)) {
        return;
    }
    let is_root = if is_direct { rows.inputs().is_empty() } else { is_chain(rows) };
    if is_root {
        into.push(rows.clone());
        return;
    }
    rows.inputs().into_iter().for_each(|input| collect(input, is_direct, seen, into));
}

fn is_chain(rows: &Arc<Rows>) -> bool {
    match rows.operator() {
        Operator::Scan { .. } => true,
        Operator::Filter { input, .. } | Operator::Project { input, .. } => is_chain(input),
        _ => false,
    }
}
