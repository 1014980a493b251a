//! Weights instead of caps: every row counts, those of active units for less.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bounding::Bounding;
use crate::bucket::BUCKETS;
use crate::error::{Error, Result};
use crate::gather::{Gatherer, Member, Records};
use crate::groups::{Group, Groups};
use crate::job::ByUnit;
use crate::merge::{Shelf, WORKING_BYTES};
use crate::part::Part;
use crate::totals::{Renumbering, Totals};
use crate::unit::UnitForm;

/// A weight of 1 is 2 to this power.
pub const WEIGHT_BITS: u32 = 16;

/// Limits on the total weight of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightCaps {
    /// Of its rows, in all groups together.
    pub rows: u64,
    /// Of its presence in groups, all groups together: beyond this many groups, the unit counts as a fraction in each.
    pub groups: u64,
    /// Of its rows in the totals over all groups.
    pub overall: u64,
}

/// How many units have how many rows: the number of units with 2^(b−1) < rows ≤ 2^b, for every b. Exact, not private: a
/// unit is in one bin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Activity {
    /// By number of rows.
    pub rows: Vec<u64>,
    /// By number of groups.
    pub groups: Vec<u64>,
}

impl Activity {
    /// The bin of a number of rows or groups, at least 1.
    pub fn bin(number: u64) -> usize {
        (u64::BITS - (number - 1).leading_zeros()) as usize
    }

    fn add(&mut self, rows: u64, groups: u64) {
        for (bins, number) in [(&mut self.rows, rows), (&mut self.groups, groups)] {
            let bin = Self::bin(number);
            bins.resize(bins.len().max(bin + 1), 0);
            bins[bin] += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (bins, more) in [(&mut self.rows, &other.rows), (&mut self.groups, &other.groups)] {
            bins.resize(bins.len().max(more.len()), 0);
            bins.iter_mut().zip(more).for_each(|(bin, more)| *bin += more);
        }
    }
}

/// Statistics in which every row has a weight. All counts and sums are in units of 2^−[`WEIGHT_BITS`].
#[derive(Debug, Clone, PartialEq)]
pub struct Weighted {
    /// By group.
    pub groups: Groups,
    /// Over all groups.
    pub overall: Group,
}

/// All rows of a job without caps, partitioned by unit. Made by [`Bounding::weigh`].
///
/// # Privacy
/// With [`WeightCaps`] C, each of the n rows of a unit has the weight w = ⌊2^16·C/n⌋, or 2^16 if n ≤ C. Over all groups
/// together a unit has the weight n·w ≤ 2^16·C: adding or removing it moves the weighted number of rows by at most that
/// in the L1 norm, and any sum of values within 0..W by at most 2^16·C·W. (With k groups instead of n rows the same holds
/// for the weighted number of units.) The weights depend on the unit's own rows alone. The caps must be chosen without
/// looking at the rows, or privately, by a release from [`Weighing::activity`].
///
/// # Accuracy
/// Nothing is chosen at random, so statistics have no sampling error. Units with more rows than C count for less than
/// they should, by a share that is known from the activity. Rounding weights down loses less than n/2^16 of C rows.
pub struct Weighing {
    bounding: Bounding,
    part: Part,
    shelves: Vec<Shelf>,
    threads: usize,
}

impl std::fmt::Debug for Weighing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Weighing(…)")
    }
}

impl Weighing {
    pub(crate) fn new(bounding: Bounding, part: Part, shelves: Vec<Shelf>, threads: usize) -> Self {
        Self { bounding, part, shelves, threads: threads.max(1) }
    }

    /// How active the units are.
    ///
    /// # Errors
    /// If memory or disk space runs out, or it is interrupted.
    pub fn activity(&self) -> Result<Activity> {
        let all = self.over_buckets(|buckets| {
            let mut activity = Activity::default();
            while let Some(units) = buckets.next()? {
                units.each(|members, _| activity.add(members.len() as u64, runs(members).count() as u64))?;
            }
            Ok(activity)
        })?;
        let mut sum = Activity::default();
        all.iter().for_each(|one| sum.merge(one));
        Ok(sum)
    }

    /// The statistics with these weights.
    ///
    /// # Errors
    /// If memory or disk space runs out, or it is interrupted.
    pub fn finish(mut self, caps: WeightCaps) -> Result<Weighted> {
        let memory = self.bounding.memory().clone();
        let groups = self.part.keys.len();
        let all = self.over_buckets(|buckets| {
            let mut sums = Sums { grouped: self.part.plan.totals(&memory), overall: self.part.plan.totals(&memory) };
            sums.grouped.resize(groups)?;
            sums.overall.resize(1)?;
            let mut rows = Rows::default();
            while let Some(units) = buckets.next()? {
                rows.clear(units.records.features);
                units.each(|members, records| rows.add(members, records, caps))?;
                sums.add(&mut rows)?;
            }
            Ok(sums)
        })?;
        let (same, one) = (Renumbering::none(groups, &self.part.items), Renumbering::none(1, &self.part.items));
        let mut all = all.into_iter();
        let first = all.next().ok_or(Error::Memory)?;
        let mut overall = first.overall;
        self.part.totals = first.grouped;
        for sums in all {
            self.part.totals.absorb(sums.grouped, &same)?;
            overall.absorb(sums.overall, &one)?;
        }
        let overall = overall.finish(&self.part.items, &[true]);
        let first = |numbers: &[u64]| numbers.first().copied().unwrap_or_default();
        let measured = overall.measured.into_iter().filter_map(|groups| groups.into_iter().next()).collect();
        let overall = Group { units: first(&overall.units), rows: first(&overall.rows), measured };
        self.part.account()?;
        Ok(Weighted { groups: self.part.into_groups(&memory)?, overall })
    }

