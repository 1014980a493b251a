//! A single walk through a query, used by every search in it.
//!
//! The parser's visitors are generic: each is compiled for every kind of node. This one is compiled once.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, Query, Select, Visit, Visitor};

/// A visited node.
#[derive(Debug, Clone, Copy)]
pub enum Node<'ast> {
    /// A query.
    Query(&'ast Query),
    /// A SELECT.
    Select(&'ast Select),
    /// The name of a table.
    Relation(&'ast ObjectName),
    /// An expression, before its subexpressions.
    Expression(&'ast Expr),
}

/// Visits all of a query.
pub fn walk(query: &Query, look: &mut dyn FnMut(Node<'_>)) {
    let _ = query.visit(&mut Walk(look));
}

struct Walk<'look>(&'look mut dyn FnMut(Node<'_>));

impl Walk<'_> {
    fn look(&mut self, node: Node<'_>) -> ControlFlow<()> {
        (self.0)(node);
        ControlFlow::Continue(())
    }
}

impl Visitor for Walk<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.look(Node::Query(query))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.look(Node::Select(select))
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.look(Node::Relation(relation))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        self.look(Node::Expression(expression))
    }
}
