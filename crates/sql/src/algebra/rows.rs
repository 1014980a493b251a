//! Private rows: their operators, and how much one privacy unit can change in the output.
//!
//! # The argument
//! The *unit* is whose privacy is protected: a row, or a value of a column of the table. It is not a column of a
//! relation here but a part of every row that no expression can read, replace or drop; each operator carries it from
//! its input rows to its output rows. A relation is a function of the tables; it is *stable* if one of these holds:
//!
//! - [`Stability::Unit`]: the output rows that carry unit u are a function of only the input rows that carry u (and of
//!   constants and public tables). So whatever changes in the rows of u, the output rows of all other units stay the
//!   same.
//! - [`Stability::Row`]: each output row is a function of only one input row (and of constants and public tables), and
//!   each input row of a table has a bounded number of output rows. So adding or removing a row changes at most that
//!   many output rows.
//!
//! Each operator's documentation proves that it preserves the stability of its inputs; [`Rows::stability`] combines
//! these proofs in one place. The counts and sums are then bounded per unit by `reticent-bounding`, whose sensitivities
//! hold for any rows that each carry their unit.
//!
//! An operator that is not listed here does not exist: sorting, limits, window functions, correlated sub-queries and
//! joins between rows of different units have no private form.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use reticent_table::{Request, UnitType};

use super::Type;
use super::aggregate::Aggregate;
use super::expr::{Expr, TextWork};
use super::lookup::Lookup;

/// A relation of private rows.
///
/// Relations share their inputs: one that is used twice is a single node with two users, computed once.
#[derive(Debug)]
pub struct Rows {
    operator: Operator,
    columns: Vec<Type>,
    unit: Option<UnitType>,
    stability: Stability,
    tables: BTreeSet<usize>,
    fan_out: u64,
    long_texts: u64,
    unit_columns: BTreeSet<usize>,
    rows_per_unit: Option<u64>,
    are_groups: bool,
}

/// The operators on private rows: a closed list.
#[derive(Debug)]
pub enum Operator {
    /// The rows of a private table.
    ///
    /// *Stable*: each output row is one row of the table, and carries the unit found in that row, or is its own unit.
    Scan {
        /// Index into the query's tables.
        table: usize,
        /// The columns to read, and the one that holds the unit.
        request: Request,
    },
    /// The rows for which a condition is true.
    ///
    /// *Stable*: whether a row is kept depends on that row alone.
    Filter {
        /// The rows to filter.
        input: Arc<Rows>,
        /// Over their columns.
        condition: Expr,
    },
    /// New columns, computed from those of the same row.
    ///
    /// *Stable*: one output row for each input row, computed from it alone; it carries the same unit.
    Project {
        /// The rows to compute them from.
        input: Arc<Rows>,
        /// Over their columns.
        columns: Vec<Expr>,
    },
    /// Each row with the rows of a public table that match it.
    ///
    /// *Stable*: the matches of a row depend on the row and the public table alone; the output rows carry its unit. A
    /// row has as many output rows as there are public rows that match it, so the number of copies is multiplied by the
    /// most matches that any row can have.
    Lookup {
        /// The private rows.
        input: Arc<Rows>,
        /// The public table and the join condition.
        lookup: Lookup,
    },
    /// Pairs of rows that carry the same unit and for which a condition is true.
    ///
    /// *Stable* by unit: only rows of the same unit are ever paired, and whether they are depends on the two rows
    /// alone. The operator does not exist where the row is the unit, since no two rows carry the same one. A unit with
    /// more than 2²² pairs to examine contributes no pairs, and one whose rows on one side take more than 256 MiB has
    /// no rows on that side (`engine::gathered`): both are functions of the unit's own rows.
    Join {
        /// The left rows.
        left: Arc<Rows>,
        /// The right rows.
        right: Arc<Rows>,
        /// Over the columns of the left, followed by those of the right.
        condition: Option<Expr>,
        /// Whether left rows without a partner are kept, with NULL in the right columns. That depends only on rows of
        /// the same unit.
        keep_left: bool,
    },
    /// For each unit and each value of the keys, aggregates of the unit's rows.
    ///
    /// *Stable* by unit: rows of different units are never in the same group. The output row carries the group's unit.
    /// The operator does not exist where the row is the unit. A unit whose rows take more than 256 MiB has no output
    /// rows, as in a join.
    Within {
        /// The rows to aggregate.
        input: Arc<Rows>,
        /// The group keys, over the columns.
        keys: Vec<Expr>,
        /// What to compute for each group.
        aggregates: Vec<Aggregate>,
    },
    /// All rows of several relations.
    ///
    /// *Stable*: each output row is one input row. By unit, the output rows of u are the rows of u in all inputs. Where
    /// the row is the unit, the copies of a table that occurs in several inputs add up.
    Union {
        /// Relations with the same columns.
        inputs: Vec<Arc<Rows>>,
    },
}

