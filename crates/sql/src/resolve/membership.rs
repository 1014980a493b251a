//! IN: a list of expressions, or the only column of a public table.

use arrow_array::Array;

use super::Resolver;
use super::coerce::{incomparable, same};
use super::expression::{together, typed};
use super::functions::{call, not};
use crate::algebra::column::Column;
use crate::algebra::function::{Comparison, Logic, Membership};
use crate::algebra::{Data, Expr, Function, Value};
use crate::error::Result;

/// How many values of a table are added to a set at a time.
const ROWS: usize = 8192;

impl Resolver<'_> {
    /// Whether an expression equals one of a list.
    pub(super) fn one_of(&mut self, of: Expr, list: Vec<Expr>, negated: bool, words: &str) -> Result<Expr> {
        if list.is_empty() {
            return Ok(Expr::constant(Value::Boolean(negated)));
        }
        let mut all = same(std::iter::once(of).chain(list).collect(), words)?;
        let of = all.remove(0);
        let constants: Option<Vec<Value>> = all.iter().map(|one| one.as_constant().cloned()).collect();
        if let Some(constants) = constants {
            let set = Membership::new(of.kind(), &constants);
            return self.in_set(of, set, negated, words);
        }
        let equal = |one: Expr| call(Function::Compare(Comparison::Equal), vec![of.clone(), one], words);
        let equal = all.into_iter().map(equal).collect::<Result<_>>()?;
        let found = together(Logic::Or, equal, words)?.unwrap_or(Expr::constant(Value::Boolean(false)));
        if negated { not(found, words) } else { Ok(found) }
    }

    /// The same for the only column of a table, which may have millions of rows.
    pub(super) fn one_of_column(&mut self, of: Expr, list: &Data, negated: bool, words: &str) -> Result<Expr> {
        if list.rows() == 0 {
            return Ok(Expr::constant(Value::Boolean(negated)));
        }
        let (kind, column) = (list.kinds()[0], &list.columns()[0]);
        // All values have one type, so that one of them decides which type they are compared in.
        let first = (0..list.rows()).find(|&row| column.is_valid(row)).map_or(Value::Null, |row| list.cell(row, 0));
        let of = same(vec![of, typed(first, kind)], words)?.swap_remove(0);
        let mut set = Membership::empty(of.kind());
        for from in (0..list.rows()).step_by(ROWS) {
            let some = column.slice(from, ROWS.min(list.rows() - from));
            let cast = match of.kind() == kind {
                true => some.clone(),
                false => {
                    let rows = some.len();
                    let cast = Function::Cast(of.kind());
                    cast.apply(&[kind], of.kind(), &[Column::Array(some.clone())], rows).into_array(of.kind(), rows)
                }
            };
            // Out of time, the values are any; otherwise each can be compared.
            self.limits.check_size(0, set.bytes())?;
            if let Some(row) = (0..some.len()).find(|&row| some.is_valid(row) && cast.is_null(row)) {
                return Err(incomparable(&list.cell(from + row, 0), kind, of.kind()));
            }
            set.extend(&cast);
        }
        self.in_set(of, set, negated, words)
    }

    /// Sets are kept until the query is answered, equal ones once.
    fn in_set(&mut self, of: Expr, set: Membership, negated: bool, words: &str) -> Result<Expr> {
        let set = match self.sets.iter().find(|known| **known == set) {
            Some(known) => known.clone(),
            None => {
                self.hold(set.bytes())?;
                self.sets.push(set.clone());
                set
            }
        };
        let found = call(Function::In(set), vec![of], words)?;
        if negated { not(found, words) } else { Ok(found) }
    }
}
