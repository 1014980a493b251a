//! Can it be answered privately?
//!
//! A plan has three parts. The topmost aggregation is what noise is added to. What lies *below* it works on private rows:
//! there every row must belong to one unit, and no expression may fail. What lies *above* works on released values only,
//! and may do as it likes.
//!
//! | module | holds |
//! |---|---|
//! | [`rows`] | below: whose each row is, through filters, projections, joins and sub-queries |
//! | [`unordered`] | aggregates of one unit's floats that do not depend on the order of rows |
//! | [`total`] | expressions in forms that cannot fail |
//! | [`guarded`] | functions that give NULL where they would fail |
//! | [`depth`] | how deep expressions are nested |
//! | [`aggregate`] | which statistics an aggregate needs |
//! | [`ranges`] | the range of an expression, from the ranges of its columns |
//! | [`above`] | above: what is done with released values |

pub mod above;
pub mod aggregate;
pub mod depth;
pub mod guarded;
pub mod ranges;
pub mod rows;
pub mod total;
pub mod unordered;

use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan};

pub use above::{Above, Origin};
pub use aggregate::{Asked, Statistic};
pub use rows::{Owner, Rows, UniqueKey};

use crate::error::{Error, Result};

/// The private aggregation and what lies below it.
#[derive(Debug)]
pub struct Checked {
    /// The rows that are aggregated, and whose they are.
    pub rows: Rows,
    /// What they are grouped by.
    pub keys: Vec<Expr>,
    /// What is asked of each group.
    pub asked: Vec<Asked>,
    /// What is done with the answers.
    pub above: Above,
}

/// Takes a typed plan apart.
///
/// # Errors
/// If it cannot be answered privately: what the user wrote, and what to write instead.
pub fn check(plan: &LogicalPlan, owner_of: &dyn Fn(&str) -> Result<Owner>) -> Result<Checked> {
    if depth::of_plan(plan) > depth::MOST {
        let why = format!("write its expressions with at most {} levels, for example with IN (…)", depth::MOST);
        return Err(Error::not_private("a query that is nested so deep", why));
    }
    let (above, aggregate) = above::split(plan)?;
    let rows = rows::Rows::of(&aggregate.input, owner_of)?;
    if rows.owner == Owner::Public {
        return Err(Error::Option(
            "no table of this query is private: there is nothing to protect, any SQL engine can answer it".into(),
        ));
    }
    let keys = aggregate.group_expr.iter().map(|key| match key {
        Expr::GroupingSet(_) => Err(Error::not_private(key.to_string(), "group by plain columns or expressions")),
        other => total::total(other.clone(), rows.plan.schema()),
    });
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let asked =
        aggregate.aggr_expr.iter().map(|expression| aggregate::ask(expression, &rows)).collect::<Result<Vec<_>>>()?;
    if asked.is_empty() {
        return Err(Error::not_private("a list of values", "ask for an aggregate of each group too, such as COUNT(*)"));
    }
    Ok(Checked { rows, keys, asked, above })
}

/// An expression as the user wrote it, without the names of tables.
pub fn words(expression: &Expr) -> String {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let bare = expression.clone().transform(|inner| {
        Ok(match inner {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::from_name(column.name))),
            Expr::Cast(cast) => Transformed::yes(*cast.expr),
            Expr::TryCast(cast) => Transformed::yes(*cast.expr),
            other => Transformed::no(other),
        })
    });
    bare.map_or_else(|_| expression.to_string(), |bare| bare.data.human_display().to_string())
}
