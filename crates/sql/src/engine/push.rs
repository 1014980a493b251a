//! Execution of each operator.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

use arrow_array::{Array, ArrayRef, UInt32Array};
use reticent_table::Scan;

use super::chunk::Chunk;
use super::gathered::{Gathered, Held};
use super::{Engine, Id, Stopped, id};
use crate::algebra::expr::at_once;
use crate::algebra::groups::Grouping;
use crate::algebra::plain::{aggregated, keyed};
use crate::algebra::{Expr, Operator, Rows};

/// A unit whose rows make more pairs than this has none: joined with itself a few times, a unit with a thousand rows
/// would occupy a thread practically forever. The rule depends only on the unit's own rows, so it changes nothing for
/// others.
const MOST_PAIRS: usize = 1 << 22;
/// The number of pairs examined in one batch.
const PAIRS: usize = 8192;

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

/// Pushes the rows of a relation to a sink.
///
/// # Errors
/// If they cannot be read to the end, or the run is interrupted.
pub fn push(rows: &Arc<Rows>, source: &Source<'_>, engine: &Engine, sink: Sink<'_>) -> Result<(), Stopped> {
    if engine.interrupt.is_stopped() {
        return Err(Stopped);
    }
    if let Some(chunk) = source.held(rows) {
        return sink(chunk);
    }
    if let Source::Bucket { held, shared } = source
        && shared.contains(&id(rows))
    {
        let mut all = Gathered::new(rows, &engine.memory);
        operate(rows, source, engine, &mut |chunk| all.add(chunk))?;
        let all = all.finish();
        let chunk = all.chunk().clone();
        held.lock().unwrap_or_else(PoisonError::into_inner).insert(id(rows), all);
        return sink(chunk);
    }
    operate(rows, source, engine, sink)
}

fn operate(rows: &Arc<Rows>, source: &Source<'_>, engine: &Engine, sink: Sink<'_>) -> Result<(), Stopped> {
    match rows.operator() {
        Operator::Scan { .. } => {
            let Source::File { leaf, scan, part } = source else { return Ok(()) };
            if *leaf != id(rows) {
                return Ok(());
            }
            for batch in scan.read(*part) {
                let chunk = Chunk::of(&batch?, rows.unit().is_some());
                if engine.interrupt.is_stopped() {
                    return Err(Stopped);
                }
                sink(chunk)?;
            }
            Ok(())
        }
        Operator::Filter { input, condition } => in_pieces(condition.growing(), input, source, engine, &mut |chunk| {
            let holds = condition.holds(chunk.columns(), chunk.rows());
            let chunk = chunk.filtered(&holds);
            if chunk.rows() == 0 { Ok(()) } else { sink(chunk) }
        }),
        Operator::Project { input, columns } => in_pieces(growing(columns), input, source, engine, &mut |chunk| {
            let rows = chunk.rows();
            let value = |one: &Expr| one.evaluate(chunk.columns(), rows).into_array(one.kind(), rows);
            let columns = columns.iter().map(value).collect();
            sink(chunk.with_columns(columns))
        }),
        Operator::Lookup { input, lookup } => in_pieces(lookup.growing(), input, source, engine, &mut |chunk| {
            lookup.pairs(chunk.columns(), chunk.rows(), |ours, theirs| {
                if engine.interrupt.is_stopped() {
                    return Err(Stopped);
                }
                if ours.is_empty() {
                    return Ok(());
                }
                let ours = chunk.taken(ours);
                let theirs = lookup.table().taken(theirs);
                let columns = ours.columns().iter().chain(theirs.columns()).cloned().collect();
                sink(ours.with_columns(columns))
            })
        }),
        Operator::Union { inputs } => inputs.iter().try_for_each(|input| push(input, source, engine, sink)),
        Operator::Within { input, keys, aggregates } => {
            let held = collected(input, source, engine)?;
            let chunk = held.chunk();
            if chunk.rows() == 0 {
                return Ok(());
            }
            let unit = chunk.unit().cloned().ok_or(Stopped)?;
            let data = chunk.data(input);
            // Groups are separated by unit, so the unit of each group is that of its first row.
            let values = aggregated(&data, std::slice::from_ref(&unit), keys, aggregates);
            let keyed = keyed(&data, keys);
            let by: Vec<ArrayRef> = std::iter::once(&unit).chain(keyed.columns()).cloned().collect();
            let firsts = Grouping::of(&by, chunk.rows()).firsts();
            let units = crate::algebra::data::sound(arrow_select::take::take(&unit, &firsts, None));
            sink(Chunk::new(Some(units), values.columns().to_vec(), values.rows()))
        }
        Operator::Join { left, right, condition, keep_left } => {
            let (ours, theirs) = (collected(left, source, engine)?, collected(right, source, engine)?);
            join(ours.chunk(), theirs.chunk(), condition.as_ref(), *keep_left, engine, sink)
        }
    }
}

/// The number of long texts that expressions compute per row.
pub fn growing(of: &[Expr]) -> usize {
    of.iter().map(Expr::growing).sum()
}

/// Pushes the rows of a relation, in small pieces if each row yields this many long texts.
fn in_pieces(
    growing: usize,
    rows: &Arc<Rows>,
    source: &Source<'_>,
    engine: &Engine,
    sink: Sink<'_>,
) -> Result<(), Stopped> {
    push(rows, source, engine, &mut |chunk| chunk.pieces(growing).try_for_each(&mut *sink))
}

/// All rows of a relation in this bucket.
fn collected(rows: &Arc<Rows>, source: &Source<'_>, engine: &Engine) -> Result<Held, Stopped> {
    let mut all = Gathered::new(rows, &engine.memory);
    push(rows, source, engine, &mut |chunk| all.add(chunk))?;
    Ok(all.finish())
}

/// Pairs rows of the same unit. Rows without a unit have no partner.
fn join(
    ours: &Chunk,
    theirs: &Chunk,
    condition: Option<&Expr>,
    keep_left: bool,
    engine: &Engine,
    sink: Sink<'_>,
) -> Result<(), Stopped> {
    let (Some(our_units), Some(their_units)) = (ours.unit(), theirs.unit()) else { return Err(Stopped) };
    // Units of both sides are numbered together.
    let both = crate::algebra::data::sound(arrow_select::concat::concat(&[our_units.as_ref(), their_units.as_ref()]));
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
        if engine.interrupt.is_stopped() {
            return Err(Stopped);
        }
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
    let most = at_once(condition.map_or(0, Expr::growing), PAIRS);
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
    let alone: UInt32Array = (0..ours.rows() as u32).filter(|&row| !matched[row as usize]).map(Some).collect();
    if alone.is_empty() { Ok(()) } else { sink(paired(ours, theirs, &alone, &UInt32Array::new_null(alone.len()))) }
}

/// Rows side by side, with the unit of the left.
fn paired(ours: &Chunk, theirs: &Chunk, left: &UInt32Array, right: &UInt32Array) -> Chunk {
    let (ours, theirs) = (ours.taken(left), theirs.taken(right));
    let columns = ours.columns().iter().chain(theirs.columns()).cloned().collect();
    ours.with_columns(columns)
}