    /// Lets several threads go through all buckets.
    fn over_buckets<T: Send>(&self, work: impl Fn(&mut Cursor<'_>) -> Result<T> + Sync) -> Result<Vec<T>> {
        let words = |bucket: usize| self.shelves.iter().map(|shelf| shelf.words(bucket)).sum::<usize>();
        let largest = (0..BUCKETS).map(words).max().unwrap_or_default();
        let each = largest.saturating_mul(WORKING_BYTES);
        let mut held = self.bounding.memory().reserve();
        let fits = |threads: &usize| held.try_grow(each.saturating_mul(*threads)).is_ok();
        let threads = (1..=self.threads).rev().find(fits).ok_or(Error::Memory)?;
        let by_unit = self.part.plan.by_unit.as_ref().expect("checked by `Bounding::weigh`");
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let run = || {
                let mut cursor = Cursor::new(self, by_unit, &next);
                let outcome = work(&mut cursor);
                if outcome.is_err() {
                    // The other threads can stop, too.
                    next.store(BUCKETS, Ordering::Relaxed);
                }
                outcome
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    }
}

/// Takes one bucket after the other.
struct Cursor<'a> {
    weighing: &'a Weighing,
    form: UnitForm,
    next: &'a AtomicUsize,
    gatherer: Gatherer,
    records: Vec<u32>,
}

/// The units of a bucket.
struct Units<'a> {
    gatherer: &'a mut Gatherer,
    records: Records<'a>,
}

impl<'a> Cursor<'a> {
    fn new(weighing: &'a Weighing, by_unit: &ByUnit, next: &'a AtomicUsize) -> Self {
        let gatherer = Gatherer::new(by_unit.chooser.table_seed());
        Self { weighing, form: UnitForm::of(by_unit.kind), next, gatherer, records: Vec::new() }
    }

    fn next(&mut self) -> Result<Option<Units<'_>>> {
        let bucket = self.next.fetch_add(1, Ordering::Relaxed);
        if bucket >= BUCKETS {
            return Ok(None);
        }
        self.weighing.bounding.check()?;
        self.records.clear();
        for shelf in &self.weighing.shelves {
            shelf.copy(bucket, self.form, &mut self.records)?;
        }
        let features = self.weighing.part.plan.features.len();
        let records = Records { words: &self.records, form: self.form, features };
        Ok(Some(Units { gatherer: &mut self.gatherer, records }))
    }
}

impl Units<'_> {
    /// Calls the function with the members of every unit, sorted by group.
    fn each(self, mut function: impl FnMut(&[Member], &Records<'_>)) -> Result<()> {
        let records = self.records;
        self.gatherer.units(records, |members| function(members, &records))
    }
}

/// A unit's rows, group by group.
fn runs(members: &[Member]) -> impl Iterator<Item = &[Member]> {
    members.chunk_by(|one, other| one.group() == other.group())
}

/// The weight of each of `number` rows or groups.
fn weight(number: u64, cap: u64) -> u64 {
    const ONE: u128 = 1 << WEIGHT_BITS;
    // At most 2^16, since the quotient is below that where the number exceeds the cap.
    if number <= cap { ONE as u64 } else { (ONE * u128::from(cap) / u128::from(number)) as u64 }
}

/// The rows of a bucket with their weights.
#[derive(Default)]
struct Rows {
    groups: Vec<u32>,
    features: Vec<Vec<i32>>,
    weights: Vec<u32>,
    overall: Vec<u32>,
    units: Vec<u32>,
    unit_weights: Vec<u64>,
    /// For each unit, once.
    each_unit: u64,
}

impl Rows {
    fn clear(&mut self, features: usize) {
        self.groups.clear();
        self.features.resize_with(features, Vec::new);
        self.features.iter_mut().for_each(Vec::clear);
        self.weights.clear();
        self.overall.clear();
        self.units.clear();
        self.unit_weights.clear();
        self.each_unit = 0;
    }

    /// Adds a unit.
    fn add(&mut self, members: &[Member], records: &Records<'_>, caps: WeightCaps) {
        let number = members.len() as u64;
        let in_groups = weight(runs(members).count() as u64, caps.groups);
        for run in runs(members) {
            self.units.push(run[0].group());
            self.unit_weights.push(in_groups);
        }
        self.each_unit += 1;
        self.weights.resize(self.weights.len() + members.len(), weight(number, caps.rows) as u32);
        self.overall.resize(self.overall.len() + members.len(), weight(number, caps.overall) as u32);
        for &member in members {
            self.groups.push(member.group());
            let values = records.features(member);
            self.features.iter_mut().zip(values).for_each(|(column, &value)| column.push(value as i32));
        }
    }
}

/// What one thread adds up.
struct Sums {
    grouped: Totals,
    overall: Totals,
}

impl Sums {
    fn add(&mut self, rows: &mut Rows) -> Result<()> {
        self.grouped.prepare(&rows.groups, &rows.features)?;
        self.grouped.add_weighted(&rows.groups, &rows.features, rows.weights.iter().map(|&weight| weight.into()));
        self.grouped.add_weighted_units(&rows.units, rows.unit_weights.iter().copied());
        // There is one group overall, to which every unit belongs once.
        rows.groups.fill(0);
        self.overall.prepare(&rows.groups, &rows.features)?;
        self.overall.add_weighted(&rows.groups, &rows.features, rows.overall.iter().map(|&weight| weight.into()));
        self.overall.add_weighted_units(&[0], std::iter::once(rows.each_unit << WEIGHT_BITS));
        Ok(())
    }
}
