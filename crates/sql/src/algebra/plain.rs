//! Relations that are nobody's secret: public tables, constants, released values and what is computed from them.
//!
//! Anything may be done with them, so the operators are those of ordinary SQL. Expressions are those of private rows, and cannot
//! fail either; what can go wrong is that a table gets too large.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, UInt32Array};

use super::aggregate::Aggregate;
use super::data::Data;
use super::expr::{Expr, computed};
use super::groups::Grouping;
use super::lookup::Lookup;
use super::order::{Direction, sorted};
use super::{Limits, TooLarge, Type};

/// A relation that is nobody's secret.
#[derive(Debug, Clone)]
pub enum Plain {
    /// A table in memory.
    Table(Arc<Data>),
    /// The table that is given when it is computed: released values, or rows that somebody else protects.
    Given,
    /// The rows for which a condition is true.
    Filter(Arc<Plain>, Expr),
    /// Other columns.
    Project(Arc<Plain>, Vec<Expr>),
    /// Each row of the first with the rows of the second that match it.
    Join {
        /// The first.
        left: Arc<Plain>,
        /// The second.
        right: Arc<Plain>,
        /// Equal, over the columns of either.
        on: Vec<(Expr, Expr)>,
        /// Over the columns of both.
        condition: Option<Expr>,
        /// Do rows of the first without a match stay?
        keep_left: bool,
    },
    /// The columns after the first so many, then these.
    Reorder(Arc<Plain>, usize),
    /// Aggregates of rows with equal keys: the keys, then the aggregates.
    Aggregate {
        /// Of these rows.
        input: Arc<Plain>,
        /// What they are grouped by.
        keys: Vec<Expr>,
        /// What is computed of each group.
        aggregates: Vec<Aggregate>,
    },
    /// The rows in another order.
    Sort(Arc<Plain>, Vec<(Expr, Direction)>),
    /// Some rows: after skipping so many, at most so many.
    Limit(Arc<Plain>, usize, Option<usize>),
    /// Each row once.
    Distinct(Arc<Plain>),
    /// The rows of all.
    Union(Vec<Arc<Plain>>),
}

/// A computed relation, and which of the given rows each of its rows is.
#[derive(Debug, Clone)]
pub struct Computed {
    /// Its rows.
    pub data: Data,
    /// For each row, the given row that it was; `None` if rows are no longer single given rows.
    pub places: Option<Vec<u32>>,
}

impl Plain {
    /// Computes it.
    ///
    /// # Errors
    /// If it has more rows or takes more memory than the limits allow.
    pub fn compute(&self, given: &Data, limits: &Limits) -> Result<Computed, TooLarge> {
        Run { given, limits, known: HashMap::new() }.compute(self)
    }

    /// Does it read the table that is given when it is computed?
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

/// Relations on their way to be computed.
struct Run<'a> {
    given: &'a Data,
    limits: &'a Limits,
    /// Those that have several users: each is computed once.
    known: HashMap<*const Plain, Computed>,
}

