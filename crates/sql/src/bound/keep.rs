//! A bucket grouped by unit, and chosen from.

use datafusion::common::resources_err;
use datafusion::error::Result;
use hashbrown::HashTable;

use super::choice::Chooser;
use super::feature::Features;
use super::layout::Caps;
use super::unit::{UnitForm, hash};

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

/// Chooses which groups and rows of a unit count.
///
/// A record is a unit, a group and the features of a row. Nothing outside a unit's own records has an influence on what is
/// kept of them, nor has their order: groups are chosen by [`Chooser::place_of_group`], rows by their place in ascending
/// order of features and [`Chooser::place_of_row`].
pub(super) struct Keeper {
    form: UnitForm,
    caps: Caps,
    chooser: Chooser,
    table_seed: u64,
    starts: Vec<usize>,
    /// The number of every record's unit.
    owners: Vec<u32>,
    /// The first record of every unit.
    firsts: Vec<u32>,
    /// Where each unit's records end in `members`.
    ends: Vec<u32>,
    /// The records of each unit: the group in the upper half, the record's number in the lower.
    members: Vec<u64>,
    places: Vec<(u64, u32)>,
    runs: Vec<std::ops::Range<usize>>,
}

impl Keeper {
    pub fn new(form: UnitForm, caps: Caps, chooser: Chooser) -> Self {
        Self {
            form,
            caps,
            table_seed: chooser.table_seed(),
            chooser,
            starts: Vec::new(),
            owners: Vec::new(),
            firsts: Vec::new(),
            ends: Vec::new(),
            members: Vec::new(),
            places: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// A hash of a unit, by which it has its bucket.
    #[inline]
    pub fn hash(&self, unit: &[u32]) -> u64 {
        hash(self.table_seed, unit)
    }

    /// Replaces `kept` by what is kept of these records. `digests` stand for the groups.
    pub fn keep(&mut self, records: &[u32], digests: &[u128], features: &Features, kept: &mut Kept) -> Result<()> {
        kept.groups.clear();
        kept.units.clear();
        kept.features.resize_with(features.len(), Vec::new);
        kept.features.iter_mut().for_each(Vec::clear);
        self.number_units(records, features.len())?;
        self.gather(records);
        let mut members = std::mem::take(&mut self.members);
        let mut from = 0;
        for unit in 0..self.firsts.len() {
            let to = self.ends[unit] as usize;
            self.keep_of_unit(&mut members[from..to], records, digests, features, kept);
            from = to;
        }
        self.members = members;
        Ok(())
    }

    /// Finds the records and numbers their units.
    fn number_units(&mut self, records: &[u32], features: usize) -> Result<()> {
        self.starts.clear();
        self.owners.clear();
        self.firsts.clear();
        self.ends.clear();
        // Units are compared, so a table that is asked by hash never takes two for one.
        let mut table: HashTable<u32> = HashTable::new();
        let mut start = 0;
        while start < records.len() {
            let record = &records[start..];
            let unit = &record[..self.form.words(record)];
            let (starts, firsts, form, seed) = (&self.starts, &self.firsts, self.form, self.table_seed);
            let unit_of = |number: u32| {
                let record: &[u32] = &records[starts[firsts[number as usize] as usize]..];
                &record[..form.words(record)]
            };
            let is_same = |&number: &u32| unit_of(number) == unit;
            // A record that was found before is hashed again when the table grows.
            let entry = table.entry(hash(seed, unit), is_same, |&number| hash(seed, unit_of(number)));
            let owner = *entry.or_insert(firsts.len() as u32).get();
            if owner as usize == self.firsts.len() {
                self.firsts.push(self.starts.len() as u32);
                self.ends.push(0);
            }
            self.ends[owner as usize] += 1;
            self.owners.push(owner);
            self.starts.push(start);
            start += unit.len() + 1 + features;
            if self.starts.len() > u32::MAX as usize {
                return resources_err!("there are more rows in a bucket than can be numbered");
            }
        }
        Ok(())
    }

    /// Brings the records of each unit together.
    fn gather(&mut self, records: &[u32]) {
        let mut sum = 0;
        for end in &mut self.ends {
            // Where the unit's records begin; every one that is placed moves it on, until it is where they end.
            sum += std::mem::replace(end, sum);
        }
        self.members.clear();
        self.members.resize(self.starts.len(), 0);
        for (number, (&owner, &start)) in self.owners.iter().zip(&self.starts).enumerate() {
            let place = &mut self.ends[owner as usize];
            let record = &records[start..];
            let group = record[self.form.words(record)];
            self.members[*place as usize] = u64::from(group) << 32 | number as u64;
            *place += 1;
        }
    }

    fn keep_of_unit(
        &mut self,
        members: &mut [u64],
        records: &[u32],
        digests: &[u128],
        features: &Features,
        kept: &mut Kept,
    ) {
        members.sort_unstable();
        let most_rows = usize::try_from(self.caps.rows).unwrap_or(usize::MAX);
        let unit = &records[self.starts[members[0] as u32 as usize]..];
        let unit = &unit[..self.form.words(unit)];
        let mut identity = None;
        let mut runs = std::mem::take(&mut self.runs);
        self.choose_groups(members, unit, digests, &mut identity, &mut runs);
        for run in runs.drain(..) {
            let group = (members[run.start] >> 32) as u32;
            let run = &mut members[run];
            kept.units.push(group);
            let chosen =
                self.choose_rows(run, most_rows, unit, digests[group as usize], &mut identity, records, features);
            for &member in &run[..chosen] {
                kept.groups.push(group);
                let values = self.values(member, unit.len(), records, features.len());
                kept.features.iter_mut().zip(values).for_each(|(column, &value)| column.push(value as i32));
            }
        }
        self.runs = runs;
    }

    /// Leaves in `runs` the unit's groups that count, as ranges of its members, which are in order of groups.
    fn choose_groups(
        &mut self,
        members: &[u64],
        unit: &[u32],
        digests: &[u128],
        identity: &mut Option<u128>,
        runs: &mut Vec<std::ops::Range<usize>>,
    ) {
        let mut from = 0;
        for run in members.chunk_by(|one, other| one >> 32 == other >> 32) {
            runs.push(from..from + run.len());
            from += run.len();
        }
        let most_groups = usize::try_from(self.caps.groups).unwrap_or(usize::MAX);
        if runs.len() <= most_groups {
            return;
        }
        let identity = *identity.get_or_insert_with(|| self.form.identity(unit, &self.chooser));
        let digest = |run: u32| digests[(members[runs[run as usize].start] >> 32) as usize];
        self.places.clear();
        self.places.extend((0..runs.len() as u32).map(|run| (self.chooser.place_of_group(identity, digest(run)), run)));
        let by_place = |one: &(u64, u32), other: &(u64, u32)| {
            one.0.cmp(&other.0).then_with(|| digest(one.1).cmp(&digest(other.1)))
        };
        self.places.select_nth_unstable_by(most_groups, by_place);
        let chosen = self.places[..most_groups].iter().map(|&(_, run)| runs[run as usize].clone()).collect();
        *runs = chosen;
    }

    /// Moves the rows that count to the front of the run; how many they are.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of it is one unit's, and a struct for it would be made a million times"
    )]
    fn choose_rows(
        &mut self,
        run: &mut [u64],
        most: usize,
        unit: &[u32],
        digest: u128,
        identity: &mut Option<u128>,
        records: &[u32],
        features: &Features,
    ) -> usize {
        if run.len() <= most {
            return run.len();
        }
        let identity = *identity.get_or_insert_with(|| self.form.identity(unit, &self.chooser));
        let values = |member: u64| self.values(member, unit.len(), records, features.len());
        run.sort_unstable_by(|&one, &other| features.compare(values(one), values(other)));
        self.places.clear();
        let places = (0..run.len() as u32).map(|row| (self.chooser.place_of_row(identity, digest, row.into()), row));
        self.places.extend(places);
        self.places.select_nth_unstable(most);
        let chosen: Vec<u64> = self.places[..most].iter().map(|&(_, row)| run[row as usize]).collect();
        run[..most].copy_from_slice(&chosen);
        most
    }

    /// The features of a record.
    #[inline]
    fn values<'a>(&self, member: u64, unit: usize, records: &'a [u32], features: usize) -> &'a [u32] {
        let from = self.starts[member as u32 as usize] + unit + 1;
        &records[from..from + features]
    }
}
