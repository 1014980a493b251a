//! Weights instead of caps: every row counts, those of active units for less.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bounding::Bounding;
use crate::bucket::BUCKETS;
use crate::choice::Chooser;
use crate::error::{Error, Result};
use crate::gather::{Gatherer, Member, Records};
use crate::groups::{Group, Groups};
use crate::job::ByUnit;
use crate::keep::{GroupChoice, Owner};
use crate::merge::{Shelf, WORKING_BYTES};
use crate::part::Part;
use crate::totals::{Renumbering, Totals};
use crate::unit::UnitForm;

/// A weight of 1 is 2 to this power.
pub const WEIGHT_BITS: u32 = 16;

/// Limits on the total weight of a unit, all groups together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightCaps {
    /// Of its rows, where they are counted.
    pub rows: u64,
    /// Of its rows, where their values are added up.
    pub values: u64,
    /// Of its presence in groups: beyond this many groups, the unit counts as a fraction in each.
    pub groups: u64,
}

impl WeightCaps {
    /// Caps of 0: what larger caps add to them is all of the weight.
    const NONE: Self = Self { rows: 0, values: 0, groups: 0 };

    /// By how much larger these caps are, each.
    pub fn beyond(&self, smaller: &Self) -> Self {
        Self {
            rows: self.rows.saturating_sub(smaller.rows),
            values: self.values.saturating_sub(smaller.values),
            groups: self.groups.saturating_sub(smaller.groups),
        }
    }
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
    /// What wider caps would add, over all groups. Units count once for each of their groups.
    pub added: Group,
}

/// All rows of a job without caps, partitioned by unit. Made by [`Bounding::weigh`].
///
/// # Privacy
/// With [`WeightCaps`] C, each of the n rows of a unit has the weight w = ⌊2^16·C/n⌋, or 2^16 if n ≤ C. Over all groups
/// together a unit has the weight n·w ≤ 2^16·C: adding or removing it moves the weighted number of rows by at most that
/// in the L1 norm, and any sum of values within 0..W by at most 2^16·C·W. (With k groups instead of n rows the same holds
/// for the weighted number of units.) What wider caps C' would add is measured with the weights ⌊2^16·m/n⌋, where
/// m = min(n, C') − min(n, C) ≤ C' − C: a unit has at most 2^16·(C' − C) of it. The weights depend on the unit's own rows alone, and so does which of its groups
/// count, if their number is limited. The caps must be chosen without looking at the rows, or privately, by a release from
/// [`Weighing::activity`].
///
/// # Accuracy
/// Nothing is chosen at random, so statistics have no sampling error. Units with more rows than C count for less than
/// they should, by a share that is known from the activity. Rounding weights down loses less than n/2^16 of C rows.
pub struct Weighing {
    bounding: Bounding,
    part: Part,
    shelves: Vec<Shelf>,
    threads: usize,
    /// The most groups of a unit that count, and the digest of each group's key if there is a limit.
    most_groups: u64,
    digests: Vec<u128>,
}

impl std::fmt::Debug for Weighing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Weighing(…)")
    }
}

impl Weighing {
    pub(crate) fn new(
        bounding: Bounding,
        part: Part,
        shelves: Vec<Shelf>,
        threads: usize,
        most_groups: Option<u64>,
    ) -> Self {
        let digests = match (most_groups, &part.plan.by_unit) {
            (Some(_), Some(by_unit)) => part.keys.digests(&by_unit.chooser),
            _ => Vec::new(),
        };
        let most_groups = most_groups.unwrap_or(u64::MAX);
        Self { bounding, part, shelves, threads: threads.max(1), most_groups, digests }
    }

    /// How active the units are.
    ///
    /// # Errors
    /// If memory or disk space runs out, or it is interrupted.
    pub fn activity(&self) -> Result<Activity> {
        let all = self.over_buckets(|buckets| {
            let mut activity = Activity::default();
            while buckets.next(|unit| activity.add(unit.rows(), unit.runs.len() as u64))? {}
            Ok(activity)
        })?;
        let mut sum = Activity::default();
        all.iter().for_each(|one| sum.merge(one));
        Ok(sum)
    }

    /// The statistics with these weights, by group, and what wider caps would add to them overall.
    ///
    /// # Errors
    /// If memory or disk space runs out, or it is interrupted.
    pub fn finish(mut self, caps: WeightCaps, wider: WeightCaps) -> Result<Weighted> {
        let memory = self.bounding.memory().clone();
        let groups = self.part.keys.len();
        let all = self.over_buckets(|buckets| {
            let totals = || self.part.plan.totals(&memory);
            let mut sums = [(totals(), WeightCaps::NONE..caps), (totals(), caps..wider)];
            sums[0].0.resize(groups)?;
            sums[1].0.resize(1)?;
            let mut rows = Rows::default();
            loop {
                rows.clear();
                if !buckets.next(|unit| rows.add(&unit))? {
                    return Ok(sums.map(|(sums, _)| sums));
                }
                buckets.records().columns(&rows.starts, &mut rows.features);
                rows.add_to(&mut sums[0])?;
                // There is one group overall.
                rows.groups.fill(0);
                rows.presence.fill(0);
                rows.add_to(&mut sums[1])?;
            }
        })?;
        let (same, one) = (Renumbering::none(groups, &self.part.items), Renumbering::none(1, &self.part.items));
        let mut all = all.into_iter();
        let [grouped, mut added] = all.next().ok_or(Error::Memory)?;
        self.part.totals = grouped;
        for [grouped, more] in all {
            self.part.totals.absorb(grouped, &same)?;
            added.absorb(more, &one)?;
        }
        let added = added.finish(&self.part.items, &[0]);
        let first = |numbers: &[u64]| numbers.first().copied().unwrap_or_default();
        let measured = added.measured.into_iter().filter_map(|groups| groups.into_iter().next()).collect();
        let added = Group { units: first(&added.units), rows: first(&added.rows), measured };
        self.part.account()?;
        Ok(Weighted { groups: self.part.into_groups(&memory)?, added })
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
    chooser: &'a Chooser,
    next: &'a AtomicUsize,
    gatherer: Gatherer,
    groups: GroupChoice,
    records: Vec<u32>,
}

/// A unit, with its rows in those of its groups that count.
struct Unit<'a> {
    members: &'a [Member],
    runs: &'a [Range<usize>],
}

