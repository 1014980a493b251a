//! Execution of each operator.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use reticent_bounding::Reservation;
use reticent_table::Scan;

use super::chunk::Chunk;
use super::gathered::{Gathered, Held};
use super::{Engine, Id, Stopped, VALUES, id};
use crate::algebra::data::sound;
use crate::algebra::expr::TextWork;
use crate::algebra::groups::Grouping;
use crate::algebra::plain::{aggregated, keyed};
use crate::algebra::{Aggregate, Data, Expr, Operator, Rows};

/// A unit whose rows make more pairs than this has none: joined with itself a few times, a unit with a thousand rows
/// would occupy a thread practically forever. The rule depends only on the unit's own rows, so it changes nothing for
/// others.
const MOST_PAIRS: usize = 1 << 22;
/// The bytes that an operator needs for each row of a bucket besides the rows themselves: their units encoded and
/// grouped, the values that one aggregate is computed from, and their order. Encoded texts take the place of the copy
/// that [`Gathered`] reserved for putting rows together.
const BYTES_PER_ROW: usize = 128;
/// The bytes for each key of each row: its value, and the value encoded.
const BYTES_PER_VALUE: usize = 32;

/// Where rows come from.
pub enum Source<'a> {
    /// A part of a file: the rows of one scan; other scans have none.
    File {
        /// The scan's relation.
        leaf: Id,
        /// The scan itself.
        scan: &'a Scan,
        /// The part of the file.
        part: usize,
    },
    /// A bucket: relations whose rows were partitioned, and those with several users, computed once.
    Bucket {
        /// All rows of some units.
        held: Mutex<HashMap<Id, Held>>,
        /// The relations with several users.
        shared: &'a [Id],
    },
}

impl<'a> Source<'a> {
    /// A part of a file.
    pub fn file(leaf: Id, scan: &'a Scan, part: usize) -> Self {
        Self::File { leaf, scan, part }
    }

    /// A bucket.
    pub fn bucket(held: HashMap<Id, Held>, shared: &'a [Id]) -> Self {
        Self::Bucket { held: Mutex::new(held), shared }
    }

    fn held(&self, rows: &Arc<Rows>) -> Option<Chunk> {
        match self {
            Self::File { .. } => None,
            Self::Bucket { held, .. } => {
                let held = held.lock().unwrap_or_else(PoisonError::into_inner);
                held.get(&id(rows)).map(|held| held.chunk().clone())
            }
        }
    }
}

/// Receives rows.
pub type Sink<'a> = &'a mut dyn FnMut(Chunk) -> Result<(), Stopped>;

/// What it takes to compute relations: where their rows come from, and limits.
pub struct Run<'a> {
    /// Where rows come from.
    pub source: Source<'a>,
    /// Memory and time.
    pub engine: &'a Engine,
    /// How many rows are passed on together.
    pub rows: usize,
    /// How many texts are computed or encoded for each row, in all operators together.
    pub texts: usize,
}