/// How much one unit can change in a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stability {
    /// Only the output rows that carry that unit.
    Unit,
    /// For each table, the most output rows that one of its rows can have.
    Row(BTreeMap<usize, u64>),
}

impl Stability {
    /// Derives the stability of a relation from that of its inputs: the proofs of the operators, combined.
    fn of(operator: &Operator, unit: Option<UnitType>) -> Self {
        if unit.is_some() {
            // A scan with a unit attaches it, and every operator preserves it.
            return Self::Unit;
        }
        let copies = |input: &Arc<Rows>| match &input.stability {
            Self::Row(copies) => copies.clone(),
            // A relation without units never has an input with units.
            Self::Unit => BTreeMap::new(),
        };
        Self::Row(match operator {
            Operator::Scan { table, .. } => BTreeMap::from([(*table, 1)]),
            Operator::Filter { input, .. } | Operator::Project { input, .. } | Operator::Within { input, .. } => {
                copies(input)
            }
            Operator::Lookup { input, lookup } => {
                let times = |(table, copies): (usize, u64)| (table, copies.saturating_mul(lookup.most_matches()));
                copies(input).into_iter().map(times).collect()
            }
            Operator::Union { inputs } => {
                let mut sum = BTreeMap::new();
                for (table, copies) in inputs.iter().flat_map(copies) {
                    let total: &mut u64 = sum.entry(table).or_default();
                    *total = total.saturating_add(copies);
                }
                sum
            }
            Operator::Join { left, .. } => copies(left),
        })
    }
}

impl Rows {
    fn new(operator: Operator, columns: Vec<Type>, unit: Option<UnitType>) -> Self {
        let stability = Stability::of(&operator, unit);
        let mut tables: BTreeSet<usize> =
            inputs(&operator).into_iter().flat_map(|input| input.tables.clone()).collect();
        if let Operator::Scan { table, .. } = &operator {
            tables.insert(*table);
        }
        let (fan_out, long_texts) = (fan_out(&operator), long_texts(&operator));
        let (unit_columns, rows_per_unit) = (unit_columns(&operator), rows_per_unit(&operator));
        let are_groups = are_groups(&operator);
        Self {
            operator,
            columns,
            unit,
            stability,
            tables,
            fan_out,
            long_texts,
            unit_columns,
            rows_per_unit,
            are_groups,
        }
    }

    /// The rows of a private table.
    pub fn scan(table: usize, request: Request) -> Self {
        let columns = request.columns.iter().map(|(_, kind)| *kind).collect();
        let unit = request.unit.as_ref().map(|unit| unit.form);
        Self::new(Operator::Scan { table, request }, columns, unit)
    }

    /// The rows for which a condition is true; `None` if it is not a condition over these columns.
    pub fn filter(input: &Arc<Self>, condition: Expr) -> Option<Self> {
        let fits = condition.kind() == Type::Boolean && condition.reads(&input.columns);
        let operator = Operator::Filter { input: input.clone(), condition };
        fits.then(|| Self::new(operator, input.columns.clone(), input.unit))
    }

