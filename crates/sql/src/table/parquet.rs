//! Parquet files, read by the query engine.
//!
//! What the files say about their values (minima, maxima, Bloom filters, page indexes) is not used, neither for planning
//! nor for reading: the work done must not depend on it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::TableParquetOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result as EngineResult;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::object_store::path::Path as StorePath;
use datafusion::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use datafusion::parquet::basic::Type as PhysicalType;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, TryCastExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::locate::short;
use super::typed::{Columns, differ, nullable};

/// The unit in which the engine reads Parquet's oldest timestamps, of 96 bits: finer ones end in the year 2262.
const OLD_TIMESTAMPS: (&str, TimeUnit) = ("us", TimeUnit::Microsecond);

/// The schema of a file, from its footer; the error names the file.
pub fn schema(path: &Path) -> Result<SchemaRef, String> {
    let file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", short(path)))?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
        .map_err(|error| format!("{} is not a whole Parquet file: {error}", short(path)))?;
    let leaves = metadata.parquet_schema().columns();
    let old = |field: &Field| {
        let is_field = |path: &[String]| path.len() == 1 && path[0] == *field.name();
        leaves.iter().any(|leaf| is_field(leaf.path().parts()) && leaf.physical_type() == PhysicalType::INT96)
    };
    let field = |field: &Arc<Field>| {
        let timestamp = DataType::Timestamp(OLD_TIMESTAMPS.1, None);
        if old(field) { Arc::new(field.as_ref().clone().with_data_type(timestamp)) } else { field.clone() }
    };
    Ok(Arc::new(Schema::new(metadata.schema().fields().iter().map(field).collect::<Vec<_>>())))
}

/// A table of Parquet files.
#[derive(Debug)]
pub struct Parquet {
    files: Vec<PartitionedFile>,
    /// As the engine reads it: most conversions cannot fail, and the engine's reader does them.
    read: SchemaRef,
    /// As a query sees it.
    seen: SchemaRef,
}

impl Parquet {
    /// Files of these sizes.
    pub fn new(paths: &[PathBuf], sizes: &[u64], columns: &Columns) -> Result<Self, String> {
        let mut read = Vec::new();
        for (column, field) in columns.schema().fields().iter().enumerate() {
            let common = columns.common_type(column);
            let data_type = match common {
                Some(common) if can_fail(common) => common,
                None if can_fail(columns.in_file(0)[column].data_type()) => return Err(mixed(paths, columns, column)),
                _ => field.data_type(),
            };
            read.push((field.name().clone(), data_type.clone()));
        }
        let file = |(path, size): (&PathBuf, &u64)| {
            let mut file = PartitionedFile::new("", *size);
            file.object_meta.location = StorePath::from_absolute_path(path)
                .map_err(|_| format!("{} has a name that is no text", short(path)))?;
            Ok(file)
        };
        let files = paths.iter().zip(sizes).map(file).collect::<Result<_, String>>()?;
        Ok(Self { files, read: nullable(read), seen: columns.schema().clone() })
    }
}

/// Whether a value of this type may have no place in the type in which a query sees it. (Where another type is seen as the
/// same one, both are of this kind.)
fn can_fail(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => true,
        DataType::Dictionary(_, values) => can_fail(values),
        _ => false,
    }
}

/// Says that files have different types where that cannot be allowed.
fn mixed(paths: &[PathBuf], columns: &Columns, column: usize) -> String {
    let field = |file: usize| &columns.in_file(file)[column];
    let other = (1..paths.len()).find(|file| field(*file).data_type() != field(0).data_type()).unwrap_or(0);
    let types = [0, other].map(|file| field(file).data_type().to_string());
    let differ = differ(field(0).name(), &types[0], &short(&paths[0]), &types[1], &paths[other]);
    format!("{differ}; write it in the same type")
}

fn options() -> TableParquetOptions {
    let mut options = TableParquetOptions::default();
    options.global.pruning = false;
    options.global.enable_page_index = false;
    options.global.bloom_filter_on_read = false;
    options.global.pushdown_filters = false;
    options.global.coerce_int96 = Some(OLD_TIMESTAMPS.0.to_owned());
    options
}

#[async_trait]
impl TableProvider for Parquet {
    fn schema(&self) -> SchemaRef {
        self.seen.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters stay above the scan, and so does a limit.
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let source = ParquetSource::new(self.read.clone()).with_table_parquet_options(options());
        let files = self.files.iter().map(|file| FileGroup::new(vec![file.clone()])).collect();
        let scan = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
            .with_file_groups(files)
            .with_projection_indices(projection.cloned())?
            .build();
        let mut plan: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(scan);
        let config = state.config();
        if let Some(parted) = plan.repartitioned(config.target_partitions(), config.options())? {
            plan = parted;
        }
        let seen = projection.map_or(Ok(self.seen.clone()), |columns| self.seen.project(columns).map(Arc::new))?;
        convert(plan, &seen)
    }
}

/// Converts the columns that have another type than `seen`. What does not fit is NULL.
fn convert(plan: Arc<dyn ExecutionPlan>, seen: &Schema) -> EngineResult<Arc<dyn ExecutionPlan>> {
    let read = plan.schema();
    if read.fields().iter().zip(seen.fields()).all(|(read, seen)| read.data_type() == seen.data_type()) {
        return Ok(plan);
    }
    let columns = seen.fields().iter().enumerate().map(|(place, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), place));
        let same = read.field(place).data_type() == field.data_type();
        let cast = |column| -> Arc<dyn PhysicalExpr> { Arc::new(TryCastExpr::new(column, field.data_type().clone())) };
        ProjectionExpr { expr: if same { column } else { cast(column) }, alias: field.name().clone() }
    });
    Ok(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), plan)?))
}
