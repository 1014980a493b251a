//! The query engine, set up so that nothing but the rows' own road looks at them.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::functions;

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

/// A table as one scan, whatever it is made of: so that whose its rows are can be told by its name.
#[derive(Debug)]
pub struct Opaque(pub Arc<dyn TableProvider>);

#[async_trait]
impl TableProvider for Opaque {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.scan(state, projection, &[], None).await
    }
}
