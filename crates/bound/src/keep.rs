//! What is kept of each unit of a bucket.

use std::ops::Range;

use datafusion::error::Result;

use super::choice::Chooser;
use super::feature::Features;
use super::gather::{Gatherer, Member};
use super::layout::Caps;
use super::unit::UnitForm;

/// What is kept of the rows of a bucket.
#[derive(Default)]
pub(super) struct Kept {
    /// The group of every kept row.
    pub groups: Vec<u32>,
    /// The features of every kept row, one column each.
    pub features: Vec<Vec<i32>>,
    /// A group for every unit that has kept rows in it.
    pub units: Vec<u32>,
}

/// The records of a bucket, and what they refer to.
pub(super) struct Bucket<'a> {
    pub records: &'a [u32],
    /// What stands for each group.
    pub digests: &'a [u128],
    pub features: &'a Features,
}

/// Chooses which groups and rows of a unit count.
///
/// Nothing outside a unit's own records has an influence on what is kept of them, nor has their order: groups are chosen by
/// [`Chooser::place_of_group`], rows by their place in ascending order of features and [`Chooser::place_of_row`].
pub(super) struct Keeper {
    most_groups: usize,
    most_rows: usize,
    chooser: Chooser,
    gatherer: Gatherer,
    places: Vec<(u64, u32)>,
    runs: Vec<Range<usize>>,
    chosen: Vec<Range<usize>>,
}

/// The unit whose groups and rows are chosen.
struct Owner<'a> {
    words: &'a [u32],
    /// Worked out when there is something to choose.
    identity: Option<u128>,
}

impl Keeper {
    pub fn new(form: UnitForm, caps: Caps, chooser: Chooser) -> Self {
        let most = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            most_groups: most(caps.groups),
            most_rows: most(caps.rows),
            gatherer: Gatherer::new(form, chooser.table_seed()),
            chooser,
            places: Vec::new(),
            runs: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// The hash of a unit, by which it has its bucket.
    #[inline]
    pub fn hash(&self, unit: &[u32]) -> u64 {
        self.gatherer.hash(unit)
    }

    /// Replaces `kept` by what is kept of a bucket.
    pub fn keep(&mut self, bucket: &Bucket<'_>, kept: &mut Kept) -> Result<()> {
        kept.groups.clear();
        kept.units.clear();
        kept.features.resize_with(bucket.features.len(), Vec::new);
        kept.features.iter_mut().for_each(Vec::clear);
        self.gatherer.gather(bucket.records, bucket.features.len())?;
        let (mut members, ends) = self.gatherer.take();
        let mut from = 0;
        for &end in &ends {
            self.keep_of_unit(&mut members[from..end as usize], bucket, kept);
            from = end as usize;
        }
        self.gatherer.put_back((members, ends));
        Ok(())
    }

    fn keep_of_unit(&mut self, members: &mut [Member], bucket: &Bucket<'_>, kept: &mut Kept) {
        members.sort_unstable();
        let mut owner = Owner { words: self.gatherer.unit(members[0], bucket.records), identity: None };
        let mut runs = std::mem::take(&mut self.runs);
        self.choose_groups(members, &mut owner, bucket.digests, &mut runs);
        for run in runs.drain(..) {
            let run = &mut members[run];
            let group = run[0].group();
            let chosen = self.choose_rows(run, &mut owner, bucket);
            kept.units.push(group);
            kept.groups.extend(std::iter::repeat_n(group, chosen));
            for &member in &run[..chosen] {
                let values = self.values(member, &owner, bucket);
                kept.features.iter_mut().zip(values).for_each(|(column, &value)| column.push(value as i32));
            }
        }
        self.runs = runs;
    }

    /// Leaves in `runs` the unit's groups that count, as ranges of its members, which are in order of groups.
    fn choose_groups(
        &mut self,
        members: &[Member],
        owner: &mut Owner<'_>,
        digests: &[u128],
        runs: &mut Vec<Range<usize>>,
    ) {
        let mut from = 0;
        for run in members.chunk_by(|one, other| one.group() == other.group()) {
            runs.push(from..from + run.len());
            from += run.len();
        }
        if runs.len() <= self.most_groups {
            return;
        }
        let identity = self.identity(owner);
        let digest = |run: u32| digests[members[runs[run as usize].start].group() as usize];
        let places = (0..runs.len() as u32).map(|run| (self.chooser.place_of_group(identity, digest(run)), run));
        self.places.clear();
        self.places.extend(places);
        self.places.select_nth_unstable_by(self.most_groups, |&(place, run), &(other_place, other)| {
            place.cmp(&other_place).then_with(|| digest(run).cmp(&digest(other)))
        });
        self.chosen.clear();
        self.chosen.extend(self.places[..self.most_groups].iter().map(|&(_, run)| runs[run as usize].clone()));
        std::mem::swap(runs, &mut self.chosen);
    }

    /// Moves the rows that count to the front of the run, which is all of the unit's in one group; how many they are.
    fn choose_rows(&mut self, run: &mut [Member], owner: &mut Owner<'_>, bucket: &Bucket<'_>) -> usize {
        let most = self.most_rows;
        if run.len() <= most {
            return run.len();
        }
        let identity = self.identity(owner);
        let digest = bucket.digests[run[0].group() as usize];
        let values = |member: Member| self.values(member, owner, bucket);
        run.sort_unstable_by(|&one, &other| bucket.features.compare(values(one), values(other)));
        let places = (0..run.len() as u32).map(|row| (self.chooser.place_of_row(identity, digest, row.into()), row));
        self.places.clear();
        self.places.extend(places);
        self.places.select_nth_unstable(most);
        let chosen: Vec<Member> = self.places[..most].iter().map(|&(_, row)| run[row as usize]).collect();
        run[..most].copy_from_slice(&chosen);
        most
    }

    fn identity(&self, owner: &mut Owner<'_>) -> u128 {
        *owner.identity.get_or_insert_with(|| self.gatherer.form().identity(owner.words, &self.chooser))
    }

    /// The features of a record.
    #[inline]
    fn values<'a>(&self, member: Member, owner: &Owner<'_>, bucket: &Bucket<'a>) -> &'a [u32] {
        self.gatherer.features(member, owner.words.len(), bucket.records, bucket.features.len())
    }
}
