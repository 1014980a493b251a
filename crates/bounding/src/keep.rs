//! What is kept of each unit in a bucket.

use std::ops::Range;

use crate::choice::Chooser;
use crate::error::Result;
use crate::feature::{Items, compare};
use crate::gather::{Gatherer, Member, Records};
use crate::layout::Caps;

/// What is kept of the rows of a bucket.
#[derive(Default)]
pub(crate) struct Kept {
    /// The group of every kept row.
    pub groups: Vec<u32>,
    /// The features of every kept row, one column each.
    pub features: Vec<Vec<i32>>,
    /// One entry for every unit and every group in which it has kept rows.
    pub units: Vec<u32>,
}

/// The records of a bucket, and what they refer to.
#[derive(Clone, Copy)]
pub(crate) struct Bucket<'a> {
    pub records: Records<'a>,
    /// The digest of each group's key.
    pub digests: &'a [u128],
    pub items: &'a Items,
}

/// Chooses which groups and rows of each unit are kept.
///
/// What is kept of a unit depends only on its own records, and not on their order: groups are chosen by
/// [`Chooser::place_of_group`], rows by their position in ascending order of features and [`Chooser::place_of_row`].
pub(crate) struct Keeper {
    gatherer: Gatherer,
    choice: Choice,
}

struct Choice {
    most_groups: usize,
    most_rows: usize,
    chooser: Chooser,
    places: Vec<(u64, u32)>,
    runs: Vec<Range<usize>>,
    chosen: Vec<Range<usize>>,
    members: Vec<Member>,
}

impl Keeper {
    pub fn new(caps: Caps, chooser: Chooser) -> Self {
        let most = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let gatherer = Gatherer::new(chooser.table_seed());
        let choice = Choice {
            most_groups: most(caps.groups),
            most_rows: most(caps.rows),
            chooser,
            places: Vec::new(),
            runs: Vec::new(),
            chosen: Vec::new(),
            members: Vec::new(),
        };
        Self { gatherer, choice }
    }

    /// Replaces `kept` by what is kept of a bucket.
    pub fn keep(&mut self, bucket: Bucket<'_>, kept: &mut Kept) -> Result<()> {
        kept.groups.clear();
        kept.units.clear();
        kept.features.resize_with(bucket.records.features, Vec::new);
        kept.features.iter_mut().for_each(Vec::clear);
        let choice = &mut self.choice;
        self.gatherer.units(bucket.records, |members| choice.keep_of_unit(members, bucket, kept))
    }
}

/// The unit whose groups and rows are chosen.
struct Owner {
    /// One of its records.
    member: Member,
    /// Computed when there is something to choose.
    identity: Option<u128>,
}

impl Choice {
    fn keep_of_unit(&mut self, members: &mut [Member], bucket: Bucket<'_>, kept: &mut Kept) {
        let mut owner = Owner { member: members[0], identity: None };
        let mut runs = std::mem::take(&mut self.runs);
        self.choose_groups(members, &mut owner, bucket, &mut runs);
        for run in runs.drain(..) {
            let run = &mut members[run];
            let group = run[0].group();
            let chosen = self.choose_rows(run, &mut owner, bucket);
            kept.units.push(group);
            for &member in &run[..chosen] {
                kept.groups.push(group);
                let values = bucket.records.features(member);
                kept.features.iter_mut().zip(values).for_each(|(column, &value)| column.push(value as i32));
            }
        }
        self.runs = runs;
    }

    /// Leaves in `runs` the unit's groups that are kept, as ranges of its members, which are sorted by group.
    fn choose_groups(
        &mut self,
        members: &[Member],
        owner: &mut Owner,
        bucket: Bucket<'_>,
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
        let identity = self.identity(owner, bucket);
        let digest = |run: u32| bucket.digests[members[runs[run as usize].start].group() as usize];
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

    /// Moves the rows that are kept to the front of the run, which is all of the unit's rows in one group; returns
    /// their number.
    fn choose_rows(&mut self, run: &mut [Member], owner: &mut Owner, bucket: Bucket<'_>) -> usize {
        let most = self.most_rows;
        if run.len() <= most {
            return run.len();
        }
        let identity = self.identity(owner, bucket);
        let digest = bucket.digests[run[0].group() as usize];
        let values = |member: Member| bucket.records.features(member);
        run.sort_unstable_by(|&one, &other| compare(bucket.items, values(one), values(other)));
        let places = (0..run.len() as u32).map(|row| (self.chooser.place_of_row(identity, digest, row.into()), row));
        self.places.clear();
        self.places.extend(places);
        self.places.select_nth_unstable(most);
        self.members.clear();
        self.members.extend(self.places[..most].iter().map(|&(_, row)| run[row as usize]));
        run[..most].copy_from_slice(&self.members);
        most
    }

    fn identity(&self, owner: &mut Owner, bucket: Bucket<'_>) -> u128 {
        *owner.identity.get_or_insert_with(|| bucket.records.identity(owner.member, &self.chooser))
    }
}
