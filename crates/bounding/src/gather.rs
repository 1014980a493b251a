//! Grouping of a bucket's records by unit.

use std::cmp::Ordering;

use crate::choice::{Chooser, Ranks};
use crate::error::{Error, Result};
use crate::unit::{UnitForm, hash, hash_number, identity_of_text, number};

/// Records per slot: most units of several rows have a slot of their own.
const PER_SLOT: usize = 4;
/// More slots would not fit in the processor's cache.
const MOST_SLOTS: usize = 1 << 16;
/// This many bits of a group's number are sorted by at a time.
const DIGIT: u32 = 11;
/// These bits of a unit's hash choose its slot; those below choose its bucket.
const SLOT_SHIFT: u32 = 40;

/// Finds the units of a bucket and the records of each. A record consists of a unit, a group and the features of a row.
///
/// Records are sorted by group, and then distributed by some bits of their unit's hash, both with counting sorts, which keep
/// the order of what is equal: a unit that has these bits to itself is in order without a comparison. Others are sorted by
/// comparison. Two units are never merged: hashes locate, comparisons decide.
pub(crate) struct Gatherer {
    seed: u64,
    members: Vec<Member>,
    /// Where members are sorted into.
    sorted: Vec<Member>,
    /// Where each slot's members end.
    ends: Vec<u32>,
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
    pub fn start(self) -> u32 {
        self.0 as u32
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
    /// Ranks the groups of a member's unit.
    #[inline]
    pub fn ranks(&self, member: Member, chooser: &Chooser) -> Ranks {
        chooser.of_unit(match self.form {
            UnitForm::Number => member.unit().into(),
            UnitForm::Bytes => identity_of_text(self.unit(member), chooser),
        })
    }

    /// The words of a member's unit.
    #[inline]
    fn unit(&self, member: Member) -> &'a [u32] {
        let record = &self.words[member.start() as usize..];
        &record[..self.form.words(record)]
    }

    /// The features of a member.
    #[inline]
    pub fn features(&self, member: Member) -> &'a [u32] {
        self.features_at(member.start())
    }

    #[inline]
    fn features_at(&self, start: u32) -> &'a [u32] {
        let record = &self.words[start as usize..];
        &record[self.form.words(record) + 1..][..self.features]
    }

    /// Replaces columns by the features of the records that start here. Records that are far from one another are read in a
    /// loop that does nothing else, so that several are on their way from memory at a time.
    pub fn columns(&self, starts: &[u32], columns: &mut Vec<Vec<i32>>) {
        columns.resize_with(self.features, Vec::new);
        for (feature, column) in columns.iter_mut().enumerate() {
            column.clear();
            column.extend(starts.iter().map(|&start| self.features_at(start)[feature] as i32));
        }
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
        Self { seed, members: Vec::new(), sorted: Vec::new(), ends: Vec::new() }
    }

    /// Calls the function with the members of every unit, in order of their groups' numbers.
    pub fn units(&mut self, records: Records<'_>, mut function: impl FnMut(&mut [Member])) -> Result<()> {
        if records.words.len() > u32::MAX as usize {
            return Err(Error::Memory);
        }
        self.read(records);
        self.sort_by_group();
        self.sort_into_slots(records.form);
        let mut from = 0;
        for &end in &self.ends {
            let slot = &mut self.members[from..end as usize];
            from = end as usize;
            if slot.windows(2).any(|pair| !records.is_one_unit(pair[0], pair[1])) {
                slot.sort_unstable();
                if slot.windows(2).any(|pair| records.collide(pair[0], pair[1])) {
                    slot.sort_unstable_by(|&one, &other| records.compare(one, other));
                }
            }
            slot.chunk_by_mut(|&one, &other| records.is_one_unit(one, other)).for_each(&mut function);
        }
        Ok(())
    }

    /// The members of all records, in their order.
    fn read(&mut self, records: Records<'_>) {
        self.members.clear();
        match records.form {
            UnitForm::Number => {
                let width = 3 + records.features;
                let all = records.words.chunks_exact(width).zip((0..).step_by(width));
                self.members.reserve_exact(records.words.len() / width);
                self.members.extend(all.map(|(record, start)| Member::new(number(record), record[2], start)));
            }
            UnitForm::Bytes => {
                let mut count = 0;
                records.each(|_, _| count += 1);
                self.members.reserve_exact(count);
                records.each(|start, unit| {
                    let record = &records.words[start..=start + unit];
                    self.members.push(Member::new(hash(self.seed, &record[..unit]), record[unit], start as u32));
                });
            }
        }
    }

    fn sort_by_group(&mut self) {
        let largest = self.members.iter().map(|member| member.group()).max().unwrap_or_default();
        for shift in (0..u32::BITS - largest.leading_zeros()).step_by(DIGIT as usize) {
            let slots = (largest >> shift).min((1 << DIGIT) - 1) + 1;
            self.distribute(slots as usize, |member| (member.group() >> shift) as usize & ((1 << DIGIT) - 1));
        }
    }

    fn sort_into_slots(&mut self, form: UnitForm) {
        let slots = (self.members.len() / PER_SLOT).next_power_of_two().min(MOST_SLOTS);
        let (seed, slot) = (self.seed, |hash: u64| (hash >> SLOT_SHIFT) as usize & (slots - 1));
        match form {
            UnitForm::Number => self.distribute(slots, |member| slot(hash_number(seed, member.unit()))),
            UnitForm::Bytes => self.distribute(slots, |member| slot(member.unit())),
        }
    }

    /// Sorts by slot; the order within a slot stays the same.
    fn distribute(&mut self, slots: usize, slot: impl Fn(Member) -> usize) {
        self.ends.clear();
        self.ends.resize(slots, 0);
        let ends = &mut self.ends[..];
        self.members.iter().for_each(|&member| ends[slot(member)] += 1);
        let mut sum = 0;
        for end in &mut *ends {
            // Where the slot starts; each member placed moves it on, until it is where the slot ends.
            sum += std::mem::replace(end, sum);
        }
        self.sorted.reserve_exact(self.members.len().saturating_sub(self.sorted.len()));
        self.sorted.resize(self.members.len(), Member::default());
        let sorted = &mut self.sorted[..];
        for &member in &self.members {
            let end = &mut ends[slot(member)];
            sorted[*end as usize] = member;
            *end += 1;
        }
        std::mem::swap(&mut self.members, &mut self.sorted);
    }
}
