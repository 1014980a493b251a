//! How deep expressions are nested.
//!
//! An expression is computed by functions that call each other once a level, and where their stack ends the program is
//! aborted. That happens in the branch of a CASE only if there is a row that takes it, so that the end of the program would
//! tell whether there is one.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// More levels than anybody writes by hand, and fewer than the stack of any thread can bear.
pub const MOST: usize = 250;

/// The levels of a plan's expressions, each step put into the one above it, as an optimizer may.
pub fn of_plan(plan: &LogicalPlan) -> usize {
    let own = plan.expressions().iter().map(of_expression).max().unwrap_or(0);
    own + plan.inputs().into_iter().map(of_plan).max().unwrap_or(0)
}

fn of_expression(expression: &Expr) -> usize {
    let mut deepest = 0;
    let _ = expression.apply_children(|child| {
        deepest = deepest.max(of_expression(child));
        Ok(TreeNodeRecursion::Continue)
    });
    deepest + 1
}
