//! The operator.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{internal_err, plan_err};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{Column, binary, cast, lit};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;

use super::bucket::{BUCKETS, Buckets};
use super::canonical::canonical_type;
use super::choice::{ChoiceKey, Chooser};
use super::feature::Features;
use super::keep::{Bucket, Keeper, Kept};
use super::keys::{DROPPED, Keys, PublicKeys};
use super::layout::{Caps, Layout};
use super::totals::{Totals, state_schema};
use super::unit::{UnitForm, Units};
use super::wire;

/// Bounds what each unit contributes and adds up the rest, partition by partition.
///
/// # Privacy
/// All rows of a unit must be in one partition: this is what the operator requires of its input's distribution. What it gives
/// is exact: not for anybody's eyes.
///
/// # Algorithm
/// See the module's page. The output of a partition is one batch: keys, units, rows and the state of every measure, one row
/// per group, in no particular order.
#[derive(Debug)]
pub struct BoundExec {
    input: Arc<dyn ExecutionPlan>,
    job: Arc<Job>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

/// What every partition needs to know.
#[derive(Debug)]
pub(super) struct Job {
    pub layout: Layout,
    pub caps: Option<Caps>,
    pub known: Option<PublicKeys>,
    pub key: ChoiceKey,
}

impl BoundExec {
    /// Bounds and adds up the rows of `input`. Without caps, the unit is the row.
    ///
    /// # Errors
    /// If the input's schema is not what the layout says.
    pub fn try_new(
        input: Arc<dyn ExecutionPlan>,
        layout: &Layout,
        caps: Option<Caps>,
        known: Option<&PublicKeys>,
        key: ChoiceKey,
    ) -> Result<Self> {
        layout.check(&input.schema())?;
        if layout.unit != caps.is_some() {
            return plan_err!("caps are for a unit that is a column, and every such unit needs them");
        }
        // Without keys there is one group, which every unit may be in.
        let caps = caps.map(|caps| if layout.keys == 0 { Caps { groups: 1, ..caps } } else { caps });
        let job = Job { layout: layout.clone(), caps, known: known.cloned(), key };
        Ok(Self::over(input, Arc::new(job)))
    }

    /// All that the operator knows, but for its input.
    ///
    /// # Privacy
    /// The [`ChoiceKey`] is among it. Who sees it can tell which of a unit's rows count, but privacy does not rest on its
    /// secrecy (see the [crate's page](super)): it need only be chosen without looking at the rows. What does rest on the road
    /// that the bytes take is everything else: whoever changes caps on it changes what is promised, and what partitions give
    /// back is exact. The road must be as trusted as the curator.
    ///
    /// # Errors
    /// If public keys are of a type that Arrow's format does not have.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        wire::write_job(&self.job)
    }

    /// The operator that [`BoundExec::to_bytes`] was asked of, over another input.
    ///
    /// # Errors
    /// If these are other bytes, or the input's schema is not what they say.
    pub fn from_bytes(input: Arc<dyn ExecutionPlan>, bytes: &[u8]) -> Result<Self> {
        let Job { layout, caps, known, key } = wire::read_job(bytes)?;
        Self::try_new(input, &layout, caps, known.as_ref(), key)
    }

    pub(super) fn job(&self) -> &Job {
        &self.job
    }

    fn over(input: Arc<dyn ExecutionPlan>, job: Arc<Job>) -> Self {
        let schema = state_schema(&job.layout, &input.schema());
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, job, schema, properties: Arc::new(properties) }
    }
}

/// What rows must be partitioned by so that all of a unit come together.
pub(super) fn distribution_key(schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let unit: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(0).name(), 0));
    match canonical_type(schema.field(0).data_type()) {
        // Equal floats need not have equal bits, but added to 0 they have the same name: −0 becomes 0, any NaN is NaN.
        Some(DataType::Float16 | DataType::Float32 | DataType::Float64) => {
            let wide = cast(unit, schema, DataType::Float64)?;
            cast(binary(wide, Operator::Plus, lit(0.0), schema)?, schema, DataType::Utf8)
        }
        _ => Ok(unit),
    }
}

impl DisplayAs for BoundExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.job.caps {
            None => formatter.write_str("BoundExec: unit=row"),
            Some(Caps { groups, rows }) => write!(formatter, "BoundExec: groups={groups}, rows={rows}"),
        }
    }
}

impl ExecutionPlan for BoundExec {
    fn name(&self) -> &'static str {
        "BoundExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let distribution = match (self.job.layout.unit, distribution_key(&self.input.schema())) {
            (false, _) => Distribution::UnspecifiedDistribution,
            (true, Ok(key)) => Distribution::KeyPartitioned(vec![key]),
            (true, Err(_)) => Distribution::SinglePartition,
        };
        InputDistributionRequirements::new(vec![distribution])
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::over(input, self.job.clone()))),
            _ => internal_err!("BoundExec has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut input = self.input.execute(partition, context.clone())?;
        let mut worker = Worker::new(&self.job, &self.schema, &input.schema(), partition, &context)?;
        let batch = async move {
            while let Some(batch) = input.next().await {
                worker.add(&batch?)?;
            }
            worker.finish()
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), futures::stream::once(batch))))
    }
}

