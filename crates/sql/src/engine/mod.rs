//! Runs the algebra over private rows: from files to exact statistics.
//!
//! Rows are pushed, batch by batch, from the files through the operators into `reticent-bounding`. Operators that look at one row at a
//! time run as rows are read. Those that bring a unit's rows together ([`Join`](crate::algebra::Operator::Join),
//! [`Within`](crate::algebra::Operator::Within)) wait: rows are first scattered by a hash of their unit into buckets, in memory or on
//! disk, and each bucket, which has all rows of its units, then goes through them.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Engine`]: threads, and which of the two ways a query takes |
//! | [`chunk`] | some rows, with their units |
//! | [`mod@push`] | what each operator does with them |
//! | [`buckets`] | rows scattered by unit |
//! | [`gathered`] | rows that wait for others, and how many a unit may have |
//!
//! # Privacy
//! What comes out is exact. Whatever goes wrong on the way is one error without a word about it.

pub mod buckets;
pub mod chunk;
pub mod gathered;
pub mod push;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use reticent_bounding::{Bounding, Groups, Interrupt, Memory, Worker};
use reticent_table::Scan;

use crate::algebra::{Expr, Operator, Rows};
use crate::query::Input;
use buckets::Buckets;
use chunk::Chunk;
use gathered::Gathered;
use push::{Source, push};

/// Something went wrong after the charge: a file that ends too early, a full disk, a limit. It may depend on rows, so that nobody is
/// told what it was.
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

/// What a run may use.
#[derive(Debug, Clone)]
pub struct Engine {
    /// How many threads.
    pub threads: usize,
    /// Into how many buckets rows are scattered that wait for others of their unit; one at a time is in memory.
    pub buckets: usize,
    /// How much memory, and where rows may be written to when it is used up.
    pub memory: Memory,
    /// Ends the run.
    pub interrupt: Interrupt,
}

/// Unless a test wants units to share one.
pub const BUCKETS: usize = 64;

/// The most memory that a query may use, unless the operator says otherwise.
const MEMORY: usize = 4 << 30;

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

/// Bytes of stack of each thread. A row goes through all operators of a query, one inside the other, a few kilobytes each; there are
/// at most some hundreds ([`Limits::operators`](crate::algebra::Limits)). Only what is used is ever taken from the machine.
const STACK: usize = 64 << 20;

/// Which relation it is, among those of one query.
pub type Id = usize;

/// Which relation it is.
pub fn id(rows: &Arc<Rows>) -> Id {
    Arc::as_ptr(rows) as usize
}

/// The columns that statistics are computed of, for the rows of a relation: the unit if it has one, then these expressions.
pub fn schema(rows: &Rows, columns: &[Expr]) -> SchemaRef {
    let unit = rows.unit().map(|unit| Field::new("u", unit.data_type(), true));
    let columns = columns.iter().enumerate();
    let columns = columns.map(|(place, one)| Field::new(place.to_string(), one.kind().data_type(), true));
    Arc::new(Schema::new(unit.into_iter().chain(columns).collect::<Vec<_>>()))
}

impl Engine {
    /// Exact statistics of the rows of a relation. **Not private.**
    pub fn measure(
        &self,
        rows: &Arc<Rows>,
        columns: &[Expr],
        inputs: &[Input],
        bounding: &Bounding,
    ) -> Result<Groups, Stopped> {
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
        let growing = push::growing(columns);
        let deliver = |worker: &mut Worker, chunk: &Chunk| -> Result<(), Stopped> {
            chunk.pieces(growing).try_for_each(|piece| Ok(worker.add(&computed(&piece, columns, &schema)?)?))
        };
        if stages.is_direct {
            let workers = self.in_parallel(tasks.len(), |next| {
                let mut worker = bounding.worker();
                while let Some((place, part)) = next().map(|task| tasks[task]) {
                    let stage = &stages.roots[place];
                    let (leaf, scan) = &scans[&id(stage)];
                    let source = Source::file(*leaf, scan, part);
                    push(rows, &source, self, &mut |chunk| deliver(&mut worker, &chunk))?;
                }
                Ok(worker)
            })?;
            return Ok(bounding.finish(workers)?);
        }
        let buckets = self.buckets.max(1);
        let scattered = self.in_parallel(tasks.len(), |next| {
            let mut buckets: Vec<Buckets> =
                stages.roots.iter().map(|stage| Buckets::new(stage, buckets, &self.memory)).collect();
            while let Some((place, part)) = next().map(|task| tasks[task]) {
                let stage = &stages.roots[place];
                let (leaf, scan) = &scans[&id(stage)];
                let source = Source::file(*leaf, scan, part);
                push(stage, &source, self, &mut |chunk| buckets[place].scatter(&chunk))?;
            }
            Ok(buckets)
        })?;
        let workers = self.in_parallel(buckets, |next| {
            let mut worker = bounding.worker();
            while let Some(bucket) = next() {
                // No operator makes rows of none.
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
                let source = Source::bucket(held, &stages.shared);
                push(rows, &source, self, &mut |chunk| deliver(&mut worker, &chunk))?;
            }
            Ok(worker)
        })?;
        Ok(bounding.finish(workers)?)
    }

