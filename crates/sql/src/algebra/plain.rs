//! Relations that are not private: public tables, constants, released values and anything computed from them.
//!
//! Nothing restricts what may be done with them, so the operators are those of ordinary SQL. Expressions are the same
//! as for private rows and cannot fail either; the only possible error is that a table gets too large.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, UInt32Array};
use reticent_bounding::{Memory, Reservation};

use super::aggregate::Aggregate;
use super::data::Data;
use super::expr::{Expr, computed, logical_bytes};
use super::groups::Grouping;
use super::lookup::Lookup;
use super::order::{Direction, sorted};
use super::stop::until;
use super::{Limits, TooLarge, Type};

/// The number of pairs of a join that are examined in one batch.
const PAIRS: usize = 8192;

/// A relation that is not private.
#[derive(Debug, Clone)]
pub enum Plain {
    /// An in-memory table.
    Table(Arc<Data>),
    /// The table passed to [`Plain::compute`]: released values, or rows that the caller protects.
    Given,
    /// The rows for which a condition is true.
    Filter(Arc<Plain>, Expr),
    /// New columns.
    Project(Arc<Plain>, Vec<Expr>),
    /// Each left row with the right rows that match it.
    Join {
        /// The left input.
        left: Arc<Plain>,
        /// The right input.
        right: Arc<Plain>,
        /// Pairs of expressions that must be equal, over the left and the right columns.
        on: Vec<(Expr, Expr)>,
        /// Over the columns of both.
        condition: Option<Expr>,
        /// Whether left rows without a match are kept.
        keep_left: bool,
    },
    /// Moves the first columns (as many as the number says) to the end.
    Reorder(Arc<Plain>, usize),
    /// Aggregates by key: the keys, then the aggregates.
    Aggregate {
        /// The rows to aggregate.
        input: Arc<Plain>,
        /// The group keys.
        keys: Vec<Expr>,
        /// What to compute for each group.
        aggregates: Vec<Aggregate>,
    },
    /// Sorted rows.
    Sort(Arc<Plain>, Vec<(Expr, Direction)>),
    /// `OFFSET` and `LIMIT`.
    Limit(Arc<Plain>, usize, Option<usize>),
    /// Distinct rows.
    Distinct(Arc<Plain>),
    /// All rows of several relations.
    Union(Vec<Arc<Plain>>),
}

/// A computed relation, and which given row each of its rows comes from.
#[derive(Debug, Clone)]
pub struct Computed {
    /// The rows.
    pub data: Data,
    /// For each row, the number of the given row it comes from; `None` if rows no longer correspond to single given
    /// rows.
    pub places: Option<Vec<u32>>,
}

impl Plain {
    /// Computes the relation.
    ///
    /// # Errors
    /// If it has more rows than the limits allow, or all relations that are in memory at the same time take more bytes.
    pub fn compute(&self, given: &Data, limits: &Limits) -> Result<Computed, TooLarge> {
        let mut run = Run { given, limits, known: HashMap::new(), memory: Memory::new(limits.public_left()) };
        until(&limits.interrupt(), || run.compute(self)).map(|held| held.computed)
    }

    /// Whether it reads the given table.
    pub fn reads_given(&self) -> bool {
        fn reads(plain: &Plain, seen: &mut HashSet<*const Plain>) -> bool {
            matches!(plain, Plain::Given)
                || seen.insert(plain) && plain.inputs().into_iter().any(|input| reads(input, seen))
        }
        reads(self, &mut HashSet::new())
    }

    fn inputs(&self) -> Vec<&Arc<Self>> {
        match self {
            Self::Table(_) | Self::Given => Vec::new(),
            Self::Filter(input, _) | Self::Project(input, _) | Self::Reorder(input, _) | Self::Sort(input, _) => {
                vec![input]
            }
            Self::Limit(input, ..) | Self::Distinct(input) | Self::Aggregate { input, .. } => vec![input],
            Self::Join { left, right, .. } => vec![left, right],
            Self::Union(inputs) => inputs.iter().collect(),
        }
    }
}

/// The state of a computation.
struct Run<'a> {
    given: &'a Data,
    limits: &'a Limits,
    /// Relations with several users, each computed once.
    known: HashMap<*const Plain, Held>,
    /// What all relations that are in memory at the same time may take: a join whose right side is a join, and so on,
    /// has as many left sides waiting as there are levels.
    memory: Memory,
}

/// A relation in memory.
#[derive(Clone)]
struct Held {
    computed: Computed,
    bytes: Arc<Reservation>,
}

