//! A query that gives one value, asked of a table of text: what `reticent subsample` asks of every block.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | [`ScalarQuery`]: checked against a header, answered on rows |
//! | `rewrite` | which columns are numbers; casts that cannot fail |
//! | `batch` | cells as columns |
//! | [`rows`] | the rows of any table as text |
//!
//! Nothing here is private: an answer says whatever the rows say.

mod batch;
mod rewrite;
pub mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::config::Dialect;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement;

/// What the table is called in a query.
pub const TABLE: &str = "data";

/// Why a query cannot be asked. Found without a single row.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ScalarError(String);

impl From<DataFusionError> for ScalarError {
    fn from(error: DataFusionError) -> Self {
        Self(error.strip_backtrace())
    }
}

/// A query over the table `data` that gives one value.
///
/// Every column is text, and an empty cell is NULL. A column that the query uses as a number anywhere (in arithmetic, in a
/// function of numbers such as AVG, or compared with a number) is a number everywhere; a cell that is none is NULL. All casts
/// are TRY_CAST: what cannot be cast is NULL.
///
/// # Example
/// ```
/// use reticent_sql::scalar::ScalarQuery;
///
/// let header = ["region", "age"].map(String::from);
/// let query = ScalarQuery::new("SELECT region FROM data GROUP BY region ORDER BY AVG(age) DESC LIMIT 1", &header)?;
/// let rows = [["north", "30"], ["south", "50"], ["north", "50"], ["south", "unknown"]];
/// let cells = rows.iter().map(|row| row.iter().map(|cell| cell.as_bytes()).collect::<Vec<_>>());
/// assert_eq!(query.answer(cells).as_deref(), Some("south"));
///
/// let error = ScalarQuery::new("SELECT MAX(aeg) FROM data", &header).unwrap_err();
/// assert!(error.to_string().contains("aeg"));
/// # Ok::<(), reticent_sql::scalar::ScalarError>(())
/// ```
#[derive(Debug)]
pub struct ScalarQuery {
    statement: Statement,
    schema: Arc<Schema>,
}

impl ScalarQuery {
    /// Reads a query and plans it on a table with these columns and no rows.
    ///
    /// # Errors
    /// If it cannot be read, is no query, names a table or column that does not exist, or has more than one column.
    pub fn new(sql: &str, header: &[String]) -> Result<Self, ScalarError> {
        let mut statement = session(None)?.state().sql_to_statement(sql, &Dialect::default())?;
        if !is_query(&statement) {
            return Err(ScalarError("only a SELECT can be asked".into()));
        }
        let schema = Arc::new(batch::schema(header, &rewrite::numbers(&statement)));
        rewrite::make_casts_safe(&mut statement);
        let query = Self { statement, schema };
        let empty = RecordBatch::new_empty(query.schema.clone());
        let columns = wait_for(async {
            let (context, plan) = query.plan(vec![empty]).await?;
            let columns = plan.schema().fields().len();
            context.state().create_physical_plan(&plan).await?;
            Ok::<_, DataFusionError>(columns)
        })??;
        if columns != 1 {
            return Err(ScalarError(format!("the query must give one value, but it has {columns} columns")));
        }
        Ok(query)
    }

    /// The query's value on these rows; `None` if it is NULL, if there is not exactly one row in the result, or if the query
    /// fails.
    pub fn answer<'cell>(&self, rows: impl IntoIterator<Item = Vec<&'cell [u8]>>) -> Option<String> {
        let batches = batch::batches(&self.schema, rows).ok()?;
        let answer: Result<Vec<RecordBatch>, DataFusionError> = wait_for(async {
            let (context, plan) = self.plan(batches).await?;
            crate::session::run(&context, &plan).await
        })
        .ok()?;
        let batches = answer.ok()?;
        let mut filled = batches.iter().filter(|batch| batch.num_rows() > 0);
        match (filled.next(), filled.next()) {
            (Some(batch), None) if batch.num_rows() == 1 => text(batch.column(0)),
            _ => None,
        }
    }

    async fn plan(&self, batches: Vec<RecordBatch>) -> Result<(SessionContext, LogicalPlan), DataFusionError> {
        let table = MemTable::try_new(self.schema.clone(), vec![batches])?;
        let context = session(Some(table))?;
        let plan = context.state().statement_to_plan(self.statement.clone()).await?;
        Ok((context, plan))
    }
}

/// On one core, so that rows keep their order: the same block gives the same value. Names are taken as they are written.
fn session(table: Option<MemTable>) -> Result<SessionContext, DataFusionError> {
    let mut config = SessionConfig::new().with_target_partitions(1);
    config.options_mut().sql_parser.enable_ident_normalization = false;
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    let context = SessionContext::new_with_state(state);
    if let Some(table) = table {
        context.register_table(TABLE, Arc::new(table))?;
    }
    Ok(context)
}

fn is_query(statement: &Statement) -> bool {
    use datafusion::sql::sqlparser::ast;
    matches!(statement, Statement::Statement(statement) if matches!(**statement, ast::Statement::Query(_)))
}

/// The engine is asynchronous; here one query runs at a time.
fn wait_for<T>(future: impl Future<Output = T>) -> Result<T, ScalarError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.map(|runtime| runtime.block_on(future)).map_err(|error| ScalarError(error.to_string()))
}

/// The value as text; a whole number has no decimals.
fn text(column: &dyn Array) -> Option<String> {
    if column.is_null(0) {
        return None;
    }
    if column.data_type() == &DataType::Float64 {
        return Some(column.as_primitive::<Float64Type>().value(0).to_string());
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options).ok()?;
    formatter.value(0).try_to_string().ok()
}
