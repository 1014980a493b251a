//! Plans of private SQL as bytes, for engines that run parts of a plan in other processes, such as Ballista.
//!
//! [`ReticentCodec`] is what DataFusion's own format of plans (`datafusion-proto`) needs to know of the operators and functions
//! that private SQL adds: the operator that bounds contributions, the scan of files that `reticent-sql` reads itself,
//! operations that give NULL where they would fail, and aggregates that do not depend on the order of rows. Everything else in
//! such a plan is DataFusion's, and so is its form as bytes.
//!
//! # Privacy
//! What travels is *inside* the curator. A plan holds the key under which rows are chosen, which need not be secret, and the
//! caps, which must not be changed on the way; what a partition gives back is exact and protected by nothing. Every process that
//! runs a part of a plan, and every wire between them, must be as trusted as the curator. Whoever may hand plans to
//! a process may have any file read that the process can read. Noise is added once, where the query was asked, to the merged
//! result.
//!
//! The guarantee needs of the engine what it needs of one machine: that all rows of a unit come to one partition (hashes of equal
//! units are equal wherever the same release runs on the same kind of processor), and that every partition counts once, however
//! often it was tried.
//!
//! A partition of a scan of Parquet files may take over files of its siblings that nobody has begun to read, by default, and does so
//! without knowing whether they are read elsewhere. Who runs the partitions of one plan in several processes runs them with
//! [`apart`], or gives each process a plan that has its own files only, as Ballista does.
//!
//! # What must be the same everywhere
//! The release of Reticent (bytes of another version are refused), and the files: their paths travel, and their bytes must not
//! change while a query runs.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//!
//! use datafusion::physical_plan::{ExecutionPlan, collect};
//! use datafusion::prelude::SessionContext;
//! use datafusion_proto::bytes::{
//!     physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
//! };
//! use reticent::noise::Entropy;
//! use reticent_codec::ReticentCodec;
//! use reticent_sql::Table;
//! use reticent_sql::bound::{self, Caps, ChoiceKey, Layout, Measure};
//! use reticent_sql::table::Kind;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("visits.csv");
//! # let location = path.to_str().ok_or("a path in UTF-8")?;
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! std::fs::write(location, "person,spent\nAda,10\nAda,20\nAlan,30\n")?;
//! let columns = [("person".to_owned(), Kind::Text), ("spent".to_owned(), Kind::Number)];
//! let visits = Table::open("visits", location)?.provider(&columns)?;
//!
//! // The rows that a person may contribute, one of each: here …
//! let here = SessionContext::new();
//! let scan = visits.scan(&here.state(), None, &[], None).await?;
//! let layout = Layout { unit: true, keys: 0, measures: vec![Measure::Present { column: 0 }] };
//! let (caps, key) = (Caps { groups: 1, rows: 1 }, ChoiceKey::draw(&mut Entropy::from_os()?.draw()?));
//! let plan = Arc::new(bound::plan(scan, &layout, Some(caps), None, key, 2)?);
//! let bytes = physical_plan_to_bytes_with_extension_codec(plan.clone(), &ReticentCodec)?;
//!
//! // … and elsewhere.
//! let elsewhere = SessionContext::new().task_ctx();
//! let copy = physical_plan_from_bytes_with_extension_codec(&bytes, &elsewhere, &ReticentCodec)?;
//! let groups = bound::merge(&plan, collect(copy, elsewhere).await?)?;
//! assert_eq!(groups.groups[0].rows, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok(())
//! # }
//! ```
//!
//! Where an engine has a codec of its own, this one goes first, for most codecs take functions that they do not know for the engine's:
//! `ComposedPhysicalExtensionCodec::new(vec![Arc::new(ReticentCodec), Arc::new(BallistaPhysicalExtensionCodec::default())])`.
//!
//! A whole query takes this road with [`Query::answer_on`](reticent_sql::Query::answer_on) and
//! a [`Runner`](reticent_sql::Runner) that writes plans, sends them and reads what comes back.
//!
//! | module | holds |
//! |---|---|
//! | `functions` | guarded operations and unordered aggregates as bytes |

mod functions;

use std::sync::Arc;

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use reticent_sql::bound::BoundExec;
use reticent_sql::table::{scan_from_bytes, scan_to_bytes};

/// A configuration of sessions in which some partitions of a plan run while others run elsewhere.
///
/// # Privacy
/// Under the engine's own configuration, rows could be read twice: see the [crate's page](crate).
pub fn apart() -> SessionConfig {
    let mut config = SessionConfig::new();
    config.options_mut().execution.enable_file_stream_work_stealing = false;
    config
}

/// What the bytes of an operator begin with.
const BOUND: u8 = 1;
const SCAN: u8 = 2;

/// Writes and reads the operators and functions of private SQL.
///
/// # Errors
/// Bytes that were not written by it, or by another version, are errors that say what could not be read. No bytes make it
/// panic.
#[derive(Debug, Default, Clone, Copy)]
pub struct ReticentCodec;

impl PhysicalExtensionCodec for ReticentCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let (kind, described) = if let Some(bound) = node.downcast_ref::<BoundExec>() {
            (BOUND, bound.to_bytes()?)
        } else if let Some(scan) = scan_to_bytes(node.as_ref()) {
            (SCAN, scan?)
        } else {
            return plan_err!("{} is not an operator of private SQL", node.name());
        };
        bytes.push(kind);
        bytes.extend(described);
        Ok(())
    }

    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (bytes.split_first(), inputs) {
            (Some((&BOUND, described)), [input]) => Ok(Arc::new(BoundExec::from_bytes(input.clone(), described)?)),
            (Some((&SCAN, described)), []) => scan_from_bytes(described),
            (_, inputs) => plan_err!("these bytes with {} inputs are no operator of private SQL", inputs.len()),
        }
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        functions::write_scalar(function, bytes)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        functions::read_scalar(name, bytes)
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
        functions::write_aggregate(function, bytes)
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        functions::read_aggregate(name, bytes)
    }
}
