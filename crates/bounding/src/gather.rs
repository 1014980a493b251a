//! Grouping of a bucket's records by unit.

use std::cmp::Ordering;

use crate::choice::Chooser;
use crate::error::{Error, Result};
use crate::unit::{UnitForm, hash, hash_number, identity_of_text, number};

/// Records per slot: on average, each unit has a slot of its own.
const PER_SLOT: usize = 8;
/// More slots would not fit in the processor's cache.
const MOST_SLOTS: usize = 1 << 16;
/// These bits of a unit's hash choose its slot; those below choose its bucket.
const SLOT_SHIFT: u32 = 40;

/// Finds the units of a bucket and the records of each. A record consists of a unit, a group and the features of a row.
///
/// Records are first distributed by some bits of their unit's hash with a counting sort: the few that share these bits
/// are in one slot. Within a slot they are sorted by comparison. Two units are never merged: hashes locate, comparisons
/// decide.
pub(crate) struct Gatherer {
    seed: u64,
    /// The hash of each record's unit.
    hashes: Vec<u64>,
    /// Where each slot's members end.
    ends: Vec<u32>,
    members: Vec<Member>,
}

/// A record's sort key: 64 bits for its unit (the unit itself if it is a number, otherwise its hash), 32 for its
/// group's number, and 32 for where it starts. Comparing one number is faster than comparing three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member(u128);

impl Member {
    fn new(unit: u64, group: u32, start: u32) -> Self {
        Self(u128::from(unit) << 64 | u128::from(u64::from(group) << 32 | u64::from(start)))
    }

    #[inline]
    fn unit(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The number of the record's group.
    #[inline]
    pub fn group(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    fn start(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The bucket whose units are being found, and how to read its records.
#[derive(Clone, Copy)]
pub(crate) struct Records<'a> {
    pub words: &'a [u32],
    pub form: UnitForm,
    /// The number of features.
    pub features: usize,
}

impl<'a> Records<'a> {
    /// The identity of a member's unit for choosing its groups and rows.
    #[inline]
    pub fn identity(&self, member: Member, chooser: &Chooser) -> u128 {
        match self.form {
            UnitForm::Number => member.unit().into(),
            UnitForm::Bytes => identity_of_text(self.unit(member), chooser),
        }
    }

    /// The words of a member's unit.
    #[inline]
    fn unit(&self, member: Member) -> &'a [u32] {
        let record = &self.words[member.start()..];
        &record[..self.form.words(record)]
    }

    /// The features of a member.
    #[inline]
    pub fn features(&self, member: Member) -> &'a [u32] {
        let from = member.start() + self.form.words(&self.words[member.start()..]) + 1;
        &self.words[from..from + self.features]
    }

    /// Whether these are two units with the same hash.
    #[inline]
    fn collide(&self, one: Member, other: Member) -> bool {
        self.form == UnitForm::Bytes && one.unit() == other.unit() && self.unit(one) != self.unit(other)
    }

    #[inline]
    fn is_one_unit(&self, one: Member, other: Member) -> bool {
        one.unit() == other.unit() && !self.collide(one, other)
    }

    /// Compares by unit, then by group.
    fn compare(&self, one: Member, other: Member) -> Ordering {
        let by_unit = one.unit().cmp(&other.unit()).then_with(|| self.unit(one).cmp(self.unit(other)));
        by_unit.then(one.group().cmp(&other.group()))
    }

    /// Calls the function with the start of every record and the number of words of its unit.
    #[inline]
    fn each(&self, mut function: impl FnMut(usize, usize)) {
        let mut start = 0;
        while start < self.words.len() {
            let unit = self.form.words(&self.words[start..]);
            function(start, unit);
            start += unit + 1 + self.features;
        }
    }
}

impl Gatherer {
    /// The seed is that of the hash that assigns units to buckets.
    pub fn new(seed: u64) -> Self {
        Self { seed, hashes: Vec::new(), ends: Vec::new(), members: Vec::new() }
    }

    /// Calls the function with the members of every unit, in order of their groups' numbers.
    pub fn units(&mut self, records: Records<'_>, mut function: impl FnMut(&mut [Member])) -> Result<()> {
        if records.words.len() > u32::MAX as usize {
            return Err(Error::Memory);
        }
        self.hash(records);
        self.sort_into_slots(records);
        let mut from = 0;
        for &end in &self.ends {
            let slot = &mut self.members[from..end as usize];
            from = end as usize;
            slot.sort_unstable();
            let may_collide = records.form == UnitForm::Bytes;
            if may_collide && slot.windows(2).any(|pair| records.collide(pair[0], pair[1])) {
                slot.sort_unstable_by(|&one, &other| records.compare(one, other));
            }
            slot.chunk_by_mut(|&one, &other| records.is_one_unit(one, other)).for_each(&mut function);
        }
        Ok(())
    }

    fn hash(&mut self, records: Records<'_>) {
        let seed = self.seed;
        self.hashes.clear();
        match records.form {
            UnitForm::Number => {
                let all = records.words.chunks_exact(3 + records.features);
                self.hashes.extend(all.map(|record| hash_number(seed, number(record))));
            }
            UnitForm::Bytes => {
                records.each(|start, unit| self.hashes.push(hash(seed, &records.words[start..start + unit])));
            }
        }
    }

    fn sort_into_slots(&mut self, records: Records<'_>) {
        let slots = (self.hashes.len() / PER_SLOT).next_power_of_two().min(MOST_SLOTS);
        let slot = |hash: u64| (hash >> SLOT_SHIFT) as usize & (slots - 1);
        self.ends.clear();
        self.ends.resize(slots, 0);
        self.hashes.iter().for_each(|&hash| self.ends[slot(hash)] += 1);
        let mut sum = 0;
        for end in &mut self.ends {
            // Where the slot starts; each member placed moves it on, until it is where the slot ends.
            sum += std::mem::replace(end, sum);
        }
        self.members.resize(self.hashes.len(), Member::default());
        let (members, ends) = (&mut self.members[..self.hashes.len()], &mut self.ends);
        let mut place = |hash: u64, member: Member| {
            let end = &mut ends[slot(hash)];
            members[*end as usize] = member;
            *end += 1;
        };
        match records.form {
            UnitForm::Number => {
                let width = 3 + records.features;
                for ((record, &hash), start) in
                    records.words.chunks_exact(width).zip(&self.hashes).zip((0..).step_by(width))
                {
                    place(hash, Member::new(number(record), record[2], start));
                }
            }
            UnitForm::Bytes => {
                let mut hashes = self.hashes.iter();
                records.each(|start, unit| {
                    let &unit_hash = hashes.next().expect("one per record");
                    let group = records.words[start + unit];
                    place(unit_hash, Member::new(unit_hash, group, start as u32));
                });
            }
        }
    }
}