impl Run<'_> {
    fn of(&mut self, plain: &Arc<Plain>) -> Result<Held, TooLarge> {
        if Arc::strong_count(plain) == 1 {
            return self.compute(plain);
        }
        if let Some(known) = self.known.get(&Arc::as_ptr(plain)) {
            return Ok(known.clone());
        }
        let held = self.compute(plain)?;
        self.known.insert(Arc::as_ptr(plain), held.clone());
        Ok(held)
    }

    fn compute(&mut self, plain: &Plain) -> Result<Held, TooLarge> {
        let computed = self.computed(plain)?;
        self.limits.check_public(&computed.data)?;
        let mut bytes = self.memory.reserve();
        // These are in memory anyway.
        if !matches!(plain, Plain::Table(_) | Plain::Given) {
            bytes.try_grow(computed.data.bytes()).map_err(|_| self.limits.too_many_bytes())?;
        }
        Ok(Held { computed, bytes: Arc::new(bytes) })
    }

    /// Memory for an encoded copy of these columns, by which rows are compared.
    fn room_to_encode(&self, columns: &[ArrayRef]) -> Result<Reservation, TooLarge> {
        let mut room = self.memory.reserve();
        room.try_grow(columns.iter().map(logical_bytes).sum()).map_err(|_| self.limits.too_many_bytes())?;
        Ok(room)
    }

    fn computed(&mut self, plain: &Plain) -> Result<Computed, TooLarge> {
        let alone = |data: Data| Computed { data, places: None };
        let given = self.given;
        Ok(match plain {
            Plain::Table(data) => alone((**data).clone()),
            Plain::Given => Computed { data: given.clone(), places: Some((0..given.rows() as u32).collect()) },
            Plain::Filter(input, condition) => {
                let Held { computed: Computed { data, places }, bytes: _held } = self.of(input)?;
                let holds = condition_of(&data, condition, self.limits)?;
                let places = places.map(|places| {
                    (0..).zip(places).filter(|&(row, _)| holds.value(row)).map(|(_, place)| place).collect()
                });
                Computed { data: data.filtered(&holds), places }
            }
            Plain::Project(input, columns) => {
                let Held { computed: Computed { data, places }, bytes: _held } = self.of(input)?;
                Computed { data: projected(&data, columns, self.limits)?, places }
            }
            Plain::Join { left, right, on, condition, keep_left } => {
                let (left, right) = (self.of(left)?, self.of(right)?);
                let (ours, theirs) = (&left.computed.data, right.computed.data.clone());
                alone(joined(ours, theirs, on, condition.as_ref(), *keep_left, self.limits)?)
            }
            Plain::Reorder(input, width) => {
                let data = self.of(input)?.computed.data;
                alone(data.rotated(*width))
            }
            Plain::Aggregate { input, keys, aggregates } => {
                let Held { computed: Computed { data, .. }, bytes: _held } = self.of(input)?;
                // Computed first, so that long texts count towards the limits before grouping.
                let of: Vec<Expr> =
                    keys.iter().chain(aggregates.iter().flat_map(Aggregate::expressions)).cloned().collect();
                let data = projected(&data, &of, self.limits)?;
                let mut columns = of.iter().enumerate().map(|(place, one)| Expr::column(place, one.kind()));
                let keys: Vec<Expr> = columns.by_ref().take(keys.len()).collect();
                let mut next = || columns.next().expect("one for each");
                let aggregates: Vec<Aggregate> = aggregates.iter().map(|one| one.clone().of(&mut next)).collect();
                let keys = keyed(&data, &keys);
                let _room = self.room_to_encode(data.columns())?;
                let grouping = Grouping::of(keys.columns(), data.rows());
                let all = aggregated(&data, &keys, &grouping, &aggregates, || self.limits.has_time());
                alone(all.ok_or_else(|| self.limits.out_of_time())?)
            }
            Plain::Sort(input, by) => {
                let Held { computed: Computed { data, places }, bytes: _held } = self.of(input)?;
                let keys = values(&data, &by.iter().map(|(of, _)| of).collect::<Vec<_>>(), self.limits)?;
                let _room = self.room_to_encode(&keys)?;
                let by: Vec<_> = keys.into_iter().zip(by.iter().map(|(_, direction)| *direction)).collect();
                let order = sorted(&by, data.rows());
                pick(&data, places, order)
            }
            Plain::Limit(input, skip, most) => {
                let Held { computed: Computed { data, places }, bytes: _held } = self.of(input)?;
                let end = most.map_or(data.rows(), |most| skip.saturating_add(most).min(data.rows()));
                pick(&data, places, ((*skip).min(end) as u32..end as u32).collect())
            }
            Plain::Distinct(input) => {
                let Held { computed: Computed { data, .. }, bytes: _held } = self.of(input)?;
                let _room = self.room_to_encode(data.columns())?;
                let firsts = Grouping::of(data.columns(), data.rows()).firsts();
                alone(if data.columns().is_empty() { data } else { data.taken(&firsts) })
            }
            Plain::Union(inputs) => {
                let (mut all, mut held, mut size) = (Vec::new(), Vec::new(), Size::default());
                for input in inputs {
                    let Held { computed: Computed { data, .. }, bytes } = self.of(input)?;
                    size.add(&data, self.limits)?;
                    all.push(data);
                    held.push(bytes);
                }
                alone(Data::all(&all).unwrap_or_else(Data::unit_row))
            }
        })
    }
}

fn pick(data: &Data, places: Option<Vec<u32>>, rows: Vec<u32>) -> Computed {
    let places = places.map(|places| rows.iter().map(|&row| places[row as usize]).collect());
    Computed { data: data.taken(&UInt32Array::from(rows)), places }
}

