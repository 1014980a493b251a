//! The work of one thread on its batches.

use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::job::Plan;
use crate::keys::DROPPED;
use crate::memory::Memory;
use crate::part::Part;
use crate::scatter::Scatter;

/// Rows processed together: their columns fit in the processor's cache.
const CHUNK: usize = 8192;

/// Takes batches on one thread. Any batch may go to any worker.
///
/// Created by [`Bounding::worker`](crate::Bounding::worker), and passed back to
/// [`Bounding::finish`](crate::Bounding::finish).
///
/// # Algorithm
/// If the unit is the row, rows are added up as they arrive. If it is a column, they are partitioned into buckets by a
/// hash of their unit, and wait there for the rest of the unit's rows.
pub struct Worker {
    pub(crate) plan: Arc<Plan>,
    pub(crate) part: Part,
    /// `None` if the unit is the row.
    pub(crate) scatter: Option<Scatter>,
    interrupt: Interrupt,
    memory: Memory,
    /// Shared by all workers and the `Bounding`: its reference count reveals how many workers there are.
    crew: Arc<()>,
    groups: Vec<u32>,
    features: Vec<Vec<i32>>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Worker(…)")
    }
}

impl Worker {
    pub(crate) fn new(plan: &Arc<Plan>, memory: &Memory, interrupt: &Interrupt, crew: &Arc<()>) -> Self {
        Self {
            plan: Arc::clone(plan),
            part: Part::new(plan, memory),
            scatter: plan.by_unit.as_ref().map(|by_unit| Scatter::new(by_unit, memory)),
            interrupt: interrupt.clone(),
            memory: memory.clone(),
            crew: Arc::clone(crew),
            groups: Vec::new(),
            features: Vec::new(),
        }
    }

    /// Adds the rows of a batch. After an error, drop the worker: some of the batch's rows may be in it.
    ///
    /// # Errors
    /// [`Error::Job`](crate::Error::Job) if the batch's columns are not those of the schema; or if memory or disk space
    /// runs out, or the work is interrupted. No value in a row is an error.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.plan.check(batch)?;
        for from in (0..batch.num_rows()).step_by(CHUNK) {
            self.interrupt.check()?;
            self.add_chunk(&batch.slice(from, CHUNK.min(batch.num_rows() - from)))?;
        }
        Ok(())
    }

    fn add_chunk(&mut self, rows: &RecordBatch) -> Result<()> {
        let layout = &self.plan.layout;
        let (keys, inputs) = rows.columns()[layout.first_key()..].split_at(layout.keys);
        self.part.keys.group_rows(keys, rows.num_rows(), &mut self.groups)?;
        self.plan.features.read(inputs, &mut self.part.items, &mut self.features)?;
        if let Some(scatter) = &mut self.scatter {
            // Workers share half of the memory equally, so that one that starts late still finds room for its rows.
            let share = self.memory.limit() / 2 / (Arc::strong_count(&self.crew) - 1).max(1);
            scatter.add(rows.column(0), &self.groups, &self.features, share)?;
        } else {
            self.part.totals.resize(self.part.keys.len())?;
            if self.groups.contains(&DROPPED) {
                self.drop_strangers();
            }
            self.part.totals.prepare(&self.groups, &self.features)?;
            self.part.totals.add(&self.groups, &self.features);
        }
        self.account()
    }

    /// Removes the rows whose keys are not public.
    fn drop_strangers(&mut self) {
        for column in &mut self.features {
            let mut groups = self.groups.iter();
            column.retain(|_| groups.next() != Some(&DROPPED));
        }
        self.groups.retain(|&group| group != DROPPED);
    }

    /// Reserves memory for groups and items; spills rows to make room for them.
    fn account(&mut self) -> Result<()> {
        match (self.part.account(), &mut self.scatter) {
            (Err(_), Some(scatter)) => {
                scatter.buckets.spill()?;
                self.part.account()
            }
            (outcome, _) => outcome,
        }
    }
}
