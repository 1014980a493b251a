//! From the first batch to the result.

use std::sync::Arc;
use std::sync::Mutex;

use crate::error::{Error, Result, refuse};
use crate::groups::Groups;
use crate::interrupt::Interrupt;
use crate::job::{Job, Plan};
use crate::memory::Memory;
use crate::merge::{Shelf, bound, spill};
use crate::part::Part;
use crate::weigh::Weighing;
use crate::worker::Worker;

/// Bounds the contribution of each unit, and adds up what is kept.
///
/// # Privacy
/// See the [crate documentation](crate). With public keys, every one of them appears. Without, every group appears that
/// has a kept row: which groups these are is private, too, and they must be selected privately before anything is
/// released.
///
/// # Example
/// See the [crate documentation](crate).
#[derive(Clone)]
pub struct Bounding {
    plan: Arc<Plan>,
    memory: Memory,
    interrupt: Interrupt,
    crew: Arc<()>,
}

impl std::fmt::Debug for Bounding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Bounding").field("layout", &self.plan.layout).finish_non_exhaustive()
    }
}

impl Bounding {
    /// Checks and prepares a job, before any row is read.
    ///
    /// # Errors
    /// If the schema does not match the layout, or the caps or public keys do not match the schema.
    pub fn new(job: &Job, memory: &Memory) -> Result<Self> {
        let plan = Plan::of(job)?;
        Ok(Self { plan, memory: memory.clone(), interrupt: Interrupt::new(), crew: Arc::new(()) })
    }

    /// Lets `interrupt` stop `finish` and all workers created from now on.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// A worker for one thread.
    pub fn worker(&self) -> Worker {
        Worker::new(&self.plan, &self.memory, &self.interrupt, &self.crew)
    }

    /// Computes the statistics of all rows added to these workers, on as many threads as there are workers.
    ///
    /// They do not depend on how the rows were divided into batches and among workers, or on their order.
    ///
    /// # Errors
    /// If a worker belongs to another `Bounding`; if memory or disk space runs out; or if interrupted.
    pub fn finish(&self, workers: Vec<Worker>) -> Result<Groups> {
        self.part(workers)?.into_groups(&self.memory)
    }

    /// Computes the statistics of these workers' rows, to be merged with the parts of other processes.
    ///
    /// # Privacy
    /// All rows of a unit must be in one process.
    ///
    /// # Errors
    /// As for [`Bounding::finish`].
    pub fn part(&self, workers: Vec<Worker>) -> Result<Part> {
        let threads = workers.len();
        let (mut part, shelves) = self.gathered(workers)?;
        match &self.plan.by_unit {
            Some(by_unit) => {
                let Some(caps) = by_unit.caps else { return refuse("a job without caps is weighed") };
                bound(&mut part, by_unit, caps, &shelves, threads, &self.memory, &self.interrupt)?;
            }
            None => {
                part.totals.resize(part.keys.len())?;
                part.account()?;
            }
        }
        Ok(part)
    }

    /// Weighs the rows of these workers, for a job whose unit is a column and that has no caps. If the number of groups is
    /// limited, each unit's are chosen at random.
    ///
    /// # Errors
    /// If it is another kind of job; otherwise as for [`Bounding::finish`].
    pub fn weigh(&self, workers: Vec<Worker>, most_groups: Option<u64>) -> Result<Weighing> {
        if self.plan.by_unit.as_ref().is_none_or(|by_unit| by_unit.caps.is_some()) {
            return refuse("only a job without caps, whose unit is a column, is weighed");
        }
        let threads = workers.len();
        let (part, shelves) = self.gathered(workers)?;
        Ok(Weighing::new(self.clone(), part, shelves, threads, most_groups))
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.interrupt.check()
    }

    /// The keys and items of all workers, and their rows if they were partitioned by unit.
    fn gathered(&self, workers: Vec<Worker>) -> Result<(Part, Vec<Shelf>)> {
        self.interrupt.check()?;
        if workers.iter().any(|worker| !Arc::ptr_eq(&worker.plan, &self.plan)) {
            return refuse("a worker belongs to another job");
        }
        let mut part = Part::new(&self.plan, &self.memory);
        let mut shelves: Vec<Shelf> = Vec::new();
        for (number, Worker { part: other, mut scatter, .. }) in workers.into_iter().enumerate() {
            self.interrupt.check()?;
            let numbers = if number == 0 {
                part = other;
                None
            } else if let Some(scatter) = &mut scatter {
                Some(match part.number(&other) {
                    // Spill rows to make room for keys.
                    Err(Error::Memory) => {
                        scatter.buckets.spill()?;
                        spill(&shelves)?;
                        part.number(&other)?
                    }
                    outcome => outcome?,
                })
            } else {
                part.absorb(other)?;
                None
            };
            shelves.extend(scatter.map(|scatter| Shelf { buckets: Mutex::new(scatter.buckets), numbers }));
        }
        Ok((part, shelves))
    }

    /// Reads the bytes written by [`Part::to_bytes`], in another process with the same job.
    ///
    /// # Errors
    /// If the bytes are invalid, or there is too little memory.
    pub fn read_part(&self, bytes: &[u8]) -> Result<Part> {
        Part::from_bytes(&self.plan, &self.memory, bytes)
    }

    /// Merges all parts of a job.
    ///
    /// # Privacy
    /// No unit may have rows in two of them.
    ///
    /// # Errors
    /// If a part belongs to another `Bounding`, or there is too little memory.
    pub fn merge(&self, parts: impl IntoIterator<Item = Part>) -> Result<Groups> {
        let mut merged = Part::new(&self.plan, &self.memory);
        merged.totals.resize(merged.keys.len())?;
        for part in parts {
            self.interrupt.check()?;
            if !Arc::ptr_eq(&part.plan, &self.plan) {
                return refuse("a part belongs to another job");
            }
            merged.absorb(part)?;
        }
        merged.into_groups(&self.memory)
    }
}
