//! From text to one statement.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    ObjectName, ObjectNamePart, Statement as SqlStatement, TableFactor, Visit, Visitor,
};

use crate::error::{Error, Result, planning};

/// Reads one query.
///
/// # Errors
/// If it is not SQL, not one statement, or no query; if it says what the query engine would leave out in silence.
pub fn parse(sql: &str) -> Result<SqlStatement> {
    let mut statements = DFParser::parse_sql(sql).map_err(|error| planning(&error))?;
    let (first, more) = (statements.pop_front(), !statements.is_empty());
    match first {
        Some(Statement::Statement(statement)) if !more && matches!(*statement, SqlStatement::Query(_)) => {
            if statement.visit(&mut Samples).is_break() {
                let why = "every row is looked at; `reticent subsample` works on samples";
                return Err(Error::not_private("TABLESAMPLE", why));
            }
            Ok(*statement)
        }
        None => Err(Error::Syntax("there is none; write SELECT COUNT(*) FROM …".into())),
        _ if more => Err(Error::Syntax("there are several statements; ask one query at a time".into())),
        _ => Err(Error::Syntax("only SELECT can be asked".into())),
    }
}

/// Looks for TABLESAMPLE, which the query engine ignores.
struct Samples;

impl Visitor for Samples {
    type Break = ();

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        match table {
            TableFactor::Table { sample: Some(_), .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
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
    let mut names = Names(BTreeSet::new());
    let _ = parse(&sql)?.visit(&mut names);
    Ok(names.0)
}

struct Names(BTreeSet<String>);

impl Visitor for Names {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if let Some(name) = relation.0.last().and_then(ObjectNamePart::as_ident) {
            self.0.insert(name.value.clone());
        }
        ControlFlow::Continue(())
    }
}
