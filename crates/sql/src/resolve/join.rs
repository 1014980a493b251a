//! Joins: of private rows on their unit, with public tables, and between relations that are not private.

use std::sync::Arc;

use sqlparser::ast::{self, JoinConstraint, JoinOperator};

use super::Resolver;
use super::coerce::{as_condition, same};
use super::expression::{Names, all_of, conjuncts};
use super::functions::call;
use super::query::refused;
use super::scope::{Body, Named, Relation, Written, column};
use reticent::message;

use crate::algebra::function::Comparison;
use crate::algebra::{Expr, Function, Lookup, Node, Plain, Rows};
use crate::error::{Error, Result};

/// The bytes that finding a row of a public table takes beside the table: its encoded key and its place, in a hash table
/// that is half empty, three allocations in all.
const BYTES_PER_LOOKUP: usize = 128;

/// Which unmatched rows are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    None,
    Left,
    Right,
}

/// The join condition: pairs of expressions that must be equal, one per side, and a remainder over both sides.
struct On {
    equal: Vec<(Expr, Expr)>,
    others: Vec<Expr>,
}

impl Resolver<'_> {
    /// `left, right` and `left CROSS JOIN right`.
    pub(super) fn cross(&mut self, left: Relation, right: Relation) -> Result<Relation> {
        self.joined(left, right, On { equal: Vec::new(), others: Vec::new() }, Kept::None, Vec::new())
    }

    /// Resolves a join.
    pub(super) fn join(&mut self, left: Relation, right: Relation, operator: &JoinOperator) -> Result<Relation> {
        self.count_node()?;
        let (kept, constraint) = match operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (Kept::None, constraint),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (Kept::Left, constraint),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (Kept::Right, constraint),
            JoinOperator::CrossJoin(JoinConstraint::None) => return self.cross(left, right),
            JoinOperator::FullOuter(_) => {
                let why = "rows without a unit would appear; use JOIN, or LEFT JOIN with the private table on the left";
                return Err(Error::unsupported("a FULL JOIN", why));
            }
            _ => return Err(refused("this kind of JOIN")),
        };
        let width = left.columns.len();
        match constraint {
            JoinConstraint::On(condition) => {
                let both: Vec<Named> = left.columns.iter().chain(&right.columns).cloned().collect();
                let on = self.on(condition, &both, width)?;
                self.joined(left, right, on, kept, Vec::new())
            }
            JoinConstraint::Using(names) => {
                let (mut equal, mut pairs) = (Vec::new(), Vec::new());
                for name in names {
                    let Some(ident) = name.0.last().and_then(ast::ObjectNamePart::as_ident) else {
                        return Err(Error::Name(format!("{name} is not the name of a column")));
                    };
                    let written = Written { name: &ident.value, quoted: ident.quote_style.is_some() };
                    let (ours, theirs) =
                        (column(&left.columns, &[], None, written)?, column(&right.columns, &[], None, written)?);
                    let both = vec![
                        Expr::column(ours, left.columns[ours].kind),
                        Expr::column(theirs, right.columns[theirs].kind),
                    ];
                    let mut both = same(both, &format!("USING ({name})"))?;
                    let other = both.pop().expect("two");
                    equal.push((both.pop().expect("two"), other));
                    pairs.push((ours, theirs));
                }
                self.joined(left, right, On { equal, others: Vec::new() }, kept, pairs)
            }
            JoinConstraint::Natural => Err(refused("NATURAL JOIN")),
            JoinConstraint::None => Err(Error::Syntax("a JOIN needs ON or USING".into())),
        }
    }

    /// Splits a condition into comparisons of one side with the other, and the rest.
    fn on(&mut self, condition: &ast::Expr, both: &[Named], width: usize) -> Result<On> {
        let mut on = On { equal: Vec::new(), others: Vec::new() };
        for part in conjuncts(condition) {
            let part = as_condition(self.expression(part, Names::Rows(both))?, &super::words(part))?;
            let sides = |of: &Expr| {
                let mut places = std::collections::BTreeSet::new();
                of.columns(&mut places);
                let (first, last) = (places.first().copied(), places.last().copied());
                match (first, last) {
                    (Some(_), Some(last)) if last < width => Kept::Left,
                    (Some(first), _) if first >= width => Kept::Right,
                    _ => Kept::None,
                }
            };
            let equal = match part.node() {
                Node::Call(Function::Compare(Comparison::Equal), arguments) => match &arguments[..] {
                    [a, b] => match (sides(a), sides(b)) {
                        (Kept::Left, Kept::Right) => Some((a.clone(), b.clone())),
                        (Kept::Right, Kept::Left) => Some((b.clone(), a.clone())),
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            };
            match equal {
                Some((ours, theirs)) => on.equal.push((ours, theirs.moved(&|place| place - width))),
                None => on.others.push(part),
            }
        }
        Ok(on)
    }

    fn joined(
        &mut self,
        left: Relation,
        right: Relation,
        on: On,
        kept: Kept,
        merged: Vec<(usize, usize)>,
    ) -> Result<Relation> {
        self.count_operator()?;
        let width = left.columns.len();
        let mut columns: Vec<Named> = left.columns.iter().chain(&right.columns).cloned().collect();
        self.count_columns(columns.len(), "a join has too many columns")?;
        // A column that may be NULL is no longer the unit; of a pair merged by USING, the preserved side's is found.
        for (place, column) in columns.iter_mut().enumerate() {
            column.is_unit &= !(kept == Kept::Left && place >= width || kept == Kept::Right && place < width);
        }
        for (ours, theirs) in merged {
            let hidden = if kept == Kept::Right { ours } else { width + theirs };
            columns[hidden].hidden = true;
        }
        let body = match (left.body, right.body) {
            (Body::Private(ours), Body::Private(theirs)) => {
                Body::Private(self.on_the_unit((&ours, &left.columns), (&theirs, &right.columns), on, kept)?)
            }
            (Body::Private(rows), Body::Public(table)) => {
                if kept == Kept::Right {
                    return Err(outer());
                }
                Body::Private(self.looked_up(&rows, &table, on, kept == Kept::Left, &right.columns)?)
            }
            (Body::Public(table), Body::Private(rows)) => {
                if kept == Kept::Left {
                    return Err(outer());
                }
                let (ours, theirs) = (width, right.columns.len());
                let on = swapped(on, ours, theirs);
                let found = self.looked_up(&rows, &table, on, kept == Kept::Right, &left.columns)?;
                Body::Private(reordered(&found, theirs, ours))
            }
            (Body::Private(_), Body::Released(_)) | (Body::Released(_), Body::Private(_)) => {
                let why = "released values are only known once the query is answered; use two queries";
                return Err(Error::unsupported("joining private rows with released values", why));
            }
            (ours, theirs) => {
                let released = matches!(ours, Body::Released(_)) || matches!(theirs, Body::Released(_));
                let plain = among_plain(ours.plain(), theirs.plain(), on, kept, width, right.columns.len())?;
                columns.iter_mut().for_each(|column| column.origin = super::Origin::Derived);
                if released { Body::Released(plain) } else { Body::Public(plain) }
            }
        };
        Ok(Relation { body, columns })
    }

    /// Pairs of rows of the same unit. The operator always joins on the unit; the condition must say so too, so that
    /// the query means what it says.
    fn on_the_unit(
        &mut self,
        (ours, our_names): (&Arc<Rows>, &[Named]),
        (theirs, their_names): (&Arc<Rows>, &[Named]),
        on: On,
        kept: Kept,
    ) -> Result<Arc<Rows>> {
        if ours.unit().is_none() || theirs.unit().is_none() {
            let why = message!("it needs the unit on both sides: name its column with ", ["unit"], ", and join on it");
            return Err(Error::not_private("joining two private tables", why));
        }
        let is_unit = |of: &Expr, names: &[Named]| of.as_column().is_some_and(|place| names[place].is_unit);
        let says = |(one, other): &(Expr, Expr)| is_unit(one, our_names) && is_unit(other, their_names);
        if !on.equal.iter().any(says) {
            let unit = |names: &[Named]| names.iter().find(|name| name.is_unit).map(Named::full_name);
            let why = match (unit(our_names), unit(their_names)) {
                (Some(ours), Some(theirs)) => format!("add {ours} = {theirs} to its ON"),
                _ => "select the unit's column in both sub-queries, and join on it".into(),
            };
            return Err(Error::not_private("joining two private tables other than on the unit", why));
        }
        let width = our_names.len();
        let equal = on.equal.iter().filter(|pair| !says(pair)).map(|(one, other)| {
            let both = vec![one.clone(), other.moved(&|place| place + width)];
            call(Function::Compare(Comparison::Equal), both, "ON")
        });
        let condition = all_of(equal.chain(on.others.into_iter().map(Ok)).collect::<Result<_>>()?)?;
        let joined = match kept {
            Kept::None | Kept::Left => Rows::join(ours, theirs, condition, kept == Kept::Left),
            Kept::Right => {
                let their_width = their_names.len();
                let condition = condition.map(|one| one.moved(&swap(width, their_width)));
                let joined = Rows::join(theirs, ours, condition, true);
                return joined.map(|joined| reordered(&Arc::new(joined), their_width, width)).ok_or_else(|| {
                    Error::unsupported("this join", "the units of the two tables have different types")
                });
            }
        };
        joined
            .map(Arc::new)
            .ok_or_else(|| Error::unsupported("this join", "the units of the two tables have different types"))
    }

    /// Each row with the rows of a public table that match it.
    fn looked_up(
        &mut self,
        rows: &Arc<Rows>,
        table: &Arc<Plain>,
        on: On,
        keep: bool,
        names: &[Named],
    ) -> Result<Arc<Rows>> {
        let data = Arc::new(self.compute(table)?);
        let words: Vec<&str> = on
            .equal
            .iter()
            .filter_map(|(_, other)| other.as_column())
            .map(|place| names[place].name.as_str())
            .collect();
        let words = words.join(", ");
        self.looked_up += data.rows();
        if self.looked_up > self.limits.public_rows {
            let what = "the public tables that private rows are joined with have too many rows";
            return Err(crate::algebra::TooLarge::new(what, self.limits.public_rows).into());
        }
        // A table as it was read is held already.
        let copied = if matches!(**table, Plain::Table(_)) { 0 } else { data.bytes() };
        self.hold(copied.saturating_add(data.rows().saturating_mul(BYTES_PER_LOOKUP)))?;
        let lookup = Lookup::new(data, on.equal, all_of(on.others)?, keep, &self.limits)?
            .ok_or_else(|| Error::Name("a JOIN compares values of different types".into()))?;
        self.hold(lookup.key_bytes())?;
        if rows.unit().is_none() && lookup.most_matches() > 1 {
            if !lookup.compares() {
                return Err(Error::unsupported(
                    "a join without a condition",
                    "each row could match many public rows; join ON a column that is unique in the public table",
                ));
            }
            return Err(Error::unsupported(
                format!("a join with a public table in which {words} is not unique"),
                message!(
                    "one private row would count several times; make it unique, or name the unit's column with ",
                    ["unit"]
                ),
            ));
        }
        let found = Rows::lookup(rows, lookup)
            .ok_or_else(|| Error::Name("a JOIN compares values of different types".into()))?;
        if found.fan_out() > self.limits.copies as u64 {
            let what = format!("its joins with public tables could turn 1 row into {}", found.fan_out());
            return Err(crate::algebra::TooLarge::new(what, self.limits.copies).into());
        }
        Ok(Arc::new(found))
    }
}

fn among_plain(
    left: Arc<Plain>,
    right: Arc<Plain>,
    on: On,
    kept: Kept,
    width: usize,
    their_width: usize,
) -> Result<Arc<Plain>> {
    if kept != Kept::Right {
        let condition = all_of(on.others)?;
        let keep_left = kept == Kept::Left;
        return Ok(Arc::new(Plain::Join { left, right, on: on.equal, condition, keep_left }));
    }
    let On { equal, others } = swapped(on, width, their_width);
    let condition = all_of(others)?;
    let joined = Arc::new(Plain::Join { left: right, right: left, on: equal, condition, keep_left: true });
    Ok(Arc::new(Plain::Reorder(joined, their_width)))
}

/// The same condition with the sides swapped.
fn swapped(on: On, width: usize, their_width: usize) -> On {
    let equal = on.equal.into_iter().map(|(one, other)| (other, one)).collect();
    let others = on.others.iter().map(|one| one.moved(&swap(width, their_width))).collect();
    On { equal, others }
}

/// A column's position after swapping sides with `width` and `their_width` columns.
fn swap(width: usize, their_width: usize) -> impl Fn(usize) -> usize {
    move |place| if place < width { place + their_width } else { place - width }
}

/// The columns after the first `width`, `others` of them, then the first.
fn reordered(rows: &Arc<Rows>, width: usize, others: usize) -> Arc<Rows> {
    let kinds = rows.columns();
    let places = (width..width + others).chain(0..width);
    let columns = places.map(|place| Expr::column(place, kinds[place])).collect();
    Arc::new(Rows::project(rows, columns).expect("its own columns"))
}

fn outer() -> Error {
    let why = "rows without a unit would appear; use JOIN, or LEFT JOIN with the private table on the left";
    Error::unsupported("an outer JOIN that keeps public rows", why)
}
