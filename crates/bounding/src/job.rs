//! The job: schema, layout, caps and keys.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::choice::{ChoiceKey, Chooser};
use crate::error::{Result, refuse};
use crate::feature::Features;
use crate::keys::{Keys, PublicKeys};
use crate::kind::Kind;
use crate::layout::{Caps, Columns, Layout};
use crate::memory::Memory;
use crate::totals::Totals;
use crate::wire;

/// Everything a worker needs to know to bound rows, in this process or another.
#[derive(Debug, Clone)]
pub struct Job {
    /// The columns of every batch.
    ///
    /// Units are Int64, UInt64 or Utf8View; keys and inputs are Boolean, Int64, Float64, Utf8View, Date32 or
    /// Timestamp(Microsecond) without a time zone.
    pub schema: SchemaRef,
    /// What these columns are for.
    pub layout: Layout,
    /// What is kept of each unit; `None` if the unit is the row.
    pub caps: Option<Caps>,
    /// The keys that the result has, if they are known beforehand.
    pub keys: Option<PublicKeys>,
    /// Decides which of a unit's groups and rows are kept.
    pub choice: ChoiceKey,
}

impl Job {
    /// The job as bytes, so that a part of it can be done in another process.
    ///
    /// # Privacy
    /// The bytes contain the [`ChoiceKey`]. It tells which of a unit's rows count, but privacy does not rest on
    /// its secrecy (see the [crate's page](crate)): the key only has to be chosen without looking at the rows. The channel must
    /// be trusted all the same: someone who changes the caps changes the guarantee, and the part that comes back is exact.
    ///
    /// # Errors
    /// If a column or public key is of an unsupported type.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        wire::write_job(self)
    }

    /// The job that [`Job::to_bytes`] made these bytes of.
    ///
    /// # Errors
    /// If they are other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        wire::read_job(bytes)
    }
}

/// A job that was checked, in the form in which workers need it.
pub(crate) struct Plan {
    pub layout: Layout,
    pub columns: Columns,
    /// `None` if the unit is the row.
    pub by_unit: Option<ByUnit>,
    /// Before the first row.
    pub keys: Keys,
    pub features: Features,
    /// Which feature each measure reads.
    pub read: Vec<usize>,
}

/// What is needed if the unit is a column.
pub(crate) struct ByUnit {
    pub kind: Kind,
    pub caps: Caps,
    pub chooser: Chooser,
}

impl Plan {
    pub fn of(job: &Job) -> Result<Arc<Self>> {
        let columns = job.layout.columns(&job.schema)?;
        let by_unit = match (columns.unit, job.caps) {
            (None, None) => None,
            (Some(_), Some(Caps { groups, rows })) if groups == 0 || rows == 0 => {
                return refuse(format!("max groups = {groups}, max rows = {rows}: both must be at least 1"));
            }
            (Some(kind), Some(caps)) => {
                // Without keys there is one group, which every unit may be in.
                let caps = if job.layout.keys == 0 { Caps { groups: 1, ..caps } } else { caps };
                Some(ByUnit { kind, caps, chooser: Chooser::new(&job.choice) })
            }
            _ => return refuse("caps are for a unit that is a column, and every such unit needs them"),
        };
        let keys = Keys::new(&columns.keys, job.keys.as_ref())?;
        let (features, read) = Features::of(&job.layout.measures, &columns.inputs);
        Ok(Arc::new(Self { layout: job.layout.clone(), columns, by_unit, keys, features, read }))
    }

    /// Accumulators of nothing.
    pub fn totals(&self, memory: &Memory) -> Totals {
        Totals::new(&self.layout, &self.read, memory)
    }

    /// Are the batch's columns those of the schema?
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
