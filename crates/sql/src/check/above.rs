//! What is done with released values.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef};
use datafusion::logical_expr::{Aggregate, Expr, Filter, LogicalPlan, LogicalPlanBuilder, SubqueryAlias};

use super::total::total;
use crate::error::{Error, Result, planning};

/// The name under which the number of a released row is carried to the end.
pub const ROW: &str = "__reticent_row";

/// Where a column of the answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A key of the groups.
    Key(usize),
    /// An aggregate.
    Asked(usize),
    /// Computed from released values.
    Derived,
}

/// The steps above the aggregation, topmost first, and what the aggregation gives.
#[derive(Debug, Clone)]
pub struct Above {
    steps: Vec<LogicalPlan>,
    /// What the aggregation gives: keys, then aggregates.
    pub schema: DFSchemaRef,
    keys: usize,
}

/// The topmost aggregation and what lies above it.
///
/// # Errors
/// If there is none, or something lies between that works on rows.
pub fn split(plan: &LogicalPlan) -> Result<(Above, &Aggregate)> {
    let mut steps = Vec::new();
    let mut next = plan;
    loop {
        refuse_subqueries(next)?;
        next = match next {
            LogicalPlan::Aggregate(aggregate) => {
                let (schema, keys) = (Arc::clone(&aggregate.schema), aggregate.group_expr.len());
                return Ok((Above { steps, schema, keys }, aggregate));
            }
            LogicalPlan::Projection(step) => keep(&mut steps, next, &step.input),
            LogicalPlan::Filter(step) => keep(&mut steps, next, &step.input),
            LogicalPlan::Sort(step) => keep(&mut steps, next, &step.input),
            LogicalPlan::Limit(step) => keep(&mut steps, next, &step.input),
            LogicalPlan::SubqueryAlias(step) => keep(&mut steps, next, &step.input),
            LogicalPlan::Distinct(_) => {
                return Err(Error::not_private("SELECT DISTINCT", "group by the columns instead, with an aggregate of each group"));
            }
            LogicalPlan::Window(_) => {
                return Err(Error::not_private("a window function", "order and limit the released groups instead"));
            }
            LogicalPlan::Union(_) => {
                return Err(Error::not_private("UNION", "ask two queries; each has its own budget"));
            }
            LogicalPlan::TableScan(_) | LogicalPlan::Join(_) => {
                return Err(Error::not_private(
                    "a list of rows",
                    "rows are people; ask for an aggregate of them, such as SELECT COUNT(*) FROM …",
                ));
            }
            LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => {
                return Err(Error::not_private("a query without a table", "name a table with --table NAME=FILE"));
            }
            _ => return Err(Error::not_private("this statement", "only SELECT can be asked")),
        };
    }
}

/// A sub-query up here would read private rows without any noise.
fn refuse_subqueries(step: &LogicalPlan) -> Result<()> {
    let mut refused = None;
    let _ = step.apply_expressions(|expression| {
        expression.apply(|one| {
            if matches!(one, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)) {
                refused = Some(super::words(one));
                return Ok(TreeNodeRecursion::Stop);
            }
            Ok(TreeNodeRecursion::Continue)
        })
    });
    match refused {
        None => Ok(()),
        Some(what) => Err(Error::not_private(what, "ask it as a query of its own; each query has its own budget")),
    }
}

fn keep<'plan>(steps: &mut Vec<LogicalPlan>, step: &LogicalPlan, input: &'plan LogicalPlan) -> &'plan LogicalPlan {
    steps.push(step.clone());
    input
}

impl Above {
    /// The same steps on released values, which carry the number of their row. What fails for a row is NULL there: the answer
    /// is paid for.
    ///
    /// # Errors
    /// If the planner finds a fault.
    pub fn on(&self, released: LogicalPlan) -> Result<LogicalPlan> {
        self.steps.iter().rev().try_fold(released, |input, step| match step {
            LogicalPlan::Projection(projection) => {
                let row = Ok(Expr::Column(Column::from_name(ROW)));
                let columns = projection.expr.iter().map(|one| total(one.clone(), input.schema())).chain([row]);
                let columns = columns.collect::<Result<Vec<_>>>()?;
                let plan = LogicalPlanBuilder::from(input).project(columns);
                plan.and_then(LogicalPlanBuilder::build).map_err(|error| planning(&error))
            }
            LogicalPlan::SubqueryAlias(alias) => SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())
                .map(LogicalPlan::SubqueryAlias)
                .map_err(|error| planning(&error)),
            LogicalPlan::Filter(filter) => {
                let predicate = total(filter.predicate.clone(), input.schema())?;
                let filter = Filter::try_new(predicate, Arc::new(input));
                filter.map(LogicalPlan::Filter).map_err(|error| planning(&error))
            }
            other => other.with_new_exprs(other.expressions(), vec![input]).map_err(|error| planning(&error)),
        })
    }

    /// Where each column of the answer comes from.
    pub fn origins(&self) -> Vec<Origin> {
        let asked = self.schema.fields().len() - self.keys;
        let mut origins: Vec<Origin> =
            (0..self.keys).map(Origin::Key).chain((0..asked).map(Origin::Asked)).collect();
        let mut schema = &self.schema;
        for step in self.steps.iter().rev() {
            if let LogicalPlan::Projection(projection) = step {
                let origin = |one: &Expr| match one.clone().unalias_nested().data {
                    Expr::Column(column) => {
                        schema.maybe_index_of_column(&column).map_or(Origin::Derived, |place| origins[place])
                    }
                    _ => Origin::Derived,
                };
                origins = projection.expr.iter().map(origin).collect();
            }
            schema = step.schema();
        }
        origins
    }
}