impl Run<'_> {
    /// Pushes the rows of a relation to a sink.
    ///
    /// # Errors
    /// If they cannot be read to the end, or the run is interrupted.
    pub fn push(&self, rows: &Arc<Rows>, sink: Sink<'_>) -> Result<(), Stopped> {
        self.check()?;
        if let Some(chunk) = self.source.held(rows) {
            return sink(chunk);
        }
        if let Source::Bucket { held, shared } = &self.source
            && shared.contains(&id(rows))
        {
            let mut all = Gathered::new(rows, &self.engine.memory);
            self.operate(rows, &mut |chunk| all.add(chunk))?;
            let all = all.finish();
            let chunk = all.chunk().clone();
            held.lock().unwrap_or_else(PoisonError::into_inner).insert(id(rows), all);
            return sink(chunk);
        }
        self.operate(rows, sink)
    }

    fn operate(&self, rows: &Arc<Rows>, sink: Sink<'_>) -> Result<(), Stopped> {
        match rows.operator() {
            Operator::Scan { .. } => {
                let Source::File { leaf, scan, part } = &self.source else { return Ok(()) };
                if *leaf != id(rows) {
                    return Ok(());
                }
                for batch in scan.read(*part) {
                    let batch = batch?;
                    self.check()?;
                    // While a source waits for rows, it lets us look at the interrupt.
                    if batch.num_rows() > 0 {
                        sink(Chunk::of(&batch, rows.unit().is_some()))?;
                    }
                }
                Ok(())
            }
            Operator::Filter { input, condition } => self.in_pieces(TextWork::of([condition]), input, &mut |chunk| {
                let holds = condition.holds(chunk.columns(), chunk.rows());
                let chunk = chunk.filtered(&holds);
                if chunk.rows() == 0 { Ok(()) } else { sink(chunk) }
            }),
            Operator::Project { input, columns } => self.in_pieces(TextWork::of(columns), input, &mut |chunk| {
                let rows = chunk.rows();
                let value = |one: &Expr| one.evaluate(chunk.columns(), rows).into_array(one.kind(), rows);
                let columns = columns.iter().map(value).collect();
                sink(chunk.with_columns(columns))
            }),
            Operator::Lookup { input, lookup } => self.in_pieces(lookup.text_work(), input, &mut |chunk| {
                lookup.pairs(chunk.columns(), chunk.rows(), self.rows, self.texts, |ours, theirs| {
                    self.check()?;
                    if ours.is_empty() {
                        return Ok(());
                    }
                    let ours = chunk.taken(ours);
                    let theirs = lookup.table().taken(theirs);
                    let columns = ours.columns().iter().chain(theirs.columns()).cloned().collect();
                    sink(ours.with_columns(columns))
                })
            }),
            Operator::Union { inputs } => inputs.iter().try_for_each(|input| self.push(input, sink)),
            Operator::Within { input, keys, aggregates } => {
                let held = self.collected(input)?;
                self.within(input, held.chunk(), keys, aggregates, sink)
            }
            Operator::Join { left, right, condition, keep_left } => {
                let (ours, theirs) = (self.collected(left)?, self.collected(right)?);
                self.join(ours.chunk(), theirs.chunk(), condition.as_ref(), *keep_left, sink)
            }
        }
    }

    /// Stops if the run is interrupted.
    fn check(&self) -> Result<(), Stopped> {
        if self.engine.interrupt.is_stopped() { Err(Stopped) } else { Ok(()) }
    }

    /// Pushes the rows of a relation in pieces, small ones if much text is computed or encoded for each row.
    fn in_pieces(&self, work: TextWork, rows: &Arc<Rows>, sink: Sink<'_>) -> Result<(), Stopped> {
        let work = work.among(self.texts);
        self.push(rows, &mut |chunk| {
            let size = work.rows_at_once(chunk.columns(), self.rows);
            chunk.pieces(size).try_for_each(|piece| {
                self.check()?;
                sink(piece)
            })
        })
    }

    /// All rows of a relation in this bucket.
    fn collected(&self, rows: &Arc<Rows>) -> Result<Held, Stopped> {
        if let Some(chunk) = self.source.held(rows) {
            return Ok(Held::elsewhere(chunk));
        }
        let mut all = Gathered::new(rows, &self.engine.memory);
        self.push(rows, &mut |chunk| all.add(chunk))?;
        Ok(all.finish())
    }

    /// Reserves memory for an operator that looks at all rows of a bucket.
    fn reserve(&self, rows: usize, bytes_per_row: usize) -> Result<Reservation, Stopped> {
        let mut reserved = self.engine.memory.reserve();
        reserved.try_grow(rows.saturating_mul(bytes_per_row))?;
        Ok(reserved)
    }

    /// Aggregates of each unit's groups. A group's values depend on its rows alone, so that a few groups are computed
    /// at a time if there are many.
    fn within(
        &self,
        input: &Rows,
        chunk: &Chunk,
        keys: &[Expr],
        aggregates: &[Aggregate],
        sink: Sink<'_>,
    ) -> Result<(), Stopped> {
        let _reserved = self.reserve(chunk.rows(), BYTES_PER_ROW + BYTES_PER_VALUE * keys.len())?;
        let keyed = keyed(&chunk.data(input), keys);
        // A key that is written twice is encoded once: what `Gathered` reserved is enough for each column.
        let mut distinct: Vec<usize> = (0..keys.len()).collect();
        distinct.retain(|&place| !keys[..place].contains(&keys[place]));
        let grouped = |chunk: &Chunk, keyed: &Data| -> Result<Grouping, Stopped> {
            let unit = chunk.unit().ok_or(Stopped)?;
            let keys = distinct.iter().map(|&place| &keyed.columns()[place]);
            let by: Vec<ArrayRef> = std::iter::once(unit).chain(keys).cloned().collect();
            Ok(Grouping::of(&by, chunk.rows()))
        };
        let grouping = grouped(chunk, &keyed)?;
        let most = (VALUES / (1 + keys.len() + aggregates.len())).max(1);
        if grouping.len() <= most {
            return self.aggregate(input, chunk, &keyed, &grouping, aggregates, sink);
        }
        grouping.spans(most).try_for_each(|rows| {
            let rows = UInt32Array::from(rows.to_vec());
            let (chunk, keyed) = (chunk.taken(&rows), keyed.taken(&rows));
            let grouping = grouped(&chunk, &keyed)?;
            self.aggregate(input, &chunk, &keyed, &grouping, aggregates, sink)
        })
    }

    fn aggregate(
        &self,
        input: &Rows,
        chunk: &Chunk,
        keyed: &Data,
        grouping: &Grouping,
        aggregates: &[Aggregate],
        sink: Sink<'_>,
    ) -> Result<(), Stopped> {
        if chunk.rows() == 0 {
            return Ok(());
        }
        let values = aggregated(&chunk.data(input), keyed, grouping, aggregates, || self.check().is_ok());
        let values = values.ok_or(Stopped)?;
        // Groups are separated by unit, so the unit of each group is that of its first row.
        let units = sound(take(chunk.unit().ok_or(Stopped)?, &grouping.firsts(), None));
        sink(Chunk::new(Some(units), values.columns().to_vec(), values.rows()))
    }

    /// Pairs rows of the same unit. Rows without a unit have no partner.
    fn join(
        &self,
        ours: &Chunk,
        theirs: &Chunk,
        condition: Option<&Expr>,
        keep_left: bool,
        sink: Sink<'_>,
    ) -> Result<(), Stopped> {
        let (Some(our_units), Some(their_units)) = (ours.unit(), theirs.unit()) else { return Err(Stopped) };
        let _reserved = self.reserve(ours.rows() + theirs.rows(), BYTES_PER_ROW)?;
        // Units of both sides are numbered together.
        let both = sound(concat(&[our_units.as_ref(), their_units.as_ref()]));
        let grouping = Grouping::of(std::slice::from_ref(&both), both.len());
        let mut partners: HashMap<u32, Vec<u32>> = HashMap::new();
        for row in (0..theirs.rows()).filter(|&row| their_units.is_valid(row)) {
            partners.entry(grouping.number(ours.rows() + row)).or_default().push(row as u32);
        }
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        (0..ours.rows()).for_each(|row| *numbers.entry(grouping.number(row)).or_default() += 1);
        let too_many = |row: usize| {
            let unit = grouping.number(row);
            let (ours, theirs) = (numbers.get(&unit).copied(), partners.get(&unit).map(Vec::len));
            ours.unwrap_or_default().saturating_mul(theirs.unwrap_or_default()) > MOST_PAIRS
        };
        let mut matched: Vec<bool> = (0..ours.rows()).map(too_many).collect();
        let excluded = matched.clone();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut act = |left: &mut Vec<u32>, right: &mut Vec<u32>, matched: &mut [bool]| -> Result<(), Stopped> {
            self.check()?;
            let places = UInt32Array::from(std::mem::take(left));
            let pairs = paired(ours, theirs, &places, &UInt32Array::from(std::mem::take(right)));
            let Some(condition) = condition else {
                places.values().iter().for_each(|&row| matched[row as usize] = true);
                return sink(pairs);
            };
            let holds = condition.holds(pairs.columns(), pairs.rows());
            let those = places.values().iter().enumerate().filter(|&(place, _)| holds.value(place));
            those.for_each(|(_, &row)| matched[row as usize] = true);
            let pairs = pairs.filtered(&holds);
            if pairs.rows() == 0 { Ok(()) } else { sink(pairs) }
        };
        let both: Vec<ArrayRef> = ours.columns().iter().chain(theirs.columns()).cloned().collect();
        let most = TextWork::of(condition).among(self.texts).rows_at_once(&both, self.rows);
        for row in (0..ours.rows()).filter(|&row| our_units.is_valid(row) && !excluded[row]) {
            for some in partners.get(&grouping.number(row)).map_or(&[][..], Vec::as_slice).chunks(most) {
                left.extend(std::iter::repeat_n(row as u32, some.len()));
                right.extend_from_slice(some);
                if left.len() >= most {
                    act(&mut left, &mut right, &mut matched)?;
                }
            }
        }
        act(&mut left, &mut right, &mut matched)?;
        if !keep_left {
            return Ok(());
        }
        let alone: Vec<u32> = (0..ours.rows() as u32).filter(|&row| !matched[row as usize]).collect();
        alone.chunks(self.rows).try_for_each(|some| {
            let nobody = UInt32Array::new_null(some.len());
            sink(paired(ours, theirs, &UInt32Array::from(some.to_vec()), &nobody))
        })
    }
}

