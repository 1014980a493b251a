//! Error bars of values that are computed from released ones, row by row.
//!
//! # Accuracy
//! A value that depends on n released numbers of its group gets the interval of all values that it can have if each of
//! them lies within its own bar, at a level at which all n hold at once with probability 95 % (each misses with
//! probability at most 5 %/n). The exact value lies in that interval whenever all n bars hold. The bar reaches to the
//! farther end. Where a divisor may be 0, the bar is unbounded.
//!
//! Values of relations that do not have one row for each group (aggregates of released values, joins, DISTINCT) and
//! functions that [`followed`] does not know have no bar.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::interval::{Interval, followed, interval};
use super::values::{Bar, Released, Value};
use crate::algebra::column::cell;
use crate::algebra::{Expr, Limits, Plain, TooLarge, Value as Item};

/// The aggregates that each column depends on; `None` if it has no bar. Columns share their sets: many columns may depend
/// on many aggregates.
pub fn dependencies(above: &Plain, keys: usize, asked: usize) -> Vec<Option<Arc<BTreeSet<usize>>>> {
    let none = Arc::new(BTreeSet::new());
    let of_key = (0..keys).map(|_| Some(none.clone()));
    let given: Vec<_> = of_key.chain((0..asked).map(|place| Some(Arc::new(BTreeSet::from([place]))))).collect();
    let of = |expression: &Expr, columns: &[Option<Arc<BTreeSet<usize>>>]| {
        let (mut places, mut all) = (BTreeSet::new(), none.clone());
        expression.columns(&mut places);
        for place in places {
            let more = columns.get(place)?.as_ref()?;
            match (more.is_subset(&all), all.is_subset(more)) {
                (true, _) => {}
                (false, true) => all = more.clone(),
                (false, false) => Arc::make_mut(&mut all).extend(more.iter()),
            }
        }
        // Whatever is computed from keys alone is exact.
        (all.is_empty() || followed(expression)).then_some(all)
    };
    columns(above, &given, &of, &mut HashMap::new())
}

/// The most groups whose intervals are computed together.
const GROUPS: usize = 64;
/// The most intervals that are computed together: those of all columns are kept until the last one is known, and values that
/// are computed step by step may have many.
const AT_ONCE: usize = 1 << 20;

/// The interval of each group's value, for each column with a bar. `bar` is that of an aggregate in a group, where a number
/// of bars must hold at once, if it differs from the one released.
///
/// # Errors
/// If it takes too long.
pub fn intervals(
    above: &Plain,
    depends: &[Option<usize>],
    released: &Released,
    bar: &dyn Fn(usize, usize, usize) -> Option<Bar>,
    limits: &Limits,
) -> Result<Vec<Column>, TooLarge> {
    let mut all: Vec<Column> = depends.iter().map(|depends| depends.map(|_| Vec::new())).collect();
    let together: BTreeSet<usize> = depends.iter().copied().flatten().collect();
    let columns_each = released.keys.len() + released.columns.len() + computed_columns(above);
    let at_once = (AT_ONCE / columns_each.max(1)).clamp(1, GROUPS);
    for together in together {
        for from in (0..released.groups).step_by(at_once) {
            limits.check_size(0, 0)?;
            let groups = from..released.groups.min(from + at_once);
            let given = given(released, groups.clone(), &|place, group| bar(together, place, group));
            let of = |expression: &Expr, columns: &[Column]| -> Column {
                let at = |group: usize| {
                    let column = |place: usize| columns.get(place).and_then(|column| column.as_ref()?[group]);
                    limits.has_time().then(|| interval(expression, &column)).flatten()
                };
                Some((0..groups.len()).map(at).collect())
            };
            let found = columns(above, &given, &of, &mut HashMap::new());
            let these = depends.iter().zip(found).zip(&mut all).filter(|((depends, _), _)| **depends == Some(together));
            for ((_, found), column) in these {
                let found = found.unwrap_or_else(|| vec![None; groups.len()]);
                column.iter_mut().for_each(|column| column.extend_from_slice(&found));
            }
        }
    }
    limits.check_size(0, 0)?;
    Ok(all)
}

/// The number of columns that are computed for each group, in all steps together.
pub fn computed_columns(above: &Plain) -> usize {
    let mut known = HashMap::new();
    columns(above, &[], &|_, _| (), &mut known);
    known.values().map(Vec::len).sum()
}

/// The intervals of a column, by group; `None` if it is not computed.
pub type Column = Option<Vec<Option<Interval>>>;

/// Keys and aggregates of some groups, with these bars.
fn given(released: &Released, groups: Range<usize>, bar: &dyn Fn(usize, usize) -> Option<Bar>) -> Vec<Column> {
    let number = |item: &Item| match item {
        Item::Integer(value) => Some(*value as f64),
        Item::Number(value) => Some(*value),
        _ => None,
    };
    let keys = released.keys.iter().map(|column| {
        let point = |group: usize| number(&cell(column, group)).map(Interval::point);
        Some(groups.clone().map(point).collect())
    });
    let aggregates = released.columns.iter().enumerate().map(|(place, cells)| {
        let around = |group: usize| {
            let one = &cells[group];
            let value = match &one.value {
                Value::Integer(value) => *value as f64,
                Value::Real(value) => *value,
                Value::Item(item) => number(item)?,
                Value::Counts(_) | Value::Refused => return None,
            };
            match bar(place, group).unwrap_or(one.bar) {
                Bar::HalfWidth(half_width) => Some(Interval { low: value - half_width, high: value + half_width }),
                Bar::Exact => Some(Interval::point(value)),
                Bar::Within(interval) | Bar::Anywhere(interval) => Some(interval),
            }
        };
        Some(groups.clone().map(around).collect())
    });
    keys.chain(aggregates).collect()
}

