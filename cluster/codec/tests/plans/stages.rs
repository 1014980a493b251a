//! Plans run as a cluster would run them.

use std::any::Any;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
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

/// What the process that runs one partition is given.
#[derive(Clone, Copy, PartialEq)]
pub enum Scans {
    /// The plan of all partitions.
    Whole,
    /// A plan that has the partition's own files only, as Ballista's scheduler makes it.
    Cut,
}

/// Cuts plans where rows change their partition, and runs every partition of every piece in a process of its own.
pub struct Elsewhere {
    scans: Scans,
    folder: TempDir,
    /// Processes so far.
    pub tasks: AtomicUsize,
    /// The plans, as text.
    pub plans: std::sync::Mutex<String>,
}

impl Elsewhere {
    pub fn new(scans: Scans) -> Self {
        Self { scans, folder: tempfile::tempdir().unwrap(), tasks: AtomicUsize::new(0), plans: Default::default() }
    }

    /// The output of every partition.
    fn stage(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<Vec<RecordBatch>>> {
        let start = |partition: usize| {
            let task = self.tasks.fetch_add(1, Ordering::Relaxed);
            let [plan_at, output] = ["plan", "arrow"].map(|end| self.folder.path().join(format!("{task}.{end}")));
            let cut = if self.scans == Scans::Cut { cut(plan, partition)? } else { None };
            let apart = cut.is_none();
            let (plan, partition) = cut.map_or((plan.clone(), partition), |plan| (plan, 0));
            fs::write(&plan_at, physical_plan_to_bytes_with_extension_codec(plan, &ReticentCodec)?)?;
            Ok(Task::start(&plan_at, partition, apart, output))
        };
        let tasks: Vec<Task> = (0..plan.output_partitioning().partition_count()).map(start).collect::<Result<_>>()?;
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

/// The plan that reads the files of one partition alone; nothing if the plan does not read files all the way down.
fn cut(plan: &Arc<dyn ExecutionPlan>, partition: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        let source: &dyn Any = scan.data_source().as_ref();
        let Some(config) = source.downcast_ref::<FileScanConfig>() else { return Ok(None) };
        let own = vec![config.file_groups[partition].clone()];
        let config = FileScanConfigBuilder::from(config.clone()).with_file_groups(own).build();
        return Ok(Some(DataSourceExec::from_data_source(config)));
    }
    let children = plan.children();
    let [child] = children.as_slice() else { return Ok(None) };
    let Some(child) = cut(child, partition)? else { return Ok(None) };
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    plan.clone().replace_children(vec![child], options).map(Some)
}

#[async_trait::async_trait]
impl Runner for Elsewhere {
    async fn run(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>> {
        *self.plans.lock().unwrap() += &displayable(plan.as_ref()).indent(true).to_string();
        let plan = self.settle(&plan)?;
        Ok(self.stage(&plan)?.into_iter().flatten().collect())
    }
}