    /// New columns; `None` unless they are computed from the existing ones.
    pub fn project(input: &Arc<Self>, columns: Vec<Expr>) -> Option<Self> {
        let kinds = columns.iter().map(Expr::kind).collect();
        let fits = columns.iter().all(|column| column.reads(&input.columns));
        fits.then(|| Self::new(Operator::Project { input: input.clone(), columns }, kinds, input.unit))
    }

    /// Each row with its matches in a public table; `None` if the columns compared do not fit.
    pub fn lookup(input: &Arc<Self>, lookup: Lookup) -> Option<Self> {
        let columns = input.columns.iter().chain(lookup.table().kinds()).copied().collect();
        let fits = lookup.fits(&input.columns);
        fits.then(|| Self::new(Operator::Lookup { input: input.clone(), lookup }, columns, input.unit))
    }

    /// Pairs of rows of the same unit; `None` unless both sides carry units of the same form and the condition is over
    /// their columns.
    pub fn join(left: &Arc<Self>, right: &Arc<Self>, condition: Option<Expr>, keep_left: bool) -> Option<Self> {
        let unit = left.unit.filter(|_| left.unit == right.unit)?;
        let columns: Vec<Type> = left.columns.iter().chain(&right.columns).copied().collect();
        let is_condition = |one: &Expr| one.kind() == Type::Boolean && one.reads(&columns);
        let fits = condition.as_ref().is_none_or(is_condition);
        let operator = Operator::Join { left: left.clone(), right: right.clone(), condition, keep_left };
        fits.then(|| Self::new(operator, columns, Some(unit)))
    }

    /// Aggregates within units; `None` unless the rows carry units and the aggregates are over their columns.
    pub fn within(input: &Arc<Self>, keys: Vec<Expr>, aggregates: Vec<Aggregate>) -> Option<Self> {
        let unit = Some(input.unit?);
        let expressions = || keys.iter().chain(aggregates.iter().flat_map(Aggregate::expressions));
        // Computed in a projection first, so that all texts are columns of the rows that are held in memory, and count.
        let is_text = |one: &Expr| one.kind() == Type::Text || TextWork::of([one]).texts() > 0;
        if expressions().any(|one| one.as_column().is_none() && is_text(one)) {
            let mut distinct: Vec<Expr> = Vec::new();
            let mut column = |one: &Expr| {
                let place = distinct.iter().position(|other| other == one).unwrap_or(distinct.len());
                if place == distinct.len() {
                    distinct.push(one.clone());
                }
                Expr::column(place, one.kind())
            };
            let keys = keys.iter().map(&mut column).collect();
            let of = |one: &Aggregate| one.clone().of(&mut || column(one.expressions().expect("it has an argument")));
            let aggregates = aggregates.iter().map(of).collect();
            return Self::within(&Arc::new(Self::project(input, distinct)?), keys, aggregates);
        }
        let mut read = keys.iter().chain(aggregates.iter().flat_map(Aggregate::expressions));
        let fits = read.all(|one| one.reads(&input.columns));
        let columns = keys.iter().map(Expr::kind).chain(aggregates.iter().map(Aggregate::kind)).collect();
        fits.then(|| Self::new(Operator::Within { input: input.clone(), keys, aggregates }, columns, unit))
    }

    /// All rows of several relations; `None` if there are none, or their columns or forms of unit differ.
    pub fn union(inputs: Vec<Arc<Self>>) -> Option<Self> {
        let first = inputs.first()?;
        let (columns, unit) = (first.columns.clone(), first.unit);
        let same = inputs.iter().all(|one| one.columns == columns && one.unit == unit);
        same.then(|| Self::new(Operator::Union { inputs }, columns, unit))
    }

    /// Returns the operator.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Returns the column types.
    pub fn columns(&self) -> &[Type] {
        &self.columns
    }

    /// Returns the form in which rows carry their unit; `None` if each row is its own unit.
    pub fn unit(&self) -> Option<UnitType> {
        self.unit
    }

    /// Returns how much one unit can change.
    pub fn stability(&self) -> &Stability {
        &self.stability
    }

    /// Returns the indices of the tables that it reads.
    pub fn tables(&self) -> &BTreeSet<usize> {
        &self.tables
    }