impl Unit<'_> {
    fn rows(&self) -> u64 {
        self.runs.iter().map(|run| run.len() as u64).sum()
    }
}

impl<'a> Cursor<'a> {
    fn new(weighing: &'a Weighing, by_unit: &'a ByUnit, next: &'a AtomicUsize) -> Self {
        Self {
            weighing,
            form: UnitForm::of(by_unit.kind),
            chooser: &by_unit.chooser,
            next,
            gatherer: Gatherer::new(by_unit.chooser.table_seed()),
            groups: GroupChoice::new(weighing.most_groups),
            records: Vec::new(),
        }
    }

    /// The records of the bucket that was taken last.
    fn records(&self) -> Records<'_> {
        Records { words: &self.records, form: self.form, features: self.weighing.part.plan.features.len() }
    }

    /// Calls the function with every unit of the next bucket; `false` if none is left.
    fn next(&mut self, mut function: impl FnMut(Unit<'_>)) -> Result<bool> {
        let bucket = self.next.fetch_add(1, Ordering::Relaxed);
        if bucket >= BUCKETS {
            return Ok(false);
        }
        let weighing = self.weighing;
        weighing.bounding.check()?;
        self.records.clear();
        for shelf in &weighing.shelves {
            shelf.copy(bucket, self.form, &mut self.records)?;
        }
        let features = weighing.part.plan.features.len();
        let records = Records { words: &self.records, form: self.form, features };
        let (groups, chooser) = (&mut self.groups, self.chooser);
        self.gatherer.units(records, |members| {
            let mut owner = Owner { records, chooser, member: members[0], ranks: None };
            let runs = groups.choose(members, &mut owner, &weighing.digests);
            function(Unit { members, runs });
        })?;
        Ok(true)
    }
}

/// The weight of each of `number` rows or groups that one cap gives them beyond a smaller one.
fn weight(number: u64, caps: Range<u64>) -> u64 {
    let between = number.min(caps.end).saturating_sub(caps.start);
    // At most 2^16, since no more lies between the caps than there is.
    match between.checked_mul(1 << WEIGHT_BITS) {
        Some(scaled) => scaled / number,
        None => ((u128::from(between) << WEIGHT_BITS) / u128::from(number)) as u64,
    }
}

/// The rows of a bucket.
#[derive(Default)]
struct Rows {
    groups: Vec<u32>,
    features: Vec<Vec<i32>>,
    /// Where the record of every row starts.
    starts: Vec<u32>,
    /// One for every unit and every group in which it has rows.
    presence: Vec<u32>,
    /// The rows and groups of every unit.
    units: Vec<(u64, u64)>,
}

impl Rows {
    fn clear(&mut self) {
        self.groups.clear();
        self.starts.clear();
        self.presence.clear();
        self.units.clear();
    }

    fn add(&mut self, unit: &Unit<'_>) {
        self.units.push((unit.rows(), unit.runs.len() as u64));
        for run in unit.runs {
            let run = &unit.members[run.clone()];
            self.presence.push(run[0].group());
            self.groups.resize(self.groups.len() + run.len(), run[0].group());
            self.starts.extend(run.iter().map(|member| member.start()));
        }
    }

    fn add_to(&self, (totals, Range { start, end }): &mut (Totals, Range<WeightCaps>)) -> Result<()> {
        let of_rows = |caps: Range<u64>| {
            let unit = move |&(rows, _): &(u64, u64)| {
                std::iter::repeat_n(weight(rows, caps.clone()) as i64, usize::try_from(rows).unwrap_or(usize::MAX))
            };
            self.units.iter().flat_map(unit)
        };
        let of_groups = self.units.iter().flat_map(|&(_, groups)| {
            let weight = weight(groups, start.groups..end.groups);
            std::iter::repeat_n(weight, usize::try_from(groups).unwrap_or(usize::MAX))
        });
        totals.prepare(&self.groups, &self.features)?;
        let (counted, added) = (of_rows(start.rows..end.rows), of_rows(start.values..end.values));
        totals.add_weighted(&self.groups, &self.features, counted, added);
        totals.add_weighted_units(&self.presence, of_groups);
        Ok(())
    }
}
