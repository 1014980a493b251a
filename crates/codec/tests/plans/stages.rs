//! Plans run as a cluster would run them.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions, displayable,
};
use datafusion_proto::bytes::physical_plan_to_bytes_with_extension_codec;
use reticent_codec::ReticentCodec;
use reticent_sql::Runner;
use tempfile::TempDir;

use crate::child::Task;

/// Cuts plans where rows change their partition, and runs every partition of every piece in a process of its own.
pub struct Elsewhere {
    folder: TempDir,
    /// Processes so far.
    pub tasks: AtomicUsize,
    /// The plans, as text.
    pub plans: std::sync::Mutex<String>,
}

impl Elsewhere {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), tasks: AtomicUsize::new(0), plans: Default::default() }
    }

    /// The output of every partition.
    fn stage(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<Vec<RecordBatch>>> {
        let bytes = physical_plan_to_bytes_with_extension_codec(plan.clone(), &ReticentCodec)?;
        let first = self.tasks.load(Ordering::Relaxed);
        let at = self.folder.path().join(format!("{first}.plan"));
        fs::write(&at, bytes)?;
        let start = |partition: usize| {
            let task = self.tasks.fetch_add(1, Ordering::Relaxed);
            Task::start(&at, partition, self.folder.path().join(format!("{task}.arrow")))
        };
        let tasks: Vec<Task> = (0..plan.output_partitioning().partition_count()).map(start).collect();
        Ok(tasks.into_iter().map(Task::finish).collect())
    }

    /// The plan with what lies below its last changes of partitions done.
    fn settle(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut children = plan.children().into_iter().map(|child| self.settle(child)).collect::<Result<Vec<_>>>()?;
        if plan.is::<RepartitionExec>() || plan.is::<CoalescePartitionsExec>() {
            let done = self.stage(&children[0])?;
            children = vec![MemorySourceConfig::try_new_exec(&done, children[0].schema(), None)?];
        }
        plan.clone().replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }
}

#[async_trait::async_trait]
impl Runner for Elsewhere {
    async fn run(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>> {
        *self.plans.lock().unwrap() += &displayable(plan.as_ref()).indent(true).to_string();
        let plan = self.settle(&plan)?;
        Ok(self.stage(&plan)?.into_iter().flatten().collect())
    }
}
