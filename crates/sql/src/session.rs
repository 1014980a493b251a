//! The query engine, set up so that nothing but the rows' own road looks at them.

use datafusion::arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::functions;

/// Bytes of stack of each thread that plans a query: several times what the deepest expression that is allowed needs.
pub const STACK: usize = 16 << 20;

/// A session without tables.
///
/// # Privacy
/// No statistics of files in planning, no pruning by them, no filters that are made while the query runs: the plan depends on
/// the SQL and the schema alone. Names are taken as they are written.
pub fn new() -> SessionContext {
    let mut config = SessionConfig::new().with_collect_statistics(false);
    let options = config.options_mut();
    options.sql_parser.enable_ident_normalization = false;
    options.execution.parquet.pruning = false;
    options.execution.parquet.enable_page_index = false;
    options.execution.parquet.bloom_filter_on_read = false;
    options.execution.parquet.pushdown_filters = false;
    options.optimizer.enable_dynamic_filter_pushdown = false;
    let builder = SessionStateBuilder::new().with_config(config).with_default_features();
    let context = SessionContext::new_with_state(builder.build());
    functions::aggregates().into_iter().for_each(|function| context.register_udaf(function));
    context
}

/// Optimises a plan and runs it. The engine's own way to do so would compile all its other statements along with it.
pub(crate) async fn run(context: &SessionContext, plan: &LogicalPlan) -> Result<Vec<RecordBatch>, DataFusionError> {
    let plan = context.state().create_physical_plan(plan).await?;
    collect(plan, context.task_ctx()).await
}