/// What is known of the columns of a relation, from what is known of the given ones. A relation with several users is
/// looked at once.
fn columns<T: Clone>(
    plain: &Plain,
    given: &[T],
    of: &impl Fn(&Expr, &[T]) -> T,
    known: &mut HashMap<*const Plain, Vec<T>>,
) -> Vec<T> {
    if let Some(known) = known.get(&std::ptr::from_ref(plain)) {
        return known.clone();
    }
    let found = match plain {
        Plain::Given => given.to_vec(),
        Plain::Filter(input, _) | Plain::Sort(input, _) | Plain::Limit(input, ..) => columns(input, given, of, known),
        Plain::Project(input, expressions) => {
            let below = columns(input, given, of, known);
            expressions.iter().map(|expression| of(expression, &below)).collect()
        }
        _ => Vec::new(),
    };
    known.insert(plain, found.clone());
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Cell;
    use super::*;
    use crate::algebra::Type;
    use crate::algebra::function::{Arithmetic, Function};

    fn column(place: usize) -> Expr {
        Expr::column(place, Type::Number)
    }

    fn call(function: Arithmetic, one: Expr, other: Expr) -> Expr {
        Expr::call(Function::Arithmetic(function), vec![one, other]).unwrap()
    }

    /// One key and two aggregates of two groups.
    fn released() -> Released {
        let cell = |value: f64, half_width: f64| Cell { value: Value::Real(value), bar: Bar::HalfWidth(half_width) };
        let keys: Vec<arrow_array::ArrayRef> = vec![Arc::new(arrow_array::Float64Array::from(vec![7.0, 8.0]))];
        let columns = vec![vec![cell(10.0, 1.0), cell(1.0, 1.0)], vec![cell(4.0, 1.0), Cell::REFUSED]];
        Released { keys, groups: 2, columns, additive: Vec::new(), widths: BTreeMap::new(), correction: None }
    }

    #[test]
    fn bars_are_followed_through_projections() {
        let (less, times, over) = (Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide);
        let first =
            Plain::Project(Arc::new(Plain::Given), vec![column(0), column(1), call(less, column(1), column(2))]);
        let kept = Plain::Filter(Arc::new(first), Expr::constant(Item::Boolean(true)));
        let above = Plain::Project(
            Arc::new(kept),
            vec![call(times, column(1), column(0)), column(2), call(over, column(0), column(2)), column(0)],
        );
        let on = dependencies(&above, 1, 2);
        let set = |places: &[usize]| Some(places.iter().copied().collect::<BTreeSet<_>>());
        let on: Vec<_> = on.iter().map(Option::as_deref).map(Option::<&_>::cloned).collect();
        assert_eq!(on, [set(&[0]), set(&[0, 1]), set(&[0, 1]), set(&[])]);
        let depends = [Some(1), Some(2), Some(2), None];
        let wider = |together: usize, _, _| (together == 2).then_some(Bar::HalfWidth(2.0));
        let found = intervals(&above, &depends, &released(), &wider, &Limits::default()).unwrap();
        let within = |low: f64, high: f64| Some(Interval { low, high });
        assert_eq!(found[0], Some(vec![within(63.0, 77.0), within(0.0, 16.0)]), "a multiple of one bar");
        assert_eq!(found[1], Some(vec![within(2.0, 10.0), None]), "a difference of two wider ones");
        assert_eq!(found[2].as_ref().unwrap()[0], within(0.7, 3.5));
        assert_eq!(found[3], None, "a key has no bar");
    }

    /// Group by group, in batches.
    #[test]
    fn every_group_has_its_own_interval() {
        let groups = 3 * GROUPS + 1;
        let cell = |value: usize| Cell { value: Value::Integer(value as i64), bar: Bar::Exact };
        let columns = vec![(0..groups).map(cell).collect()];
        let (additive, widths) = (Vec::new(), BTreeMap::new());
        let released = Released { keys: Vec::new(), groups, columns, additive, widths, correction: None };
        let above = Plain::Project(Arc::new(Plain::Given), vec![column(0)]);
        let bar = |_, _, group: usize| Some(Bar::HalfWidth(group as f64));
        let found = intervals(&above, &[Some(1)], &released, &bar, &Limits::default()).unwrap();
        let expected = |group: usize| Some(Interval { low: 0.0, high: 2.0 * group as f64 });
        assert_eq!(found, [Some((0..groups).map(expected).collect())]);
    }

    #[test]
    fn what_is_not_one_row_for_each_group_has_no_bar() {
        let distinct = Plain::Distinct(Arc::new(Plain::Given));
        assert_eq!(dependencies(&distinct, 1, 2), []);
        let project = Plain::Project(Arc::new(distinct), vec![column(1)]);
        assert_eq!(dependencies(&project, 1, 2), [None]);
    }
}
