//! One walk through a statement, for everybody who looks for something in it.
//!
//! The parser's visitors are generic: each one is compiled for every kind of node there is. This one is compiled once.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, ObjectName, Query, Select, Statement, TableFactor, Visit, Visitor};

/// What the walk comes by.
#[derive(Debug, Clone, Copy)]
pub enum Node<'ast> {
    /// A query, which begins here.
    Query(&'ast Query),
    /// The same query ends.
    EndOfQuery,
    /// A SELECT.
    Select(&'ast Select),
    /// Something after FROM.
    Table(&'ast TableFactor),
    /// The name of a table.
    Relation(&'ast ObjectName),
    /// An expression, before those inside it.
    Expression(&'ast Expr),
}

/// Goes through all of a statement; stops when told so, and says whether it was.
pub fn walk(statement: &Statement, look: &mut dyn FnMut(Node<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    statement.visit(&mut Walk(look))
}

struct Walk<'look>(&'look mut dyn FnMut(Node<'_>) -> ControlFlow<()>);

impl Visitor for Walk<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        (self.0)(Node::Query(query))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        (self.0)(Node::EndOfQuery)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        (self.0)(Node::Select(select))
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        (self.0)(Node::Table(table))
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        (self.0)(Node::Relation(relation))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        (self.0)(Node::Expression(expression))
    }
}