    /// Returns the most rows that one input row can become through lookups in public tables. It bounds the work, not
    /// the sensitivity; limited by [`Limits::copies`](super::Limits).
    pub fn fan_out(&self) -> u64 {
        self.fan_out
    }

    /// Returns the most long texts that one input row can yield; limited by [`Limits::long_texts`](super::Limits).
    pub fn long_texts(&self) -> u64 {
        self.long_texts
    }

    /// Returns how many texts are computed or encoded for one row at a time: as join keys and values in all operators
    /// together, and in the widest row that waits for others of its unit. At most
    /// [`MOST_TEXTS`](super::expr::MOST_TEXTS).
    pub fn texts(&self) -> usize {
        fn add(rows: &Rows, seen: &mut HashSet<*const Rows>, widest: &mut usize) -> usize {
            if !seen.insert(rows) {
                return 0;
            }
            // With its unit.
            let mut waits = |rows: &Rows| {
                *widest = (*widest).max(1 + rows.columns.iter().filter(|kind| **kind == Type::Text).count());
            };
            let own = match &rows.operator {
                Operator::Scan { .. } | Operator::Union { .. } => 0,
                Operator::Filter { condition, .. } => TextWork::of([condition]).texts(),
                Operator::Project { columns, .. } => TextWork::of(columns).texts(),
                Operator::Lookup { lookup, .. } => lookup.texts(),
                Operator::Within { input, .. } => {
                    waits(input);
                    0
                }
                Operator::Join { left, right, condition, .. } => {
                    waits(left);
                    waits(right);
                    TextWork::of(condition).texts()
                }
            };
            rows.inputs().into_iter().fold(own, |sum, input| sum + add(input, seen, widest))
        }
        let mut widest = 0;
        add(self, &mut HashSet::new(), &mut widest) + widest
    }

    /// Returns the most rows that one unit can have, if the query alone implies a bound: 1 after aggregation by unit.
    /// Privacy does not depend on it, since contribution limits are enforced wherever they come from.
    pub fn rows_per_unit(&self) -> Option<u64> {
        self.rows_per_unit
    }

    /// Whether each row is a sub-query's aggregate over rows of one unit. Counting rows then counts units, or a unit's
    /// groups.
    pub fn are_groups(&self) -> bool {
        self.are_groups
    }

    /// Returns how many rows all operators together process for one row of a table, and at least one each: an operator
    /// without rows takes time, too. It bounds the work; limited by [`Limits::work`](super::Limits).
    ///
    /// A relation with several users is computed once where rows carry units, and once for each user otherwise
    /// ([`engine`](crate::engine)): n relations, each used twice by the next, are then 2ⁿ times as much work.
    pub fn work(&self) -> u64 {
        /// The work, and the rows of the relation itself. Pairs within a unit are limited separately.
        fn all(rows: &Rows, known: &mut HashMap<*const Rows, (u64, u64)>) -> (u64, u64) {
            if let Some(&(work, own)) = known.get(&std::ptr::from_ref(rows)) {
                return (if rows.unit.is_some() { 0 } else { work }, own);
            }
            let inputs: Vec<(u64, u64)> = rows.inputs().into_iter().map(|input| all(input, known)).collect();
            let read = inputs.iter().fold(0u64, |sum, (_, rows)| sum.saturating_add(*rows));
            let own = match &rows.operator {
                Operator::Scan { .. } => 1,
                Operator::Lookup { lookup, .. } => read.saturating_mul(lookup.most_matches()),
                Operator::Join { .. } => inputs.iter().map(|(_, rows)| *rows).max().unwrap_or(0),
                _ => read,
            };
            let total = inputs.iter().fold(read.max(own).max(1), |sum, (work, _)| sum.saturating_add(*work));
            known.insert(rows, (total, own));
            (total, own)
        }
        all(self, &mut HashMap::new()).0
    }

    /// Returns the input relations.
    pub fn inputs(&self) -> Vec<&Arc<Self>> {
        inputs(&self.operator)
    }
}

