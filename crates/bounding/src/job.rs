//! The job: schema, layout, caps and keys.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::choice::{ChoiceKey, Chooser};
use crate::error::{Result, refuse};
use crate::feature::Features;
use crate::keys::{Keys, PublicKeys};
use crate::kind::Kind;
use crate::layout::{Columns, ContributionCaps, Layout, Measure};
use crate::memory::Memory;
use crate::totals::Totals;
use crate::weigh::WEIGHT_BITS;
use crate::wire;

/// Everything a worker needs to bound rows, in this process or another.
#[derive(Debug, Clone)]
pub struct Job {
    /// The columns of every batch.
    ///
    /// Units are Int64, UInt64 or Utf8View; keys and inputs are Boolean, Int64, Float64, Utf8View, Date32 or
    /// Timestamp(Microsecond) without a time zone.
    pub schema: SchemaRef,
    /// The roles of these columns.
    pub layout: Layout,
    /// The contribution limits of each unit; `None` if the unit is the row, or its rows are [weighed](crate::Weighing).
    pub caps: Option<ContributionCaps>,
    /// The keys in the result, if they are public.
    pub keys: Option<PublicKeys>,
    /// Decides which of a unit's groups and rows are kept.
    pub choice: ChoiceKey,
}

impl Job {
    /// Serialises the job, so that a part of it can be done in another process.
    ///
    /// # Privacy
    /// The bytes contain the [`ChoiceKey`]. It determines which of a unit's rows are kept, but privacy does not depend
    /// on its secrecy (see the [crate documentation](crate)): the key only has to be chosen without looking at the
    /// rows. The channel must be trusted all the same: changing the caps changes the guarantee, and the part that comes
    /// back is exact.
    ///
    /// # Errors
    /// If a column or public key is of an unsupported type.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        wire::write_job(self)
    }

    /// Reads the bytes written by [`Job::to_bytes`].
    ///
    /// # Errors
    /// If the bytes are invalid.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        wire::read_job(bytes)
    }
}

/// A job that was checked, in the form that workers need.
pub(crate) struct Plan {
    pub layout: Layout,
    pub columns: Columns,
    /// `None` if the unit is the row.
    pub by_unit: Option<ByUnit>,
    /// Before the first row.
    pub keys: Keys,
    pub features: Features,
    /// The index of the feature that each measure reads.
    pub read: Vec<usize>,
}

/// Needed if the unit is a column.
pub(crate) struct ByUnit {
    pub kind: Kind,
    /// `None` if rows are weighed.
    pub caps: Option<ContributionCaps>,
    pub chooser: Chooser,
}

impl Plan {
    pub fn of(job: &Job) -> Result<Arc<Self>> {
        let columns = job.layout.columns(&job.schema)?;
        let by_unit = match (columns.unit, job.caps) {
            (None, None) => None,
            (Some(_), Some(ContributionCaps { groups, rows })) if groups == 0 || rows == 0 => {
                return refuse(format!("max groups = {groups}, max rows = {rows}: both must be at least 1"));
            }
            (Some(kind), Some(caps)) => {
                // Without keys there is one group, to which every unit may contribute.
                let caps = if job.layout.keys == 0 { ContributionCaps { groups: 1, ..caps } } else { caps };
                Some(ByUnit { kind, caps: Some(caps), chooser: Chooser::new(&job.choice) })
            }
            (Some(kind), None) => {
                let has_weights = |measure: &Measure| match measure {
                    Measure::Values { .. } | Measure::Items { .. } => false,
                    Measure::Moments { grid, .. } => grid.upper() - grid.lower() <= 1 << WEIGHT_BITS,
                    Measure::Present { .. } | Measure::Bins { .. } | Measure::Magnitudes { .. } => true,
                };
                if !job.layout.measures.iter().all(has_weights) {
                    return refuse("without caps, rows can be counted and added up on a coarse grid only");
                }
                Some(ByUnit { kind, caps: None, chooser: Chooser::new(&job.choice) })
            }
            (None, Some(_)) => return refuse("caps are for units that are a column"),
        };
        let keys = Keys::new(&columns.keys, job.keys.as_ref())?;
        let (features, read) = Features::of(&job.layout.measures, &columns.inputs);
        Ok(Arc::new(Self { layout: job.layout.clone(), columns, by_unit, keys, features, read }))
    }

    /// Empty accumulators.
    pub fn totals(&self, memory: &Memory) -> Totals {
        Totals::new(&self.layout, &self.read, memory)
    }

    /// Checks that the batch's columns are those of the schema.
    pub fn check(&self, batch: &RecordBatch) -> Result<()> {
        let Columns { unit, keys, inputs } = &self.columns;
        let expected = unit.iter().chain(keys).chain(inputs).map(|kind| kind.data_type());
        if expected.eq(batch.columns().iter().map(|column| column.data_type().clone())) {
            Ok(())
        } else {
            refuse("a batch has other columns than the job's schema")
        }
    }
}
