//! Rows held in memory until all rows of their unit are there.
//!
//! # Privacy
//! If one unit's rows could exhaust memory, whether the process ends would reveal the unit's presence. A unit whose
//! rows take more than `MOST` bytes in a relation is therefore dropped from it. This rule depends only on the unit's
//! own rows: it preserves [stability by unit](crate::algebra::Stability::Unit), and does not depend on the order of
//! rows.

use std::collections::HashSet;

use arrow_array::BooleanArray;
use reticent_bounding::{Memory, Reservation};

use super::Stopped;
use super::chunk::Chunk;
use crate::algebra::Rows;
use crate::algebra::groups::{Grouping, encoded};

/// The most bytes of one unit's rows, where a cell counts 16 bytes plus the length of its text.
const MOST: usize = 256 << 20;
/// Bytes are reserved in steps of this size, twice as many as there are, because concatenation copies the rows.
const STEP: usize = 1 << 20;

/// Rows of a relation, without units that have too many.
pub struct Gathered<'a> {
    relation: &'a Rows,
    most: usize,
    chunks: Vec<Chunk>,
    bytes: usize,
    /// The number of bytes at which to check for units that have too many.
    look_at: usize,
    left_out: HashSet<Box<[u8]>>,
    reserved: Reservation,
}

/// All rows, and the memory they take.
pub struct Held {
    chunk: Chunk,
    /// `None` if the rows are held elsewhere.
    _reserved: Option<Reservation>,
}

impl Held {
    /// Rows that are held elsewhere.
    pub fn elsewhere(chunk: Chunk) -> Self {
        Self { chunk, _reserved: None }
    }

    /// Returns the rows.
    pub fn chunk(&self) -> &Chunk {
        &self.chunk
    }
}

impl<'a> Gathered<'a> {
    /// No rows yet.
    pub fn new(relation: &'a Rows, memory: &Memory) -> Self {
        Self::with_most(relation, memory, MOST)
    }

    fn with_most(relation: &'a Rows, memory: &Memory, most: usize) -> Self {
        let (left_out, reserved) = (HashSet::new(), memory.reserve());
        Self { relation, most, chunks: Vec::new(), bytes: 0, look_at: 2 * most, left_out, reserved }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If the memory limit is exceeded, even without the units that have too many.
    pub fn add(&mut self, chunk: Chunk) -> Result<(), Stopped> {
        chunk.light_pieces().try_for_each(|piece| self.add_piece(piece))
    }

    /// What is copied before memory is reserved is at most one such piece.
    fn add_piece(&mut self, piece: Chunk) -> Result<(), Stopped> {
        let piece = if self.left_out.is_empty() { piece } else { self.without(&piece) };
        let piece = piece.compacted();
        self.bytes += piece.weight();
        self.chunks.push(piece);
        if self.bytes > self.look_at {
            self.look();
            self.look_at = 2 * self.bytes.max(self.most);
        }
        Ok(self.reserved.try_resize(2 * self.bytes.next_multiple_of(STEP))?)
    }

    /// Returns all rows.
    pub fn finish(mut self) -> Held {
        // If there are no more bytes than that in total, no unit has more.
        if self.bytes > self.most {
            self.look();
        }
        Held { chunk: Chunk::all(self.relation, self.chunks.into_iter()), _reserved: Some(self.reserved) }
    }

    /// Drops the units that have too many bytes.
    fn look(&mut self) {
        let all = Chunk::all(self.relation, std::mem::take(&mut self.chunks).into_iter());
        let Some(unit) = all.unit() else {
            self.chunks.push(all);
            return;
        };
        let (grouping, weights) = (Grouping::of(std::slice::from_ref(unit), all.rows()), all.weights());
        let names = encoded(std::slice::from_ref(unit));
        for group in grouping.groups() {
            let bytes: usize = group.iter().map(|&row| weights[row as usize]).sum();
            if let Some(&first) = group.first().filter(|_| bytes > self.most) {
                self.left_out.insert(names.row(first as usize).data().into());
            }
        }
        let rest = self.without(&all);
        self.bytes = rest.weight();
        self.chunks.push(rest);
    }

    /// The rows of units that were not dropped.
    fn without(&self, chunk: &Chunk) -> Chunk {
        let Some(unit) = chunk.unit() else { return chunk.clone() };
        let names = encoded(std::slice::from_ref(unit));
        let stays = |row: usize| Some(!self.left_out.contains(names.row(row).data()));
        chunk.filtered(&(0..chunk.rows()).map(stays).collect::<BooleanArray>())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, Int64Array, StringViewArray};
    use reticent_table::{Request, Type, UnitColumn, UnitType};

    use super::*;

    /// A unit with too many bytes is dropped with all of its rows, in whatever order and batches rows arrive.
    #[test]
    fn a_unit_with_too_many_rows_has_none_whatever_their_order() {
        let unit = Some(UnitColumn { name: "u".into(), form: UnitType::Text });
        let relation =
            Rows::scan(0, Request { unit, columns: vec![("a".into(), Type::Integer), ("s".into(), Type::Text)] });
        let rows: Vec<(&str, i64)> =
            (0..40).map(|row| ("many", row)).chain((0..4).map(|row| ("few", row))).chain([("one", 0)]).collect();
        let gathered = |rows: &[(&str, i64)], piece: usize| {
            let mut gathered = Gathered::with_most(&relation, &Memory::unlimited(), 1000);
            for some in rows.chunks(piece) {
                let units = some.iter().map(|(unit, _)| Some(*unit)).collect::<StringViewArray>();
                let numbers = some.iter().map(|(_, number)| Some(*number)).collect::<Int64Array>();
                let texts = some.iter().map(|_| Some("some text")).collect::<StringViewArray>();
                let columns: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(texts)];
                gathered.add(Chunk::new(Some(Arc::new(units)), columns, some.len())).unwrap();
            }
            let held = gathered.finish();
            let units = held.chunk().unit().unwrap().as_string_view().clone();
            let mut left: Vec<String> = units.iter().flatten().map(str::to_owned).collect();
            left.sort();
            left
        };
        for piece in [1, 3, 7, 45] {
            for turned in [0, 10, 41, 44] {
                let mut rows = rows.clone();
                rows.rotate_left(turned);
                assert_eq!(gathered(&rows, piece), ["few", "few", "few", "few", "one"], "{piece}, {turned}");
            }
        }
    }

