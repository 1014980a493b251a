//! From text to one statement.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{ObjectNamePart, Statement as SqlStatement, TableFactor};

use crate::error::{Error, Result, planning};
use crate::walk::{Node, walk};

/// Reads one query.
///
/// # Errors
/// If it is not SQL, not one statement, or no query; if it says what the query engine would leave out in silence.
pub fn parse(sql: &str) -> Result<SqlStatement> {
    let mut statements = DFParser::parse_sql(sql).map_err(|error| planning(&error))?;
    let (first, more) = (statements.pop_front(), !statements.is_empty());
    match first {
        Some(Statement::Statement(statement)) if !more && matches!(*statement, SqlStatement::Query(_)) => {
            match left_out(&statement) {
                Some((what, why)) => Err(Error::not_private(what, why)),
                None => Ok(*statement),
            }
        }
        None => Err(Error::Syntax("there is none; write SELECT COUNT(*) FROM …".into())),
        _ if more => Err(Error::Syntax("there are several statements; ask one query at a time".into())),
        _ => Err(Error::Syntax("only SELECT can be asked".into())),
    }
}

/// What the query engine would leave out in silence, and what to do instead: TABLESAMPLE, and ORDER BY in a sub-query that takes
/// all rows.
fn left_out(statement: &SqlStatement) -> Option<(&'static str, &'static str)> {
    let (mut found, mut depth) = (None, 0);
    let _ = walk(statement, &mut |node| {
        match node {
            Node::Query(query) => {
                depth += 1;
                let all_rows = query.limit_clause.is_none() && query.fetch.is_none();
                if depth > 1 && query.order_by.is_some() && all_rows {
                    let why = "order the released groups instead, at the end of the query";
                    found = Some(("ORDER BY in a sub-query", why));
                }
            }
            Node::EndOfQuery => depth -= 1,
            Node::Table(TableFactor::Table { sample: Some(_), .. }) => {
                found = Some(("TABLESAMPLE", "every row is looked at; `reticent subsample` works on samples"));
            }
            _ => {}
        }
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

/// The names of all tables that a query mentions, names of its own sub-queries among them.
///
/// # Errors
/// As [`parse`].
///
/// # Example
/// ```
/// let named = reticent_sql::statement::tables("SELECT COUNT(*) FROM visits JOIN plans ON visits.user = plans.user")?;
/// assert_eq!(named.into_iter().collect::<Vec<_>>(), ["plans", "visits"]);
/// # Ok::<(), reticent_sql::Error>(())
/// ```
pub fn tables(sql: &str) -> Result<BTreeSet<String>> {
    let (sql, _) = crate::dialect::split(sql)?;
    let mut names = BTreeSet::new();
    let _ = walk(&parse(&sql)?, &mut |node| {
        if let Node::Relation(relation) = node
            && let Some(name) = relation.0.last().and_then(ObjectNamePart::as_ident)
        {
            names.insert(name.value.clone());
        }
        ControlFlow::Continue(())
    });
    Ok(names)
}
