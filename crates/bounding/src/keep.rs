//! What is kept of each unit in a bucket.

use std::ops::Range;

use crate::choice::Chooser;
use crate::error::Result;
use crate::feature::{Items, compare};
use crate::gather::{Gatherer, Member, Records};
use crate::layout::ContributionCaps;

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
    chooser: Chooser,
    groups: GroupChoice,
    rows: RowChoice,
}

impl Keeper {
    pub fn new(caps: ContributionCaps, chooser: Chooser) -> Self {
        let gatherer = Gatherer::new(chooser.table_seed());
        let (groups, rows) = (GroupChoice::new(caps.groups), RowChoice::new(caps.rows));
        Self { gatherer, chooser, groups, rows }
    }

    /// Replaces `kept` by what is kept of a bucket.
    pub fn keep(&mut self, bucket: Bucket<'_>, kept: &mut Kept) -> Result<()> {
        kept.groups.clear();
        kept.units.clear();
        kept.features.resize_with(bucket.records.features, Vec::new);
        kept.features.iter_mut().for_each(Vec::clear);
        let Self { gatherer, chooser, groups, rows } = self;
        gatherer.units(bucket.records, |members| {
            let mut owner = Owner { records: bucket.records, chooser, member: members[0], identity: None };
            for run in groups.choose(members, &mut owner, bucket.digests) {
                let run = &mut members[run.clone()];
                let group = run[0].group();
                let chosen = rows.choose(run, &mut owner, bucket);
                kept.units.push(group);
                for &member in &run[..chosen] {
                    kept.groups.push(group);
                    let values = bucket.records.features(member);
                    kept.features.iter_mut().zip(values).for_each(|(column, &value)| column.push(value as i32));
                }
            }
        })
    }
}

/// The unit whose groups and rows are chosen.
pub(crate) struct Owner<'a> {
    pub records: Records<'a>,
    pub chooser: &'a Chooser,
    /// One of its records.
    pub member: Member,
    /// Computed when there is something to choose.
    pub identity: Option<u128>,
}

impl Owner<'_> {
    fn identity(&mut self) -> u128 {
        *self.identity.get_or_insert_with(|| self.records.identity(self.member, self.chooser))
    }
}

/// Chooses which of a unit's groups count.
pub(crate) struct GroupChoice {
    most: usize,
    places: Vec<(u64, u32)>,
    runs: Vec<Range<usize>>,
    chosen: Vec<Range<usize>>,
}

impl GroupChoice {
    pub fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, places: Vec::new(), runs: Vec::new(), chosen: Vec::new() }
    }

    /// The unit's groups that are kept, as ranges of its members, which are sorted by group. `digests` holds that of each
    /// group's key.
    pub fn choose(&mut self, members: &[Member], owner: &mut Owner<'_>, digests: &[u128]) -> &[Range<usize>] {
        let mut from = 0;
        self.runs.clear();
        self.runs.extend(members.chunk_by(|one, other| one.group() == other.group()).map(|run| {
            from += run.len();
            from - run.len()..from
        }));
        if self.runs.len() <= self.most {
            return &self.runs;
        }
        let (identity, runs) = (owner.identity(), &self.runs);
        let digest = |run: u32| digests[members[runs[run as usize].start].group() as usize];
        let places = (0..runs.len() as u32).map(|run| (owner.chooser.place_of_group(identity, digest(run)), run));
        self.places.clear();
        self.places.extend(places);
        self.places.select_nth_unstable_by(self.most, |&(place, run), &(other_place, other)| {
            place.cmp(&other_place).then_with(|| digest(run).cmp(&digest(other)))
        });
        self.chosen.clear();
        self.chosen.extend(self.places[..self.most].iter().map(|&(_, run)| runs[run as usize].clone()));
        &self.chosen
    }
}

/// Chooses which of a unit's rows in a group count.
struct RowChoice {
    most: usize,
    places: Vec<(u64, u32)>,
    members: Vec<Member>,
}

impl RowChoice {
    fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, places: Vec::new(), members: Vec::new() }
    }

    /// Moves the rows that are kept to the front of the run, which is all of the unit's rows in one group; returns
    /// their number.
    fn choose(&mut self, run: &mut [Member], owner: &mut Owner<'_>, bucket: Bucket<'_>) -> usize {
        let most = self.most;
        if run.len() <= most {
            return run.len();
        }
        let identity = owner.identity();
        let digest = bucket.digests[run[0].group() as usize];
        let values = |member: Member| bucket.records.features(member);
        run.sort_unstable_by(|&one, &other| compare(bucket.items, values(one), values(other)));
        let places = (0..run.len() as u32).map(|row| (owner.chooser.place_of_row(identity, digest, row.into()), row));
        self.places.clear();
        self.places.extend(places);
        self.places.select_nth_unstable(most);
        self.members.clear();
        self.members.extend(self.places[..most].iter().map(|&(_, row)| run[row as usize]));
        run[..most].copy_from_slice(&self.members);
        most
    }
}
