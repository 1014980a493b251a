//! One walk through a query, for everybody who looks for something in it.
//!
//! The parser's visitors are generic: each one is compiled for every kind of node there is. This one is compiled once.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, Query, Select, Visit, Visitor};

/// What the walk comes by.
#[derive(Debug, Clone, Copy)]
pub enum Node<'ast> {
    /// A query.
    Query(&'ast Query),
    /// A SELECT.
    Select(&'ast Select),
    /// The name of a table.
    Relation(&'ast ObjectName),
    /// An expression, before those inside it.
    Expression(&'ast Expr),
}

/// Goes through all of a query.
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