/// Rows side by side, with the unit of the left.
fn paired(ours: &Chunk, theirs: &Chunk, left: &UInt32Array, right: &UInt32Array) -> Chunk {
    let (ours, theirs) = (ours.taken(left), theirs.taken(right));
    let columns = ours.columns().iter().chain(theirs.columns()).cloned().collect();
    ours.with_columns(columns)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringViewArray};
    use reticent_bounding::{Interrupt, Memory};
    use reticent_table::{Request, Type, UnitColumn, UnitType};

    use super::*;
    use crate::algebra::function::{Function, Text};
    use crate::algebra::{Limits, Lookup, Value};

    /// A table of 64 units with the numbers 0, 1, …, and its relation.
    fn numbers(rows: i64, memory: &Memory) -> (Arc<Rows>, HashMap<Id, Held>) {
        let unit = Some(UnitColumn { name: "u".into(), form: UnitType::Text });
        let scan = Arc::new(Rows::scan(0, Request { unit, columns: vec![("x".into(), Type::Integer)] }));
        let units: StringViewArray = (0..rows).map(|row| Some(format!("{:08}", row % 64))).collect();
        let mut all = Gathered::new(&scan, memory);
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        all.add(Chunk::new(Some(Arc::new(units)), vec![column], rows as usize)).unwrap();
        let held = HashMap::from([(id(&scan), all.finish())]);
        (scan, held)
    }

    fn x() -> Expr {
        Expr::column(0, Type::Integer)
    }

    /// Without the split, 400 sums of 30,000 groups would be one chunk of 12 million values.
    #[test]
    fn many_groups_are_computed_a_few_at_a_time() {
        let engine = Engine::default();
        let (scan, held) = numbers(30_000, &engine.memory);
        let within = Arc::new(Rows::within(&scan, vec![x()], vec![Aggregate::Sum(x()); 400]).unwrap());
        let run = Run { source: Source::bucket(held, &[]), engine: &engine, rows: 8192, texts: 0 };
        let (mut seen, mut chunks) = (Vec::new(), 0);
        run.push(&within, &mut |chunk| {
            assert!(chunk.rows() * (1 + chunk.columns().len()) <= VALUES);
            chunks += 1;
            let (key, last) = (chunk.columns()[0].as_primitive::<Int64Type>(), chunk.columns().last().unwrap());
            assert_eq!(key, last.as_primitive::<Int64Type>());
            seen.extend_from_slice(key.values());
            Ok(())
        })
        .unwrap();
        assert_eq!((seen, chunks), ((0..30_000).collect::<Vec<_>>(), 3));
    }

    #[test]
    fn what_was_gathered_is_passed_on_in_pieces() {
        let engine = Engine::default();
        let (scan, held) = numbers(30_000, &engine.memory);
        let project = Arc::new(Rows::project(&scan, vec![x()]).unwrap());
        let run = Run { source: Source::bucket(held, &[]), engine: &engine, rows: 10_000, texts: 0 };
        let mut sizes = Vec::new();
        run.push(&project, &mut |chunk| {
            sizes.push(chunk.rows());
            Ok(())
        })
        .unwrap();
        assert_eq!(sizes, [10_000; 3]);
    }

    #[test]
    fn aggregation_within_units_counts_against_the_memory_limit() {
        let rows = 100_000;
        let outcome = |limit: usize| {
            let engine = Engine { memory: Memory::new(limit), ..Engine::default() };
            let (scan, held) = numbers(rows, &engine.memory);
            let within = Arc::new(Rows::within(&scan, vec![x()], vec![Aggregate::Rows]).unwrap());
            let run = Run { source: Source::bucket(held, &[]), engine: &engine, rows: 8192, texts: 0 };
            run.push(&within, &mut |_| Ok(()))
        };
        // The rows take 7 MiB, two columns twice; grouping them takes 16 MiB.
        assert_eq!(outcome(20 << 20), Err(Stopped));
        assert_eq!(outcome(25 << 20), Ok(()));
    }

    /// Rows of 50 units that share a text of 60,000 bytes, as after a join with a public table.
    fn long_texts(rows: usize, memory: &Memory) -> (Arc<Rows>, HashMap<Id, Held>) {
        let unit = Some(UnitColumn { name: "u".into(), form: UnitType::Text });
        let scan = Arc::new(Rows::scan(0, Request { unit, columns: vec![("s".into(), Type::Text)] }));
        let repeated = |text: &str| {
            let once: ArrayRef = Arc::new(StringViewArray::from(vec![text]));
            sound(take(&once, &UInt32Array::from_value(0, rows), None))
        };
        let mut all = Gathered::new(&scan, memory);
        let units: StringViewArray = (0..rows).map(|row| Some((row % UNITS).to_string())).collect();
        all.add(Chunk::new(Some(Arc::new(units)), vec![repeated(&"x".repeat(LONG))], rows)).unwrap();
        let held = HashMap::from([(id(&scan), all.finish())]);
        (scan, held)
    }

    const UNITS: usize = 50;
    const LONG: usize = 60_000;

    fn s() -> Expr {
        Expr::column(0, Type::Text)
    }

    fn reversed(of: Expr) -> Expr {
        Expr::call(Function::Text(Text::Reverse), vec![of]).unwrap()
    }

    /// The largest number of rows that pass on together.
    fn most_rows(rows: &Arc<Rows>, held: HashMap<Id, Held>, engine: &Engine) -> usize {
        let run = Run { source: Source::bucket(held, &[]), engine, rows: 8192, texts: rows.texts() };
        let mut most = 0;
        run.push(rows, &mut |chunk| {
            most = most.max(chunk.rows());
            Ok(())
        })
        .unwrap();
        most
    }

    /// Sixteen keys of 1,000 rows would be encoded as a gigabyte.
    #[test]
    fn few_join_keys_are_encoded_at_once_where_they_are_long() {
        let engine = Engine::default();
        let (scan, held) = long_texts(1000, &engine.memory);
        let text: ArrayRef = Arc::new(StringViewArray::from(vec!["x".repeat(LONG)]));
        let table = Arc::new(Data::new(vec![Type::Text], vec![text], 1).unwrap());
        let lookup = Lookup::new(table, vec![(s(), s()); 16], None, false, &Limits::default()).unwrap().unwrap();
        let joined = Arc::new(Rows::lookup(&scan, lookup).unwrap());
        assert_eq!(joined.texts(), 16);
        let most = most_rows(&joined, held, &engine);
        assert!((1..=(32 << 20) / (16 * LONG)).contains(&most), "{most}");
    }

    /// While the last of them computes texts, all others hold theirs.
    #[test]
    fn nested_projections_compute_few_texts_at_once() {
        let engine = Engine::default();
        let (scan, held) = long_texts(100, &engine.memory);
        let nested = |rows: &Arc<Rows>| Arc::new(Rows::project(rows, vec![reversed(s())]).unwrap());
        let levels = (0..50).fold(scan, |rows, _| nested(&rows));
        let most = most_rows(&levels, held, &engine);
        assert!((1..=(32 << 20) / (50 * LONG)).contains(&most), "{most}");
    }

    /// Keys and arguments are computed before rows are gathered, where they count; and one key ten times is one column.
    #[test]
    fn texts_that_are_aggregated_within_units_count_against_the_memory_limit() {
        let rows = 500;
        let outcome = |keys: Vec<Expr>, aggregates: Vec<Aggregate>| {
            let engine = Engine { memory: Memory::new(200 << 20), ..Engine::default() };
            let (scan, held) = long_texts(rows, &engine.memory);
            let within = Arc::new(Rows::within(&scan, keys, aggregates).unwrap());
            let run = Run { source: Source::bucket(held, &[]), engine: &engine, rows: 8192, texts: within.texts() };
            let mut groups = 0;
            let outcome = run.push(&within, &mut |chunk| {
                groups += chunk.rows();
                Ok(())
            });
            assert_eq!(groups, if outcome.is_ok() { UNITS } else { 0 });
            outcome
        };
        // The rows themselves take 57 MiB, like each column computed from them.
        let computed = |number: usize| (0..number).fold(s(), |one, _| reversed(one));
        let all = |number: usize| (1..=number).map(computed).collect::<Vec<_>>();
        assert_eq!(outcome(all(1), Vec::new()), Ok(()));
        assert_eq!(outcome(all(3), Vec::new()), Err(Stopped));
        assert_eq!(outcome(Vec::new(), all(1).into_iter().map(Aggregate::Most).collect()), Ok(()));
        assert_eq!(outcome(Vec::new(), all(3).into_iter().map(Aggregate::Most).collect()), Err(Stopped));
        assert_eq!(outcome(vec![computed(1); 10], vec![Aggregate::Most(computed(1)); 10]), Ok(()));
        let constant = |letter: &str| Expr::constant(Value::Text(letter.repeat(LONG).into()));
        assert_eq!(outcome(["a", "b", "c"].map(constant).to_vec(), Vec::new()), Err(Stopped));
    }

    #[test]
    fn an_interrupted_run_stops_between_pieces_and_between_aggregates() {
        let engine = Engine { interrupt: Interrupt::new(), ..Engine::default() };
        let (scan, held) = numbers(30_000, &engine.memory);
        let project = Arc::new(Rows::project(&scan, vec![x()]).unwrap());
        let run = Run { source: Source::bucket(held, &[]), engine: &engine, rows: 10_000, texts: 0 };
        let mut pieces = 0;
        let outcome = run.push(&project, &mut |_| {
            pieces += 1;
            engine.interrupt.stop();
            Ok(())
        });
        assert_eq!((outcome, pieces), (Err(Stopped), 1));
    }
}