impl Run<'_> {
    fn of(&mut self, plain: &Arc<Plain>) -> Result<Computed, TooLarge> {
        if Arc::strong_count(plain) == 1 {
            return self.compute(plain);
        }
        if let Some(known) = self.known.get(&Arc::as_ptr(plain)) {
            return Ok(known.clone());
        }
        let computed = self.compute(plain)?;
        self.known.insert(Arc::as_ptr(plain), computed.clone());
        Ok(computed)
    }

    fn compute(&mut self, plain: &Plain) -> Result<Computed, TooLarge> {
        let computed = self.computed(plain)?;
        self.limits.check_public(&computed.data)?;
        Ok(computed)
    }

    fn computed(&mut self, plain: &Plain) -> Result<Computed, TooLarge> {
        let alone = |data: Data| Computed { data, places: None };
        let given = self.given;
        Ok(match plain {
            Plain::Table(data) => alone((**data).clone()),
            Plain::Given => Computed { data: given.clone(), places: Some((0..given.rows() as u32).collect()) },
            Plain::Filter(input, condition) => {
                let Computed { data, places } = self.of(input)?;
                let holds = condition_of(&data, condition, self.limits)?;
                let places = places.map(|places| {
                    (0..).zip(places).filter(|&(row, _)| holds.value(row)).map(|(_, place)| place).collect()
                });
                Computed { data: data.filtered(&holds), places }
            }
            Plain::Project(input, columns) => {
                let Computed { data, places } = self.of(input)?;
                Computed { data: projected(&data, columns, self.limits)?, places }
            }
            Plain::Join { left, right, on, condition, keep_left } => {
                let (left, right) = (self.of(left)?.data, self.of(right)?.data);
                alone(joined(&left, right, on, condition.as_ref(), *keep_left, self.limits)?)
            }
            Plain::Reorder(input, width) => {
                let data = self.of(input)?.data;
                alone(data.rotated(*width))
            }
            Plain::Aggregate { input, keys, aggregates } => {
                let data = self.of(input)?.data;
                // Long texts are counted before they are grouped.
                let of: Vec<Expr> =
                    keys.iter().chain(aggregates.iter().flat_map(Aggregate::expressions)).cloned().collect();
                let data = projected(&data, &of, self.limits)?;
                let mut columns = of.iter().enumerate().map(|(place, one)| Expr::column(place, one.kind()));
                let keys: Vec<Expr> = columns.by_ref().take(keys.len()).collect();
                let mut next = || columns.next().expect("one for each");
                let aggregates: Vec<Aggregate> = aggregates.iter().map(|one| one.clone().of(&mut next)).collect();
                alone(aggregated(&data, &[], &keys, &aggregates))
            }
            Plain::Sort(input, by) => {
                let Computed { data, places } = self.of(input)?;
                let keys = values(&data, &by.iter().map(|(of, _)| of).collect::<Vec<_>>(), self.limits)?;
                let by: Vec<_> = keys.into_iter().zip(by.iter().map(|(_, direction)| *direction)).collect();
                let order = sorted(&by, data.rows());
                pick(&data, places, order)
            }
            Plain::Limit(input, skip, most) => {
                let Computed { data, places } = self.of(input)?;
                let end = most.map_or(data.rows(), |most| skip.saturating_add(most).min(data.rows()));
                pick(&data, places, ((*skip).min(end) as u32..end as u32).collect())
            }
            Plain::Distinct(input) => {
                let Computed { data, .. } = self.of(input)?;
                let firsts = Grouping::of(data.columns(), data.rows()).firsts();
                alone(if data.columns().is_empty() { data } else { data.taken(&firsts) })
            }
            Plain::Union(inputs) => {
                let (mut all, mut size) = (Vec::new(), Size::default());
                for input in inputs {
                    let data = self.of(input)?.data;
                    size.add(&data, self.limits)?;
                    all.push(data);
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

/// Values of expressions for all rows.
fn values(data: &Data, of: &[&Expr], limits: &Limits) -> Result<Vec<ArrayRef>, TooLarge> {
    computed(of, data.columns(), data.rows(), limits.public_bytes).ok_or_else(|| limits.too_many_bytes())
}

fn condition_of(data: &Data, condition: &Expr, limits: &Limits) -> Result<BooleanArray, TooLarge> {
    let values = values(data, &[condition], limits)?;
    Ok(Expr::column(0, Type::Boolean).holds(&values, data.rows()))
}

/// Other columns of the same rows.
fn projected(data: &Data, columns: &[Expr], limits: &Limits) -> Result<Data, TooLarge> {
    let values = values(data, &columns.iter().collect::<Vec<_>>(), limits)?;
    let kinds = columns.iter().map(Expr::kind).collect();
    Ok(Data::new(kinds, values, data.rows()).expect("an expression has its type"))
}

/// The keys of each row.
pub fn keyed(data: &Data, keys: &[Expr]) -> Data {
    let rows = data.rows();
    let values = keys.iter().map(|one| one.evaluate(data.columns(), rows).into_array(one.kind(), rows)).collect();
    Data::new(keys.iter().map(Expr::kind).collect(), values, rows).expect("an expression has its type")
}

/// Keys and aggregates of each group; groups are told apart by `hidden` columns as well, which are not in the result.
pub fn aggregated(data: &Data, hidden: &[ArrayRef], keys: &[Expr], aggregates: &[Aggregate]) -> Data {
    let keyed = keyed(data, keys);
    let by: Vec<ArrayRef> = hidden.iter().chain(keyed.columns()).cloned().collect();
    let grouping = Grouping::of(&by, data.rows());
    // −0 and 0 are one key: which of them is shown must not depend on which came first.
    let keys = keyed.in_one_form().taken(&grouping.firsts());
    let values = aggregates.iter().map(|one| one.evaluate(data.columns(), &grouping)).collect();
    let kinds = aggregates.iter().map(Aggregate::kind).collect();
    let values = Data::new(kinds, values, grouping.len()).expect("an aggregate has its type");
    if keys.columns().is_empty() { values } else { keys.beside(&values) }
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
    let lookup =
        Lookup::new(right.clone(), on.to_vec(), condition.cloned(), keep_left).expect("its types were checked");
    let (mut all, mut size, mut looks) = (Vec::new(), Size::default(), 0usize);
    for left in left.pieces(lookup.growing()) {
        looks = looks.saturating_add(lookup.looks(left.columns(), left.rows()));
        if looks > limits.public_pairs {
            return Err(TooLarge::new("a join of public tables compares more pairs of rows", limits.public_pairs));
        }
        lookup.pairs(left.columns(), left.rows(), |ours, theirs| {
            let both = left.taken(ours).beside(&right.taken(theirs));
            size.add(&both, limits)?;
            all.push(both);
            Ok(())
        })?;
    }
    Ok(Data::all(&all).expect("at least once, with nothing"))
}

/// How large parts are together.
#[derive(Default)]
struct Size {
    rows: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, data: &Data, limits: &Limits) -> Result<(), TooLarge> {
        self.rows += data.rows();
        // What texts refer to is shared between parts; a cell has sixteen bytes of its own.
        self.bytes += data.rows() * data.columns().len() * 16;
        limits.check_size(self.rows, self.bytes)
    }
}
