//! Runs the operator and merges its partitions.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning, collect_partitioned};

use super::choice::ChoiceKey;
use super::exec::{BoundExec, Job, distribution_key};
use super::feature::Features;
use super::keys::{Keys, PublicKeys, sorted};
use super::layout::{Caps, Layout};
use super::measure::Measured;
use super::totals::Totals;

/// Exact statistics per group.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// One array per key column, in canonical order: ascending, NULL last, whatever the order of the rows.
    pub keys: Vec<ArrayRef>,
    /// In the order of the keys.
    pub groups: Vec<Group>,
}

/// What was counted and measured in one group, of what was kept of each unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Units with at least one row; if the unit is the row, the rows.
    pub units: u64,
    /// Rows.
    pub rows: u64,
    /// In the order of the layout's measures.
    pub measured: Vec<Measured>,
}

/// Exact statistics of what is kept of each unit in the output of a plan.
///
/// # Privacy
/// See the [module's page](super). With `known` keys every one of them appears. Without, groups appear that at least one
/// kept row has: which they are is private, too, and has to be selected privately before anything is released.
///
/// # Errors
/// If the plan's schema is not what the layout says (before any row is read), or whatever goes wrong while rows are read or
/// written to disk. The text of the latter may contain what is in the rows: it is not for showing.
pub async fn aggregate(
    input: Arc<dyn ExecutionPlan>,
    layout: &Layout,
    caps: Option<Caps>,
    known: Option<&PublicKeys>,
    key: ChoiceKey,
    context: Arc<TaskContext>,
) -> Result<Groups> {
    let plan = Arc::new(plan(input, layout, caps, known, key, context.session_config().target_partitions())?);
    let partitions = collect_partitioned(Arc::clone(&plan) as Arc<dyn ExecutionPlan>, context).await?;
    merge(&plan, partitions.into_iter().flatten())
}

/// The plan that [`aggregate()`] runs: rows brought together by unit into so many partitions, bounded and added up.
///
/// # Errors
/// If the input's schema is not what the layout says.
pub fn plan(
    input: Arc<dyn ExecutionPlan>,
    layout: &Layout,
    caps: Option<Caps>,
    known: Option<&PublicKeys>,
    key: ChoiceKey,
    partitions: usize,
) -> Result<BoundExec> {
    layout.check(&input.schema())?;
    let input = if layout.unit { by_unit(input, partitions)? } else { input };
    BoundExec::try_new(input, layout, caps, known, key)
}

/// The statistics that all partitions of a plan's output are parts of, wherever each of them ran.
///
/// # Errors
/// If the batches are not of the plan's schema.
pub fn merge(plan: &BoundExec, batches: impl IntoIterator<Item = RecordBatch>) -> Result<Groups> {
    let Job { layout, known, .. } = plan.job();
    let schema = plan.children()[0].schema();
    let mut keys = Keys::new(layout.key_types(&schema), known.as_ref(), None)?;
    let (mut features, read) = Features::of(layout, &schema)?;
    let mut totals = Totals::new(layout, read);
    totals.resize(keys.len());
    let mut groups = Vec::new();
    let types =
        |schema: SchemaRef| -> Vec<DataType> { schema.fields().iter().map(|f| f.data_type().clone()).collect() };
    let expected = types(plan.schema());
    for batch in batches {
        if types(batch.schema()) != expected {
            return plan_err!("what is merged is not the output of the plan");
        }
        keys.group_rows(&batch.columns()[..layout.keys], batch.num_rows(), &mut groups)?;
        totals.resize(keys.len());
        totals.merge(&groups, &batch.columns()[layout.keys..], &mut features)?;
    }
    in_canonical_order(keys.into_columns()?, totals, &features, known.is_some())
}

/// Brings all rows of a unit into one partition.
fn by_unit(input: Arc<dyn ExecutionPlan>, partitions: usize) -> Result<Arc<dyn ExecutionPlan>> {
    if partitions == 1 && input.output_partitioning().partition_count() == 1 {
        return Ok(input);
    }
    let by = Partitioning::Hash(vec![distribution_key(&input.schema())?], partitions);
    Ok(Arc::new(RepartitionExec::try_new(input, by)?))
}

fn in_canonical_order(keys: Vec<ArrayRef>, totals: Totals, features: &Features, empty_ones: bool) -> Result<Groups> {
    let mut order = sorted(&keys)?;
    let finished = totals.finish(features)?;
    if !keys.is_empty() && !empty_ones {
        order.retain(|&group| finished.rows[group as usize] > 0);
    }
    let mut measured: Vec<_> = finished.measured.into_iter().map(|measured| measured.into_iter()).collect();
    let in_any_order = finished.units.into_iter().zip(finished.rows).map(|(units, rows)| {
        let measured = measured.iter_mut().filter_map(Iterator::next).collect();
        Some(Group { units, rows, measured })
    });
    let mut in_any_order: Vec<Option<Group>> = in_any_order.collect();
    let groups = order.iter().filter_map(|&group| in_any_order[group as usize].take()).collect();
    let order = UInt32Array::from(order);
    let keys = keys.iter().map(|column| Ok(take(column, &order, None)?)).collect::<Result<_>>()?;
    Ok(Groups { keys, groups })
}