/// What one partition does.
struct Worker {
    layout: Layout,
    schema: SchemaRef,
    keys: Keys,
    features: Features,
    totals: Totals,
    /// `None` if the unit is the row.
    units: Option<ByUnit>,
    groups: Vec<u32>,
    memory: MemoryReservation,
}

/// Rows that wait until all of their units have come.
struct ByUnit {
    keeper: Keeper,
    buckets: Buckets,
    record: Vec<u32>,
}

impl Worker {
    fn new(
        job: &Job,
        schema: &SchemaRef,
        input: &Schema,
        partition: usize,
        context: &Arc<TaskContext>,
    ) -> Result<Self> {
        let (features, read) = Features::of(&job.layout, input)?;
        let chooser = Chooser::new(&job.key);
        let keys = Keys::new(job.layout.key_types(input), job.known.as_ref(), job.caps.map(|_| chooser.clone()))?;
        let units = job.caps.map(|caps| ByUnit {
            keeper: Keeper::new(UnitForm::of(input.field(0).data_type()), caps, chooser),
            buckets: Buckets::new(partition, context),
            record: Vec::new(),
        });
        Ok(Self {
            layout: job.layout.clone(),
            schema: schema.clone(),
            keys,
            features,
            totals: Totals::new(&job.layout, read),
            units,
            groups: Vec::new(),
            memory: MemoryConsumer::new(format!("BoundExec[{partition}] groups")).register(context.memory_pool()),
        })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let first = self.layout.first_input();
        let keys = &batch.columns()[usize::from(self.layout.unit)..first];
        self.keys.group_rows(keys, batch.num_rows(), &mut self.groups)?;
        let features = self.features.read(&batch.columns()[first..])?;
        match &mut self.units {
            Some(units) => units.scatter(batch.column(0), &self.groups, features)?,
            None => {
                self.totals.resize(self.keys.len());
                if self.groups.contains(&DROPPED) {
                    let (groups, features) = without_dropped(&self.groups, features);
                    self.totals.add(&groups, &features);
                } else {
                    self.totals.add(&self.groups, features);
                }
            }
        }
        self.account()
    }

    /// Asks the pool for what groups and items take; rows make way for them.
    fn account(&mut self) -> Result<()> {
        let bytes = self.keys.bytes() + self.features.bytes() + self.totals.bytes();
        match (self.memory.try_resize(bytes), &mut self.units) {
            (Err(_), Some(units)) => {
                units.buckets.spill()?;
                self.memory.try_resize(bytes)
            }
            (outcome, _) => outcome,
        }
    }

    fn finish(mut self) -> Result<RecordBatch> {
        self.totals.resize(self.keys.len());
        self.account()?;
        if let Some(mut units) = self.units.take() {
            let (mut records, mut kept) = (Vec::new(), Kept::default());
            for bucket in 0..BUCKETS {
                units.buckets.take(bucket, &mut records)?;
                let (digests, features) = (self.keys.digests(), &self.features);
                units.keeper.keep(&Bucket { records: &records, digests, features }, &mut kept)?;
                self.totals.add(&kept.groups, &kept.features);
                self.totals.add_units(&kept.units);
            }
        }
        let mut columns = self.keys.into_columns()?;
        columns.extend(self.totals.into_state(&self.features)?);
        Ok(RecordBatch::try_new(self.schema, columns)?)
    }
}

impl ByUnit {
    fn scatter(&mut self, units: &ArrayRef, groups: &[u32], features: &[Vec<i32>]) -> Result<()> {
        let units = Units::of(units)?;
        for (row, &group) in groups.iter().enumerate() {
            self.record.clear();
            if group == DROPPED || !units.write(row, &mut self.record) {
                continue;
            }
            // Other bits than the tables within a bucket look at first.
            let bucket = (self.keeper.hash(&self.record) >> 32) as usize % BUCKETS;
            self.record.push(group);
            self.record.extend(features.iter().map(|column| column[row] as u32));
            self.buckets.push(bucket, &self.record)?;
        }
        Ok(())
    }
}

fn without_dropped(groups: &[u32], features: &[Vec<i32>]) -> (Vec<u32>, Vec<Vec<i32>>) {
    let kept = |column: &Vec<i32>| -> Vec<i32> {
        column.iter().zip(groups).filter(|&(_, &group)| group != DROPPED).map(|(&value, _)| value).collect()
    };
    (groups.iter().copied().filter(|&group| group != DROPPED).collect(), features.iter().map(kept).collect())
}
