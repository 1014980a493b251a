//! The records of a bucket, brought together by unit.

use datafusion::common::resources_err;
use datafusion::error::Result;
use hashbrown::HashTable;

use super::unit::{UnitForm, hash};

/// Finds the units of a bucket and the records of each. A record is a unit, a group and the features of a row.
///
/// Units are found by a hash and then compared: two are never taken for one.
pub(super) struct Gatherer {
    form: UnitForm,
    seed: u64,
    /// Where each record starts.
    starts: Vec<usize>,
    /// The number of each record's unit.
    owners: Vec<u32>,
    /// The first record of each unit.
    firsts: Vec<u32>,
    /// Where each unit's records end in `members`.
    ends: Vec<u32>,
    members: Vec<Member>,
    units: HashTable<u32>,
}

/// A record of a unit. Their order is that of their groups' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member(u64);

impl Member {
    fn new(group: u32, record: u32) -> Self {
        Self(u64::from(group) << 32 | u64::from(record))
    }

    /// The number of the record's group.
    #[inline]
    pub fn group(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    fn record(self) -> usize {
        self.0 as u32 as usize
    }
}

impl Gatherer {
    /// The seed is for the table of units.
    pub fn new(form: UnitForm, seed: u64) -> Self {
        Self {
            form,
            seed,
            starts: Vec::new(),
            owners: Vec::new(),
            firsts: Vec::new(),
            ends: Vec::new(),
            members: Vec::new(),
            units: HashTable::new(),
        }
    }

    /// The hash of a unit: of its words alone.
    #[inline]
    pub fn hash(&self, unit: &[u32]) -> u64 {
        hash(self.seed, unit)
    }

    /// Brings the records together that follow each other in `records`, each with so many features.
    pub fn gather(&mut self, records: &[u32], features: usize) -> Result<()> {
        self.number_units(records, features)?;
        let mut sum = 0;
        for end in &mut self.ends {
            // Where the unit's records begin; every one that is placed moves it on, until it is where they end.
            sum += std::mem::replace(end, sum);
        }
        self.members.clear();
        self.members.resize(self.starts.len(), Member(0));
        for (number, (&owner, &start)) in self.owners.iter().zip(&self.starts).enumerate() {
            let place = &mut self.ends[owner as usize];
            let record = &records[start..];
            let group = record[self.form.words(record)];
            self.members[*place as usize] = Member::new(group, number as u32);
            *place += 1;
        }
        Ok(())
    }

    fn number_units(&mut self, records: &[u32], features: usize) -> Result<()> {
        self.starts.clear();
        self.owners.clear();
        self.firsts.clear();
        self.ends.clear();
        self.units.clear();
        let mut start = 0;
        while start < records.len() {
            let (form, seed, starts, firsts) = (self.form, self.seed, &self.starts, &self.firsts);
            let unit_at = |start: usize| {
                let record = &records[start..];
                &record[..form.words(record)]
            };
            let unit_of = |number: &u32| unit_at(starts[firsts[*number as usize] as usize]);
            let unit = unit_at(start);
            let entry = self.units.entry(
                hash(seed, unit),
                |number| same(unit_of(number), unit),
                // Units that were found before are hashed again when the table grows.
                |number| hash(seed, unit_of(number)),
            );
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

    /// Takes the members of all units, and where those of each unit end; [`Gatherer::put_back`] saves their memory.
    pub fn take(&mut self) -> (Vec<Member>, Vec<u32>) {
        (std::mem::take(&mut self.members), std::mem::take(&mut self.ends))
    }

    /// Gives back what was taken.
    pub fn put_back(&mut self, taken: (Vec<Member>, Vec<u32>)) {
        (self.members, self.ends) = taken;
    }

    /// The words of a member's unit.
    #[inline]
    pub fn unit<'a>(&self, member: Member, records: &'a [u32]) -> &'a [u32] {
        let record = &records[self.starts[member.record()]..];
        &record[..self.form.words(record)]
    }

    /// What stands for a unit when its groups and rows are chosen.
    pub fn form(&self) -> UnitForm {
        self.form
    }

    /// The features of a member whose unit has so many words.
    #[inline]
    pub fn features<'a>(&self, member: Member, unit: usize, records: &'a [u32], features: usize) -> &'a [u32] {
        let from = self.starts[member.record()] + unit + 1;
        &records[from..from + features]
    }
}

/// Are these the same words? Most units are two, for which no call is needed.
#[inline]
fn same(one: &[u32], other: &[u32]) -> bool {
    match (one, other) {
        ([a, b], [c, d]) => a == c && b == d,
        _ => one == other,
    }
}
