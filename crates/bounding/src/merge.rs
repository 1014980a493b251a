//! All workers' rows, bucket by bucket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::bucket::{BUCKETS, Buckets};
use crate::error::{Error, Result};
use crate::gather::Records;
use crate::interrupt::Interrupt;
use crate::job::ByUnit;
use crate::keep::{Bucket, Keeper, Kept};
use crate::layout::ContributionCaps;
use crate::memory::{Memory, Reservation};
use crate::part::Part;
use crate::scatter::renumber;
use crate::totals::{Renumbering, Totals};
use crate::unit::UnitForm;

/// Bytes needed to process a word of a bucket: a copy of it, the order of its rows, and what is kept of them.
pub(crate) const WORKING_BYTES: usize = 24;

/// The rows of a worker.
pub(crate) struct Shelf {
    pub buckets: Mutex<Buckets>,
    /// The numbers of its groups and items in the merged tables; `None` if they are the same.
    pub numbers: Option<Renumbering>,
}

impl Shelf {
    /// The number of words of a bucket.
    pub fn words(&self, bucket: usize) -> usize {
        locked(self).words(bucket)
    }

    /// Appends the records of a bucket, which stay here.
    pub fn copy(&self, bucket: usize, form: UnitForm, records: &mut Vec<u32>) -> Result<()> {
        let from = records.len();
        locked(self).copy(bucket, records)?;
        if let Some(numbers) = &self.numbers {
            renumber(&mut records[from..], form, numbers);
        }
        Ok(())
    }

    /// Appends the records of a bucket.
    fn take(&self, bucket: usize, form: UnitForm, records: &mut Vec<u32>) -> Result<()> {
        let from = records.len();
        let pieces = self.buckets.lock().unwrap_or_else(PoisonError::into_inner).take(bucket, records)?;
        pieces.for_each(|piece| records.extend_from_slice(&piece));
        if let Some(numbers) = &self.numbers {
            renumber(&mut records[from..], form, numbers);
        }
        Ok(())
    }
}

/// Adds what is kept of every unit to the part's totals.
///
/// Each thread takes one bucket after the other from all shelves, and has its own totals. The part must have no totals
/// yet.
pub(crate) fn bound(
    part: &mut Part,
    by_unit: &ByUnit,
    caps: ContributionCaps,
    shelves: &[Shelf],
    threads: usize,
    memory: &Memory,
    interrupt: &Interrupt,
) -> Result<()> {
    if part.account().is_err() {
        spill(shelves)?;
        part.account()?;
    }
    let words = |bucket: usize| shelves.iter().map(|shelf| shelf.words(bucket)).sum::<usize>();
    let sizes: Vec<usize> = (0..BUCKETS).map(words).collect();
    let largest = sizes.iter().max().copied().unwrap_or_default();
    let filled = sizes.iter().filter(|&&words| words > 0).count();
    if filled == 0 {
        return part.totals.resize(part.keys.len());
    }
    let mut held = memory.reserve();
    let groups = part.keys.len() * size_of::<u128>();
    let (working, most) = (largest.saturating_mul(WORKING_BYTES), part.totals.most_bytes(part.keys.len()));
    let each = working.saturating_add(most);
    let wanted = threads.min(filled);
    let threads = match hold(&mut held, groups, each, wanted) {
        Ok(threads) => threads,
        Err(_) => {
            let spilled = spill(shelves);
            // One thread may suffice even if not all groups with all their bins fit: few of them may have kept rows.
            let held = hold(&mut held, groups, each, wanted).or_else(|_| hold(&mut held, groups, working, 1));
            held.or_else(|error| spilled.and(Err(error)))?
        }
    };
    // Totals reserve their own memory.
    held.try_resize(groups.saturating_add(working.saturating_mul(threads)))?;
    let task = Task {
        part,
        by_unit,
        caps,
        shelves,
        digests: part.keys.digests(&by_unit.chooser),
        next: AtomicUsize::new(0),
        memory,
        interrupt,
    };
    let outcomes: Vec<Result<Totals>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| task.run())).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let same = Renumbering::none(part.keys.len(), &part.items);
    let mut outcomes = outcomes.into_iter();
    if let Some(first) = outcomes.next() {
        part.totals = first?;
    }
    for totals in outcomes {
        part.totals.absorb(totals?, &same)?;
    }
    drop(held);
    part.account()
}

/// Reserves memory for groups and as many threads as possible; returns the number of threads.
fn hold(held: &mut Reservation, groups: usize, each: usize, most: usize) -> Result<usize> {
    let bytes = |threads: usize| each.saturating_mul(threads).saturating_add(groups);
    (1..=most).rev().find(|&threads| held.try_grow(bytes(threads)).is_ok()).ok_or(Error::Memory)
}

fn locked(shelf: &Shelf) -> std::sync::MutexGuard<'_, Buckets> {
    shelf.buckets.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes the rows of all workers to disk.
pub(crate) fn spill(shelves: &[Shelf]) -> Result<()> {
    shelves.iter().try_for_each(|shelf| locked(shelf).spill())
}

/// State shared by the threads.
struct Task<'a> {
    part: &'a Part,
    by_unit: &'a ByUnit,
    caps: ContributionCaps,
    shelves: &'a [Shelf],
    /// The digest of each group's key.
    digests: Vec<u128>,
    /// The next bucket to take.
    next: AtomicUsize,
    memory: &'a Memory,
    interrupt: &'a Interrupt,
}

impl Task<'_> {
    /// The work of one thread.
    fn run(&self) -> Result<Totals> {
        let outcome = self.take_buckets();
        if outcome.is_err() {
            // The other threads can stop, too.
            self.next.store(BUCKETS, Ordering::Relaxed);
        }
        outcome
    }

    fn take_buckets(&self) -> Result<Totals> {
        let form = UnitForm::of(self.by_unit.kind);
        let mut keeper = Keeper::new(self.caps, self.by_unit.chooser.clone());
        let (mut records, mut kept) = (Vec::new(), Kept::default());
        let mut totals = self.part.plan.totals(self.memory);
        totals.resize(self.part.keys.len())?;
        loop {
            let bucket = self.next.fetch_add(1, Ordering::Relaxed);
            if bucket >= BUCKETS {
                return Ok(totals);
            }
            self.interrupt.check()?;
            records.clear();
            for shelf in self.shelves {
                shelf.take(bucket, form, &mut records)?;
            }
            let records = Records { words: &records, form, features: self.part.plan.features.len() };
            keeper.keep(Bucket { records, digests: &self.digests, items: &self.part.items }, &mut kept)?;
            if totals.prepare(&kept.groups, &kept.features).is_err() {
                // Spill rows to make room for bins, values and items.
                spill(self.shelves)?;
                totals.prepare(&kept.groups, &kept.features)?;
            }
            totals.add(&kept.groups, &kept.features);
            totals.add_units(&kept.units);
        }
    }
}