    /// One row of many keeps only its own text in memory, not those of the rows it was read with.
    #[test]
    fn texts_that_were_filtered_out_are_not_held() {
        let unit = Some(UnitColumn { name: "u".into(), form: UnitType::Text });
        let relation = Rows::scan(0, Request { unit, columns: vec![("s".into(), Type::Text)] });
        let rows = 200;
        let units: StringViewArray = (0..rows).map(|unit| Some(unit.to_string())).collect();
        let texts: StringViewArray = (0..rows).map(|_| Some("x".repeat(1000))).collect();
        let chunk = Chunk::new(Some(Arc::new(units)), vec![Arc::new(texts)], rows);
        let one = chunk.filtered(&(0..rows).map(|row| Some(row == 7)).collect());
        let mut gathered = Gathered::new(&relation, &Memory::unlimited());
        gathered.add(one).unwrap();
        let held = gathered.finish();
        let buffers = held.chunk().columns()[0].as_string_view().data_buffers();
        assert!(buffers.iter().map(|buffer| buffer.len()).sum::<usize>() < 4000);
    }

    #[test]
    fn rows_that_wait_count_against_the_memory_limit() {
        let unit = Some(UnitColumn { name: "u".into(), form: UnitType::Text });
        let relation = Rows::scan(0, Request { unit, columns: Vec::new() });
        let memory = Memory::new(4 << 20);
        let some = || {
            let units: StringViewArray = (0..10_000).map(|unit| Some(unit.to_string())).collect();
            Chunk::new(Some(Arc::new(units)), Vec::new(), 10_000)
        };
        let mut gathered = Gathered::new(&relation, &memory);
        // 16 bytes per row and four for its unit, reserved twice: the eleventh batch exceeds 2 MiB.
        (0..10).for_each(|_| gathered.add(some()).unwrap());
        assert_eq!(memory.used(), 4 << 20);
        assert_eq!(gathered.add(some()), Err(Stopped));
        let held = gathered.finish();
        assert!(memory.used() > 0, "as long as the rows are there");
        drop(held);
        assert_eq!(memory.used(), 0);
    }
}