/// Returns the columns that hold the unit itself.
fn unit_columns(operator: &Operator) -> BTreeSet<usize> {
    let of = |columns: &[Expr], input: &Rows| {
        let is_unit = |column: &Expr| column.as_column().is_some_and(|place| input.unit_columns.contains(&place));
        (0..columns.len()).filter(|&place| is_unit(&columns[place])).collect()
    };
    match operator {
        Operator::Scan { request, .. } => {
            let is_unit = |name: &String| request.unit.as_ref().is_some_and(|unit| unit.name == *name);
            (0..request.columns.len()).filter(|&place| is_unit(&request.columns[place].0)).collect()
        }
        Operator::Filter { input, .. } | Operator::Lookup { input, .. } => input.unit_columns.clone(),
        Operator::Project { input, columns } => of(columns, input),
        Operator::Within { input, keys, .. } => of(keys, input),
        // In the right columns it may be NULL.
        Operator::Join { left, .. } => left.unit_columns.clone(),
        Operator::Union { inputs } => {
            let all = inputs.iter().map(|input| input.unit_columns.clone());
            all.reduce(|one, other| &one & &other).unwrap_or_default()
        }
    }
}

/// If either side of a join has rows of a table, the pairs count as such rows.
fn are_groups(operator: &Operator) -> bool {
    match operator {
        Operator::Scan { .. } => false,
        Operator::Within { .. } => true,
        Operator::Filter { input, .. } | Operator::Project { input, .. } | Operator::Lookup { input, .. } => {
            input.are_groups
        }
        Operator::Join { left, right, .. } => left.are_groups && right.are_groups,
        Operator::Union { inputs } => inputs.iter().any(|input| input.are_groups),
    }
}

/// Returns the most rows that one unit can have.
fn rows_per_unit(operator: &Operator) -> Option<u64> {
    match operator {
        Operator::Scan { .. } => None,
        Operator::Filter { input, .. } | Operator::Project { input, .. } => input.rows_per_unit,
        Operator::Lookup { input, lookup } => input.rows_per_unit?.checked_mul(lookup.most_matches().max(1)),
        Operator::Join { left, right, .. } => left.rows_per_unit?.checked_mul(right.rows_per_unit?.max(1)),
        Operator::Within { input, keys, .. } => {
            let by_unit = |key: &Expr| key.as_column().is_some_and(|place| input.unit_columns.contains(&place));
            keys.iter().all(by_unit).then_some(1)
        }
        Operator::Union { inputs } => inputs.iter().try_fold(0u64, |sum, input| sum.checked_add(input.rows_per_unit?)),
    }
}

fn inputs(operator: &Operator) -> Vec<&Arc<Rows>> {
    match operator {
        Operator::Scan { .. } => Vec::new(),
        Operator::Filter { input, .. }
        | Operator::Project { input, .. }
        | Operator::Lookup { input, .. }
        | Operator::Within { input, .. } => vec![input],
        Operator::Join { left, right, .. } => vec![left, right],
        Operator::Union { inputs } => inputs.iter().collect(),
    }
}

/// Pairs within a unit are limited separately; an aggregation has at most as many rows as its input.
fn fan_out(operator: &Operator) -> u64 {
    match operator {
        Operator::Scan { .. } => 1,
        Operator::Filter { input, .. } | Operator::Project { input, .. } | Operator::Within { input, .. } => {
            input.fan_out
        }
        Operator::Lookup { input, lookup } => input.fan_out.saturating_mul(lookup.most_matches()),
        Operator::Join { left, right, .. } => left.fan_out.saturating_mul(right.fan_out),
        Operator::Union { inputs } => inputs.iter().fold(0, |sum, input| sum.saturating_add(input.fan_out)),
    }
}

/// The most that any relation below computes at once, for all rows that one row has become there.
fn long_texts(operator: &Operator) -> u64 {
    let below = inputs(operator).into_iter().map(|input| input.long_texts).max().unwrap_or(0);
    match operator {
        Operator::Project { input, columns } => {
            let growing = columns.iter().map(Expr::growing).sum::<usize>();
            below.max(input.fan_out.saturating_mul(growing as u64))
        }
        _ => below,
    }
}