    /// The scan below a stage, and what it is to be read with.
    fn scan(&self, stage: &Arc<Rows>, inputs: &[Input]) -> Result<(Id, Scan), Stopped> {
        let mut leaf = stage;
        while let [input] = leaf.inputs()[..] {
            leaf = input;
        }
        let Operator::Scan { table, request } = leaf.operator() else { return Err(Stopped) };
        let input = inputs.get(*table).ok_or(Stopped)?;
        // A few parts for each thread, so that none waits long for the last.
        let scan = input.table.scan(request, 4 * self.threads).map_err(|_| Stopped)?;
        Ok((id(leaf), scan))
    }

    /// What each of several threads makes of the tasks that it takes, one after the other.
    fn in_parallel<T: Send>(
        &self,
        tasks: usize,
        work: impl Fn(&dyn Fn() -> Option<usize>) -> Result<T, Stopped> + Sync,
    ) -> Result<Vec<T>, Stopped> {
        let taken = AtomicUsize::new(0);
        let next = || Some(taken.fetch_add(1, Ordering::Relaxed)).filter(|&task| task < tasks);
        std::thread::scope(|scope| {
            let thread = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || work(&next));
            let threads: Vec<_> = (0..self.threads.clamp(1, tasks.max(1))).map(|_| thread()).collect();
            let end = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or(Err(Stopped));
            threads.into_iter().map(|thread| thread.map_or(Err(Stopped), end)).collect()
        })
    }
}

/// Expressions of each row, as the bounding takes them.
fn computed(chunk: &Chunk, columns: &[Expr], schema: &SchemaRef) -> Result<RecordBatch, Stopped> {
    let rows = chunk.rows();
    let values = columns.iter().map(|one| one.evaluate(chunk.columns(), rows).into_array(one.kind(), rows));
    let all = chunk.unit().cloned().into_iter().chain(values).collect();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), all, &options).map_err(|_| Stopped)
}

/// How a relation is computed: the parts of it that rows go through as they are read, and whether they wait for others afterwards.
struct Stages {
    roots: Vec<Arc<Rows>>,
    /// Relations that are used more than once.
    shared: Vec<Id>,
    /// Does every operator look at one row at a time?
    is_direct: bool,
}

impl Stages {
    fn of(rows: &Arc<Rows>) -> Self {
        let mut users: HashMap<Id, usize> = HashMap::new();
        let mut is_direct = true;
        count(rows, &mut users, &mut |one| {
            is_direct &= !matches!(one.operator(), Operator::Join { .. } | Operator::Within { .. });
        });
        let shared: Vec<Id> = users.iter().filter(|(_, users)| **users > 1).map(|(one, _)| *one).collect();
        // Without units rows cannot be scattered by them, and no row waits for another: what is shared is computed again.
        is_direct &= shared.is_empty() || rows.unit().is_none();
        let mut roots = Vec::new();
        collect(rows, is_direct, &mut HashSet::new(), &mut roots);
        Self { roots, shared, is_direct }
    }
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

/// The highest relations that are made of one scan, row by row; of direct ones, the scans themselves.
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