/// Computes expressions for all rows.
fn values(data: &Data, of: &[&Expr], limits: &Limits) -> Result<Vec<ArrayRef>, TooLarge> {
    let values = computed(of, data.columns(), data.rows(), limits.public_left(), || limits.has_time());
    // Out of time, if not out of memory.
    limits.check_size(0, 0)?;
    values.ok_or_else(|| limits.too_many_bytes())
}

fn condition_of(data: &Data, condition: &Expr, limits: &Limits) -> Result<BooleanArray, TooLarge> {
    let values = values(data, &[condition], limits)?;
    Ok(Expr::column(0, Type::Boolean).holds(&values, data.rows()))
}

/// Computes new columns of the same rows.
fn projected(data: &Data, columns: &[Expr], limits: &Limits) -> Result<Data, TooLarge> {
    let values = values(data, &columns.iter().collect::<Vec<_>>(), limits)?;
    let kinds = columns.iter().map(Expr::kind).collect();
    Ok(Data::new(kinds, values, data.rows()).expect("an expression has its type"))
}

/// Computes the keys of each row.
pub fn keyed(data: &Data, keys: &[Expr]) -> Data {
    let rows = data.rows();
    let values = keys.iter().map(|one| one.evaluate(data.columns(), rows).into_array(one.kind(), rows)).collect();
    Data::new(keys.iter().map(Expr::kind).collect(), values, rows).expect("an expression has its type")
}

/// Keys and aggregates of each group; `None` if `goes_on` says no between two aggregates.
pub fn aggregated(
    data: &Data,
    keyed: &Data,
    grouping: &Grouping,
    aggregates: &[Aggregate],
    goes_on: impl Fn() -> bool,
) -> Option<Data> {
    // −0 and 0 are the same key: which of them is shown must not depend on which came first.
    let keys = keyed.in_one_form().taken(&grouping.firsts());
    let value = |one: &Aggregate| goes_on().then(|| one.evaluate(data.columns(), grouping));
    let values = aggregates.iter().map(value).collect::<Option<_>>()?;
    let kinds = aggregates.iter().map(Aggregate::kind).collect();
    let values = Data::new(kinds, values, grouping.len()).expect("an aggregate has its type");
    Some(if keys.columns().is_empty() { values } else { keys.beside(&values) })
}

fn joined(
    left: &Data,
    right: Data,
    on: &[(Expr, Expr)],
    condition: Option<&Expr>,
    keep_left: bool,
    limits: &Limits,
) -> Result<Data, TooLarge> {
    let right = Arc::new(right);
    let lookup = Lookup::new(right.clone(), on.to_vec(), condition.cloned(), keep_left, limits)?;
    let lookup = lookup.expect("its types were checked");
    let (mut all, mut size, mut looks) = (Vec::new(), Size::default(), 0usize);
    for left in left.pieces(lookup.text_work()) {
        looks = looks.saturating_add(lookup.looks(left.columns(), left.rows()));
        if looks > limits.public_pairs {
            return Err(TooLarge::new("a join of public tables compares too many pairs of rows", limits.public_pairs));
        }
        lookup.pairs(left.columns(), left.rows(), PAIRS, 0, |ours, theirs| {
            let both = left.taken(ours).beside(&right.taken(theirs));
            size.add(&both, limits)?;
            all.push(both);
            Ok(())
        })?;
    }
    Ok(Data::all(&all).expect("at least once, with nothing"))
}

/// The total size of several parts.
#[derive(Default)]
struct Size {
    rows: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, data: &Data, limits: &Limits) -> Result<(), TooLarge> {
        self.rows += data.rows();
        self.bytes += data.bytes();
        limits.check_size(self.rows, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringViewArray;

    use super::*;
    use crate::algebra::Value;

    /// The right side of each join is a join, so that all left sides wait for it: gigabytes, each within the limit.
    #[test]
    fn relations_that_wait_count_together() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["x".repeat(1000); 1000]));
        let table = Data::new(vec![Type::Text], vec![texts], 1000).unwrap();
        let copy = || {
            let table = Arc::new(Plain::Table(Arc::new(table.clone())));
            Arc::new(Plain::Filter(table, Expr::constant(Value::Boolean(true))))
        };
        let never = || Some(Expr::constant(Value::Boolean(false)));
        let nested = |levels: usize| {
            (0..levels).fold(copy(), |right, _| {
                let on = vec![(Expr::column(0, Type::Text), Expr::column(0, Type::Text))];
                let right = Arc::new(Plain::Project(right, vec![Expr::column(0, Type::Text)]));
                Arc::new(Plain::Join { left: copy(), right, on, condition: never(), keep_left: false })
            })
        };
        let limits = Limits { public_bytes: 5 << 20, ..Limits::default() };
        assert_eq!(nested(2).compute(&Data::unit_row(), &limits).unwrap().data.rows(), 0);
        let why = nested(8).compute(&Data::unit_row(), &limits).unwrap_err().to_string();
        assert!(why.contains("the bytes of public tables do not fit in memory"), "{why}");
    }
}
