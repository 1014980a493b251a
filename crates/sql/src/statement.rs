//! From text to one statement.

use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{Statement as SqlStatement, TableFactor, Visit, Visitor};

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
