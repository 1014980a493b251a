//! How the query engine reads files of a format that this crate reads itself.
//!
//! The scan is the engine's own operator for files, so that whoever runs the partitions of a plan apart from one another can
//! take it for any other scan of files: a partition is a group of files, and a file in it is a part of one of ours.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{internal_err, plan_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{
    FileGroup, FileOpenFuture, FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result as EngineResult;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use futures::StreamExt;
use serde::{Deserialize, Serialize};

use super::locate::short;
use super::scan::{Format, Part, Piece};
use crate::Error;
use crate::bound::wire;

/// Batches that wait for whoever computes with them.
const BATCHES_AHEAD: usize = 2;
/// What cannot be read, if it cannot.
const WHAT: &str = "the scan of files";

/// Some columns of files of one format.
#[derive(Debug, Clone)]
struct Source {
    format: Arc<Format>,
    /// Which of the columns that the format offers; they make up the schema.
    columns: Vec<usize>,
    schema: TableSchema,
    metrics: ExecutionPlanMetricsSet,
}

/// Of the columns that the format offers, reads those at `columns`, which make up `schema`. A limit counts in each partition.
pub fn scan(
    format: Arc<Format>,
    partitions: Vec<Vec<Part>>,
    columns: Vec<usize>,
    schema: SchemaRef,
    limit: Option<usize>,
) -> Arc<dyn ExecutionPlan> {
    let group = |parts: Vec<Part>| FileGroup::new(parts.into_iter().map(|part| file(&format, part)).collect());
    let groups = partitions.into_iter().map(group).collect();
    let schema = TableSchema::from(schema);
    let source = Source { format: format.clone(), columns, schema, metrics: ExecutionPlanMetricsSet::new() };
    let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
        .with_file_groups(groups)
        .with_limit(limit)
        // A partition reads its own parts and those of no other, so that each may run in another process.
        .with_preserve_order(true)
        .build();
    DataSourceExec::from_data_source(config)
}

/// A part as the engine sees it; the name is for people.
fn file(format: &Format, part: Part) -> PartitionedFile {
    let Piece { file, size, .. } = part.piece();
    let name = format.path(file).map(short).unwrap_or_default();
    PartitionedFile::new(name, size).with_extension(part)
}

impl FileSource for Source {
    fn create_file_opener(
        &self,
        _: Arc<dyn ObjectStore>,
        _: &FileScanConfig,
        _: usize,
    ) -> EngineResult<Arc<dyn FileOpener>> {
        Ok(Arc::new(self.clone()))
    }

    fn table_schema(&self) -> &TableSchema {
        &self.schema
    }

    /// A batch is as large as it is.
    fn with_batch_size(&self, _: usize) -> Arc<dyn FileSource> {
        Arc::new(self.clone())
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        self.format.name()
    }

    /// Parts are cut already.
    fn supports_repartitioning(&self) -> bool {
        false
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>,
    ) -> EngineResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}

impl FileOpener for Source {
    /// Reads in a thread of its own that may block, so that reading and computing overlap.
    fn open(&self, file: PartitionedFile) -> EngineResult<FileOpenFuture> {
        let Some(part) = file.extension::<Part>().cloned() else { return internal_err!("this is no part of a file") };
        let source = self.clone();
        Ok(Box::pin(async move {
            let schema = source.schema.file_schema().clone();
            let mut stream = RecordBatchReceiverStream::builder(schema.clone(), BATCHES_AHEAD);
            let sender = stream.tx();
            stream.spawn_blocking(move || {
                let mut emit = |batch| sender.blocking_send(Ok(batch)).is_ok();
                let read = || source.format.read(&part, &source.columns, &schema, &mut emit);
                // A broken Arrow file can make its decoder panic.
                Ok(catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(Error::Reading))?)
            });
            Ok(stream.build().boxed())
        }))
    }
}

/// A scan as bytes.
#[derive(Serialize, Deserialize)]
struct Told<F> {
    format: F,
    partitions: Vec<Vec<Piece>>,
    columns: Vec<usize>,
    schema: Vec<u8>,
    limit: Option<usize>,
}

/// All that a scan of files knows: where the files are, how they are read, and which part each partition reads. Nothing if the
/// operator is no scan of CSV, NDJSON or Arrow files (Parquet is read by the engine itself).
///
/// Files are named by their paths, so whoever reads the bytes must see the same files at the same paths. Where a part
/// begins is found out by whoever reads it, from the file's bytes alone: all find the same place, as long as nobody writes
/// to the file.
///
/// # Errors
/// If a path is not UTF-8.
pub fn scan_to_bytes(plan: &dyn ExecutionPlan) -> Option<EngineResult<Vec<u8>>> {
    let source: &dyn Any = plan.downcast_ref::<DataSourceExec>()?.data_source().as_ref();
    let config = source.downcast_ref::<FileScanConfig>()?;
    let source = config.file_source().downcast_ref::<Source>()?;
    Some(write(config, source))
}

fn write(config: &FileScanConfig, source: &Source) -> EngineResult<Vec<u8>> {
    let mut partitions = Vec::new();
    for group in &config.file_groups {
        let pieces: Option<Vec<Piece>> =
            group.files().iter().map(|file| Some(file.extension::<Part>()?.piece())).collect();
        let Some(pieces) = pieces else { return internal_err!("{WHAT} has files that it did not make") };
        partitions.push(pieces);
    }
    let told = Told {
        format: source.format.as_ref(),
        partitions,
        columns: source.columns.clone(),
        schema: wire::schema_to_bytes(source.schema.file_schema())?,
        limit: config.limit,
    };
    wire::write(WHAT, &told)
}

/// The scan that [`scan_to_bytes`] was asked of. No file is opened.
///
/// # Errors
/// If these are other bytes.
pub fn scan_from_bytes(bytes: &[u8]) -> EngineResult<Arc<dyn ExecutionPlan>> {
    let Told { format, partitions, columns, schema, limit } = wire::read::<Told<Format>>(WHAT, bytes)?;
    let schema = wire::schema_from_bytes(WHAT, &schema)?;
    let Some((files, offered)) = format.files_and_columns() else {
        return plan_err!("{WHAT} cannot be read: its files have different columns");
    };
    if columns.len() != schema.fields().len() || columns.iter().any(|&column| column >= offered) {
        return plan_err!("{WHAT} cannot be read: it has other columns than its files");
    }
    if partitions.iter().flatten().any(|piece| !piece.is_of(files)) {
        return plan_err!("{WHAT} cannot be read: it reads parts of files that it does not have");
    }
    let mut cuts = HashMap::new();
    let mut part = |piece: Piece| piece.part(cuts.entry((piece.file, piece.size, piece.of)).or_default());
    let partitions = partitions.into_iter().map(|pieces| pieces.into_iter().map(&mut part).collect()).collect();
    Ok(scan(Arc::new(format), partitions, columns, schema, limit))
}
