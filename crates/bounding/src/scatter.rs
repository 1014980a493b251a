//! Partitioning of rows into buckets by unit.

use arrow_array::ArrayRef;

use crate::bucket::{BUCKETS, Buckets};
use crate::error::Result;
use crate::feature::MISSING;
use crate::job::ByUnit;
use crate::keys::DROPPED;
use crate::kind::Kind;
use crate::memory::Memory;
use crate::totals::Renumbering;
use crate::unit::{UnitForm, Units, hash, hash_number};

/// Writes rows as records into the buckets of their units: a unit, a group, and the features.
///
/// The rows of a chunk are first sorted by bucket, so that those of one bucket are written consecutively.
pub(crate) struct Scatter {
    pub buckets: Buckets,
    kind: Kind,
    form: UnitForm,
    seed: u64,
    units: Units,
    /// The bucket of every row; dropped rows are in an extra one.
    places: Vec<u16>,
    /// The rows, by bucket.
    rows: Vec<u32>,
}

impl Scatter {
    pub fn new(by_unit: &ByUnit, memory: &Memory) -> Self {
        Self {
            buckets: Buckets::new(memory),
            kind: by_unit.kind,
            form: UnitForm::of(by_unit.kind),
            seed: by_unit.chooser.table_seed(),
            units: Units::default(),
            places: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds the rows of a chunk, except those without a unit or with a [`DROPPED`] group.
    pub fn add(&mut self, units: &ArrayRef, groups: &[u32], features: &[Vec<i32>], share: usize) -> Result<()> {
        self.units.read(units, self.kind);
        self.place(groups);
        let ends = self.sort();
        let mut from = 0;
        for (bucket, &end) in ends[..BUCKETS].iter().enumerate() {
            let rows = &self.rows[from..end];
            from = end;
            match self.form {
                _ if rows.is_empty() => {}
                UnitForm::Number => {
                    let width = 3 + features.len();
                    let words = rows.len() * width;
                    let room = self.buckets.room(bucket, words, share)?;
                    let start = room.len();
                    room.resize(start + words, 0);
                    for (record, &row) in room[start..].chunks_exact_mut(width).zip(rows) {
                        let row = row as usize;
                        let unit = self.units.numbers[row];
                        record[0] = unit as u32;
                        record[1] = (unit >> 32) as u32;
                        record[2] = groups[row];
                        record[3..].iter_mut().zip(features).for_each(|(word, column)| *word = column[row] as u32);
                    }
                }
                UnitForm::Bytes => {
                    for &row in rows {
                        let row = row as usize;
                        let unit = self.units.text(row);
                        let room = self.buckets.room(bucket, unit.len() + 1 + features.len(), share)?;
                        room.extend_from_slice(unit);
                        room.push(groups[row]);
                        room.extend(features.iter().map(|column| column[row] as u32));
                    }
                }
            }
        }
        Ok(())
    }

    fn place(&mut self, groups: &[u32]) {
        let (seed, units) = (self.seed, &self.units);
        // Different bits from those that choose a slot within the bucket.
        let bucket = |hash: u64| (hash >> 32) as u16 % BUCKETS as u16;
        let of_row = |row: usize| match self.form {
            UnitForm::Number => bucket(hash_number(seed, units.numbers[row])),
            UnitForm::Bytes => bucket(hash(seed, units.text(row))),
        };
        let dropped = |row: usize, group: u32| group == DROPPED || units.is_null(row);
        let place = |(row, &group): (usize, &u32)| if dropped(row, group) { BUCKETS as u16 } else { of_row(row) };
        self.places.clear();
        self.places.extend(groups.iter().enumerate().map(place));
    }

    /// Sorts rows by bucket with a counting sort; returns where each bucket's rows end.
    fn sort(&mut self) -> [usize; BUCKETS + 1] {
        let mut ends = [0; BUCKETS + 1];
        self.places.iter().for_each(|&place| ends[place as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // Where the bucket starts; each row placed moves it on, until it is where the bucket ends.
            sum += std::mem::replace(end, sum);
        }
        self.rows.resize(self.places.len(), 0);
        for (row, &place) in self.places.iter().enumerate() {
            let end = &mut ends[place as usize];
            self.rows[*end] = row as u32;
            *end += 1;
        }
        ends
    }
}

/// Replaces the groups and items of these records by their numbers in the merged tables.
pub(crate) fn renumber(records: &mut [u32], form: UnitForm, numbers: &Renumbering) {
    let features = numbers.items.len();
    let has_items = numbers.items.iter().any(Option::is_some);
    let mut start = 0;
    while start < records.len() {
        let group = start + form.words(&records[start..]);
        records[group] = numbers.groups[records[group] as usize];
        start = group + 1 + features;
        if has_items {
            for (feature, items) in records[group + 1..start].iter_mut().zip(&numbers.items) {
                if let Some(items) = items
                    && *feature as i32 != MISSING
                {
                    *feature = items[*feature as usize];
                }
            }
        }
    }
}
