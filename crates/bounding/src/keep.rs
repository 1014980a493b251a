//! What is kept of each unit in a bucket.

use std::cmp::Ordering;
use std::ops::Range;

use crate::choice::{Chooser, Ranks};
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
    /// Where the record of every kept row starts.
    starts: Vec<u32>,
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
/// [`Ranks::of_group`], rows by their position in ascending order of features and [`Ranks::of_row`].
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
        kept.starts.clear();
        let Self { gatherer, chooser, groups, rows } = self;
        gatherer.units(bucket.records, |members| {
            let mut owner = Owner { records: bucket.records, chooser, member: members[0], ranks: None };
            for run in groups.choose(members, &mut owner, bucket.digests) {
                let run = &mut members[run.clone()];
                let group = run[0].group();
                let chosen = rows.choose(run, &mut owner, bucket);
                kept.units.push(group);
                kept.groups.resize(kept.groups.len() + chosen, group);
                kept.starts.extend(run[..chosen].iter().map(|member| member.start()));
            }
        })?;
        bucket.records.columns(&kept.starts, &mut kept.features);
        Ok(())
    }
}

/// The unit whose groups and rows are chosen.
pub(crate) struct Owner<'a> {
    pub records: Records<'a>,
    pub chooser: &'a Chooser,
    /// One of its records.
    pub member: Member,
    /// Computed when there is something to choose.
    pub ranks: Option<Ranks>,
}

impl Owner<'_> {
    fn ranks(&mut self) -> Ranks {
        *self.ranks.get_or_insert_with(|| self.records.ranks(self.member, self.chooser))
    }
}

/// Up to this many of the smallest are found faster by insertion.
const FEW: usize = 16;

/// Moves the smallest to the front.
fn select<T: Copy>(all: &mut [T], most: usize, order: impl Fn(&T, &T) -> Ordering) {
    if !(1..=FEW).contains(&most) {
        all.select_nth_unstable_by(most, order);
        return;
    }
    let (front, rest) = all.split_at_mut(most);
    front.sort_unstable_by(&order);
    for one in rest {
        if order(one, &front[most - 1]).is_lt() {
            std::mem::swap(one, &mut front[most - 1]);
            let mut place = most - 1;
            while place > 0 && order(&front[place], &front[place - 1]).is_lt() {
                front.swap(place, place - 1);
                place -= 1;
            }
        }
    }
}

/// Chooses which of a unit's groups count.
pub(crate) struct GroupChoice {
    most: usize,
    places: Vec<(u64, u32)>,
    /// Where the members of each group start; then the number of members.
    starts: Vec<u32>,
    chosen: Vec<Range<usize>>,
}

impl GroupChoice {
    pub fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { most, places: Vec::new(), starts: Vec::new(), chosen: Vec::new() }
    }

    /// The unit's groups that are kept, as ranges of its members, which are sorted by group. `digests` holds that of each
    /// group's key.
    pub fn choose(&mut self, members: &[Member], owner: &mut Owner<'_>, digests: &[u128]) -> &[Range<usize>] {
        let groups = self.find(members);
        let range = |starts: &[u32], run: usize| starts[run] as usize..starts[run + 1] as usize;
        self.chosen.clear();
        if groups <= self.most {
            self.chosen.extend((0..groups).map(|run| range(&self.starts, run)));
            return &self.chosen;
        }
        let (ranks, starts) = (owner.ranks(), &self.starts);
        let digest = |run: u32| digests[members[starts[run as usize] as usize].group() as usize];
        self.places.clear();
        self.places.extend((0..groups as u32).map(|run| (ranks.of_group(digest(run)), run)));
        select(&mut self.places, self.most, |&(place, run), &(other_place, other)| {
            place.cmp(&other_place).then_with(|| digest(run).cmp(&digest(other)))
        });
        self.chosen.extend(self.places[..self.most].iter().map(|&(_, run)| range(starts, run as usize)));
        &self.chosen
    }

    /// Finds where each group starts; returns the number of groups. Whether a row is in the group of the one before cannot be
    /// predicted, so nothing branches on it.
    fn find(&mut self, members: &[Member]) -> usize {
        self.starts.resize(members.len() + 1, 0);
        let (starts, mut groups) = (&mut self.starts[..members.len() + 1], 1);
        starts[0] = 0;
        for (place, pair) in (1..).zip(members.windows(2)) {
            starts[groups] = place;
            groups += usize::from(pair[0].group() != pair[1].group());
        }
        starts[groups] = members.len() as u32;
        groups
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
        let ranks = owner.ranks().of_rows_in(bucket.digests[run[0].group() as usize]);
        let values = |member: Member| bucket.records.features(member);
        run.sort_unstable_by(|&one, &other| compare(bucket.items, values(one), values(other)));
        self.places.clear();
        self.places.extend((0..run.len() as u32).map(|row| (ranks.of_row(row.into()), row)));
        select(&mut self.places, most, Ord::cmp);
        self.members.clear();
        self.members.extend(self.places[..most].iter().map(|&(_, row)| run[row as usize]));
        run[..most].copy_from_slice(&self.members);
        most
    }
}
