//! Where plans run.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, collect_partitioned};
use datafusion::prelude::SessionContext;

/// Runs the plans by which a query reads its rows: here, or on other machines.
///
/// # Privacy
/// What a runner sees is private, and what it gives back is exact: noise is added to it afterwards, by whoever asked. A runner
/// is a part of the curator, and so is every machine and every wire that it uses. It must run a plan as it is: all
/// partitions, each exactly once. A partition that is run twice counts twice; and so may one that runs in another process than
/// its siblings unless `datafusion.execution.enable_file_stream_work_stealing` is off there.
#[async_trait]
pub trait Runner: Send + Sync {
    /// The output of all partitions of the plan, in any order.
    async fn run(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>>;
}

/// Here, in as many threads as the runtime has.
#[async_trait]
impl Runner for SessionContext {
    async fn run(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>> {
        Ok(collect_partitioned(plan, self.task_ctx()).await?.into_iter().flatten().collect())
    }
}
